"""A stand-in for FasterRisk in its own environment, whose behaviour the tests control.

``FAKE_FASTERRISK`` says what to do, ``FAKE_FASTERRISK_NOTE`` names a file for the request.
"""

import json
import os
import signal
import sys
import time

import numpy as np


def _described(array):
    return None if array is None else [type(array[0]).__name__, array.tolist()]


class RiskScoreOptimizer:
    """Takes FasterRisk's arguments; its cards are made up."""

    def __init__(
        self, X, y, k, select_top_m=50, lb=-5, ub=5, num_ray_search=20,
        group_sparsity=None, featureIndex_to_groupIndex=None,
    ):  # fmt: skip
        self.n_columns = X.shape[1]
        self.do = os.environ.get("FAKE_FASTERRISK", "answer")
        note = os.environ.get("FAKE_FASTERRISK_NOTE")
        if note:
            request = {
                "pid": os.getpid(),
                "X": X.tolist(),
                "y": y.tolist(),
                "k": k,
                "bounds": [lb, ub],
                "rays": num_ray_search,
                "threads": os.environ.get("OMP_NUM_THREADS"),
                "path": os.environ.get("PYTHONPATH"),
                "folder": os.getcwd(),
                "groups": [group_sparsity, _described(featureIndex_to_groupIndex)],
            }
            with open(note + ".draft", "w") as file:
                json.dump(request, file)
            os.replace(note + ".draft", note)

    def optimize(self):
        if self.do == "raise":
            raise ValueError("the beam broke")
        if self.do == "sleep":
            time.sleep(600)
        if self.do == "quit":
            os._exit(7)
        if self.do == "leave":
            os._exit(0)
        if self.do == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.do == "talk":
            for stream in (sys.stdout, sys.stderr):
                stream.write("so much to say\n" * 100_000)

    def get_models(self):
        first, second = np.zeros((2, self.n_columns))
        first[:2] = 3.0, -2.0
        second[:1] = 5.0
        multipliers, intercepts = np.array([1.5, 2.5]), np.array([-4.0, 1.0])
        if self.do == "outside":
            first[0] = 11.0
        if self.do == "fractions":
            first[0] = second[0] = 0.5
        if self.do == "crowded":
            first[:] = second[:] = 1.0
        if self.do == "endless":
            multipliers[0] = np.nan
        points = np.array([first, second])
        return multipliers, intercepts, points[:, 1:] if self.do == "narrow" else points

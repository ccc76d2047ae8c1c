"""Cut points from optbinning's ``OptimalBinning``, an optional engine.

It runs in a process of its own: its solver library and highspy, which netbenefit uses, bring two
versions of one shared library, and whichever is loaded second fails to import.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray, InputError

__all__ = ["CellCounts", "optbinning_edges"]

#: Counts are cut down to whole numbers by optbinning; fractional weights are scaled to this total.
_FINE_TOTAL = 1e6

#: What the other process does: tables of events and non-events by cell in, edges out.
_SCRIPT = """
import json, math, sys
asked = json.load(sys.stdin)
answer, sys.stdout = sys.stdout, sys.stderr
from optbinning import OptimalBinning
found = []
for events, others in asked["tables"]:
    rows = [(i, y, w) for y, part in ((1, events), (0, others)) for i, w in enumerate(part) if w]
    x, y, w = map(list, zip(*rows))
    engine = OptimalBinning(dtype="numerical", **asked["options"])
    engine.fit(x, y, sample_weight=w)
    found.append([math.ceil(split) for split in engine.splits])
answer.write("\\n" + json.dumps(found))
"""


class CellCounts(NamedTuple):
    """Weight of events and of the others in each cell of a column."""

    events: FloatArray
    others: FloatArray


def optbinning_edges(
    tables: Sequence[CellCounts], max_bins: int, min_share: float
) -> list[NDArray[np.intp]]:
    """Return the edges that optbinning finds for each column, all columns in one process.

    Starting the process takes seconds, a column some hundredths: pass all columns at once.

    Parameters
    ----------
    tables : sequence of CellCounts
        The columns.
    max_bins : int
        Largest number of bins.
    min_share : float
        Least share of a column's weight in a bin, at most ½.
    """
    none = np.empty(0, np.intp)
    usable = [max_bins >= 2 and min_share <= 0.5 and _has_both(table) for table in tables]
    asked = [table for table, good in zip(tables, usable, strict=True) if good]
    if not asked:
        return [none for _ in tables]
    share = max(min_share, 1e-6)
    options = {
        "max_n_bins": max_bins,
        "min_bin_size": share,
        "min_prebin_size": min(share, 0.05),
    }
    sent = [[part.tolist() for part in _whole(table)] for table in asked]
    found = iter(_run(json.dumps({"options": options, "tables": sent})))
    return [np.array(next(found), dtype=np.intp) if good else none for good in usable]


def _has_both(table: CellCounts) -> bool:
    return bool(table.events.any() and table.others.any() and table.events.size > 1)


def _whole(table: CellCounts) -> tuple[FloatArray, FloatArray]:
    both = np.concatenate(table)
    if bool(np.all(both == np.floor(both))):
        return table.events, table.others
    scale = _FINE_TOTAL / float(both.sum())
    return table.events * scale, table.others * scale


def _run(question: str) -> list[list[int]]:
    if find_spec("optbinning") is None:
        raise ImportError(
            'method="optbinning" needs optbinning, which is not installed. Install it with '
            "`pip install 'netbenefit[optbinning]'`, or choose another method."
        )
    done = subprocess.run(
        [sys.executable, "-P", "-c", _SCRIPT],
        input=question,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"optbinning failed: {reason}. Choose another method.")
    answer: list[list[int]] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer

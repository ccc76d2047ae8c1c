"""What the other interpreter runs: FasterRisk on the rows of ``question.npz``.

This file stands alone: it is copied into a folder of its own and run there by a Python (3.8 or
later) that has FasterRisk and numpy, and nothing of this package.  It reads ``question.npz``
(``X``, ``y`` of −1 and +1) and ``options.json`` (arguments of ``RiskScoreOptimizer``), and leaves
``answer.json``.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any


def watch_parent() -> None:
    """End at once when the calling process is gone: its end of our standard input closes."""
    # not sys.stdin, whose lock this thread would still hold when the interpreter shuts down
    while os.read(0, 1):
        pass
    os._exit(3)


def answer() -> dict[str, Any]:
    """Fit, and return the whole pool of cards, best logistic loss first."""
    import numpy as np
    from fasterrisk.fasterrisk import RiskScoreOptimizer  # type: ignore[import-not-found]

    with open("options.json", encoding="utf-8") as file:
        options = json.load(file)
    if "featureIndex_to_groupIndex" in options:  # JSON knows lists, FasterRisk takes an array alone
        groups = options["featureIndex_to_groupIndex"]
        options["featureIndex_to_groupIndex"] = np.asarray(groups, dtype=int)
    with np.load("question.npz") as question:
        X, y = question["X"], question["y"]
    start = time.perf_counter()
    optimizer = RiskScoreOptimizer(X=X, y=y, **options)
    optimizer.optimize()
    multipliers, intercepts, points = optimizer.get_models()
    seconds = time.perf_counter() - start
    return {
        "multipliers": np.asarray(multipliers, dtype=float).tolist(),
        "intercepts": np.asarray(intercepts, dtype=float).tolist(),
        "points": np.asarray(points, dtype=float).tolist(),
        "seconds": seconds,
        "version": version(),
    }


def version() -> str:
    """FasterRisk's version as it was installed; empty where it is unknown."""
    from importlib import metadata

    try:
        return metadata.version("fasterrisk")
    except metadata.PackageNotFoundError:
        return ""


def main() -> None:
    """Answer the question of this folder."""
    threading.Thread(target=watch_parent, daemon=True).start()
    text = json.dumps(answer())
    with open("answer.json", "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()

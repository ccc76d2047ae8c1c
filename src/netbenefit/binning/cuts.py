"""Cut points of one numeric column: where to cut, and at which numbers.

A cut c asks ``x >= c``; k cuts make k + 1 bins.  :func:`choose_cuts` does both steps:
:func:`find_cuts` names cell edges, :func:`~netbenefit.binning.rounding.round_cuts` turns them into
numbers that a person would choose.
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

from netbenefit.binning.cells import Cells, count_cells
from netbenefit.binning.context import outside_logits
from netbenefit.binning.rounding import round_cuts
from netbenefit.binning.search import CellScores, equal_mass_edges, gain_edges, score_cells
from netbenefit.binning.weights import SLACK, mass_by, weight_of_one_row
from netbenefit.common.checks import FloatArray, InputError
from netbenefit.metrics.thresholds import Thresholds

__all__ = [
    "METHODS",
    "CellCounts",
    "Cells",
    "choose_cuts",
    "count_cells",
    "find_cuts",
    "optbinning_edges",
    "outside_logits",
    "round_cuts",
]


# -- cut points from optbinning's ``OptimalBinning``, an optional engine ---------------------------
# It runs in a process of its own: its solver library and highspy, which netbenefit uses, bring two
# versions of one shared library, and whichever is loaded second fails to import.


#: Counts are cut down to whole numbers by optbinning; fractional weights are scaled to this total.
_FINE_TOTAL = 1e6

#: What the other process does: tables of events and non-events by cell in, edges out.
_SCRIPT = """
import json, math, sys
request = json.load(sys.stdin)
answer, sys.stdout = sys.stdout, sys.stderr
from optbinning import OptimalBinning
found = []
for events, others in request["tables"]:
    rows = [(i, y, w) for y, part in ((1, events), (0, others)) for i, w in enumerate(part) if w]
    x, y, w = map(list, zip(*rows))
    engine = OptimalBinning(dtype="numerical", **request["options"])
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
    """Return optbinning's edges of all columns, found in one process: starting it takes seconds."""
    none = np.empty(0, np.intp)
    usable = [max_bins >= 2 and min_share <= 0.5 and _has_both(table) for table in tables]
    sendable = [table for table, good in zip(tables, usable, strict=True) if good]
    if not sendable:
        return [none for _ in tables]
    share = max(min_share, 1e-6)
    options = {
        "max_n_bins": max_bins,
        "min_bin_size": share,
        "min_prebin_size": min(share, 0.05),
    }
    sent = [[part.tolist() for part in _whole(table)] for table in sendable]
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


#: Ways to find cuts.
METHODS = ("net_benefit", "tree", "quantile", "optbinning")


def choose_cuts(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    *,
    method: str = "net_benefit",
    max_bins: int = 5,
    min_mass: float = 0.0,
    thresholds: Thresholds | None = None,
    offset: FloatArray | None = None,
    edges: NDArray[np.intp] | None = None,
) -> FloatArray:
    """Find cuts as :func:`find_cuts` does, unless ``edges`` are given, and round them."""
    _check(cells, event, weight, method, offset)
    scores = _scores(cells, event, weight, method, thresholds, offset)
    if edges is None:
        edges = _edges(cells, event, weight, method, max_bins, min_mass, scores)
    return round_cuts(cells, edges, scores, min_mass=min_mass, supervised=method != "quantile")


def find_cuts(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    *,
    method: str = "net_benefit",
    max_bins: int = 5,
    min_mass: float = 0.0,
    thresholds: Thresholds | None = None,
    offset: FloatArray | None = None,
) -> NDArray[np.intp]:
    """Return the edges of the bins: the first cell of every bin but the first, ascending.

    ``"quantile"``: bins of near equal weight. ``"tree"``: the leaves of one decision tree.
    ``"net_benefit"``: the partition whose Newton step gains most weighted net benefit, given the
    logits ``offset`` of the other columns (see :mod:`netbenefit.binning.search`).
    """
    _check(cells, event, weight, method, offset)
    scores = _scores(cells, event, weight, method, thresholds, offset)
    return _edges(cells, event, weight, method, max_bins, min_mass, scores)


def _check(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    method: str,
    offset: FloatArray | None,
) -> None:
    if method not in METHODS:
        raise InputError(f"method={method!r} is not known. Use one of {', '.join(METHODS)}.")
    rows = cells.cell_of_row.shape
    others = [("event", event), ("weight", weight)]
    for name, part in [*others, *([] if offset is None else [("offset", offset)])]:
        if part.shape != rows:
            raise InputError(
                f"{name} has shape {part.shape}, but the cells hold {rows[0]} rows. Pass the rows "
                "that have a value in this column, and no others."
            )


def _scores(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    method: str,
    thresholds: Thresholds | None,
    offset: FloatArray | None,
) -> CellScores:
    if method == "net_benefit":
        return score_cells(cells, event, weight, thresholds, offset)
    return score_cells(cells, event, weight)


def _edges(
    cells: Cells,
    event: NDArray[np.bool_],
    weight: FloatArray,
    method: str,
    max_bins: int,
    min_mass: float,
    scores: CellScores,
) -> NDArray[np.intp]:
    if method == "quantile":
        return equal_mass_edges(scores.mass, max_bins, min_mass)
    if method == "net_benefit":
        return gain_edges(
            scores, max_bins, min_mass, float(weight.sum()) / weight_of_one_row(weight)
        )
    counts = count_events(cells, event, weight)
    total = float(scores.mass.sum())
    if total <= 0:
        return np.empty(0, np.intp)
    if method == "tree":
        return _tree_edges(counts, max_bins, min_mass / total)
    return optbinning_edges([counts], max_bins, min_mass / total)[0]


def count_events(cells: Cells, event: NDArray[np.bool_], weight: FloatArray) -> CellCounts:
    """Return the weight of events and of the others in each cell."""
    code, count = cells.cell_of_row, cells.size
    return CellCounts(
        mass_by(code[event], weight[event], count),
        mass_by(code[~event], weight[~event], count),
    )


def _tree_edges(counts: CellCounts, max_bins: int, min_share: float) -> NDArray[np.intp]:
    """Return the splits of a tree on the cells, events and others of a cell as weighted rows."""
    cell = np.tile(np.arange(counts.events.size), 2)
    event = np.repeat([1, 0], counts.events.size)
    mass = np.concatenate(counts)
    there = mass > 0
    both = counts.events.any() and counts.others.any()
    if max_bins < 2 or min_share > 0.5 or not both:
        return np.empty(0, np.intp)
    from sklearn.tree import DecisionTreeClassifier  # late: slow to import

    tree = DecisionTreeClassifier(
        criterion="log_loss",
        max_leaf_nodes=max_bins,
        min_weight_fraction_leaf=min_share * (1.0 - SLACK),
        random_state=0,
    )
    tree.fit(cell[there, None], event[there], sample_weight=mass[there])
    nodes = tree.tree_
    splits = nodes.threshold[nodes.children_left >= 0]
    edges: NDArray[np.intp] = np.sort(np.floor(splits).astype(np.intp) + 1)
    return edges

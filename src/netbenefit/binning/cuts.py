"""Cut points of one numeric column: where to cut, and at which numbers.

A cut c means ``x >= c``; k cuts make k + 1 bins.  :func:`find_edges` finds the edges of cells at
which to cut, :func:`round_cuts` turns them into numbers that a person would choose.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib.util import find_spec
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.search import Cells, CellScores, equal_mass_edges, gain_edges, score_cells
from netbenefit.binning.weights import SLACK, drop_last_bits, mass_by, weight_of_one_row
from netbenefit.common import FloatArray, InputError, install_command, minimise_by_newton
from netbenefit.data import merge_rows
from netbenefit.metrics import Thresholds, sums_by

# -- what the other columns say about a row: the logit of its risk without one column -------------
# A column alone often moves no row across any threshold, so cuts are judged next to all others.  A
# ridge-penalised logistic model with one effect for each coarse code of each column is enough for
# that; its curvature is a sum over tables of code pairs.
# The model sees patterns: the distinct rows of codes and outcome in lexicographic order, with their
# weight.  So it depends neither on the order of the rows nor on whether equal rows are merged.


Codes = NDArray[np.integer]

#: The model is fitted on at most this many patterns.
_MOST_PATTERNS = 20_000
#: … and has at most this many columns: the strongest on their own.
_MOST_COLUMNS = 50
#: Newton steps shrink quadratically: after one of 1e-4, the next would be 1e-8.
_CLOSE = 1e-4


class AdditiveModel(NamedTuple):
    """Logit = intercept + one effect of each column's code."""

    intercept: float
    effects: tuple[FloatArray, ...]

    def logits(self, columns: Sequence[Codes]) -> FloatArray:
        """Return the logit of each row."""
        eta = np.full(columns[0].shape, self.intercept)
        for codes, effect in zip(columns, self.effects, strict=True):
            eta += effect[codes]
        return eta


def outside_logits(
    columns: Sequence[Codes], n_codes: Sequence[int], event: NDArray[np.bool_], weight: FloatArray
) -> Iterator[FloatArray]:
    """Yield, for each column of codes 0 … K-1, the logit of each row's risk by all other columns.

    It is the logit of the whole model with the column's effect replaced by its mean. The penalty
    grows with the number of columns, so that many weak columns cannot overfit a small table.
    """
    total, events = float(weight.sum()), float(weight @ event)
    if not columns or not 0 < events < total:
        level = (events + 0.5) / (total + 1.0)
        flat = np.full(event.shape, math.log(level / (1.0 - level)))
        for _ in columns:
            yield flat
        return
    row_weight = weight / weight_of_one_row(weight)
    kept = _strongest(columns, n_codes, event, row_weight)
    patterns = _thin(_merge([columns[j] for j in kept], event, row_weight))
    model = fit_additive(
        patterns.columns,
        [n_codes[j] for j in kept],
        patterns.event,
        patterns.weight,
        ridge=float(len(kept)),  # logits are expected to spread by one, all columns together
    )
    eta = model.logits([columns[j] for j in kept])
    effect_of = dict(zip(kept, model.effects, strict=True))
    for j, codes in enumerate(columns):
        if j in effect_of:
            share = sums_by(codes, weight, n_codes[j]) / total
            yield eta - (effect_of[j] - share @ effect_of[j])[codes]
        else:
            yield eta


def fit_additive(
    columns: Sequence[Codes],
    n_codes: Sequence[int],
    event: NDArray[np.bool_],
    weight: FloatArray,
    ridge: float,
) -> AdditiveModel:
    """Fit effects that minimise the deviance / 2 + ridge / 2 · Σ effect²; the intercept is free."""
    ends = np.cumsum([1, *n_codes])
    places = [slice(a, b) for a, b in pairwise(ends.tolist())]
    penalty = np.full(ends[-1], ridge)
    penalty[0] = 0.0
    rate = float(weight @ event) / float(weight.sum())
    beta = np.zeros(ends[-1])
    beta[0] = math.log(rate / (1.0 - rate))

    def split(b: FloatArray) -> AdditiveModel:
        return AdditiveModel(float(b[0]), tuple(b[place] for place in places))

    def loss(b: FloatArray) -> float:
        eta = split(b).logits(columns)
        deviance = weight @ (np.logaddexp(0.0, eta) - event * eta)
        return float(deviance + 0.5 * (penalty * b) @ b)

    def derivatives(b: FloatArray) -> tuple[FloatArray, FloatArray]:
        q = 1.0 / (1.0 + np.exp(-split(b).logits(columns)))
        gradient = _by_code(columns, n_codes, weight * (q - event)) + penalty * b
        matrix = _gram(columns, n_codes, places, weight * q * (1.0 - q))
        matrix[np.diag_indices_from(matrix)] += penalty
        return gradient, matrix

    return split(minimise_by_newton(loss, derivatives, beta, close=_CLOSE))


def _by_code(columns: Sequence[Codes], n_codes: Sequence[int], rows: FloatArray) -> FloatArray:
    """Return the sum of a number over all rows, and over the rows of each code."""
    sums = [sums_by(codes, rows, k) for codes, k in zip(columns, n_codes, strict=True)]
    return np.concatenate([[rows.sum()], *sums])


def _gram(
    columns: Sequence[Codes], n_codes: Sequence[int], places: Sequence[slice], rows: FloatArray
) -> FloatArray:
    """Return Zᵀ diag(rows) Z for the intercept and the indicators Z of all codes."""
    sums = _by_code(columns, n_codes, rows)
    matrix = np.diag(sums)
    matrix[0] = matrix[:, 0] = sums
    for i, (codes, k) in enumerate(zip(columns, n_codes, strict=True)):
        for j in range(i):
            pairs = codes.astype(np.intp) * n_codes[j] + columns[j]
            block = sums_by(pairs, rows, k * n_codes[j]).reshape(k, n_codes[j])
            matrix[places[i], places[j]] = block
            matrix[places[j], places[i]] = block.T
    return matrix


class _Patterns(NamedTuple):
    """Distinct rows of codes and outcome, in lexicographic order, with their weight."""

    columns: list[Codes]
    event: NDArray[np.bool_]
    weight: FloatArray


def _merge(columns: Sequence[Codes], event: NDArray[np.bool_], weight: FloatArray) -> _Patterns:
    """Return the patterns of the rows that have weight; those without the event come first."""
    kept = weight > 0
    if not kept.all():
        columns, event, weight = [codes[kept] for codes in columns], event[kept], weight[kept]
    first, pattern_of_row = merge_rows([event, *columns], event.size)
    mass = sums_by(pattern_of_row, weight, first.size)
    return _Patterns([codes[first] for codes in columns], event[first], mass)


def _thin(patterns: _Patterns) -> _Patterns:
    """Return all patterns, or a sample with as many of the rare as of the common outcome.

    Patterns are sampled at equal steps along their cumulated weight and weigh as much as their
    hits: each outcome keeps its total weight, and no random generator is needed.
    """
    columns, event, weight = patterns
    if weight.size <= _MOST_PATTERNS:
        return patterns
    sides = [np.flatnonzero(event), np.flatnonzero(~event)]
    fewest = min(sides[0].size, sides[1].size, _MOST_PATTERNS // 2)
    thinned = np.zeros(weight.size)
    for side in sides:
        size = _MOST_PATTERNS - fewest if side.size > fewest else fewest
        if side.size <= size:
            thinned[side] = weight[side]
            continue
        cumulated = np.cumsum(weight[side])
        total = float(cumulated[-1])
        # The slack keeps the last bits of fractional weights from deciding.
        steps = (np.arange(size) + 0.5) * (total / size) + SLACK * total
        hit = np.searchsorted(cumulated, steps, side="right")
        thinned[side] = np.bincount(hit, minlength=side.size) * (total / size)
    chosen = np.flatnonzero(thinned)
    return _Patterns([codes[chosen] for codes in columns], event[chosen], thinned[chosen])


def _strongest(
    columns: Sequence[Codes], n_codes: Sequence[int], event: NDArray[np.bool_], weight: FloatArray
) -> list[int]:
    """Return the columns that take part, by how much more than noise each explains alone."""
    if len(columns) <= _MOST_COLUMNS:
        return list(range(len(columns)))
    rate = float(weight @ event) / float(weight.sum())
    of_events = weight * event
    strength = np.empty(len(columns))
    for j, (codes, k) in enumerate(zip(columns, n_codes, strict=True)):
        mass = sums_by(codes, weight, k)
        g = sums_by(codes, of_events, k) - rate * mass
        h = mass * (rate * (1.0 - rate))
        strength[j] = np.sum(g * g / (h + 1.0)) - 2.0 * (np.count_nonzero(h) - 1)
    return sorted(np.argsort(-drop_last_bits(strength), kind="stable")[:_MOST_COLUMNS].tolist())


# -- cut points as numbers that a person would choose, where that costs nothing measurable ---------
# Any number in the gap between two neighbouring values splits a column alike.  Beyond the gap a cut
# may cross a little weight, as long as the partition keeps its gain.  That leaves an interval
# for each cut, and the roundest number in it is taken.


#: Largest share of all weight that a cut may cross.
_CROSSED = 0.01
#: Largest share of the partition's gain that rounding all cuts together may cost …
_LOST = 0.02
#: … or, where that is more, this much for each cut, in units of the gain of noise in a bin: within
#: one unit of the best place lie all places that the data cannot tell from it.
_UNSEEN = 1.0


def round_cuts(
    cells: Cells,
    edges: NDArray[np.intp],
    scores: CellScores,
    *,
    min_mass: float = 0.0,
    supervised: bool = True,
) -> FloatArray:
    """Return a round number for each edge, ascending.

    A number inside a quantile cell splits its rows in a way that the cells do not know; it is taken
    only if both the edge before and the edge after that cell would do.
    """
    if not len(edges):
        return np.empty(0)
    state = _Rounding(cells, edges.tolist(), scores, min_mass, supervised)
    return np.array([state.round_next() for _ in edges])


class _Rounding:
    """Rounds cut after cut, each one with those before it already rounded."""

    def __init__(
        self, cells: Cells, edges: list[int], scores: CellScores, min_mass: float, supervised: bool
    ) -> None:
        self.cells, self.edges, self.supervised = cells, edges, supervised
        self.sums = [np.concatenate(([0.0], np.cumsum(part))) for part in scores[:3]]
        self.ridge = scores.noise
        self.total = float(self.sums[0][-1])
        self.least = max(min_mass * (1.0 - SLACK), self.total * 1e-12)
        both_ends = np.concatenate((cells.starts, cells.ends))
        self.whole = bool(np.all(both_ends == np.floor(both_ends)))
        walls = [0, *self.edges, cells.size]
        gain = sum(self._gain(a, b) for a, b in pairwise(walls))
        self.scale = gain + self.ridge  # what losses are made of, and their last bits
        self.budget = max(_LOST * gain, _UNSEEN * self.ridge * len(self.edges))
        self.spent = 0.0
        self.done = 0
        self.before = {0}  # edges that the last cut may stand for

    def round_next(self) -> float:
        """Return the next cut."""
        own = self.edges[self.done]
        low = own
        while self._is_allowed(low - 1):
            low -= 1
        high = own
        while self._is_allowed(high + 1):
            high += 1
        starts, ends = self.cells.starts, self.cells.ends
        middle = 0.5 * float(ends[own - 1]) + 0.5 * float(starts[own])
        cut = roundest(float(ends[low - 1]), float(starts[high]), middle, whole=self.whole)
        meant = {int(np.searchsorted(part, cut, side="left")) for part in (starts, ends)}
        self.spent += max(0.0, *(self._lost(edge) for edge in meant))
        self.before = meant
        self.done += 1
        return cut

    def _next(self) -> int:
        """Return the edge after the one that is being rounded."""
        return [*self.edges, self.cells.size][self.done + 1]

    def _is_allowed(self, edge: int) -> bool:
        left, right = max(self.before), self._next()
        if not left < edge < right:
            return False
        mass = self.sums[0]
        crossed = abs(float(mass[edge] - mass[self.edges[self.done]]))
        if crossed > _CROSSED * self.total * (1.0 + SLACK):
            return False
        if min(mass[edge] - mass[left], mass[right] - mass[edge]) < self.least:
            return False
        # Half of what is left of the budget: most cuts need little of it.  The last may have all.
        share = (self.budget - self.spent) / (1 if right == self.cells.size else 2)
        return not self.supervised or self._lost(edge) <= share + SLACK * self.scale

    def _lost(self, edge: int) -> float:
        """Return how much the partition loses with the current edge at another place."""
        own, right = self.edges[self.done], self._next()
        return max(
            self._gain(left, own)
            + self._gain(own, right)
            - self._gain(left, edge)
            - self._gain(edge, right)
            for left in self.before
        )

    def _gain(self, start: int, end: int) -> float:
        _, g, h = (float(part[end] - part[start]) for part in self.sums)
        return g * g / (h + self.ridge) if self.ridge > 0 else 0.0


def roundest(low: float, high: float, middle: float, *, whole: bool = False) -> float:
    """Return the roundest number c with low < c <= high, a whole one if ``whole``.

    The fewest decimal places first (or the most zeros at the end), then multiples of 5 of the last
    place, then the nearest to ``middle``.
    """
    if math.isinf(low) or math.isinf(high):
        low, high = _finite(low, high)
    if low < 0 <= high:
        return 0.0
    middle = middle if low < middle <= high else high
    bottom, top = Fraction(low), Fraction(high)
    place = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for exponent in range(place, -1 if whole else place - 20, -1):
        step = Fraction(10) ** exponent
        first, last = math.floor(bottom / step) + 1, math.floor(top / step)
        # The nearest float to a decimal just above ``low`` may be ``low`` itself.
        found = [(m, c) for m in range(first, last + 1) if (c := float(f"{m}e{exponent}")) > low]
        if found:
            best = min(found, key=lambda mc: (mc[0] % 5 > 0, abs(mc[1] - middle)))
            return best[1]
    return high


def _finite(low: float, high: float) -> tuple[float, float]:
    """Return an interval of ordinary size that touches the finite end of an endless one."""
    if math.isinf(low) and math.isinf(high):
        return -1.0, 0.0
    if math.isinf(high):
        return low, low + max(abs(low), 1.0)
    return high - max(abs(high), 1.0), high


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
    options = {"max_n_bins": max_bins, "min_bin_size": share, "min_prebin_size": min(share, 0.05)}
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
            f"`{install_command('optbinning')}`, or choose another method."
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


class Rows(NamedTuple):
    """Outcome and weight of the training rows."""

    event: NDArray[np.bool_]
    weight: FloatArray


class CutSettings(NamedTuple):
    """How columns are cut."""

    method: str
    max_bins: int
    max_levels: int
    min_mass: float
    round_cuts: bool
    thresholds: Thresholds | None
    max_columns: int = 1000


def scores_for(
    cells: Cells, rows: Rows, settings: CutSettings, offset: FloatArray | None
) -> CellScores:
    """Return what bins gain: net benefit given the other columns, or likelihood."""
    if settings.method == "net_benefit":
        return score_cells(cells, *rows, settings.thresholds, offset)
    return score_cells(cells, *rows)


def find_edges(
    cells: Cells, rows: Rows, settings: CutSettings, offset: FloatArray | None
) -> NDArray[np.intp]:
    """Return the edges of the bins: the first cell of every bin but the first, ascending.

    ``"quantile"``: bins of near equal weight. ``"tree"``: the leaves of one decision tree.
    ``"net_benefit"``: the partition whose Newton step gains most weighted net benefit, given the
    logits ``offset`` of the other columns (see :mod:`netbenefit.binning.search`).
    """
    method, max_bins, min_mass = settings.method, settings.max_bins, settings.min_mass
    scores = scores_for(cells, rows, settings, offset)
    if method == "quantile":
        return equal_mass_edges(scores.mass, max_bins, min_mass)
    if method == "net_benefit":
        n_rows = float(rows.weight.sum()) / weight_of_one_row(rows.weight)
        return gain_edges(scores, max_bins, min_mass, n_rows)
    counts = count_events(cells, *rows)
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
        mass_by(code[event], weight[event], count), mass_by(code[~event], weight[~event], count)
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

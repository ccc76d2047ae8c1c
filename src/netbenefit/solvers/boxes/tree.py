"""Compiled loops of branch and bound: a depth-first search through boxes of points.

Everything that the search needs to go on lives in arrays (:class:`Tree`), so it can be cut into
slices between two looks at the clock.  Boxes that need no further search are written out with a
bound and its reason; together with those still on the stack they cover the box that was entered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from netbenefit.problem import IntegerProblem, Problem, Reason, one_hot_groups
from netbenefit.solvers.boxes.flow import (
    LENGTH,
    TOTAL,
    BoxLimits,
    Counter,
    Field,
    Flow,
    answers_fit,
    augment,
    best_vector,
    box_possible,
    make_box_limits,
    make_counter,
    make_field,
    make_flow,
    narrow,
    paid,
    spread,
    take_back,
)
from netbenefit.solvers.kernels.coordinates import Array
from netbenefit.solvers.kernels.jit import internal, jit

#: Value of a box without allowed points.
NOTHING = int(np.iinfo(np.int64).min)

_FLOW, _COUNTED = int(Reason.FLOW), int(Reason.COUNTED)
_DOUBLED, _FORBIDDEN = int(Reason.DOUBLED), int(Reason.FORBIDDEN)
_SHIFTED = int(Reason.SHIFTED)


class TreeArrays(NamedTuple):
    """What is searched; never written to, shared by all threads."""

    field: Field
    counter: Counter
    box: Array  #: (2, P) lowest and highest points
    limits: BoxLimits
    ceiling: int
    #: 1 where the limits allow 2λ whenever λ, the box, and the points of answers do
    doubles: int
    groups: Array  #: (G, 2) first and last of the columns whose points may be shifted for free
    raises: int  #: 1 where a better vector becomes the incumbent
    few: int  #: boxes of at most this many vectors are counted


class Tree(NamedTuple):
    """Where one search stands; D levels, B boxes of room for answers."""

    slack: Array  #: (D, U, S)
    bits: Array  #: (D, U, W)
    lo: Array  #: (D, P)
    hi: Array  #: (D, P)
    node: Array  #: (D, 5) COLUMN, CHILDREN, NEXT, MARK, BOUND
    cuts: Array  #: (D, 4) child c holds cuts[c] … cuts[c + 1] − 1
    flow: Flow
    out_box: Array  #: (B, 2, P)
    out: Array  #: (B, 2) value, reason
    state: Array  #: (4,) DEPTH, OUT, NODES, VECTORS
    best: Array  #: (P + 1,) best vector that was counted, and its value
    weight: Array  #: (U,) work space
    hist: Array  #: work space of the counter
    scores: Array  #: work space of the counter


COLUMN, CHILDREN, NEXT, MARK, BOUND = range(5)
DEPTH, OUT, NODES, VECTORS = range(4)
# Depths that are none: a box waits to be looked at, or nothing is left.
WAITING, DONE = -2, -1


def make_tree_arrays(
    problem: Problem, integers: IntegerProblem, *, every_vector: bool = False
) -> TreeArrays:
    """Lay out a problem for the search.

    With ``every_vector`` none is left out because another one is as good, and the incumbent stays:
    all vectors that are worth more than it are in boxes that were counted.
    """
    limits = problem.limits
    full = int(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).sum())
    widths = problem.upper - problem.lower + 1
    whole = all(bool(row[:width].all()) for row, width in zip(limits.values, widths, strict=True))
    doubles = whole and limits.total >= full and not every_vector
    return TreeArrays(
        field=make_field(integers),
        counter=make_counter(problem, integers),
        box=np.stack([integers.lower, integers.upper]),
        limits=make_box_limits(
            problem.limits, integers.lower, (integers.price, integers.question_price)
        ),
        ceiling=integers.ceiling,
        doubles=int(doubles),
        groups=free_groups(problem) if doubles else np.zeros((0, 2), dtype=np.int64),
        raises=int(not every_vector),
        few=48,
    )


def free_groups(problem: Problem) -> Array:
    """One-hot groups whose points can be shifted together at no price: (G, 2) first and last."""
    none = np.zeros((0, 2), dtype=np.int64)
    if problem.penalty > 0 or problem.limits.support.shape[0] or problem.questions.grouped:
        return none  # how many points are zero matters, or how far apart they are
    runs = one_hot_groups(problem.patterns.codes, problem.patterns.decimals)
    found = {(first, last) for first, last in runs.tolist() if last - first > 1}
    fitting = [
        (first, last)
        for first, last in sorted(found)
        if (problem.lower[first:last] <= 0).all() and (problem.upper[first:last] >= 0).all()
    ]
    return np.array(fitting, dtype=np.int64) if fitting else none


def most_levels(lower: Array, upper: Array) -> int:
    """How deep a search can get: each split halves an interval, or cuts it at 0."""
    return sum(int(width).bit_length() + 1 for width in upper - lower + 1) + 2


def make_tree(arrays: TreeArrays, answers: int = 4096) -> Tree:
    """Allocate a search."""
    n_columns = arrays.box.shape[1]
    depth = most_levels(arrays.box[0], arrays.box[1])
    n_above, padded = arrays.field.blank.shape
    return Tree(
        slack=np.empty((depth, n_above, padded), dtype=arrays.field.blank.dtype),
        bits=np.zeros((depth, n_above, arrays.field.has_room.shape[1]), dtype=np.uint64),
        lo=np.zeros((depth, n_columns), dtype=np.int64),
        hi=np.zeros((depth, n_columns), dtype=np.int64),
        node=np.zeros((depth, 5), dtype=np.int64),
        cuts=np.zeros((depth, 4), dtype=np.int64),
        flow=make_flow(arrays.field),
        out_box=np.zeros((answers, 2, n_columns), dtype=np.int64),
        out=np.zeros((answers, 2), dtype=np.int64),
        state=np.array([DONE, 0, 0, 0], dtype=np.int64),
        best=np.full(n_columns + 1, NOTHING, dtype=np.int64),
        weight=np.zeros(n_above, dtype=np.int64),
        hist=arrays.counter.room.copy(),
        scores=np.zeros((3, arrays.counter.units.shape[1]), dtype=np.int64),
    )


@internal
def _write(tree: Tree, d: int, value: int, reason: int) -> None:
    """Write out the box at level d."""
    at = tree.state[OUT]
    tree.out_box[at, 0] = tree.lo[d]
    tree.out_box[at, 1] = tree.hi[d]
    tree.out[at, 0] = value
    tree.out[at, 1] = reason
    tree.state[OUT] = at + 1


@internal
def _shifts(arrays: TreeArrays, lo: Array, hi: Array) -> Any:
    """Whether a group can be shifted so that the points of its first column come closer to 0.

    Each shift does so and each doubling doubles all differences between points, so going from box
    to box in this way ends: in a box that is neither, or in points that differ nowhere, which are
    worth as much as zero.
    """
    for g in range(arrays.groups.shape[0]):
        first, last = arrays.groups[g, 0], arrays.groups[g, 1]
        down, up = lo[first] > 0, hi[first] < 0
        for k in range(first, last):
            down = down and lo[k] > arrays.box[0, k]
            up = up and hi[k] < arrays.box[1, k]
        if down or up:
            return True
    return False


@internal
def _settled(arrays: TreeArrays, tree: Tree, shared: Array, d: int) -> Any:
    """Whether the box at level d needs no bound: not allowed, doubled elsewhere, or counted."""
    lo, hi = tree.lo[d], tree.hi[d]
    if not box_possible(arrays.limits, lo, hi):
        _write(tree, d, NOTHING, _FORBIDDEN)
        return True
    volume = 1.0
    doubled = arrays.doubles == 1
    for k in range(lo.size):
        volume *= hi[k] - lo[k] + 1
        doubled = doubled and 2 * lo[k] >= arrays.box[0, k] and 2 * hi[k] <= arrays.box[1, k]
    if doubled and answers_fit(arrays.limits, lo, hi, True, 2):
        _write(tree, d, NOTHING, _DOUBLED)
        return True
    if _shifts(arrays, lo, hi):
        _write(tree, d, NOTHING, _SHIFTED)
        return True
    if volume > arrays.few:
        return False
    best = best_vector(
        arrays.counter,
        arrays.limits,
        lo,
        hi,
        tree.hist,
        tree.scores,
        tree.best,
    )
    tree.state[VECTORS] += int(volume)
    if best > shared[0] and arrays.raises == 1:
        shared[0] = best
    _write(tree, d, best, _COUNTED)
    return True


@internal
def _cut(lo: int, hi: int, cuts: Array) -> int:
    """Split an interval: at 0 where that is inside or an end, else in the middle; return parts."""
    cuts[0] = lo
    if lo <= 0 <= hi:
        count = 1
        if lo < 0:
            cuts[count] = 0
            count += 1
        if hi > 0:
            cuts[count] = 1
            count += 1
        cuts[count] = hi + 1
        return count
    cuts[1] = lo + (hi - lo + 1) // 2
    cuts[2] = hi + 1
    return 2


@internal
def _conflicts(diff: Array, slack: Array, weight: Array, rise: int, fall: int) -> int:
    """New conflicts of a child, each weighed by the supply that u has left."""
    kind = slack.dtype.type
    none, up, down = kind(0), kind(rise), kind(fall)
    total = 0
    for u in range(slack.shape[0]):
        if weight[u] == 0:
            continue
        count = kind(0)
        old, d = slack[u], diff[u]
        for j in range(old.size):
            change = kind(kind(max(d[j], none) * up) + kind(min(d[j], none) * down))
            fresh = kind(kind(old[j] + change) >= none) & kind(old[j] < none)
            count = kind(count + fresh)
        total += weight[u] * np.int64(count)
    return total


@internal
def _branch(arrays: TreeArrays, tree: Tree, d: int) -> None:
    """Choose the column whose children gain the most conflicts, and split it."""
    lo, hi, slack = tree.lo[d], tree.hi[d], tree.slack[d]
    for u in range(tree.weight.size):
        tree.weight[u] = 0
        for i in range(tree.flow.left.shape[0]):
            tree.weight[u] += tree.flow.left[i, u]
    best, chosen = -np.inf, -1
    cuts = tree.cuts[d]
    for k in range(lo.size):
        if lo[k] == hi[k]:
            continue
        parts = _cut(lo[k], hi[k], cuts)
        score = 0.0
        for c in range(parts):
            rise, fall = cuts[c] - lo[k], cuts[c + 1] - 1 - hi[k]
            score += _conflicts(arrays.field.diff[k], slack, tree.weight, rise, fall)
        if score > best:
            best, chosen = score, k
    node = tree.node[d]
    node[COLUMN] = chosen
    node[CHILDREN] = _cut(lo[chosen], hi[chosen], cuts)
    node[NEXT] = 0


@internal
def _bound(arrays: TreeArrays, tree: Tree, shared: Array, target: int, d: int) -> None:
    """Bound the box at level d; write it out, or split it and stay there."""
    lo, hi = tree.lo[d], tree.hi[d]
    mark = tree.flow.state[LENGTH]
    top = arrays.ceiling - paid(arrays.limits, lo, hi)
    aim = max(shared[0], target)
    augment(arrays.field, tree.flow, tree.bits[d], top - aim)
    bound = top - tree.flow.state[TOTAL]
    if bound <= aim:
        _write(tree, d, bound, _FLOW)
        take_back(tree.flow, mark)
        return
    tree.node[d, MARK] = mark
    tree.node[d, BOUND] = bound
    _branch(arrays, tree, d)
    tree.state[DEPTH] = d


def enter(tree: Tree, lo: Array, hi: Array) -> None:
    """Put a box where the next :func:`explore` begins; nothing may be on the stack."""
    tree.lo[0], tree.hi[0] = lo, hi
    tree.state[DEPTH] = WAITING


@jit
def explore(arrays: TreeArrays, tree: Tree, shared: Array, target: int, budget: int) -> None:
    """Search on until the stack is empty, ``budget`` boxes are done, or the answers are full.

    1. Take the box that waits, or the next child of the deepest box on the stack; where it has no
       more, take back its flow and go up.
    2. Not allowed, doubled elsewhere, or small enough to count: write it out.
    3. Otherwise carry slacks, conflicts and flow over from the parent.
    4. A bound of at most max(incumbent, target) is written out; else choose a column and go down.
    """
    state = tree.state
    limit = state[NODES] + budget
    while state[DEPTH] != DONE and state[NODES] < limit and state[OUT] < tree.out.shape[0]:
        # 1.
        d = state[DEPTH]
        k = 0
        if d == WAITING:
            take_back(tree.flow, 0)
            state[DEPTH] = DONE
            d = -1
        else:
            node = tree.node[d]
            if node[NEXT] == node[CHILDREN]:
                take_back(tree.flow, node[MARK])
                state[DEPTH] = d - 1
                continue
            c, k = node[NEXT], node[COLUMN]
            node[NEXT] += 1
            tree.lo[d + 1] = tree.lo[d]
            tree.hi[d + 1] = tree.hi[d]
            tree.lo[d + 1, k] = tree.cuts[d, c]
            tree.hi[d + 1, k] = tree.cuts[d, c + 1] - 1
        state[NODES] += 1
        # 2.
        if _settled(arrays, tree, shared, d + 1):
            continue
        # 3.
        if d < 0:
            spread(arrays.field, tree.lo[0], tree.hi[0], tree.slack[0], tree.bits[0])
        else:
            narrow(
                arrays.field.diff[k],
                tree.slack[d],
                tree.slack[d + 1],
                tree.bits[d],
                tree.bits[d + 1],
                tree.lo[d + 1, k] - tree.lo[d, k],
                tree.hi[d + 1, k] - tree.hi[d, k],
            )
        # 4.
        _bound(arrays, tree, shared, target, d + 1)


def open_boxes(tree: Tree, *, all_levels: bool = True) -> tuple[Array, Array, Array]:
    """Take boxes that were not looked at off the stack: (lower, upper, bound of the parent).

    All of them, or those of the highest level that has any.
    """
    lower, upper, bounds = [], [], []
    for d in range(int(tree.state[DEPTH]) + 1):
        node = tree.node[d]
        for c in range(int(node[NEXT]), int(node[CHILDREN])):
            lo, hi = tree.lo[d].copy(), tree.hi[d].copy()
            lo[node[COLUMN]], hi[node[COLUMN]] = tree.cuts[d, c], tree.cuts[d, c + 1] - 1
            lower.append(lo)
            upper.append(hi)
            bounds.append(int(node[BOUND]))
        node[NEXT] = node[CHILDREN]
        if lower and not all_levels:
            break
    shape = (len(lower), tree.lo.shape[1])
    return (
        np.array(lower, dtype=np.int64).reshape(shape),
        np.array(upper, dtype=np.int64).reshape(shape),
        np.array(bounds, dtype=np.int64),
    )

"""The whole of RISKSLIM's search: relaxation, starts, shaking, then proof."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from netbenefit.common import FloatArray, IntArray, minimise_by_newton
from netbenefit.estimators.riskslim.problem import TOLERANCE, Lattice, Search
from netbenefit.estimators.riskslim.relaxation import descend, loss_at, relax, round_in_turn
from netbenefit.problem import Progress, Status

# -- first coefficients for RISKSLIM: rounded logistic regressions, polished, and shaken -----------


#: Exponentials that rounding in turn may cost; beyond that, plain rounding has to do.
_DEAR = 3e7
#: Share of the time limit after which nothing more is rounded in turn.
_SHARE = 0.1
#: Shaken copies of the best coefficients without gain before the shaking ends.
_IDLE = 40
#: A logistic regression ends when none of its coefficients moves farther.
_CLOSE_FIT = 1e-8


def begin(search: Search, relaxed: FloatArray) -> None:
    """Offer logistic regressions rounded in two ways, each as it is and polished.

    1. No points, with the best intercept for that.
    2. The minimiser of the relaxation (``relaxed``), rounded plainly and in turn.
    3. Logistic regression with scikit-learn's default penalty and with almost none, cut back to the
       box and rounded likewise.
    """
    lattice = search.lattice
    search.offer(lattice.polish(search.best), "descent")
    for strength in (None, 1.0, 1e6):
        fit = relaxed if strength is None else logistic(lattice, strength)
        for in_turn in (False, True):
            # plain rounding is cheap, and is tried of each; the rest of large data would take long
            if search.out_of_time or (in_turn and search.seconds > _SHARE * search.time_limit):
                break
            first = rounded(lattice, fit, in_turn=in_turn)
            search.offer(first, "rounding")
            search.offer(lattice.polish(first), "descent")


def rounded(lattice: Lattice, fit: FloatArray, *, in_turn: bool = True) -> IntArray:
    """Whole coefficients near real ones, in the box and few enough."""
    spread = lattice.z.std(axis=0)
    weight = np.abs(fit) * spread
    weight[0] = np.inf
    kept = np.zeros(fit.size, dtype=bool)
    kept[np.argsort(-weight, kind="stable")[: lattice.most + 1]] = True
    near = np.where(kept, np.clip(fit, lattice.low, lattice.high), 0.0)
    columns = int(np.count_nonzero(near))
    if in_turn and 2.0 * columns**2 * len(lattice.a) <= _DEAR:
        return round_in_turn(lattice.z, lattice.a, lattice.b, lattice.low, lattice.high, near)
    return np.round(near).astype(np.int64)


def shake(search: Search, rng: np.random.Generator, seconds: float) -> None:
    """Change a few of the best coefficients at random and descend again, until nothing comes of it.

    Every fourth try changes one coefficient only, by one; the others change up to a third of them.
    """
    lattice = search.lattice
    open_ = np.flatnonzero(lattice.low < lattice.high)
    if not open_.size:
        return
    end, idle, tries = search.seconds + seconds, 0, 0
    while idle < _IDLE and search.seconds < end and not search.out_of_time:
        w = search.best.astype(np.float64)
        many = 1 if tries % 4 == 0 else int(rng.integers(2, max(3, open_.size // 3 + 1)))
        which = rng.choice(open_, size=min(many, open_.size), replace=False)
        w[which] += rng.choice([-1, 1], size=which.size)
        allowed = rounded(lattice, w, in_turn=False)
        idle = 0 if search.offer(lattice.polish(allowed), "shaking") else idle + 1
        tries += 1


def logistic(lattice: Lattice, strength: float) -> FloatArray:
    """Logistic regression of the patterns, intercept in front.

    ``strength`` is scikit-learn's C: the coefficients' squares cost 1 / (2 C) in total loss.
    """
    from scipy.special import expit

    z, a, b = lattice.z, lattice.a, lattice.b
    ridge = np.full(z.shape[1], 1.0 / (strength * lattice.total))
    ridge[0] = 0.0

    def value(w: FloatArray) -> float:
        return float(loss_at(z @ w, a, b) + 0.5 * ridge @ w**2)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        risk, rest = expit(z @ w), expit(-(z @ w))  # 1 − risk would lose digits
        curve = (z.T * ((a + b) * risk * rest)) @ z
        curve[np.diag_indices_from(curve)] += ridge + 1e-10 * (1.0 + np.diag(curve))
        return (b * risk - a * rest) @ z + ridge * w, curve

    return minimise_by_newton(value, derivatives, np.zeros(z.shape[1]), close=_CLOSE_FIT)


# -- branch and bound over the lattice: boxes of whole numbers, tangent planes, best bound first ---
# 1. A node is a box.  Its bound is that of the tangent plane at the minimiser of its relaxation
#    (:func:`~netbenefit.estimators.riskslim.relaxation.relax`).
# 2. Before branching, the ends of every range are probed: a half of the range whose bound reaches
#    the best objective is cut off.
# 3. The node with the least bound is split.  At a coefficient that is not whole: below and above
#    it, the one for which the quadratic model promises the largest rise on both sides.  At a
#    minimiser of whole numbers, whose relaxed price is too low: zero, and both sides of zero.
#    Otherwise the widest range is halved.
# 4. The plane of a node narrows its box: values at which it reaches the best objective are out.
# 5. Minimisers are rounded and polished now and then.
# The least bound of all open nodes is the bound of the whole search.


#: A relaxation ends this close to its minimum.
_CLOSE = TOLERANCE / 20
#: Coefficients this close to a whole number are whole.
_WHOLE = 1e-6
#: The first nodes are all rounded, later ones now and then.
_ROUND_FIRST, _ROUND_EVERY = 50, 20


class Node(NamedTuple):
    """A box with its bound, and where its relaxation is least."""

    bound: float
    low: IntArray
    high: IntArray
    at: FloatArray
    spread: FloatArray  #: inverse curvature of each coefficient


def make_node(
    search: Search, low: IntArray, high: IntArray, start: FloatArray, cutoff: float | None = None
) -> Node:
    """Steps 1 and 4."""
    p, at = search.lattice, start.copy()
    limit = search.cutoff if cutoff is None else cutoff
    bound, loss, slope, spread = relax(p.z, p.a, p.b, low, high, p.price, p.most, limit, _CLOSE, at)
    bound -= p.rounding(loss, at, low, high)
    search.evaluations += 1
    if bound < limit < math.inf:
        low, high = _narrowed(search, bound, slope, low, high)
        at = np.clip(at, low, high)
    return Node(bound, low, high, at, spread)


def _narrowed(
    search: Search, bound: float, slope: FloatArray, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Step 4: a coefficient v costs at least slope·(v − the best end) more than the bound."""
    if search.lattice.most < low.size - 1:
        return low, high  # the bound then chooses coefficients together
    # prices left out on both sides: the bound can be that much higher than the plane alone
    room = search.cutoff - bound + search.lattice.price.max() + TOLERANCE
    with np.errstate(divide="ignore", over="ignore"):
        reach = np.minimum(np.floor(room / np.abs(slope)), 1e9)
    reach = np.where(np.isfinite(reach), reach, 1e9).astype(np.int64)
    top = np.where(slope > 0, np.minimum(high, low + reach), high)
    bottom = np.where(slope < 0, np.maximum(low, high - reach), low)
    return bottom, top


def probe(search: Search, node: Node, seconds: float = math.inf) -> Node:
    """Step 2: cut off what a bound excludes at both ends of each range, for at most ``seconds``."""
    low, high, at = node.low.copy(), node.high.copy(), node.at
    end = search.seconds + seconds

    def excluded(k: int, first: int, last: int) -> bool:
        least, most = low.copy(), high.copy()
        least[k], most[k] = first, last
        return make_node(search, least, most, at).bound >= search.cutoff

    for k in range(low.size):
        left, right = max(math.ceil(at[k]), int(low[k]) + 1), int(high[k]) + 1
        while left < right and search.seconds < end and not search.out_of_time:
            middle = (left + right) // 2
            if excluded(k, middle, int(high[k])):
                high[k], right = middle - 1, middle
            else:
                left = middle + 1
        left, right = int(low[k]) - 1, min(math.floor(at[k]), int(high[k]) - 1)
        while left < right and search.seconds < end and not search.out_of_time:
            middle = (left + right + 1) // 2
            if excluded(k, int(low[k]), middle):
                low[k], left = middle + 1, middle
            else:
                right = middle - 1
    return make_node(search, low, high, np.clip(at, low, high))


def branch(search: Search, root: Node, max_nodes: float = math.inf) -> None:
    """Search boxes, best bound first, until proof, time or nodes end it."""
    order = count()
    heap = [(root.bound, next(order), root)] if root.bound < search.cutoff else []
    done = 0
    while heap and done < max_nodes and not search.out_of_time:
        bound, _, node = heapq.heappop(heap)
        search.raise_bound(bound, "branch and bound")
        if bound >= search.cutoff:
            heap.clear()
            break
        done += 1
        pieces = _split(search, node)
        if done <= _ROUND_FIRST or done % _ROUND_EVERY == 0:  # step 5
            first = rounded(search.lattice, node.at, in_turn=False)
            search.offer(search.lattice.polish(first), "branch and bound")
        for low, high in pieces:
            child = make_node(search, low, high, node.at)
            if (low == high).all():
                search.offer(low, "branch and bound")
            elif child.bound < search.cutoff and (child.low <= child.high).all():
                # a child's bound may be loose by rounding; its parent's holds as well
                heapq.heappush(heap, (max(child.bound, bound), next(order), child))
        search.notify()
    search.raise_bound(heap[0][0] if heap else math.inf, "branch and bound")


def _split(search: Search, node: Node) -> list[tuple[IntArray, IntArray]]:
    """Step 3: the boxes that a node falls into."""
    low, high, at = node.low, node.high, node.at
    below = np.floor(at)
    part = at - below
    whole = (part < _WHOLE) | (part > 1.0 - _WHOLE)
    loose = ~whole & (low < high)
    if loose.any():
        curve = 1.0 / np.maximum(node.spread, 1e-12)
        rise = np.maximum(curve * part**2, 1e-12) * np.maximum(curve * (1.0 - part) ** 2, 1e-12)
        k = int(np.argmax(np.where(loose, rise, -1.0)))
        return _cut(low, high, k, [(int(low[k]), int(below[k])), (int(below[k]) + 1, int(high[k]))])
    w = np.round(at).astype(np.int64)
    search.offer(w, "branch and bound")
    open_ = (low < high) & (low <= 0) & (high >= 0) & (w != 0) & (search.lattice.price > 0)
    if open_.any():
        span = np.where(w > 0, high, -low)
        k = int(np.argmax(np.where(open_, 1.0 - np.abs(w) / np.maximum(span, 1), -1.0)))
        return _cut(low, high, k, [(int(low[k]), -1), (0, 0), (1, int(high[k]))])
    k = int(np.argmax(high - low))
    if low[k] == high[k]:
        return []
    middle = min(int(w[k]), int(high[k]) - 1)
    return _cut(low, high, k, [(int(low[k]), middle), (middle + 1, int(high[k]))])


def _cut(
    low: IntArray, high: IntArray, k: int, ranges: list[tuple[int, int]]
) -> list[tuple[IntArray, IntArray]]:
    pieces = []
    for first, last in ranges:
        if first <= last:
            least, most = low.copy(), high.copy()
            least[k], most[k] = first, last
            pieces.append((least, most))
    return pieces


#: Shares of the time limit that shaking and probing may take.
_SHAKE, _PROBE = 0.1, 0.15


def solve_lattice(
    lattice: Lattice,
    *,
    time_limit: float = math.inf,
    max_nodes: float = math.inf,
    seed: int = 0,
    callback: Callable[[Progress], bool | None] | None = None,
) -> tuple[Search, Status]:
    """Minimise; Ctrl-C ends the search with the best so far.

    1. Relax the whole box: a bound, and a first place to round.
    2. Round logistic regressions, polish them by discrete coordinate descent, shake the best.
    3. Probe the ends of each range.
    4. Branch and bound.
    """
    _compile()
    search = Search(lattice, time_limit, callback)
    status: Status = "finished"
    try:
        search.notify(True)
        # 1.
        nowhere = np.zeros(lattice.low.size)
        root = make_node(search, lattice.low, lattice.high, nowhere, cutoff=math.inf)
        search.raise_bound(root.bound, "relaxation")
        # 2.
        begin(search, root.at)
        shake(search, np.random.default_rng(seed), _SHAKE * min(time_limit, 600.0))
        # 3.
        root = probe(search, root, _PROBE * min(time_limit, 600.0))
        search.raise_bound(root.bound, "probing")
        # 4.
        branch(search, root, max_nodes)
    except KeyboardInterrupt:
        status = "interrupted"
    if search.proven:
        status = "optimal"
    elif status == "finished" and search.out_of_time:
        status = "time_limit"
    return search, status


@cache
def _compile() -> None:
    """Compile before the clock starts, once per process; no time is lost where that was done."""
    z, half, box = np.ones((1, 1)), np.full(1, 0.5), np.ones(1, dtype=np.int64)
    price, w = np.zeros(1), np.zeros(1, dtype=np.int64)
    descend(z, half, half, -box, box, price, 0, w)
    round_in_turn(z, half, half, -box, box, price)
    relax(z, half, half, -box, box, price, 0, 1.0, 1e-9, np.zeros(1))

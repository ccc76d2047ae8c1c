"""Branching on signs of directions, each node bounded by the direction-sign relaxation.

1. A node allows, for some directions d and columns k, only d·λ ≥ 0 or only d·λ ≤ 0, and only
   λ_k ≥ 0 or only λ_k ≤ 0.  What a node rules out is left out of the maxima of the bound.
2. The open node with the highest bound is split: its most undecided sign may be ≥ 0 in one child
   and ≤ 0 in the other, which leaves out no vector.  Children start from their parent's multipliers
   and get a limited number of steps; a child's bound is never above its parent's.
3. A sign of a column decides signs of directions: d·λ > 0 needs a term that can be positive.
4. A node whose bound is at most the incumbent's value is closed.  The bound of all is the highest
   one of the open nodes, or the incumbent where none is open.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from netbenefit._validation import IntArray
from netbenefit.bounds import directions as relaxation
from netbenefit.bounds._first_order import Model, State, make_state
from netbenefit.bounds.pieces import Pieces

__all__ = ["direction_tree"]

Array = Any
#: A sign is decided when its smaller half is at most this.
_DECIDED = 1e-3


class _Node(NamedTuple):
    order: int  #: minus the bound: the heap gives the smallest
    number: int
    rises: Array
    falls: Array
    above: Array
    below: Array
    state: State
    omega: float


def direction_tree(
    pieces: Pieces,
    *,
    incumbent: int,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
    seconds: float | None = None,
    weight: int = 4,
    node_steps: int = 1000,
    max_nodes: int | None = None,
    on_bound: Callable[[int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> relaxation.DirectionBound:
    """Bound the value of all vectors in a box by branching on signs.

    Parameters
    ----------
    pieces : Pieces
    incumbent : int
        Value of a known vector: nodes that cannot beat it are closed.
    lower, upper : (P,) int, optional
        The box; by default all allowed points.
    seconds : float or None
        Time limit.
    weight : int, default=4
        Most columns in which two patterns of a pair may differ.
    node_steps : int, default=1000
        Steps for a node; the first one gets ten times as many.
    max_nodes : int, optional
        Most nodes.
    on_bound, should_stop : callable, optional
        As for :func:`~netbenefit.bounds.directions.direction_bound`.

    Returns
    -------
    DirectionBound
        ``value`` is at least the best value of the box, or the incumbent if that is higher; equal
        to the incumbent, it is a proof that no vector is better.

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.problem import Problem
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5], weights=[1.0]), penalty=0))
    >>> direction_tree(pieces, incumbent=1).value
    1
    """
    clock = relaxation.Clock(seconds, should_stop)
    run = relaxation.Run(0, incumbent, None)
    ready = relaxation.prepare(pieces, lower, upper, weight, clock)
    run.best = ready.trivial
    best = max(ready.trivial, incumbent)
    tell = on_bound if on_bound is not None else (lambda value: None)
    tell(best)
    if ready.model is None or ready.grid is None or best <= incumbent:
        return relaxation.DirectionBound(best, clock.spent(), 0, {"ended": "trivial"})
    state = make_state(ready.model)
    steps, omega = 10 * node_steps, relaxation.OMEGA
    _, omega = relaxation.descend(ready.model, state, omega, ready.grid, run, clock, steps)
    model = ready.model
    signs = model.rises, model.falls, model.above, model.below
    heap = [_Node(-run.best, 0, *signs, state, omega)]
    total, nodes = run.steps, 1
    while True:
        best = min(best, max(incumbent, -heap[0].order if heap else incumbent))
        tell(best)
        ended = _why(heap, incumbent, clock, nodes, max_nodes)
        parts = [] if ended else _split(model, heap[0])
        if not parts:
            details = {**ready.figures, "nodes": nodes, "open": len(heap)}
            details["ended"] = ended or "no sign left"
            return relaxation.DirectionBound(best, clock.spent(), total, details)
        parent = heapq.heappop(heap)
        for part in parts:
            run = relaxation.Run(-parent.order, incumbent, None)
            state = State(*(array.copy() for array in parent.state))
            child = model._replace(rises=part[0], falls=part[1], above=part[2], below=part[3])
            _, omega = relaxation.descend(
                child, state, parent.omega, ready.grid, run, clock, node_steps
            )
            total, nodes = total + run.steps, nodes + 1
            if run.best > incumbent:
                heapq.heappush(heap, _Node(-run.best, nodes, *part, state, omega))


def _why(
    heap: list[_Node], incumbent: int, clock: relaxation.Clock, nodes: int, most: int | None
) -> str | None:
    """Why to end now, if so."""
    if not heap or -heap[0].order <= incumbent:
        return "proven"
    if most is not None and nodes >= most:
        return "nodes"
    return "time" if clock.over() else None


def _split(model: Model, node: _Node) -> list[tuple[Array, Array, Array, Array]]:
    """Signs of two children, or nothing where all signs are decided."""
    state = node.state
    if state.rise.size == 0:
        return []
    column = np.minimum(state.plus, state.minus) * (node.above & node.below)
    shift = np.minimum(state.rise, state.fall) * (node.rises & node.falls)
    weights = shift * np.sqrt(model.members)
    if max(column.max(initial=0), shift.max(initial=0)) <= _DECIDED:
        return []
    parts = []
    k, d = int(np.argmax(column)), int(np.argmax(weights))
    for up in (True, False):
        rises, falls = node.rises.copy(), node.falls.copy()
        above, below = node.above.copy(), node.below.copy()
        if column[k] > 0.05 or weights[d] == 0:
            (below if up else above)[k] = False
        else:
            (falls if up else rises)[d] = False
        parts.append((*_decide(model, rises, falls, above, below), above, below))
    return parts


def _decide(
    model: Model, rises: Array, falls: Array, above: Array, below: Array
) -> tuple[Array, Array]:
    """Drop the signs of directions that no term can give (3)."""
    owner = np.repeat(np.arange(rises.size), np.diff(model.start))
    up, column = model.up, model.column
    climbs = np.where(up, above[column], below[column])
    drops = np.where(up, below[column], above[column])
    can_rise = np.bincount(owner, climbs, minlength=rises.size) > 0
    can_fall = np.bincount(owner, drops, minlength=rises.size) > 0
    return rises & can_rise, falls & can_fall

"""Small hitting sets by exact search: few elements that meet every set of a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import IntArray
from netbenefit.solvers.kernels.jit import jit

__all__ = ["HittingSet", "hitting_set"]

_NODES = 2000
_NONE, _FOUND, _PAUSED = 0, 1, 2


class HittingSet(NamedTuple):
    """Outcome of a search: ``elements`` is None where no set of that size exists."""

    elements: IntArray | None
    nodes: int
    complete: bool  #: False where the search was stopped; then nothing is known


@jit
def _search(
    sets: IntArray,
    sizes: IntArray,
    member: NDArray[np.bool_],
    rival: IntArray,
    weights: IntArray,
    room: IntArray,
    most: int,
    state: IntArray,
    banned: NDArray[np.bool_],
    hits: IntArray,
    budget: int,
) -> tuple[int, int]:
    """Depth-first search; ``state`` rows: set, position, element of each depth; last row: depth.

    1. Take a set that is not met yet and has the fewest elements that may be taken.
    2. Where more disjoint sets are open than elements may be added, go back.
    3. Try its elements in turn; what was tried is banned for those that follow.
    """
    n_sets = sizes.size
    depth = state[3, 0]
    nodes = 0
    used = np.zeros(member.shape[1], dtype=np.bool_)
    fresh = state[3, 1] == 1
    while depth >= 0:
        if fresh:
            if nodes == budget:
                state[3, 0], state[3, 1] = depth, 1
                return _PAUSED, nodes
            nodes += 1
            fresh = False
            best, fewest = -1, 1 << 30
            for c in range(n_sets):
                if hits[c] == 0:
                    free = 0
                    for j in range(sizes[c]):
                        if not banned[depth, sets[c, j]]:
                            free += 1
                    if free < fewest:
                        best, fewest = c, free
                        if free == 0:
                            break
            if best < 0:
                state[3, 0] = depth
                return _FOUND, nodes
            open_sets = 0
            if fewest > 0 and depth < most:
                used[:] = False
                for step in range(-1, n_sets):  # the chosen set first
                    c = best if step < 0 else step
                    if hits[c] > 0:
                        continue
                    apart = True
                    for j in range(sizes[c]):
                        e = sets[c, j]
                        if used[e] and not banned[depth, e]:
                            apart = False
                            break
                    if apart:
                        open_sets += 1
                        if open_sets > most - depth:
                            break
                        for j in range(sizes[c]):
                            used[sets[c, j]] = True
            if fewest == 0 or depth >= most or open_sets > most - depth:
                depth -= 1
                continue
            state[0, depth], state[1, depth], state[2, depth] = best, 0, -1
        c = state[0, depth]
        last = state[2, depth]
        if last >= 0:
            for s in range(n_sets):
                if member[s, last]:
                    hits[s] -= 1
            for r in range(room.size):
                room[r] += weights[r, last]
            banned[depth, last] = True
            state[2, depth] = -1
        taken = -1
        while state[1, depth] < sizes[c] and taken < 0:
            e = sets[c, state[1, depth]]
            state[1, depth] += 1
            if not banned[depth, e]:
                taken = e
                for r in range(room.size):
                    if weights[r, e] > room[r]:
                        taken = -1
                if taken < 0:
                    banned[depth, e] = True  # room only shrinks further down
        if taken < 0:
            depth -= 1
            continue
        state[2, depth] = taken
        for s in range(n_sets):
            if member[s, taken]:
                hits[s] += 1
        for r in range(room.size):
            room[r] -= weights[r, taken]
        banned[depth + 1] = banned[depth]
        if rival[taken] >= 0:
            banned[depth + 1, rival[taken]] = True
        depth += 1
        fresh = True
    return _NONE, nodes


def hitting_set(
    member: NDArray[np.bool_],
    most: int,
    *,
    rival: IntArray | None = None,
    weights: IntArray | None = None,
    room: IntArray | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> HittingSet:
    """Find at most ``most`` elements that meet every set, or show that there are none.

    Parameters
    ----------
    member : (sets, elements) bool
        Which elements a set has.
    most : int
    rival : (elements,) int, optional
        An element that may not be taken together with this one; −1 for none.
    weights, room : (R, elements) and (R,) int, optional
        Σ weights[r, e] over the elements taken must be at most room[r]; weights are not negative.
    should_stop : callable, optional
        Asked now and then; the search ends without an answer when it says True.

    Examples
    --------
    >>> family = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool)
    >>> hitting_set(family, 1).elements is None, sorted(hitting_set(family, 2).elements.tolist())
    (True, [1, 2])
    """
    n_sets, n_elements = member.shape
    sizes = member.sum(axis=1).astype(np.int64)
    by_size = np.argsort(sizes, kind="stable")
    member, sizes = np.ascontiguousarray(member[by_size]), sizes[by_size]
    sets = np.full((n_sets, max(1, int(sizes.max(initial=0)))), -1, dtype=np.int64)
    often = member.sum(axis=0)
    for c in range(n_sets):
        elements = np.flatnonzero(member[c])
        sets[c, : elements.size] = elements[np.argsort(-often[elements], kind="stable")]
    most = max(0, min(most, n_elements))
    state = np.zeros((4, most + 2), dtype=np.int64)
    state[3, 1] = 1
    banned = np.zeros((most + 2, n_elements), dtype=np.bool_)
    none = np.zeros(0, dtype=np.int64)
    left = none.copy() if room is None else room.astype(np.int64).copy()
    if (left < 0).any():
        return HittingSet(None, 0, True)
    arguments = (
        sets,
        sizes,
        member,
        np.full(n_elements, -1, dtype=np.int64) if rival is None else rival,
        none.reshape(0, n_elements) if weights is None else np.ascontiguousarray(weights),
        left,
        most,
        state,
        banned,
        np.zeros(n_sets, dtype=np.int64),
        _NODES,
    )
    nodes = 0
    while True:
        outcome, more = _search(*arguments)
        nodes += more
        if outcome == _FOUND:
            return HittingSet(state[2, : int(state[3, 0])].copy(), nodes, True)
        if outcome == _NONE:
            return HittingSet(None, nodes, True)
        if should_stop is not None and should_stop():
            return HittingSet(None, nodes, False)

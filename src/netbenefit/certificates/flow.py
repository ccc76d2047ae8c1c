"""The pair-order flow bound of a box, done again: plain arrays and a textbook maximum flow.

Let pattern u be worth calling at a threshold (gain > 0) and w not (gain < 0).  Where
(x_w − x_u)·λ ≥ 0 for all λ of a box, calling u means calling w too.  So a threshold brings at most
Σ_u gain⁺ − F, with F the largest flow that sends at most gain⁺ out of each u and at most |gain⁻|
into each w, along such pairs (and any smaller flow gives a bound as well).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from netbenefit.common.checks import IntArray

__all__ = ["FlowBound", "send"]

#: scipy's flows are 32-bit integers.
_LARGEST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class FlowBound:
    """Bounds of boxes for one problem in whole numbers."""

    above: IntArray  #: (U, P) units of the patterns that some threshold gains by
    below: IntArray  #: (W, P) units of those that some threshold loses by
    supply: IntArray  #: (m, U) what each threshold gains by u, or 0
    room: IntArray  #: (m, W) what each threshold loses by w, or 0

    @classmethod
    def of(cls, units: IntArray, gains: IntArray) -> FlowBound:
        """List the patterns of a problem that are worth calling, and those that are not."""
        up, down = np.maximum(gains, 0), np.maximum(-gains, 0)
        good, bad = up.any(axis=0), down.any(axis=0)
        return cls(units[good], units[bad], up[:, good], down[:, bad])

    def highest(self, lower: IntArray, upper: IntArray) -> int:
        """No vector of the box gains more, prices aside."""
        u, w = np.nonzero(self._conflicts(lower, upper))
        sources, sinks = [], []
        for i, (supply, room) in enumerate(zip(self.supply, self.room, strict=True)):
            both = (supply[u] > 0) & (room[w] > 0)
            sources.append(u[both] + i * supply.size)
            sinks.append(w[both] + i * room.size)
        flow = send(
            np.concatenate(sources), np.concatenate(sinks), self.supply.ravel(), self.room.ravel()
        )
        return int(self.supply.sum()) - flow

    def _conflicts(self, lower: IntArray, upper: IntArray) -> NDArray[np.bool_]:
        """(U, W) whether the least of (x_w − x_u)·λ over the box is 0 or more.

        Twice that least value is d·(lower + upper) − |d|·(upper − lower).
        """
        middle = lower + upper
        least = np.subtract.outer(-(self.above @ middle), -(self.below @ middle))
        for k in np.flatnonzero(upper > lower):
            apart = np.abs(np.subtract.outer(self.above[:, k], self.below[:, k]))
            least -= apart * (upper[k] - lower[k])
        result: NDArray[np.bool_] = least >= 0
        return result


def send(source: NDArray[np.intp], sink: NDArray[np.intp], supply: IntArray, room: IntArray) -> int:
    """Return the largest flow along pairs (source, sink), which are sorted."""
    if not source.size:
        return 0
    unit = max(1, int(np.gcd(np.gcd.reduce(supply), np.gcd.reduce(room))))
    supply, room = supply // unit, room // unit
    # Numbers that are too large are divided until they fit: a flow that is feasible, and completed.
    coarse = max(1, -(-int(supply.sum()) // _LARGEST))
    result = _scipy_flow(source, sink, supply // coarse, room // coarse)
    if coarse == 1:
        return unit * int(result.flow_value)
    n = supply.size
    start = np.asarray(result.flow[source, n + sink]).ravel().astype(np.int64) * coarse
    return unit * _complete(source, sink, supply, room, start)


def _scipy_flow(
    source: NDArray[np.intp], sink: NDArray[np.intp], supply: IntArray, room: IntArray
) -> Any:
    """Largest flow for supplies whose sum has 31 bits; nodes are sources, sinks, start, end."""
    n, m = supply.size, room.size
    room = np.minimum(room, _LARGEST)  # no sink can get more than all sources send
    edges = np.concatenate([np.bincount(source, minlength=n), np.ones(m), [n, 0]])
    first = np.concatenate([[0], np.cumsum(edges)]).astype(np.int32)
    ends = np.concatenate([n + sink, np.full(m, n + m + 1), np.arange(n)]).astype(np.int32)
    capacity = np.concatenate([np.minimum(supply[source], room[sink]), room, supply])
    graph = csr_array((capacity.astype(np.int32), ends, first), shape=(n + m + 2, n + m + 2))
    return maximum_flow(graph, n + m, n + m + 1)


def _complete(
    source: NDArray[np.intp],
    sink: NDArray[np.intp],
    supply: IntArray,
    room: IntArray,
    flow: IntArray,
) -> int:
    """Augment a flow along shortest paths until there are none: the textbook, in plain integers."""
    sent, left, free = flow.tolist(), supply.tolist(), room.tolist()
    pairs = list(zip(source.tolist(), sink.tolist(), strict=True))
    out: list[list[int]] = [[] for _ in left]
    into: list[list[int]] = [[] for _ in free]
    for e, (u, w) in enumerate(pairs):
        out[u].append(e)
        into[w].append(e)
        left[u] -= sent[e]
        free[w] -= sent[e]
    while True:
        came: dict[int, int] = {}  # to each source that was reached, the edge taken back; or −1
        went: dict[int, int] = {}  # to each sink, the edge
        end = _search(pairs, out, into, sent, left, free, came, went)
        if end is None:
            return sum(sent)
        path, w = [], end
        while True:
            path.append((went[w], 1))
            u = pairs[went[w]][0]
            if came[u] < 0:
                break
            path.append((came[u], -1))
            w = pairs[came[u]][1]
        amount = min([left[u], free[end], *(sent[e] for e, way in path if way < 0)])
        for e, way in path:
            sent[e] += way * amount
        left[u] -= amount
        free[end] -= amount


def _search(
    pairs: list[tuple[int, int]],
    out: list[list[int]],
    into: list[list[int]],
    sent: list[int],
    left: list[int],
    free: list[int],
    came: dict[int, int],
    went: dict[int, int],
) -> int | None:
    """Find a sink with room, breadth first from all sources that have something left."""
    came.update((u, -1) for u, rest in enumerate(left) if rest > 0)
    queue = deque(came)
    while queue:
        for e in out[queue.popleft()]:
            w = pairs[e][1]
            if w in went:
                continue
            went[w] = e
            if free[w] > 0:
                return w
            for back in into[w]:
                u = pairs[back][0]
                if sent[back] > 0 and u not in came:
                    came[u] = back
                    queue.append(u)
    return None

"""Separability bound: few features cannot keep positives and negatives apart without losses.

Suits data that a card can nearly separate.  With whole multipliers α, β of equal sums on patterns
u (whose call is a gain at a threshold) and w (whose call is a loss), let d = Σ α_u x_u − Σ β_w x_w.
If all u are called and no w is, then x_u·λ ≥ T > x_w·λ for a cut-off T, hence d·λ > 0.  So a card
without a positive point where d_k > 0 and without a negative one where d_k < 0 loses one of these
patterns, at every threshold where they are gains and losses.  Such combinations, packed so that no
pattern pays twice, make a :class:`FarkasCut`: a card whose signs avoid ``elements`` loses ``loss``
or more.  Nothing but the signs of points enters, so cuts hold in the whole box.

To show that no card comes within τ of the ceiling (price and losses together), sizes are settled
one after another.  A card with j features may lose less than R = τ − j · price, so its signs have
to meet every cut with a loss of at least R:

1. search j signs that meet all these cuts (exactly, by ``hitting_set``); if there are none, size
   j is settled;
2. otherwise find cuts that these signs miss: from pairs of patterns, else from a linear program;
3. where there are none with a loss of R, lower τ to what these signs cost at least.

All cuts are computed in whole numbers (a linear program only proposes multipliers), and so is the
search: the bound is exact.  After sizes 0 … j, a card costs at least min(τ, (j + 1) · price), which
is what a search that was stopped has proven.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netbenefit.common import IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.combinations import Combination, Combiner
from netbenefit.solvers.bounds.conflicts import (
    Pairs,
    collect_pairs,
    grow_set,
    hitting_set,
    pack_pairs,
    shrink_set,
)
from netbenefit.solvers.bounds.signs import Signs, Words, make_signs

#: Pairs kept at first, and where those do not suffice.
_FEW, _MANY = 100_000, 2_000_000


class FarkasCut(NamedTuple):
    """A card whose signs avoid ``elements`` loses at least ``loss``."""

    elements: tuple[tuple[int, int], ...]  #: (column, +1 or −1)
    loss: int
    combinations: tuple[Combination, ...]  #: in the order in which they were packed


@dataclass(frozen=True, eq=False)
class FarkasBound:
    """What the separability bound has shown."""

    value: int  #: no card is worth more, in units of :class:`IntegerProblem`
    optimal: bool  #: whether no card is worth more than the incumbent
    cuts: tuple[FarkasCut, ...]
    programs: int  #: linear programs solved for them
    finished: bool  #: False where time was over


def nearly_separable(integers: IntegerProblem, incumbent: int, *, most_features: int = 12) -> bool:
    """Whether :func:`farkas_bound` is worth a try: few features cost what an incumbent lacks."""
    lacking = integers.ceiling - incumbent
    return lacking <= 0 or (
        lacking <= most_features * integers.price and 20 * lacking <= integers.ceiling
    )


def farkas_bound(
    integers: IntegerProblem,
    *,
    incumbent: int | None = None,
    seconds: float = math.inf,
    on_bound: Callable[[int], None] = lambda value: None,
    should_stop: Callable[[], bool] = lambda: False,
    support: IntArray | None = None,
    support_limit: IntArray | None = None,
) -> FarkasBound:
    """Bound the value of every card of the box.

    Cards that count have Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r].  The bound goes no lower
    than ``incumbent``, about which nothing is assumed.
    """
    deadline = time.perf_counter() + seconds

    def stop() -> bool:
        return time.perf_counter() > deadline or should_stop()

    search = _Search(integers, make_signs(integers, support, support_limit), stop)
    return search.run(incumbent, on_bound)


class _Stopped(Exception):
    """The time is over."""


class _Search:
    """The state of one run: cuts, signs, counters."""

    def __init__(self, integers: IntegerProblem, signs: Signs, stop: Callable[[], bool]) -> None:
        self.integers, self.signs, self.stop = integers, signs, stop
        self.gain = np.ascontiguousarray(np.maximum(integers.gains, 0).T)
        self.loss = np.ascontiguousarray(np.maximum(-integers.gains, 0).T)
        self.rows_u = np.flatnonzero(self.gain.any(axis=1))
        self.rows_w = np.flatnonzero(self.loss.any(axis=1))
        self.combiner: Combiner | None = None
        self.masks: list[Words] = []
        self.cuts: list[FarkasCut] = []
        size = signs.columns.size
        self.rival = np.concatenate([np.arange(size) + size, np.arange(size)])

    # -- the recipe ------------------------------------------------------------------------------

    def run(self, incumbent: int | None, on_bound: Callable[[int], None]) -> FarkasBound:
        integers, ceiling = self.integers, self.integers.ceiling
        if incumbent is None:
            zero = np.zeros_like(integers.lower)
            incumbent = integers.value(np.clip(zero, integers.lower, integers.upper))
        target = max(0, ceiling - incumbent)
        size = self.signs.n_forced
        proven = min(target, size * integers.price)
        on_bound(ceiling - proven)
        try:
            while size * integers.price < target and size <= self._largest():
                target = self._settle(size, target)
                size += 1
                if min(target, size * integers.price) > proven:
                    proven = min(target, size * integers.price)
                    on_bound(ceiling - proven)
            if target > proven:
                proven = target
                on_bound(ceiling - proven)
            finished = True
        except _Stopped:
            finished = False
        return FarkasBound(
            value=ceiling - proven,
            optimal=ceiling - proven <= incumbent,
            cuts=tuple(self.cuts),
            programs=0 if self.combiner is None else self.combiner.programs,
            finished=finished,
        )

    def _largest(self) -> int:
        """Most features that the limits on the support allow."""
        most = self.signs.columns.size + self.signs.n_forced
        forced = set(self.signs.elements(self.signs.forced) % max(1, self.signs.columns.size))
        free = [q for q in range(self.signs.columns.size) if q not in forced]
        for row, room in zip(self.signs.weights, self.signs.room, strict=True):
            left = np.cumsum(np.sort(row[free]))
            most = min(most, self.signs.n_forced + int((left <= room).sum()))
        return most

    def _settle(self, size: int, target: int) -> int:
        """Show that cards with ``size`` features cost ``target`` at least; or lower the target."""
        while True:
            if self.stop():
                raise _Stopped
            need = target - size * self.integers.price
            if need <= 0:
                return target
            signs = self._candidate(size - self.signs.n_forced, need)
            if signs is None:
                return target
            if self._cut_off(signs, need):
                continue
            reached = self._complement(signs)
            if reached >= need:
                continue
            target = size * self.integers.price + reached

    # -- 1. signs that meet all cuts -------------------------------------------------------------

    def _candidate(self, most: int, need: int) -> Words | None:
        """At most ``most`` elements, and the forced ones, that meet all cuts that matter."""
        signs = self.signs
        family = [
            mask
            for mask, cut in zip(self.masks, self.cuts, strict=True)
            if cut.loss >= need and not (mask & signs.forced).any()
        ]
        n_elements = 2 * signs.columns.size
        member = np.zeros((len(family), n_elements), dtype=np.bool_)
        for row, mask in zip(member, family, strict=True):
            row[signs.elements(mask)] = True
        found = hitting_set(
            member,
            most,
            rival=self.rival,
            weights=np.hstack([signs.weights, signs.weights]),
            room=signs.room,
            should_stop=self.stop,
        )
        if not found.complete:
            raise _Stopped
        return None if found.elements is None else signs.mask(found.elements) | signs.forced

    # -- 2. cuts that signs miss -----------------------------------------------------------------

    def _cut_off(self, chosen: Words, need: int) -> bool:
        """Add disjoint cuts that ``chosen`` misses; return whether there was one."""
        rows = self.rows_u, self.rows_w
        found = False
        while True:
            elements, rows = self._from_pairs(
                chosen, need, rows, (_FEW,) if found else (_FEW, _MANY)
            )
            if elements is None:
                break
            found = True
            if not elements.any():  # nothing can help
                break
            chosen = chosen | elements  # the next cut has no element of this one
            if self.stop():
                raise _Stopped
        return found or self._from_combinations(chosen, need)

    def _from_pairs(
        self,
        chosen: Words,
        need: int,
        rows: tuple[IntArray, IntArray],
        capacities: tuple[int, ...],
    ) -> tuple[Words | None, tuple[IntArray, IntArray]]:
        """A cut of pairs, and the patterns that are in any conflict."""
        for capacity in capacities:
            pairs = collect_pairs(self.signs, *rows, chosen, capacity)
            rows = pairs.active_u, pairs.active_w
            elements = np.zeros_like(chosen)
            paid, order = grow_set(pairs, self.gain.copy(), self.loss.copy(), need, elements)
            if paid >= need:
                smaller = shrink_set(pairs, self.gain, self.loss, need, elements, self.signs)
                if self._add_pairs(pairs, smaller) < need:
                    # packed in another order the pairs can pay less: take the order that was found
                    smaller = elements
                    self._add(elements, int(paid), _as_combinations(pairs, order))
                return smaller, rows
            if pairs.complete:
                break
        return None, rows

    def _add_pairs(self, pairs: Pairs, elements: Words) -> int:
        used, loss = pack_pairs(pairs, elements, self.gain.copy(), self.loss.copy())
        self._add(elements, int(loss), _as_combinations(pairs, np.flatnonzero(used)))
        return int(loss)

    def _from_combinations(self, chosen: Words, need: int) -> bool:
        if self.combiner is None:
            self.combiner = Combiner(self.signs, self.gain, self.loss, self.stop)
        cut = self.combiner.find(chosen, need)
        if self.stop():
            raise _Stopped
        if cut is None:
            return False
        elements, loss, combinations = cut
        self._add(elements, loss, combinations)
        return loss >= need

    # -- 3. what signs cost at least -------------------------------------------------------------

    def _complement(self, chosen: Words) -> int:
        """Cut of all other signs: what a card with these signs loses as far as can be shown."""
        others = self.signs.allowed & ~chosen
        pairs = collect_pairs(self.signs, self.rows_u, self.rows_w, chosen, _MANY)
        return max(
            self._add_pairs(pairs, others),
            max(
                cut.loss
                for mask, cut in zip(self.masks, self.cuts, strict=True)
                if not (mask & chosen).any()
            ),
        )

    def _add(self, elements: Words, loss: int, combinations: tuple[Combination, ...]) -> None:
        size = self.signs.columns.size
        named = tuple(
            (k, way if e < size else -way)
            for e in self.signs.elements(elements)
            for k, way in self.signs.doubles[e % size]
        )
        self.masks.append(elements)
        self.cuts.append(FarkasCut(named, loss, combinations))


def _as_combinations(pairs: Pairs, which: IntArray) -> tuple[Combination, ...]:
    ends = zip(pairs.u[which].tolist(), pairs.w[which].tolist(), strict=True)
    return tuple(Combination((u,), (1,), (w,), (1,)) for u, w in ends)

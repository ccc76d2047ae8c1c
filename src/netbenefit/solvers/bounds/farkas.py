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
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import IntegerProblem
from netbenefit.solvers.bounds.conflicts import (
    Pairs,
    collect_pairs,
    grow_set,
    hitting_set,
    pack_pairs,
    shrink_set,
)
from netbenefit.solvers.bounds.multipliers import equal_multipliers
from netbenefit.solvers.bounds.signs import Signs, Words, make_signs
from netbenefit.solvers.highs import equality_program, solve_again
from netbenefit.solvers.kernels.jit import jit

# -- combinations of conflicts ---------------------------------------------------------------------
# A linear program looks for weights α ≥ 0 on patterns u and β ≥ 0 on patterns w, each with sum 1,
# for which d = Σ α_u x_u − Σ β_w x_w has d_k ≤ 0 where column k may be positive and d_k ≥ 0 where
# it may be negative, and otherwise few entries.  Its floating-point answer only proposes patterns:
# whole multipliers are computed anew, and d from them.

#: Weights and entries below this are taken for zeros of the program; exact numbers decide later.
_TINY = 1e-7
#: Cost of an entry that is in the set already.
_CHEAP = 1e-4
_TRIES = 3


class Combination(NamedTuple):
    """Whole multipliers of patterns; both sides have the same sum."""

    gain_rows: tuple[int, ...]
    gain_times: tuple[int, ...]
    loss_rows: tuple[int, ...]
    loss_times: tuple[int, ...]


@jit
def _pack(
    start: IntArray,
    rows: IntArray,
    is_gain: NDArray[np.bool_],
    gain: IntArray,
    loss: IntArray,
    first: int,
    most: int,
    log: IntArray,
) -> Any:
    """Pack copies of a combination whose members may be any of rows[start[c] : start[c + 1]].

    Copies are made while every member has a pattern that can pay at threshold ``first``; ``log``
    takes the patterns of each copy.  Returns what all pay, and the number of copies.
    """
    total, copies = np.int64(0), 0
    n_members = is_gain.size
    while total < most and copies < log.shape[0]:
        for c in range(n_members):
            best, left = -1, np.int64(0)
            for j in range(start[c], start[c + 1]):
                has = gain[rows[j], first] if is_gain[c] else loss[rows[j], first]
                if has > left:
                    best, left = rows[j], has
            if best < 0:
                return total, copies
            log[copies, c] = best
        for i in range(gain.shape[1]):
            y = np.int64(1) << np.int64(62)
            for c in range(n_members):
                row = log[copies, c]
                y = min(y, gain[row, i] if is_gain[c] else loss[row, i])
            if y == 0:
                continue
            total += y
            for c in range(n_members):
                row, twice = log[copies, c], False
                for other in range(c):
                    if log[copies, other] == row and is_gain[other] == is_gain[c]:
                        twice = True
                if not twice:  # a pattern pays once for a copy
                    if is_gain[c]:
                        gain[row, i] -= y
                    else:
                        loss[row, i] -= y
        copies += 1
    return total, copies


class Combiner:
    """Looks for combinations; keeps one linear program for all its questions."""

    def __init__(
        self, signs: Signs, gain: IntArray, loss: IntArray, stop: Callable[[], bool]
    ) -> None:
        self.signs, self.gain, self.loss, self.stop = signs, gain, loss, stop
        self.rows_u = np.flatnonzero(gain.any(axis=1))
        self.rows_w = np.flatnonzero(loss.any(axis=1))
        self.programs = 0
        self.allowed = self._flags(signs.allowed)
        self._model = self._build()

    def _flags(self, mask: Words) -> NDArray[np.bool_]:
        out = np.zeros(2 * self.signs.columns.size, dtype=np.bool_)
        out[self.signs.elements(mask)] = True
        return out

    def find(self, chosen: Words, need: int) -> tuple[Words, int, tuple[Combination, ...]] | None:
        """A cut that ``chosen`` misses, with a loss of ``need`` where that can be found."""
        taken, gain, loss = self._flags(chosen), self.gain.copy(), self.loss.copy()
        elements = np.zeros_like(taken)
        found: list[Combination] = []
        total = 0
        pending = set(range(gain.shape[1]))
        while pending and total < need and not self.stop():
            first = max(pending, key=lambda i: (min(gain[:, i].sum(), loss[:, i].sum()), -i))
            best = self._propose(taken, elements, gain[:, first] > 0, loss[:, first] > 0)
            if best is None:
                pending.remove(first)
                continue
            combination, more = best
            elements |= more
            paid, copies = self._copies(combination, elements, gain, loss, first, need - total)
            total += paid
            found += copies
        if not found:
            return None
        return self.signs.mask(np.flatnonzero(elements)), total, tuple(found)

    # -- one combination -------------------------------------------------------------------------

    def _propose(
        self,
        taken: NDArray[np.bool_],
        elements: NDArray[np.bool_],
        can_gain: NDArray[np.bool_],
        can_lose: NDArray[np.bool_],
    ) -> tuple[Combination, NDArray[np.bool_]] | None:
        """A combination that adds few elements; costs of large entries fall from try to try."""
        weight = np.ones(taken.size)
        best: tuple[Combination, NDArray[np.bool_]] | None = None
        for _ in range(_TRIES):
            answer = self._solve(
                np.where(elements, _CHEAP, 1.0) * weight * self.allowed, taken, can_gain, can_lose
            )
            if answer is None:
                break
            alpha, beta, entries = answer
            exact = self._exact(alpha, beta, entries)
            if exact is not None and not (exact[1] & taken).any():
                if best is None or (exact[1] & ~elements).sum() < (best[1] & ~elements).sum():
                    best = exact
                if not (exact[1] & ~elements).any():
                    break
            weight = 1 / (np.concatenate([entries, -entries]).clip(0) + 0.02)
            weight /= weight.max()
        return best

    def _exact(
        self, alpha: FloatArray, beta: FloatArray, entries: FloatArray
    ) -> tuple[Combination, NDArray[np.bool_]] | None:
        """Whole multipliers that make the small entries vanish, and the elements of the others."""
        u, w = np.flatnonzero(alpha > _TINY), np.flatnonzero(beta > _TINY)
        if u.size == 0 or w.size == 0:
            return None
        units_u, units_w = self.signs.units[self.rows_u[u]], self.signs.units[self.rows_w[w]]
        small = np.abs(entries) <= _TINY
        weights = np.concatenate([alpha[u], beta[w]])
        times = equal_multipliers(units_u[:, small], units_w[:, small], weights)
        if times is None:
            return None
        d = np.array(times, dtype=object) @ np.vstack([units_u, -units_w]).astype(object)
        more = np.array([v > 0 for v in d] + [v < 0 for v in d], dtype=np.bool_) & self.allowed
        combination = Combination(
            tuple(self.rows_u[u].tolist()),
            tuple(times[: u.size]),
            tuple(self.rows_w[w].tolist()),
            tuple(times[u.size :]),
        )
        return combination, more

    # -- copies of it ----------------------------------------------------------------------------

    def _copies(
        self,
        combination: Combination,
        elements: NDArray[np.bool_],
        gain: IntArray,
        loss: IntArray,
        first: int,
        most: int,
    ) -> tuple[int, list[Combination]]:
        """Pack a combination and what it becomes when members give way to patterns like them.

        A pattern may take the place of another if that moves d only where it does not matter.
        """
        size = self.signs.columns.size
        free = elements | ~self.allowed
        up, down = free[:size], free[size:]
        lists = []
        for rows, side, is_up, is_down in (
            (combination.gain_rows, gain, up, down),
            (combination.loss_rows, loss, down, up),
        ):
            able = np.flatnonzero(side[:, first] > 0)
            ranks = self.signs.ranks[able]
            for row in rows:
                own = self.signs.ranks[row]
                alike = ((ranks <= own) | is_up) & ((ranks >= own) | is_down)
                lists.append(able[alike.all(axis=1)])
        start = np.concatenate([[0], np.cumsum([part.size for part in lists])])
        n_gain = len(combination.gain_rows)
        is_gain = np.arange(len(lists)) < n_gain
        log = np.zeros((gain.shape[0] * gain.shape[1], len(lists)), dtype=np.int64)
        paid, copies = _pack(start, np.concatenate(lists), is_gain, gain, loss, first, most, log)
        return int(paid), [
            combination._replace(
                gain_rows=tuple(row[:n_gain].tolist()), loss_rows=tuple(row[n_gain:].tolist())
            )
            for row in log[:copies]
        ]

    # -- the linear program ----------------------------------------------------------------------

    def _build(self) -> Any:
        """Σ α x_u − Σ β x_w − d⁺ + d⁻ = 0, Σ α = Σ β = 1, columns scaled to spread 1."""
        units, size = self.signs.units, self.signs.columns.size
        low = units.min(axis=0)
        scaled = (units - low) / (units.max(axis=0) - low)
        n_u, n_w = self.rows_u.size, self.rows_w.size
        one = sparse.identity(size)
        ones_u, ones_w = np.ones((1, n_u)), np.ones((1, n_w))
        matrix = sparse.bmat(
            [
                [
                    sparse.csr_matrix(scaled[self.rows_u].T),
                    sparse.csr_matrix(-scaled[self.rows_w].T),
                    -one,
                    one,
                ],
                [ones_u, None, None, None],
                [None, ones_w, None, None],
            ],
            format="csc",
        )
        sides = np.concatenate([np.zeros(size), [1.0, 1.0]])
        # Primal simplex: costs change, the matrix does not.
        return equality_program(
            matrix, sides, simplex_strategy=4, primal_feasibility_tolerance=1e-9
        )

    def _solve(
        self,
        cost: FloatArray,
        taken: NDArray[np.bool_],
        can_gain: NDArray[np.bool_],
        can_lose: NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """α, β and d of the best combination; None where there is none."""
        self.programs += 1
        n_u, size = self.rows_u.size, taken.size // 2
        n_rows = n_u + self.rows_w.size
        upper = np.full(n_rows + 2 * size, highspy.kHighsInf)
        upper[:n_u][~can_gain[self.rows_u]] = 0
        upper[n_u:n_rows][~can_lose[self.rows_w]] = 0
        upper[n_rows:][taken] = 0
        values = solve_again(self._model, cost, upper)
        if values is None:
            return None
        entries = values[n_rows : n_rows + size] - values[n_rows + size :]
        return values[:n_u], values[n_u:n_rows], entries


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

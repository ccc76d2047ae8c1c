"""The value of a box by packed conflicts: what no card in it exceeds, whatever the multipliers.

A conflict is a set P of patterns that should be called and a set N that should not, with whole
times of equal sums A on both.  If all of P are called and none of N is, then D·λ ≥ g·A for
D = Σ times · units and g, what all scores are multiples of.  A card that does not reach that makes
an error; one that does has points, which cost.  So every multiplier y ≥ 0 of

    Σ_P (1 − z) + Σ_N z + [resolved] ≥ 1        (z = 1: called)

gives a bound, a sum of whole numbers: gains that the multipliers leave, less prices that they
leave.  :meth:`Packer.value` counts it as the judge does; ``docs/certificate_format.md`` has the
rules one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.problem import (
    Asked,
    Boxes,
    Conflicts,
    IntegerProblem,
    Packing,
    Problem,
    Proof,
    Reason,
    Way,
)
from netbenefit.solvers.kernels.coordinates import fill
from netbenefit.solvers.kernels.jit import internal, jit

#: Value of a box without allowed points.
NOTHING = int(np.iinfo(np.int64).min)
#: Sums stay below this.
_ROOM = 2**61
_SIGNS, _ORDER = int(Way.SIGNS), int(Way.ORDER)
#: Patterns are told apart by sums of their columns times these; then the columns are compared.
_FACTORS = np.random.default_rng(0).integers(1, 2**63, 1 << 14).astype(np.uint64) * 2 + 1


class Rules(NamedTuple):
    """The limits that a box can make use of."""

    values: NDArray[np.bool_]  #: (P, widest range) allowed points, counted from the lowest
    support: IntArray  #: (R, P): Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r]
    support_limit: IntArray
    max_features: int
    max_questions: int

    @classmethod
    def of(cls, problem: Problem) -> Rules:
        """The limits of a problem."""
        limits = problem.limits
        return cls(
            limits.values,
            limits.support,
            limits.support_limit,
            problem.max_features,
            limits.asked.most,
        )

    @classmethod
    def none(cls, integers: IntegerProblem) -> Rules:
        """No limits but the box."""
        size = integers.lower.size
        widest = int((integers.upper - integers.lower).max(initial=0)) + 1
        empty = np.zeros((0, size), dtype=np.int64)
        return cls(np.ones((size, widest), dtype=np.bool_), empty, empty[:, 0], size, size)


class Entries(NamedTuple):
    """The multipliers of a box."""

    conflict: IntArray  #: which of some :class:`Conflicts`
    amount: IntArray  #: above 0
    way: IntArray
    limit: IntArray  #: rows of ``Limits.support``, then the most features, then the most questions
    fine: IntArray  #: above 0

    @classmethod
    def none(cls) -> Entries:
        """No multipliers: the ceiling of cells less certain prices."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(5)))


class TightBox(NamedTuple):
    """A box and what follows from it."""

    lower: IntArray
    upper: IntArray
    asked: IntArray  #: (Q,) YES where certain
    used: NDArray[np.bool_]  #: (P,) columns that are paid for whatever the card
    decided: NDArray[np.bool_]  #: (P,) columns whose sign and price are known

    @property
    def free(self) -> NDArray[np.bool_]:
        """Columns that are not fixed."""
        return np.asarray(self.lower < self.upper)


class LeafBox(NamedTuple):
    """A box of a proof, as it was given; with its value and its multipliers."""

    lower: IntArray
    upper: IntArray
    asked: IntArray
    value: int
    reason: Reason = Reason.PACKED
    entries: Entries | None = None


def same_rows(rows: IntArray) -> tuple[IntArray, int]:
    """Number equal rows alike: (n,) numbers, and how many there are."""
    n, width = rows.shape
    if n == 0 or width == 0:
        return np.zeros(n, dtype=np.int64), min(n, 1)
    mixed = rows.astype(np.uint64) @ _FACTORS[:width] if width <= _FACTORS.size else None
    if mixed is not None:
        _, first, number = np.unique(mixed, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        if (rows == rows[first[number]]).all():
            return number, int(first.size)
    kept, number = np.unique(rows, axis=0, return_inverse=True)
    return number.reshape(-1), len(kept)


def joined_conflicts(parts: Sequence[tuple[int, Sequence[int], Sequence[int]]]) -> Conflicts:
    """Conflicts from (threshold, patterns, times)."""
    sizes = [len(patterns) for _, patterns, _ in parts]
    return Conflicts(
        np.array([threshold for threshold, *_ in parts], dtype=np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array([u for _, patterns, _ in parts for u in patterns], dtype=np.int64),
        np.array([t for *_, times in parts for t in times], dtype=np.int64),
    )


class Packer:
    """Tightens and bounds boxes of one problem."""

    def __init__(self, integers: IntegerProblem, rules: Rules | None = None) -> None:
        self.integers = integers
        self.rules = Rules.none(integers) if rules is None else rules
        self.n_questions = int(integers.questions.max(initial=-1)) + 1
        #: the members of a conflict may not have more times than this, of one side
        most = np.maximum(np.abs(integers.lower), np.abs(integers.upper))
        reach = np.abs(integers.units).max(axis=0, initial=0) * np.maximum(most, 1)
        self.most_times = _ROOM // (4 * (sum(int(r) for r in reach) + integers.unit))
        self._gains = np.ascontiguousarray(integers.gains, dtype=np.int64)
        self._units = np.ascontiguousarray(integers.units, dtype=np.int64)
        self._column_gcd = np.gcd.reduce(self._units, axis=0)

    # -- boxes -----------------------------------------------------------------------------------

    def tighten(
        self, lower: IntArray, upper: IntArray, asked: IntArray | None = None
    ) -> TightBox | None:
        """What follows from a box and the limits; None where no card is left."""
        integers, rules = self.integers, self.rules
        lo, hi = lower.astype(np.int64), upper.astype(np.int64)
        flags = np.full(self.n_questions, Asked.EITHER, dtype=np.int64)
        if asked is not None:
            flags[:] = asked
        of, forced = integers.questions, np.zeros(lo.size, dtype=np.bool_)
        while True:
            before = lo.copy(), hi.copy(), flags.copy(), forced.copy()
            shut = flags[of] == Asked.NO
            lo[shut], hi[shut] = np.maximum(lo[shut], 0), np.minimum(hi[shut], 0)
            if not self._allowed(lo, hi):
                return None
            used = forced | (lo > 0) | (hi < 0)
            live = (lo != 0) | (hi != 0)
            if (used & shut).any():
                return None
            flags[np.unique(of[used])] = Asked.YES
            possible = np.bincount(of[live], minlength=self.n_questions)
            if ((flags == Asked.YES) & (possible == 0)).any():
                return None
            certain = int((flags == Asked.YES).sum())
            if certain > rules.max_questions or int(used.sum()) > rules.max_features:
                return None
            if certain == rules.max_questions:
                flags[flags == Asked.EITHER] = Asked.NO
            if int(used.sum()) == rules.max_features:
                lo[~used], hi[~used] = np.maximum(lo[~used], 0), np.minimum(hi[~used], 0)
            single = (flags[of] == Asked.YES) & (possible[of] == 1) & live
            forced = used | single
            after = lo, hi, flags, forced
            if all((a == b).all() for a, b in zip(before, after, strict=True)):
                decided = (lo == hi) | (forced & ((lo >= 0) | (hi <= 0)))
                return TightBox(lo, hi, flags, forced, decided)

    def _allowed(self, lo: IntArray, hi: IntArray) -> bool:
        """Shrink ranges to allowed values; False where one is empty."""
        if (lo > hi).any():
            return False
        base, values = self.integers.lower, self.rules.values
        own = values[np.arange(lo.size), lo - base] & values[np.arange(lo.size), hi - base]
        for k in np.flatnonzero(~own):
            allowed = np.flatnonzero(values[k, lo[k] - base[k] : hi[k] - base[k] + 1])
            if allowed.size == 0:
                return False
            lo[k], hi[k] = lo[k] + allowed[0], lo[k] + allowed[-1]
        return True

    def cells(self, box: TightBox) -> tuple[IntArray, int]:
        """The cell of each pattern: those that score alike in the whole box; and their number."""
        fixed = self._units @ np.where(box.free, 0, box.lower)
        return same_rows(np.column_stack([self._units[:, box.free], fixed]))

    def grain(self, box: TightBox) -> int:
        """What all scores in the box are multiples of, in units."""
        live = (box.lower != 0) | (box.upper != 0)
        return int(np.gcd.reduce(np.append(self._column_gcd[live], self.integers.unit)))

    # -- values ----------------------------------------------------------------------------------

    def value(
        self,
        box: TightBox | None,
        conflicts: Conflicts | None = None,
        entries: Entries | None = None,
    ) -> int:
        """No card of the box is worth more; :data:`NOTHING` where there is none."""
        if box is None:
            return NOTHING
        given = Entries.none() if entries is None or conflicts is None else entries
        cell, count = self.cells(box)
        left = np.zeros((self._gains.shape[0], count), dtype=np.int64)
        for row, gains in zip(left, self._gains, strict=True):
            np.add.at(row, cell, gains)
        charge = np.zeros((2, box.lower.size), dtype=np.int64)
        base = 0
        if given.conflict.size:
            assert conflicts is not None
            self._check_room(conflicts, given)
            pooled = np.zeros(given.conflict.size, dtype=np.bool_)
            base = int(
                _pack(
                    self._units,
                    box.lower,
                    box.upper,
                    box.decided,
                    self.grain(box),
                    cell,
                    conflicts.threshold,
                    conflicts.start,
                    conflicts.pattern,
                    conflicts.times,
                    *given[:3],
                    left,
                    charge,
                    pooled,
                )
            )
            live = (box.lower != 0) | (box.upper != 0)
            base += self._pools(conflicts, given, pooled, live)
        kept = int(np.maximum(left, 0).sum())
        return kept + base - self._cost(box, charge, given)

    def _check_room(self, conflicts: Conflicts, entries: Entries) -> None:
        """Make sure that 64 bits are enough."""
        largest = int(np.diff(conflicts.start).max(initial=1))
        amounts = float(entries.amount.astype(np.float64).sum()) * largest
        times = int(np.abs(conflicts.times).max(initial=0)) * largest
        if amounts >= _ROOM or times > self.most_times:
            raise OverflowError("multipliers or times of conflicts are too large for 64 bits.")

    def _pools(
        self,
        conflicts: Conflicts,
        entries: Entries,
        pooled: NDArray[np.bool_],
        live: NDArray[np.bool_],
    ) -> int:
        """What resolved conflicts of way ORDER hand back: for each ±δ the larger sum."""
        which = entries.conflict[pooled]
        if which.size == 0:
            return 0
        direction = _directions(
            self._units, conflicts.start, conflicts.pattern, conflicts.times, which
        )
        direction[:, ~live] = 0  # columns without points turn no direction
        direction //= np.maximum(np.gcd.reduce(direction, axis=1), 1)[:, None]
        first = (direction != 0).argmax(axis=1)
        turned = direction[np.arange(which.size), first] < 0
        direction[turned] *= -1
        number, count = same_rows(direction)
        sums = np.zeros((2, count), dtype=np.int64)
        np.add.at(sums, (turned.astype(np.int64), number), entries.amount[pooled])
        return int(sums.max(axis=0).sum())

    def _cost(self, box: TightBox, charge: IntArray, entries: Entries) -> int:
        """The cheapest choice of columns and questions, with fines, less what limits allow."""
        integers, rules = self.integers, self.rules
        n_rows = rules.support.shape[0]
        prices = [integers.price] * box.lower.size
        question, allowance = integers.question_price, 0
        for limit, fine in zip(entries.limit.tolist(), entries.fine.tolist(), strict=True):
            if limit < n_rows:
                row = rules.support[limit].tolist()
                prices = [price + fine * int(r) for price, r in zip(prices, row, strict=True)]
                allowance += fine * int(rules.support_limit[limit])
            elif limit == n_rows:
                prices = [price + fine for price in prices]
                allowance += fine * rules.max_features
            else:
                question += fine
                allowance += fine * rules.max_questions
        best = charge.max(axis=0).tolist()
        shut = ((box.lower == 0) & (box.upper == 0)).tolist()
        sums = [0] * self.n_questions
        cheapest: list[int | None] = [None] * self.n_questions
        some = [False] * self.n_questions
        for k, q in enumerate(integers.questions.tolist()):
            if shut[k]:
                continue
            cost = prices[k] if box.decided[k] else prices[k] - best[k]
            if box.used[k] or cost < 0:
                sums[q] += cost
                some[q] = True
            least = cheapest[q]
            cheapest[q] = cost if least is None else min(least, cost)
        total = -allowance
        for q in range(self.n_questions):
            least = cheapest[q]
            if least is None:
                continue
            with_some = question + (sums[q] if some[q] else least)
            total += with_some if box.asked[q] == Asked.YES else min(0, with_some)
        return total


@internal
def _share(amount: Any, part: Any, whole: Any) -> Any:
    """⌈amount · part / whole⌉ for 0 < part < whole < 2^62, without overflow."""
    if amount < (np.int64(1) << np.int64(62)) // whole:
        return (amount * part + whole - 1) // whole
    turns, rest = amount // whole, amount % whole
    times, left = np.int64(0), np.int64(0)  # rest · part = times · whole + left
    for bit in range(62, -1, -1):
        times, left = 2 * times, 2 * left
        if left >= whole:
            times, left = times + 1, left - whole
        if (rest >> bit) & 1:
            left += part
            if left >= whole:
                times, left = times + 1, left - whole
    return turns * part + times + (1 if left > 0 else 0)


@jit
def _pack(
    units: IntArray,
    lower: IntArray,
    upper: IntArray,
    decided: NDArray[np.bool_],
    grain: int,
    cell: IntArray,
    threshold: IntArray,
    start: IntArray,
    pattern: IntArray,
    times: IntArray,
    conflict: IntArray,
    amount: IntArray,
    way: IntArray,
    left: IntArray,
    charge: IntArray,
    pooled: NDArray[np.bool_],
) -> Any:
    """Take multipliers from gains (``left``) and add up charges; returns Σ amount · (|P| − 1)."""
    n_columns = lower.size
    direction = np.empty(n_columns, dtype=np.int64)
    seen = np.empty((2, left.shape[1]), dtype=np.int64)
    for side in range(2):
        fill(seen[side], -1)
    base = np.int64(0)
    for e in range(conflict.size):
        c, y = conflict[e], amount[e]
        fill(direction, 0)
        total = np.int64(0)
        for j in range(start[c], start[c + 1]):
            total += max(times[j], 0)
            for k in range(n_columns):
                direction[k] += times[j] * units[pattern[j], k]
        need = grain * total
        most = np.int64(0)
        for k in range(n_columns):
            part = max(direction[k] * lower[k], direction[k] * upper[k])
            most += part
            if decided[k]:
                need -= part
        if most >= grain * total:
            if way[e] == _ORDER:
                pooled[e] = True
            elif need <= 0:
                continue
            else:
                for k in range(n_columns):
                    d = direction[k]
                    part = max(d * lower[k], d * upper[k])
                    if decided[k] or part <= 0:
                        continue
                    side = 0 if d > 0 else 1  # the sign of points that reach the part
                    charge[side, k] += y if part >= need else _share(y, part, need)
        i = threshold[c]
        size = 0
        for j in range(start[c], start[c + 1]):
            at = cell[pattern[j]]
            if times[j] > 0 and seen[0, at] != e:
                seen[0, at] = e
                left[i, at] -= y
                size += 1
            elif times[j] < 0 and seen[1, at] != e:
                seen[1, at] = e
                left[i, at] += y
        base += y * (size - 1)
    return base


@jit
def _directions(
    units: IntArray, start: IntArray, pattern: IntArray, times: IntArray, which: IntArray
) -> IntArray:
    """D = Σ times · units of some conflicts."""
    result = np.zeros((which.size, units.shape[1]), dtype=np.int64)
    for e in range(which.size):
        for j in range(start[which[e]], start[which[e] + 1]):
            for k in range(units.shape[1]):
                result[e, k] += times[j] * units[pattern[j], k]
    return result


def as_boxes(leaves: Sequence[LeafBox], conflicts: Conflicts | None = None) -> Boxes:
    """The boxes of a proof; only conflicts that some box makes use of are kept."""
    none = Entries.none()
    entries = [leaf.entries if leaf.entries is not None else none for leaf in leaves]
    asked: IntArray = np.array([leaf.asked for leaf in leaves], dtype=np.uint8)
    packing = None
    if any(leaf.reason == Reason.PACKED for leaf in leaves):
        joined = [np.concatenate([e[j] for e in entries]).astype(np.int64) for j in range(5)]
        kept, which = np.unique(joined[0], return_inverse=True)
        packing = Packing(
            joined_conflicts([]) if conflicts is None else chosen_conflicts(conflicts, kept),
            _starts([e.conflict.size for e in entries]),
            which.reshape(-1).astype(np.int64),
            joined[1],
            joined[2],
            _starts([e.limit.size for e in entries]),
            joined[3],
            joined[4],
        )
    return Boxes(
        np.array([leaf.lower for leaf in leaves], dtype=np.int64),
        np.array([leaf.upper for leaf in leaves], dtype=np.int64),
        np.array([leaf.value for leaf in leaves], dtype=np.int64),
        np.array([leaf.reason for leaf in leaves], dtype=np.uint8),
        None if (asked == Asked.EITHER).all() else asked,
        packing,
    )


def ceiling(problem: Problem, integers: IntegerProblem) -> Proof:
    """The bound that costs nothing: every pattern called right, with one box for all points."""
    packer = Packer(integers, Rules.of(problem))
    asked = np.full(packer.n_questions, Asked.EITHER, dtype=np.int64)
    value = packer.value(packer.tighten(integers.lower, integers.upper))
    boxes = as_boxes([LeafBox(integers.lower, integers.upper, asked, value)])
    bound = integers.to_objective(value)
    return Proof("ceiling", bound, boxes=boxes, rounding=integers.rounding)


def chosen_conflicts(conflicts: Conflicts, which: IntArray) -> Conflicts:
    """Some of the conflicts, in this order."""
    sizes = np.diff(conflicts.start)[which]
    start = _starts(sizes)
    at = np.repeat(conflicts.start[which] - start[:-1], sizes) + np.arange(start[-1])
    return Conflicts(conflicts.threshold[which], start, conflicts.pattern[at], conflicts.times[at])


def _starts(sizes: Sequence[int] | IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

"""The pair-order flow bound of a box of points.

Let u be a pattern worth calling positive at threshold i (gains[i, u] > 0), w one that is not
(gains[i, w] < 0).  If (x_w − x_u)·λ ≥ 0 for every λ of a box, then no card of the box calls u
positive without w: a *conflict*.  Whether it holds is seen in one number, the *slack*

    min over the box of (x_w − x_u)·λ = Σ_k min(d_k lower_k, d_k upper_k),   d = x_w − x_u ,

and floors change nothing, as they keep order.  What a threshold can bring is then at most the value
of the best set of patterns that holds, with each u, all w in conflict with it: by the theorem of
maximum closure Σ_u gains⁺ minus the largest flow from u's (supply gains⁺) along conflicts to w's
(room gains⁻).  Conflicts are transitive, so the bipartite graph suffices.  Columns whose interval
excludes 0 pay their price on top, and so does each question with such a column:

    value(λ) ≤ Σ_i (Σ_u gains⁺[i, u] − flow_i) − price · #{k: 0 not in [lower_k, upper_k]}
               − question_price · #{q: 0 not in [lower_k, upper_k] for some k of q} .

Every flow, not just the largest, gives a valid bound; all numbers are whole.  A smaller box has
more conflicts and keeps the old ones, so a flow is carried on from box to box, and its changes are
logged to be taken back.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from netbenefit.problem import IntegerProblem, Limits, Problem
from netbenefit.solvers.kernels.coordinates import Array
from netbenefit.solvers.kernels.jit import ONE, WORD, ZERO, count_bits, internal, jit, lowest_bit

#: Ranges of scores up to this are counted in a histogram, wider ones are sorted.
_BINS = 8192
#: Real weights of all rows are held in so many bits.
_RATE_BITS = 60


class Counter(NamedTuple):
    """Patterns for counting; never written to."""

    units: Array  #: (P, n)
    unit: int
    gains: Array  #: (n, m), and rows with and without the event where rates are limited
    rates: Array  #: (thresholds, 3) row of gains or −1, least events found, most false alarms
    room: Array  #: (bins, columns of gains) zeros: room for a histogram


def make_counter(problem: Problem, integers: IntegerProblem) -> Counter:
    """Lay out a problem for counting.

    Limits of rates are held in whole numbers; where weights are real, these are rounded so that
    cut-offs at the border count as allowed.
    """
    gains, rates = integers.gains.T, np.zeros((0, 3), dtype=np.int64)
    if problem.limits.rates is not None:
        table = problem.patterns
        events, others, one = table.events, table.others, Fraction(1)
        if not table.is_whole:
            one = Fraction(2) ** (_RATE_BITS - math.frexp(float(table.n_total))[1])
            events = np.array([math.ceil(Fraction(v) * one) for v in table.events.tolist()])
            others = np.array([math.floor(Fraction(v) * one) for v in table.others.tolist()])
        gains = np.column_stack([gains, events, others])
        rates = _rate_rows(problem, one)
    return Counter(
        units=np.ascontiguousarray(integers.units.T),
        unit=integers.unit,
        gains=np.ascontiguousarray(gains, dtype=np.int64),
        rates=rates,
        room=np.zeros((_BINS, gains.shape[1]), dtype=np.int64),
    )


def _rate_rows(problem: Problem, one: Fraction) -> Array:
    """One row per threshold: its gains, least events found, most false alarms, in 1 / ``one``."""
    limits = problem.limits.rates
    assert limits is not None
    rows, at = [], 0
    weights, ps = problem.thresholds.weight_fractions, problem.thresholds.fractions
    for i, (p, weight) in enumerate(zip(ps, weights, strict=True)):
        counts = p > 0 and weight > 0
        found, alarms = math.ceil(limits.found[i] * one), math.floor(limits.alarms[i] * one)
        rows.append([at if counts else -1, found, alarms])
        at += int(counts)
    return np.array(rows[1:], dtype=np.int64).reshape(-1, 3)  # at p = 0 all rows are called


@internal
def _best_sums(sums: Array, best: Array, current: Array) -> None:
    """Highest sum of the rows from some row on, for each column; 0 is "none"."""
    best[:] = 0
    current[:] = 0
    for t in range(sums.shape[0] - 1, -1, -1):
        for i in range(best.size):
            current[i] += sums[t, i]
            best[i] = max(best[i], current[i])


@internal
def _best_within(sums: Array, rates: Array, current: Array, best: Array) -> bool:
    """As above, with cut-offs within the rates; False where there are none."""
    n_gains = sums.shape[1] - 2
    lowest = np.iinfo(np.int64).min
    current[:] = 0
    for r in range(rates.shape[0]):
        best[r] = lowest
    for t in range(sums.shape[0], -1, -1):  # "none" first, then one more score at a time
        if t < sums.shape[0]:
            for i in range(current.size):
                current[i] += sums[t, i]
        for r in range(rates.shape[0]):
            if current[n_gains] >= rates[r, 1] and current[n_gains + 1] <= rates[r, 2]:
                gain = current[rates[r, 0]] if rates[r, 0] >= 0 else 0
                best[r] = max(best[r], gain)
    met = True
    for r in range(rates.shape[0]):
        met = met and best[r] > lowest
    return met


@internal
def _value(counter: Counter, scores: Array, hist: Array) -> int:
    """Sum over the thresholds of the best gain; scores holds units, and work space."""
    gains, unit, lowest = counter.gains, counter.unit, np.iinfo(np.int64).min
    floors = scores[1]
    low, high = np.iinfo(np.int64).max, lowest
    for u in range(floors.size):
        s = scores[0, u] if unit == 1 else scores[0, u] // unit
        floors[u] = s
        low, high = min(low, s), max(high, s)
    n_columns = gains.shape[1]
    size = high - low + 1
    if size > hist.shape[0]:
        # Too wide a range: give each distinct score its rank.  At most n rows, which fit.
        order = np.argsort(floors)
        rank, last = -1, floors[order[0]] - 1
        for j in range(order.size):
            s = floors[order[j]]
            if s != last:
                rank, last = rank + 1, s
            scores[2, order[j]] = rank
        size, low = rank + 1, 0
        floors = scores[2]
    sums = hist[:size] if size <= hist.shape[0] else np.zeros((size, n_columns), dtype=np.int64)
    for u in range(floors.size):
        t = floors[u] - low
        for i in range(n_columns):
            sums[t, i] += gains[u, i]
    current = np.empty(n_columns, dtype=np.int64)
    total = 0
    if counter.rates.shape[0] == 0:
        best = np.empty(n_columns, dtype=np.int64)
        _best_sums(sums, best, current)
        for i in range(n_columns):
            total += best[i]
    else:
        best = np.empty(counter.rates.shape[0], dtype=np.int64)
        if _best_within(sums, counter.rates, current, best):
            for r in range(best.size):
                total += best[r]
        else:
            total = lowest
    sums[:] = 0
    return total


#: No allowed value: farther from 0 than any points.
_NOWHERE = 2**62


class BoxLimits(NamedTuple):
    """Limits 1–3, 5 and 6 of :class:`netbenefit.problem.limits.Limits`, and prices."""

    values: Array  #: (P, widest) values that a column may take
    base: Array  #: (P,) what values[k, 0] stands for
    support: Array  #: (R, P)
    support_limit: Array  #: (R,)
    total: int
    prices: Array  #: (2,) of a column with points, and of a question with such columns
    question: Array  #: (P,) question of each column
    most: int  #: questions with points, at most
    answers: Array  #: (A, P) codes of the answers whose points are limited
    limits: Array  #: (2, Q + 1) where a question's answers begin, and their largest difference


def make_box_limits(limits: Limits, lower: Array, prices: tuple[int, int]) -> BoxLimits:
    """Lay out the limits of points from ``lower`` on; prices of columns and of their questions."""
    asked = limits.asked
    return BoxLimits(
        values=limits.values,
        base=lower,
        support=limits.support,
        support_limit=limits.support_limit,
        total=limits.total,
        prices=np.array(prices, dtype=np.int64),
        question=np.ascontiguousarray(asked.of_column, dtype=np.int64),
        most=asked.most,
        answers=np.ascontiguousarray(asked.answers, dtype=np.int64),
        limits=np.stack([asked.first, np.append(asked.spread, 0)]).astype(np.int64),
    )


@internal
def count_questions(limits: BoxLimits, lo: Array, hi: Array) -> int:
    """How many questions have points in every vector of a box."""
    seen = np.zeros(limits.limits.shape[1], dtype=np.bool_)
    count = 0
    for k in range(lo.size):
        if (lo[k] > 0 or hi[k] < 0) and not seen[limits.question[k]]:
            seen[limits.question[k]] = True
            count += 1
    return count


@internal
def paid(limits: BoxLimits, lo: Array, hi: Array) -> int:
    """What every vector of a box pays for columns and questions."""
    total = 0
    for k in range(lo.size):
        total += limits.prices[0] if (lo[k] > 0 or hi[k] < 0) else 0
    if limits.prices[1] > 0:
        total += limits.prices[1] * count_questions(limits, lo, hi)
    return total


@internal
def answers_fit(limits: BoxLimits, lo: Array, hi: Array, all_vectors: bool, times: int) -> bool:
    """Whether answers of some vector of a box, or of all vectors, may be as far apart as they are.

    ``times`` multiplies the points first.  "Some" is a guess that is False only if there is none;
    "all" is True only if it holds for all.  Both are exact for a single vector.
    """
    for q in range(limits.limits.shape[1] - 1):
        first, last = limits.limits[0, q], limits.limits[0, q + 1]
        # Ends of the lowest and of the highest answer.
        low_of_low, high_of_low = np.int64(_NOWHERE), np.int64(_NOWHERE)
        low_of_high, high_of_high = np.int64(-_NOWHERE), np.int64(-_NOWHERE)
        for a in range(first, last):
            low, high = np.int64(0), np.int64(0)
            for k in range(lo.size):
                code = limits.answers[a, k]
                if code != 0:
                    low += min(code * lo[k], code * hi[k])
                    high += max(code * lo[k], code * hi[k])
            low_of_low, high_of_low = min(low_of_low, low), min(high_of_low, high)
            low_of_high, high_of_high = max(low_of_high, low), max(high_of_high, high)
        if first < last:
            apart = high_of_high - low_of_low if all_vectors else low_of_high - high_of_low
            if times * apart > limits.limits[1, q]:
                return False
    return True


@jit
def box_possible(limits: BoxLimits, lo: Array, hi: Array) -> bool:
    """Whether the box lo … hi may hold an allowed vector: False only if it holds none.

    Each limit is looked at by itself: a value in every interval; the least that each support row
    can sum to, given which columns the box leaves at 0, away from 0, or open; the least sum of
    absolute points; the fewest questions; how far apart answers are at least.  For a box with a
    single vector the answer is exact.
    """
    n_columns, values, base, support = lo.size, limits.values, limits.base, limits.support
    zero = np.zeros(n_columns, dtype=np.bool_)  # 0 is allowed, and in the box
    other = np.zeros(n_columns, dtype=np.bool_)  # so is another value
    weight = 0
    for k in range(n_columns):
        first = max(lo[k], base[k])
        last = min(hi[k], base[k] + values.shape[1] - 1)
        zero[k] = first <= 0 <= last and values[k, -base[k]]
        nearest = _NOWHERE
        for v in range(max(first, 1), last + 1):
            if values[k, v - base[k]]:
                nearest = v
                break
        for v in range(min(last, -1), first - 1, -1):
            if -v >= nearest:
                break
            if values[k, v - base[k]]:
                nearest = -v
                break
        other[k] = nearest < _NOWHERE
        if not zero[k] and not other[k]:
            return False
        weight += 0 if zero[k] else nearest
    if weight > limits.total:
        return False
    for r in range(support.shape[0]):
        least = 0
        for k in range(n_columns):
            if not zero[k] or (other[k] and support[r, k] < 0):
                least += support[r, k]
        if least > limits.support_limit[r]:
            return False
    if count_questions(limits, lo, hi) > limits.most:
        return False
    return answers_fit(limits, lo, hi, False, 1)


@jit
def vector_allowed(limits: BoxLimits, points: Array) -> bool:
    """As :func:`box_possible`, of a single vector: exact, and faster."""
    values, base, support = limits.values, limits.base, limits.support
    weight = 0
    for k in range(points.size):
        place = points[k] - base[k]
        if place < 0 or place >= values.shape[1] or not values[k, place]:
            return False
        weight += abs(points[k])
    if weight > limits.total:
        return False
    for r in range(support.shape[0]):
        sum_of_row = 0
        for k in range(points.size):
            if points[k] != 0:
                sum_of_row += support[r, k]
        if sum_of_row > limits.support_limit[r]:
            return False
    if count_questions(limits, points, points) > limits.most:
        return False
    return answers_fit(limits, points, points, True, 1)


@internal
def best_vector(
    counter: Counter,
    limits: BoxLimits,
    lo: Array,
    hi: Array,
    hist: Array,
    scores: Array,
    best: Array,
) -> int:
    """Best value of all allowed vectors of a box; the smallest int64 where there is none.

    ``best`` holds the best vector so far and its value, and is renewed.
    """
    nothing = np.iinfo(np.int64).min
    n_columns = lo.size
    points = lo.copy()
    scores[0] = 0
    for k in range(n_columns):
        if lo[k] != 0:
            for u in range(scores.shape[1]):
                scores[0, u] += lo[k] * counter.units[k, u]
    top = nothing
    while True:
        if vector_allowed(limits, points):
            value = _value(counter, scores, hist)
            if value > nothing:
                value -= paid(limits, points, points)
                top = max(top, value)
                if value > best[n_columns]:
                    best[:n_columns] = points
                    best[n_columns] = value
        # The next vector, like the next number on an odometer.
        k = 0
        while k < n_columns and points[k] == hi[k]:
            if hi[k] > lo[k]:
                for u in range(scores.shape[1]):
                    scores[0, u] -= (hi[k] - lo[k]) * counter.units[k, u]
                points[k] = lo[k]
            k += 1
        if k == n_columns:
            return top
        points[k] += 1
        for u in range(scores.shape[1]):
            scores[0, u] += counter.units[k, u]


class Field(NamedTuple):
    """Pairs of a problem; never written to, shared by all threads.

    U patterns are worth calling positive at some threshold, V are not at some threshold; V is
    padded to S, a multiple of 64, and W = S / 64.
    """

    diff: Array  #: (P, U, S) x_w − x_u in units
    blank: Array  #: (U, S) slack of the box of zero; very low where there is no pair
    plus: Array  #: (m, U) supply
    minus: Array  #: (m, S) room
    has_room: Array  #: (m, W) bits of the w with room


class Flow(NamedTuple):
    """Flows of all thresholds, with the log of their changes and work space; one per thread."""

    sent: Array  #: (m, U, S) along each pair
    left: Array  #: (m, U) supply that is left
    free: Array  #: (m, S) room that is left
    is_free: Array  #: (m, W) bits of the w with room left
    back: Array  #: (m, S, WU) bits of the u that send to w
    state: Array  #: (2,) TOTAL sent, LENGTH of the log
    log: Array  #: (L, 4) threshold, u, w, change
    seen: Array  #: (W + WU,) work space: visited w and u
    path: Array  #: (3, max(U, S)) work space: where w was reached from, where u was, the queue


TOTAL, LENGTH = 0, 1


def make_field(integers: IntegerProblem) -> Field:
    """List the pairs of a problem."""
    above = np.flatnonzero((integers.gains > 0).any(axis=0))
    below = np.flatnonzero((integers.gains < 0).any(axis=0))
    padded = max(WORD, -(-below.size // WORD) * WORD)
    largest = np.maximum(np.abs(integers.lower), np.abs(integers.upper))
    spread_of = integers.units.max(axis=0) - integers.units.min(axis=0)
    reach = 2 * int((largest * spread_of).sum()) + 1
    most = max(reach, padded)  # numbers of conflicts are counted in the same type
    kind = next(k for k in (np.int16, np.int32, np.int64) if most < np.iinfo(k).max)
    diff = np.zeros((integers.units.shape[1], above.size, padded), dtype=kind)
    for k in range(diff.shape[0]):
        column = integers.units[:, k]
        diff[k, :, : below.size] = column[below][None, :] - column[above][:, None]
    blank = np.full((above.size, padded), -reach, dtype=kind)
    blank[:, : below.size] = np.where(above[:, None] == below[None, :], -reach, 0)
    minus = np.zeros((integers.gains.shape[0], padded), dtype=np.int64)
    minus[:, : below.size] = np.maximum(-integers.gains[:, below], 0)
    return Field(
        diff=diff,
        blank=blank,
        plus=np.maximum(integers.gains[:, above], 0),
        minus=minus,
        has_room=_as_bits(minus > 0),
    )


def _as_bits(flags: Array) -> Array:
    """Pack booleans into words, along the last axis, lowest bit first."""
    packed = np.packbits(flags, axis=-1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint64)


def make_flow(field: Field, log: int = 1 << 20) -> Flow:
    """A flow of nothing."""
    m, n_above = field.plus.shape
    padded = field.minus.shape[1]
    words_above = -(-n_above // WORD)
    return Flow(
        sent=np.zeros((m, n_above, padded), dtype=np.int64),
        left=field.plus.copy(),
        free=field.minus.copy(),
        is_free=field.has_room.copy(),
        back=np.zeros((m, padded, words_above), dtype=np.uint64),
        state=np.zeros(2, dtype=np.int64),
        log=np.zeros((log, 4), dtype=np.int64),
        seen=np.zeros(padded // WORD + words_above, dtype=np.uint64),
        path=np.zeros((3, max(n_above, padded)), dtype=np.int64),
    )


@internal
def _pack(slack: Array) -> Any:
    """Bits of the slacks of a word that are not negative."""
    bits = ZERO
    for j in range(WORD):
        if slack[j] >= 0:
            bits |= ONE << np.uint64(j)
    return bits


@internal
def spread(field: Field, lo: Array, hi: Array, slack: Array, bits: Array) -> None:
    """Slacks and conflicts of a box, from scratch."""
    kind = slack.dtype.type
    none = kind(0)
    slack[:] = field.blank
    for k in range(lo.size):
        low, high = kind(lo[k]), kind(hi[k])
        for u in range(slack.shape[0]):
            row, diff = slack[u], field.diff[k, u]
            for w in range(row.size):
                d = diff[w]
                row[w] = kind(row[w] + kind(kind(max(d, none) * low) + kind(min(d, none) * high)))
    for u in range(slack.shape[0]):
        for b in range(bits.shape[1]):
            bits[u, b] = _pack(slack[u, b * WORD : (b + 1) * WORD])


@internal
def _narrow_word(diff: Array, old: Array, new: Array, up: Any, down: Any) -> Any:
    """Slacks of one word after a change of ends; returns how many are not negative.

    Everything stays in the narrow type, so that the loop becomes vector code.
    """
    kind = old.dtype.type
    none = kind(0)
    count = kind(0)
    for j in range(WORD):
        d = diff[j]
        change = kind(kind(max(d, none) * up) + kind(min(d, none) * down))
        s = kind(old[j] + change)
        new[j] = s
        count = kind(count + kind(s >= none))
    return np.int64(count)


@internal
def narrow(
    diff: Array, old: Array, new: Array, bits: Array, new_bits: Array, rise: int, fall: int
) -> None:
    """Slacks and conflicts after a column's lower end rose by ``rise``, its upper fell by ``fall``.

    diff : (U, S) the column's differences; rise ≥ 0 ≥ fall.
    """
    kind = old.dtype.type
    up, down = kind(rise), kind(fall)
    for u in range(old.shape[0]):
        for b in range(bits.shape[1]):
            first, last = b * WORD, (b + 1) * WORD
            count = _narrow_word(
                diff[u, first:last], old[u, first:last], new[u, first:last], up, down
            )
            before = bits[u, b]
            if count == count_bits(before):  # conflicts never go away
                new_bits[u, b] = before
            else:
                new_bits[u, b] = _pack(new[u, first:last])


# -- flow ------------------------------------------------------------------------------------------


@internal
def _change(flow: Flow, i: int, u: int, w: int, amount: int) -> None:
    """Change what is sent along a pair."""
    before = flow.sent[i, u, w]
    flow.sent[i, u, w] = before + amount
    word, bit = u // WORD, ONE << np.uint64(u % WORD)
    if before == 0:
        flow.back[i, w, word] |= bit
    elif before + amount == 0:
        flow.back[i, w, word] &= ~bit


@internal
def _send(flow: Flow, i: int, u: int, w: int, amount: int) -> None:
    """Send more (or less) along a pair, and log it."""
    _change(flow, i, u, w, amount)
    at = flow.state[LENGTH]
    flow.log[at, 0] = i
    flow.log[at, 1] = u
    flow.log[at, 2] = w
    flow.log[at, 3] = amount
    flow.state[LENGTH] = at + 1


@internal
def _use(flow: Flow, i: int, u: int, w: int, amount: int) -> None:
    """Take supply from u and room from w at the ends of a path."""
    flow.left[i, u] -= amount
    flow.free[i, w] -= amount
    flow.state[TOTAL] += amount
    word, bit = w // WORD, ONE << np.uint64(w % WORD)
    if flow.free[i, w] == 0:
        flow.is_free[i, word] &= ~bit
    else:
        flow.is_free[i, word] |= bit


@internal
def take_back(flow: Flow, mark: int) -> None:
    """Undo all changes after the log had ``mark`` entries."""
    for at in range(flow.state[LENGTH] - 1, mark - 1, -1):
        i, u, w, amount = flow.log[at, 0], flow.log[at, 1], flow.log[at, 2], flow.log[at, 3]
        _change(flow, i, u, w, -amount)
        # Within a path every node except its ends gets as much as it gives: the sums are right.
        _use(flow, i, u, w, -amount)
    flow.state[LENGTH] = mark


@internal
def _reach(bits: Array, has_room: Array, flow: Flow, i: int, source: int) -> Any:
    """Find a w with room that u = source can send to, by way of others; −1 where there is none.

    Breadth first: along shortest paths, the number of paths does not grow with the masses.
    """
    words = has_room.shape[1]
    seen, seen_above = flow.seen[:words], flow.seen[words:]
    from_above, from_below, queue = flow.path[0], flow.path[1], flow.path[2]
    queue[0] = source
    from_below[source] = -1
    head, size = 0, 1
    while head < size:
        u = queue[head]
        head += 1
        for b in range(words):
            hits = bits[u, b] & flow.is_free[i, b]
            if hits != ZERO:
                w = b * WORD + lowest_bit(hits)
                from_above[w] = u
                return w
        for b in range(words):
            news = bits[u, b] & has_room[i, b] & ~seen[b]
            seen[b] |= news
            while news != ZERO:
                w = b * WORD + lowest_bit(news)
                news &= news - ONE
                from_above[w] = u
                for c in range(seen_above.size):
                    more = flow.back[i, w, c] & ~seen_above[c]
                    seen_above[c] |= more
                    while more != ZERO:
                        other = c * WORD + lowest_bit(more)
                        more &= more - ONE
                        from_below[other] = w
                        queue[size] = other
                        size += 1
    return -1


@internal
def _leads_on(bits: Array, has_room: Array, flow: Flow, i: int, u: int) -> Any:
    """Whether u has a conflict with a w that has room left or was not visited: mostly not."""
    ahead = ZERO
    for b in range(has_room.shape[1]):
        ahead |= bits[u, b] & (flow.is_free[i, b] | (has_room[i, b] & ~flow.seen[b]))
    return ahead != ZERO


@internal
def _push(flow: Flow, i: int, source: int, end: int) -> None:
    """Send as much as possible along the path that ends at w = end."""
    from_above, from_below = flow.path[0], flow.path[1]
    amount = min(flow.left[i, source], flow.free[i, end])
    u = from_above[end]
    while u != source:
        w = from_below[u]
        amount = min(amount, flow.sent[i, u, w])
        u = from_above[w]
    w = end
    u = from_above[w]
    while True:
        _send(flow, i, u, w, amount)
        if u == source:
            break
        w = from_below[u]
        _send(flow, i, u, w, -amount)
        u = from_above[w]
    _use(flow, i, source, end, amount)


@internal
def augment(field: Field, flow: Flow, bits: Array, need: int) -> None:
    """Send more along the conflicts until ``need`` is sent or no more can be.

    Searches of one round do not visit again what others have found to lead nowhere; a round that
    sends nothing shows that the flow is the largest.
    """
    has_room = field.has_room
    words = has_room.shape[1]
    # A path has fewer entries than this; a full log ends the work, and the bound stays valid.
    margin = 2 * flow.path.shape[1] + 2
    for i in range(field.plus.shape[0]):
        while True:
            sent_before = flow.state[TOTAL]
            flow.seen[:] = ZERO
            for u in range(field.plus.shape[1]):
                while flow.left[i, u] > 0:
                    if flow.state[TOTAL] >= need or flow.state[LENGTH] + margin > flow.log.shape[0]:
                        return
                    word, bit = words + u // WORD, ONE << np.uint64(u % WORD)
                    if flow.seen[word] & bit != ZERO or not _leads_on(bits, has_room, flow, i, u):
                        break
                    flow.seen[word] |= bit
                    w = _reach(bits, has_room, flow, i, u)
                    if w < 0:
                        break
                    _push(flow, i, u, w)
                    flow.seen[word] &= ~bit
            if flow.state[TOTAL] == sent_before:
                break

"""Compiled loops of the search under constraints beyond bounds and size.

Allowed vectors may lie apart from each other, so that no single step leads from one to the next.
The loops therefore walk through forbidden vectors, too, at a price for each unit that is missing: a
column too many or too few, a question too many, points beyond the allowed sum or of answers beyond
their largest difference, a share of the events not found.  The
price rises while the walk is on forbidden ground and falls while it is not, so the walk keeps
crossing the border.  Only allowed vectors become the best.  (Values that a column may not take are
never taken.)

These functions are compiled only for problems that need them.
"""

from __future__ import annotations

from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, IntArray
from netbenefit.problem import Problem
from netbenefit.solvers.kernels.coordinates import (
    HIGH,
    IN_USE,
    LOW,
    LOWER,
    ORIGIN,
    UPPER,
    WHOLE,
    Array,
    Columns,
    State,
    columns_of,
    copy,
    cumulate,
    cumulate_keys,
    fill,
    gain_now,
    move,
    pack_masses,
    place,
    sort_keys,
)
from netbenefit.solvers.kernels.jit import internal, jit
from netbenefit.solvers.state import (
    ASKED,
    MOST_ASKED,
    SIZE,
    Chain,
    SearchState,
    anneal,
    apart,
    change,
    count_used,
    keep,
    random,
    weigh,
)

#: How often a second column changes along with the first.
_TOGETHER = 0.25
#: What forbidden steps multiply the price by, and allowed ones.
_DEARER, _CHEAPER = 1.05, 0.98
#: Sums of real weights are rounded; rates within this share of their limit are checked again.
_ROUNDING = 1e-12


class Rules(NamedTuple):
    """The limits of a problem, and how the walk stands to them."""

    values: Array  #: (P, widest) values a column may take
    support: Array  #: (R, P)
    support_limit: Array  #: (R,)
    total: Array  #: (2,) largest sum of absolute points; what a point beyond it counts for
    gains: Array  #: (2, M) worth of an event, cost of a false alarm; M = 0 without rates
    rates: Array  #: (2, M) least events found, most false alarms
    outcomes: Array  #: (n,) rows with and without the event, packed; empty where masses are these
    events: Array  #: (1,) all events
    missing: Array  #: work space: units missing at each value of a column, −1 for no such value
    miss: Array  #: (1,) units that the current points miss
    found: Array  #: (1,) 1 once an allowed vector is known
    price: Array  #: (2,) price of a missing unit, and the highest
    still: Array  #: (3,) zeros: the schedule that lists values


def make_rules(problem: Problem, strict: bool) -> Rules:
    """Lay out the limits; ``strict`` says on which side real weights are rounded."""
    limits = problem.limits
    spread = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    gains, rates = _rates(problem, strict)
    table = problem.patterns
    own = table.outcomes is None or limits.rates is None
    return Rules(
        values=limits.values,
        support=limits.support,
        support_limit=limits.support_limit,
        total=np.array([limits.total, 1.0 / max(1.0, float(spread.mean()))]),
        gains=gains,
        rates=rates,
        outcomes=pack_masses(table.events, table.others)[: 0 if own else None],
        events=np.array([max(float(table.n_events), 1e-300)]),
        missing=np.zeros(limits.values.shape[1]),
        miss=np.zeros(1),
        found=np.zeros(1, dtype=np.int64),
        price=np.array([1.0, 1.0]) * problem.value_of_one,
        still=np.zeros(3),
    )


def _rates(problem: Problem, strict: bool) -> tuple[Array, Array]:
    """Gains and limits of all thresholds above 0, those of weight 0 included."""
    rates, thresholds = problem.limits.rates, problem.thresholds
    exact = columns_of(problem).gains.dtype.kind == "i"
    kind = np.int64 if exact else np.float64
    if rates is None:
        return np.zeros((2, 0), dtype=kind), np.zeros((2, 0))
    if exact and thresholds.integer_gains is not None:
        found, alarm = thresholds.integer_gains.found[1:], thresholds.integer_gains.alarm[1:]
    else:
        found = tuple(thresholds.weight_array[1:])
        alarm = tuple((thresholds.weight_array * thresholds.odds)[1:])
    whole = problem.patterns.is_whole
    ease = _ROUNDING * float(problem.patterns.n_total) * (-1 if strict else 1)
    least = [float(ceil(f)) if whole else float(f) - ease for f in rates.found[1:]]
    most = [float(floor(a)) if whole else max(0.0, float(a) + ease) for a in rates.alarms[1:]]
    least = [v if f > 0 else 0.0 for v, f in zip(least, rates.found[1:], strict=True)]
    most = [
        v if a < rates.alarms[0] else np.inf for v, a in zip(most, rates.alarms[1:], strict=True)
    ]
    return np.array([found, alarm], dtype=kind), np.array([least, most])


@internal
def _count(columns: Columns, state: State, outcomes: Array) -> Any:
    """Events and others at or above each score: curves[0] and curves[1]; return how many scores.

    Where masses are not outcomes, the outcomes at or above each score: curves[2] and curves[3].
    """
    window, curves = state.window, state.curves
    if window[IN_USE] == 1 and outcomes.size == 0:
        first, last = window[LOW] - window[ORIGIN], window[HIGH] - window[ORIGIN] + 1
        masses = state.work[0, : last - first]
        copy(masses, state.hist[first:last])
        cumulate(masses, curves[0, : masses.size], curves[1, : masses.size])
        fill(masses, 0)
        return last - first
    keys, mass = state.keys, columns.mass
    copy(keys[0, : mass.size], state.score[WHOLE])
    side = sort_keys(keys, mass.size)
    size = _curves(mass, keys, side, curves[0], curves[1])
    if outcomes.size > 0:
        _curves(outcomes, keys, side, curves[2], curves[3])
    return size


@internal
def _curves(mass: Array, keys: Array, side: int, events: Array, others: Array) -> Any:
    """Mass at or above each score, from the lowest; return how many scores."""
    size = cumulate_keys(mass, keys, side, events, others)
    for t in range(size // 2):
        events[t], events[size - 1 - t] = events[size - 1 - t], events[t]
        others[t], others[size - 1 - t] = others[size - 1 - t], others[t]
    return size


@internal
def _rated_gain(columns: Columns, state: State, rules: Rules) -> Any:
    """Gain of the best cut-offs within the rates, and the share of events that they miss.

    Where no cut-off meets both limits, the one that finds most events within the false alarms
    counts.
    """
    size = _count(columns, state, rules.outcomes)
    tp, fp = state.curves[0, :size], state.curves[1, :size]
    own = rules.outcomes.size == 0
    found = tp if own else state.curves[2, :size]
    alarms = fp if own else state.curves[3, :size]
    none = rules.gains[0, 0] - rules.gains[0, 0]
    total, short = none, 0.0
    for i in range(rules.gains.shape[1]):
        a, b = rules.gains[0, i], rules.gains[1, i]
        least, most = rules.rates[0, i], rules.rates[1, i]
        first = 0  # the lowest cut-off with few enough false alarms, perhaps above all scores
        while first < size and alarms[first] > most:
            first += 1
        best, reach = none, 0.0
        if first < size:
            best, reach = a * tp[first] - b * fp[first], float(found[first])
        if reach < least:
            short += (least - reach) / rules.events[0]
        else:
            for t in range(first, size):
                if found[t] < least:
                    break
                best = max(best, a * tp[t] - b * fp[t])
            if least <= 0.0:
                best = max(best, none)
        total += best
    return total, short


# -- what is missing -------------------------------------------------------------------------------


@internal
def _excess(points: Array, rules: Rules, k: int, used: bool) -> Any:
    """How far support rows are beyond their limits if column k has points, or has none."""
    excess = 0
    for r in range(rules.support.shape[0]):
        activity = rules.support[r, k] if used else 0
        for j in range(points.size):
            if j != k and points[j] != 0:
                activity += rules.support[r, j]
        excess += max(0, activity - rules.support_limit[r])
    return float(excess)


@internal
def _beyond(points: Array, rules: Rules, k: int, value: int) -> Any:
    """How far the absolute points are beyond their sum with points[k] = value."""
    weight = float(abs(value))
    for j in range(points.size):
        if j != k:
            weight += abs(points[j])
    return max(0.0, weight - rules.total[0]) * rules.total[1]


@internal
def _others_apart(points: Array, chain: Chain, question: int) -> Any:
    """How far answers lie beyond their largest difference, to all questions but one."""
    total = 0
    for j in range(points.size):
        own, first = chain.question[j], True
        for i in range(j):
            first = first and chain.question[i] != own
        if first and own != question and chain.used[own] > 0:
            weigh(chain, points, j, chain.group[j])
            total += apart(chain, j, 0, 0)
    return total


@jit
def judge(columns: Columns, state: State, chain: Chain, rules: Rules) -> Any:
    """Objective of the current points, and the units that they miss."""
    points, size = state.points, chain.size
    price = chain.rates[1] * size[SIZE] + chain.rates[2] * size[ASKED]
    short = 0.0
    if rules.gains.shape[1] > 0:
        gain, short = _rated_gain(columns, state, rules)
        value = chain.rates[0] * gain - price
    else:
        value = chain.rates[0] * gain_now(columns, state) - price
    missing = _excess(points, rules, 0, points[0] != 0) + _beyond(points, rules, 0, points[0])
    missing += max(0, size[ASKED] - size[MOST_ASKED])
    if chain.answers.shape[0] > 0:
        missing += _others_apart(points, chain, -1) * rules.total[1]
    return value, missing + short


@jit
def list_values(columns: Columns, state: State, chain: Chain, rules: Rules, k: int) -> None:
    """Objectives of column k's values and the units that they miss: chain.out, rules.missing."""
    lower, upper = columns.column[k, LOWER], columns.column[k, UPPER]
    points, own = state.points, state.points[k]
    rated = rules.gains.shape[1] > 0
    if not rated:
        anneal(columns, state, chain, rules.still, -1 - k, -k)
    without, using = _excess(points, rules, k, False), _excess(points, rules, k, True)
    question = chain.question[k]
    bare = chain.size[SIZE] - (1 if own != 0 else 0)
    rest = chain.used[question] - (1 if own != 0 else 0)  # other rules on the same question
    asked = chain.size[ASKED] - (1 if chain.used[question] > 0 else 0)
    answered = chain.answers.shape[0] > 0
    others_apart = 0
    if answered:
        others_apart = _others_apart(points, chain, question)
        weigh(chain, points, k, chain.group[k])
    for v in range(upper - lower + 1):
        if not rules.values[k, v]:
            rules.missing[v] = -1.0
            continue
        value = lower + v
        missing = (using if value != 0 else without) + _beyond(points, rules, k, value)
        questions = asked + (1 if rest > 0 or value != 0 else 0)
        missing += max(0, questions - chain.size[MOST_ASKED])
        if answered:
            missing += (others_apart + apart(chain, k, value - own, 0)) * rules.total[1]
        if rated:
            move(columns, state, k, value)
            gain, short = _rated_gain(columns, state, rules)
            missing += short
            size = bare + (1 if value != 0 else 0)
            price = chain.rates[1] * size + chain.rates[2] * questions
            chain.out[v] = chain.rates[0] * gain - price
        rules.missing[v] = missing
    if rated:
        move(columns, state, k, own)


# -- walks -----------------------------------------------------------------------------------------


@internal
def _keep_best(state: State, chain: Chain, rules: Rules) -> None:
    """Remember the current points if they are allowed and better."""
    if rules.miss[0] == 0.0 and (rules.found[0] == 0 or chain.value[0] > chain.value[1]):
        rules.found[0] = 1
        keep(state.points, chain.value, chain.best)


@internal
def _adapt(rules: Rules, heat: float) -> None:
    factor = _DEARER if rules.miss[0] > 0.0 else _CHEAPER
    rules.price[0] = min(max(rules.price[0] * factor, 2.0 * heat), rules.price[1])


@internal
def _best_value(values: Array, missing: Array) -> int:
    """Index of the least missing, and among those of the highest value."""
    top = -1
    for v in range(values.size):
        if missing[v] >= 0.0 and (
            top < 0
            or missing[v] < missing[top]
            or (missing[v] == missing[top] and values[v] > values[top])
        ):
            top = v
    return top


@internal
def _draw_value(values: Array, missing: Array, price: float, heat: float, part: float) -> int:
    """Index at ``part`` of the softmax of values less the price of what is missing."""
    high = -np.inf
    for v in range(values.size):
        if missing[v] >= 0.0:
            high = max(high, values[v] - price * missing[v])
    total = 0.0
    for v in range(values.size):
        if missing[v] >= 0.0:
            total += np.exp((values[v] - price * missing[v] - high) / heat)
    left = part * total
    last = -1
    for v in range(values.size):
        if missing[v] >= 0.0:
            last = v
            left -= np.exp((values[v] - price * missing[v] - high) / heat)
            if left <= 0.0:
                break
    return last


@internal
def _another(columns: Columns, state: State, chain: Chain, rules: Rules, k: int) -> Any:
    """A second column and its new points: 0 if it has some, else any; the column −1 for none."""
    j = chain.free[int(random(chain.rng) * chain.free.size)]
    lower, upper = columns.column[j, LOWER], columns.column[j, UPPER]
    value = lower + int(random(chain.rng) * (upper - lower + 1))
    if state.points[j] != 0 and lower <= 0 <= upper and random(chain.rng) < 0.5:
        value = 0
    if j == k or value == state.points[j] or not rules.values[j, value - lower]:
        return -1, value
    return j, value


@jit
def anneal_constrained(
    columns: Columns, state: State, chain: Chain, rules: Rules, plan: Array, begin: int, end: int
) -> int:
    """Anneal or descend, as :func:`netbenefit.solvers.state.anneal` does, across forbidden vectors.

    A descent first lowers what is missing, then raises the value.  In an annealing, now and then a
    second column changes along with the first.
    """
    evaluated, quiet = 0, 0
    free, points = chain.free, state.points
    descent = plan[0] == 0.0
    for step in range(begin, end):
        if descent and quiet == free.size:
            break
        heat = 0.0 if descent else plan[0] * (plan[1] / plan[0]) ** (step / plan[2])
        # 1. A column, and perhaps another one.
        k = free[step % free.size] if descent else free[int(random(chain.rng) * free.size)]
        other, before = -1, points[k]
        if not descent and random(chain.rng) < _TOGETHER:
            other, value = _another(columns, state, chain, rules, k)
            if other >= 0:
                before = points[other]
                change(columns, state, chain, other, value)
        # 2. All of its values.
        list_values(columns, state, chain, rules, k)
        lower = columns.column[k, LOWER]
        n_values = columns.column[k, UPPER] - lower + 1
        values, missing = chain.out[:n_values], rules.missing[:n_values]
        evaluated += n_values
        top = _best_value(values, missing)
        # 3. The best one, or a random one.
        quiet += 1
        if descent:
            gained = values[top] - chain.value[0] > chain.slack[0]
            if missing[top] > rules.miss[0] or (missing[top] == rules.miss[0] and not gained):
                continue
        elif missing[top] > 0.0 or (rules.found[0] == 1 and values[top] <= chain.value[1]):
            price = rules.price[0]
            top = _draw_value(values, missing, price, heat, random(chain.rng))
            loss = chain.value[0] - values[top] + price * (missing[top] - rules.miss[0])
            if other >= 0 and loss > 0 and random(chain.rng) >= np.exp(-loss / heat):
                change(columns, state, chain, other, before)
                continue
        # 4. Go there.
        change(columns, state, chain, k, lower + top)
        quiet = 0
        chain.value[0], rules.miss[0] = values[top], missing[top]
        _keep_best(state, chain, rules)
        if not descent:
            _adapt(rules, heat)
    return evaluated


@jit
def metropolis_constrained(
    columns: Columns, state: State, chain: Chain, rules: Rules, plan: Array, begin: int, end: int
) -> int:
    """Published annealing, one column and one other value per step, across forbidden vectors."""
    evaluated = 0
    for step in range(begin, end):
        heat = plan[0] - plan[1] * (step // int(plan[2]))
        k = chain.free[int(random(chain.rng) * chain.free.size)]
        lower, upper = columns.column[k, LOWER], columns.column[k, UPPER]
        old = state.points[k]
        new = lower + int(random(chain.rng) * (upper - lower))
        if new >= old:
            new += 1
        if not rules.values[k, new - lower]:
            continue
        change(columns, state, chain, k, new)
        evaluated += 1
        value, missing = judge(columns, state, chain, rules)
        gained = value - chain.value[0] - rules.price[0] * (missing - rules.miss[0])
        if gained > 0 or random(chain.rng) < np.exp(gained / heat):
            chain.value[0], rules.miss[0] = value, missing
            _keep_best(state, chain, rules)
        else:
            change(columns, state, chain, k, old)
        _adapt(rules, heat)
    return evaluated


class ConstrainedState(SearchState):
    """The same under limits beyond bounds and size."""

    def __init__(self, problem: Problem, seed: int, *, strict: bool = False) -> None:
        super().__init__(problem, seed)
        self.rules = make_rules(problem, strict)

    @property
    def found(self) -> bool:
        """Whether an allowed vector is known."""
        return bool(self.rules.found[0])

    @property
    def missing(self) -> float:
        """How far the current points are from being allowed."""
        return float(self.rules.miss[0])

    def start(self, points: IntArray, first: bool) -> None:
        """Go to some points; the first time, they are also the best, if they are allowed."""
        chain, rules = self.chain, self.rules
        place(self.columns, self.arrays, points)
        count_used(chain, points)
        chain.value[0], rules.miss[0] = judge(self.columns, self.arrays, chain, rules)
        if first:
            rules.found[0] = int(rules.miss[0] == 0 and self.problem.allows(points))
            chain.value[1] = chain.value[0]
            chain.best[:] = points

    def anneal(self, schedule: Any, begin: int, end: int) -> int:
        """See :func:`anneal_constrained`."""
        if begin == 0 and schedule[0] > 0:
            self.rules.price[0] = 10.0 * schedule[0]
        return anneal_constrained(
            self.columns, self.arrays, self.chain, self.rules, schedule, begin, end
        )

    def metropolis(self, schedule: Any, begin: int, end: int) -> int:
        """See :func:`metropolis_constrained`."""
        return metropolis_constrained(
            self.columns, self.arrays, self.chain, self.rules, schedule, begin, end
        )

    def values(self, k: int) -> tuple[Any, NDArray[np.bool_]]:
        """Objectives of column k's values, all else as it is, and which of them are allowed."""
        chain, rules = self.chain, self.rules
        count_used(chain, self.points)  # which ``move`` does not update
        list_values(self.columns, self.arrays, chain, rules, k)
        n_values = int(self.problem.upper[k] - self.problem.lower[k]) + 1
        return chain.out[:n_values].copy(), rules.missing[:n_values] == 0

    def losses(self, k: int) -> FloatArray:
        """What each other allowed value of column k costs, less than nothing where it is better."""
        values, allowed = self.values(k)
        allowed[self.points[k] - self.problem.lower[k]] = False
        costs: FloatArray = float(self.value) - values[allowed].astype(np.float64)
        return costs

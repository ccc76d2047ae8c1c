"""Packed boxes: never below the best card, and as slow Python computes them from the text."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from netbenefit.cards.scorecard import Provenance
from netbenefit.certificates.boxes import BoxChecker
from netbenefit.certificates.certificate import (
    Certificate,
    make_certificate,
    pattern_order,
    with_patterns,
)
from netbenefit.certificates.judge import Verdict, verify
from netbenefit.certificates.recount import IntegerRecount, RecountedProblem
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import (
    AtLeast,
    AtMost,
    Constraint,
    Exclude,
    Include,
    MaxFeatures,
    MaxQuestions,
    MinTPR,
    Values,
)
from netbenefit.problem.problem import (
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
from netbenefit.problem.questions import Questions
from netbenefit.solvers.base import Run
from tests.helpers.brute import all_values
from tests.helpers.strategies import GRIDS, all_points

NO, YES, EITHER = Asked.NO, Asked.YES, Asked.EITHER


def some_problem(rng: np.random.Generator, *, rates: bool = True) -> Problem:
    """A small problem with whatever may matter to a bound."""
    while True:
        n, width = int(rng.integers(3, 9)), int(rng.integers(1, 5))
        kinds = [[0, 1], [0, 1], [-1, 0, 2], [0.0, 0.5, 1.5], [0.0, 0.3, -0.7], [3, 3]]
        X = [rng.choice(kinds[rng.integers(len(kinds))], n).astype(float) for _ in range(width)]
        y, weight = rng.integers(0, 2, n), rng.integers(1, 6, n)
        if not 0 < y.sum() < n:
            continue
        table = PatternTable.from_arrays(np.column_stack(X), y, sample_weight=weight)
        names = table.names
        kinds_of: list[Constraint] = [
            MaxFeatures(int(rng.integers(0, width + 1))),
            MaxQuestions(int(rng.integers(1, width + 1))),
            AtMost(1, list(names[:3])),
            AtLeast(1, list(names[-2:])),
            Values(names[0], (-2, 0, 1)),
            Values(names[-1], (-1, 2)),
            Exclude(names[-1]),
            Include(names[0]),
        ]
        if rates:
            kinds_of.append(MinTPR(0.5, "2/3"))
        chosen = rng.permutation(len(kinds_of))[: rng.integers(0, 4)]
        labels = np.unique(rng.integers(0, width, width), return_inverse=True)[1]
        order = {label: q for q, label in enumerate(dict.fromkeys(labels.tolist()))}
        of = np.array([order[label] for label in labels.tolist()])
        none = np.zeros((0, width), np.int64), np.zeros(0, np.int64)
        grid = Thresholds.of([0.5, 0.7], weights=[0.3, 0.7]) if rng.integers(2) else GRIDS[0]
        try:
            return Problem.build(
                table,
                grid,
                penalty=[(0.02, 0.005), (0.0, 0.0), (0.1, 0.1)][rng.integers(3)],
                max_points=2,
                constraints=[kinds_of[k] for k in chosen.tolist()],
                questions=Questions(tuple(map(str, range(len(order)))), of, *none),
            )
        except InputError:
            continue


def counted(problem: Problem) -> IntegerRecount:
    run = Run(problem, "test", float("inf")).result(problem.nearest_to_zero(), "finished")
    recount = RecountedProblem(make_certificate(problem, run).problem, problem.patterns)
    return recount.in_integers(IntegerProblem.of(problem).total)


def some_boxes(rng: np.random.Generator, problem: Problem, count: int) -> Boxes:
    """Random boxes, conflicts, multipliers and fines, with no regard to what may be useful."""
    integers, (n, width) = IntegerProblem.of(problem), problem.patterns.codes.shape
    ends = np.sort(rng.integers(-2, 3, (2, count, width)), axis=0)
    narrow = rng.random((count, width)) < 0.2
    ends[1][narrow] = ends[0][narrow]
    flags = rng.choice([NO, YES, EITHER, EITHER], (count, len(problem.questions)))
    threshold, start, pattern, times = [], [0], [], []
    for _ in range(6):
        row = int(rng.integers(len(integers.gains)))
        threshold.append(row)
        worth, lost = (np.flatnonzero(way * integers.gains[row] > 0) for way in (1, -1))
        if not (worth.size and lost.size and rng.integers(4)):  # mostly what may be of use
            worth = lost = np.arange(n)
        good = rng.choice(worth, rng.integers(1, 3)).tolist()
        weight = rng.integers(1, 3, len(good)).tolist()
        bad = rng.choice(lost, sum(weight)).tolist()
        pattern += good + bad
        times += weight + [-1] * len(bad)
        start.append(len(pattern))
    entries, fines = rng.integers(0, 7, count), rng.integers(0, 3, count)
    most = max(1, int(np.abs(integers.gains).max()))
    total, fined = int(entries.sum()), int(fines.sum())
    packing = Packing(
        conflicts=Conflicts(*(np.array(v) for v in (threshold, start, pattern, times))),
        start=np.append(0, np.cumsum(entries)),
        conflict=rng.integers(0, 6, total),
        amount=np.maximum(1, most * rng.random(total) ** 3).astype(np.int64),
        way=rng.choice(list(Way), total),
        fine_start=np.append(0, np.cumsum(fines)),
        limit=rng.integers(0, len(problem.limits.support) + 2, fined),
        fine=rng.integers(1, max(2, most // 3), fined),
    )
    reasons = np.full(count, Reason.PACKED)
    return Boxes(ends[0], ends[1], np.zeros(count, np.int64), reasons, flags, packing)


def checker_of(whole: IntegerRecount, boxes: Boxes) -> BoxChecker:
    """A checker of boxes, whose patterns it expects in the order of the digest."""
    place = np.argsort(pattern_order(whole.recount.table))
    return BoxChecker(whole, with_patterns(boxes, place))


def belongs(problem: Problem, boxes: Boxes, b: int, vectors: np.ndarray) -> np.ndarray:
    """Which vectors are in a box, flags included."""
    inside = ((vectors >= boxes.lower[b]) & (vectors <= boxes.upper[b])).all(axis=1)
    for q in range(len(problem.questions)):
        asked = (vectors[:, problem.questions.of_column == q] != 0).any(axis=1)
        inside &= (boxes.asked[b, q] == EITHER) | (asked == (boxes.asked[b, q] == YES))
    return inside


@pytest.mark.parametrize("seed", range(4))
def test_no_packed_box_is_worth_less_than_its_best_card(seed: int) -> None:
    rng, met, sharp = np.random.default_rng(seed), 0, 0
    for _ in range(400):
        problem = some_problem(rng)
        whole, vectors = counted(problem), all_points(problem)
        values = all_values(IntegerProblem.of(problem), vectors)
        boxes = some_boxes(rng, problem, 6)
        checker = checker_of(whole, boxes)
        assert checker.packed.wrong_conflicts() is None
        ceiling = int(np.maximum(whole.gains, 0).sum())
        for b in range(6):
            inside = belongs(problem, boxes, b, vectors)
            if checker.tight.empty[b]:
                assert not inside.any()
                continue
            value = checker.packed.highest(checker.tight, b, b)
            assert value == slow_value(whole, boxes, b)
            sharp += value < ceiling
            if inside.any():
                met += 1
                assert value >= values[inside].max()
    assert met > 500
    assert sharp > 250


def slow_value(whole: IntegerRecount, boxes: Boxes, b: int) -> int | None:
    """Value of a packed box, step by step as docs/certificate_format.md has it."""
    statement = whole.recount.statement
    limits, of = statement.limits, statement.questions.of_column.tolist()
    low, high, used, state = slow_tight(statement, boxes, b)
    columns, questions = range(len(low)), range(len(state))
    units, gains, packing = whole.units.tolist(), whole.gains.tolist(), boxes.packing
    assert packing is not None
    fixed = [low[k] == high[k] for k in columns]
    cell = [
        (tuple(x[k] for k in columns if not fixed[k]),
         sum(low[k] * x[k] for k in columns if fixed[k]))
        for x in units
    ]  # fmt: skip
    g = math.gcd(whole.unit, *(x[k] for x in units for k in columns if not low[k] == high[k] == 0))
    worth: dict[Any, int] = {}
    for i, row in enumerate(gains):
        for u, gain in enumerate(row):
            worth[i, cell[u]] = worth.get((i, cell[u]), 0) + gain
    decided = [fixed[k] or (used[k] and (low[k] >= 0 or high[k] <= 0)) for k in columns]
    charge = dict.fromkeys(itertools.product(columns, (1, -1)), 0)
    pools: dict[Any, int] = {}
    value = 0
    for e in range(packing.start[b], packing.start[b + 1]):
        c, y, way = int(packing.conflict[e]), int(packing.amount[e]), packing.way[e]
        i = int(packing.conflicts.threshold[c])
        parts = range(packing.conflicts.start[c], packing.conflicts.start[c + 1])
        members = [
            (int(packing.conflicts.pattern[p]), int(packing.conflicts.times[p])) for p in parts
        ]
        D = [sum(t * units[u][k] for u, t in members) for k in columns]
        need = g * sum(t for _, t in members if t > 0)
        most = [max(D[k] * low[k], D[k] * high[k]) for k in columns]
        if sum(most) >= need and way == Way.ORDER:
            turns = [0 if low[k] == high[k] == 0 else D[k] for k in columns]
            gcd = math.gcd(*turns)
            key = tuple(d // gcd for d in turns)
            pools[key] = pools.get(key, 0) + y
        if sum(most) >= need and way == Way.SIGNS:
            need -= sum(most[k] for k in columns if decided[k])
            if need <= 0:
                continue
            for k in columns:
                if not decided[k] and most[k] > 0:
                    share = Fraction(y * min(need, most[k]), need)
                    charge[k, 1 if D[k] > 0 else -1] += math.ceil(share)
        called = {cell[u] for u, t in members if t > 0}
        for one in called:
            worth[i, one] -= y
        for one in {cell[u] for u, t in members if t < 0}:
            worth[i, one] += y
        value += y * (len(called) - 1)
    value += sum(max(v, 0) for v in worth.values())
    seen = set()
    for key, amount in pools.items():
        other = tuple(-d for d in key)
        if other not in seen:
            value += max(amount, pools.get(other, 0))
            seen.add(key)
    price, asking = [whole.price] * len(low), whole.question_price
    for f in range(packing.fine_start[b], packing.fine_start[b + 1]):
        r, fine = int(packing.limit[f]), int(packing.fine[f])
        if r < len(limits.support):
            price = [p + fine * int(v) for p, v in zip(price, limits.support[r], strict=True)]
            value += fine * int(limits.support_limit[r])
        elif r == len(limits.support):
            price = [p + fine for p in price]
            value += fine * statement.max_features
        else:
            asking += fine
            value += fine * limits.asked.most
    a = [price[k] if decided[k] else price[k] - max(charge[k, 1], charge[k, -1]) for k in columns]
    for q in questions:
        own = [k for k in columns if of[k] == q and not low[k] == high[k] == 0]
        costs = []
        for chosen in itertools.product((False, True), repeat=len(own)):
            S = [k for k, taken in zip(own, chosen, strict=True) if taken]
            if not {k for k in own if used[k]} <= set(S) or (state[q] == YES and not S):
                continue
            costs.append(sum(a[k] for k in S) + (asking if S else 0))
        value -= min(costs)
    return value


def slow_tight(statement: Any, boxes: Boxes, b: int) -> tuple[list, list, list, list]:  # type: ignore[type-arg]
    """Step 0 for one box that is not empty."""
    columns, of = range(statement.lower.size), statement.questions.of_column.tolist()
    low, high = boxes.lower[b].tolist(), boxes.upper[b].tolist()
    state = [int(flag) for flag in boxes.asked[b]]
    used = [False for _ in columns]
    while True:
        before = [*low], [*high], [*state], [*used]
        for k in columns:
            inside = [
                v
                for v in range(int(statement.lower[k]), int(statement.upper[k]) + 1)
                if statement.limits.values[k, v - statement.lower[k]] and low[k] <= v <= high[k]
            ]
            if state[of[k]] == NO or (sum(used) == statement.max_features and not used[k]):
                inside = [v for v in inside if v == 0]
            low[k], high[k] = min(inside), max(inside)
            used[k] = used[k] or not low[k] <= 0 <= high[k]
        for q in range(len(state)):
            own = [k for k in columns if of[k] == q and (low[k], high[k]) != (0, 0)]
            if any(used[k] for k in own):
                state[q] = YES
            if state[q] == YES and len(own) == 1:
                used[own[0]] = True
        if sum(flag == YES for flag in state) == statement.limits.asked.most:
            state = [YES if flag == YES else NO for flag in state]
        if before == (low, high, state, used):
            return low, high, used, state


def what_is_wrong(
    whole: IntegerRecount, boxes: Boxes, b: int, reason: Reason, value: int = 0
) -> str | None:
    """What the judge says of a box if it had this reason and value."""
    asked = boxes.asked
    assert asked is not None
    ends = [part[b : b + 1] for part in (boxes.lower, boxes.upper)]
    one = Boxes(*ends, np.array([value]), np.array([reason]), asked[b : b + 1])
    checker = BoxChecker(whole, one)
    if reason == Reason.FORBIDDEN:
        return checker.wrong_forbidden()
    return checker.wrong_doubled() if reason == Reason.DOUBLED else checker.wrong_value(0)


def test_flags_are_heeded_whatever_the_reason() -> None:
    rng, met = np.random.default_rng(8), 0
    for _ in range(300):
        problem = some_problem(rng)
        whole, vectors = counted(problem), all_points(problem)
        vectors = np.array([v for v in vectors if problem.feasible(v)], dtype=np.int64).reshape(
            -1, problem.lower.size
        )
        best = [whole.highest(v[None]) for v in vectors]
        values = np.array([worth[0] for worth in best if worth is not None], dtype=np.int64)
        boxes = replace(some_boxes(rng, problem, 5), packing=None)
        for b in range(5):
            inside = belongs(problem, boxes, b, vectors)

            wrong = partial(what_is_wrong, whole, boxes, b)
            assert (wrong(Reason.FORBIDDEN) is None) == (not inside.any())
            if wrong(Reason.DOUBLED) is None:
                assert all(problem.allows(2 * v) for v in vectors[inside])
            if inside.any():
                met += 1
                top = int(values[inside].max())
                assert wrong(Reason.COUNTED, top) is None
                assert wrong(Reason.COUNTED, top - 1) is not None
                assert wrong(Reason.FLOW, top - 1) is not None
    assert met > 100


def some_partition(rng: np.random.Generator, problem: Problem, count: int) -> Boxes:
    """Boxes that hold everything once, flags included: the root, cut at random."""
    boxes = [(problem.lower.tolist(), problem.upper.tolist(), [EITHER] * len(problem.questions))]
    while len(boxes) < count:
        low, high, flags = boxes.pop(int(rng.integers(len(boxes))))
        choices = [k for k in range(len(low)) if low[k] < high[k]]
        asking = [q for q, flag in enumerate(flags) if flag == EITHER]
        if asking and (not choices or rng.integers(2)):
            q = int(rng.choice(asking))
            boxes += [(low, high, [*flags[:q], flag, *flags[q + 1 :]]) for flag in (NO, YES)]
        elif choices:
            k = int(rng.choice(choices))
            cut = int(rng.integers(low[k], high[k]))
            boxes.append((low, [*high[:k], cut, *high[k + 1 :]], flags))
            boxes.append(([*low[:k], cut + 1, *low[k + 1 :]], high, flags))
        else:
            boxes.append((low, high, flags))
            break
    lower, upper, asked = (np.array([box[part] for box in boxes]) for part in range(3))
    drawn = some_boxes(rng, problem, len(boxes))
    return replace(drawn, lower=lower, upper=upper, asked=asked)


def verdict_of(problem: Problem, result: Any, best: Fraction, boxes: Boxes) -> Verdict:
    """What the judge says of a card and boxes, written and read again."""
    integers = IntegerProblem.of(problem)
    bound = max(integers.to_objective(int(value)) for value in boxes.values)
    proof = Proof("packing", max(bound, best), boxes)
    certificate = make_certificate(problem, replace(result, proof=proof))
    card = assemble_card(problem, result, Provenance(version="0"))
    return verify(card, Certificate.from_json(certificate.to_json()), problem.patterns)


def test_proofs_of_packed_boxes_are_accepted_and_lies_are_not() -> None:
    rng, lies = np.random.default_rng(9), 0
    for _ in range(150):
        problem = some_problem(rng, rates=False)
        vectors = all_points(problem)
        worth = [problem.evaluate(v).objective for v in vectors]
        best = vectors[int(np.argmax(worth))]
        whole, boxes = counted(problem), some_partition(rng, problem, 7)
        checker = checker_of(whole, boxes)
        values = np.array([checker.packed.highest(checker.tight, b, b) for b in range(len(boxes))])
        run = Run(problem, "test", float("inf"))
        result = run.result(best, "finished")

        judged = partial(verdict_of, problem, result, max(worth))
        verdict = judged(replace(boxes, values=values))
        assert verdict.accepted, verdict.failures
        known = np.flatnonzero(~checker.tight.empty)
        assert max(whole.to_objective(int(v)) for v in values[known]) >= max(worth)
        b = int(rng.choice(known))
        lower = values - (np.arange(values.size) == b)
        assert any(
            "its packed bound is" in text for text in judged(replace(boxes, values=lower)).failures
        )
        flags = boxes.asked.copy()
        flags[b] = np.where(flags[b] == EITHER, rng.integers(0, 2, flags[b].size), flags[b])
        if (flags != boxes.asked).any():
            lies += 1
            failures = judged(replace(boxes, values=values, asked=flags)).failures
            assert any("cover: no box holds the points" in text for text in failures)
    assert lies > 20

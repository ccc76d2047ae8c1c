"""Where the method's paper, read literally, goes wrong: the slip, an example, and what we do.

Each test holds the printed formula or algorithm, as it stands, in plain Python.  The list with the
reasons is docs/paper_notes.md; a test at the end keeps the two together.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from netbenefit import (
    PatternTable,
    RiskScoreClassifier,
    Thresholds,
    aunbc,
    auroc,
    calibrate_levels,
    expected_calibration_error,
    grouped_auroc,
    hosmer_lemeshow,
    improve_levels,
    keep_order,
    net_benefit,
)
from netbenefit.problem.problem import Problem
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.solvers.milp.solve import MixedInteger
from netbenefit.theory import (
    boundary_risks,
    learning_capacity,
    lower_aunbc,
    round_linear,
    upper_aunbc,
    upper_grouped_auroc,
    upper_is_tight,
)
from tests.helpers import slow_truth as reference

NOTES = Path(__file__).resolve().parents[2] / "docs" / "paper_notes.md"


def problem_of(X, y, thresholds: Thresholds, **options) -> Problem:
    return Problem.build(PatternTable.from_arrays(X, y), thresholds, **options)


# -- Definition of AUROC ---------------------------------------------------------------------------


def printed_auroc(y: Sequence[int], risk: Sequence[float], p: Sequence[float]) -> Fraction:
    """Σ (FP_i − FP_{i+1}) TP_i / (N⁺ N⁻), with FP_{M+1} = 0."""
    tp = [sum(1 for t, c in zip(y, risk, strict=True) if t == 1 and c >= q) for q in p]
    fp = [sum(1 for t, c in zip(y, risk, strict=True) if t == 0 and c >= q) for q in p] + [0]
    wins = sum((fp[i] - fp[i + 1]) * tp[i] for i in range(len(p)))
    return Fraction(wins, sum(y) * (len(y) - sum(y)))


def test_printed_auroc_counts_ties_as_wins():
    grid = Thresholds.tenths()
    y, constant = [0, 1, 0, 1, 1], [0.3] * 5
    assert printed_auroc(y, constant, grid.values) == 1  # a model that knows nothing is perfect
    assert auroc(y, constant) == 0.5
    # Worse: within a level, a model that has every pair the wrong way round is perfect, too.
    reversed_risk = [0.39, 0.31, 0.38, 0.32, 0.33]
    assert printed_auroc(y, reversed_risk, grid.values) == 1
    assert auroc(y, reversed_risk) == 0.0
    # Both are kept, under different names: the theorem is about the printed one.
    for risk in (constant, reversed_risk, [0.1, 0.5, 0.5, 0.2, 0.9]):
        assert grouped_auroc(y, risk, grid) == float(printed_auroc(y, risk, grid.values))
    ordinary = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a in (0.5, 0.2, 0.9)
        for b in (0.1, 0.5)
    ]  # fmt: skip
    assert auroc(y, [0.1, 0.5, 0.5, 0.2, 0.9]) == sum(ordinary) / 6


# -- FindOptimalT ----------------------------------------------------------------------------------


def find_optimal_t(
    scores: Sequence[int],
    y: Sequence[int],
    p: Sequence[Fraction],
    *,
    false_positive: int = 1,
    none_called: bool = True,
    first_term: str = "printed",
) -> tuple[list[int], Fraction]:
    """FindOptimalT for integer scores, without the penalty: cut-offs T_0 … T_M and the loss.

    ``false_positive`` is the label that its second sum counts (1 in print), ``none_called`` whether
    max + 1 is a candidate, ``first_term`` whether the loss weighs NB^0 once more, as printed.
    """
    n, ends = len(y), [*p, Fraction(1)]
    candidates = sorted(set(scores) | ({max(scores) + 1} if none_called else set()))
    cutoffs = [min(scores)]
    once = Fraction(sum(y), n)
    benefits = [(ends[1] - ends[0]) * once if first_term == "printed" else once]
    for i in range(1, len(p)):
        allowed = [t for t in candidates if t >= cutoffs[-1]]
        values = []
        for t in allowed:
            tp = sum(1 for s, label in zip(scores, y, strict=True) if s >= t and label == 1)
            fp = sum(
                1 for s, label in zip(scores, y, strict=True) if s >= t and label == false_positive
            )
            values.append(Fraction(tp, n) - Fraction(fp, n) * p[i] / (1 - p[i]))
        best = values.index(max(values))
        cutoffs.append(allowed[best])
        benefits.append(values[best])
    loss = -sum((b - a) * nb for (a, b), nb in zip(pairwise(ends), benefits, strict=True))
    return cutoffs, loss


def corrected_t(scores, y, p):
    return find_optimal_t(scores, y, p, false_positive=0, first_term="once")


def test_find_optimal_t_counts_false_positives_among_the_events():
    """Then non-events do not count at all: everyone is positive below 50%, no one above."""
    grid = Thresholds.of([0, 0.25, 0.75], weights="length")
    X, y = [[0], [0], [1], [1]], [0, 0, 1, 1]
    scores = [0, 0, 1, 1]
    printed, _ = find_optimal_t(scores, y, grid.fractions)
    assert printed == [0, 0, 2]  # although the score separates the classes without an error
    right, loss = corrected_t(scores, y, grid.fractions)
    assert right == [0, 1, 1]
    risk = grid.array[[sum(s >= t for t in printed[1:]) for s in scores]]
    assert net_benefit(y, risk, grid).tolist() == pytest.approx([1 / 2, 1 / 3, 0])
    result = LocalSearch().solve(problem_of(X, y, grid, penalty=0))
    assert result.points.tolist() == [1]
    assert list(result.cutoffs) == right[1:]
    assert result.net_benefit == float(-loss) == 0.5


def test_corrected_find_optimal_t_is_ours_on_random_scores():
    rng = random.Random(3)
    grid = Thresholds.of([0, 0.1, 0.35, 0.5, 0.8], weights="length")
    for _ in range(300):
        n = rng.randint(2, 12)
        scores = [rng.randint(-3, 3) for _ in range(n)]
        y = [0, 1, *(rng.randint(0, 1) for _ in range(n - 2))]
        value = problem_of([[s] for s in scores], y, grid, penalty=0).evaluate([1])
        cutoffs, loss = corrected_t(scores, y, grid.fractions)
        assert list(value.cutoffs) == cutoffs[1:]
        assert value.net_benefit == -loss


def test_find_optimal_t_hard_codes_the_weights():
    """The loss ignores ω: with other weights than lengths it picks the wrong card.

    Column 0 finds half of the events without a false alarm, which is what high thresholds want;
    column 1 finds all of them with many false alarms, which is what low ones want.
    """
    X = [[1, 1]] * 4 + [[0, 1]] * 4 + [[0, 1]] * 8 + [[0, 0]] * 16
    y = [1] * 8 + [0] * 24
    p = [0, 0.1, 0.8]
    candidates = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1)]

    def hard_coded(points: tuple[int, int]) -> Fraction:
        scores = [points[0] * a + points[1] * b for a, b in X]
        return -corrected_t(scores, y, Thresholds.of(p).fractions)[1]

    assert max(candidates, key=hard_coded) == (0, 1)  # whatever the weights
    for weights, best in [([0, 1, 0], (0, 1)), ([0, 0, 1], (1, 0)), ("length", (0, 1))]:
        grid = Thresholds.of(p, weights=weights)
        problem = problem_of(X, y, grid, penalty=0, max_points=1, max_features=1)
        assert max(candidates, key=lambda v: problem.evaluate(v).objective) == best
        assert LocalSearch().solve(problem).points.tolist() == list(best)
        agrees = problem.evaluate(best).net_benefit == hard_coded(best)
        assert agrees == (weights == "length")  # the only weights that the print can serve


def test_find_optimal_t_weighs_its_first_term_twice():
    """NB^0 is printed with p_1 − p_0 inside, and the loss multiplies by it once more.

    It is a constant, so no card changes; but the value is not the AUNBC of the definition.
    """
    grid = Thresholds.of([0, 0.5], weights="length")
    X, y = [[0], [0], [1], [1]], [0, 0, 1, 1]
    scores = [0, 0, 1, 1]
    _, printed = find_optimal_t(scores, y, grid.fractions, false_positive=0)
    _, once = corrected_t(scores, y, grid.fractions)
    risk = [0.0, 0.0, 1.0, 1.0]
    assert aunbc(y, risk, grid) == float(-once) == 0.5
    assert float(-printed) == 0.375  # a quarter of the share of events is missing
    assert problem_of(X, y, grid, penalty=0).evaluate([1]).net_benefit == -once


def test_no_one_positive_must_be_a_candidate():
    """If treating no one is best, treating those with the highest score does harm.

    The paper has this candidate, max + 1; it is easily lost, as only scores that occur are tried.
    """
    grid = Thresholds.of([0, 0.5, 0.9], weights="length")
    X, y = [[0], [0], [1], [1], [1]], [0, 0, 1, 1, 0]
    scores = [0, 0, 1, 1, 1]
    with_it, loss = corrected_t(scores, y, grid.fractions)
    without, worse = find_optimal_t(
        scores, y, grid.fractions, false_positive=0, first_term="once", none_called=False
    )
    assert with_it == [0, 1, 2]
    assert without == [0, 1, 1]  # two events, but a false alarm counts as nine
    assert worse - loss == Fraction(1, 10) * Fraction(9 - 2, 5)
    untaught = RiskScoreClassifier(
        binner=None, thresholds=grid, penalty=0.0, n_jobs=1, teacher=None
    )
    estimator = untaught.fit(X, y)
    assert estimator.cutoffs_.tolist() == [1, 2]
    assert not estimator.predict([[1], [5]], threshold=0.9).any()
    assert estimator.result_.net_benefit == float(-loss)
    at_90 = net_benefit(y, estimator.predict_proba(X)[:, 1], grid)[-1]
    assert at_90 == 0.0
    assert reference.best_cutoff(scores, y, [1 - label for label in y], 9) == (2, 0)


# -- annealing -------------------------------------------------------------------------------------


def printed_annealing(
    problem: Problem, start: tuple[int, ...], rng: random.Random, *, rounds: int, length: int = 10
) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The published loop (with a right FindOptimalT): λ_opt, or None where it was never set."""
    most = 3
    step = 1e-3 / rounds

    def loss(points: tuple[int, ...]) -> float:
        return -float(problem.evaluate(points).objective)

    optimum: tuple[int, ...] | None = None  # the print sets Loss_opt before the loop, λ_opt not
    points, current = start, loss(start)
    best = current
    for turn in range(rounds):
        heat = 1e-3 - turn * step
        for _ in range(length):
            k = rng.randrange(len(points))
            others = [v for v in range(-most, most + 1) if v != points[k]]
            new = (*points[:k], rng.choice(others), *points[k + 1 :])
            value = loss(new)
            if value < current:
                points, current = new, value
                if current < best:
                    best, optimum = current, points
            elif rng.random() < math.exp((current - value) / heat):
                points, current = new, value
    return optimum, points


def test_annealing_never_sets_its_answer_where_nothing_beats_the_start():
    """A column that says nothing about the outcome: any points cost, none gain."""
    X, y = [[0], [1], [0], [1]], [0, 0, 1, 1]
    problem = problem_of(X, y, Thresholds.tenths(), max_points=3)
    start = (0,)
    values = {v: problem.evaluate([v]).objective for v in range(-3, 4)}
    assert max(values, key=values.get) == 0
    optimum, last = printed_annealing(problem, start, random.Random(0), rounds=20)
    assert optimum is None
    assert last in product(range(-3, 4), repeat=1)
    for seed in range(5):
        result = Annealing(seed=seed).solve(problem)
        assert result.points.tolist() == [0]
        assert result.objective == float(values[0])
        assert len(result.cutoffs) == 9
        assert result.status == "finished"
    # The same from a start that is the best there is, though not zero.
    useful = problem_of([[0], [1]] * 4, [0, 1] * 4, Thresholds.tenths(), max_points=3)
    assert printed_annealing(useful, (1,), random.Random(0), rounds=20)[0] is None
    assert Annealing().solve(useful, start=np.array([1])).points.tolist() == [1]
    # Where something does beat the start, print and program agree.
    assert printed_annealing(useful, (0,), random.Random(0), rounds=20)[0] is not None
    assert Annealing().solve(useful).points.tolist() == [1]


# -- Algorithm 1 -----------------------------------------------------------------------------------


class PrintedRisks:
    """Risks that the printed algorithms move, level by level, counted anew each time."""

    def __init__(self, y: Sequence[int], risk: Sequence[float], grid: Thresholds):
        self.y, self.risk = list(y), list(risk)
        self.p = [*grid.fractions, Fraction(1)]
        self.edges = [*grid.values, 1.0]
        self.last = len(grid) - 1

    def inside(self, i: int, c: float) -> bool:
        return self.edges[i] <= c and (c < self.edges[i + 1] or i == self.last)

    def count(self, i: int) -> tuple[int, int]:
        """N_i and O_i; rows without an outcome (None) are new ones, which do not count."""
        members = [t for t, c in zip(self.y, self.risk, strict=True) if self.inside(i, c)]
        known = [t for t in members if t is not None]
        return len(known), sum(known)

    def send(self, i: int, value: float) -> None:
        self.risk = [value if self.inside(i, c) else c for c in self.risk]

    def algorithm_1(self) -> list[float]:
        for i in range(self.last):
            n, events = self.count(i)
            if events > self.p[i + 1] * n:
                self.send(i, self.edges[i + 1])
        for i in range(self.last, 0, -1):
            n, events = self.count(i)
            if events < self.p[i] * n:
                self.send(i, self.edges[i - 1])
        return self.risk

    def algorithm_2(self) -> list[float]:
        self.algorithm_1()
        for i in range(self.last + 1):
            n, events = self.count(i)
            if events == self.p[i + 1] * n:  # holds for an empty level: 0 = p · 0
                self.send(i, self.edges[i + 1])
            else:
                self.send(i, events / n)
        return self.risk


def count_reversed(before: Sequence[float], after: Sequence[float]) -> int:
    """How many pairs of risks changed their order."""
    pairs = zip(before, after, strict=True)
    return sum(1 for (a, x), (b, y) in product(list(pairs), repeat=2) if a < b and x > y)


def test_algorithm_1_may_reverse_the_order():
    """A level that is sent down lands on p_{i−1}, below the risks that were there before it."""
    grid = Thresholds.of([0.2, 0.5])
    y = [0, 1, 0, 0, 0, 0, 1, 1]
    risk = [0.3, 0.3, 0.4, 0.6, 0.6, 0.7, 0.8, 0.9]  # 1 of 3; above 50% 2 of 5, not half of them
    printed = PrintedRisks(y, risk, grid).algorithm_1()
    assert printed == [0.3, 0.3, 0.4] + [0.2] * 5
    assert count_reversed(risk, printed) == 15  # every pair from different levels
    assert auroc(y, printed) < auroc(y, risk)
    # As published, and as its notes say, our Algorithm 1 does the same …
    plain = improve_levels(y, risk, grid)
    assert plain.apply(risk).tolist() == printed
    # … and there are two ways out, both with the same decisions at every threshold.
    ordered = improve_levels(y, risk, grid, order_keeping=True).apply(risk)
    calibrated = calibrate_levels(y, risk, grid).apply(risk)
    for better in (ordered, calibrated):
        assert count_reversed(risk, better) == 0
        benefits = net_benefit(y, better, grid)
        np.testing.assert_array_equal(benefits, net_benefit(y, printed, grid))
    assert len(set(ordered.tolist())) == len(set(risk))  # strictly kept
    assert auroc(y, ordered) == auroc(y, risk)


def test_one_per_cent_of_the_original_risk_may_cross_a_threshold():
    """The remark's way to keep the order is not free; a share that knows the distances is."""
    grid = Thresholds.of([0.5])
    y, weight = [1, 0], [499, 501]
    risk = np.array([0.40, 0.41])
    flat = calibrate_levels(y, risk, grid, sample_weight=weight)
    assert flat.apply(risk).tolist() == [0.499, 0.499]
    remark = flat.apply(risk) + 0.01 * risk
    before = aunbc(y, flat.apply(risk), grid, sample_weight=weight)
    assert aunbc(y, remark, grid, sample_weight=weight) < before
    ours = keep_order(flat)
    assert ours.delta < 0.01
    assert aunbc(y, ours.apply(risk), grid, sample_weight=weight) == before
    assert ours.apply(risk)[0] < ours.apply(risk)[1]


# -- Algorithm 2 -----------------------------------------------------------------------------------


def test_algorithm_2_joins_empty_levels_to_the_next_one():
    """Training rows are not affected, but a new row in an empty level gets a wrong risk."""
    grid = Thresholds.of([0.2, 0.5])
    y = [0, 0, 0, 1, 1, 0]
    risk = [0.25, 0.3, 0.35, 0.4, 0.3, 0.3]
    new = [0.1, 0.6]  # below and above all that training has seen
    printed = PrintedRisks([*y, None, None], [*risk, *new], grid).algorithm_2()
    assert printed[: len(y)] == [1 / 3] * len(y)
    assert printed[-1] == 1.0  # "certain", since none of no rows lacks the event
    assert printed[-2] == 1 / 3  # three times the model's risk, on no evidence
    ours = calibrate_levels(y, risk, grid)
    assert ours.apply(risk).tolist() == [1 / 3] * len(y)
    assert ours.apply(new).tolist() == new
    assert ours.values == (None, 1 / 3, None)
    # A level that is not empty and whose rate is the next threshold does join it, in both.
    y, risk = [1, 0], [0.3, 0.4]
    assert PrintedRisks(y, risk, grid).algorithm_2() == [0.5, 0.5]
    assert calibrate_levels(y, risk, grid).apply(risk).tolist() == [0.5, 0.5]


def test_hosmer_lemeshow_is_not_defined_where_a_risk_is_0_or_1():
    """Algorithm 2 gives a level without events the risk 0, and the printed quotient is 0 / 0."""
    grid = Thresholds.of([0.2, 0.5])
    y = [0, 0, 0, 1, 1, 1]
    risk = calibrate_levels(y, [0.1, 0.1, 0.1, 0.9, 0.9, 0.9], grid).apply([0.1] * 3 + [0.9] * 3)
    assert risk.tolist() == [0, 0, 0, 1, 1, 1]
    for observed, q, n in [(0, 0, 3), (3, 1, 3)]:
        expected = Fraction(q * n)
        with pytest.raises(ZeroDivisionError):
            (observed - expected) ** 2 / (expected * (1 - expected / n))
    assert hosmer_lemeshow(y, risk, grid) == 0.0
    assert expected_calibration_error(y, risk, grid) == 0.0
    assert hosmer_lemeshow([1, 0, 0, 1, 1, 1], risk, grid) == math.inf  # an event at risk 0


# -- theory ----------------------------------------------------------------------------------------


def all_models(n_events: int, n_others: int, p: Sequence[Fraction]):
    """Grouped AUROC and AUNBC of every way to put rows on the levels of p, in fractions."""
    ends, n = [*p, Fraction(1)], n_events + n_others
    y = [1] * n_events + [0] * n_others
    levels = range(len(p))
    for events in combinations_with_replacement(levels, n_events):
        for others in combinations_with_replacement(levels, n_others):
            area = Fraction(0)
            for i in levels:
                tp, fp = sum(e >= i for e in events), sum(o >= i for o in others)
                area += (ends[i + 1] - ends[i]) * (tp - fp * p[i] / (1 - p[i])) / n
            yield printed_auroc(y, [p[i] for i in (*events, *others)], p), area


HALF = [Fraction(0), Fraction(1, 2)]


def test_upper_bound_of_aunbc_is_not_tight_where_a_k_would_be_negative():
    """With the thresholds 0 and ½ there is only k = 1, P_1 = ½ and 1 − p_1 = ½."""
    a0, b0, G = 0.25, 0.75, 0.5
    assert 1 - b0 * 0.5 / (0.5 * a0) < G  # the second line of the definition of A_k
    printed = a0 - 2 * math.sqrt(0.5 * 0.5 * a0 * b0 * (1 - G))
    b1 = math.sqrt(0.5 * a0 * b0 * (1 - G) / 0.5)
    assert a0 - (1 - G) * a0 * b0 / b1 < 0  # fewer than no events above the threshold
    best = max(area for auroc_d, area in all_models(4, 12, HALF) if auroc_d == Fraction(1, 2))
    assert best == Fraction(-1, 16)
    assert printed > float(best) + 0.006
    assert upper_aunbc([0, 0.5], a0, G, "paper") == pytest.approx(printed)
    assert upper_aunbc([0, 0.5], a0, G) == float(best)
    assert not upper_is_tight([0, 0.5], a0, G)


def test_lower_bound_of_aunbc_is_reached_at_auroc_0_only():
    """So is 1 as the upper bound of AUROC only where some constant risk has that AUNBC."""
    p = [Fraction(0), Fraction(1, 4), Fraction(1, 2)]
    printed = Fraction(1, 2) * p[1] - Fraction(1, 2) * (p[1] * Fraction(1, 3) + Fraction(1, 2))
    constant = min(area for auroc_d, area in all_models(3, 3, p) if auroc_d == 1)
    reached = lower = 0
    for auroc_d, area in all_models(3, 3, p):
        if area == printed:
            reached += 1
            assert auroc_d == 0
        assert area >= lower_aunbc([0, 0.25, 0.5], 0.5, float(auroc_d)) - 1e-12
        if auroc_d > 0:
            assert lower_aunbc([0, 0.25, 0.5], 0.5, float(auroc_d)) > float(printed)
        most = upper_grouped_auroc([0, 0.25, 0.5], 0.5, float(area))
        assert auroc_d <= most + 1e-12
        if area < constant:
            lower += 1
            assert most < 1
    assert reached == 1
    assert lower > 20


def test_proof_of_the_lower_bound_has_its_signs_wrong():
    """Printed: AUNBC ≤ a0 p_1 + (1 − a0) P_M.  A perfect model has a0, which is more."""
    areas = [area for _, area in all_models(3, 1, HALF)]
    assert max(areas) == Fraction(3, 4)
    assert max(areas) > Fraction(3, 4) / 2 + Fraction(1, 4) / 2
    assert min(areas) == Fraction(3, 4) / 2 - Fraction(1, 4) / 2  # what is meant: ≥, and minus


def test_bounds_do_not_hold_for_the_ordinary_auroc():
    y, constant = [1, 1, 1, 0], [0.5] * 4
    area = aunbc(y, constant, [0, 0.5])
    assert area == 0.75 - 0.25 / 2
    assert auroc(y, constant) == 0.5
    assert area > upper_aunbc([0, 0.5], 0.75, 0.5, "paper") + 0.1
    assert area <= upper_aunbc([0, 0.5], 0.75, grouped_auroc(y, constant, [0, 0.5]))


def test_type_ii_predictions_as_printed_miss_their_auroc():
    """All non-events are put on p_K, although only the share b_1 / b_0 of them belongs there."""
    y, G, a0, b0 = np.repeat([1, 0], 200), 0.75, 0.5, 0.5
    b1 = math.sqrt(0.5 * a0 * b0 * (1 - G) / 0.5)
    a_k = a0 - (1 - G) * a0 * b0 / b1
    assert (a_k, b1) == (0.25, 0.25)
    place = np.cumsum(y)
    printed = np.where(y == 0, 0.5, np.where(place <= round(400 * a_k), 1.0, 0.0))
    assert grouped_auroc(y, printed, [0, 0.5]) == 0.5
    assert aunbc(y, printed, [0, 0.5]) == 0.125
    ours = boundary_risks(y, G, [0, 0.5])
    assert grouped_auroc(y, ours, [0, 0.5]) == G
    assert aunbc(y, ours, [0, 0.5]) == 0.25 == upper_aunbc([0, 0.5], 0.5, G)


def test_corollary_rounds_a_cut_off_out_of_its_range():
    """T_(k) is sized by the kept rows, but a cut-off may lie at a dropped one."""
    X, rho, t = np.array([[1.0], [100.0]]), [1.0], [99.9]
    assert np.abs(t).max() <= np.abs(X @ rho).max()  # as the corollary asks
    gamma, norm = 98.9, 1.0  # of the row that is kept when the nearer one is dropped
    points = math.floor((norm + 1) / (2 * gamma)) + 1
    assert round(points * t[0]) > math.ceil(points * norm)  # T = 100, T_(2) = 1
    ours = learning_capacity(X, rho, t, drop=1)
    assert (ours.max_points, ours.max_cutoff, ours.dropped) == (1, 100, (1,))
    assert round_linear(X, rho, t, 1).cutoffs.tolist() == [100]


# -- the notes -------------------------------------------------------------------------------------


def test_every_slip_has_its_line_in_the_notes():
    named = set(re.findall(r"`(test_\w+)`", NOTES.read_text(encoding="utf-8")))
    here = {name for name in globals() if name.startswith("test_")}
    here -= {"test_every_slip_has_its_line_in_the_notes"}
    assert named == here


# -- the integer program ---------------------------------------------------------------------------


def test_one_big_m_for_both_families_cuts_off_every_card() -> None:
    """H_j is printed as the largest γ + s − T, which is what rows with y = 0 need.

    Rows with y = 1 need the largest T − s.  Where points or cut-offs are not symmetric around 0
    the two differ, and the printed constant forbids cards that are allowed.
    """
    allowed, cutoffs, gamma = range(-5, -1), [0, 1], 1
    x = 1
    printed = max(gamma + x * points - t for points in allowed for t in cutoffs)

    def row_with_event_is_possible(big_m: int, points: int, t: int) -> bool:
        return any(big_m * (1 - called) >= t - x * points for called in (0, 1))

    assert not any(row_with_event_is_possible(printed, v, t) for v in allowed for t in cutoffs)
    own = max(t - x * points for points in allowed for t in cutoffs)
    assert all(row_with_event_is_possible(own, v, t) for v in allowed for t in cutoffs)
    # Ours has a constant for each family and pattern, and finds the card.
    X, y = [[0]] * 10 + [[1]] * 10, [1] * 9 + [0] + [0] * 9 + [1]
    table = PatternTable.from_arrays(X, y)
    problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.0, bounds={"x0": (-5, -2)})
    result = MixedInteger(time_limit=60.0).solve(problem)
    assert result.status in ("finished", "optimal")
    assert result.cutoffs == (0,)
    best = max(problem.evaluate([v]).objective for v in allowed)
    assert problem.evaluate(result.points).objective == best

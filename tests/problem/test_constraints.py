"""The language of constraints: each kind against a plain predicate, errors, clashes, JSON."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem import constraints
from netbenefit.problem.constraints import (
    AtLeast,
    AtMost,
    Bounds,
    ConstantColumn,
    Constraint,
    Exclude,
    Exclusive,
    Implies,
    Include,
    MaxFeatures,
    MaxFPR,
    MaxQuestions,
    MaxTotalPoints,
    MinTPR,
    Sign,
    Values,
    find_conflict,
    from_json,
)
from netbenefit.problem.limits import LimitsBuilder, share, sign_of
from netbenefit.problem.problem import Problem
from netbenefit.problem.questions import Questions
from tests.helpers.full import examples
from tests.helpers.strategies import GRIDS, constraint_lists, tables

NAMES = ("age", "bmi", "sex", "smoker")
X = [[0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1], [2, 1, 1, 0]]
TABLE = PatternTable.from_arrays(X, [0, 1, 1, 0, 1], names=NAMES)
GRID = Thresholds.of([0.2, 0.5])

Points = Mapping[str, int]
#: Every kind that looks at points, what it means, and its words.
KINDS: list[tuple[Constraint, Callable[[Points], bool], str]] = [
    (Bounds("age", -1, 2), lambda p: -1 <= p["age"] <= 2, "points of age from -1 to 2"),
    (Bounds(2, 1, 2), lambda p: 1 <= p["sex"] <= 2, "points of sex from 1 to 2"),
    (Sign("bmi", "+"), lambda p: p["bmi"] >= 0, "no negative points for bmi"),
    (Sign(3, -1), lambda p: p["smoker"] <= 0, "no positive points for smoker"),
    (Values("age", [2, 0, -1]), lambda p: p["age"] in (-1, 0, 2), "points of age among -1, 0, 2"),
    (Values("age", [1]), lambda p: p["age"] == 1, "points of age among 1"),
    (
        MaxFeatures(2),
        lambda p: sum(v != 0 for v in p.values()) <= 2,
        "at most 2 columns with points",
    ),
    (
        Include("age", "sex"),
        lambda p: p["age"] != 0 and p["sex"] != 0,
        "points for age, sex",
    ),
    (Exclude("age", 1), lambda p: p["age"] == 0 and p["bmi"] == 0, "no points for age, bmi"),
    (
        AtMost(1, ["age", "bmi", "sex"]),
        lambda p: (p["age"] != 0) + (p["bmi"] != 0) + (p["sex"] != 0) <= 1,
        "at most 1 of age, bmi, sex",
    ),
    (
        AtLeast(2, [0, 1, "sex"]),
        lambda p: (p["age"] != 0) + (p["bmi"] != 0) + (p["sex"] != 0) >= 2,
        "at least 2 of age, bmi, sex",
    ),
    (
        Exclusive("bmi", "smoker"),
        lambda p: p["bmi"] == 0 or p["smoker"] == 0,
        "at most one of bmi, smoker",
    ),
    (
        Implies("sex", "age"),
        lambda p: p["sex"] == 0 or p["age"] != 0,
        "points for sex only together with age",
    ),
    (Implies("sex", "sex"), lambda _: True, "points for sex only together with sex"),
    (
        MaxTotalPoints(3),
        lambda p: sum(map(abs, p.values())) <= 3,
        "absolute points that sum to at most 3",
    ),
    (MaxTotalPoints(0), lambda p: not any(p.values()), "absolute points that sum to at most 0"),
]


def build(*constraints: Constraint, max_points: int = 2, **settings: Any) -> Problem:
    return Problem.build(TABLE, GRID, max_points=max_points, constraints=constraints, **settings)


def vectors(max_points: int) -> itertools.product[tuple[int, ...]]:
    return itertools.product(range(-max_points, max_points + 1), repeat=len(NAMES))


@pytest.mark.parametrize(("constraint", "means", "words"), KINDS, ids=[k[2] for k in KINDS])
def test_each_kind_means_what_it_says(
    constraint: Constraint, means: Callable[[Points], bool], words: str
) -> None:
    problem = build(constraint)
    (kept,) = problem.constraints
    assert str(kept) == words
    start = problem.nearest_to_zero().tolist()
    least = 99
    for vector in vectors(2):
        points = dict(zip(NAMES, vector, strict=True))
        expected = means(points)
        assert constraint.allows(vector, NAMES) == kept.allows(points) == expected
        assert problem.allows(vector) == problem.feasible(vector) == expected, vector
        least = min(least, sum(map(abs, vector))) if expected else least
    assert means(dict(zip(NAMES, start, strict=True)))
    assert sum(map(abs, start)) == least


@pytest.mark.parametrize(
    "constraint", [*(k[0] for k in KINDS), MinTPR(0.2, 0.9), MaxFPR(0.5, "1/3")]
)
def test_round_trip_and_copies(constraint: Constraint) -> None:
    again = from_json(json.loads(json.dumps(constraint.to_json())))
    assert again == constraint
    assert hash(again) == hash(constraint)
    assert copy.deepcopy(constraint) == pickle.loads(pickle.dumps(constraint)) == constraint
    assert type(constraint).__name__ in repr(constraint)
    assert constraint.to_json()["kind"] == constraint.kind


def test_kinds_with_the_same_columns_differ() -> None:
    assert Include("age") != Exclude("age")
    assert MinTPR(0.2, 0.5) != MaxFPR(0.2, 0.5)


def test_rates_are_the_decimals_that_were_written() -> None:
    assert MinTPR(0.2, 0.9).rate == Fraction(9, 10)
    assert MaxFPR(0.1 + 0.2, Fraction(1, 3)).rate == Fraction(1, 3)
    assert MinTPR(0.2, 0.9).to_json() == {"kind": "min_tpr", "threshold": 0.2, "rate": "9/10"}
    assert str(MinTPR(0.2, 0.9)) == "TPR of at least 0.9 at threshold 0.2"
    assert str(MaxFPR(0.2, 0.25)) == "FPR of at most 0.25 at threshold 0.2"


def test_different_constraints_print_differently() -> None:
    third = Fraction(1, 3)
    different = [
        *(MinTPR(p, 0.9) for p in (0.2, 0.2000001, 0.20000010000000002, 1e-7, 1, 0.9999999)),
        *(MaxFPR(0.2, q) for q in (0.3, 0.3000001, third, 0.333333, 1 / 3, 0, 1)),
        *(Include("a", "b"), Include("a, b"), Include("'a, b'")),
        *(Implies("a", "b"), Implies("a", "b, c")),
    ]
    texts = [str(one) for one in different]
    assert len(set(texts)) == len(texts)
    assert texts[1] == "TPR of at least 0.9 at threshold 0.2000001"
    assert texts[4] == "TPR of at least 0.9 at threshold 1"
    assert texts[8] == "FPR of at most 1/3 at threshold 0.2"


@given(data=st.data())
@settings(max_examples=examples(150))
def test_limits_are_all_constraints_together(data: st.DataObject) -> None:
    table = data.draw(tables(max_rows=5, max_columns=4, groups=True))
    constraints = data.draw(constraint_lists(table, GRIDS[0], 2, rates=False))
    own = {c.feature for c in constraints if isinstance(c, Bounds | Values)}
    constant = set(table.constant)
    expected, words = set(), ""
    for vector in itertools.product(range(-2, 3), repeat=table.n_features):
        points = dict(zip(table.names, vector, strict=True))
        few = all(
            np.count_nonzero(vector) <= c.limit for c in constraints if isinstance(c, MaxQuestions)
        )  # which depends on the problem: here, each column is a question
        if few and all(c.allows(points) for c in constraints):
            # A constant column has no points, unless its own values do not leave it that choice.
            free = [name for name in constant - own if points[name] != 0]
            needed = [
                name
                for name in constant & own
                if points[name] != 0
                and all(
                    c.allows({**points, name: 0})
                    for c in constraints
                    if isinstance(c, Bounds | Values | Sign | Exclude)
                )
            ]
            if not free and not needed:
                expected.add(vector)
    try:
        problem = Problem.build(table, GRIDS[0], max_points=2, constraints=constraints)
    except InputError as error:
        words = str(error)
        problem = None
    if problem is None:
        assert re.search(r"clash|contradict|force", words)
        assert not expected
        return
    got = {v for v in itertools.product(range(-2, 3), repeat=table.n_features) if problem.allows(v)}
    assert got == expected
    start = tuple(problem.nearest_to_zero().tolist())
    assert start in expected
    assert sum(map(abs, start)) == min(sum(map(abs, v)) for v in expected)


def test_shorthands_are_constraints() -> None:
    problem = Problem.build(
        TABLE, GRID, sign={0: "+"}, bounds={"bmi": (1, 3)}, max_features=2,
        constraints=[Exclude("smoker"), MaxFeatures(3)],
    )  # fmt: skip
    assert problem.constraints == (
        Bounds("bmi", 1, 3),
        Sign("age", "+"),
        MaxFeatures(2),
        Exclude("smoker"),
        MaxFeatures(3),
    )
    assert problem.max_features == 2
    assert problem.is_plain
    assert problem.limits.support.tolist() == [[1, 1, 1, 1]]
    same = Problem.build(TABLE, GRID, constraints=problem.constraints)
    assert (same.lower == problem.lower).all()
    assert (same.upper == problem.upper).all()


def test_what_limits_look_like() -> None:
    problem = build(Include("age"), AtLeast(1, ["bmi", "sex"]), Implies("sex", "smoker"))
    assert problem.limits.support.tolist() == [[-1, 0, 0, 0], [0, -1, -1, 0], [0, 0, 1, -1]]
    assert problem.limits.support_limit.tolist() == [-1, -1, 0]
    assert problem.limits.values[0].tolist() == [True, True, False, True, True]
    assert not problem.is_plain
    idle = build(AtMost(2, ["age", "bmi"]), MaxTotalPoints(99), MaxFPR(0.5, 1), MinTPR(0, 1))
    assert idle.is_plain
    narrow = build(MaxTotalPoints(5), Bounds("age", 3, 9), max_points=10)
    assert narrow.upper.tolist() == [5, 2, 2, 2]
    assert narrow.lower.tolist() == [3, -2, -2, -2]
    sided = build(Include("age"), Sign("age", "+"))
    assert (sided.lower[0], sided.upper[0]) == (1, 2)
    assert sided.is_plain


@pytest.mark.parametrize(
    ("constraints", "culprits"),
    [
        ([Include("age"), Exclude("age", "bmi")], {0, 1}),
        ([Sign("bmi", "+"), Include("age"), Sign("age", "+"), Bounds("age", -2, 0)], {1, 2, 3}),
        ([Implies("age", "bmi"), Exclusive("age", "bmi"), Include("age")], {0, 1, 2}),
        ([AtLeast(3, NAMES), MaxFeatures(2), MaxTotalPoints(8)], {0, 1}),
        ([AtLeast(3, NAMES), MaxFeatures(3), MaxTotalPoints(2)], {0, 2}),
        ([Values("age", [-2, 2]), Values("bmi", [2]), MaxTotalPoints(3)], {0, 1, 2}),
        ([Values("age", [1, 2]), Values("age", [0])], {0, 1}),
        ([AtLeast(2, ["age"])], {0}),
        (
            [Implies("age", "bmi"), Implies("bmi", "sex"), Include("age"), Exclude("sex")],
            {0, 1, 2, 3},
        ),
        (
            [Bounds("age", 1, 2), Bounds("bmi", 1, 2), Bounds("sex", -1, 1), MaxFeatures(1)],
            {0, 1, 3},
        ),
    ],
)  # fmt: skip
def test_clashes_are_named(constraints: list[Constraint], culprits: set[int]) -> None:
    with pytest.raises(InputError, match=r"clash|contradict|force") as error:
        build(*constraints)
    for number, constraint in enumerate(constraints):
        if "force" not in str(error.value):
            named = str(constraint.named(NAMES)) in str(error.value)
            assert named == (number in culprits), str(error.value)
    rest = [c for number, c in enumerate(constraints) if number != min(culprits)]
    build(*rest)  # without one of them there is a card


@given(data=st.data())
@settings(max_examples=60)
def test_without_any_culprit_there_is_a_card(data: st.DataObject) -> None:
    table = data.draw(tables(max_rows=4, max_columns=4))
    constraints = data.draw(constraint_lists(table, GRIDS[0], 1, rates=False, max_size=6))
    parts = [*constraints, *(ConstantColumn(name) for name in table.constant)]
    if _start(table, parts) is not None:
        return
    culprits = find_conflict(parts, lambda some: _start(table, some) is not None)
    assert _start(table, culprits) is None
    for number in range(len(culprits)):
        assert _start(table, [*culprits[:number], *culprits[number + 1 :]]) is not None
    with pytest.raises(InputError) as error:
        Problem.build(table, GRIDS[0], max_points=1, constraints=constraints)
    if "force" not in str(error.value):
        assert all(str(culprit) in str(error.value) for culprit in culprits)


def _start(table: PatternTable, constraints: Sequence[Any]) -> Any:
    builder = LimitsBuilder(table, GRIDS[0], 1, Questions.single(table.names))
    for constraint in constraints:
        constraint._add_to(builder)
    return builder.start()


def test_a_constant_column_clashes_with_being_needed() -> None:
    table = PatternTable.from_arrays([[3, 0], [3, 1]], [0, 1], names=["site", "age"])
    with pytest.raises(InputError, match="points for site; no points for site, which is constant"):
        Problem.build(table, GRID, constraints=[Include("site"), Include("age")])
    forced = Problem.build(table, GRID, constraints=[Bounds("site", 2, 4)])
    assert forced.nearest_to_zero().tolist() == [2, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Include(), "Include names no column"),
        (lambda: AtMost(-1, ["age"]), "limit of AtMost must be a whole number of at least 0"),
        (lambda: AtLeast(True, ["age"]), "count of AtLeast must be a whole number .*, not True"),
        (lambda: AtMost(1, "age"), "AtMost needs a list of columns, not 'age'"),
        (lambda: Values("age", []), "Values of column 'age' is empty"),
        (lambda: Values("age", 3), "Values of column 'age' must be a list, not 3"),
        (lambda: Values("age", [0.5]), "values of column 'age' must be a whole number"),
        (lambda: Values("age", [10**12]), "from -1000000000 to 1000000000"),
        (lambda: MaxFeatures(1.5), "max_features must be a whole number of at least 0, not 1.5"),
        (lambda: MaxTotalPoints("3"), "limit of MaxTotalPoints must be a whole number"),
        (lambda: MinTPR(0.2, 1.5), "rate of MinTPR must be a number from 0 to 1, not 1.5"),
        (lambda: MaxFPR(0.2, "half"), "rate of MaxFPR must be a number from 0 to 1, not 'half'"),
        (lambda: MinTPR(None, 0.5), "threshold of MinTPR must be a number from 0 to 1, not None"),
        (lambda: MinTPR(True, 0.5), "threshold of MinTPR must be a number from 0 to 1, not True"),
        (lambda: build(MinTPR(0.3, 0.9)), "MinTPR names threshold 0.3, but the thresholds are 0.2"),
        (lambda: build(MaxFPR(0, 0.9)), "MaxFPR at threshold 0 cannot be met"),
        (lambda: build(Include("agee")), "Include names column 'agee', .* 'age', 'bmi'.* Correct"),
        (lambda: build(Implies("age", 4)), "Implies names column 4, which is not in the table"),
        (lambda: build(Exclusive("age", 0)), "Exclusive names a column twice"),
        (lambda: build("age"), "'age' is not a constraint. Use classes such as"),
        (
            lambda: Problem.build(TABLE, GRID, constraints=Include("age")),  # type: ignore[arg-type]
            r"must be a list of constraints, not Include\('age'\)",
        ),
        (lambda: from_json({"kind": "magic"}), "its kind is none of 'at_least', 'at_most'"),
        (lambda: from_json([1]), "is not a constraint"),
        (lambda: from_json({"kind": "implies", "feature": "a"}), "needs 'feature', 'other'"),
        (lambda: from_json({"kind": "include", "features": []}), "Include names no column"),
        (lambda: from_json({"kind": "sign", "feature": "a", "sign": "?"}), "sign of column 'a'"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_wide_values_do_not_need_wide_bounds() -> None:
    problem = build(Values("age", [0, 25]))
    assert (problem.lower[0], problem.upper[0]) == (0, 25)
    with pytest.raises(InputError, match="column 'age' may have 1,000,001 different points"):
        build(Values("age", [0, 10**6]))


def test_the_estimator_takes_constraints() -> None:
    rng = np.random.default_rng(1)
    features = rng.integers(0, 2, (200, 4))
    y = rng.random(200) < 0.1 + 0.2 * features @ [1, 1, 1, 0]
    constraints = [Exclusive(0, 1), Include("x3"), MinTPR(0.4, 0.8)]
    model = RiskScoreClassifier(
        binner=None, thresholds=[0.2, 0.4], constraints=constraints, n_jobs=1
    ).fit(features, y)
    assert model.coef_[0] == 0 or model.coef_[1] == 0
    assert model.coef_[3] != 0
    called = model.predict(features, threshold=0.4)
    assert called[y].mean() >= 0.8
    risks = [q for _, q in model.scorecard_.risks]
    assert risks == sorted(risks)


def test_the_documentation_says_what_is_so() -> None:
    """Python, JSON and words of each row of the table are the same constraint; none is missing."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "constraints.md").read_text("utf-8")
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (.+?) \|$", text, flags=re.MULTILINE)
    names = vars(constraints)
    kinds = set()
    for code, as_json, words in rows:
        made = eval(code, dict(names))
        assert made == constraints.from_json(json.loads(as_json))
        assert made.to_json() == json.loads(as_json)
        assert str(made) == words
        kinds.add(type(made).__name__)
    assert kinds == {kind.__name__ for kind in constraints.Constraint._kinds.values()}


def test_shares_and_signs_are_read_as_written() -> None:
    assert (share(0.9, "rate"), share("2/3", "rate")) == (Fraction(9, 10), Fraction(2, 3))
    assert (sign_of("age", -1), sign_of("age", "non-decreasing")) == ("-", "+")

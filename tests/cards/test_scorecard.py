"""The scorecard: exact scores, the printed table, every way to pass rows, every refusal."""

from __future__ import annotations

import math
import pickle
import random
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.common.checks import InputError
from netbenefit.metrics.thresholds import Thresholds

HALF = Thresholds.of([0.5])


def simple(*rules: Rule, **options) -> Scorecard:
    return Scorecard.from_levels(rules, [1], [0.2, 0.7], HALF, **options)


def credit_card() -> Scorecard:
    """The published card on credit data."""
    return Scorecard.from_levels(
        rules=[
            Rule(Condition("age", ">=", 52), -2),
            Rule(PerUnit("utilisation", decimals=1, upper=1.5), 10),
            Rule(Condition("open lines", ">=", 8), 1),
            Rule(Condition("real-estate loans", ">=", 1), -1),
            Rule(PerUnit("past due", binary=True), 9),
        ],
        cutoffs=[10, 15, 18, 20, 21, 25, 25, 25, 25],
        risks=[0.028, 0.14, 0.268, 0.371, 0.489, 0.534, None, None, None, 0.9],
        thresholds=Thresholds.tenths(),
        score_range=(-3, 25),
    )


# -- a slow reference in plain Python --------------------------------------------------------------


def is_missing(value) -> bool:
    return value is None or value != value


def twin_code(term, value) -> Fraction:
    if isinstance(term, PerUnit):
        if is_missing(value):
            return Fraction(0)
        x = float(value)
        x = x if term.lower is None else max(x, term.lower)
        x = x if term.upper is None else min(x, term.upper)
        if abs(x) * 10.0**term.decimals > 2**53:
            raise OverflowError
        return Fraction(math.floor(x * 10.0**term.decimals + 0.5), 10**term.decimals)
    if is_missing(value):
        return Fraction(term.op == "missing")
    v = term.value
    truth = {
        "missing": lambda: False,
        ">=": lambda: value >= v,
        ">": lambda: value > v,
        "<=": lambda: value <= v,
        "<": lambda: value < v,
        "==": lambda: value == v,
        "!=": lambda: value != v,
        "between": lambda: v[0] <= value < v[1],
        "in": lambda: any(value == w for w in v),
        "not in": lambda: all(value != w for w in v),
    }
    return Fraction(truth[term.op]())


def twin_score(card: Scorecard, row: dict) -> int | None:
    """Return the score, or None where the row has to be refused."""
    for feature in card.features:
        value = row[feature]
        has_rule = any(r.term == Condition(feature, "missing") for r in card.rules)
        if is_missing(value) and not has_rule:
            return None
        if isinstance(value, float) and math.isinf(value):
            return None
    try:
        total = sum((r.points * twin_code(r.term, row[r.term.feature]) for r in card.rules), 0)
    except OverflowError:
        return None
    total = Fraction(total)
    units = total * 10 ** max((r.term.decimals for r in card.rules), default=0)
    return math.floor(total) if -(2**63) <= units < 2**63 else None


def random_number(rng: random.Random) -> float:
    kind = rng.randrange(6)
    if kind == 0:
        return float(rng.randint(-4, 4))
    if kind == 1:
        return rng.randint(-400, 400) / 100
    if kind == 2:
        return rng.gauss(0, 3)
    if kind == 3:
        return rng.randint(-9, 9) + 0.5
    if kind == 4:
        return rng.randint(-4, 4)
    return rng.choice([True, False])


def random_term(rng: random.Random, feature: str):
    if feature.startswith("t"):  # a text column
        op = rng.choice(["==", "!=", "in", "not in", "missing"])
        letters = rng.sample("abcd", rng.randint(1, 3))
        many = tuple(letters)
        value = {"in": many, "not in": many, "missing": None}.get(op, letters[0])
        return Condition(feature, op, value)
    ops = [">=", ">", "<=", "<", "==", "!=", "between", "in", "not in", "missing"]
    op = rng.choice([*ops, *["unit"] * 6])
    if op == "unit":
        ends = sorted({random_number(rng), random_number(rng)})
        lower = ends[0] if rng.random() < 0.3 else None
        upper = ends[-1] if rng.random() < 0.3 and len(ends) == 2 else None
        return PerUnit(feature, rng.choice([0, 0, 1, 1, 2, 3, 9]), lower, upper)
    if op == "missing":
        return Condition(feature, op)
    if op == "between":
        low = random_number(rng)
        return Condition(feature, op, (low, low + rng.choice([0.5, 1, 3])))
    if op in ("in", "not in"):
        return Condition(feature, op, tuple({float(random_number(rng)) for _ in range(3)}))
    return Condition(feature, op, random_number(rng))


def random_card(rng: random.Random) -> Scorecard:
    columns = ["a", "b", "c", "t1", "t2"]
    terms = {random_term(rng, rng.choice(columns)) for _ in range(rng.randint(0, 6))}
    rules = [Rule(term, rng.randint(-10, 10)) for term in sorted(terms, key=repr)]
    rng.shuffle(rules)
    return simple(*rules)


def random_value(rng: random.Random, feature: str, share_missing: float):
    if rng.random() < share_missing:
        return rng.choice([None, math.nan])
    return rng.choice("abcde") if feature.startswith("t") else random_number(rng)


def check_against_twin(card: Scorecard, rows: list[dict]) -> int:
    """Compare every way with the reference; return how many rows could be scored."""
    expected = [twin_score(card, row) for row in rows]
    for row, score in zip(rows, expected, strict=True):
        if score is None:
            with pytest.raises(InputError):
                card.score(row)
            with pytest.raises(InputError):
                card.score([row])
        else:
            assert card.score(row) == score
            assert type(card.score(row)) is int
    good = [(row, score) for row, score in zip(rows, expected, strict=True) if score is not None]
    kept = [row for row, _ in good]
    scores = card.score(kept)
    assert scores.dtype == np.int64
    assert scores.tolist() == [score for _, score in good]
    if kept:
        columns = {name: [row[name] for row in kept] for name in kept[0]}
        assert card.score(columns).tolist() == scores.tolist()
    return len(kept)


def test_scores_agree_with_a_slow_reference():
    rng = random.Random(7)
    scored = refused = 0
    for _ in range(1500):
        card = random_card(rng)
        share_missing = rng.choice([0, 0, 0.2])
        names = ["a", "b", "c", "t1", "t2"]
        rows = [{f: random_value(rng, f, share_missing) for f in names} for _ in range(4)]
        good = check_against_twin(card, rows)
        scored, refused = scored + good, refused + len(rows) - good
    assert scored > 3000  # the cases are not all refusals
    assert refused > 200


def test_huge_values_are_exact_or_refused():
    rng = random.Random(8)
    scored = refused = 0
    for _ in range(600):
        rules = [
            Rule(
                PerUnit(f, rng.choice([0, 1, 6, 9])), rng.choice([1, -1]) * 10 ** rng.randint(0, 9)
            )
            for f in "abc"
        ]
        card = simple(*rules)
        rows = [
            {f: rng.choice([1, -1]) * rng.random() * 2.0 ** rng.randint(-4, 53) for f in "abc"}
            for _ in range(3)
        ]
        rows.append({"a": rng.choice([math.inf, -math.inf, 2.0**53, 1e308]), "b": 1, "c": 0})
        good = check_against_twin(card, rows)
        scored, refused = scored + good, refused + len(rows) - good
    assert scored > 300
    assert refused > 300


def test_a_batch_near_the_limit_is_refused_only_for_the_row_that_leaves_it():
    card = simple(Rule(PerUnit("a"), 10**9), Rule(PerUnit("b"), 10**9))
    fits = {"a": [2.0**33, 0.0, -(2.0**33)], "b": [0.0, 2.0**33, -1.0]}
    assert card.score(fits).tolist() == [10**9 * 2**33, 10**9 * 2**33, -(10**9) * (2**33 + 1)]
    with pytest.raises(InputError, match="score of row 1 does not fit into 64 bits"):
        card.score({"a": [0.0, 2.0**33], "b": [2.0**33, 2.0**33]})
    with pytest.raises(InputError, match="the score does not fit into 64 bits"):
        card.score({"a": 2.0**33, "b": 2.0**33})


@pytest.mark.parametrize("decimals", range(10))
def test_decimal_values_count_in_whole_steps(decimals):
    rng = random.Random(decimals)
    codes = [rng.randint(-(10**6), 10**6) for _ in range(2000)]
    texts = [str(Decimal(code).scaleb(-decimals)) for code in codes]
    assert PerUnit("x", decimals).codes([float(t) for t in texts]).tolist() == codes


def test_halves_round_up_as_in_the_formula():
    assert PerUnit("x").codes([2.5, -2.5, 0.5, -0.5, 1.49]).tolist() == [3, -2, 1, 0, 1]


def test_no_float_decides_a_level():
    card = simple(*(Rule(PerUnit(f"x{i}", decimals=1), 1) for i in range(10)))
    assert card.score({f"x{i}": 0.1 for i in range(10)}) == 1
    assert np.cumsum([0.1] * 10)[-1] < 1  # the result with floats
    assert simple(Rule(PerUnit("x", decimals=2), 100)).score({"x": 0.29}) == 29
    assert math.floor(0.29 * 100) == 28


# -- conditions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "text", "held"),
    [
        (Condition("x", ">=", 2), "x ≥ 2", [False, True, True]),
        (Condition("x", ">", 2.0), "x > 2", [False, False, True]),
        (Condition("x", "<=", -1.5), "x ≤ −1.5", [False, False, False]),
        (Condition("x", "<", 2), "x < 2", [True, False, False]),
        (Condition("x", "==", 2), "x = 2", [False, True, False]),
        (Condition("x", "!=", 2), "x ≠ 2", [True, False, True]),
        (Condition("x", "between", (1, 3)), "1 ≤ x < 3", [True, True, False]),
        (Condition("x", "in", (1, 3)), "x is 1 or 3", [True, False, True]),
        (Condition("x", "not in", (1, 3)), "x other than 1 or 3", [False, True, False]),
        (Condition("x", "missing"), "x missing", [False, False, False]),
    ],
)
def test_conditions_hold_and_read(condition, text, held):
    assert condition.text() == text
    assert condition.holds([1, 2, 3]).tolist() == held
    assert condition.holds(np.array([1, 2, 3.0])).tolist() == held
    missing = condition.op == "missing"
    assert condition.holds([None, math.nan, pd.NA, pd.NaT]).tolist() == [missing] * 4


def test_text_conditions():
    sex = Condition("sex", "==", "male")
    assert sex.text() == "sex is male"
    assert sex.holds(["male", "female", None]).tolist() == [True, False, False]
    assert sex.holds(np.array(["male", "x"])).tolist() == [True, False]
    assert Condition("sex", "!=", "male").text() == "sex is not male"
    assert Condition("sex", "!=", "male").holds(["male", "x", None]).tolist() == [
        False,
        True,
        False,
    ]
    assert Condition("r", "in", ("a", "b", "c")).text() == "r is a, b or c"
    assert Condition("r", "==", " a").text() == 'r is " a"'
    assert (
        Condition("r", "in", ("I or II", "a, b", "III")).text() == 'r is "I or II", "a, b" or III'
    )
    assert Condition("r", "==", "missing").text() == 'r is "missing"'
    others = Condition("r", "not in", ("a", "b"))
    assert others.text() == "r other than a or b"
    assert others.holds(["a", "c", None]).tolist() == [False, True, False]
    assert sex.holds([math.nan, None]).tolist() == [False, False]
    assert sex.holds(np.array([math.nan])).tolist() == [False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Condition("", ">=", 1), "must be a name that is not empty"),
        (lambda: Condition(3, ">=", 1), "must be a name"),
        (lambda: Condition("x", "=>", 1), "op '=>' .* is not known. Use one of >=,"),
        (lambda: Condition("x", ">=", "old"), "needs a number, not 'old'"),
        (lambda: Condition("x", ">=", math.nan), "Use a finite number"),
        (lambda: Condition("x", ">=", 2**53 + 1), "beyond what numbers hold exactly"),
        (lambda: Condition("x", ">=", 10**400), "beyond what numbers hold exactly"),
        (lambda: Condition("x", ">="), "neither a number nor text"),
        (lambda: Condition("x", "between", 3), "needs a tuple"),
        (lambda: Condition("x", "between", (3, 3)), "two numbers lo < hi"),
        (lambda: Condition("x", "between", ("a", "b")), "two numbers lo < hi"),
        (lambda: Condition("x", "in", ()), "at least one"),
        (lambda: Condition("x", "in", (1, 1.0)), "different values"),
        (lambda: Condition("x", "in", (1, "a")), "mixes numbers and text"),
        (lambda: Condition("x", "not in", "ab"), "needs a tuple"),
        (lambda: Condition("x", "not in", ()), "at least one"),
        (lambda: PerUnit("x", log=1), "log=1 .* must be True or False"),
        (lambda: PerUnit("x", 3, log=True), "decimals at most 2"),
        (lambda: PerUnit("x", binary=True, log=True), "binary must be False"),
        (lambda: Condition("x", "missing", 3), "takes no value"),
        (lambda: Condition("x\ud800", ">=", 3), "half a character"),
        (lambda: PerUnit("x", decimals=10), "decimals=10 .* integer from 0 to 9"),
        (lambda: PerUnit("x", decimals=-1), "integer from 0 to 9"),
        (lambda: PerUnit("x", decimals=True), "integer from 0 to 9"),
        (lambda: PerUnit("x", decimals=1.0), "integer from 0 to 9"),
        (lambda: PerUnit("x", lower=2, upper=2), "must be below upper=2"),
        (lambda: PerUnit("x", upper=math.inf), "Use a finite number"),
        (lambda: PerUnit("x", upper="9"), "must be a number"),
        (lambda: PerUnit("x", 9, upper=1e9), "usable size"),
        (lambda: PerUnit("x", binary=1), "must be True or False"),
        (lambda: Rule("age", 3), "needs a Condition or a PerUnit"),
        (lambda: Rule(PerUnit("x"), 1.0), "points of the rule on 'x' must be an integer"),
        (lambda: Rule(PerUnit("x"), True), "must be an integer, not True"),
        (lambda: Rule(PerUnit("x"), 10**10), "at most 10\\*\\*9"),
    ],
)
def test_bad_rules_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_numbers_are_kept_in_one_form():
    assert Condition("x", ">=", np.float64(52)).value == 52
    assert type(Condition("x", ">=", np.float64(52)).value) is int
    assert type(Condition("x", "==", np.True_).value) is int
    assert type(Condition("x", ">=", np.float32(0.5)).value) is float
    assert str(Condition("x", ">=", -0.0).value) == "0"


# -- ways to pass rows -----------------------------------------------------------------------------


def mixed_card() -> Scorecard:
    return Scorecard.from_levels(
        rules=[
            Rule(Condition("sex", "==", "male"), 3),
            Rule(Condition("sex", "missing"), 1),
            Rule(PerUnit("bmi", decimals=1, lower=15, upper=40), 2),
            Rule(Condition("bmi", "missing"), 50),
            Rule(Condition("age", "between", (40, 60)), 4),
            Rule(PerUnit("smoker", binary=True), -5),
        ],
        cutoffs=[45, 60],
        risks=[0.05, 0.3, 0.8],
        thresholds=Thresholds.of([0.2, 0.5]),
        feature_names=["age", "sex", "id", "bmi", "smoker"],
    )


ROWS = [
    {"age": 39, "sex": "male", "id": 1, "bmi": 22.25, "smoker": True},
    {"age": 40, "sex": "female", "id": 2, "bmi": None, "smoker": False},
    {"age": 59, "sex": None, "id": 3, "bmi": 99.0, "smoker": True},
    {"age": 60, "sex": "männlich", "id": 4, "bmi": -3.0, "smoker": False},
]
SCORES = [42, 54, 80, 30]  # by hand: 3 + 44.6 - 5 = 42.6; 50 + 4; 1 + 80 + 4 - 5; 30


def frames() -> dict:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    plain = pd.DataFrame(columns)
    table = pa.table(columns)
    return {
        "rows": ROWS,
        "tuple of rows": tuple(ROWS),
        "columns": columns,
        "arrays": {name: np.array(column, dtype=object) for name, column in columns.items()},
        "pandas": plain,
        "pandas shuffled": plain[["smoker", "bmi", "id", "sex", "age"]],
        "pandas nullable": plain.convert_dtypes(),
        "pandas category": plain.astype({"sex": "category", "smoker": "int8", "age": "float32"}),
        "pandas pyarrow": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.DataFrame(columns),
        "polars category": pl.DataFrame(columns).with_columns(
            pl.col("sex").cast(pl.Categorical), pl.col("age").cast(pl.Decimal(10, 2))
        ),
        "pyarrow": table,
        "pyarrow dictionary": table.set_column(
            1, "sex", pa.array(columns["sex"]).dictionary_encode()
        ),
        "series": {name: plain[name] for name in plain},
        "polars series": dict(pl.DataFrame(columns).to_dict()),
        "chunked arrays": {name: table[name] for name in columns},
        "object array": plain.to_numpy(dtype=object),
    }


@pytest.mark.parametrize("how", frames())
def test_every_way_to_pass_rows_gives_the_same_scores(how):
    card, rows = mixed_card(), frames()[how]
    assert card.score(rows).tolist() == SCORES
    assert card.risk(rows).tolist() == [0.05, 0.3, 0.8, 0.05]
    assert card.level(rows).tolist() == [0, 1, 2, 0]
    assert card.decide(rows, 0.3).tolist() == [False, True, True, False]


def test_one_row_gives_plain_numbers():
    card = mixed_card()
    assert [card.score(row) for row in ROWS] == SCORES
    assert [card.risk(row) for row in ROWS] == [0.05, 0.3, 0.8, 0.05]
    assert [type(f(ROWS[0])) for f in (card.score, card.level, card.risk)] == [int, int, float]
    assert card.decide(ROWS[1], 0.3) is True
    exotic = {
        "age": np.int8(59),
        "sex": np.str_("male"),
        "bmi": Decimal("22.25"),
        "smoker": np.array(True),
    }
    assert card.score(exotic) == 46


def test_number_arrays_and_structured_arrays():
    card = simple(Rule(PerUnit("b"), 1), Rule(PerUnit("a"), 10), feature_names=["a", "b"])
    assert card.score(np.array([[1, 2], [3, 4]])).tolist() == [12, 34]
    record = np.array([(1, 2.0)], dtype=[("a", int), ("b", float)])
    assert card.score(record).tolist() == [12]
    numbered = simple(Rule(PerUnit("1"), 1), Rule(PerUnit("0"), 10))
    assert numbered.score(pd.DataFrame([[1, 2], [3, 4]])).tolist() == [12, 34]
    assert numbered.score({0: [1, 3], 1: [2, 4]}).tolist() == [12, 34]
    assert numbered.score({0: 1, 1: 2}) == 12
    assert simple(Rule(PerUnit("a"), 1)).feature_names == ("a",)


def test_no_rows_and_no_rules():
    card = mixed_card()
    assert card.score([]).tolist() == []
    assert card.score(pl.DataFrame(ROWS)[:0]).tolist() == []
    empty = simple()
    assert empty.score({}) == 0
    assert empty.risk({"age": 3}) == 0.2
    assert empty.score({"age": [1, 2, 3]}).tolist() == [0, 0, 0]
    assert empty.score(pd.DataFrame({"age": [1, 2]})).tolist() == [0, 0]
    assert empty.score_limits == (0, 0)
    assert empty.features == ()


def test_decimals_of_arrow_are_the_nearest_floats():
    # A cast inside pyarrow makes 299.9 a bit more than it is.
    values = [Decimal("299.9"), Decimal("300.0"), None]
    frame = pa.table({"x": pa.array(values, pa.decimal128(9, 1))})
    card = simple(Rule(Condition("x", "<=", 299.9), 1), Rule(Condition("x", "missing"), 5))
    assert card.score(frame).tolist() == [1, 0, 5]


def test_records_may_have_names_that_are_no_text():
    assert simple(Rule(PerUnit("1"), 1)).score([{"1": 7}, {1: 8}]).tolist() == [7, 8]


def test_numpy_is_enough_to_score(monkeypatch):
    for name in ("narwhals", "pandas", "polars", "pyarrow", "scipy", "sklearn", "numba"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it would fail
    card = mixed_card()
    assert card.score(ROWS).tolist() == SCORES
    assert card.score({name: [row[name] for row in ROWS] for name in ROWS[0]}).tolist() == SCORES
    assert card.risk(ROWS[0]) == 0.05


# -- refusals at scoring time ----------------------------------------------------------------------


AGE = simple(Rule(Condition("age", ">=", 52), 2), Rule(PerUnit("bmi", decimals=1), 1))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"age": 3, "weight": 4}, "needs 'bmi', absent. Available are 'age', 'weight'. Add or"),
        ({}, "needs 'age', 'bmi', absent. Available are no columns"),
        ({"age": [3], "x": [4]}, "needs 'bmi', absent. Available are 'age', 'x'"),
        (pd.DataFrame({"age": [3]}), "needs 'bmi', absent"),
        (pl.DataFrame({"bmi": [3]}), "needs 'age', absent"),
        ([{"age": 3, "bmi": 1}, {"age": 3}], "needs 'bmi', absent in row 1. Available are 'age'"),
        ([{"age": 3, "bmi": 1}, [3, 1]], "row 1 is list, not a dict"),
        (np.zeros((4, 3)), r"shape \(4, 3\), but the card reads 2 columns: 'age', 'bmi'"),
        (np.zeros(2), r"shape \(2,\), but the card reads 2 columns"),
        ({"age": [1, 2], "bmi": 3}, "some columns are plain values and some are sequences"),
        ({"age": [1, 2], "bmi": [1]}, "column 'bmi' has 1 rows, but 'age' has 2"),
        ({"age": np.zeros((2, 2)), "bmi": [1, 2]}, r"column 'age' has shape \(2, 2\)"),
        (pl.LazyFrame({"age": [1], "bmi": [2]}), "cannot read rows from LazyFrame"),
        (17, "cannot read rows from int"),
        (pd.Series([1, 2]), "cannot read rows from Series"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "duplicate column names"),
        ({"age": [60, None], "bmi": [1, 2]}, "'age' is missing in row 1, and the card has no rule"),
        ({"age": 60, "bmi": None}, "'bmi' is missing, and the card has no rule for that"),
        ({"age": [1, 2, 3], "bmi": [1, math.nan, pd.NA]}, r"'bmi' is missing in row 1 \(2 such"),
        (pl.DataFrame({"age": [1, None], "bmi": [1, 2]}), "'age' is missing in row 1"),
        ({"age": [60, -math.inf], "bmi": [1, 2]}, "'age' holds -inf in row 1. Give a finite"),
        ({"age": 60, "bmi": math.inf}, "'bmi' holds inf. Give a finite number"),
        ({"age": [1, 10**400], "bmi": [1, 2]}, "'age' holds an enormous number in row 1"),
        ({"age": [60, "61"], "bmi": [1, 2]}, "'age' holds '61' in row 1, but the card expects num"),
        ({"age": np.array(["60"]), "bmi": [1]}, "'age' holds '60' in row 0, but the card expects"),
        ({"age": "60", "bmi": 2}, "'age' holds '60', but the card expects numbers"),
        ({"age": np.array(["2020-01-01"], "M8[D]"), "bmi": [1]}, "'age' holds datetime64"),
        (pd.DataFrame({"age": pd.to_datetime(["2020"]), "bmi": [1]}), "'age' holds Timestamp"),
        ({"age": 1, "bmi": 1e16}, "'bmi' holds 1e\\+16, too large to count exactly in steps of"),
        ({"age": [1, 1], "bmi": [0, -1e16]}, "'bmi' holds -1e\\+16 in row 1, too large"),
    ],
)
def test_errors_of_rows_that_cannot_be_scored_name_the_value(rows, message):
    with pytest.raises(InputError, match=message):
        AGE.score(rows)


def test_numbers_where_text_is_expected_are_refused():
    card = simple(Rule(Condition("sex", "==", "male"), 2))
    for rows in ({"sex": [1, 0]}, {"sex": 1}, pd.DataFrame({"sex": [1, 0]}), {"sex": ["male", 0]}):
        with pytest.raises(InputError, match=r"column 'sex' holds .* the card expects text"):
            card.score(rows)


def test_missing_values_follow_their_rule_and_no_other():
    card = simple(
        Rule(PerUnit("lab", decimals=2, lower=1), 3),
        Rule(Condition("lab", "!=", 7), 2),
        Rule(Condition("lab", "missing"), -4),
    )
    assert card.score({"lab": [None, 1.0, 7.0]}).tolist() == [-4, 5, 21]
    assert card.score({"lab": None}) == -4
    silent = simple(Rule(PerUnit("lab"), 3), Rule(Condition("lab", "missing"), 0))
    assert silent.score({"lab": [math.nan, 2]}).tolist() == [0, 6]
    assert silent.size == 1
    only = simple(Rule(Condition("lab", "missing"), 1))
    assert only.score({"lab": ["high", None, 3.0]}).tolist() == [0, 1, 0]
    assert only.score({"lab": np.array([math.inf, math.nan])}).tolist() == [0, 1]
    assert only.score({"lab": math.inf}) == 0


@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "0.5", None, True])
def test_bad_decision_thresholds(threshold):
    with pytest.raises(InputError, match="must be a risk between 0 and 1"):
        AGE.decide({"age": 1, "bmi": 1}, threshold)


# -- the table and derived values ------------------------------------------------------------------


def brute_level(cutoffs, score_range, s: int) -> int:
    if score_range is not None:
        s = min(max(s, score_range[0]), score_range[1])
    return sum(s >= t for t in cutoffs)


def random_levels(rng: random.Random):
    count = rng.randint(1, 6)
    thresholds = Thresholds.of(sorted(rng.sample([i / 20 for i in range(1, 20)], count)))
    cutoffs = sorted(rng.randint(-6, 6) for _ in range(count))
    score_range = None
    if rng.random() < 0.7:
        score_range = tuple(sorted(rng.randint(-8, 8) for _ in range(2)))
    reached = {brute_level(cutoffs, score_range, s) for s in range(-30, 31)}
    edges = (*thresholds.values, 1.0)
    risks = [
        edges[i] + (edges[i + 1] - edges[i]) * rng.choice([0, 0.3, 0.9]) if i in reached else None
        for i in range(count + 1)
    ]
    return thresholds, cutoffs, risks, score_range, reached


def test_the_printed_table_gives_the_risk_of_every_score():
    rng = random.Random(5)
    card_rule = Rule(PerUnit("x"), 1)
    for _ in range(600):
        thresholds, cutoffs, risks, score_range, reached = random_levels(rng)
        card = Scorecard.from_levels([card_rule], cutoffs, risks, thresholds, score_range)
        table = card.risk_table()
        assert len(table) == len(reached)
        assert table[0].low is None
        assert table[-1].high is None
        scores = np.arange(-30, 31)
        by_array = card.risk({"x": scores})
        for s, risk in zip(scores.tolist(), by_array.tolist(), strict=True):
            rows = [
                r
                for r in table
                if (r.low is None or r.low <= s) and (r.high is None or s <= r.high)
            ]
            assert len(rows) == 1
            expected = risks[brute_level(cutoffs, score_range, s)]
            assert rows[0].risk == risk == expected == card.risk({"x": s}) == card.risk_of_score(s)
        for level in reached:  # a level that scores reach must not lack its risk
            broken = [None if i == level else q for i, q in enumerate(risks)]
            with pytest.raises(InputError, match=rf"risks\[{level}\] is None, but a score such as"):
                Scorecard.from_levels([card_rule], cutoffs, broken, thresholds, score_range)


def test_the_published_credit_card():
    card = credit_card()
    row = {"age": 30, "utilisation": 0.7, "open lines": 8, "real-estate loans": 0, "past due": 1}
    assert card.score(row) == 17
    assert card.risk(row) == 0.268
    assert card.risk({**row, "utilisation": 7.0}) == 0.9  # clipped: 15 + 1 + 9 = 25
    assert card.score({**row, "utilisation": 7.0}) == 25
    assert card.score({**row, "age": 52, "utilisation": 0.0, "past due": 0}) == -1
    assert card.size == 5
    assert card.features == ("age", "utilisation", "open lines", "real-estate loans", "past due")
    assert [(r.low, r.high) for r in card.risk_table()] == [
        (None, 9),
        (10, 14),
        (15, 17),
        (18, 19),
        (20, 20),
        (21, 24),
        (25, None),
    ]
    assert card.score_limits is None  # utilisation has no lower end
    assert [card.decide(row, t) for t in (0.2, 0.268, 0.3)] == [True, True, False]


def test_scores_beyond_training_have_the_nearest_risk():
    card = Scorecard.from_levels(
        [Rule(PerUnit("x"), 1)], [3, 9], [None, 0.3, None], Thresholds.of([0.2, 0.5]), (3, 7)
    )
    assert card.risk({"x": [-100, 3, 7, 9, 1000]}).tolist() == [0.3] * 5
    assert card.level({"x": 1000}) == 1
    assert card.risk_table() == ((None, None, 0.3),)


def test_score_limits_are_attained():
    rng = random.Random(11)
    finite = 0
    for _ in range(400):
        rules = []
        for feature in rng.sample(["a", "b", "t1"], rng.randint(1, 3)):
            terms = {random_term(rng, feature) for _ in range(rng.randint(1, 3))}
            units = [t for t in terms if isinstance(t, PerUnit)]
            terms -= set(units[1:])  # several per-unit rules on a column are only bounded
            if units and rng.random() < 0.8:
                terms = terms - set(units) | {PerUnit(feature, units[0].decimals, -1.5, 2.25)}
            rules += [Rule(t, rng.randint(-5, 5)) for t in sorted(terms, key=repr)]
        card = simple(*rules)
        if card.score_limits is None:
            assert any(
                isinstance(r.term, PerUnit) and r.points and None in (r.term.lower, r.term.upper)
                for r in rules
            )
            continue
        finite += 1
        units = 10 ** max(r.term.decimals for r in rules)
        low = high = 0
        for feature in card.features:
            marks = [v / 4 for v in range(-52, 52)]
            for rule in rules:
                value = rule.term.value if isinstance(rule.term, Condition) else None
                for v in value if isinstance(value, tuple) else (value,):
                    if v is not None and not isinstance(v, str):
                        marks += [v, math.nextafter(v, -math.inf), math.nextafter(v, math.inf)]
            values = [*"abcde"] if feature.startswith("t") else marks
            if any(r.term == Condition(feature, "missing") for r in rules):
                values = [*values, None]
            own = [r for r in rules if r.term.feature == feature]
            sums = {sum(r.points * twin_code(r.term, v) for r in own) for v in values}
            low, high = low + min(sums) * units, high + max(sums) * units
        assert card.score_limits == (low // units, high // units)
    assert finite > 200


def test_score_limits_of_special_columns():
    assert simple(Rule(PerUnit("x", binary=True), -3)).score_limits == (-3, 0)
    assert simple(Rule(PerUnit("x"), 0)).score_limits == (0, 0)
    binary = simple(Rule(PerUnit("x", binary=True), 2), Rule(Condition("x", ">=", 5), 9))
    assert binary.score_limits == (0, 2)
    two = simple(Rule(PerUnit("x", 0, 0, 2), 1), Rule(PerUnit("x", 1, 0, 1), -2))
    assert two.score_limits == (-2, 2)
    assert simple(Rule(Condition("x", "missing"), 4)).score_limits == (0, 4)


def test_explain_adds_up_to_the_score():
    card = mixed_card()
    for row, score in zip(ROWS, SCORES, strict=True):
        parts = card.explain(row)
        assert math.floor(sum(Fraction(str(points)) for _, _, points in parts)) == score
    assert card.explain(ROWS[0])[:3] == [
        ("bmi", "22.25", 44.6),
        ("smoker", "yes", -5),
        ("age", "under 40", 0),
    ]
    with pytest.raises(InputError, match="one row"):
        card.explain({name: [row[name] for row in ROWS] for name in ROWS[0]})
    with pytest.raises(InputError, match="absent"):
        card.explain({"age": 3})


# -- building a card -------------------------------------------------------------------------------

TWO = Thresholds.of([0.2, 0.5])
RULE = Rule(PerUnit("x"), 1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cutoffs": [1]}, "1 cutoffs for 2 thresholds above 0"),
        ({"cutoffs": [1, 2, 3]}, "3 cutoffs for 2 thresholds"),
        ({"cutoffs": [3, 2]}, r"must not decrease, but cutoffs\[1\] = 2 follows 3"),
        ({"cutoffs": [1, 2.0]}, r"cutoffs\[1\] must be an integer, not 2.0"),
        ({"cutoffs": [True, 2]}, r"cutoffs\[0\] must be an integer, not True"),
        ({"cutoffs": [1, 2**63]}, r"cutoffs\[1\] = \d+ does not fit into 64 bits"),
        ({"risks": [0.1, 0.3]}, "2 risks for 3 levels"),
        ({"risks": [0.2, 0.3, 0.5]}, r"risks\[0\] = 0.2 must lie in \[0, 0.2\), or be None"),
        ({"risks": [0.1, 0.5, 0.5]}, r"risks\[1\] = 0.5 must lie in \[0.2, 0.5\)"),
        ({"risks": [0.1, 0.3, 1.1]}, r"risks\[2\] = 1.1 must lie in \[0.5, 1\]"),
        ({"risks": [0.1, math.nan, 1]}, r"risks\[1\] = nan must lie in"),
        ({"risks": [0.1, "0.3", 1]}, r"risks\[1\] = '0.3' must lie in"),
        ({"risks": [None, 0.3, 1]}, r"risks\[0\] is None, but a score such as 0 is on level 0"),
        ({"score_range": (3, 2)}, "score_range=.3, 2. must not decrease"),
        ({"score_range": 3}, "score_range=3 must be .lowest, highest."),
        ({"score_range": (0, 1.5)}, r"score_range\[1\] must be an integer"),
        ({"rules": [RULE, RULE]}, r"rules\[1\] \(x \(whole number\)\) repeats rules\[0\]"),
        ({"rules": [("x", 1)]}, r"rules\[0\] = .* is not a Rule"),
        (
            {"rules": [RULE, Rule(Condition("x", "==", "a"), 1)]},
            r"rules\[1\] \(x is a\) reads column 'x' as text, another rule as number",
        ),
        ({"thresholds": [0.2, 0.5]}, "must be Thresholds"),
        ({"feature_names": ["y"]}, "feature_names lack 'x'"),
        ({"feature_names": ["x", "y", "y"]}, "duplicate column names: 'y'"),
        ({"provenance": {"version": "1"}}, "must be a Provenance"),
    ],
)
def test_a_card_that_contradicts_itself_is_refused(parts, message):
    good = {"rules": [RULE], "cutoffs": [1, 2], "risks": [0.1, 0.3, 1.0], "thresholds": TWO}
    assert Scorecard.from_levels(**good).risk({"x": 5}) == 1.0
    with pytest.raises(InputError, match=message):
        Scorecard.from_levels(**{**good, **parts})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", None, "version=None must be text"),
        ("solver", 3, "solver=3 must be text"),
        ("n_rows", -1, "n_rows=-1 must be a finite number from 0"),
        ("n_rows", True, "n_rows=True must be"),
        ("n_patterns", 1.5, "n_patterns=1.5 must be an integer"),
        ("random_state", -1, "random_state=-1 must be an integer"),
        ("prevalence", 1.5, "prevalence=1.5 must be a number from 0 to 1"),
        ("objective", math.nan, "objective=nan must be a finite number"),
        ("bound", math.inf, "bound=inf must be a finite number"),
        ("seconds", -1.0, "seconds=-1.0 must be"),
    ],
)
def test_bad_provenance(field, value, message):
    with pytest.raises(InputError, match=message):
        Provenance(**{"version": "1", field: value})


def test_provenance_keeps_plain_numbers_and_knows_the_gap():
    made = Provenance(version="1", n_rows=np.int64(7), objective=np.float64(0.4), bound=0.5)
    assert type(made.n_rows) is int
    assert type(made.objective) is float
    assert made.gap == pytest.approx(0.25)
    assert Provenance(version="1", objective=0.4).gap is None
    assert Provenance(version="1", objective=0.4, bound=0.4 - 1e-17).gap == 0
    assert Provenance(version="1", objective=0.0, bound=0.1).gap == math.inf


def test_numpy_numbers_are_taken_and_kept_plain():
    card = Scorecard.from_levels(
        [Rule(PerUnit("x"), np.int64(3))],
        np.array([1, 2]),
        np.array([0.1, 0.3, 1.0]),
        TWO,
        (np.int64(0), np.int32(9)),
    )
    assert {type(t) for t in card.cutoffs + card.score_range} == {int}
    assert {(type(score), type(risk)) for score, risk in card.risks} == {(int, float)}
    assert type(card.rules[0].points) is int


def test_cards_pickle_compare_and_hash():
    card = mixed_card()
    card.score(ROWS)  # fills what is computed once
    again = pickle.loads(pickle.dumps(card))
    assert again == card == mixed_card()
    assert hash(again) == hash(mixed_card())
    assert again.score(ROWS).tolist() == SCORES
    assert card != AGE
    with pytest.raises(AttributeError):
        card.cutoffs = (1, 2)


def test_a_short_repr_points_to_the_card() -> None:
    card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1)], Thresholds.of([0.5]))
    assert repr(card) == "<Scorecard: 1 question; print(card) shows them>"

"""What users get wrong, where they meet it: each error names the culprit and the remedy.

One table for each item of the list; a row is a way to get it wrong, the words that name the culprit
(column, row, parameter or value), and the words that say what to do.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from netbenefit import (
    InputError,
    NetBenefitCalibrator,
    RiskScoreClassifier,
    Scorecard,
    SmallTableWarning,
    Thresholds,
    aunbc,
    auroc,
    calibrate_levels,
    decision_curve,
    expected_calibration_error,
    hosmer_lemeshow,
    net_benefit,
    weighted_net_benefit,
)
from netbenefit.solvers.annealing import Annealing

N = 12
COLUMNS = {
    "age": [41, 52, 63, 74, 45, 56, 67, 78, 49, 50, 61, 72],
    "fever": [0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1],
    "lactate": [0.5, 1.5, 2.5, 3.5, 1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, 3.5],
}
X = np.column_stack(list(COLUMNS.values()))
Y = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1])
RISK = np.linspace(0.05, 0.95, N)
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def model(**options: Any) -> RiskScoreClassifier:
    """A classifier that takes milliseconds, without a teacher unless the options name one."""
    return RiskScoreClassifier(
        **{"binner": None, "solver": Annealing(cooling=1e-4), "teacher": None, **options}
    )


def changed(name: str, row: int, value: Any) -> dict[str, list[Any]]:
    columns = {key: list(values) for key, values in COLUMNS.items()}
    columns[name][row] = value
    return columns


def with_value(value: float, row: int, column: int) -> np.ndarray:
    array = X.copy()
    array[row, column] = value
    return array


def at(values: Any, row: int, value: Any) -> list[Any]:
    result = list(values)
    result[row] = value
    return result


class Wrong(NamedTuple):
    """A call that must fail, and what its message must say."""

    title: str
    call: Callable[[], Any]
    culprit: tuple[str, ...]
    remedy: str


def table(*rows: tuple[str, Callable[[], Any], str | tuple[str, ...], str]) -> Any:
    cases = [
        Wrong(title, call, (culprit,) if isinstance(culprit, str) else culprit, remedy)
        for title, call, culprit, remedy in rows
    ]
    return pytest.mark.parametrize("wrong", cases, ids=[case.title for case in cases])


def check(wrong: Wrong) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        wrong.call()
    message = str(caught.value)
    for word in wrong.culprit:
        assert re.search(word, message), f"culprit {word!r} is not named: {message}"
    assert re.search(wrong.remedy, message), f"no remedy {wrong.remedy!r}: {message}"


def test_nothing_is_wrong_with_the_data_itself() -> None:
    """Otherwise the errors below could have another cause."""
    with warnings.catch_warnings(action="error"):
        warnings.simplefilter("ignore", SmallTableWarning)
        fit = model(thresholds=[0.2, 0.5]).fit(X, Y)
        for make in FRAMES.values():
            model().fit(make(COLUMNS), Y).predict(make(COLUMNS))
    assert fit.coef_.any()
    assert net_benefit(Y, RISK, [0.2]).shape == (1,)


# -- missing values --------------------------------------------------------------------------------


@table(
    (
        "array",
        lambda: model().fit(with_value(np.nan, 4, 2), Y),
        ("'x2'", "row 4"),
        "Impute or drop",
    ),
    *(
        (
            f"{name} {column}",
            lambda make=make, column=column: model().fit(make(changed(column, 4, None)), Y),
            (f"column '{column}' has 1 missing", "row 4"),
            "Impute or drop",
        )
        for name, make in FRAMES.items()
        for column in COLUMNS
    ),
    (
        "at prediction, array",
        lambda: model().fit(X, Y).predict(with_value(np.nan, 3, 1)),
        ("'x1'", "row 3"),
        "Impute or drop",
    ),
    (
        "at prediction, frame",
        lambda: (
            model()
            .fit(pl.DataFrame(COLUMNS), Y)
            .predict_proba(pl.DataFrame(changed("age", 3, None)))
        ),
        ("'age'", "row 3"),
        "Impute or drop",
    ),
    (
        "card",
        lambda: fitted_card().risk({"age": None, "fever": 1, "lactate": 2}),
        "column 'age' is missing",
        "Fill in the value",
    ),
    (
        "label nan",
        lambda: model().fit(X, at(Y, 5, np.nan)),
        ("y: 1 label is missing", "in row 5"),
        "Drop that row",
    ),
    (
        "label none",
        lambda: model().fit(X, at(np.where(Y, "a", "b"), 5, None)),
        ("y: 1 label is missing", "in row 5"),
        "Drop that row",
    ),
    (
        "label NA",
        lambda: model().fit(X, pd.Series(at(np.where(Y, "a", "b"), 5, pd.NA), dtype="string")),
        ("y: 1 label is missing", "in row 5"),
        "Drop that row",
    ),
    (
        "label NA among objects",
        lambda: model().fit(X, np.array(at(Y.tolist(), 5, pd.NA), dtype=object)),
        ("y: 1 label is missing", "in row 5"),
        "Drop that row",
    ),
    ("no y", lambda: model().fit(X, None), "y is None", "Pass the outcome of each row"),
    ("risk", lambda: net_benefit(Y, at(RISK, 7, np.nan)), ("risk", "row 7"), "Drop those rows"),
    (
        "risk of a model",
        lambda: decision_curve(Y, {"card": RISK, "old": at(RISK, 7, np.nan)}),
        ("'old'", "row 7"),
        "Drop those rows",
    ),
    ("outcome", lambda: auroc(at(Y, 2, np.nan), RISK), ("y_true", "row 2", "nan"), "drop those"),
    (
        "sample weight",
        lambda: model().fit(X, Y, sample_weight=at(np.ones(N), 6, np.nan)),
        ("sample_weight", "row 6", "nan"),
        "Drop those rows or set 0",
    ),
)
def test_missing_values(wrong: Wrong) -> None:
    check(wrong)


# -- infinities ------------------------------------------------------------------------------------


@table(
    ("array", lambda: model().fit(with_value(np.inf, 4, 2), Y), ("'x2'", "row 4"), "Clip or drop"),
    (
        "minus",
        lambda: model().fit(with_value(-np.inf, 0, 0), Y),
        ("'x0' has 1 infinite", "row 0"),
        "Clip or drop",
    ),
    *(
        (
            name,
            lambda make=make: model().fit(make(changed("lactate", 11, float("inf"))), Y),
            ("column 'lactate' has 1 infinite", "row 11"),
            "Clip or drop",
        )
        for name, make in FRAMES.items()
    ),
    (
        "at prediction",
        lambda: model().fit(X, Y).predict(with_value(np.inf, 3, 1)),
        ("'x1'", "row 3"),
        "Clip or drop",
    ),
    (
        "card",
        lambda: fitted_card().risk({"age": float("inf"), "fever": 1, "lactate": 2}),
        ("'age'", "inf"),
        "Give a finite number",
    ),
    ("label", lambda: model().fit(X, at(Y, 3, np.inf)), ("y holds inf", "row 3"), "Compare it"),
    (
        "risk",
        lambda: net_benefit(Y, at(RISK, 7, np.inf)),
        ("risk", "row 7", "inf"),
        "probabilities",
    ),
    (
        "sample weight",
        lambda: aunbc(Y, RISK, sample_weight=at(np.ones(N), 6, np.inf)),
        ("sample_weight", "row 6", "inf"),
        "Drop those rows or set 0",
    ),
    (
        "threshold",
        lambda: model(thresholds=[0.2, np.inf]).fit(X, Y),
        ("threshold inf", "number 2"),
        "write 0.2 for 20%",
    ),
    (
        "penalty",
        lambda: model(penalty=np.inf).fit(X, Y),
        "penalty .* inf",
        'number or "auto", "paper"',
    ),
)
def test_infinities(wrong: Wrong) -> None:
    check(wrong)


# -- one class only --------------------------------------------------------------------------------


@table(
    ("zeros", lambda: model().fit(X, Y * 0), "y holds one class only: every row is 0", "both"),
    ("text", lambda: model().fit(X, ["no"] * N), "every row is no", "Pass rows of both classes"),
    ("true", lambda: model().fit(X, [True] * N), "every row is True", "rows of both classes"),
    (
        "by weight",
        lambda: model().fit(X, Y, sample_weight=1 - Y),
        "one class only: there are no events",
        "needs rows of both classes",
    ),
    (
        "by weight, other class",
        lambda: model().fit(X[:, ::2], Y, sample_weight=Y),
        "one class only: there are only events",
        "needs rows of both classes",
    ),
    (
        "calibrator",
        lambda: NetBenefitCalibrator(model()).fit(X, Y * 0),
        "y holds one class only: every row is 0",
        "Pass rows of both classes",
    ),
    ("auroc", lambda: auroc(Y * 0, RISK), "y_true holds no events", "Pass rows of both classes"),
    (
        "prevalence",
        lambda: net_benefit(Y * 0 + 1, RISK, prevalence=0.2),
        "y_true holds no non-events",
        "Pass rows of both classes",
    ),
)
def test_one_class_only(wrong: Wrong) -> None:
    check(wrong)


# -- no rows, no columns ---------------------------------------------------------------------------


@table(
    ("array", lambda: model().fit(X[:0], Y[:0]), "0 sample", "Pass at least one row"),
    *(
        (
            name,
            lambda make=make: model().fit(make({key: [] for key in COLUMNS}), []),
            "there are no rows",
            "Pass at least one row",
        )
        for name, make in FRAMES.items()
    ),
    ("metrics", lambda: net_benefit([], []), "y_true is empty", "Pass at least one row"),
    ("calibration", lambda: calibrate_levels([], []), "y_true is empty", "Pass at least one row"),
    (
        "other number of labels",
        lambda: model().fit(X, Y[:-1]),
        "column 'x0' has 12 rows, but y has 11",
        "Pass one outcome per row",
    ),
    (
        "other number of labels, frame",
        lambda: model().fit(pl.DataFrame(COLUMNS), Y[:-1]),
        "column 'age' has 12 rows, but y has 11",
        "Pass one outcome per row",
    ),
    (
        "other number of risks",
        lambda: aunbc(Y, RISK[:-1]),
        r"risk has shape \(11,\), but there are 12 rows",
        "Pass one risk per row",
    ),
)
def test_no_rows(wrong: Wrong) -> None:
    check(wrong)


@table(
    ("array", lambda: model().fit(X[:, :0], Y), r"0 feature\(s\)", "minimum of 1 is required"),
    ("pandas", lambda: model().fit(pd.DataFrame(index=range(N)), Y), "no columns", "at least one"),
    ("polars", lambda: model().fit(pl.DataFrame(), Y), "no columns", "Pass at least one"),
    ("pyarrow", lambda: model().fit(pa.table({}), Y), "no columns", "Pass at least one"),
    ("one dimension", lambda: model().fit(X[:, 0], Y), "1D array", "Reshape your data"),
    ("dict", lambda: model().fit({}, Y), "no columns", "Pass at least one"),
    (
        "dict of single values",
        lambda: model().fit({"age": 50, "fever": 1}, Y),
        "X is a dict of single values",
        "a dict of columns",
    ),
    (
        "lazy frame",
        lambda: model().fit(pl.DataFrame(COLUMNS).lazy(), Y),
        "X is a LazyFrame",
        "Pass a data frame in memory",
    ),
)
def test_no_columns(wrong: Wrong) -> None:
    check(wrong)


# -- constant columns ------------------------------------------------------------------------------


@table(
    (
        "array",
        lambda: model().fit(np.full((N, 2), 3.0), Y),
        ("every column is constant", "'x0', 'x1'"),
        "Add a column that varies",
    ),
    (
        "frame",
        lambda: model().fit(pd.DataFrame({"site": [1] * N}), Y),
        ("every column is constant", "'site'"),
        "Add a column that varies",
    ),
    (
        "among rows with weight",
        lambda: model().fit(X[:, 1:2], Y, sample_weight=X[:, 1]),
        ("every column is constant", "'x0'"),
        "Add a column that varies",
    ),
)
def test_only_constant_columns(wrong: Wrong) -> None:
    with warnings.catch_warnings(action="error"):  # no warning besides
        check(wrong)


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_some_constant_columns_are_a_warning_that_names_them(make) -> None:
    frame = make({**COLUMNS, "site": [7] * N, "ward": [True] * N})
    with pytest.warns(UserWarning, match=r"constant columns .*: 'site', 'ward'\. Drop them"):
        fit = model().fit(frame, Y)
    assert fit.coef_[3:].tolist() == [0, 0]


# -- duplicate names -------------------------------------------------------------------------------

DOUBLE = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=["age", "fever", "lactate", "age"])
ARROW_DOUBLE = pa.table([[0, 1] * 6, [1, 0] * 6], names=["age", "age"])


@table(
    ("pandas", lambda: model().fit(DOUBLE, Y), "duplicate column names: 'age'", "Rename or drop"),
    ("pyarrow", lambda: model().fit(ARROW_DOUBLE, Y), "duplicate .*: 'age'", "Rename or drop"),
    (
        "text and number",
        lambda: model().fit(pd.DataFrame(X[:, :2], columns=["1", 1]), Y),
        "duplicate column names: '1'",
        "Rename or drop",
    ),
    (
        "at prediction",
        lambda: model().fit(pd.DataFrame(COLUMNS), Y).predict(DOUBLE),
        "duplicate column names: 'age'",
        "Rename or drop",
    ),
    (
        "card",
        lambda: fitted_card().risk(DOUBLE),
        "duplicate column names: 'age'",
        "Rename or drop",
    ),
)
def test_duplicate_names(wrong: Wrong) -> None:
    check(wrong)


# -- targets ---------------------------------------------------------------------------------------


@table(
    (
        "three numbers",
        lambda: model().fit(X, np.arange(N) % 3),
        "y holds 3 labels .0, 1, 2.",
        "as in y == label",
    ),
    (
        "three texts",
        lambda: model().fit(X, ["low", "mid", "high"] * 4),
        "y holds 3 labels .high, low, mid.",
        "as in y == label",
    ),
    ("many", lambda: model().fit(X, np.arange(N)), "12 labels .*, …", "as in y == label"),
    (
        "continuous",
        lambda: model().fit(X, at(Y, 4, 0.37)),
        ("continuous", "y holds 3 numbers .0, 0.37, 1."),
        "as in y >= limit",
    ),
    (
        "mixed",
        lambda: model().fit(X, np.array(at(Y.tolist(), 4, "yes"), dtype=object)),
        r"mixes labels that do not compare \(0, 1, yes\)",
        "Use one kind of label",
    ),
    (
        "two columns",
        lambda: model().fit(X, np.column_stack([Y, Y])),
        r"y should be a 1d array, got an array of shape \(12, 2\)",
        "should be a 1d array",
    ),
    (
        "calibrator",
        lambda: NetBenefitCalibrator(model()).fit(X, np.arange(N) % 3),
        "y holds 3 labels .0, 1, 2.",
        "Compare it with the event's label",
    ),
    (
        "metrics, number",
        lambda: net_benefit(at(Y, 4, 2), RISK),
        ("y_true", "row 4 holds 2"),
        "Recode the outcome",
    ),
    (
        "metrics, text",
        lambda: expected_calibration_error(np.where(Y, "ill", "well"), RISK),
        ("y_true", "'well'"),
        "as in y == 'yes'",
    ),
    (
        "calibration, text",
        lambda: calibrate_levels(np.where(Y, "ill", "well"), RISK),
        ("y_true", "'well'"),
        "as in y == 'yes'",
    ),
)
def test_targets_that_are_not_binary(wrong: Wrong) -> None:
    check(wrong)


@pytest.mark.parametrize(
    "labels",
    [[False, True], ["no", "yes"], [-1, 1], [0.0, 1.0], ["0", "1"]],
    ids=str,
)
@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series], ids=lambda k: k.__name__)
def test_booleans_texts_and_other_pairs_of_labels_are_welcome(labels, kind) -> None:
    target = kind([labels[label] for label in Y])
    with warnings.catch_warnings(action="error"):
        warnings.simplefilter("ignore", SmallTableWarning)
        fit = model(thresholds=[0.2, 0.5]).fit(X, target)
    assert fit.classes_.tolist() == labels
    assert set(fit.predict(X).tolist()) == set(labels)
    numbers = model(thresholds=[0.2, 0.5]).fit(X, Y)
    np.testing.assert_array_equal(fit.predict_proba(X), numbers.predict_proba(X))


@pytest.mark.parametrize("outcome", [Y == 1, Y.astype(float), Y.tolist(), pd.Series(Y == 1)])
def test_boolean_outcomes_are_welcome_in_metrics(outcome) -> None:
    for metric in (aunbc, auroc, hosmer_lemeshow, weighted_net_benefit):
        assert metric(outcome, RISK) == metric(Y, RISK)


# -- thresholds ------------------------------------------------------------------------------------

OUTSIDE = "write 0.2 for 20%"
SORT = "Sort them and drop duplicates"


@table(
    ("percent", lambda: model(thresholds=[5, 10]).fit(X, Y), "threshold 5.0 .*number 1", OUTSIDE),
    ("one", lambda: model(thresholds=[0.5, 1]).fit(X, Y), "1.0 .number 2. is not a risk", OUTSIDE),
    ("negative", lambda: model(thresholds=[-0.1, 0.5]).fit(X, Y), r"threshold -0\.1", OUTSIDE),
    ("nan", lambda: model(thresholds=[0.1, np.nan]).fit(X, Y), "threshold nan", OUTSIDE),
    ("text", lambda: model(thresholds="0.1,1.5").fit(X, Y), "threshold 1.5", OUTSIDE),
    (
        "unsorted",
        lambda: model(thresholds=[0.3, 0.1]).fit(X, Y),
        r"0\.1 .number 2. is below 0\.3",
        SORT,
    ),
    (
        "twice",
        lambda: model(thresholds=[0.1, 0.1]).fit(X, Y),
        r"0\.1 .number 2. repeats 0\.1",
        SORT,
    ),
    ("none", lambda: model(thresholds=[]).fit(X, Y), "thresholds are empty", "Pass at least one"),
    ("only 0", lambda: model(thresholds=[0]).fit(X, Y), "hold only 0", "Add at least one"),
    (
        "unreadable",
        lambda: model(thresholds="5 to 50").fit(X, Y),
        "cannot read thresholds '5 to 50'",
        "Write low:high:step",
    ),
    ("no number", lambda: model(thresholds=["a"]).fit(X, Y), "threshold 'a'", "is not a number"),
    (
        "range",
        lambda: model(thresholds="0.5:0.1:0.1").fit(X, Y),
        "range 0.5 to 0.1",
        "must satisfy 0 <= low < high < 1",
    ),
    (
        "step",
        lambda: model(thresholds="0.1:0.5:0.6").fit(X, Y),
        "step 0.6",
        "must be positive and at most",
    ),
    ("metrics", lambda: net_benefit(Y, RISK, [0.1, 1.2]), r"threshold 1\.2", OUTSIDE),
    ("metrics, unsorted", lambda: aunbc(Y, RISK, [0.2, 0.1]), r"0\.1 .* below 0\.2", SORT),
    ("curve", lambda: decision_curve(Y, RISK, [0.2, 0.1]), r"0\.1 .* below 0\.2", SORT),
    ("calibration", lambda: calibrate_levels(Y, RISK, [1.5]), r"threshold 1\.5", OUTSIDE),
    ("object", lambda: Thresholds.of([0.2, 0.1]), r"0\.1 .* below 0\.2", SORT),
    (
        "decision",
        lambda: model().fit(X, Y).predict(X, threshold=20),
        "threshold=20",
        "Write 0.2 for 20%",
    ),
    (
        "decision, text",
        lambda: model().fit(X, Y).predict(X, threshold="high"),
        "threshold='high'",
        "Write 0.2 for 20%",
    ),
    (
        "decision, card",
        lambda: fitted_card().decide(COLUMNS, 20),
        "threshold=20",
        "must be a risk between 0 and 1",
    ),
)
def test_thresholds(wrong: Wrong) -> None:
    check(wrong)


# -- weights ---------------------------------------------------------------------------------------


@table(
    (
        "sum",
        lambda: model(thresholds=[0.1, 0.2], weights=[0.5, 0.6]).fit(X, Y),
        r"weights sum to 1\.1, not to 1",
        "Divide them by their sum",
    ),
    (
        "sum, object",
        lambda: Thresholds.of([0.1, 0.2], weights=[1, 2]),
        "weights sum to 3, not to 1",
        "Divide them by their sum",
    ),
    (
        "number",
        lambda: model(thresholds=[0.1, 0.2], weights=[1.0]).fit(X, Y),
        "1 weights for 2 thresholds",
        "Pass one weight per threshold",
    ),
    (
        "negative",
        lambda: model(thresholds=[0.1, 0.2], weights=[-1.0, 2.0]).fit(X, Y),
        r"weight -1\.0 .position 0.",
        "must be finite and not negative",
    ),
    (
        "word",
        lambda: model(thresholds=[0.1, 0.2], weights="lengths").fit(X, Y),
        "weights='lengths' is not known",
        'Use "equal", "length"',
    ),
    (
        "all on zero",
        lambda: model(thresholds=[0, 0.2], weights=[1, 0]).fit(X, Y),
        "all weight lies on threshold 0",
        "Give weight to a threshold above 0",
    ),
)
def test_weights_of_thresholds(wrong: Wrong) -> None:
    check(wrong)


NEGATIVE = at(np.ones(N), 6, -2.0)


@table(
    *(
        (
            name,
            call,
            ("sample_weight", "row 6", r"-2\.0"),
            "Drop those rows or set 0",
        )
        for name, call in {
            "fit": lambda: model().fit(X, Y, sample_weight=NEGATIVE),
            "calibrator": lambda: NetBenefitCalibrator(model()).fit(X, Y, sample_weight=NEGATIVE),
            "net benefit": lambda: net_benefit(Y, RISK, sample_weight=NEGATIVE),
            "curve": lambda: decision_curve(Y, RISK, sample_weight=NEGATIVE),
            "ece": lambda: expected_calibration_error(Y, RISK, sample_weight=NEGATIVE),
            "auroc": lambda: auroc(Y, RISK, sample_weight=NEGATIVE),
            "calibration": lambda: calibrate_levels(Y, RISK, sample_weight=NEGATIVE),
        }.items()
    ),
    (
        "all zero",
        lambda: model().fit(X, Y, sample_weight=np.zeros(N)),
        "sample_weight is zero in every row",
        "Give at least one row a weight",
    ),
    (
        "number",
        lambda: model().fit(X, Y, sample_weight=[1, 2]),
        r"sample_weight has shape \(2,\), but there are 12 rows",
        "Pass one weight per row",
    ),
    (
        "text",
        lambda: model().fit(X, Y, sample_weight=["a"] * N),
        "sample_weight must hold one number per row",
        "Convert text to numbers",
    ),
)
def test_sample_weights(wrong: Wrong) -> None:
    check(wrong)


# -- columns that are no numbers -------------------------------------------------------------------


@table(
    (
        "text",
        lambda: model().fit(pd.DataFrame({**COLUMNS, "sex": ["f", "m"] * 6}), Y),
        ("column 'sex'", "'f' in row 0"),
        "Encode it as numbers",
    ),
    (
        "text in one row",
        lambda: model().fit(pl.DataFrame(changed("age", 5, "?"), strict=False), Y),
        ("column 'age'", "row 0"),
        "Encode it as numbers",
    ),
    (
        "object",
        lambda: model().fit(np.array(changed("age", 5, {"a": 1})["age"], dtype=object)[:, None], Y),
        (
            "column 'x0'",
            "{'a': 1} in row 5",
            "argument must be no string and no dict, but a number",
        ),
        "Encode it as numbers",
    ),
    (
        "dates",
        lambda: model().fit(pd.DataFrame({"day": pd.date_range("2020", periods=N)}), Y),
        ("column 'day'", "row 0"),
        "Encode it as numbers",
    ),
    (
        "huge",
        lambda: model().fit(with_value(1e300, 2, 0), Y),
        ("column 'x0'", r"1e\+300"),
        "take its logarithm",
    ),
)
def test_columns_that_are_no_numbers(wrong: Wrong) -> None:
    check(wrong)


def test_an_object_that_is_no_value_is_a_type_error_as_in_scikit_learn() -> None:
    column = np.array(changed("age", 5, {"a": 1})["age"], dtype=object)[:, None]
    with pytest.raises(TypeError):
        model().fit(column, Y)
    with pytest.raises(ValueError, match="Encode it"):  # and still one of our own
        model().fit(column, Y)
    with pytest.raises(ValueError, match="Encode it") as caught:
        model().fit(np.array([["a"]] * N), Y)
    assert not isinstance(caught.value, TypeError)


# -- settings --------------------------------------------------------------------------------------


@table(
    (
        "sign",
        lambda: model(sign={"agee": "+"}).fit(pd.DataFrame(COLUMNS), Y),
        ("sign names column 'agee'", "'age', 'fever', 'lactate'"),
        "Correct the name",
    ),
    (
        "sign value",
        lambda: model(sign={"x0": "up"}).fit(X, Y),
        ("column 'x0'", "'up'"),
        r'must be "\+" or "-"',
    ),
    (
        "bounds",
        lambda: model(bounds={7: (0, 1)}).fit(X, Y),
        "bounds names column 7",
        "Correct the name",
    ),
    (
        "empty bounds",
        lambda: model(bounds={"x1": (3, 1)}).fit(X, Y),
        ("column 'x1'", "3 > 1"),
        "Give .lowest, highest.",
    ),
    (
        "contradiction",
        lambda: model(bounds={"x1": (1, 3)}, sign={"x1": "-"}).fit(X, Y),
        ("column 'x1'", "contradict"),
        "Change one of them",
    ),
    (
        "forced",
        lambda: model(bounds={"x1": (1, 3), "x2": (1, 3)}, max_features=1).fit(X, Y),
        ("'x1', 'x2'", "max_features is 1"),
        "Raise it",
    ),
    (
        "penalty",
        lambda: model(penalty="bic").fit(X, Y),
        "penalty='bic'",
        'Use "auto", "paper" or a number',
    ),
    ("negative penalty", lambda: model(penalty=-1.0).fit(X, Y), "-1.0", "must not be negative"),
    ("points", lambda: model(max_points=0).fit(X, Y), "'max_points' .* Got 0", r"\[1, inf\)"),
    ("features", lambda: model(max_features=-1).fit(X, Y), "'max_features'", r"\[0, inf\)"),
    (
        "decimals",
        lambda: model(decimals={"weight": 1}).fit(X, Y),
        ("'weight'", "'x0', 'x1', 'x2'"),
        "Correct the names",
    ),
    (
        "solver",
        lambda: RiskScoreClassifier(binner=None, solver="gurobi").fit(X, Y),
        "solver='gurobi'",
        'Use "auto", "exact", "milp", "local", "anneal", or a solver object',
    ),
    (
        "time",
        lambda: RiskScoreClassifier(binner=None, time_limit=0).fit(X, Y),
        "'time_limit' .* Got 0",
        r"range \(0.0, inf\) or None",
    ),
    ("not fitted", lambda: model().predict(X), "not fitted yet", "Call 'fit'"),
)
def test_settings(wrong: Wrong) -> None:
    check(wrong)


# -- card files ------------------------------------------------------------------------------------


def fitted_card() -> Scorecard:
    bounds = dict.fromkeys(COLUMNS, (1, 3))  # every column is needed
    return model(thresholds=[0.2, 0.5], bounds=bounds).fit(pd.DataFrame(COLUMNS), Y).scorecard_


@pytest.fixture(scope="module")
def card_data() -> dict[str, Any]:
    return json.loads(fitted_card().to_json())


KEYS = [
    ("schema",),
    ("version",),
    ("rules",),
    ("risks",),
    ("thresholds",),
    ("score_range",),
    ("feature_names",),
    ("provenance",),
    ("rules", 1, "points"),
    ("rules", 0, "kind"),
    ("rules", 2, "feature"),
    ("thresholds", "weights"),
    ("provenance", "version"),
]


@pytest.mark.parametrize("path", KEYS, ids=lambda path: ".".join(map(str, path)))
def test_card_files_with_missing_keys(card_data, path, tmp_path) -> None:
    data = json.loads(json.dumps(card_data))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    file = tmp_path / "card.json"
    file.write_text(json.dumps(data))
    culprit, remedy = {
        ("schema",): ('"schema"', "Pass a file that Scorecard.save wrote"),
    }.get(path, (f"{_name(path)} is missing", "write it again"))
    check(Wrong("", lambda: Scorecard.load(file), (re.escape(str(file)), culprit), remedy))


def _name(path: tuple[str | int, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return re.escape("".join(parts).lstrip("."))


@pytest.mark.parametrize("version", [99, 0, "1", 1.5, None])
def test_card_files_of_an_unknown_version(card_data, version, tmp_path) -> None:
    file = tmp_path / "card.json"
    file.write_text(json.dumps({**card_data, "version": version}))
    shown = re.escape(json.dumps(version))
    culprit = (re.escape(str(file)), f"version {shown} .* not known")
    check(Wrong("", lambda: Scorecard.load(file), culprit, "Update the"))


@pytest.mark.parametrize(
    ("text", "culprit", "remedy"),
    [
        ("", "not JSON", "Pass a file that Scorecard.save wrote"),
        ("{", "line 1, column 2", "Pass a file that Scorecard.save wrote"),
        ("[]", "not a card", "Pass a file that Scorecard.save wrote"),
        ('{"schema": "other"}', '"schema": "netbenefit.scorecard"', "Pass a file"),
        ('{"a": NaN}', "NaN is not a number", "Replace it by null or a finite number"),
        ('{"a": 1, "a": 2}', '"a" appears twice', "Remove one of them"),
    ],
)
def test_files_that_are_no_cards(text, culprit, remedy, tmp_path) -> None:
    file = tmp_path / "card.json"
    file.write_text(text)
    names = (re.escape(str(file)), re.escape(culprit))
    check(Wrong("", lambda: Scorecard.load(file), names, re.escape(remedy)))


def test_a_card_file_with_an_unknown_key(card_data) -> None:
    text = json.dumps({**card_data, "colour": "red"})
    check(Wrong("", lambda: Scorecard.from_json(text), ("colour",), "Remove it, or update"))


# -- a column absent at prediction -----------------------------------------------------------------


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_a_column_absent_from_a_frame(make, method) -> None:
    fit = model().fit(make(COLUMNS), Y)
    rest = make({name: COLUMNS[name] for name in ("age", "lactate")})
    check(Wrong("", lambda: getattr(fit, method)(rest), ("missing:\n- fever",), "should match"))
    renamed = make({{"fever": "Fever"}.get(name, name): COLUMNS[name] for name in COLUMNS})
    with pytest.raises(ValueError, match="unseen at fit time:\n- Fever"):
        getattr(fit, method)(renamed)


def test_an_array_of_another_width() -> None:
    fit = model().fit(X, Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        fit.predict(X[:, :2])


REST = {name: COLUMNS[name] for name in ("age", "lactate")}


@pytest.mark.parametrize(
    "data",
    [
        {"age": 50, "lactate": 2.0},
        REST,
        [{"age": 50, "lactate": 2.0}],
        pd.DataFrame(REST),
        pl.DataFrame(REST),
        pa.table(REST),
    ],
    ids=["one dict", "dict of columns", "list of dicts", "pandas", "polars", "pyarrow"],
)
@pytest.mark.parametrize("method", ["risk", "score", "level"])
def test_a_column_absent_from_what_a_card_scores(data, method) -> None:
    card = fitted_card()
    names = ("the card needs 'fever', absent", "'age', 'lactate'")
    check(Wrong("", lambda: getattr(card, method)(data), names, "Add or rename the columns"))


def test_the_second_dict_of_a_list_lacks_a_column() -> None:
    rows = [{"age": 50, "lactate": 2.0, "fever": 1}, {"age": 50, "lactate": 2.0}]
    names = ("'fever', absent in row 1",)
    check(Wrong("", lambda: fitted_card().risk(rows), names, "Add or rename the columns"))


def test_a_fitted_estimator_sends_dicts_to_its_card() -> None:
    fit = model().fit(pd.DataFrame(COLUMNS), Y)
    row = {"age": 50, "fever": 1, "lactate": 2.0}
    check(Wrong("", lambda: fit.predict_proba(row), ("X is a dict",), r"scorecard_\.risk\(X\)"))
    assert fit.scorecard_.risk(row) == fit.predict_proba(pd.DataFrame([row]))[0, 1]


def test_columns_on_a_tiny_scale_are_reported():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = np.column_stack([rng.random(60) / 1000, rng.integers(0, 2, 60)])
    with pytest.warns(UserWarning, match=r"vary too little to move a score.*'x0'.*Multiply them"):
        RiskScoreClassifier(binner=None, solver="local", time_limit=600).fit(X, y)
    X[:, 0] *= 1e-12
    with pytest.raises(InputError, match=r"'x0' varies by less than its finest step.*Multiply"):
        RiskScoreClassifier(binner=None).fit(X, y)


def test_yes_no_columns_with_other_values_are_reported():
    X = np.array([[0], [1]] * 10)
    model = RiskScoreClassifier(binner=None, solver="local", time_limit=600).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match=r"'x0' holds 2 in row 1, but was 0 or 1.*recode"):
        model.predict(np.array([[0], [2]]))
    with pytest.warns(UserWarning, match=r"'x0' holds 0.6, but was 0 or 1"):
        model.scorecard_.risk({"x0": 0.6})


def test_more_inputs_with_a_culprit_and_a_remedy():
    with pytest.raises(InputError, match=r"column 1 has an empty name.*Name it"):
        RiskScoreClassifier(binner=None).fit(
            pd.DataFrame([[0, 1], [1, 0]], columns=["a", ""]), [0, 1]
        )
    with pytest.raises(InputError, match=r"sample_weight sums to more than.*Divide"):
        RiskScoreClassifier(binner=None).fit([[0], [1]], [0, 1], sample_weight=[1e308, 1e308])
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "sex": [0, 1, 0, 1]})
    model = RiskScoreClassifier(binner=None, solver="local", time_limit=600).fit(
        frame, [0, 1, 0, 1]
    )
    with pytest.raises(InputError, match=r"(?s)missing.*age.*Pass the columns of the fit"):
        model.predict(frame[["sex"]])

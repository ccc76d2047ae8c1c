"""Teaching as users meet it: honesty, invariance, fallbacks, and errors."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from netbenefit import Binner
from netbenefit.binning.learn import learn_bins
from netbenefit.common.checks import InputError
from netbenefit.data.raw_table import RawTable
from netbenefit.teachers import crossfit
from netbenefit.teachers.crossfit import Teaching, teach

Table = dict[str, Any]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def raw_table(n: int = 160, seed: int = 0) -> tuple[Table, np.ndarray]:
    """Numbers, levels, missing values, booleans, and columns that the binner leaves out."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n)
    sex = rng.choice(["f", "m"], n)
    lab = np.where(rng.random(n) < 0.2, np.nan, rng.lognormal(size=n).round(2))
    smokes = rng.random(n) < 0.3
    odds = (age - 60) / 10 + 0.8 * (sex == "m") + np.nan_to_num(lab) * 0.4 + smokes - 1
    table = {
        "age": age,
        "sex": sex.astype(object),
        "region": rng.choice([*"abcde", None], n),
        "lab": lab,
        "smokes": smokes,
        "patient_id": np.array([f"P{i:04}" for i in range(n)], dtype=object),
    }
    return table, rng.random(n) < 1 / (1 + np.exp(-odds))


def numeric_table(n: int = 120, p: int = 4, seed: int = 0) -> tuple[Table, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, p)).astype(float)
    event = rng.random(n) < 1 / (1 + np.exp(1.5 - x[:, 0] - 0.5 * x[:, 1]))
    return {f"x{k}": x[:, k] for k in range(p)}, event


def rows_of(table: Table, rows: Any) -> Table:
    return {name: column[rows] for name, column in table.items()}


def loss_of(event: np.ndarray, risks: np.ndarray) -> float:
    risks = np.clip(risks, 1e-9, 1 - 1e-9)
    return float(-np.mean(np.where(event, np.log(risks), np.log(1 - risks))))


# -- invariance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("teacher", ["auto", RandomForestClassifier(10)])
@pytest.mark.parametrize("kind", ["raw", "uneven", "groups"])
def test_order_of_rows_and_number_of_threads_change_no_bit(
    teacher: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crossfit, "_FEW_NUMBERS", 0)
    table, event = raw_table() if teacher == "auto" else numeric_table()
    n = event.size
    rng = np.random.default_rng(1)
    order = rng.permutation(n)
    weight = rng.choice([0.5, 1.25, 3.0], n) if kind == "uneven" else np.ones(n)
    groups = rng.integers(0, 40, n).astype(str) if kind == "groups" else None
    binner = Binner() if teacher == "auto" else None
    first = teach(
        teacher, table, event, sample_weight=weight, groups=groups, binner=binner, n_jobs=1
    )
    other = teach(
        teacher,
        rows_of(table, order),
        event[order],
        sample_weight=weight[order],
        groups=None if groups is None else groups[order],
        binner=binner,
        n_jobs=2,
    )
    assert np.array_equal(first.risks[order], other.risks)
    assert first.weights == other.weights
    assert (first.name, first.notes) == (other.name, other.notes)


@pytest.mark.parametrize("teacher", ["auto", RandomForestClassifier(10)])
def test_a_whole_weight_is_so_many_rows(teacher: Any) -> None:
    table, event = raw_table(100) if teacher == "auto" else numeric_table(100)
    table.pop("patient_id", None)
    weight = np.random.default_rng(0).integers(0, 4, event.size)
    many = np.repeat(np.arange(event.size), weight)
    binner = Binner() if teacher == "auto" else None
    one = teach(teacher, table, event, sample_weight=weight, binner=binner)
    spelt = teach(teacher, rows_of(table, many), event[many], binner=binner)
    assert np.array_equal(one.risks[many], spelt.risks)
    share = event[many].mean()
    assert np.allclose(one.risks[weight == 0], share)


def test_equal_rows_get_equal_risks() -> None:
    table, event = numeric_table(200, 2)
    risks = teach("auto", table, event).risks
    keys = list(zip(table["x0"].tolist(), table["x1"].tolist(), event.tolist(), strict=True))
    for key in set(keys):
        assert len({risks[i] for i in range(200) if keys[i] == key}) == 1


def test_seeds_matter_and_repeat() -> None:
    table, event = numeric_table()
    assert np.array_equal(*(teach("logistic", table, event, seed=3).risks for _ in range(2)))
    assert not np.array_equal(*(teach("logistic", table, event, seed=s).risks for s in (3, 4)))


def test_scale_of_uneven_weights_does_not_matter() -> None:
    table, event = numeric_table()
    weight = np.random.default_rng(0).choice([0.5, 1.25, 3.0], event.size)
    risks = [teach("auto", table, event, sample_weight=weight * s).risks for s in (1.0, 0.125)]
    assert np.allclose(*risks, atol=1e-6)


# -- honesty ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("teacher", ["auto", "boosting"])
@pytest.mark.parametrize("binned", [False, True])
def test_noise_is_not_learnt(teacher: str, binned: bool) -> None:
    """In-sample risks would beat the prevalence by a wide margin on 30 columns of noise."""
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(2):
        table = {f"x{k}": rng.normal(size=150) for k in range(30)}
        event = rng.random(150) < 0.4
        risks = teach(teacher, table, event, seed=seed, binner=Binner() if binned else None).risks
        gains.append(loss_of(event, np.full(150, event.mean())) - loss_of(event, risks))
    assert np.mean(gains) < 0.02


def test_cut_points_are_found_in_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    age = rng.normal(60, 10, 100)
    event = rng.random(100) < 1 / (1 + np.exp((60 - age) / 5))
    seen = []

    def recording(table: RawTable, *args: Any) -> Any:
        assert np.array_equal(args[2], event[[age.tolist().index(v) for v in ages(table)]])
        assert (args[3] > 0).all()
        seen.append(set(ages(table)))
        return learn_bins(table, *args)

    def ages(table: RawTable) -> list[float]:
        found: list[float] = table.column("age").values.tolist()
        return found

    monkeypatch.setattr("netbenefit.teachers.members.learn_bins", recording)
    teach("logistic", {"age": age}, event, binner=Binner(), n_jobs=1)
    assert len(seen) == 20  # ten folds, twice
    for repeat in (seen[:10], seen[10:]):
        unseen = [set(age.tolist()) - part for part in repeat]
        assert sorted(value for part in unseen for value in part) == sorted(age.tolist())


class Memory(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts the outcome of rows that it has seen, and .5 for others."""

    def fit(self, X: Any, y: Any) -> Memory:
        self.classes_ = np.unique(y)
        self.known_ = {tuple(row): float(label) for row, label in zip(X.tolist(), y, strict=True)}
        return self

    def predict_proba(self, X: Any) -> Any:
        risk = np.array([self.known_.get(tuple(row), 0.5) for row in X.tolist()])
        return np.column_stack([1 - risk, risk])


def test_a_classifier_never_sees_the_rows_that_it_predicts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    event = rng.random(60) < 0.5
    teaching = teach(Memory(), X, event)
    assert (teaching.risks == 0.5).all()
    assert "same risk" in teaching.notes[0]


def test_rows_of_a_group_are_kept_together() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(30), 4)
    X = np.column_stack([group, np.zeros(120)])  # four equal rows per group
    event = rng.random(120) < 0.5
    assert (teach(Memory(), X, event, groups=group).risks == 0.5).all()
    assert (teach(Memory(), X, event).risks != 0.5).any()


def test_teachers_learn_something() -> None:
    table, event = raw_table(600)
    base = loss_of(event, np.full(event.size, event.mean()))
    found = {t: teach(t, table, event, binner=Binner()) for t in ("auto", "logistic", "boosting")}
    for teaching in found.values():
        assert teaching.risks.shape == event.shape
        assert loss_of(event, teaching.risks) < base - 0.15
        assert teaching.notes == ()
    assert loss_of(event, found["auto"].risks) < loss_of(event, found["boosting"].risks)
    assert found["boosting"].name == "boosting"
    assert found["boosting"].weights == {}
    assert found["logistic"].name == "logistic regression"
    assert set(found["logistic"].weights) == {"logistic on conditions", "logistic on columns"}
    assert set(found["auto"].weights) == {*found["logistic"].weights, "boosting"}


def test_boosting_is_stacked_where_it_helps() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (600, 4)).astype(float)
    event = rng.random(600) < np.where(x[:, 0] == x[:, 1], 0.85, 0.15)
    teaching = teach("auto", {f"x{k}": x[:, k] for k in range(4)}, event)
    assert teaching.weights["boosting"] > 0.5
    assert "boosting" in teaching.name


# -- what columns may hold -------------------------------------------------------------------------


def test_identifiers_and_dropped_columns_reach_nobody() -> None:
    table, event = raw_table(200)
    leak = np.where(event, 1.0, 0.0) + np.arange(200) % 3
    kept = {name: column for name, column in table.items() if name != "patient_id"}
    expected = teach("auto", kept, event, binner=Binner())
    found = teach("auto", {**table, "leak": leak}, event, binner=Binner(drop=["leak"]))
    assert np.array_equal(found.risks, expected.risks)


def test_tables_come_in_many_shapes() -> None:
    pandas = pytest.importorskip("pandas")
    table, event = raw_table(120)
    expected = teach("logistic", table, event, binner=Binner()).risks
    records = [{k: table[k][i] for k in table} for i in range(120)]
    frame = pandas.DataFrame(table)
    as_levels = frame.assign(sex=frame["sex"].astype("category"))
    for other in (RawTable(table), frame, records, as_levels):
        assert np.array_equal(teach("logistic", other, event, binner=Binner()).risks, expected)


def test_many_levels_special_codes_and_empty_columns() -> None:
    rng = np.random.default_rng(0)
    n = 700
    ward = rng.integers(0, 330, n).astype(str).astype(object)
    x = np.where(rng.random(n) < 0.1, -9.0, rng.normal(size=n))
    event = rng.random(n) < 1 / (1 + np.exp(-2 * np.where(x == -9, 0, x)))
    table = {"ward": ward, "x": x, "empty": np.full(n, np.nan), "same": np.ones(n)}
    teaching = teach("auto", table, event, binner=Binner(special={"x": [-9]}))
    assert loss_of(event, teaching.risks) < 0.6
    assert teaching.notes == ()


# -- the user's classifier -------------------------------------------------------------------------


def test_classifiers_get_what_the_user_passed() -> None:
    pandas = pytest.importorskip("pandas")
    table, event = raw_table(120)
    frame = pandas.DataFrame(table)[["age", "sex"]]

    class Picky(OneHotEncoder):  # type: ignore[misc]
        def fit(self, X: Any, y: Any = None) -> Any:
            assert isinstance(X, np.ndarray) or list(X.columns) == ["age", "sex"]
            return super().fit(X, y)

    pipeline = make_pipeline(Picky(handle_unknown="ignore"), LogisticRegression())
    teaching = teach(pipeline, frame, event, binner=Binner())
    assert teaching.name == "Pipeline"
    assert teaching.weights == {}
    assert loss_of(event, teaching.risks) < 0.65
    levels = {"age": table["age"].astype(object), "sex": table["sex"]}
    assert np.array_equal(teach(pipeline, levels, event).risks, teaching.risks)


def test_columns_by_name_are_an_array_to_classifiers() -> None:
    table, event = numeric_table()
    array = np.column_stack(list(table.values()))
    model = make_pipeline(StandardScaler(), LogisticRegression())
    for other in (array, RawTable(table)):
        risks = teach(model, other, event).risks
        assert np.array_equal(risks, teach(model, table, event).risks)


class Reversed(LogisticRegression):  # type: ignore[misc]
    """Lists its classes the other way round."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.classes_ = self.classes_[::-1]
        return self

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X)[:, ::-1]


def test_the_event_is_found_by_classes() -> None:
    table, event = numeric_table()
    expected = teach(LogisticRegression(), table, event).risks
    assert np.array_equal(teach(Reversed(), table, event).risks, expected)


def test_uneven_weights_are_passed_on() -> None:
    table, event = numeric_table()
    weight = np.random.default_rng(0).choice([0.5, 1.25, 3.0], event.size)
    model = LogisticRegression()
    found = [
        teach(m, table, event, sample_weight=weight).risks for m in (model, make_pipeline(model))
    ]
    assert np.array_equal(*found)
    assert not np.allclose(found[0], teach(model, table, event).risks)


def test_huge_weights_are_passed_on() -> None:
    table, event = numeric_table()
    risks = teach(LogisticRegression(), table, event, sample_weight=np.full(120, 10**6)).risks
    assert np.isfinite(risks).all()
    assert np.isfinite(teach("auto", table, event, sample_weight=np.full(120, 10**6)).risks).all()


def test_given_risks_are_taken() -> None:
    risks = [0.0, 1.0, 0.5]
    teaching = teach(risks, {"x": [1.0, 2.0, 3.0]}, [False, True, True])
    assert teaching == Teaching(teaching.risks, "the given risks", {}, ())
    assert teaching.risks.tolist() == risks


# -- fallbacks -------------------------------------------------------------------------------------


def few_events(events: int, n: int = 80) -> tuple[Table, np.ndarray]:
    rng = np.random.default_rng(0)
    event = np.arange(n) < events
    return {"x": rng.normal(size=n) + event, "z": rng.normal(size=n)}, event


@pytest.mark.parametrize("teacher", ["auto", "boosting", LogisticRegression()])
@pytest.mark.parametrize("events", [1, 4, 76])
def test_a_handful_of_events_gives_the_prevalence(teacher: Any, events: int) -> None:
    table, event = few_events(events)
    weight = np.ones(80)
    weight[-1] = 0
    teaching = teach(teacher, table, event, sample_weight=weight)
    assert teaching.name == "the prevalence"
    assert np.allclose(teaching.risks, event[:-1].mean())
    what = "events" if events < 40 else "rows without an event"
    assert teaching.notes[0].startswith(f"Only {min(events, 79 - events)} {what}, fewer than 5")


@pytest.mark.parametrize("teacher", ["auto", "boosting"])
@pytest.mark.parametrize("events", [5, 19])
def test_few_events_are_for_logistic_regression(teacher: str, events: int) -> None:
    table, event = few_events(events)
    teaching = teach(teacher, table, event, binner=Binner())
    assert teaching.name in ("logistic regression", "the prevalence")
    assert f"has {events} rows, fewer than 20" in teaching.notes[0]
    assert set(teaching.weights) == {"logistic on conditions", "logistic on columns"}


@pytest.mark.parametrize(("events", "expected"), [(5, 2), (6, 3), (9, 4), (10, 5), (30, 10)])
def test_every_fold_holds_two_events(events: int, expected: int) -> None:
    from netbenefit.teachers.members import merge_rows

    table, event = few_events(events)
    rows = merge_rows(list(table.values()), event, np.ones(80), None)
    folds, _ = crossfit._make_folds(rows, 0)
    assert len(folds) == 2 * expected
    for fold in folds:
        assert fold.units[rows.event[fold.rows]].sum() >= 2
        assert 0 < rows.share(fold.train) < 1


def test_events_of_one_group_give_the_prevalence() -> None:
    table, event = few_events(20)
    teaching = teach("auto", table, event, groups=np.where(event, 0, np.arange(80)))
    assert teaching.name == "the prevalence"
    assert "All events belong to one group" in teaching.notes[0]


def test_few_groups_give_few_folds() -> None:
    table, event = few_events(30)
    group = np.arange(80) % 3
    teaching = teach("auto", table, event, groups=group)
    assert np.isfinite(teaching.risks).all()


def test_nothing_to_learn_is_said() -> None:
    rng = np.random.default_rng(1)
    event = rng.random(100) < 0.4
    teaching = teach("auto", {"same": np.ones(100)}, event)
    assert teaching.name == "the prevalence"
    assert "No model of the columns" in teaching.notes[0]
    assert np.allclose(teaching.risks, event.mean())


def test_a_binner_that_fails_in_a_fold_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*args: Any) -> Any:
        raise InputError("no column could be turned into a condition.")

    monkeypatch.setattr("netbenefit.teachers.members.learn_bins", failing)
    table, event = raw_table()
    teaching = teach("auto", table, event, binner=Binner())
    assert "Logistic on conditions was left out: on fold 1 of 10, no column" in teaching.notes[0]
    assert set(teaching.weights) == {"logistic on columns", "boosting"}


# -- errors ----------------------------------------------------------------------------------------


class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def __init__(self, result: Any = None) -> None:
        self.result = result

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.array([0, 1])
        if isinstance(self.result, type):
            raise self.result("out of luck")
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile(np.asarray(self.result, dtype=float), (len(X), 1))


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("forest", r"'forest' is not known\. Use \"auto\", \"logistic\", \"boosting\""),
        (None, "teacher=None cannot teach"),
        (7, "teacher=7 cannot teach"),
        ({"a": 1}, "cannot teach"),
        (RandomForestClassifier, r"is a class\. Pass an instance: RandomForestClassifier\(\)"),
        (LinearRegression(), "LinearRegression has no predict_proba"),
        (StandardScaler(), "StandardScaler has no predict_proba"),
        ([0.1, 0.2], "the teacher has 2 risks, but there are 120 rows"),
        (np.full(120, 1.2), r"teacher must lie in \[0, 1\], but row 0 has 1\.2"),
        (np.append(np.full(119, 0.2), np.nan), "missing .* in row 119"),
        (np.full(120, 0.3), "same risk, 0.3"),
        (["low"] * 120, "must hold one number"),
        (Failing(ValueError), "Failing failed on fold 1 of 10: ValueError: out of luck. Correct"),
        (Failing([0.1, 1.5]), "Failing gave the risk 1.5 on fold 1 of 10"),
        (Failing([0.1, np.nan]), "Failing gave the risk nan on fold 1 of 10"),
        (Failing([0.1, 0.2, 0.7]), r"risks of shape \(12, 3\) on fold 1 of 10"),
    ],
)
def test_what_cannot_teach_is_refused(teacher: Any, message: str) -> None:
    table, event = numeric_table()
    array = np.column_stack(list(table.values())) + np.arange(120)[:, None]  # no equal rows
    with pytest.raises(InputError, match=message):
        teach(teacher, array, event)


def test_other_errors_name_the_culprit() -> None:
    table, event = numeric_table()
    with pytest.raises(InputError, match="event has 119 rows, but X has 120 rows"):
        teach("auto", table, event[1:])
    with pytest.raises(InputError, match="has no event"):
        teach("auto", table, np.zeros(120, bool))
    with pytest.raises(InputError, match="has an event"):
        teach("auto", table, np.ones(120, bool), binner=Binner())
    with pytest.raises(InputError, match="every row with a weight has an event"):
        teach("auto", table, event, sample_weight=event.astype(float))
    with pytest.raises(InputError, match=r"groups has shape \(3,\)"):
        teach("auto", table, event, groups=[1, 2, 3])
    with pytest.raises(InputError, match="groups is missing in row 119"):
        teach("auto", table, event, groups=[1.0] * 119 + [np.nan])
    with pytest.raises(InputError, match=r"x0.* missing values"):
        teach("auto", {**table, "x0": np.full(120, np.nan)}, event)
    with pytest.raises(InputError, match="takes no sample_weight"):
        teach(Memory(), table, event, sample_weight=np.linspace(0.5, 1, 120))
    with pytest.raises(InputError, match="n_jobs=0"):
        teach("auto", table, event, n_jobs=0)
    with pytest.raises(InputError, match="leaves out every column"):
        teach("auto", {"a": np.full(120, np.nan)}, event, binner=Binner())


def test_constant_classifiers_are_noted() -> None:
    table, event = numeric_table()
    teaching = teach(DummyClassifier(), table, event)
    assert teaching.notes == (
        "The teacher DummyClassifier gives every row of a fold the same risk: nothing to teach.",
    )


@pytest.mark.parametrize("teacher", ["auto", Failing(KeyboardInterrupt)])
def test_keyboard_interrupts_pass(teacher: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("netbenefit.teachers.members.fit_path", interrupted)
    table, event = numeric_table()
    with pytest.raises(KeyboardInterrupt):
        teach(teacher, table, event, n_jobs=1)

"""Sessions: values, figures and statements against slow truth; history, journal and solver."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netbenefit.binning import Binner
from netbenefit.common import InputError
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.metrics import decision_curve, net_benefit, weighted_net_benefit
from netbenefit.problem import (
    AtMost,
    Bounds,
    Exclude,
    Exclusive,
    Include,
    MaxFeatures,
    MaxFPR,
    MaxQuestions,
    MaxTotalPoints,
    MinTPR,
    Problem,
    Sign,
    Values,
)
from netbenefit.studio import (
    MoveCut,
    Rename,
    Session,
    SetAnswer,
    SetLimits,
    SetPoints,
    SwitchOff,
    SwitchOn,
    TakeOver,
)
from netbenefit.studio.standing import is_within
from tests.studio.conftest import CUTS, Table, make_model, make_table

RULE = "age ≥ 60"


def fitted(table: Table, **settings: Any) -> RiskScoreClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_model(**settings).fit(table.X, table.y)


# -- the card --------------------------------------------------------------------------------------


def test_a_session_begins_with_the_card_of_the_model(
    session: Session, model: RiskScoreClassifier, table: Table
) -> None:
    now, own = session.card, model.scorecard_
    assert (now.rules, now.risks, now.base) == (own.rules, own.risks, own.base)
    assert [step.what for step in session.history] == ["the card that the model learnt"]
    assert session.history[0].value == model.learned_.problem.evaluate(model.coef_).objective


def test_the_card_scores_raw_rows_as_the_session_counts_them(
    session: Session, table: Table, held_out: Table
) -> None:
    session.edit(MoveCut("age", 60, 65))
    session.edit(SetAnswer("bmi", None, 2))
    session.edit(SetPoints("sex is male", -1))
    plan = session._plan(session.draft)
    for X, rows in ((table.X, session.bench.training), (held_out.X, session.bench.held_out)):
        assert (session.card.score(X) == plan.scores(rows)).all()


def test_a_moved_cut_point_gives_the_problem_that_a_fit_with_it_poses(
    session: Session, model: RiskScoreClassifier, table: Table
) -> None:
    session.edit(MoveCut("age", 40, 47))
    session.edit(MoveCut("bmi", 30, 31.5))
    session.edit(SetPoints("bmi ≥ 31.5", 2))
    cuts = {"age": [47, 60], "bmi": [25, 31.5]}
    other = fitted(table, binner=Binner(cuts=cuts, drop=["ward"]), teacher=model.teaching_.risks)
    found, posed = session.bench.problem(session.draft), other.learned_.problem
    assert found.patterns.names == posed.patterns.names
    assert (found.patterns.codes == posed.patterns.codes).all()
    assert (found.patterns.positives == posed.patterns.positives).all()
    assert (found.penalty, found.rule_penalty) == (posed.penalty, posed.rule_penalty)
    assert (found.limits.asked.answers == posed.limits.asked.answers).all()
    value = posed.evaluate(session.draft.points)
    assert session.history[-1].value == value.objective
    assert session.card.raw().cutoffs == value.cutoffs
    # Its search begins and ends there, too.
    session.adopt(session.solve(60.0))
    assert session.history[-1].value == other.learned_.problem.evaluate(other.coef_).objective


def test_a_cut_point_with_all_rows_on_one_side_is_refused(session: Session) -> None:
    before = session.history
    with pytest.raises(InputError, match="“age ≥ 95” is true, or false, of all training rows"):
        session.edit(MoveCut("age", 60, 95))
    assert session.history == before


def test_names_are_those_of_the_card(session: Session) -> None:
    session.edit(Rename("title", None, "Falls & <b>fractures</b>"))
    session.edit(Rename("label", "age", "Age"))
    session.edit(Rename("unit", "sex", "no unit"))  # which the card does not ask for
    assert session.card.labels.title == "Falls & <b>fractures</b>"
    assert [one.name for one in session.card.labels.columns] == ["Age"]
    session.edit(SetPoints("sex is male", 1))
    assert [one.name for one in session.card.labels.columns] == ["Age", "sex (no unit)"]


def test_a_model_without_binner_or_teacher_can_be_edited() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 3))
    y = rng.random(200) < 0.1 + 0.15 * X[:, 0]
    model = RiskScoreClassifier(
        binner=None, teacher=None, thresholds=[0.2, 0.4], max_points=2, time_limit=60, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    session = Session(model, X, y, held_out=(X[:50], y[:50]))
    session.edit(SetPoints("x1", 2))
    assert session.card.score(X).tolist() == (X @ np.array(session.draft.points)).tolist()
    assert session.figures(0.2)["held-out"].n == 50
    assert session.teacher_curve() is None


# -- refusals --------------------------------------------------------------------------------------


def test_rows_of_another_table_are_refused(model: RiskScoreClassifier, table: Table) -> None:
    with pytest.raises(InputError, match="y has 499 rows, but the model was fitted on 500"):
        Session(model, table.take(slice(1, None)).X, table.y[1:])
    order = np.random.default_rng(0).permutation(500)
    with pytest.raises(InputError, match="not the rows that the model was fitted on"):
        Session(model, table.take(order).X, table.y[order])
    other = {**table.X, "age": table.X["age"][::-1]}
    with pytest.raises(InputError, match="not the rows that the model was fitted on"):
        Session(model, other, table.y)
    with pytest.raises(InputError, match="not fitted"):
        Session(make_model(), table.X, table.y)


def test_an_edit_that_changes_nothing_is_no_step(session: Session) -> None:
    points = session.draft.rules[RULE]
    with pytest.raises(InputError, match="nothing changes"):
        session.edit(SetPoints(RULE, points))
    with pytest.raises(InputError, match="nothing changes: limits: as before"):
        session.edit(SetLimits(()))
    assert len(session.history) == 1


def test_limits_that_clash_are_named_and_refused(session: Session) -> None:
    session.edit(SetLimits((MaxQuestions(1),)))
    with pytest.raises(InputError, match=r"because these clash: .*at most 1 question"):
        session.edit(SetLimits((MaxQuestions(1), Include("age"), Include("falls"))))
    assert session.draft.limits == (MaxQuestions(1),)
    with pytest.raises(InputError, match="Exclude names column 'colour'"):
        session.edit(SetLimits((Exclude("colour"),)))


def test_limits_of_rates_are_the_model_s(session: Session) -> None:
    with pytest.raises(InputError, match="limits the cut-offs of a card"):
        session.edit(SetLimits((MinTPR(0.2, 0.8),)))
    assert session.draft.limits == ()


@pytest.mark.parametrize("bins", ["cumulative", "interval"])
@pytest.mark.parametrize("from_zero", [True, False])
def test_an_answer_changes_as_printed(table: Table, bins: str, from_zero: bool) -> None:
    binner = Binner(cuts=CUTS, bins=bins)
    model = fitted(table, binner=binner, start_at_zero=from_zero, solver="local", time_limit=60.0)
    session = Session(model, table.X, table.y)
    rng = np.random.default_rng(0)
    for name in session.draft.names:  # points of all kinds, negative ones among them
        if (points := int(rng.integers(-3, 4))) != session.draft.rules.get(name, 0):
            session.edit(SetPoints(name, points))
    changed = 0
    for question in session.card.questions:
        values = [None, 20, 45, 70, 22.5, 27.0, 33.0, 0, 1, "male", "female", "A", "B", "C"]
        before = {v: a for v in values if (a := answer_to(question, v)) is not None}
        for value, answer in before.items():
            if value is None and question.filled:
                continue
            try:
                session.edit(SetAnswer(question.feature, value, answer.points + 3))
            except InputError as error:
                assert "no whole points" in str(error)  # noqa: PT017
                continue
            changed += 1
            own = [q for q in session.card.questions if q.feature == question.feature]
            wanted = {v: a.points + 3 * (a == answer) for v, a in before.items()}
            least = min(a.points + 3 * (a == answer) for a in question.answers) * from_zero
            # A question whose answers are all worth 0 is not asked.
            found = {v: answer_to(own[0], v).points if own else 0 for v in before}
            assert found == {v: p - least for v, p in wanted.items()}
            session.undo()
    assert changed >= 8


def answer_to(question: Any, value: Any) -> Any:
    """The answer that a value gets; None where it is of another kind than the column's."""
    text = {"sex": ("male", "female"), "ward": ("A", "B", "C")}.get(question.feature)
    numbers = {"age": (20, 45, 70), "bmi": (22.5, 27.0, 33.0), "falls": (0, 1)}
    own = text or numbers[question.feature]
    return question.answer_to(value) if value is None or value in own else None


# -- figures ---------------------------------------------------------------------------------------


def test_figures_are_those_of_the_metrics(
    session: Session, table: Table, held_out: Table, model: RiskScoreClassifier
) -> None:
    before = session.card
    session.edit(SwitchOff(RULE))
    session.edit(SetPoints("sex is male", 1))
    now, p = session.card, 0.3
    for name, rows in (("training", table), ("held-out", held_out)):
        found = session.figures(p, before=0)[name]
        event, risk, old = rows.y == "died", now.risk(rows.X), before.risk(rows.X)
        assert (found.n, found.events) == (event.size, event.sum())
        grid = now.thresholds
        assert found.net_benefit == pytest.approx(
            weighted_net_benefit(event, risk, grid), abs=1e-12
        )
        assert found.net_benefit_before == pytest.approx(
            weighted_net_benefit(event, old, grid), abs=1e-12
        )
        assert found.at == pytest.approx(net_benefit(event, risk, [p])[0], abs=1e-12)
        assert found.called == (risk >= p).sum()
        new, gone = (risk >= p) & (old < p), (risk < p) & (old >= p)
        assert found.moved == (new.sum(), (new & event).sum(), gone.sum(), (gone & event).sum())
        curve = decision_curve(event, {"card": risk, "before": old}, "0.1:0.4:0.01")
        assert found.curve["model"].tolist() == curve["model"].tolist()
        assert found.curve["net_benefit"] == pytest.approx(curve["net_benefit"], abs=1e-12)
        assert sum(level.n for level in found.levels) == event.size
        assert sum(level.events for level in found.levels) == event.sum()
    step = session.history[-1]
    assert step.training == pytest.approx(session.figures(p)["training"].net_benefit, abs=1e-12)
    assert step.held_out == pytest.approx(session.figures(p)["held-out"].net_benefit, abs=1e-12)
    teacher = session.teacher_curve()
    assert teacher is not None
    risks = net_benefit(table.y == "died", model.teaching_.risks, teacher["threshold"])
    assert teacher["net_benefit"] == pytest.approx(risks)


def test_weights_count_rows(table: Table) -> None:
    weight = np.random.default_rng(0).integers(0, 4, 500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_model().fit(table.X, table.y, sample_weight=weight)
    session = Session(model, table.X, table.y, weight)
    session.edit(SetPoints("falls", 4))
    found = session.figures(0.2)["training"]
    event, risk = table.y == "died", session.card.risk(table.X)
    assert (found.n, found.events) == (weight.sum(), weight[event].sum())
    assert found.at == pytest.approx(net_benefit(event, risk, [0.2], sample_weight=weight)[0])
    assert "held-out" not in session.figures()


@pytest.mark.parametrize("threshold", [0, 1, -0.1, "0.2", True, float("nan")])
def test_a_threshold_is_a_risk(session: Session, threshold: Any) -> None:
    with pytest.raises(InputError, match="not a risk above 0 and below 1"):
        session.figures(threshold)


def test_the_ranking_is_what_trying_every_condition_gives(session: Session) -> None:
    session.edit(SwitchOff("falls"))
    problem = session.bench.problem(session.draft)
    points = np.array(session.draft.points)
    now = problem.evaluate(points).objective
    found = session.ranking()
    assert {one["rule"] for one in found} == set(session.draft.names) - set(session.draft.rules)
    for one in found:
        k = session.draft.place(one["rule"])
        gains = {}
        for v in (-2, -1, 1, 2):
            vector = points.copy()
            vector[k] = v
            gains[v] = problem.evaluate(vector).objective - now
        assert one["gain"] == pytest.approx(float(max(gains.values())), abs=1e-12)
        assert gains[one["points"]] == max(gains.values())
    assert [one["gain"] for one in found] == sorted((one["gain"] for one in found), reverse=True)


def test_groups_of_people(session: Session, table: Table) -> None:
    p, event, risk = 0.2, table.y == "died", session.card.risk(table.X)
    wards = session.groups("ward", p)
    assert [group.name for group in wards["training"]] == ["A", "B", "C"]
    for group in wards["training"]:
        own = table.X["ward"] == group.name
        assert (group.n, group.events) == (own.sum(), event[own].sum())
        assert group.at == pytest.approx(net_benefit(event[own], risk[own], [p])[0])
        grid = session.card.thresholds
        assert group.net_benefit == pytest.approx(weighted_net_benefit(event[own], risk[own], grid))
        worth = (risk[own] >= p) * np.where(event[own], 1, -p / (1 - p))
        half = 1.96 * worth.std(ddof=1) / np.sqrt(own.sum())
        assert group.at_interval == pytest.approx((group.at - half, group.at + half))
        assert group.sensitivity == pytest.approx((risk[own & event] >= p).mean())
        assert group.specificity == pytest.approx((risk[own & ~event] < p).mean())
        assert group.mean_risk == pytest.approx(risk[own].mean())
        assert group.observed == pytest.approx(event[own].mean())
    ages = session.groups("bmi", p)
    assert [group.name for group in ages["training"]][-1] == "missing"
    assert sum(group.n for group in ages["training"]) == 500
    assert sum(group.n for group in ages["held-out"]) == 300
    assert [group.name for group in session.groups("falls")["training"]] == ["0", "1"]
    with pytest.raises(InputError, match=r"no column 'wards'.*ward"):
        session.groups("wards")


def test_the_distribution_of_a_column(session: Session, table: Table) -> None:
    bins = session.distribution("age")
    event = table.y == "died"
    for one in bins:
        own = (table.X["age"] >= one.low) & (table.X["age"] < one.high)
        assert (one.events, one.others) == ((own & event).sum(), (own & ~event).sum())
    assert sum(one.events + one.others for one in bins) >= 490
    assert session.distribution("sex") == []


# -- where a card stands ---------------------------------------------------------------------------


def every_card(problem: Problem) -> dict[tuple[int, ...], Fraction]:
    spans = [
        range(a, b + 1) for a, b in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    ]
    return {
        points: problem.evaluate(points).objective
        for points in product(*spans)
        if problem.feasible(points)
    }


def test_what_an_edit_costs_is_proven(session: Session, model: RiskScoreClassifier) -> None:
    found = session.standing()
    assert found.settled
    assert found.best == found.value == found.bound
    assert found.sentences[1:] == [
        "No better card is known within the limits.",
        "No card with these cut points, within the limits, can be better: this is proven.",
    ]
    session.edit(SwitchOff(RULE))
    found = session.standing()
    assert not found.settled
    assert found.best == found.bound == session.history[0].value > found.value
    lost = float((found.bound - found.value) / found.value)
    assert f"gives {100 * lost:.1f}% (" in found.sentences[1]
    assert "can give more than" in found.sentences[2]


def test_a_limit_that_the_card_breaks_is_named(session: Session) -> None:
    session.edit(SetLimits((MaxQuestions(2),)))
    found = session.standing()
    assert found.broken == ("at most 2 questions",)
    assert found.best is None
    assert not found.settled
    assert found.bound is not None  # fewer cards are allowed than when it was proven
    session.edit(SetPoints(RULE, 5))
    assert "at most 2 points for an answer" in session.standing().broken
    session.edit(SetLimits((Bounds("falls", 0, 5), Sign("age", "-"))))
    assert session.standing().broken == (
        "no positive points for age ≥ 40",
        "no positive points for age ≥ 60",
        "at most 2 points for an answer",
    )


def test_a_bound_does_not_outlive_its_cut_points_nor_wider_limits(session: Session) -> None:
    session.edit(SetLimits((Bounds("falls", 0, 9),)))  # more than max_points
    assert session.standing().bound is None
    session.edit(SetLimits((Bounds("falls", 0, 1),)))
    assert session.standing().bound is not None
    session.edit(MoveCut("age", 60, 61))
    found = session.standing()
    assert found.bound is None
    assert found.sentences[2].startswith("Nothing is proven for these cut points")
    assert not found.best_is_here or found.best == found.value


def test_the_solver_finds_the_best_card_within_limits_and_proves_it(session: Session) -> None:
    limits = (Bounds("age ≥ 60", 2, 2), Exclude("bmi"), MaxQuestions(2))
    session.edit(SetLimits(limits))
    step = session.adopt(session.solve(60.0))
    truth = every_card(session.bench.limited(session.draft))
    assert step.by == "solver"
    assert step.value == max(truth.values())
    assert session.draft.rules["age ≥ 60"] == 2
    assert not {"bmi ≥ 25", "bmi ≥ 30", "bmi missing"} & set(session.draft.rules)
    found = session.standing()
    assert found.settled
    assert not found.broken
    # Without the limits, the proof of the start holds again, and the card is not the best one.
    session.edit(SetLimits(()))
    found = session.standing()
    assert found.bound == found.best == session.history[0].value
    assert not found.settled


def test_a_running_solver_is_stopped(session: Session, monkeypatch: Any) -> None:
    class Endless:
        def solve(self, problem: Problem, *, start: Any = None, callback: Any = None) -> Any:
            from netbenefit.problem import Progress
            from netbenefit.solvers import Run

            run = Run(problem, "endless", float("inf"), callback)
            while not run.must_stop:
                run.report(1, 0, np.array(start))
            assert isinstance(search.progress, Progress)
            return run.result(np.array(start), "interrupted")

    monkeypatch.setattr(session.bench.model, "solver", Endless())
    search = session.solve(None)
    assert not search.done
    search.stop()
    step = session.adopt(search)
    assert search.done
    assert "stopped by hand: the same points" in step.what


def test_an_error_of_the_solver_is_raised_where_its_result_is_asked_for(
    session: Session, monkeypatch: Any
) -> None:
    class Broken:
        def solve(self, problem: Problem, **options: Any) -> Any:
            raise InputError("this solver cannot do it.")

    monkeypatch.setattr(session.bench.model, "solver", Broken())
    with pytest.raises(InputError, match="cannot do it"):
        session.adopt(session.solve())


def test_a_card_found_for_other_limits_is_not_adopted(session: Session) -> None:
    search = session.solve(60.0)
    session.edit(SetLimits((MaxQuestions(1),)))
    with pytest.raises(InputError, match="changed while the solver was at work"):
        session.adopt(search)


def test_alternatives_are_taken_over(session: Session) -> None:
    near = session.alternatives(0.002, 50, 60.0)
    assert near.complete
    problem = session.bench.problem(session.draft)
    truth = every_card(problem)
    best = max(truth.values())
    whole = {card.points for card in near.cards}
    assert whole == {
        points
        for points, value in truth.items()
        if value >= best - Fraction("0.002")
        and tuple(problem.primitive(np.array(points)).tolist()) == points
    }
    other = near.cards[1]
    rules = dict(zip(session.draft.names, other.points, strict=True))
    step = session.edit(TakeOver({n: v for n, v in rules.items() if v}, "alternative 2"))
    assert session.draft.points == other.points
    assert step.value == other.objective
    assert step.what.startswith("took over alternative 2: “")


def test_better_alternatives_are_known_though_not_taken(session: Session) -> None:
    session.edit(SetLimits((Exclude("age"),)))
    assert session.standing().best is None
    near = session.alternatives(0.001, 5, 60.0)
    assert session.standing().best == near.cards[0].objective


CONSTRAINTS = [
    MaxQuestions(1),
    MaxQuestions(2),
    MaxFeatures(2),
    Bounds("age", 0, 1),
    Bounds("falls", 0, 3),
    Values("falls", (0, 2)),
    Sign("age", "+"),
    Include("falls"),
    Exclude("sex"),
    Exclusive("falls", "sex"),
    AtMost(1, ["age"]),
    MaxTotalPoints(2),
    MinTPR(0.2, 0.8),
    MinTPR(0.2, 0.9),
    MaxFPR(0.2, 0.4),
]


def test_one_problem_within_another_allows_no_other_card(table: Table) -> None:
    model = fitted(table, max_points=1, binner=Binner(cuts=CUTS, drop=["ward", "bmi"]))
    session = Session(model, table.X, table.y)
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(14):
        chosen = rng.choice(len(CONSTRAINTS), size=rng.integers(0, 3), replace=False)
        draft = replace(session.draft, limits=tuple(CONSTRAINTS[k] for k in chosen))
        try:
            problem = session.bench.limited(draft)
        except InputError:
            continue
        problems.append((problem, set(every_card(problem))))
    within = [
        (a, b) for a, b in product(problems, problems) if a is not b and is_within(a[0], b[0])
    ]
    assert len(within) > 10
    assert all(a[1] <= b[1] for a, b in within)


# -- history and journal ---------------------------------------------------------------------------


def test_undo_and_redo_without_end(session: Session) -> None:
    cards = [session.draft]
    for k in range(500):
        session.edit(SetPoints("falls", 2 + k % 9))
        cards.append(session.draft)
    for card in reversed(cards[:-1]):
        assert session.undo().draft == card
    assert not session.can_undo
    with pytest.raises(InputError, match="nothing to undo"):
        session.undo()
    for card in cards[1:]:
        assert session.redo().draft == card
    with pytest.raises(InputError, match="nothing to redo"):
        session.redo()


def test_the_history_says_what_each_edit_did(session: Session) -> None:
    session.edit(SetPoints("sex is male", 1))
    session.undo()
    session.edit(SwitchOff(RULE))
    session.edit(SwitchOn(RULE))
    steps = session.history
    assert [step.number for step in steps] == [0, 1, 2]
    assert not session.can_redo
    assert [step.by for step in steps] == ["solver", "person", "person"]
    lost = steps[1].training - steps[0].training
    assert lost < 0
    assert f"(−{-lost:.5f}) in training" in steps[1].effect(steps[0])
    assert "on held-out rows" in steps[1].effect(steps[0])
    assert steps[2].effect(steps[0]).startswith(f"net benefit {steps[0].training:.5f} as before")


def opened(model: RiskScoreClassifier, table: Table, path: Path, **more: Any) -> Session:
    return Session(model, table.X, table.y, journal=path, **more)


def edited(session: Session) -> None:
    session.edit(SetPoints("falls", 2))
    session.edit(MoveCut("age", 60, 65))
    session.edit(SetLimits((Bounds("age ≥ 65", 1, 1),)))
    session.adopt(session.solve(60.0))
    session.edit(Rename("title", None, "Ein Ärgernis, “quoted”\nand broken"))
    session.undo()
    session.undo()
    session.redo()


def test_a_session_goes_on_from_its_journal(
    model: RiskScoreClassifier, table: Table, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    with opened(model, table, path) as first:
        edited(first)
        history, standing = first.history, first.standing()
        with pytest.raises(InputError, match="in use by another run"):
            opened(model, table, path)
    with opened(model, table, path) as again:
        assert again.history == history
        assert again.standing() == standing
        again.redo()
        again.edit(SetPoints("falls", 3))
        history = again.history
    with opened(model, table, path) as third:
        assert third.history == history
        assert not third.can_redo


def test_a_crash_loses_no_edit(model: RiskScoreClassifier, table: Table, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with opened(model, table, path) as first:
        edited(first)
        history = first.history
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"task": "9", "result": {"edit"')  # killed while writing
    with opened(model, table, path) as again:
        assert again.history == history
        again.edit(SetPoints("falls", 0))
        assert len(again.history) == len(history) + 1


def test_a_journal_of_other_rows_or_a_changed_one_is_refused(
    model: RiskScoreClassifier, table: Table, held_out: Table, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    with opened(model, table, path) as first:
        first.edit(SetPoints("falls", 2))
        first.edit(SetPoints("falls", 1))
    with pytest.raises(InputError, match="other data or other settings"):
        opened(model, table, path, held_out=(held_out.X, held_out.y))
    other = make_table(500, 7)
    with pytest.raises(InputError, match="other data or other settings"):
        opened(fitted(other), other, path)
    lines = path.read_text(encoding="utf-8")
    path.write_text(lines.replace('"points": 2', '"points": 3', 1), encoding="utf-8")
    with pytest.raises(InputError, match="damaged in line 3, or was changed"):
        opened(model, table, path)


def test_a_session_goes_on_with_a_model_that_found_another_card(
    model: RiskScoreClassifier, table: Table, tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    with opened(model, table, path) as first:
        first.edit(SetPoints("falls", 2))
        history, standing = first.history, first.standing()
    hurried = fitted(table, solver="local", time_limit=60.0)
    hurried.learned_.result.points[:] = 0
    with opened(hurried, table, path) as again:
        assert again.history == history
        assert again.standing() == standing

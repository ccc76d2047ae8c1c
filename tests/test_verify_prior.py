"""The judge and cards with a prior: what is true is accepted, what is changed is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netbenefit._card_types import steps_of_levels
from netbenefit._certificate_blend import Blend, blended_risks, wrong_cutoff
from netbenefit._certificate_count import Ground
from netbenefit._certificate_digest import json_digest
from netbenefit._validation import InputError
from netbenefit.assemble import assemble_card, choose_solver, learn
from netbenefit.bounds.proof import Proof
from netbenefit.certificate import Certificate, make_certificate
from netbenefit.constraints import Constraint, Exclude, MaxFeatures, MaxFPR, MinTPR, Sign
from netbenefit.kernels import logistic
from netbenefit.levels import find_levels
from netbenefit.patterns import PatternTable
from netbenefit.problem import Problem
from netbenefit.scorecard import Provenance, Scorecard
from netbenefit.solvers.base import Run, SolverResult
from netbenefit.thresholds import Thresholds
from netbenefit.verify import Verdict, verify
from tests.cards import risks_by_level
from tests.strategies import GRIDS, constrained_problems, points_of, problems, tables

PRIORS = [Fraction(1, 2), Fraction(20), Fraction(3000), Fraction(10**7)]
WITH_PRIOR = "weighted net benefit less the penalty of every rule, plus n0 / N times S (n0 = "


def people(n: int = 120) -> tuple[dict[str, Any], Any, Any]:
    """Columns (one of them with fractions), events, and weights."""
    rng = np.random.default_rng(11)
    columns = {
        "age": rng.integers(0, 6, n),
        "dose": rng.integers(0, 21, n) / 10,
        "male": rng.integers(0, 2, n),
        "noise": rng.integers(0, 3, n),
    }
    risk = 1 / (1 + np.exp(3 - 0.6 * columns["age"] - columns["dose"] + columns["male"]))
    return columns, (rng.random(n) < risk).astype(int), rng.integers(1, 9, n) / 4


@dataclass(frozen=True)
class Case:
    """What a user hands in."""

    card: Scorecard
    certificate: Certificate
    columns: dict[str, Any]
    event: Any
    weight: Any = None

    def verdict(self, **options: Any) -> Verdict:
        return verify(
            self.card,
            self.certificate,
            self.columns,
            self.event,
            sample_weight=self.weight,
            **options,
        )


def fitted(
    solver: str, *, weighted: bool = False, constraints: tuple[Constraint, ...] = (), **more: Any
) -> Case:
    columns, event, weight = people()
    weight = weight if weighted else None
    table = PatternTable.from_columns(columns, event, sample_weight=weight)
    found = learn(
        table,
        Thresholds.tenths(),
        choose_solver(solver, time_limit=1, seed=0, n_jobs=1),
        outcome="ill",
        **{"prior_strength": 300, "max_points": 3, "constraints": constraints, **more},
    )
    certificate = make_certificate(found.problem, found.result, found.card)
    read = Certificate.from_json(certificate.to_json())
    card = Scorecard.from_json(found.card.to_json())
    return Case(card, read, columns, event, weight)


ASKED: dict[str, tuple[Constraint, ...]] = {
    "nothing": (),
    "points": (MaxFeatures(2), Sign("age", "+"), Exclude("noise")),
    "rates": (MinTPR(0.3, 0.95), MaxFPR(0.5, 0.1)),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["counts", "weights"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("solver", ["local", "auto", "exact"])
def test_true_certificates_are_accepted(solver: str, asked: str, weighted: bool) -> None:
    case = fitted(solver, weighted=weighted, constraints=ASKED[asked])
    verdict = case.verdict()
    assert verdict.accepted, verdict.failures
    texts = {check.name: check.text for check in verdict.checks}
    assert f"objective: {WITH_PRIOR}300 rows)" in texts["problem"]
    assert verdict.summary.endswith(f"; objective: {WITH_PRIOR}300 rows)")
    assert "the part of S" in texts["objective"]
    if solver == "local":
        assert "nothing is claimed about better ones" in verdict.summary
    else:
        assert {"S", "order", "bound of S", "bound"} <= set(texts)
        if "not rechecked" not in verdict.summary:  # some methods leave no boxes behind
            assert "no allowed card is better by more than" in verdict.summary
            assert "the bound less n0 / N times that of S" in texts["bound"]


def test_rates_move_cutoffs_and_the_judge_knows() -> None:
    free, asked = fitted("local"), fitted("local", constraints=ASKED["rates"])
    points = asked.certificate.answer.points
    table = PatternTable.from_columns(asked.columns, asked.event)
    problem = Problem.build(table, Thresholds.tenths(), prior_strength=300)
    assert find_levels(problem, points).cutoffs != asked.card.cutoffs
    texts = [check.text for check in asked.verdict().checks]
    assert any("the nearest that the limits on rates allow" in text for text in texts)
    assert not any("limits on rates" in check.text for check in free.verdict().checks)


def test_middles_of_intervals_will_do() -> None:
    case = fitted("local", calibrate=False)
    verdict = case.verdict()
    assert verdict.accepted, verdict.failures
    assert "the middles of the intervals" in [check.text for check in verdict.checks]


# -- tampering -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["counts", "weights", "rates"])
def case(request: pytest.FixtureRequest) -> Case:
    asked = ASKED["rates"] if request.param == "rates" else ()
    return fitted("auto", weighted=request.param == "weights", constraints=asked)


def resigned(case: Case, change: Callable[[dict[str, Any]], Any]) -> Case:
    """Change what a certificate says, and all of its digests with it."""
    data = json.loads(case.certificate.to_json())
    change(data)
    problem = {key: value for key, value in data["problem"].items() if key != "digest"}
    data["problem"]["digest"] = json_digest(problem)
    data["digest"] = json_digest({key: value for key, value in data.items() if key != "digest"})
    return replace(case, certificate=Certificate.from_json(json.dumps(data)))


def _set(*path: Any) -> Callable[[Case], Case]:
    *keys, value = path

    def change(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value(data[keys[-1]]) if callable(value) else value

    return lambda case: resigned(case, change)


def _add(number: Fraction) -> Callable[[str], str]:
    return lambda text: str(Fraction(text) + number)


def _another_prior(case: Case) -> Case:
    """Another n0, with an objective and a card that go along with it."""

    def change(data: dict[str, Any]) -> None:
        data["problem"]["prior_strength"] = "600"
        more = Fraction(300) / Fraction(data["problem"]["data"]["rows"])
        smooth = Fraction(data["answer"]["smooth"])
        data["answer"]["objective"] = str(Fraction(data["answer"]["objective"]) + more * smooth)
        data["proof"]["bound"] = str(
            Fraction(data["proof"]["bound"]) + more * Fraction(data["proof"]["smooth"])
        )

    changed = resigned(case, change)
    origin = replace(
        changed.card.provenance,
        prior_strength=600.0,
        objective=float(changed.certificate.answer.objective),
        bound=None,
    )
    return replace(changed, card=replace(changed.card, provenance=origin))


def _no_prior(case: Case, *, whole: bool) -> Case:
    """n0 swapped to 0; with ``whole``, together with all that has to go along with it."""

    def change(data: dict[str, Any]) -> None:
        problem, answer = data["problem"], data["answer"]
        smooth = Fraction(answer["smooth"])
        part = 300 / Fraction(problem["data"]["rows"]) * smooth
        problem["prior_strength"] = "0"
        problem["objective"] = "weighted net benefit less the penalty of every rule"
        if whole:
            answer["smooth"] = data["proof"]["smooth"] = None
            answer["objective"] = str(Fraction(answer["objective"]) - part)

    return resigned(case, change)


def _other_s(case: Case) -> Case:
    """S a little higher, with the objective that follows from it."""

    def change(data: dict[str, Any]) -> None:
        more, weight = Fraction(1, 10**8), 300 / Fraction(data["problem"]["data"]["rows"])
        data["answer"]["smooth"] = str(Fraction(data["answer"]["smooth"]) + more)
        data["answer"]["objective"] = str(Fraction(data["answer"]["objective"]) + weight * more)

    return resigned(case, change)


def _other_cutoff(by: int, where: int) -> Callable[[Case], Case]:
    """A cut-off moved, in the card and in the certificate."""

    def change(case: Case) -> Case:
        cutoffs = list(case.card.cutoffs)
        cutoffs[where] += by
        moved = _set("answer", "cutoffs", cutoffs)(case)
        p = case.card.thresholds.values  # a level that was out of reach may need a risk now
        old = risks_by_level(case.card)
        risks = [low if q is None else q for q, low in zip(old, p, strict=True)]
        steps = steps_of_levels(cutoffs, risks, case.card.thresholds, case.card.score_range)
        return replace(moved, card=replace(case.card, risks=steps))

    return change


def _other_risk(case: Case) -> Case:
    place = next(i for i, (_, risk) in enumerate(case.card.risks) if 0.01 < risk % 0.1 < 0.09)
    risks = list(case.card.risks)
    risks[place] = risks[place][0], risks[place][1] + 1e-7
    return replace(case, card=replace(case.card, risks=tuple(risks)))


def _says(**changes: Any) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        assert case.card.provenance is not None
        return replace(
            case, card=replace(case.card, provenance=replace(case.card.provenance, **changes))
        )

    return change


def _lower_smooth_bound(case: Case) -> Case:
    """A bound of S just below the true one, and so a lower bound in all."""
    columns = case.columns, case.event
    table = PatternTable.from_columns(*columns, sample_weight=case.weight)
    most = Fraction(logistic.saturated_smooth(table.positives, table.negatives))

    def change(data: dict[str, Any]) -> None:
        less = Fraction(data["proof"]["smooth"]) - most + Fraction(1, 10**9)
        data["proof"]["smooth"] = str(Fraction(data["proof"]["smooth"]) - less)
        weight = 300 / Fraction(data["problem"]["data"]["rows"])
        data["proof"]["bound"] = str(Fraction(data["proof"]["bound"]) - weight * less)

    return resigned(_says(bound=None)(case), change)


TAMPERED: dict[str, tuple[Callable[[Case], Case], str, str]] = {
    "another n0": (_set("problem", "prior_strength", "299"), "objective", "are worth"),
    "another n0, throughout": (_another_prior, "cut-offs or risks", ""),
    "n0 = 0": (lambda c: _no_prior(c, whole=False), "S", "has no S"),
    "n0 = 0, throughout": (lambda c: _no_prior(c, whole=True), "cut-offs", "the best are"),
    "S lost": (_set("answer", "smooth", None), "S", "not stated"),
    "S alone": (_set("answer", "smooth", _add(Fraction(1, 10**12))), "objective", "are worth"),
    "another S": (_other_s, "S", "it is 0."),
    "objective": (_set("answer", "objective", _add(Fraction(1, 10**15))), "objective", "differ by"),
    "net benefit": (_set("answer", "net_benefit", _add(Fraction(1, 9))), "objective", "the net"),
    "a cut-off": (_set("answer", "cutoffs", 4, lambda v: v - 1), "cut-offs", " at threshold 0.5"),
    "a cut-off raised": (_other_cutoff(1, -1), "cut-offs", " at threshold 0.9 "),
    "a cut-off lowered": (_other_cutoff(-1, 0), "cut-offs", " at threshold 0.1 "),
    "a cut-off lost": (_set("answer", "cutoffs", lambda v: v[1:]), "cut-offs", "8 of them for 9"),
    "cut-offs that fall": (
        _set("answer", "cutoffs", lambda v: [v[-1] + 1, *v[1:]]),
        "cut-offs",
        "do not rise",
    ),
    "a risk": (_other_risk, "risks", "level "),
    "bound of S lost": (_set("proof", "smooth", None), "bound of S", "not stated"),
    "bound of S lowered": (_lower_smooth_bound, "bound of S", "S may reach"),
    "bound of S raised": (_set("proof", "smooth", _add(Fraction(1, 100))), "bound", "box 1 may be"),
    "bound": (_set("proof", "bound", _add(Fraction(-1, 10**6))), "bound", "box 1 may be worth"),
    "bound below": (_set("proof", "bound", "0"), "order", "is below the objective"),
    "prior on the card": (_says(prior_strength=0.0), "card", "it says prior_strength = 0.0"),
    "net benefit on the card": (_says(net_benefit=0.31), "card", "it says net_benefit = 0.31"),
    "rows of the data": (
        _set("problem", "data", "rows", _add(Fraction(1))),
        "data",
        "not the rows",
    ),
}


def test_the_case_is_accepted(case: Case) -> None:
    assert case.verdict().accepted, case.verdict().failures


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_tampered_with_is_refused(case: Case, what: str) -> None:
    change, name, reason = TAMPERED[what]
    verdict = change(case).verdict()
    assert not verdict.accepted
    failed = {check.name: check.text for check in verdict.checks if check.ok is False}
    assert any(part in failed and reason in failed[part] for part in name.split(" or ")), failed


def test_the_published_bound_is_none_of_this_objective(case: Case) -> None:
    """A true certificate of G for the same rows says so, and never speaks of S."""
    table = PatternTable.from_columns(case.columns, case.event, sample_weight=case.weight)
    problem = Problem.build(table, Thresholds.tenths(), max_points=3)
    card, result, _ = learn(
        table,
        Thresholds.tenths(),
        choose_solver("auto", time_limit=1, seed=0, n_jobs=1),
        outcome="ill",
        max_points=3,
    )
    plain = replace(case, card=card, certificate=make_certificate(problem, result, card))
    verdict = plain.verdict()
    assert verdict.accepted, verdict.failures
    assert "n0" not in verdict.summary
    assert not any("n0" in check.text for check in verdict.checks)
    assert not {"S", "bound of S"} & {check.name for check in verdict.checks}


# -- random problems -----------------------------------------------------------------------------


def handed_in(problem: Problem, points: Any, *, calibrate: bool = True) -> Verdict:
    """Some points and the trivial bound, read back from their files and judged."""
    run = Run(problem, "test", float("inf"))
    result: SolverResult = run.result(np.asarray(points), "finished")
    card = assemble_card(problem, result, Provenance(version="0"), calibrate=calibrate)
    most = logistic.saturated_smooth(problem.patterns.positives, problem.patterns.negatives)
    smooth = Fraction(most) + Fraction(1, 10**12)
    bound = 1 + problem.prior_weight * smooth
    claimed = replace(result, proof=Proof("nothing", bound, smooth=smooth))
    text = make_certificate(problem, claimed, card).to_json()
    return verify(card, Certificate.from_json(text), problem.patterns)


@settings(max_examples=120)
@given(st.data())
def test_random_cards_are_accepted(data: st.DataObject) -> None:
    problem = data.draw(
        problems(max_points=3, max_columns=3, real=data.draw(st.booleans()))
        | constrained_problems(max_points=3, max_columns=3)
    )
    problem = replace(problem, prior_strength=data.draw(st.sampled_from(PRIORS)))
    points = points_of(data.draw, problem)
    assume(problem.feasible(points))
    verdict = handed_in(problem, points, calibrate=data.draw(st.booleans()))
    assert verdict.accepted, verdict.failures


@settings(max_examples=80)
@given(st.data())
def test_the_judge_agrees_with_the_levels(data: st.DataObject) -> None:
    """And no other cut-off passes, unless its risk is that of the threshold but for rounding."""
    table = data.draw(tables(max_columns=2, kinds=("small", "binary", "tenths")))
    grid = data.draw(st.sampled_from(GRIDS))
    rate = st.sampled_from([Fraction(1, 3), Fraction(2, 3), Fraction(1)])
    p = st.sampled_from(grid.values[1:])
    some = st.lists(st.builds(MinTPR, p, rate) | st.builds(MaxFPR, p, rate), max_size=2)
    try:
        problem = Problem.build(
            table,
            grid,
            constraints=data.draw(some),
            prior_strength=data.draw(st.sampled_from([3, 50])),
        )
    except InputError:
        assume(False)
    points = points_of(data.draw, problem)
    assume(problem.feasible(points))
    levels = find_levels(problem, points)
    run = Run(problem, "test", float("inf"))
    said = make_certificate(problem, run.result(points, "finished")).problem
    ground = Ground(said, table)
    scores, blend = ground.scores(points.tolist()), Blend.of(ground, points.tolist())
    assert wrong_cutoff(ground, scores, levels.cutoffs, blend) is None
    means, middles = blended_risks(ground, scores, levels.cutoffs, blend)
    assert means == pytest.approx(list(levels.risks), abs=1e-9)
    assert middles == list(find_levels(problem, points, calibrate=False).risks)
    where = data.draw(st.integers(0, len(levels.cutoffs) - 1))
    moved = list(levels.cutoffs)
    moved[where] += data.draw(st.sampled_from([-2, -1, 1, 2]))
    between = range(
        min(levels.cutoffs[where], moved[where]), max(levels.cutoffs[where], moved[where])
    )
    near = [abs(blend.risk(s) - grid.values[where + 1]) < 1e-8 for s in between]
    assume(not any(near))
    assert wrong_cutoff(ground, scores, moved, blend) is not None

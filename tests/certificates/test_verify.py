"""The judge accepts what is true and refuses what is not, whatever was tampered with."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import assume, given, settings, strategies as st

from netbenefit.binning.binner import Binner
from netbenefit.binning.fitted import FittedBins
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.certificates.boxes import BoxChecker
from netbenefit.certificates.certificate import (
    Certificate,
    json_digest,
    make_certificate,
    pattern_order,
)
from netbenefit.certificates.judge import Verdict, _by_level, verify
from netbenefit.certificates.recount import RecountedProblem, limits_differ, questions_differ
from netbenefit.cli.verify import verify as verify_command
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.estimators.training import assemble_card, training_of_raw
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import (
    AtLeast,
    AtMost,
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
)
from netbenefit.problem.problem import Boxes, IntegerProblem, Problem, Proof, Reason, SolverResult
from netbenefit.problem.questions import Questions
from netbenefit.solvers.base import Run
from netbenefit.solvers.local_search import LocalSearch
from netbenefit.teachers.crossfit import Taught
from tests.helpers import slow_truth as reference
from tests.helpers.box_prover import BranchAndBound
from tests.helpers.brute import all_values
from tests.helpers.cards import training_of
from tests.helpers.full import examples
from tests.helpers.small_proofs import (
    NOTHING,
    all_vectors,
    best_points,
    closure_bound,
    prove,
    teach_problem,
    with_proof,
)
from tests.helpers.strategies import (
    GRIDS,
    all_points,
    count_questions,
    problems,
    some_questions,
    tables,
)

COLUMNS = {
    "age": np.array([0, 1, 2, 2, 1, 0, 2, 1, 0, 2, 1, 0]),
    "dose": np.array([0.5, 0.0, 1.5, 0.5, 1.0, 0.0, 0.0, 1.5, 1.0, 1.0, 0.5, 1.5]),
    "male": np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1]),
}
EVENT = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0])
PUBLISHED = "objective: weighted net benefit less the penalty of every rule"
ASKED = (
    "objective: weighted net benefit less the prices of every question and of every further rule "
    "on it"
)
TAUGHT = f"{PUBLISHED}, on outcomes blended with a teacher's risks (n0 = 20 rows)"
#: A teacher who errs now and then.
RISKS = np.array([0.1, 0.15, 0.7, 0.85, 0.3, 0.05, 0.4, 0.45, 0.65, 0.9, 0.333, 0.2])


class Prover:
    """A solver for tiny problems."""

    def solve(self, problem: Problem, *, callback: Any = None) -> SolverResult:
        return prove(problem)


@dataclass(frozen=True)
class Case:
    """What a user hands in."""

    card: Scorecard
    certificate: Certificate
    columns: dict[str, Any]
    event: Any
    problem: Problem
    taught: Taught | None = None
    bins: FittedBins | None = None

    @property
    def words(self) -> str:
        if self.problem.questions.grouped:
            return ASKED
        return PUBLISHED if self.taught is None else TAUGHT

    def verdict(self, **options: Any) -> Verdict:
        return verify(self.card, self.certificate, self.columns, self.event, **options)


def learnt(
    *constraints: Constraint,
    weight: Any = None,
    solver: Any = None,
    binner: Binner | None = None,
    **how: Any,
) -> Case:
    """The proven best card of the rows above."""
    solver = Prover() if solver is None else solver
    rules = [*constraints, Sign("male", "-")]
    if binner is None:
        training = training_of(COLUMNS, EVENT, weight, max_points=2, constraints=rules)
    else:
        settings = {"max_points": 2, "max_questions": None, "constraints": rules}
        training = training_of_raw(binner, COLUMNS, EVENT.astype(bool), weight, settings)
    model = RiskScoreClassifier(solver=solver, **{"teacher": None, **how})
    model.thresholds_ = Thresholds.of([0.2, 0.5, 0.7])
    found = model._learn(training, "ill = 1")
    certificate = make_certificate(
        found.problem, found.result, found.card, bins=training.bins, taught=found.taught
    )
    made = found.problem, found.taught, training.bins
    return Case(found.card, certificate, dict(COLUMNS), EVENT, *made)


@pytest.fixture(scope="module")
def published() -> Case:
    return learnt(MaxFeatures(2))


@pytest.fixture(scope="module")
def taught() -> Case:
    return learnt(MaxFeatures(2), teacher=RISKS, prior_strength=20)


@pytest.fixture(scope="module")
def asked() -> Case:
    """Two conditions on age are one question, of which at most two are asked."""
    binner = Binner(cuts={"age": [1, 2], "dose": [1.0]})
    return learnt(MaxFeatures(3), MaxQuestions(2), binner=binner)


@pytest.fixture(params=["published", "taught", "asked"])
def case(request: pytest.FixtureRequest) -> Case:
    """What holds of certificates holds with a teacher and without, and where columns share one."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Case)
    return found


def test_the_proof_is_accepted(case: Case) -> None:
    verdict = case.verdict()
    assert verdict.accepted, verdict.failures
    assert verdict.summary == f"accepted: no allowed card is better; {case.words}"
    assert [check.name for check in verdict.checks] == [
        "data", "problem", "points", "objective", "cut-offs", "risks", "card", "scores", "order",
        "scale", "cover", "reasons", "values", "bound",
    ]  # fmt: skip
    assert all(check.ok for check in verdict.checks)
    assert case.certificate.proof is not None
    assert case.certificate.proof.boxes is not None
    assert set(case.certificate.proof.boxes.reasons.tolist()) == {
        Reason.FLOW, Reason.COUNTED, Reason.DOUBLED, Reason.FORBIDDEN
    }  # fmt: skip


def test_order_and_format_of_rows_do_not_matter(case: Case) -> None:
    order = np.random.default_rng(0).permutation(EVENT.size)
    shuffled = {name: column[order].astype(np.float64) for name, column in COLUMNS.items()}
    other = {"unused": np.arange(EVENT.size), **shuffled}
    assert verify(case.card, case.certificate, other, EVENT[order].astype(bool)).accepted


def test_patterns_will_do(case: Case) -> None:
    verdict = verify(case.card, case.certificate, case.problem.patterns)
    assert verdict.accepted
    assert "scores" not in [check.name for check in verdict.checks]
    with pytest.raises(InputError, match="pass columns and event"):
        verify(case.card, case.certificate, case.problem.patterns, EVENT)
    with pytest.raises(InputError, match="sample=0"):
        verify(case.card, case.certificate, case.problem.patterns, sample=0)


def test_a_card_without_a_history_will_do(case: Case) -> None:
    assert verify(replace(case.card, provenance=None), case.certificate, COLUMNS, EVENT).accepted


def test_middles_of_intervals_will_do(case: Case) -> None:
    result = prove(case.problem)
    origin = Provenance(version="0")
    card = assemble_card(case.problem, result, origin, bins=case.bins, calibrate=False)
    verdict = verify(card, case.certificate, COLUMNS, EVENT)
    assert verdict.accepted, verdict.failures
    assert "the middles of the intervals" in [check.text for check in verdict.checks]


def test_a_bound_above_the_optimum_is_accepted(case: Case) -> None:
    optimum = case.problem.evaluate(best_points(case.problem)).objective
    result = prove(case.problem, target=optimum + Fraction(1, 20))
    assert result.proof is not None
    assert result.proof.bound > optimum
    certificate = make_certificate(case.problem, result, taught=case.taught, bins=case.bins)
    verdict = verify(replace(case.card, provenance=None), certificate, COLUMNS, EVENT)
    assert verdict.accepted, verdict.failures
    assert verdict.summary.startswith("accepted: no allowed card is better by more than ")


def test_a_sample_shows_no_more_than_it_does(case: Case) -> None:
    verdict = case.verdict(sample=3, seed=5)
    assert verdict.consistent
    assert not verdict.accepted
    text = next(check.text for check in verdict.checks if check.name == "values")
    assert re.match(r"[123] of .* drawn with seed 5, are worth no more than stated: with 95%", text)
    assert verdict.summary.startswith(
        "consistent, bound not fully recounted: with 95% certainty fewer than 63.16% of the boxes "
        "are wrong, each weighed by what it could hide; objective: "
    )
    assert "no allowed card is better" not in verdict.summary
    assert case.verdict(sample=10**6).accepted  # that is all of them


def test_a_sample_is_drawn_by_what_a_false_box_could_hide(published: Case) -> None:
    """Of two false boxes, the one that hides more is found more often."""
    assert published.certificate.proof is not None
    boxes = published.certificate.proof.boxes
    volume = np.prod(boxes.upper - boxes.lower + 1, axis=1)
    lies = {}
    for b in np.flatnonzero(boxes.reasons <= Reason.COUNTED).tolist():
        lie = with_boxes(
            published.certificate,
            lambda arrays, b=b: arrays["values"].__setitem__(b, boxes.values[b] - 1),
        )
        if not replace(published, certificate=lie).verdict().consistent:
            lies[b] = replace(published, certificate=lie)
    assert len(lies) > 3
    found = [
        sum(not lies[b].verdict(sample=1, seed=seed).consistent for seed in range(60))
        for b in (min(lies, key=volume.__getitem__), max(lies, key=volume.__getitem__))
    ]
    assert 0 < found[0] < found[1]


def test_bounds_without_boxes_are_not_claimed(case: Case) -> None:
    result = prove(case.problem)
    assert result.proof is not None
    proof = Proof("direction signs", result.proof.bound, details={"seconds": 2.5})
    certificate = make_certificate(
        case.problem, replace(result, proof=proof), taught=case.taught, bins=case.bins
    )
    assert certificate.proof is None
    assert not verify(case.card, certificate, COLUMNS, EVENT).consistent  # it says it is optimal


def test_no_bound_at_all(case: Case) -> None:
    result = replace(prove(case.problem), proof=None, bound=None, status="finished")
    card = replace(case.card, provenance=None)
    verdict = verify(
        card,
        make_certificate(case.problem, result, taught=case.taught, bins=case.bins),
        COLUMNS,
        EVENT,
    )
    assert verdict.accepted
    assert "nothing is claimed, or proven, about better ones" in verdict.summary
    claims = verify(
        case.card,
        make_certificate(case.problem, result, taught=case.taught, bins=case.bins),
        COLUMNS,
        EVENT,
    )
    assert not claims.accepted  # the card says it is optimal
    assert "it calls itself optimal" in claims.failures[0]


# -- tampering -----------------------------------------------------------------------------------


def resigned(certificate: Certificate, change: Callable[[dict[str, Any]], Any]) -> Certificate:
    """Change what a certificate says, and all of its digests with it: the hardest case."""
    data = json.loads(certificate.to_json())
    change(data)
    problem = {key: value for key, value in data["problem"].items() if key != "digest"}
    data["problem"]["digest"] = json_digest(problem)
    data["digest"] = json_digest({key: value for key, value in data.items() if key != "digest"})
    return Certificate.from_json(json.dumps(data))


def with_boxes(certificate: Certificate, change: Callable[[dict[str, Any]], Any]) -> Certificate:
    proof = certificate.proof
    assert proof is not None
    arrays = {key: copy.deepcopy(value) for key, value in vars(proof.boxes).items()}
    arrays.update(change(arrays) or {})
    return replace(certificate, proof=replace(proof, boxes=Boxes(**arrays)))


def first(boxes: dict[str, Any], reason: Reason) -> int:
    return int(np.flatnonzero(boxes["reasons"] == reason)[0])


def _other_rule(card: Scorecard) -> Scorecard:
    rule = card.rules[0]
    return replace(card, rules=(Rule(rule.term, rule.points + 1), *card.rules[1:]))


def _other_risk(card: Scorecard) -> Scorecard:
    place = next(i for i, (_, risk) in enumerate(card.risks) if 0 < risk < 1)
    risks = list(card.risks)
    risks[place] = risks[place][0], np.nextafter(risks[place][1], 1.0)
    return replace(card, risks=tuple(risks))


def _says(card: Scorecard, **changes: Any) -> Scorecard:
    assert card.provenance is not None
    return replace(card, provenance=replace(card.provenance, **changes))


CARDS: dict[str, tuple[Callable[[Scorecard], Scorecard], str]] = {
    "points": (_other_rule, 'card: it gives "'),
    "a rule lost": (lambda c: replace(c, rules=c.rules[1:]), "0 points, the certificate "),
    "a rule added": (
        lambda c: replace(c, rules=(*c.rules, Rule(Condition("age", "<", 2), 1))),
        'it gives "age < 2" 1 points, the certificate 0',
    ),
    "cut-offs": (
        lambda c: replace(c, risks=tuple((s + 1, q) for s, q in c.risks), score_range=None),
        "card: its cut-offs are",
    ),
    "a risk": (_other_risk, "risks: score "),
    "thresholds": (
        lambda c: replace(c, thresholds=Thresholds.of([0.2, 0.5, 0.75])),
        "card: its thresholds are [0, 1/5, 1/2, 3/4]",
    ),
    "weights": (
        lambda c: replace(c, thresholds=Thresholds.of([0.2, 0.5, 0.7], weights=[0.5, 0.3, 0.2])),
        "card: its weights are",
    ),
    "score range": (
        lambda c: replace(c, score_range=(c.score_range[0], c.score_range[1] + 1)),
        "card: its scores are from",
    ),
    "objective on the card": (lambda c: _says(c, objective=0.9), "it says objective = 0.9"),
    "bound on the card": (lambda c: _says(c, bound=0.9), "it says bound = 0.9"),
    "penalty on the card": (lambda c: _says(c, penalty=0.9), "it says penalty = 0.9"),
    "rows on the card": (lambda c: _says(c, n_rows=13), "it says n_rows = 13"),
    "prior on the card": (lambda c: _says(c, prior_strength=5.0), "it says prior_strength = 5.0"),
    "a teacher on the card": (lambda c: _says(c, teacher="an oracle"), "it says teacher = 'an or"),
    "a teacher's worth on the card": (
        lambda c: _says(c, teacher_net_benefit=0.9),
        "it says teacher_net_benefit = 0.9",
    ),
    "share on the card": (lambda c: _says(c, share_kept=1.5), "it says share_kept = 1.5"),
    "share of the bound": (lambda c: _says(c, share_bound=0.1), "it says share_bound = 0.1"),
    "fewer thresholds": (
        lambda c: replace(c, thresholds=Thresholds.of([0.2, 0.7]), risks=c.risks[:1]),
        "risks: the card has other thresholds",
    ),
    "net benefit on the card": (lambda c: _says(c, net_benefit=0.9), "it says net_benefit = 0.9"),
}


@pytest.mark.parametrize("what", CARDS)
def test_tampered_cards(case: Case, what: str) -> None:
    change, reason = CARDS[what]
    verdict = replace(case, card=change(case.card)).verdict()
    assert not verdict.accepted
    assert any(reason in failure for failure in verdict.failures), verdict.failures
    assert verdict.summary.startswith("refused: ")


def _data(change: Callable[[dict[str, Any], Any], Any]) -> Callable[[Case], Case]:
    def tampered(case: Case) -> Case:
        columns = {name: column.copy() for name, column in case.columns.items()}
        event = case.event.copy()
        columns, event = change(columns, event) or (columns, event)
        return replace(case, columns=columns, event=event)

    return tampered


def _put(name: str, row: int, value: Any) -> Callable[[dict[str, Any], Any], None]:
    return lambda columns, event: columns[name].__setitem__(row, value)


DATA: dict[str, tuple[Callable[[Case], Case], str]] = {
    "a cell": (_data(_put("age", 4, 0)), "data: these are not the rows of the certificate"),
    "a fraction": (_data(_put("dose", 4, 1.001)), "holds values between the steps of 1e-1"),
    "a row lost": (
        _data(lambda c, e: ({name: v[1:] for name, v in c.items()}, e[1:])),
        "11 rows, not 12",
    ),
    "a row twice": (
        _data(lambda c, e: ({name: np.append(v, v[0]) for name, v in c.items()}, np.append(e, 0))),
        "13 rows, not 12",
    ),
    "labels flipped": (_data(lambda c, e: (c, 1 - e)), "data: these are not the rows"),
    "one label": (_data(lambda c, e: e.__setitem__(0, 1)), "7 events, not 6"),
    "columns swapped": (
        _data(lambda c, e: ({**c, "age": c["male"], "male": c["age"]}, e)),
        "data: these are not the rows",
    ),
    "a column lost": (_data(lambda c, e: c.pop("dose") is None or None), "no column 'dose'"),
    "a missing value": (_data(_put("dose", 3, np.nan)), "data: the table does not fit"),
}


@pytest.mark.parametrize("what", DATA)
def test_tampered_data(case: Case, what: str) -> None:
    change, reason = DATA[what]
    verdict = change(case).verdict()
    if case.problem.questions.grouped and what in ("a fraction", "a missing value"):
        assert verdict.accepted  # no condition changes: what is missing counts as the median
        return
    assert not verdict.accepted
    assert len(verdict.checks) == 1  # nothing to stand on
    assert reason in verdict.failures[0]


def _set(*path: Any) -> Callable[[Certificate], Certificate]:
    *keys, value = path

    def change(data: Any) -> None:
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value(data[keys[-1]]) if callable(value) else value

    return lambda certificate: resigned(certificate, change)


def _boxes(change: Callable[[dict[str, Any]], Any]) -> Callable[[Certificate], Certificate]:
    return lambda certificate: with_boxes(certificate, change)


def _without(reason: Reason) -> Callable[[Certificate], Certificate]:
    def change(boxes: dict[str, Any]) -> dict[str, Any]:
        gone = first(boxes, reason)
        return {k: np.delete(v, gone, axis=0) for k, v in boxes.items() if v is not None}

    return _boxes(change)


def _nudge(key: str, reason: Reason, by: int) -> Callable[[Certificate], Certificate]:
    return _boxes(
        lambda boxes: boxes[key].__setitem__(
            first(boxes, reason), boxes[key][first(boxes, reason)] + by
        )
    )


def _relabel(before: Reason, after: int) -> Callable[[Certificate], Certificate]:
    return _boxes(lambda boxes: boxes["reasons"].__setitem__(first(boxes, before), after))


def _counted_as_flow(boxes: dict[str, Any]) -> None:
    b = first(boxes, Reason.COUNTED)
    boxes["reasons"][b] = Reason.FLOW
    boxes["values"][b] -= 1


def _shift(boxes: dict[str, Any]) -> None:
    b = first(boxes, Reason.FLOW)
    boxes["lower"][b] += 1
    boxes["upper"][b] += 1


def _less(text: str) -> str:
    return str(Fraction(text) - Fraction(1, 10**9))


def _twice(data: dict[str, Any], key: str) -> None:
    data[key] = str(2 * Fraction(data[key]))


def _more(text: str) -> str:
    return str(Fraction(text) + Fraction(1, 10**9))


CERTIFICATES: dict[str, tuple[Callable[[Certificate], Certificate], str]] = {
    "points": (
        _set("answer", "points", lambda v: [1, *[0] * (len(v) - 1)]),
        "objective: the points are worth",
    ),
    "points beyond": (
        _set("answer", "points", lambda v: [3, *[0] * (len(v) - 1)]),
        "points: they are not allowed: 'age",
    ),
    "too many points": (
        _set("answer", "points", lambda v: [1] * len(v)),
        "the points break a constraint",
    ),
    "points for fewer": (_set("answer", "points", [1, 1]), "points: 2 points for "),
    "cut-offs": (_set("answer", "cutoffs", 0, lambda v: v - 1), "cut-offs: the best are"),
    "objective": (_set("answer", "objective", _more), "objective: the points are worth"),
    "net benefit": (_set("answer", "net_benefit", _more), "objective: the net benefit is"),
    "bound lowered": (_set("proof", "bound", _less), "order: the bound "),
    "thresholds": (
        _set("problem", "thresholds", 3, "3/4"),
        "card: its thresholds are [0, 1/5, 1/2, 7/10], not [0, 1/5, 1/2, 3/4]",
    ),
    "weights": (_set("problem", "weights", ["0", "1/2", "1/4", "1/4"]), "card: its weights are"),
    "prices": (
        lambda c: resigned(
            c, lambda d: [_twice(d["problem"], key) for key in ("penalty", "rule_penalty")]
        ),
        "objective: the points are worth",
    ),
    "data digest": (_set("problem", "data", "digest", "0" * 64), "data: these are not the rows"),
    "data rows": (_set("problem", "data", "rows", "13"), "data: these are not the rows"),
    "constraint lost": (_set("problem", "constraints", lambda v: v[1:]), "problem: the limits are"),
    "constraint changed": (
        _set("problem", "constraints", 0, "limit", 1),
        "problem: the points break a constraint",
    ),
    "constraint garbled": (_set("problem", "constraints", 0, {"kind": "x"}), "cannot be read"),
    "limits lost": (
        lambda c: resigned(
            c, lambda d: d["problem"]["limits"].update(support=[], support_limit=[])
        ),
        "problem: the limits are not those",
    ),
    "search space narrowed": (
        _set("problem", "lower", 0, -1),
        "problem: the limits are not those",
    ),
    "scale": (
        _set("proof", "scale", "price", lambda v: v + 1),
        "scale: in the boxes' values, a rule costs",
    ),
    "rounding": (_set("proof", "rounding", "1/100"), "scale: rounding can add 0, not 0.01"),
    "no scale": (_set("proof", "scale", "total", "0"), "scale: the scale"),
    "flow box lost": (_without(Reason.FLOW), "cover: no box holds the points ["),
    "counted box lost": (_without(Reason.COUNTED), "cover: no box holds the points ["),
    "doubled box lost": (_without(Reason.DOUBLED), "cover: no box holds the points ["),
    "forbidden box lost": (_without(Reason.FORBIDDEN), "cover: no box holds the points ["),
    "box shifted": (_boxes(_shift), "cover: no box holds the points ["),
    "flow value lowered": (_nudge("values", Reason.FLOW, -1), "its flow bound is"),
    "counted value lowered": (_nudge("values", Reason.COUNTED, -1), "in it is worth"),
    "values raised": (
        _boxes(lambda boxes: boxes["values"].__iadd__(10**6) is None or None),
        "bound: box ",
    ),
    "flow called forbidden": (
        _relabel(Reason.FLOW, Reason.FORBIDDEN),
        "claimed to hold no allowed",
    ),
    "flow called doubled": (_relabel(Reason.FLOW, Reason.DOUBLED), "is claimed to be doubled, but"),
    "counted called doubled": (_relabel(Reason.COUNTED, Reason.DOUBLED), "claimed to be doubled"),
    "counted called flow, and lowered": (_boxes(_counted_as_flow), "its flow bound is"),
    "doubled called flow": (_relabel(Reason.DOUBLED, Reason.FLOW), "its flow bound is"),
    "flow called shifted": (_relabel(Reason.FLOW, Reason.SHIFTED), "which is not free here"),
    "unknown reason": (_relabel(Reason.FLOW, 9), "boxes: they have an unknown reason"),
    "fewer columns": (
        _boxes(lambda b: {"lower": b["lower"][:, 1:], "upper": b["upper"][:, 1:]}),
        "boxes: they have another number of columns",
    ),
}


@pytest.mark.parametrize("what", CERTIFICATES)
def test_tampered_certificates(case: Case, what: str) -> None:
    """Every digest is made anew, so that only the arithmetic can tell."""
    change, reason = CERTIFICATES[what]
    certificate = Certificate.from_json(change(case.certificate).to_json())
    verdict = replace(case, certificate=certificate).verdict()
    assert not verdict.accepted
    assert any(reason in failure for failure in verdict.failures), verdict.failures


def test_lower_bound_and_worse_points_together(case: Case) -> None:
    """A consistent lie: a worse card, called the best by lowering every value."""
    worse = next(
        v
        for v in all_vectors(case.problem.lower, case.problem.upper)
        if case.problem.feasible(v) and v != tuple(best_points(case.problem)) and any(v)
    )
    integers = IntegerProblem.of(case.problem)
    top = integers.from_objective(case.problem.evaluate(worse).objective)
    proof = prove(case.problem).proof
    assert proof is not None
    assert proof.boxes is not None
    boxes = proof.boxes
    leaves = list(
        zip(boxes.lower, boxes.upper, np.minimum(boxes.values, top), boxes.reasons, strict=True)
    )
    result = with_proof(case.problem, worse, leaves)
    lie = replace(result, proof=replace(result.proof, bound=case.problem.evaluate(worse).objective))
    card = assemble_card(case.problem, lie, Provenance(version="0"), bins=case.bins)
    verdict = verify(
        card,
        make_certificate(case.problem, lie, card, taught=case.taught, bins=case.bins),
        COLUMNS,
        EVENT,
    )
    assert "values" in [check.name for check in verdict.checks if not check.ok]
    assert any("is claimed to be worth" in failure for failure in verdict.failures)


# -- questions -------------------------------------------------------------------------------------


def _of_question(place: int, **changes: Any) -> Callable[[Certificate], Certificate]:
    return lambda c: resigned(c, lambda d: d["problem"]["questions"][place].update(changes))


def _merged(data: dict[str, Any]) -> None:
    """Dose and sex become one question, as if they were asked together."""
    data["problem"]["questions"][1:] = [
        {"name": "dose", "columns": [2, 3], "answers": [], "spread": 2}
    ]


def _exchanged(data: dict[str, Any]) -> None:
    questions = data["problem"]["questions"]
    questions[0]["columns"], questions[1]["columns"] = [0, 2], [1]


def _apart(data: dict[str, Any]) -> None:
    """Every condition becomes a question of its own, at the same prices."""
    names = [column["name"] for column in data["problem"]["columns"]]
    data["problem"]["questions"] = [
        {"name": name, "columns": [k], "answers": [], "spread": 2} for k, name in enumerate(names)
    ]
    data["problem"]["max_questions"] = 2
    data["problem"]["rule_penalty"] = data["problem"]["penalty"]
    data["problem"]["objective"] = PUBLISHED.removeprefix("objective: ")


def _unlimited(data: dict[str, Any]) -> None:
    """More questions are allowed, and no constraint says otherwise."""
    data["problem"]["max_questions"] = 3
    data["problem"]["constraints"].pop(1)


def _as_box(low: list[int], high: list[int], reason: Reason) -> Any:
    """The box that holds the points ``low`` becomes this one, with another reason."""

    def change(boxes: dict[str, Any]) -> dict[str, Any]:
        inside = (boxes["lower"] <= low) & (boxes["upper"] >= low)
        b = int(np.flatnonzero(inside.all(axis=1))[0])
        boxes["lower"][b], boxes["upper"][b], boxes["reasons"][b] = low, high, reason
        return boxes

    return _boxes(change)


def _pays_twice(boxes: dict[str, Any], price: int) -> None:
    """A box in which both conditions on age have points pays for the question with each of them."""
    used = (boxes["lower"] > 0) | (boxes["upper"] < 0)
    both = used[:, 0] & used[:, 1] & (boxes["reasons"] == Reason.FLOW)
    assert both.any()
    boxes["values"][both] -= price


QUESTIONS: dict[str, tuple[Callable[[Certificate], Certificate], str]] = {
    "price of a further rule": (
        _set("problem", "rule_penalty", "1/400"),
        "objective: the points are worth 139/400",
    ),
    "price of a further rule, with its objective": (
        lambda c: _set("answer", "objective", "139/400")(
            _set("problem", "rule_penalty", "1/400")(c)
        ),
        "scale: the boxes' values were rounded, which nothing makes necessary",
    ),
    "price of a question": (
        _set("problem", "penalty", "1/100"),
        "objective: the points are worth 563/1600",
    ),
    "price in the boxes": (
        _set("proof", "scale", "question_price", lambda v: v + 1),
        "scale: in the boxes' values, a rule costs ",
    ),
    "two questions merged": (
        lambda c: resigned(c, _merged),
        "problem: its questions are not the raw columns that its columns are conditions on",
    ),
    "columns exchanged": (
        lambda c: resigned(c, _exchanged),
        "problem: its questions are not the raw columns",
    ),
    "question renamed": (_of_question(0, name="years"), "problem: its questions are not the raw"),
    "a question for each condition": (lambda c: resigned(c, _apart), "problem: the limits are not"),
    "an answer left out": (
        _of_question(0, answers=[[0, 0], [1, 0]]),
        "problem: the answers to its questions are not those that its conditions can give",
    ),
    "all answers left out": (_of_question(0, answers=[]), "problem: the answers to its questions"),
    "an answer added": (
        _of_question(0, answers=[[0, 0], [0, 1], [1, 0], [1, 1]]),
        "problem: the answers to its questions are not",
    ),
    "spread widened": (_of_question(0, spread=3), "problem: the limits are not those of its"),
    "more points allowed": (
        lambda c: _set("problem", "max_points", 3)(_of_question(0, spread=3)(c)),
        "problem: the limits are not those of its constraints",
    ),
    "most questions raised": (
        _set("problem", "max_questions", 3),
        "problem: the limits are not those of its constraints",
    ),
    "most questions raised, and its constraint lost": (
        lambda c: resigned(c, _unlimited),
        "claimed to hold no allowed points",
    ),
    "too many questions": (
        _set("answer", "points", [1, 0, 1, -1]),
        "points: they are not allowed: the card asks 3 questions, more than 2",
    ),
    "answers too far apart": (
        _set("answer", "points", [2, 1, 0, 0]),
        "points: they are not allowed: answers to 'age' lie 3 points apart, more than 2",
    ),
    "question paid for twice": (
        lambda c: with_boxes(c, lambda boxes: _pays_twice(boxes, c.proof.scale.question_price)),
        "its flow bound is",
    ),
    "doubled beyond the spread": (
        _as_box([1, 1, 0, 0], [1, 1, 0, 0], Reason.DOUBLED),
        "claimed to be doubled, but doubled answers to 'age' may lie too far apart",
    ),
    "forbidden, but allowed": (
        _as_box([1, 1, 1, 0], [1, 1, 1, 0], Reason.FORBIDDEN),
        "is claimed to hold no allowed points, but [1, 1, 1, 0] could not be ruled out",
    ),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_tampered_questions(asked: Case, what: str) -> None:
    change, reason = QUESTIONS[what]
    certificate = Certificate.from_json(change(asked.certificate).to_json())
    verdict = replace(asked, certificate=certificate).verdict()
    assert not verdict.accepted
    assert any(reason in failure for failure in verdict.failures), verdict.failures


def test_a_proof_at_other_prices_is_none(asked: Case) -> None:
    """Boxes of a problem with dearer rules or questions, handed in where they cost less."""
    assert asked.certificate.proof is not None
    found = 0
    for penalty, further in ((0, 0), (Fraction(1, 80), 0), (Fraction(1, 320), Fraction(1, 320))):
        cheap = replace(asked.problem, penalty=Fraction(penalty), rule_penalty=Fraction(further))
        dear, integers = IntegerProblem.of(asked.problem), IntegerProblem.of(cheap)
        boxes = asked.certificate.proof.boxes
        assert boxes is not None
        known = boxes.values > NOTHING
        objectives = [dear.to_objective(v) for v in boxes.values[known].tolist()]
        values = boxes.values.copy()
        values[known] = [integers.from_objective(v) for v in objectives]
        points = asked.certificate.answer.points
        leaves = zip(boxes.lower, boxes.upper, values.tolist(), boxes.reasons.tolist(), strict=True)
        lie = with_proof(cheap, points, [(*box[:3], Reason(box[3])) for box in leaves])
        card = assemble_card(cheap, lie, Provenance(version="0"), bins=asked.bins)
        certificate = make_certificate(cheap, lie, card, bins=asked.bins)
        verdict = verify(card, certificate, COLUMNS, EVENT)
        assert [c.name for c in verdict.checks if c.ok is False] == ["values"], verdict.failures
        found += 1
    assert found == 3


def test_stated_questions_need_the_answers_of_all_rows() -> None:
    """Without terms that tell, questions are taken as stated, but rows must be among answers."""
    X = [[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    table = PatternTable.from_arrays(X, [0, 1, 1, 0, 1], names=["a", "b", "c"])
    rows = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    stated = Questions(("ab", "c"), np.array([0, 0, 1]), rows, np.zeros(4, np.int64))
    problem = Problem.build(
        table, Thresholds.tenths(), max_points=2, max_questions=1, questions=stated
    )
    result = prove(problem)
    certificate = make_certificate(problem, result)
    card = assemble_card(problem, result, Provenance(version="0"))
    assert verify(card, certificate, table).accepted
    assert questions_differ(certificate.problem, table) is None
    for place in range(4):
        lost = resigned(
            certificate, lambda d, p=place: d["problem"]["questions"][0]["answers"].pop(p)
        )
        codes = rows[place, :2].tolist()
        failures = verify(card, lost, table).failures
        assert failures == [f"problem: rows answer 'ab' by {codes}, which is not among its answers"]
    wide = resigned(
        certificate, lambda d: d["problem"]["questions"][0]["answers"].append([10**9, 0])
    )
    assert verify(card, wide, table).failures[0].startswith("problem: no row answers 'ab' by ")


@st.composite
def asking(draw: st.DrawFn, *, most_vectors: int = 150) -> Problem:
    """Problems with questions of several columns, whose number and whose answers are limited."""
    kinds = ("binary", "binary", "binary", "small")
    table = draw(tables(max_rows=8, max_columns=4, kinds=kinds, taught=False))
    questions = draw(some_questions(table).filter(lambda one: one.grouped))
    widest = int(most_vectors ** (1 / table.n_features))
    most = draw(st.integers(1, max(1, (widest - 1) // 2)))
    price = draw(
        st.sampled_from(["auto", 0.0, (0.01, 0.002), (0.03, 0.0), (0.02, 0.02), (0.2, 0.01)])
    )
    constraints: list[Constraint] = [MaxQuestions(draw(st.integers(1, len(questions))))]
    if draw(st.booleans()):
        constraints.append(MaxFeatures(draw(st.integers(1, table.n_features))))
    if draw(st.booleans()):
        constraints.append(Sign(draw(st.sampled_from(table.names)), draw(st.sampled_from("+-"))))
    if draw(st.booleans()):
        some = st.lists(st.sampled_from(table.names), min_size=1, max_size=2, unique=True)
        constraints.append(Include(*draw(some)))
    grid = draw(st.sampled_from(GRIDS))
    try:
        return Problem.build(
            table,
            grid,
            penalty=price,
            max_points=most,
            constraints=constraints,
            questions=questions,
        )
    except InputError:
        assume(False)
        raise


@settings(max_examples=examples(200))
@given(asking(), st.sampled_from(["double", ""]))
def test_true_proofs_of_questions_are_accepted(problem: Problem, start: str) -> None:
    verdict = accepted(problem, prove(problem, start=start))
    assert verdict.accepted, verdict.failures


@settings(max_examples=examples(100))
@given(asking(most_vectors=700))
def test_what_branch_and_bound_claims_of_questions_is_accepted(problem: Problem) -> None:
    result = BranchAndBound(time_limit=None).solve(problem)
    assert problem.evaluate(result.points).objective == max(
        problem.evaluate(v).objective for v in all_points(problem)
    )
    verdict = accepted(problem, result)
    assert verdict.accepted, verdict.failures


@settings(max_examples=examples(200))
@given(asking())
def test_the_judge_counts_questions_as_brute_force_does(problem: Problem) -> None:
    written = make_certificate(problem, _zero_result(problem)).to_json()
    statement = Certificate.from_json(written).problem
    recount, integers = RecountedProblem(statement, problem.patterns), IntegerProblem.of(problem)
    whole = recount.in_integers(integers.total)
    vectors = np.array(list(all_vectors(problem.lower, problem.upper)))
    expected = all_values(integers, vectors)
    assert np.array_equal(whole._values(vectors), expected)
    allowed = set(map(tuple, all_points(problem).tolist()))
    for vector, value in zip(vectors.tolist(), expected.tolist(), strict=True):
        assert (recount.forbids(vector) is None) == (tuple(vector) in allowed)
        if tuple(vector) in allowed:
            exact = recount.evaluate(vector)
            assert exact is not None
            questions = count_questions(problem, np.array(vector))
            further = sum(v != 0 for v in vector) - questions
            paid = problem.penalty * questions + problem.rule_penalty * further
            assert exact.objective == exact.net_benefit - paid
            assert exact.objective == problem.evaluate(vector).objective
            assert exact.objective == whole.to_objective(value)
            assert list(exact.cutoffs) == reference.cutoffs(
                problem.patterns, problem.thresholds, vector
            )


@settings(max_examples=examples(150))
@given(asking(), st.randoms(use_true_random=False))
def test_no_false_claim_about_a_box_is_accepted(problem: Problem, random: Any) -> None:
    """Random boxes with every reason: what the judge accepts is true of all of their vectors."""
    certificate = make_certificate(problem, _zero_result(problem))
    recount = RecountedProblem(certificate.problem, problem.patterns)
    integers = IntegerProblem.of(problem)
    whole = recount.in_integers(integers.total)
    allowed = all_points(problem)
    values = all_values(integers, allowed) if len(allowed) else np.zeros(0, np.int64)
    for _ in range(20):
        ends = [
            sorted((random.randint(a, b), random.randint(a, b)))
            for a, b in zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
        ]
        low, high = np.array(ends).T
        inside = ((allowed >= low) & (allowed <= high)).all(axis=1)
        best = int(values[inside].max()) if inside.any() else NOTHING

        def checker(reason: Reason, value: int, box: Any = (low, high)) -> BoxChecker:
            one = [np.array([part]) for part in (*box, value, reason)]
            return BoxChecker(whole, Boxes(*one))

        assert (checker(Reason.FORBIDDEN, 0).wrong_forbidden() is None) == (not inside.any())
        if checker(Reason.DOUBLED, 0).wrong_doubled() is None:
            assert all(problem.allows(2 * v) for v in allowed[inside])
        assert checker(Reason.COUNTED, best).wrong_value(0) is None
        if inside.any():
            assert checker(Reason.COUNTED, best - 1).wrong_value(0) is not None
            assert checker(Reason.FLOW, best - 1).wrong_value(0) is not None
        flow = closure_bound(integers, low, high)
        assert flow >= best
        assert checker(Reason.FLOW, flow).wrong_value(0) is None
        moved = checker(Reason.SHIFTED, 0)  # never where some columns belong together
        assert moved.tight.empty[0] or moved.wrong_shifted() is not None


def test_a_raw_table_with_few_questions() -> None:
    rng = np.random.default_rng(8)
    rows = {
        "age": rng.integers(20, 90, 160),
        "sex": rng.choice(["f", "m"], 160).astype(object),
        "stage": rng.choice(["I", "II", "III"], 160).astype(object),
        "weight": np.where(rng.random(160) < 0.2, np.nan, rng.normal(75, 12, 160)),
    }
    likely = (rows["age"] > 40) * 0.2 + (rows["age"] > 65) * 0.3 + (rows["stage"] == "III") * 0.3
    y = rng.random(160) < likely
    how: dict[str, Any] = {"max_points": 2, "max_questions": 2, "solver": "exact", "n_jobs": 1}
    binner = Binner(cuts={"age": [40, 65], "weight": [70]})
    for teacher in (None, np.clip(likely, 0.05, 0.9)):
        model = RiskScoreClassifier(
            thresholds=[0.2, 0.5], binner=binner, teacher=teacher, time_limit=60, **how
        )
        model.fit(rows, y)
        statement = model.certificate_.problem
        assert statement.questions.names == ("age", "sex", "stage", "weight")
        assert statement.limits.asked.most == 2
        assert statement.rule_penalty * 4 == statement.penalty
        assert model.result_.status == "optimal"
        verdict = verify(model.scorecard_, model.certificate_, rows, y)
        assert verdict.accepted, verdict.failures
        assert "no allowed card is better" in verdict.summary
        origin = model.scorecard_.provenance
        if teacher is not None:  # of the bound, to which both prices are added again
            lie = replace(
                model.scorecard_, provenance=replace(origin, share_bound=origin.share_bound + 1e-6)
            )
            assert not verify(lie, model.certificate_, rows, y).accepted
        changed = {**rows, "age": np.where(np.arange(160) == 3, 30, rows["age"])}
        assert not verify(model.scorecard_, model.certificate_, changed, y).accepted


def test_published_methods_count_conditions_of_raw_columns() -> None:
    """The judge knows both objectives: one price per rule, or a price per question."""
    model = RSSDNBClassifier(
        thresholds=[0.2, 0.5],
        binner=Binner(cuts={"age": [1, 2], "dose": [1.0]}),
        max_points=2,
        solver="exact",
    )
    model.fit(COLUMNS, EVENT)
    assert not model.certificate_.problem.questions.grouped
    verdict = verify(model.scorecard_, model.certificate_, COLUMNS, EVENT)
    assert verdict.accepted, verdict.failures
    assert verdict.summary.endswith(PUBLISHED)


# -- what a teacher added --------------------------------------------------------------------------


def _refused(case: Case, card: Scorecard, certificate: Certificate) -> list[str]:
    verdict = verify(card, Certificate.from_json(certificate.to_json()), COLUMNS, EVENT)
    assert not verdict.accepted
    return verdict.failures


def _lesson(certificate: Certificate, **changes: Any) -> Certificate:
    lesson = certificate.problem.teacher
    assert lesson is not None
    problem = replace(certificate.problem, teacher=lesson._replace(**changes))
    return replace(certificate, problem=problem)


def test_every_step_of_a_card_is_checked(case: Case) -> None:
    steps = case.card.risks
    assert len(steps) > (1 if case.taught is None else 4)
    others: list[tuple[tuple[int, float], ...]] = []
    for i, (score, risk) in enumerate(steps):
        for other in (
            (score, float(np.nextafter(risk, 2.0))),
            (score, float(np.nextafter(risk, -1.0))),
            (score - 1, risk),
            (score + 1, risk),
        ):
            others.append((*steps[:i], other, *steps[i + 1 :]))
        others.append((*steps[:i], *steps[i + 1 :]))  # lost
        others.append((*steps[: i + 1], (score + 1, risk), *steps[i + 1 :]))  # added
    judged = 0
    for wrong in others:
        try:
            card = replace(case.card, risks=wrong, score_range=None)
        except InputError:  # no card at all
            continue
        failures = verify(card, case.certificate, COLUMNS, EVENT).failures
        assert any(failure.startswith("risks: ") for failure in failures), wrong
        judged += 1
    assert judged > 2 * len(steps)


def test_every_expected_count_is_checked(taught: Case) -> None:
    """A count that changes any mass changes the objective or a risk."""
    lesson, table = taught.certificate.problem.teacher, taught.problem.patterns
    assert lesson is not None
    mass = RecountedProblem(taught.certificate.problem, table).masses
    changed = 0
    for u in range(lesson.expected.size):
        for by in (-100, -1, 1, 100):
            expected = lesson.expected.copy()
            expected[u] += by
            lie = _lesson(taught.certificate, expected=expected)
            try:
                same = RecountedProblem(lie.problem, table).masses == mass
            except InputError:  # more events than rows
                same = False
            if not same:
                changed += 1
                assert _refused(taught, taught.card, lie)
            else:
                assert by in (-1, 1)  # lost in the rounding: the same masses, the same truth
    assert changed > 2 * lesson.expected.size


def test_swapped_patterns_are_found(taught: Case) -> None:
    lesson, table = taught.certificate.problem.teacher, taught.problem.patterns
    assert lesson is not None
    scores = RecountedProblem(taught.certificate.problem, table).scores(
        taught.certificate.answer.points
    )
    risks = taught.card.risk_of_score(np.array(scores))[pattern_order(table)]
    for u in range(1, lesson.expected.size):
        expected = lesson.expected.copy()
        expected[[u - 1, u]] = expected[[u, u - 1]]
        # Where both patterns are pooled, their sums stay, and what is stated stays true.
        if abs(int(expected[u]) - int(expected[u - 1])) > 1 and risks[u - 1] != risks[u]:
            assert _refused(taught, taught.card, _lesson(taught.certificate, expected=expected))


LESSONS: dict[str, tuple[Callable[[Certificate], Certificate], str]] = {
    "strength": (_set("problem", "teacher", "strength", "21"), "objective: the points are worth"),
    "no outcomes": (_set("problem", "teacher", "strength", "inf"), "objective: the points are"),
    "denominator": (_set("problem", "teacher", "denominator", 1001), "objective: the points are"),
    "too few parts": (
        _set("problem", "teacher", "denominator", 10),
        "problem: the teacher expects",
    ),
    "name": (_set("problem", "teacher", "name", "an oracle"), "card: it says teacher = "),
    "worth": (
        _set("problem", "teacher", "net_benefit", lambda v: v + 1e-9),
        "card: it says teacher_net_benefit = ",
    ),
    "worth on masses": (
        _set("problem", "teacher", "blended_benefit", lambda v: v * 0.99),
        "card: it says share_kept = ",
    ),
    "no worth": (
        _set("problem", "teacher", "blended_benefit", -0.1),
        "which nothing supports",
    ),
    "impossible worth": (
        _set("problem", "teacher", "net_benefit", 0.9),
        "problem: the teacher's stated net benefit is 0.9",
    ),
}


@pytest.mark.parametrize("what", LESSONS)
def test_tampered_lessons(taught: Case, what: str) -> None:
    change, reason = LESSONS[what]
    failures = _refused(taught, taught.card, change(taught.certificate))
    assert any(reason in failure for failure in failures), failures


def test_a_teacher_is_neither_added_nor_taken_away(published: Case, taught: Case) -> None:
    words = json.loads(published.certificate.to_json())["problem"]["objective"]
    lie = resigned(taught.certificate, lambda d: d["problem"].update(teacher=None, objective=words))
    assert any("objective: " in failure for failure in _refused(taught, taught.card, lie))
    lesson = json.loads(taught.certificate.to_json())["problem"]
    lie = resigned(
        published.certificate,
        lambda d: d["problem"].update(teacher=lesson["teacher"], objective=lesson["objective"]),
    )
    assert any("objective: " in failure for failure in _refused(published, published.card, lie))


@pytest.mark.parametrize(
    ("weight", "how"),
    [
        (None, {"prior_strength": np.inf}),
        (None, {"prior_strength": 1e-9}),
        (None, {"prior_strength": "auto"}),
        (np.arange(12) % 3 + 1, {"prior_strength": 7.5}),
        (np.arange(12) % 3 * 1000, {"prior_strength": np.inf}),
        (np.linspace(0.4, 1.7, 12), {"prior_strength": 7.5}),
        (np.linspace(0.4, 1.7, 12), {"prior_strength": np.inf}),
        (np.linspace(0.4, 1.7, 12), {}),
    ],
)
@pytest.mark.parametrize("constraints", [[], [MinTPR(0.5, "2/3"), MaxFPR(0.2, "2/3")]])
def test_honest_certificates_of_taught_cards(
    weight: Any, how: dict[str, Any], constraints: list[Constraint]
) -> None:
    # Real weights and rates are more than the slow prover does.
    proven = not constraints or weight is None or weight.dtype.kind == "i"
    solver = Prover() if proven else LocalSearch(time_limit=None, max_rounds=1)
    for risks in (RISKS, 1.0 - RISKS):  # a teacher may be wrong about everybody
        case = learnt(*constraints, weight=weight, teacher=risks, solver=solver, **how)
        certificate = Certificate.from_json(case.certificate.to_json())
        assert certificate.to_json() == case.certificate.to_json()
        verdict = verify(case.card, certificate, COLUMNS, EVENT, sample_weight=weight)
        assert verdict.accepted, verdict.failures
        assert "by the outcomes alone, the net benefit is" in verdict.checks[3].text
        other = 1 - EVENT
        assert not verify(case.card, certificate, COLUMNS, other, sample_weight=weight).accepted


@pytest.mark.parametrize("strength", [np.inf, 50])
@pytest.mark.parametrize("weighted", [False, True])
def test_raw_columns_and_a_teacher(strength: float, weighted: bool) -> None:
    rng = np.random.default_rng(4)
    age, sex = rng.integers(20, 90, 150), rng.choice(["f", "m"], 150)
    risk = 1 / (1 + np.exp(-(age - 55) / 12 + (sex == "f")))
    y = rng.random(150) < risk
    rows = {"age": age, "sex": sex.astype(object)}
    weight = rng.uniform(0.5, 2, 150) if weighted else None
    model = RiskScoreClassifier(
        thresholds=[0.2, 0.5],
        binner="auto",
        teacher=risk,
        prior_strength=strength,
        solver="local" if weighted else "exact",
        max_points=2,
        time_limit=1,
    )
    model.fit(rows, y, sample_weight=weight)
    verdict = verify(model.scorecard_, model.certificate_, rows, y, sample_weight=weight)
    assert verdict.accepted, verdict.failures
    rows["age"] = age + (np.arange(150) == 3) * 40
    assert not verify(model.scorecard_, model.certificate_, rows, y, sample_weight=weight).accepted


# -- random problems -----------------------------------------------------------------------------


def accepted(problem: Problem, result: SolverResult, taught: Taught | None = None) -> Verdict:
    made = make_certificate(problem, result, taught=taught)
    certificate = Certificate.from_json(made.to_json())
    card = assemble_card(problem, result, Provenance(version="0"))
    return verify(card, certificate, problem.patterns)


@settings(max_examples=60)
@given(
    problems(max_points=2, max_rows=7, max_columns=3, taught=False),
    st.sampled_from(["double", ""]),
)
def test_true_proofs_are_accepted(problem: Problem, start: str) -> None:
    verdict = accepted(problem, prove(problem, start=start))
    assert verdict.accepted, verdict.failures


@settings(max_examples=60)
@given(st.data(), st.sampled_from([None, Fraction(1, 3), Fraction(50)]), st.booleans())
def test_true_proofs_of_taught_cards_are_accepted(
    data: st.DataObject, strength: Fraction | None, rated: bool
) -> None:
    problem = data.draw(
        constrained()
        if rated
        else problems(
            max_points=2, max_rows=7, max_columns=3, taught=False, real=data.draw(st.booleans())
        )
    )
    problem, taught = teach_problem(problem, strength)
    verdict = accepted(problem, prove(problem), taught)
    assert verdict.accepted, verdict.failures


@settings(max_examples=25)
@given(problems(max_points=2, max_rows=7, max_columns=3, real=True, taught=False))
def test_true_proofs_with_rounded_gains_are_accepted(problem: Problem) -> None:
    verdict = accepted(problem, prove(problem))
    assert verdict.accepted, verdict.failures


@st.composite
def constrained(draw: st.DrawFn) -> Problem:
    """Problems with every kind of constraint."""
    table = draw(
        tables(max_rows=8, max_columns=3, kinds=("binary", "small", "tenths"), taught=False)
    )
    grid = draw(st.sampled_from(GRIDS))
    name = st.sampled_from(table.names)
    some = st.lists(name, min_size=1, max_size=3, unique=True)
    rate = st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
    p = st.sampled_from(grid.values[1:])
    one: st.SearchStrategy[Constraint] = st.one_of(
        st.builds(Sign, name, st.sampled_from("+-")),
        st.builds(Values, name, st.sets(st.integers(-2, 2), min_size=1)),
        st.builds(MaxFeatures, st.integers(0, 3)),
        st.builds(MaxQuestions, st.integers(0, 2)),
        some.map(lambda names: Include(*names)),
        some.map(lambda names: Exclude(*names)),
        some.map(lambda names: Exclusive(*names)),
        st.builds(AtMost, st.integers(0, 2), some),
        st.builds(AtLeast, st.integers(0, 2), some),
        st.builds(Implies, name, name),
        st.builds(MaxTotalPoints, st.integers(0, 4)),
        st.builds(MinTPR, p, rate),
        st.builds(MaxFPR, p, rate),
    )
    constraints = draw(st.lists(one, min_size=1, max_size=3))
    asked = draw(st.none() | some_questions(table))
    try:
        problem = Problem.build(table, grid, max_points=2, constraints=constraints, questions=asked)
    except InputError:
        assume(False)
    assume(any(problem.feasible(v) for v in all_vectors(problem.lower, problem.upper)))
    return problem


@st.composite
def one_hot(draw: st.DrawFn, *, penalty: float = 0.0) -> Problem:
    """Problems whose first columns are a one-hot group, and whose size costs nothing."""
    n, width = draw(st.integers(3, 7)), draw(st.integers(2, 3))
    group = np.eye(width)[draw(st.lists(st.integers(0, width - 1), min_size=n, max_size=n))]
    other = draw(st.lists(st.sampled_from([0, 1, 0.5]), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n).filter(lambda y: 0 < sum(y) < n))
    X = np.column_stack([group, other]) if draw(st.booleans()) else group
    table = PatternTable.from_arrays(X, y)
    bounds = {0: draw(st.sampled_from([(-2, 2), (-1, 2), (0, 2)]))}
    grid = draw(st.sampled_from(GRIDS))
    return Problem.build(table, grid, max_points=2, bounds=bounds, penalty=penalty)


@settings(max_examples=40)
@given(one_hot(), st.sampled_from(["double", "shift", "whole"]))
def test_true_proofs_with_shifts_are_accepted(problem: Problem, start: str) -> None:
    verdict = accepted(problem, prove(problem, start=start))
    assert verdict.accepted, verdict.failures


def test_shifts_are_met_and_judged() -> None:
    X = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    table = PatternTable.from_arrays(X, [0, 1, 1, 0, 1, 0])
    problem = Problem.build(table, Thresholds.tenths(), max_points=2, penalty=0)
    result = prove(problem, start="shift")
    certificate = make_certificate(problem, result)
    assert result.proof is not None
    assert result.proof.boxes is not None
    assert Reason.SHIFTED in result.proof.boxes.reasons.tolist()
    verdict = accepted(problem, result)
    assert verdict.accepted, verdict.failures
    card = assemble_card(problem, result, Provenance(version="0"))
    lie = with_boxes(
        certificate,
        lambda boxes: boxes["reasons"].__setitem__(boxes["reasons"] == Reason.FLOW, Reason.SHIFTED),
    )
    failures = verify(card, lie, table).failures
    assert any("is claimed to be shifted, but cannot be" in failure for failure in failures)


@settings(max_examples=40)
@given(constrained())
def test_true_proofs_with_constraints_are_accepted(problem: Problem) -> None:
    result = prove(problem)
    certificate = Certificate.from_json(make_certificate(problem, result).to_json())
    card = assemble_card(problem, result, Provenance(version="0"))
    verdict = verify(card, certificate, problem.patterns)
    assert verdict.accepted, verdict.failures


@settings(max_examples=examples(100))
@given(st.data())
def test_a_false_bound_is_never_accepted(data: st.DataObject) -> None:
    """A worse card with a bound below the optimum, and boxes that were made to fit."""
    problem = data.draw(
        problems(max_points=2, max_rows=7, max_columns=2, taught=False)
        | constrained()
        | one_hot()
        | asking(),
        label="problem",
    )
    taught = None
    if data.draw(st.booleans()):
        problem, taught = teach_problem(problem, data.draw(st.sampled_from([None, Fraction(9)])))
    result = prove(problem, start=data.draw(st.sampled_from(["double", "shift"])))
    best = problem.evaluate(result.points).objective
    others = [
        v
        for v in all_vectors(problem.lower, problem.upper)
        if problem.feasible(v) and problem.evaluate(v).objective < best
    ]
    assume(others)
    points = data.draw(st.sampled_from(others))
    bound = problem.evaluate(points).objective
    top = IntegerProblem.of(problem).from_objective(bound)
    assert result.proof is not None
    assert result.proof.boxes is not None
    boxes, leaves = result.proof.boxes, []
    for low, high, value, reason in zip(
        boxes.lower, boxes.upper, boxes.values.tolist(), boxes.reasons.tolist(), strict=True
    ):
        if value > top or data.draw(st.integers(0, 9)) == 0:
            lie = data.draw(st.sampled_from(["lower", "lose", "shift", "shrink", *Reason]))
            value = min(value, top)
            if lie == "lose":
                continue
            if lie == "shift":
                low, high = low + 1, high + 1
            elif lie == "shrink":
                high = np.maximum(low, high - 1)
            elif lie != "lower":
                reason = lie
        leaves.append((low, high, value, Reason(reason)))
    if not leaves:
        leaves = [(problem.lower, problem.upper, top, Reason.FLOW)]
    found = with_proof(problem, points, leaves)
    found = replace(found, proof=replace(found.proof, bound=bound))
    card = assemble_card(problem, found, Provenance(version="0"))
    certificate = make_certificate(problem, found, taught=taught)
    verdict = verify(card, certificate, problem.patterns)
    assert not verdict.accepted


@settings(max_examples=60)
@given(st.data())
def test_the_judge_counts_as_the_reference_does(data: st.DataObject) -> None:
    problem = data.draw(problems(max_points=3, real=data.draw(st.booleans()), taught=False))
    taught = None
    if data.draw(st.booleans()):
        problem, taught = teach_problem(problem, data.draw(st.sampled_from([None, Fraction(9)])))
    statement = make_certificate(problem, _zero_result(problem), taught=taught).problem
    recount, integers = RecountedProblem(statement, problem.patterns), IntegerProblem.of(problem)
    pairs = zip(problem.lower.tolist(), problem.upper.tolist(), strict=True)
    vectors = [[data.draw(st.integers(a, b)) for a, b in pairs] for _ in range(1)]
    whole = recount.in_integers(integers.total)
    # Losses beyond all gains count as these: summed before rounding, or after it, as in the judge.
    apart = integers.gains - whole.gains
    assert apart.min() >= 0
    assert apart.max() <= (0 if integers.exact else integers.gains.shape[1])
    assert (whole.price, whole.question_price) == (integers.price, integers.question_price)
    for vector in vectors:
        worth, value = recount.evaluate(vector), problem.evaluate(vector)
        assert worth is not None
        assert worth.objective == value.objective
        assert worth.cutoffs == value.cutoffs
        best = whole.highest(np.array([vector]))
        assert best is not None
        assert best[0] <= integers.value(vector)
        assert best[0] == integers.value(vector) or not integers.exact
        assert whole.to_objective(best[0]) >= worth.objective
        if problem.patterns.is_whole:
            benefit = reference.weighted_net_benefit(problem.patterns, problem.thresholds, vector)
            asked = count_questions(problem, np.array(vector))
            further = sum(v != 0 for v in vector) - asked
            paid = problem.penalty * asked + problem.rule_penalty * further
            assert worth.objective == benefit - paid
            assert list(worth.cutoffs) == reference.cutoffs(
                problem.patterns, problem.thresholds, vector
            )


def _zero_result(problem: Problem) -> SolverResult:
    from netbenefit.solvers.base import Run

    return Run(problem, "test", float("inf")).result(problem.nearest_to_zero(), "finished")


# -- terms ---------------------------------------------------------------------------------------


def test_columns_that_are_conditions() -> None:
    raw = {
        "years": np.array([30.0, 45.0, 61.0, 70.0, 52.0, 38.0]),
        "sex": np.array(["f", "m", "m", "f", "f", "m"], dtype=object),
        "dose": np.array([0.2, 3.0, 0.5, 1.0, 0.1, 7.0]),
    }
    event = np.array([0, 0, 1, 1, 1, 0])
    terms = [
        Condition("years", ">=", 50),
        Condition("sex", "==", "m"),
        PerUnit("dose", decimals=1, upper=1.0),
    ]
    made = {
        "old": terms[0].holds(raw["years"]),
        "male": terms[1].holds(raw["sex"]),
        "dose": terms[2].codes(raw["dose"]) / 10,
    }
    table = PatternTable.from_columns(made, event)
    problem = Problem.build(table, Thresholds.of([0.3, 0.6]), max_points=2)
    result = prove(problem)
    rules = [Rule(t, p) for t, p in zip(terms, result.points.tolist(), strict=True) if p]
    card = assemble_card(problem, result, Provenance(version="0"))
    card = replace(card, rules=rules, feature_names=tuple(raw))
    certificate = make_certificate(problem, result, card, terms=terms)
    verdict = verify(card, certificate, raw, event)
    assert verdict.accepted, verdict.failures
    assert "scores" in [check.name for check in verdict.checks]
    raw["years"][2] = 49.0
    assert not verify(card, certificate, raw, event).accepted


# -- independence --------------------------------------------------------------------------------


def test_the_judge_imports_no_solver_and_no_compiler() -> None:
    code = "import sys, netbenefit.certificates.judge; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    rooms = {name.split(".")[1] for name in loaded if name.startswith("netbenefit.")}
    assert "certificates" in rooms
    assert not {"solvers", "teachers", "estimators"} & rooms
    assert not {"numba", "highspy"} & set(loaded)


def test_the_judge_calls_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the small integer program that finds points which meet all constraints."""
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, 2, 200) for name in "abcd"}
    event = rng.random(200) < 0.1 + 0.4 * columns["a"] + 0.3 * columns["b"]
    model = RiskScoreClassifier(
        binner=None,
        teacher=None,
        max_points=2,
        constraints=[AtLeast(2, ["a", "b", "c"]), Implies("c", "d")],
        n_jobs=1,
    ).fit(columns, event)

    def solve(*args: Any, **options: Any) -> None:
        raise AssertionError("a solver was called")

    monkeypatch.setattr("scipy.optimize.milp", solve)
    verdict = verify(model.scorecard_, model.certificate_, columns, event)
    assert verdict.accepted, verdict.failures


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, case: Case) -> tuple[Path, Path, Path]:
    card, certificate, data = (tmp_path / n for n in ("card.json", "proof.json.gz", "data.csv"))
    case.card.save(card)
    case.certificate.save(certificate)
    names = [*COLUMNS, "ill"]
    rows = zip(*(COLUMNS[name].tolist() for name in COLUMNS), EVENT.tolist(), strict=True)
    text = "\n".join(",".join(map(str, row)) for row in [names, *rows])
    data.write_text(text + "\n")
    return card, certificate, data


@pytest.mark.parametrize("target", [None, "ill"])
def test_the_command_accepts(
    case: Case,
    files: tuple[Path, Path, Path],
    capsys: pytest.CaptureFixture[str],
    target: str | None,
) -> None:
    verify_command(*files[:2], [str(files[2])], target=target)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ data")
    assert lines[-1] == f"accepted: no allowed card is better; {case.words}"


def test_the_command_refuses(
    files: tuple[Path, Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    text = files[2].read_text()
    files[2].write_text(text.replace("\n2,1.5,0,1\n", "\n1,1.5,0,1\n"))
    with pytest.raises(typer.Exit) as ended:
        verify_command(*files[:2], [str(files[2])])
    assert ended.value.exit_code == 1
    out = capsys.readouterr().out
    assert "✗ data  these are not the rows of the certificate: " in out
    assert "refused: data did not hold" in out


def test_the_command_names_files_that_cannot_be_read(files: tuple[Path, Path, Path]) -> None:
    card, certificate, data = files
    with pytest.raises(InputError, match="no such file"):
        verify_command(card, card.with_name("other.json"), [str(data)], debug=True)
    with pytest.raises(InputError, match="not a certificate"):
        verify_command(card, card, [str(data)], debug=True)
    certificate.write_bytes(certificate.read_bytes()[:-20])
    with pytest.raises(InputError, match="not a whole gzip file"):
        verify_command(card, certificate, [str(data)], debug=True)


def test_copies_of_a_true_box_do_not_hide_a_false_one() -> None:
    """One false box for everything among many true ones: a draw by number would miss it."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (40, 3))
    table = PatternTable.from_arrays(X, (X[:, 0] + rng.integers(0, 3, 40)) > 2)
    problem = Problem.build(table, Thresholds.tenths(), penalty=0.0, max_points=3)
    result = BranchAndBound(time_limit=None).solve(problem)
    worse = np.array([0, 0, 1])
    integers = IntegerProblem.of(problem)
    value = integers.from_objective(problem.evaluate(worse).objective)
    assert value < integers.from_objective(problem.evaluate(result.points).objective)
    copies = 5000
    lower = np.vstack([problem.lower, np.tile(worse, (copies, 1))])
    upper = np.vstack([problem.upper, np.tile(worse, (copies, 1))])
    reasons = np.array([Reason.FLOW] + [Reason.COUNTED] * copies, dtype=np.uint8)
    forged = Boxes(lower, upper, np.full(copies + 1, value), reasons)
    proof = Proof("branch and bound", integers.to_objective(value), boxes=forged)
    run = Run(problem, "forged", np.inf)
    run.report(1, 0, worse)
    run.finish_proof(proof)
    answer = run.result(worse, "finished")
    card = assemble_card(problem, answer, Provenance(version="0"))
    verdict = verify(card, make_certificate(problem, answer, card), table, sample=20, seed=0)
    assert not verdict.accepted
    assert any("overlap" in failure for failure in verdict.failures)
    assert any("box" in check.text for check in verdict.checks if check.name == "values")


def test_limits_without_their_constraints_differ() -> None:
    table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1])
    problem = Problem.build(table, Thresholds.of([0.5]), bounds={"x0": (0, 3)})
    statement = make_certificate(problem, LocalSearch().solve(problem)).problem
    assert limits_differ(statement, table, [1]) is None
    statement.constraints.clear()
    assert limits_differ(statement, table, [1]) == "the limits are not those of its constraints"


def test_expected_risks_are_rates_or_middles() -> None:
    table = PatternTable.from_arrays([[0], [1], [1], [1], [1]], [0, 1, 1, 0, 1])
    problem = Problem.build(table, Thresholds.of([0.5]), penalty=0.01)
    certificate = make_certificate(problem, LocalSearch().solve(problem))
    recount = RecountedProblem(certificate.problem, table)
    card: Any = SimpleNamespace(thresholds=problem.thresholds)
    rates, middles = _by_level(card, certificate.answer, recount)
    assert [risk for _, risk in rates] == [0.0, 0.75]
    assert [risk for _, risk in middles] == [0.25, 0.75]

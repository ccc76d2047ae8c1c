"""What a forger tries: changed leaves, coarse scales, bombs, and texts that steer a terminal."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from netbenefit.binning.binner import Binner
from netbenefit.cards.labels import Labels
from netbenefit.cards.rules import HeldOut, HeldOutLevel
from netbenefit.cards.scorecard import Provenance
from netbenefit.cards.terms import PerUnit
from netbenefit.certificates.boxes import BoxChecker, _check_cover
from netbenefit.certificates.certificate import Certificate, json_digest, make_certificate
from netbenefit.certificates.judge import Verdict, verify
from netbenefit.certificates.recount import RecountedProblem
from netbenefit.certificates.statement import Claim, ValueScale
from netbenefit.cli.verify import verify as verify_command
from netbenefit.common.checks import InputError
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.training import assemble_card
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraints import MaxFeatures, MaxFPR, MaxQuestions, MinTPR
from netbenefit.problem.problem import Boxes, IntegerProblem, Problem, Reason
from netbenefit.problem.questions import Questions
from netbenefit.solvers.base import Run
from tests.certificates.test_packing import checker_of, some_boxes
from tests.certificates.test_verify import COLUMNS, EVENT, RISKS, Case, learnt
from tests.helpers.small_proofs import all_vectors, best_points, prove

# -- every leaf ------------------------------------------------------------------------------------


def signed(data: dict[str, Any]) -> str:
    """A certificate's JSON with digests that fit."""
    if isinstance(data["problem"], dict):
        problem = {key: value for key, value in data["problem"].items() if key != "digest"}
        data["problem"]["digest"] = json_digest(problem)
    data["digest"] = json_digest({key: value for key, value in data.items() if key != "digest"})
    return json.dumps(data)


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of some JSON, and every list and object as well."""
    yield path, data
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            yield from leaves(value, (*path, key))


def mutations(path: tuple[Any, ...], value: Any) -> Iterator[Any]:
    """Other values that a leaf may get."""
    if isinstance(value, bool):
        yield from (not value, None)
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -value - 7, None, "1")
    elif value is None:
        yield from (0, "x", [])
    elif isinstance(value, list):
        yield from (value[1:], [*value, *value[-1:]], value[::-1], None)
    elif isinstance(value, dict):
        yield from ({}, None)
    elif KINDS.get(path[-1]) and path[-1] in KINDS:
        numbers = np.frombuffer(zlib.decompress(base64.b64decode(value)), KINDS[path[-1]])
        for place in range(numbers.size):
            for by in (-1, 1):
                other = numbers.copy()
                other[place : place + 1] += np.array(by).astype(numbers.dtype)  # may wrap
                yield base64.b64encode(zlib.compress(other.tobytes())).decode()
        yield base64.b64encode(zlib.compress(numbers[:-1].tobytes())).decode()
        yield value[:-8]
    else:
        yield from (value + "x", "", "\x1b[31m", "1/3", "1", "-1", 1)


#: Arrays that are packed.
KINDS = {
    "lower": "<i4", "upper": "<i4", "values": "<i8", "reasons": "<u1", "asked": "<u1",
    "expected": "<i8", "threshold": "<i4", "conflict_start": "<i8", "pattern": "<i4",
    "times": "<i8", "start": "<i8", "conflict": "<i4", "amount": "<i8", "way": "<u1",
    "fine_start": "<i8", "limit": "<i4", "fine": "<i8",
}  # fmt: skip


def claims(case: Case, certificate: Certificate) -> list[Any]:
    """Everything that a certificate claims, beside its bound: what a reader may rely on."""
    stated, answer = certificate.problem, certificate.answer
    said = json.loads(certificate.to_json())["problem"]
    used = [k for k, points in enumerate(answer.points) if points]
    raw = {stated.terms[k].feature for k in used}
    return [
        answer,
        *(said[key] for key in CLAIMED),
        sorted({json.dumps(item) for item in said["constraints"]}),
        {stated.terms[k]: answer.points[k] for k in used},
        sorted(str(reading) for reading in said["readings"] if reading["feature"] in raw),
        {(tuple(one["columns"]), one["spread"]) for one in said["questions"]},
        RecountedProblem(stated, case.problem.patterns).masses,
    ]


CLAIMED = (
    "data", "thresholds", "weights", "objective", "penalty", "rule_penalty", "lower", "upper",
    "max_points", "max_features", "max_questions", "limits", "features",
)  # fmt: skip


def packed(case: Case) -> Case:
    """The same case with a proof of packed boxes, with flags and random multipliers."""
    problem, rng = case.problem, np.random.default_rng(5)
    recount = RecountedProblem(case.certificate.problem, problem.patterns)
    integers = IntegerProblem.of(problem)
    boxes = some_boxes(rng, problem, 3)
    flags = np.full((3, len(problem.questions)), 2)
    flags[:, 0] = 0, 1, 1
    lower, upper = np.tile(problem.lower, (3, 1)), np.tile(problem.upper, (3, 1))
    upper[1, -1], lower[2, -1] = -1, 0
    boxes = replace(boxes, lower=lower, upper=upper, asked=flags)
    checker = checker_of(recount.in_integers(integers.total), boxes)
    values = [checker.packed.highest(checker.tight, b, b) for b in range(3)]
    result = prove(problem)
    bound = integers.to_objective(max(values))
    proof = replace(result.proof, bound=bound, boxes=replace(boxes, values=np.array(values)))
    result = replace(result, proof=proof, bound=float(bound), status="finished")
    card = replace(case.card, provenance=None)
    certificate = make_certificate(problem, result, card, taught=case.taught, bins=case.bins)
    return replace(case, card=card, certificate=certificate)


GROUPS = {"binner": Binner(cuts={"age": [1, 2], "dose": [1.0]})}
CASES: dict[str, Callable[[], Case]] = {
    "small": lambda: learnt(MaxFeatures(2)),
    "rates": lambda: learnt(MinTPR(0.5, "2/3"), MaxFPR(0.2, "2/3")),
    "blended": lambda: learnt(MaxFeatures(2), teacher=RISKS, prior_strength=20),
    "groups": lambda: packed(learnt(MaxFeatures(3), MaxQuestions(2), **GROUPS)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_leaf_is_refused_or_changes_nothing(name: str) -> None:
    case = CASES[name]()
    assert case.verdict().accepted, case.verdict().failures
    best = case.problem.evaluate(best_points(case.problem)).objective
    original = json.loads(case.certificate.to_json())
    claimed = claims(case, case.certificate)
    tried = survived = 0
    for path, value in leaves(original):
        if not path or (path[-1] == "digest" and len(path) < 3):
            continue
        for other in mutations(path, value):
            if other == value:
                continue
            data = copy.deepcopy(original)
            parent = data
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = other
            tried += 1
            try:
                certificate = Certificate.from_json(signed(data))
            except InputError:
                continue
            verdict = replace(case, certificate=certificate).verdict()
            if not verdict.consistent:
                continue
            survived += 1
            claim = certificate.proof
            assert claims(case, certificate) == claimed, path
            if claim is not None:
                assert claim.bound >= best, path
                assert claim.slack == 0
            if claim is None or claim.bound > case.certificate.proof.bound:
                assert "no allowed card is better;" not in verdict.summary
    assert tried > 600
    assert survived < tried / 4


# -- scales ----------------------------------------------------------------------------------------


def coarse(problem: Problem, worse: Any, total: Fraction) -> Certificate:
    """A worse card, and a bound whose values are rounded up so much that they may mean anything."""
    result = prove(problem)
    honest = make_certificate(problem, replace(result, points=np.array(worse)))
    whole = RecountedProblem(honest.problem, problem.patterns).in_integers(total)
    ceiling = Boxes(
        problem.lower[None],
        problem.upper[None],
        np.array([int(np.maximum(whole.gains, 0).sum())]),
        np.array([Reason.PACKED]),
    )
    scale = ValueScale(total, whole.constant, whole.price, whole.question_price, whole.exact)
    bound = whole.to_objective(int(ceiling.values[0]))
    claim = Claim("forgery", bound, whole.rounding, {}, scale, ceiling)
    return Certificate.from_json(replace(honest, proof=claim).to_json())


def judged(problem: Problem, certificate: Certificate, status: str | None = None) -> Verdict:
    run = Run(problem, "forged", float("inf"))
    result = run.result(np.array(certificate.answer.points), "finished")
    card = assemble_card(problem, result, Provenance(version="0"))
    card = replace(card, provenance=Provenance(version="0", status=status))
    return verify(card, certificate, problem.patterns)


def test_a_coarse_scale_is_refused_where_whole_numbers_would_do() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (30, 2))
    table = PatternTable.from_arrays(X, X[:, 0] + rng.integers(0, 3, 30) > 2)
    problem = Problem.build(table, Thresholds.tenths(), max_points=2)
    for total in (Fraction(1), Fraction(100), Fraction(1, 7)):
        lie = coarse(problem, [0, 0], total)
        assert lie.proof is not None
        assert lie.proof.bound <= lie.answer.objective + lie.proof.rounding  # what was believed
        verdict = judged(problem, lie)
        assert any("which nothing makes necessary" in text for text in verdict.failures)
        assert not verdict.consistent


@pytest.mark.parametrize("name", ["small", "rates"])
def test_a_scale_beyond_64_bits_is_refused(name: str) -> None:
    """Losses that rates force may be cut; gains may not, nor wrap around."""
    case = CASES[name]()
    recount = RecountedProblem(case.certificate.problem, case.problem.patterns)
    integers = recount.in_integers(IntegerProblem.of(case.problem).total)
    most = int(integers.gains.max())
    for bits in range(62, 80):
        with pytest.raises(InputError, match="could exceed 64-bit"):
            recount.in_integers(integers.total * -(-(2**bits) // most))


@pytest.mark.parametrize("real", [True, False])
def test_rounding_that_matters_makes_nothing_optimal(real: bool) -> None:
    """Real weights, or a threshold next to 1, have no whole scale: then the gap is shown."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (30, 2))
    weight = rng.random(30) + 0.5 if real else None
    table = PatternTable.from_arrays(X, X[:, 0] + rng.integers(0, 3, 30) > 2, sample_weight=weight)
    grid = Thresholds.tenths() if real else Thresholds.of([0.5, 1 - 1e-12])
    problem = Problem.build(table, grid, max_points=2)
    lie = coarse(problem, [0, 0], Fraction(10))
    assert lie.proof is not None
    assert lie.proof.bound <= lie.answer.objective + lie.proof.rounding
    verdict = judged(problem, lie)
    assert verdict.accepted, verdict.failures
    assert "so that nothing is called optimal" in str(verdict.checks)
    assert re.search("no allowed card is (better by|worth) more than", verdict.summary)
    assert any("calls itself optimal" in text for text in judged(problem, lie, "optimal").failures)
    fine = coarse(problem, prove(problem).points.tolist(), Fraction(2**50))
    verdict = judged(problem, fine)
    assert verdict.accepted, verdict.failures
    assert "which is negligible" in str(verdict.checks)


# -- what scores and what is printed ---------------------------------------------------------------


def test_a_logarithm_is_one_in_the_data_too() -> None:
    """A card and a certificate that say ln(1 + age), while the boxes are about age."""
    case = CASES["small"]()
    wide = {**COLUMNS, "age": COLUMNS["age"] * 10}
    terms = [
        term if term.feature == "male" else replace(term, log=True)
        for term in case.certificate.problem.terms
    ]
    problem = replace(case.certificate.problem, terms=tuple(terms))
    logs = {term.feature: term for term in terms}
    rules = tuple(replace(rule, term=logs[rule.term.feature]) for rule in case.card.rules)
    lie = replace(case.certificate, problem=problem)
    card = replace(case.card, rules=rules)
    assert not verify(card, lie, COLUMNS, EVENT).consistent
    assert not verify(card, lie, wide, EVENT).consistent
    unchecked = verify(card, lie, case.problem.patterns)
    assert unchecked.consistent
    assert not unchecked.accepted
    assert unchecked.summary.startswith("consistent, but not all of the columns are known")


def test_what_a_card_prints_is_compared() -> None:
    case = CASES["small"]()
    card, origin = case.card, case.card.provenance
    assert origin is not None
    rule = next(rule for rule in card.rules if rule.term.feature != "male")
    assert isinstance(rule.term, PerUnit)
    flagged = replace(rule, term=replace(rule.term, binary=True))
    rules = tuple(flagged if one is rule else one for one in card.rules)
    lies = {
        "yes or no": replace(card, rules=rules),
        "the columns of an array are": replace(card, feature_names=card.feature_names[::-1]),
        "it says prevalence": replace(card, provenance=replace(origin, prevalence=0.49)),
        "it says status": replace(card, provenance=replace(origin, status="proven optimal")),
    }
    for text, lie in lies.items():
        failures = replace(case, card=lie).verdict().failures
        assert any(text in failure for failure in failures), text
    terms = tuple(
        replace(t, binary=True) if t == rule.term else t for t in case.certificate.problem.terms
    )
    both = replace(case.certificate, problem=replace(case.certificate.problem, terms=terms))
    failures = replace(case, card=lies["yes or no"], certificate=both).verdict().failures
    assert failures == [
        f"problem: column {rule.term.feature!r} is called yes or no, but holds other numbers"
    ]
    for label in (1, 1.0, True):
        assert case.verdict(outcome=("ill", label)).accepted
    unnamed = replace(card, provenance=replace(origin, outcome="outcome = 1"))
    assert replace(case, card=unnamed).verdict(outcome=("died", 1)).accepted
    for other in (("well", 1), ("ill", 0)):
        (failure,) = case.verdict(outcome=other).failures
        assert f"those of 'ill = 1', the events here are '{other[0]} = {other[1]}'" in failure


def test_what_is_stated_of_a_teacher_is_listed_as_not_recounted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not CASES["small"]().verdict().stated
    case = CASES["blended"]()
    lesson, origin = case.certificate.problem.teacher, case.card.provenance
    assert lesson is not None
    assert origin is not None
    true = case.verdict()
    assert true.accepted
    assert true.stated[0] == (
        f"the teacher's net benefit is {lesson.net_benefit:.6f} by the outcomes, "
        f"{lesson.blended_benefit:.6f} by the masses"
    )
    worse = lesson._replace(blended_benefit=lesson.blended_benefit / 2)
    problem = replace(case.certificate.problem, teacher=worse)
    assert origin.share_kept is not None
    assert origin.share_bound is not None
    kept, most = 2 * origin.share_kept, 2 * origin.share_bound
    lie = replace(
        case,
        certificate=replace(case.certificate, problem=problem),
        card=replace(case.card, provenance=replace(origin, share_kept=kept, share_bound=most)),
    )
    text = f"of the latter, the card keeps {kept:.3%}, and none more than {most:.3%}"
    assert lie.verdict().stated[1] == text
    card, proof, table = tmp_path / "card.json", tmp_path / "proof.json", tmp_path / "data.csv"
    lie.card.save(card)
    lie.certificate.save(proof)
    rows = zip(*(column.tolist() for column in COLUMNS.values()), EVENT.tolist(), strict=True)
    table.write_text("\n".join(",".join(map(str, row)) for row in [[*COLUMNS, "ill"], *rows]))
    verify_command(card, proof, [str(table)])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"· stated not recounted: {text}" in shown


def test_what_a_card_adds_is_listed_as_not_recounted() -> None:
    case = CASES["small"]()
    origin = case.card.provenance
    assert origin is not None
    columns = {"age": {"label": "Body mass index"}}
    labels = Labels.read({"title": "Trusted", "outcome": "cured", "columns": columns})
    card = replace(
        case.card,
        provenance=replace(origin, updated="never"),
        held_out=HeldOut(0.9, (HeldOutLevel(None, 100.0, 50.0, 0.4, 0.6),)),
        labels=labels,
    )
    assert replace(case, card=card).verdict().stated == (
        "the card's net benefit is 0.900000 on 100 other rows",
        "the card calls title 'Trusted'",
        "the card calls outcome 'cured'",
        "the card calls 'age' 'Body mass index'",
        "the card says that it was updated: never",
    )


def test_a_fill_is_compared_both_ways() -> None:
    case = learnt(MaxFeatures(3), MaxQuestions(2), **GROUPS)
    card = case.card
    assert card.readings
    for readings in (
        card.readings[1:],
        (replace(card.readings[0], fill=1.5), *card.readings[1:]),
        (replace(card.readings[0], special=(-9,)), *card.readings[1:]),
    ):
        failures = replace(case, card=replace(card, readings=readings)).verdict().failures
        assert any("it reads column" in failure for failure in failures)


def test_all_limits_of_a_proof_are_printed() -> None:
    case = learnt(MaxFeatures(2), MaxQuestions(2), MinTPR(0.5, "1/2"))
    (text,) = (check.text for check in case.verdict().checks if check.name == "problem")
    for constraint in case.problem.constraints:
        assert str(constraint) in text


def test_columns_without_points_are_named() -> None:
    table = PatternTable.from_arrays([[0, 0.5], [1, 0.5], [1, 0.5]], [0, 1, 1], names=["a", "half"])
    problem = Problem.build(table, Thresholds.of([0.5]))
    certificate = make_certificate(problem, prove(problem))
    verdict = judged(problem, certificate)
    assert verdict.accepted, verdict.failures
    assert "left out, as columns without points: half" in str(verdict.checks)


# -- files that are hostile ------------------------------------------------------------------------


def test_counts_are_bounded_before_memory_is_taken() -> None:
    data = json.loads(CASES["small"]().certificate.to_json())
    huge = 10**8
    zeros = base64.b64encode(zlib.compress(bytes(huge), 9)).decode()
    data["proof"]["boxes"].update(count=huge, columns=1, reasons=zeros, values=zeros, lower=zeros)
    for count in (huge, 2**62):
        data["proof"]["boxes"].update(count=count)
        with pytest.raises(InputError, match=f"lower cannot hold {count:,} entries"):
            Certificate.from_json(signed(data))


def test_a_small_file_with_many_boxes_is_no_bomb() -> None:
    """Arrays that hardly vary, as those of reasons and flags, are much smaller when packed."""
    case = CASES["small"]()
    assert case.certificate.proof is not None
    boxes = case.certificate.proof.boxes
    copies = 10**5
    many = Boxes(
        *(np.repeat(part[:1], copies, axis=0) for part in (boxes.lower, boxes.upper)),
        np.repeat(boxes.values[:1], copies),
        np.repeat(boxes.reasons[:1], copies),
        np.full((copies, 3), 2),
    )
    proof = replace(case.certificate.proof, boxes=many)
    text = replace(case.certificate, proof=proof).to_json()
    assert len(text) < 20_000
    read = Certificate.from_json(text).proof
    assert read is not None
    assert len(read.boxes) == copies


def test_bombs_and_broken_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "proof.json.gz"
    text = CASES["small"]().certificate.to_json()
    packed_text = gzip.compress(text.encode())
    for content, message in (
        (gzip.compress(b" " * 10**8), "would take more than"),
        (packed_text[:-9], "not a whole gzip file"),
        (packed_text + b"more", "not a whole gzip file"),
        (b"\x1f\x8b" + b"0" * 40, "not a whole gzip file"),
        (text[: len(text) // 2].encode(), "not JSON"),
        (text.replace('"max_points": 2', f'"max_points": {"9" * 5000}').encode(), "too large"),
        (text.replace('"max_points": 2', '"max_points": 1e999').encode(), "holds what JSON cannot"),
        (b"[" * 10**5, "too large to read"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            Certificate.load(path)
    data = json.loads(text)
    data["problem"]["penalty"] = "1/" + "9" * 5000
    with pytest.raises(InputError, match=r"problem\.penalty must be a fraction"):
        Certificate.from_json(signed(data))


def test_texts_of_a_file_do_not_steer_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[2J[bold]proven[/bold]\u202eneb\r\n✓ bound\x07"
    case = CASES["blended"]()
    lesson = case.certificate.problem.teacher
    assert lesson is not None
    assert case.certificate.proof is not None
    certificate = replace(
        case.certificate,
        package=evil,
        problem=replace(case.certificate.problem, teacher=lesson._replace(name=evil)),
        proof=replace(case.certificate.proof, method=evil),
    )
    card, proof, table = tmp_path / "card.json", tmp_path / "proof.json", tmp_path / "data.csv"
    case.card.save(card)
    certificate.save(proof)
    rows = zip(*(column.tolist() for column in COLUMNS.values()), EVENT.tolist(), strict=True)
    table.write_text("\n".join(",".join(map(str, row)) for row in [[*COLUMNS, "ill"], *rows]))
    with pytest.raises(typer.Exit) as ended:
        verify_command(card, proof, [str(table)])
    assert ended.value.exit_code == 1
    shown = capsys.readouterr().out
    assert "[bold]proven[/bold]" in shown
    for char in "\x1b\u202e\x07\r":
        assert char not in shown
    assert "\n✓ bound\\x07" not in shown


def test_what_takes_too_long_or_too_much_to_multiply_is_refused() -> None:
    case = CASES["groups"]()
    proof = case.certificate.proof
    assert proof is not None
    packing = proof.boxes.packing
    assert packing is not None
    conflicts = packing.conflicts
    lies = {
        "too large": replace(packing, amount=np.full_like(packing.amount, 2**62)),
        "do not add up to 0": replace(
            packing, conflicts=replace(conflicts, times=np.ones_like(conflicts.times))
        ),
        "times of a conflict are too large": replace(
            packing, conflicts=replace(conflicts, times=conflicts.times * 2**60)
        ),
        "threshold or a pattern": replace(
            packing, conflicts=replace(conflicts, threshold=conflicts.threshold + 99)
        ),
        "a pattern that there is not": replace(
            packing, conflicts=replace(conflicts, pattern=conflicts.pattern + 99)
        ),
        "names a limit": replace(packing, limit=packing.limit + 99),
    }
    for text, other in lies.items():
        lie = replace(proof, boxes=replace(proof.boxes, packing=other))
        certificate = replace(case.certificate, proof=lie)
        failures = replace(case, certificate=certificate).verdict().failures
        assert any(text in failure for failure in failures), (text, failures)


def test_boxes_cover_each_point_once_whatever_their_ends() -> None:
    """Ends may lie far outside, or cross; flags of questions are coordinates like any other."""
    case, rng = CASES["small"](), np.random.default_rng(11)
    problem = case.problem
    recount = RecountedProblem(case.certificate.problem, problem.patterns)
    whole = recount.in_integers(IntegerProblem.of(problem).total)
    points = all_vectors(problem.lower.tolist(), problem.upper.tolist())
    every = np.array([[*v, *f] for v in points for f in np.ndindex(2, 2, 2)])
    far = [0, 1, 2, 40_000, 70_000, 2**31 - 20]
    verdicts = []
    for _ in range(300):
        lower, upper, asked = problem.lower[None], problem.upper[None], np.full((1, 3), 2)
        for _ in range(rng.integers(0, 5)):
            b, k = rng.integers(len(lower)), rng.integers(6)
            lower, upper, asked = (np.vstack([part, part[b]]) for part in (lower, upper, asked))
            if k >= 3:
                asked[b, k - 3], asked[-1, k - 3] = (0, 1) if asked[b, k - 3] == 2 else (0, 2)
            else:
                ends = lower[b, k], upper[b, k]
                cut = rng.integers(min(ends), max(ends) + 1)
                upper[b, k], lower[-1, k] = cut, cut + rng.choice([1, 1, 1, 1, 0, 2])
        lower = lower - np.where(lower == problem.lower, rng.choice(far, lower.shape), 0)
        upper = upper + np.where(upper == problem.upper, rng.choice(far, upper.shape), 0)
        nothing = np.zeros(len(lower), dtype=np.int64)
        checker = BoxChecker(whole, Boxes(lower, upper, nothing, nothing, asked))
        low = np.hstack([lower, np.where(asked == 1, 1, 0)])
        high = np.hstack([upper, np.where(asked == 0, 0, 1)])
        count = ((low <= every[:, None]) & (every[:, None] <= high)).all(axis=2).sum(axis=1)
        verdicts.append(_check_cover(checker).ok)
        assert verdicts[-1] == bool((count == 1).all())
    assert 50 < sum(map(bool, verdicts)) < 250


# -- limits that nobody would see ------------------------------------------------------------------


@pytest.mark.parametrize("third", [1000, 1])
def test_invented_answers_do_not_hide_cards(third: int) -> None:
    """Answers limit points: one that no row gives can keep the best column without any."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (60, 3))
    y = X[:, 0] | (rng.random(60) < 0.2)
    table = PatternTable.from_arrays(X, y, names=["a", "b", "c"])
    of, codes = [0, 1, 2], [[0, 0, 0], [1, 0, 0], [third, 0, 0]]
    if third == 1:  # two columns, of which the first is the second's contrary
        table = PatternTable.from_arrays(
            np.column_stack([X[:, 0], 1 - X[:, 0], X[:, 2]]), y, names=["a", "b", "c"]
        )
        of, codes = [0, 0, 1], [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]
    names = tuple("pqr"[: 1 + max(of)])
    answers = np.array(codes), np.zeros(len(codes), np.int64)
    stated = Questions(names, np.array(of), *answers)
    problem = Problem.build(table, Thresholds.tenths(), max_points=2, questions=stated)
    result = prove(problem)
    card = assemble_card(problem, result, Provenance(version="0"))
    verdict = verify(card, make_certificate(problem, result), table)
    (failure,) = verdict.failures
    assert "may not be listed" in failure if third == 1000 else "no row answers 'p'" in failure


def test_stated_questions_and_spreads_are_printed() -> None:
    table = PatternTable.from_arrays(
        [[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]], [0, 1, 1, 0, 1], names=list("abc")
    )
    rows = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])
    stated = Questions(("ab", "c"), np.array([0, 0, 1]), rows, np.zeros(4, np.int64))
    problem = Problem.build(table, Thresholds.tenths(), max_points=2, questions=stated)
    result = prove(problem)
    card = assemble_card(problem, result, Provenance(version="0"))
    verdict = verify(card, make_certificate(problem, result), table)
    assert verdict.accepted
    text = {check.name: check.text for check in verdict.checks}["problem"]
    assert "answers to a question at most 2 points apart" in text
    assert "'ab' is a question about a, b" in text


def test_columns_are_what_they_are_called() -> None:
    """A certificate about one column twice, or not about all that a card scores, shows that."""
    case = CASES["small"]()
    first, second, *rest = case.certificate.problem.terms
    names = case.certificate.problem.names
    lie = replace(case.certificate.problem, terms=(first, first, *rest))
    failures = replace(case, certificate=replace(case.certificate, problem=lie)).verdict().failures
    assert any("are the same" in f or "not the rows" in f for f in failures)
    verdict = verify(case.card, replace(case.certificate, problem=lie), case.problem.patterns)
    assert f"problem: columns {names[0]!r} and {names[1]!r} are the same: {first.text()}" in (
        verdict.failures
    )
    other = replace(second, feature="other") if isinstance(second, PerUnit) else second
    lie = replace(case.certificate.problem, terms=(first, other, *rest))
    verdict = verify(case.card, replace(case.certificate, problem=lie), case.problem.patterns)
    text = {check.name: check.text for check in verdict.checks}["problem"]
    assert f"{names[1]!r} stands for {other.text()}" in text
    assert f"no rule can be about {second.feature}" in text


def test_answers_are_counted_before_memory_is_taken() -> None:
    data = json.loads(CASES["small"]().certificate.to_json())
    problem, wide = data["problem"], 3000
    names = [f"c{k}" for k in range(wide)]
    problem["columns"] = [{**problem["columns"][0], "name": name} for name in names]
    problem["questions"] = [
        {"name": name, "columns": [k], "answers": [[0]] * (30_000 * (k == 0)), "spread": 2}
        for k, name in enumerate(names)
    ]
    with pytest.raises(InputError, match="30,000 answers about 3,000 columns are too many"):
        Certificate.from_json(signed(data))


@pytest.mark.parametrize("name", ["small", "blended"])
def test_numbers_that_no_float_holds_are_refused(name: str) -> None:
    case, huge = CASES[name](), str(10**400)
    for path in (
        ("proof", "bound"), ("proof", "rounding"), ("answer", "objective"),
        ("answer", "net_benefit"), ("problem", "penalty"), ("problem", "data", "rows"),
    ):  # fmt: skip
        for value in (huge, f"-{huge}"):
            data = json.loads(case.certificate.to_json())
            place = data
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            with pytest.raises(InputError, match="must be a fraction below"):
                Certificate.from_json(signed(data))


def test_gaps_are_never_shown_smaller_than_they_are() -> None:
    case = CASES["small"]()
    proof = case.certificate.proof
    assert proof is not None
    best = case.certificate.answer.objective
    for more, text in (
        (Fraction(12344, 10**6), "1.24%"),
        (Fraction(1, 10**6), "0.00010%"),
        (Fraction(123, 10**9), "0.000013%"),
        (Fraction(1, 10**400), "0.0000000000000000001%"),
    ):
        looser = replace(proof, bound=best * (1 + more))
        verdict = replace(
            case, card=replace(case.card, provenance=None),
            certificate=replace(case.certificate, proof=looser),
        ).verdict()  # fmt: skip
        assert verdict.accepted
        shown = verdict.summary.split(";")[0].removeprefix(
            "accepted: no allowed card is better by more than "
        )
        assert shown == text
        assert Fraction(shown.rstrip("%")) >= 100 * more

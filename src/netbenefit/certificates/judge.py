"""The judge: a card and its certificate, recomputed from the data and nothing else.

No solver and no compiled code takes part.  The objective is counted in fractions; the bound is
taken apart into boxes of points (see ``docs/certificate_format.md``), and each of them is judged by
itself:

1. The data is the certificate's, by its digest; the card is the certificate's, rule by rule.
2. The points are allowed, and their objective, cut-offs and risks are as stated.
3. The bound is not below the objective.
4. The boxes cover the whole search space.
5. No box is worth more than stated.
6. The bound covers every box.

Where a teacher took part, no teacher is run: the certificate holds the events that it expected of
every pattern, and the blend with the outcomes is counted again from the data and these.  Beside the
objective, which is about the blend, the verdict states the card's plain net benefit on the rows.

A certificate without a bound claims nothing about other cards.  A look at a sample of the boxes
shows at best that the certificate is consistent.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import PerUnit, Provenance, Scorecard, Term
from netbenefit.certificates.boxes import check_bound, sample_text, shown
from netbenefit.certificates.certificate import Certificate, differences, table_digest
from netbenefit.certificates.recount import (
    RecountedProblem,
    limits_differ,
    questions_differ,
    rebuild_table,
)
from netbenefit.certificates.statement import Answer, Check, Statement
from netbenefit.common import InputError, setting
from netbenefit.data import PatternTable, is_event, label_in
from netbenefit.problem import Questions, Status, from_json

# -- the checks of cut-offs and risks: one risk per level as published, or a risk for every score --


#: How far risks may be off where real weights are added up in another order.
SLACK = 1e-9

#: From each score on, this risk.
Steps = Sequence[tuple[int, float]]


def check_levels(card: Scorecard, answer: Answer, recount: RecountedProblem) -> Iterator[Check]:
    """Check the cut-offs that a certificate states, and the risks of a card, in raw scores."""
    card = card.raw()
    exact = recount.evaluate(answer.points)
    assert exact is not None  # the points are allowed
    if exact.cutoffs != answer.cutoffs:
        text = f"the best are {list(exact.cutoffs)}, not {list(answer.cutoffs)}"
        yield Check("cut-offs", False, text)
        return  # without them there are no levels
    yield Check("cut-offs", True, "the best for these points")
    if card.thresholds.fractions != recount.statement.thresholds:
        yield Check("risks", False, "the card has other thresholds than the certificate")
        return
    rates, middles = _by_level(card, answer, recount)
    text = "the event rates of the levels"
    if recount.statement.teacher is not None:
        rates = _by_score(card, answer, recount)
        text = "the shares of event mass of the scores, pooled where they would fall"
    yield _check_risks(card.risks, rates, middles, text, 0.0 if recount.table.is_whole else SLACK)


def _by_level(card: Scorecard, answer: Answer, recount: RecountedProblem) -> tuple[Steps, Steps]:
    """Event rates of the levels, and the middles of their intervals, from their first scores on.

    An event rate outside its level's interval is moved to the near end where limits on rates may be
    the reason, or where it is no more than the rounding of real weights.
    """
    table, grid = recount.table, card.thresholds.values
    scores, rated = recount.scores(answer.points), recount.statement.limits.rates is not None
    level = np.array([sum(score >= cutoff for cutoff in answer.cutoffs) for score in scores])
    slack = Fraction(SLACK) * Fraction(table.n_total)
    rates, middles = [], []
    for i, first in enumerate([min(scores), *answer.cutoffs]):
        here = np.flatnonzero(level == i)
        if not here.size:
            continue
        events = sum(Fraction(v) for v in table.positives[here].tolist())
        mass = events + sum(Fraction(v) for v in table.negatives[here].tolist())
        rate = float(Fraction(events, mass))
        inside = _inside(rate, grid, i)
        near = rated or abs(inside - rate) * mass <= slack
        rates.append((first, inside if near else rate))
        middles.append((first, (grid[i] + (*grid[1:], 1.0)[i]) / 2))
    return rates, middles


def _inside(risk: float, grid: Sequence[float], level: int) -> float:
    """The nearest risk of a level; only the last level holds its upper end."""
    last = level == len(grid) - 1
    top = 1.0 if last else float(np.nextafter(grid[level + 1], 0.0))
    return min(max(risk, grid[level]), top)


def _by_score(card: Scorecard, answer: Answer, recount: RecountedProblem) -> Steps:
    """Share of event mass at each score; neighbours are pooled until none is above the next."""
    sums: dict[int, list[Fraction]] = {}
    for score, a, b in zip(recount.scores(answer.points), *recount.masses, strict=True):
        entry = sums.setdefault(score, [Fraction(0), Fraction(0)])
        entry[0] += a
        entry[1] += a + b
    blocks = [([score], sums[score][0], sums[score][1]) for score in sorted(sums)]
    at = 0
    while at + 1 < len(blocks):
        (first, a, m), (second, b, n) = blocks[at : at + 2]
        if a / m > b / n:
            blocks[at : at + 2] = [(first + second, a + b, m + n)]
            at = max(0, at - 1)  # what is pooled may be below what comes before
        else:
            at += 1
    steps = []
    for members, a, m in blocks:
        for score in members:
            level = sum(score >= cutoff for cutoff in answer.cutoffs)
            # Only limits on rates, and the last rounding to a float, move a risk to its level.
            steps.append((score, _inside(float(a / m), card.thresholds.values, level)))
    return steps


def _check_risks(steps: Steps, rates: Steps, middles: Steps, text: str, slack: float) -> Check:
    """Whether risks are as ``text`` says, or the middles of the intervals."""
    wrong = _difference(steps, rates, slack)
    if wrong is None:
        return Check("risks", True, text)
    if _difference(steps, middles, slack) is None:
        return Check("risks", True, "the middles of the intervals")
    return Check("risks", False, f"{wrong}; they should be {text}")


def _difference(steps: Steps, expected: Steps, slack: float) -> str | None:
    if [score for score, _ in steps] != [score for score, _ in expected]:
        return "they begin at other scores than those of the rows"
    for (score, here), (_, there) in zip(steps, expected, strict=True):
        if abs(here - there) > slack:
            return f"score {score} has risk {here}, not {there}"
    return None


@dataclass(frozen=True)
class Verdict:
    """What the judge says."""

    #: in order; a failure of :data:`_BASIC` is the last
    checks: tuple[Check, ...]
    summary: str  #: one sentence
    stated: tuple[str, ...] = ()  #: figures that nobody can recount from the certificate

    @property
    def failures(self) -> list[str]:
        """Why it was refused, one text each."""
        return [f"{check.name}: {check.text}" for check in self.checks if check.ok is False]

    @property
    def consistent(self) -> bool:
        """Whether nothing was found to be wrong, as far as it was checked."""
        return all(check.ok is not False for check in self.checks)

    @property
    def accepted(self) -> bool:
        """Whether everything that the certificate claims was recounted, and holds.

        What is only :attr:`stated` is none of it.
        """
        return all(check.ok for check in self.checks)


def verify(
    card: Scorecard,
    certificate: Certificate,
    data: PatternTable | Mapping[str, NDArray[Any]],
    event: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    sample: int | None = None,
    seed: int | None = None,
    outcome: tuple[str, Any] | None = None,
) -> Verdict:
    """Judge a card and its certificate by the data: the raw columns of training, or patterns.

    Everything that the certificate claims is recounted.  For a quick look, ``sample`` is a number
    of boxes: only their values are recounted, and the verdict is at best ``consistent``, never
    ``accepted``.  (That the boxes cover the search space, and boxes without a value, are always
    checked completely.)  The ``seed`` of the sample is new each time by default, so that the choice
    of boxes cannot be foreseen.  ``outcome`` is the column of the events and
    their label, such as ("ill", 1): compared with what the card says its risks are about.
    """
    if sample is not None and sample < 1:
        raise InputError(setting("sample", sample), " must be at least 1.")
    if isinstance(data, PatternTable) != (event is None):
        raise InputError("pass columns and event, or a PatternTable alone.")
    seed = secrets.randbits(32) if seed is None else seed
    checks: list[Check] = []
    for check in _checks(card, certificate, data, event, sample_weight, sample, seed, outcome):
        checks.append(check)
        if check.ok is False and check.name in _BASIC:
            break
    verdict = Verdict(tuple(checks), "", tuple(_stated(card, certificate)))
    return replace(verdict, summary=_summary(certificate, verdict, sample))


def _stated(card: Scorecard, certificate: Certificate) -> Iterator[str]:
    """What a teacher's decisions are worth, which takes its risk of every row; what a card adds."""
    lesson, origin, labels = certificate.problem.teacher, card.provenance, card.labels
    if lesson is not None:
        own, blended = lesson.net_benefit, lesson.blended_benefit
        yield f"the teacher's net benefit is {own:.6f} by the outcomes, {blended:.6f} by the masses"
    if lesson is not None and origin is not None and origin.share_kept is not None:
        most = (
            "" if origin.share_bound is None else f", and none more than {origin.share_bound:.3%}"
        )
        yield f"of the latter, the card keeps {origin.share_kept:.3%}{most}"
    if card.held_out is not None:
        rows = sum(level.rows for level in card.held_out.levels)
        yield f"the card's net benefit is {card.held_out.net_benefit:.6f} on {rows:g} other rows"
    named = {"title": labels.title, "outcome": labels.outcome}
    named |= {repr(one.feature): one.name for one in labels.columns if one.name != one.feature}
    for what, name in named.items():
        if name is not None:
            yield f"the card calls {what} {name!r}"
    if origin is not None and origin.updated is not None:
        yield f"the card says that it was updated: {origin.updated}"


#: Where one of these fails, the rest means nothing.
_BASIC = ("data", "problem", "points")


def _checks(
    card: Scorecard,
    certificate: Certificate,
    data: PatternTable | Mapping[str, NDArray[Any]],
    event: ArrayLike | None,
    sample_weight: ArrayLike | None,
    sample: int | None,
    seed: int,
    outcome: tuple[str, Any] | None,
) -> Iterator[Check]:
    statement = certificate.problem
    try:
        table = (
            data
            if isinstance(data, PatternTable)
            else rebuild_table(statement, data, np.asarray(event), sample_weight)
        )
    except InputError as error:
        yield Check("data", False, f"the table does not fit the certificate: {error}")
        return
    yield _check_data(certificate, table)
    recount = RecountedProblem(statement, table)
    yield _check_problem(certificate, recount)
    yield _check_points(certificate, recount)
    yield _check_answer(certificate, recount)
    yield from check_levels(card, certificate.answer, recount)
    yield _check_card(card, certificate, recount, outcome)
    if not isinstance(data, PatternTable):
        yield _check_scores(card, certificate, recount, data)
    elif unknown := [f"{name!r} as {term.text()}" for name, term in _unlike(statement)]:
        text = f"patterns do not show {', '.join(unknown)}: pass the raw columns"
        yield Check("scores", None, text)
    if certificate.proof is None:
        yield Check("bound", True, "none is claimed: nothing is proven about better cards")
        return
    objective = certificate.answer.objective
    yield from check_bound(recount, objective, certificate.proof, sample, seed)


# -- data, card, answer ----------------------------------------------------------------------------


def _check_data(certificate: Certificate, table: PatternTable) -> Check:
    stated = certificate.problem.data
    seen = {
        "rows": (Fraction(table.n_total), stated.rows),
        "events": (Fraction(table.n_events), stated.events),
        "distinct rows": (Fraction(len(table)), Fraction(stated.patterns)),
    }
    notes = [f"{_number(a)} {what}, not {_number(b)}" for what, (a, b) in seen.items() if a != b]
    if table_digest(table) == stated.digest and not notes:
        return Check("data", True, ", ".join(f"{_number(a)} {n}" for n, (a, _) in seen.items()))
    if not notes:
        notes = ["some values differ"]
        if not table.is_whole:
            notes.append("with real weights, rows have to be in the same order")
    text = f"these are not the rows of the certificate: {'; '.join(notes)}"
    return Check("data", False, text)


def _number(value: Fraction) -> str:
    return f"{int(value):,}" if value.denominator == 1 else f"{float(value):.6g}"


def _check_problem(certificate: Certificate, recount: RecountedProblem) -> Check:
    try:
        recount.check_room()
        _ = recount.masses  # refuses a teacher that expects more events than there are rows
        wrong = _impossible_teacher(recount) or _wrong_flag(recount)
        wrong = wrong or _repeated_term(recount.statement)
        wrong = wrong or questions_differ(recount.statement, recount.table)
        wrong = wrong or limits_differ(recount.statement, recount.table, certificate.answer.points)
    except InputError as error:
        wrong = str(error)
    if wrong is not None:
        return Check("problem", False, wrong)
    statement = recount.statement
    lowest, highest = int(statement.lower.min()), int(statement.upper.max())
    texts = [
        f"{len(statement.thresholds)} thresholds",
        f"{statement.lower.size} columns with points from {lowest} to {highest}",
        *_questions_in_words(statement),
    ]
    if statement.max_features < statement.lower.size:
        texts.append(f"at most {statement.max_features} columns")
    text = f"{', '.join(texts)}; objective: {statement.objective_in_full}"
    if statement.constraints:
        text += f"; constraints: {'; '.join(str(from_json(c)) for c in statement.constraints)}"
    fixed = (statement.lower == 0) & (statement.upper == 0)
    idle = [name for name, none in zip(statement.names, fixed, strict=True) if none]
    if idle:
        text += f"; left out, as columns without points: {', '.join(idle)}"
    return Check("problem", True, "; ".join([text, *_meanings(statement)]))


def _meanings(statement: Statement) -> Iterator[str]:
    """What the names of columns do not tell: what they stand for, and which raw ones are absent."""
    for name, term in _unlike(statement):
        yield f"{name!r} stands for {term.text()}"
    known = {term.feature for term in statement.terms}
    known.update(name for one in statement.readings for name in one.sources)
    absent = [name for name in statement.features if name not in known]
    if absent:
        yield f"no rule can be about {', '.join(absent)}"


def _questions_in_words(statement: Statement) -> Iterator[str]:
    asked, most = statement.questions, statement.limits.asked.most
    if statement.penalty == statement.rule_penalty:
        yield f"penalty {shown(statement.penalty)}"
    else:
        yield f"a question costs {shown(statement.penalty)}"
        yield f"each further rule on it {shown(statement.rule_penalty)}"
    if asked.grouped or most < len(asked):
        limited = f", of which at most {most} may be asked" if most < len(asked) else ""
        yield f"{len(asked)} questions{limited}"
    listed = np.unique(asked.of_answer)
    if listed.size:
        spreads = statement.limits.asked.spread[listed]
        low, high = int(spreads.min()), int(spreads.max())
        apart = f"{low}" if low == high else f"{low} to {high}"
        yield f"answers to a question at most {apart} points apart"
    told = Questions.of_terms(statement.terms)
    if asked.grouped and not np.array_equal(asked.of_column, told.of_column):
        for q, name in enumerate(asked.names):
            own = [statement.names[k] for k in np.flatnonzero(asked.of_column == q).tolist()]
            if len(own) > 1:
                yield f"{name!r} is a question about {', '.join(own)}"


def _impossible_teacher(recount: RecountedProblem) -> str | None:
    """What is stated of a teacher that is worth more than knowing every outcome."""
    lesson, share = recount.statement.teacher, sum(recount.statement.weights)
    if lesson is None:
        return None
    for stated, (events, others) in (
        (lesson.net_benefit, recount.outcomes),
        (lesson.blended_benefit, recount.masses),
    ):
        most = float(share * sum(events) / (sum(events) + sum(others)))
        if stated > most + SLACK + 1.0 / lesson.denominator:
            return f"the teacher's stated net benefit is {stated:g}, but none exceeds {most:g}"
    return None


def _unlike(statement: Statement) -> Iterator[tuple[str, Term]]:
    """Columns whose names do not say what they are."""
    for name, term in zip(statement.names, statement.terms, strict=True):
        plain = isinstance(term, PerUnit) and (term.lower, term.upper, term.log) == (
            None,
            None,
            False,
        )
        if name != term.text() and not (plain and name == term.feature):
            yield name, term


def _repeated_term(statement: Statement) -> str | None:
    """Columns that are the same: points of only one of them could be compared."""
    seen: dict[Term, str] = {}
    for name, term in zip(statement.names, statement.terms, strict=True):
        if seen.setdefault(term, name) != name:
            return f"columns {seen[term]!r} and {name!r} are the same: {term.text()}"
    return None


def _wrong_flag(recount: RecountedProblem) -> str | None:
    """A column that is called yes or no, but holds other numbers."""
    for k, term in enumerate(recount.statement.terms):
        flagged = isinstance(term, PerUnit) and term.binary
        if flagged and not np.isin(recount.table.codes[:, k], (0, 10**term.decimals)).all():
            return f"column {term.feature!r} is called yes or no, but holds other numbers"
    return None


def _check_points(certificate: Certificate, recount: RecountedProblem) -> Check:
    points, n_columns = certificate.answer.points, recount.statement.lower.size
    if len(points) != n_columns:
        return Check("points", False, f"{len(points)} points for {n_columns} columns")
    wrong = recount.forbids(points)
    if wrong is not None:
        return Check("points", False, f"they are not allowed: {wrong}")
    return Check("points", True, "they are within all limits")


def _check_answer(certificate: Certificate, recount: RecountedProblem) -> Check:
    answer = certificate.answer
    exact = recount.evaluate(answer.points)
    assert exact is not None  # the points are allowed
    objective, stated = exact.objective, answer.objective
    if objective != stated:
        text = f"the points are worth {shown(objective)}, not {shown(stated)}"
        if f"{float(objective):.6f}" == f"{float(stated):.6f}":
            text += f": they differ by {float(abs(objective - stated)):.3g}"
        return Check("objective", False, text)
    if exact.net_benefit != answer.net_benefit:
        text = f"the net benefit is {exact.net_benefit}, not {answer.net_benefit}"
        return Check("objective", False, text)
    text = f"{shown(objective)}, counted again"
    if recount.statement.teacher is not None:
        plain = float(recount.net_benefit(answer.points, exact.cutoffs))
        text += f" from outcomes and risks; by the outcomes alone, the net benefit is {plain:.6f}"
    return Check("objective", True, text)


def _check_card(
    card: Scorecard,
    certificate: Certificate,
    recount: RecountedProblem,
    outcome: tuple[str, Any] | None,
) -> Check:
    wrong = list(differences(card, certificate.problem, certificate.answer))
    if card.provenance is not None:
        wrong += _wrong_record(card.provenance, certificate, recount)
        about = card.provenance.outcome
        if about is not None and outcome is not None:
            column, label = outcome
            said = label_in(about, column) or label_in(about, "outcome")  # of a y without a name
            if said is None or not is_event(label, said):
                events = f"{column} = {label}"
                wrong.append(f"its risks are those of {about!r}, the events here are {events!r}")
    scores = recount.scores(certificate.answer.points)
    reach = min(scores) + card.shift, max(scores) + card.shift
    if card.score_range is not None and card.score_range != reach:
        wrong.append(f"its scores are from {list(card.score_range)}, those of the rows {reach}")
    text = "; ".join(wrong) or "rules, points, cut-offs, thresholds agree"
    return Check("card", not wrong, text)


def _wrong_record(
    origin: Provenance, certificate: Certificate, recount: RecountedProblem
) -> list[str]:
    """What is wrong with the figures that a card carries."""
    answer, statement, proof = certificate.answer, recount.statement, certificate.proof
    lesson, strength = statement.teacher, 0.0
    if lesson is not None:
        strength = math.inf if lesson.strength is None else float(lesson.strength)
    reached = proof is not None and proof.bound <= answer.objective + proof.slack
    bound = None if proof is None else float(answer.objective)
    if proof is not None and not reached:
        bound = float(proof.bound)
        bound = bound if bound >= proof.bound else math.nextafter(bound, math.inf)
    copied = {
        "n_rows": float(statement.data.rows),
        "n_events": float(statement.data.events),
        "n_patterns": statement.data.patterns,
        "prevalence": float(statement.data.events / statement.data.rows),
        "objective": float(answer.objective),
        "penalty": float(statement.penalty),
        "rule_penalty": float(statement.rule_penalty),
        "prior_strength": strength,
        "teacher": None if lesson is None else lesson.name,
        "teacher_net_benefit": None if lesson is None else lesson.net_benefit,
        "bound": bound,
    }
    wrong = [
        f"it says {name} = {stated!r}, the certificate {value!r}"
        for name, value in copied.items()
        if (stated := getattr(origin, name)) is not None and stated != value
    ]
    if origin.status is not None and origin.status not in get_args(Status):
        wrong.append(f"it says status = {origin.status!r}, which no search ends with")
    if origin.status == "optimal" and not reached:
        wrong.append("it calls itself optimal, which the certificate does not")
    if len(answer.cutoffs) != len(statement.thresholds) - 1:
        return wrong
    counted: dict[str, float | None] = {
        "net_benefit": float(recount.net_benefit(answer.points, answer.cutoffs)),
        "share_kept": None,
        "share_bound": None,
    }
    if lesson is not None and lesson.blended_benefit > 0:
        counted["share_kept"] = float(answer.net_benefit) / lesson.blended_benefit
        if origin.bound is not None:
            most = origin.bound + float(statement.price(answer.points))
            counted["share_bound"] = most / lesson.blended_benefit
    for name, value in counted.items():
        own = getattr(origin, name)
        if own is not None and value is None:
            wrong.append(f"it says {name} = {own!r}, which nothing supports")
        elif own is not None and value is not None and abs(own - value) > SLACK:
            wrong.append(f"it says {name} = {own!r}, but that is {value!r}")
    return wrong


def _check_scores(
    card: Scorecard,
    certificate: Certificate,
    recount: RecountedProblem,
    data: Mapping[str, NDArray[Any]],
) -> Check:
    scores = np.array(recount.scores(certificate.answer.points), dtype=np.int64) + card.shift
    rows = np.flatnonzero(recount.table.pattern_of_row >= 0)
    try:
        given = np.broadcast_to(card.score(data), recount.table.pattern_of_row.shape)
    except InputError as error:
        return Check("scores", False, f"the card cannot score the table: {error}")
    wrong = rows[given[rows] != scores[recount.table.pattern_of_row[rows]]]
    if wrong.size:
        row = int(wrong[0])
        expected = scores[recount.table.pattern_of_row[row]]
        return Check("scores", False, f"the card gives row {row} {given[row]}, not {expected}")
    return Check("scores", True, f"the card gives {rows.size:,} rows the scores of the points")


def _summary(certificate: Certificate, verdict: Verdict, sample: int | None) -> str:
    failed = [check.name for check in verdict.checks if check.ok is False]
    if failed:
        return f"refused: {', '.join(failed)} did not hold"
    if verdict.accepted:
        text = f"accepted: {_acceptance(certificate)}"
    elif all(check.ok for check in verdict.checks if check.name != "scores"):
        text = "consistent, but not all of the columns are known"
    else:
        assert sample is not None  # nothing else is left out
        text = f"consistent, bound not fully recounted: {sample_text(sample)}"
    return f"{text}; objective: {certificate.problem.objective_in_full}"


def _acceptance(certificate: Certificate) -> str:
    proof, objective = certificate.proof, certificate.answer.objective
    if proof is None:
        return "the card is as stated; nothing is claimed, or proven, about better ones"
    if proof.bound <= objective + proof.slack:
        rounded = ", up to negligible rounding" if proof.bound > objective else ""
        return f"no allowed card is better{rounded}"
    if not objective:  # no share of it says anything
        return f"no allowed card is worth more than {shown(proof.bound, up=True)}"
    percent = 100 * (proof.bound - objective) / abs(objective)
    places = max(
        2, 1 - math.floor(math.log10(max(float(percent), 1e-18)))
    )  # of a small gap, two digits
    most = Fraction(math.ceil(percent * 10**places), 10**places)  # never less than the truth
    return f"no allowed card is better by more than {float(most):.{places}f}%"

"""Whether a card is the one that a certificate speaks of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from netbenefit.cards.card_types import Provenance
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import PerUnit, Term
from netbenefit.certificates.certificate_types import Answer, Claim, Statement

__all__ = ["differences", "record_differences"]


def differences(card: Scorecard, problem: Statement, answer: Answer) -> list[str]:
    """Say where rules, cut-offs and thresholds differ; nothing where they agree.

    >>> from netbenefit.estimators.learn import assemble_card
    >>> from netbenefit.certificates.certificate import make_certificate
    >>> from netbenefit.data.patterns import PatternTable
    >>> from netbenefit.problem.problem import Problem
    >>> from netbenefit.solvers.local_search import LocalSearch
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0], [1], [1]], [0, 1, 1], names=["fever"])
    >>> problem = Problem.build(table, Thresholds.of([0.5]))
    >>> result = LocalSearch().solve(problem)
    >>> card = assemble_card(problem, result, Provenance(version="0"))
    >>> certificate = make_certificate(problem, result)
    >>> differences(card, certificate.problem, certificate.answer)
    []
    >>> other = replace(card, risks=((0, 0.0), (5, 1.0)), score_range=None)
    >>> differences(other, certificate.problem, certificate.answer)
    ['its cut-offs are [5], those of the certificate [1]']
    """
    return list(_differences(card, problem, answer))


def _differences(card: Scorecard, problem: Statement, answer: Answer) -> Iterator[str]:
    grid = card.thresholds
    if grid.fractions != problem.thresholds:
        yield f"its thresholds are {_show(grid.fractions)}, not {_show(problem.thresholds)}"
    if grid.weight_fractions != problem.weights:
        yield f"its weights are {_show(grid.weight_fractions)}, not {_show(problem.weights)}"
    if len(answer.points) == len(problem.terms):
        found = {
            _bare(term): points
            for term, points in zip(problem.terms, answer.points, strict=True)
            if points
        }
        ours = {_bare(rule.term): rule.points for rule in card.rules if rule.points}
        for term in [*found, *(term for term in ours if term not in found)]:
            here, there = ours.get(term, 0), found.get(term, 0)
            if here != there:
                yield f'it gives "{term.text()}" {here} points, the certificate {there}'
    stated = {reading.feature: reading for reading in problem.readings}
    for reading in card.readings:
        if stated.get(reading.feature) != reading:
            yield f"it reads column {reading.feature!r} in another way than the certificate"
    if card.cutoffs != answer.cutoffs:
        yield f"its cut-offs are {list(card.cutoffs)}, those of the certificate " + str(
            list(answer.cutoffs)
        )


def record_differences(
    origin: Provenance, problem: Statement, answer: Answer, proof: Claim | None
) -> list[str]:
    """Say where the figures that a card carries differ from the certificate's."""
    bound: float | None = None
    if proof is not None:
        bound = float(answer.objective)
        if proof.bound > answer.objective + proof.rounding:
            bound = float(proof.bound)
            bound = bound if bound >= proof.bound else math.nextafter(bound, math.inf)
    expected = {
        "n_rows": float(problem.data.rows),
        "n_events": float(problem.data.events),
        "n_patterns": problem.data.patterns,
        "objective": float(answer.objective),
        "penalty": float(problem.penalty),
        "prior_strength": _strength(problem),
        "teacher": None if problem.teacher is None else problem.teacher.name,
        "teacher_net_benefit": None if problem.teacher is None else problem.teacher.net_benefit,
    }
    wrong = [
        f"it says {name} = {said!r}, the certificate {value!r}"
        for name, value in expected.items()
        if (said := getattr(origin, name)) is not None and said != value
    ]
    if origin.bound is not None and origin.bound != bound:
        wrong.append(f"it says bound = {origin.bound!r}, the certificate {bound!r}")
    reached = proof is not None and proof.bound <= answer.objective + proof.rounding
    if origin.status == "optimal" and not reached:
        wrong.append("it calls itself optimal, which the certificate does not")
    return wrong


def _strength(problem: Statement) -> float:
    if problem.teacher is None:
        return 0.0
    return math.inf if problem.teacher.strength is None else float(problem.teacher.strength)


def _bare(term: Term) -> Term:
    """A term without what only matters in print."""
    return replace(term, binary=False) if isinstance(term, PerUnit) else term


def _show(numbers: tuple[Fraction, ...]) -> str:
    return "[" + ", ".join(str(number) for number in numbers) + "]"

"""The checks of cut-offs and risks: one risk per level as published, or a risk for every score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from netbenefit.cards.scorecard import Scorecard
from netbenefit.certificates.certificate_data import expected_risks
from netbenefit.certificates.certificate_types import Answer, Check
from netbenefit.certificates.recount import Ground

__all__ = ["SLACK", "check_levels"]

#: How far risks may be off where real weights are added up in another order.
SLACK = 1e-9

#: From each score on, this risk.
Steps = Sequence[tuple[int, float]]


def check_levels(card: Scorecard, answer: Answer, ground: Ground) -> Iterator[Check]:
    """Look at the cut-offs that a certificate states, and at the risks of a card."""
    worth = ground.worth(answer.points)
    assert worth is not None  # the points are allowed
    if worth.cutoffs != answer.cutoffs:
        text = f"the best are {list(worth.cutoffs)}, not {list(answer.cutoffs)}"
        yield Check("cut-offs", False, text)
        return  # without them there are no levels
    yield Check("cut-offs", True, "the best for these points")
    if card.thresholds.fractions != ground.said.thresholds:
        yield Check("risks", False, "the card has other thresholds than the certificate")
        return
    rates, middles = _by_level(card, answer, ground)
    text = "the event rates of the levels"
    if ground.said.teacher is not None:
        rates = _by_score(card, answer, ground)
        text = "the shares of event mass of the scores, pooled where they would fall"
    yield _check_risks(card.risks, rates, middles, text, 0.0 if ground.table.is_whole else SLACK)


def _by_level(card: Scorecard, answer: Answer, ground: Ground) -> tuple[Steps, Steps]:
    """Event rates of the levels, and the middles of their intervals, from their first scores on."""
    scores, rated = ground.scores(answer.points), ground.said.limits.rates is not None
    grid = card.thresholds.values
    kinds = expected_risks(ground.table, grid, scores, answer.cutoffs, rated)
    firsts = [min(scores), *answer.cutoffs]
    rates, middles = (
        [(first, risk) for first, risk in zip(firsts, kind, strict=True) if risk is not None]
        for kind in kinds
    )
    return rates, middles


def _by_score(card: Scorecard, answer: Answer, ground: Ground) -> Steps:
    """Share of event mass at each score; neighbours are pooled until none is above the next."""
    sums: dict[int, list[Fraction]] = {}
    for score, a, b in zip(ground.scores(answer.points), *ground.masses, strict=True):
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
    grid, steps = card.thresholds.values, []
    for members, a, m in blocks:
        for score in members:
            level = sum(score >= cutoff for cutoff in answer.cutoffs)
            last = level == len(grid) - 1
            top = 1.0 if last else float(np.nextafter(grid[level + 1], 0.0))
            # Only limits on rates, and the last rounding to a float, move a risk to its level.
            steps.append((score, min(max(float(a / m), grid[level]), top)))
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

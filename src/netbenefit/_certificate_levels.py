"""The checks of cut-offs and risks: published ones, or those of a card with a prior."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netbenefit._certificate_blend import SLACK, Blend, blended_risks, wrong_cutoff
from netbenefit._certificate_count import Ground
from netbenefit._certificate_data import expected_risks
from netbenefit._certificate_types import Answer, Check
from netbenefit.scorecard import Scorecard

__all__ = ["check_levels"]

Risks = Sequence[float | None]


def check_levels(card: Scorecard, answer: Answer, ground: Ground) -> Iterator[Check]:
    """Look at the cut-offs that a certificate states, and at the risks of a card between them."""
    if ground.said.prior_strength:
        yield from _check_blended(card, answer, ground)
    else:
        yield from _check_published(card, answer, ground)


def _check_published(card: Scorecard, answer: Answer, ground: Ground) -> Iterator[Check]:
    worth = ground.worth(answer.points)
    assert worth is not None  # the points are allowed
    if worth.cutoffs == answer.cutoffs:
        yield Check("cut-offs", True, "the best for these points")
    else:
        text = f"the best are {list(worth.cutoffs)}, not {list(answer.cutoffs)}"
        yield Check("cut-offs", False, text)
    rated, scores = ground.said.limits.rates is not None, ground.scores(answer.points)
    kinds = expected_risks(ground.table, card.thresholds.values, scores, answer.cutoffs, rated)
    slack = 0.0 if ground.table.is_whole else SLACK
    yield _check_risks(_level_risks(card), kinds, "the event rates of the levels", slack)


def _check_blended(card: Scorecard, answer: Answer, ground: Ground) -> Iterator[Check]:
    blend, scores = Blend.of(ground, answer.points), ground.scores(answer.points)
    wrong = wrong_cutoff(ground, scores, answer.cutoffs, blend)
    if wrong is not None:
        yield Check("cut-offs", False, wrong)
        return  # without them there are no levels
    right = "the first scores whose averaged risk reaches the thresholds"
    if ground.said.limits.rates is not None:
        right += ", or the nearest that the limits on rates allow"
    yield Check("cut-offs", True, right)
    kinds = blended_risks(ground, scores, answer.cutoffs, blend)
    yield _check_risks(_level_risks(card), kinds, "the mean averaged risks of the levels", SLACK)


def _level_risks(card: Scorecard) -> list[float | None]:
    """The risk of each level; None for one that no score is on."""
    known = {card.level_of_score(score): risk for score, risk in card.risks}
    return [known.get(level) for level in range(len(card.thresholds))]


def _check_risks(risks: Risks, kinds: tuple[Risks, Risks], text: str, slack: float) -> Check:
    """Whether risks are of one of two kinds: as ``text`` says, or the middles of the intervals."""
    found = [_risk_difference(risks, expected, slack) for expected in kinds]
    if found[0] is None:
        return Check("risks", True, text)
    if found[1] is None:
        return Check("risks", True, "the middles of the intervals")
    return Check("risks", False, f"{found[0]}; they should be {text}")


def _risk_difference(risks: Risks, expected: Risks, slack: float) -> str | None:
    if len(risks) != len(expected):
        return f"there are {len(risks)} of them for {len(expected)} levels"
    for i, (here, there) in enumerate(zip(risks, expected, strict=True)):
        unlike = here != there if here is None or there is None else abs(here - there) > slack
        if unlike:
            return f"level {i} has risk {here}, not {there}"
    return None

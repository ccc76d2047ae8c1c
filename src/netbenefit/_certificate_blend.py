"""S, cut-offs and risks of a card with a prior, judged by their definition and the data alone.

With a prior of n0 rows, and N rows of data, a score s has the risk

    r(s) = w · link(s) + (1 − w) · rate(s), w = n0 / (n0 + N),

where ``link`` is the logistic link of the scores, its slope shrunk for as many degrees of freedom
as there are free columns (at most two for every rule), and ``rate`` the share of events among the
rows between the two best cut-offs around s.  It never falls as s rises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from netbenefit._certificate_count import Ground
from netbenefit._certificate_data import expected_risks
from netbenefit._certificate_types import Check
from netbenefit.kernels.reference import (
    SlowLink,
    logistic_link,
    saturated_smooth,
    shrunk_link,
    smooth_net_benefit,
)

__all__ = ["SLACK", "Blend", "blended_risks", "check_smooth", "check_smooth_bound", "wrong_cutoff"]

#: Risks and S need logarithms, and so are rounded: they agree where they differ by no more.
SLACK = 1e-9
#: Events, as a share of all rows, that the sums of real weights may be off by.
_ROUNDING = Fraction(2, 10**9)


class Blend(NamedTuple):
    """Risk of every score of a card.

    Examples
    --------
    >>> Blend(0.5, SlowLink(Fraction(0), 0.0, 0.0), (1,), (0.1, 0.7)).risk(0)
    0.3
    """

    weight: float  #: w
    link: SlowLink
    cutoffs: tuple[int, ...]  #: the best ones
    rates: tuple[float, ...]  #: share of events of each level between them

    @classmethod
    def of(cls, ground: Ground, points: Sequence[int]) -> Blend:
        """Work it out from the data."""
        said, table, scores = ground.said, ground.table, ground.scores(points)
        worth = ground.worth(points)
        assert worth is not None  # the points are allowed
        rated = said.limits.rates is not None
        rates, _ = expected_risks(table, _values(ground), scores, worth.cutoffs, rated)
        spent = min(
            2 * sum(v != 0 for v in points),
            sum(low < high for low, high in zip(said.lower, said.upper, strict=True)),
        )
        link = shrunk_link(
            logistic_link(scores, *ground.masses), scores, *ground.masses, spent=spent
        )
        weight = float(said.prior_strength / (said.prior_strength + ground.total))
        # Best cut-offs are scores of rows, so that no score lies on a level without rows.
        return cls(weight, link, worth.cutoffs, tuple(rate or 0.0 for rate in rates))

    def risk(self, score: int) -> float:
        """r(s)."""
        rate = self.rates[sum(score >= cutoff for cutoff in self.cutoffs)]
        return self.weight * self.link.risk(score) + (1.0 - self.weight) * rate


def check_smooth(ground: Ground, points: Sequence[int], stated: Fraction | None) -> Check:
    """Whether S is as stated."""
    if not ground.said.prior_strength:
        return Check("S", False, "it is stated, but the objective of the certificate has no S")
    if stated is None:
        return Check("S", False, "it is not stated, but part of the objective")
    value = smooth_net_benefit(ground.table, points)
    if abs(Fraction(value) - stated) > SLACK:
        return Check("S", False, f"it is {value:.12f}, not {float(stated):.12f}")
    return Check("S", True, f"{value:.6f}, by fitting the logistic link again")


def check_smooth_bound(ground: Ground, stated: Fraction | None) -> Check:
    """Whether no card's S can exceed what is stated."""
    name = "bound of S"
    if not ground.said.prior_strength:
        return Check(name, False, "it is stated, but the objective of the certificate has no S")
    if stated is None:
        return Check(name, False, "it is not stated, but part of the bound")
    most = saturated_smooth(*ground.masses)
    if stated < Fraction(most):
        text = f"S may reach {most:.12f}, that of all patterns' own rates, above "
        return Check(name, False, f"{text}{float(stated):.12f}")
    return Check(name, True, f"S of all patterns' own rates is {most:.6f}, and no card's is higher")


# -- cut-offs --------------------------------------------------------------------------------------


def wrong_cutoff(
    ground: Ground, scores: Sequence[int], cutoffs: Sequence[int], blend: Blend
) -> str | None:
    """Say which cut-off is not the first score whose risk reaches its threshold; None if all are.

    Limits on rates move a cut-off, by no more than they ask for: where it could have stayed nearer
    to that first score, it is wrong, too.
    """
    thresholds = _values(ground)[1:]
    if len(cutoffs) != len(thresholds):
        return f"there are {len(cutoffs)} of them for {len(thresholds)} thresholds above 0"
    if any(a > b for a, b in pairwise(cutoffs)):
        return "they do not rise"
    lowest, highest = min(scores), max(scores)
    for i, (p, cutoff) in enumerate(zip(thresholds, cutoffs, strict=True), start=1):
        what = f"{cutoff} at threshold {p:g}"
        if not lowest <= cutoff <= highest + 1:
            return f"{what} lies outside the scores {lowest} to {highest}, and one more"
        limits = _allowed(ground, scores, i)
        if not limits.least_loose <= cutoff <= limits.most_loose:
            return f"{what} breaks the limits on events found or false alarms"
        here, before = blend.risk(cutoff), blend.risk(cutoff - 1)
        if cutoff <= highest and here < p - SLACK and cutoff < limits.most:
            return f"{what} is too low: the risk there is {here:.9f}"
        if cutoff > lowest and before >= p + SLACK and cutoff > limits.least:
            return f"{what} is too high: the risk one point below is {before:.9f}"
    return None


class _Allowed(NamedTuple):
    """Lowest and highest cut-off within limits on rates: exactly, and but for rounding."""

    least: int
    most: int
    least_loose: int
    most_loose: int


def _allowed(ground: Ground, scores: Sequence[int], i: int) -> _Allowed:
    """Cut-offs that the limits at threshold i allow; all that make a difference, without limits."""
    rates = ground.said.limits.rates
    lowest, highest = min(scores), max(scores)
    if rates is None:
        return _Allowed(lowest, highest + 1, lowest, highest + 1)
    slack = Fraction(0) if ground.table.is_whole else _ROUNDING * ground.total
    candidates, found, alarms = ground.called(scores)
    ends = []
    for more in (Fraction(0), slack):
        first = next(j for j, fp in enumerate(alarms) if fp <= rates.alarms[i] + more)
        last = max(j for j, tp in enumerate(found) if tp >= rates.found[i] - more)
        # Between two scores that occur, all cut-offs call the same rows.
        ends += [candidates[first - 1] + 1 if first else lowest, candidates[last]]
    return _Allowed(*ends)


# -- risks -----------------------------------------------------------------------------------------


def blended_risks(
    ground: Ground, scores: Sequence[int], cutoffs: Sequence[int], blend: Blend
) -> tuple[list[float | None], list[float | None]]:
    """Risks of the levels, None where no score is: means over rows, and the middles of intervals.

    A level that scores reach, but no row, has the risk of the score in its middle.
    """
    values = _values(ground)
    masses = [float(a + b) for a, b in zip(*ground.masses, strict=True)]
    risk_of = {s: blend.risk(s) for s in set(scores)}
    edges = [min(scores), *cutoffs, max(scores) + 1]
    means: list[float | None] = []
    middles: list[float | None] = []
    for (low, high), p, end in zip(pairwise(edges), values, [*values[1:], 1.0], strict=True):
        if low >= high:
            means.append(None)
            middles.append(None)
            continue
        rows = [(m, risk_of[s]) for m, s in zip(masses, scores, strict=True) if low <= s < high]
        if rows:
            mean = math.fsum(m * r for m, r in rows) / math.fsum(m for m, _ in rows)
        else:
            mean = blend.risk((low + high - 1) // 2)
        top = 1.0 if end == 1.0 else math.nextafter(end, 0.0)
        means.append(min(max(mean, p), top))
        middles.append((p + end) / 2)
    return means, middles


def _values(ground: Ground) -> list[float]:
    """p_0 … p_M."""
    return [float(p) for p in ground.said.thresholds]

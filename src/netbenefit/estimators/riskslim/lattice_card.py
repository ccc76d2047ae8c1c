"""From RISKSLIM's coefficients to a card: one risk a score, the intercept in the table of risks.

The risk of a score s is 1 / (1 + exp(−(s + w_0))).  A card has no place for an intercept, and needs
none: it moves the table of risks along the scores.  Each whole score is a level of its own; the
card's thresholds lie halfway, in log odds, between the risks of neighbouring scores.

Log odds beyond ±15 (risks below 0.00003% or above 99.99997%) are cut back to there, which keeps the
table short.  Where columns have decimals, a card counts whole scores only: a level then holds all
scores from s to just below s + 1, its threshold is the risk at s, and its risk is the mean risk of
the training rows there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from netbenefit.binning.bin_fitted import Fitted
from netbenefit.cards.scorecard import Provenance, Scorecard
from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.data.patterns import PatternTable
from netbenefit.estimators.learn import rules_of
from netbenefit.metrics.net_benefit import weighted_net_benefit
from netbenefit.metrics.thresholds import Thresholds

__all__ = ["MOST_LOG_ODDS", "make_card", "risk_of_log_odds", "training_benefit"]

#: Log odds beyond this are cut back.
MOST_LOG_ODDS = 15


def risk_of_log_odds(t: FloatArray) -> FloatArray:
    """Risk at log odds, cut back to ±15.

    >>> risk_of_log_odds(np.array([0.0, 1.0])).round(3)
    array([0.5  , 0.731])
    """
    held = np.clip(np.asarray(t, dtype=np.float64), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    result: FloatArray = 1.0 / (1.0 + np.exp(-held))
    return result


def make_card(
    table: PatternTable,
    intercept: int,
    points: IntArray,
    provenance: Provenance,
    *,
    bins: Fitted | None = None,
) -> Scorecard:
    """Put rules, scores and risks together.

    Examples
    --------
    >>> table = PatternTable.from_arrays([[0], [1]], [0, 1], names=["fever"])
    >>> card = make_card(table, -2, np.array([3]), Provenance(version="0"))
    >>> [(row.low, row.high, round(row.risk, 3)) for row in card.risk_table()]
    [(0, 0, 0.119), (3, 3, 0.731)]
    """
    rules, names, readings = rules_of(table, points, bins=bins)
    bare = Scorecard(rules, ((0, 0.5),), Thresholds.of([0.5]), readings=readings)
    low, high = _ends(bare.score_limits, intercept)
    # a card has at least two levels; where one score is all there is, the other stays out of reach
    levels = np.arange(low, max(high, low + 1) + 1)
    back = 0.5 if table.is_integer else 0.0
    starts = risk_of_log_odds((levels + intercept).astype(np.float64) - back)
    score = (table.codes @ _units(table, points)) / float(10 ** max(table.decimals))
    risks = _level_risks(table, score, levels, intercept, starts)
    count = levels.size - 1
    grid = Thresholds((0.0, *starts[1:].tolist()), (0.0, *[1.0 / count] * count))
    benefit = training_benefit(table, risks[_level(score, levels)], grid)
    return Scorecard.from_levels(
        rules=rules,
        cutoffs=tuple(int(s) for s in levels[1:]),
        risks=tuple(float(q) for q in risks),
        thresholds=grid,
        score_range=(low, low) if low == high else None,
        feature_names=names,
        readings=readings,
        provenance=replace(provenance, net_benefit=benefit),
    )


def training_benefit(table: PatternTable, risks: FloatArray, grid: Thresholds) -> float:
    """Weighted net benefit of one risk a pattern, on the rows that the patterns stand for."""
    y = np.repeat([1, 0], len(table))
    mass = np.concatenate([table.positives, table.negatives]).astype(np.float64)
    both = np.concatenate([risks, risks])
    return float(weighted_net_benefit(y, both, grid, sample_weight=mass))


def _ends(limits: tuple[int, int] | None, intercept: int) -> tuple[int, int]:
    """First and last score with a row of its own in the table of risks."""
    low, high = -MOST_LOG_ODDS - intercept, MOST_LOG_ODDS - intercept
    if limits is None:
        return low, high
    # where even the nearest score that can occur lies beyond, one row is left
    return min(max(low, limits[0]), high), max(min(high, limits[1]), low)


def _units(table: PatternTable, points: IntArray) -> IntArray:
    """Points of one step of each column, in the card's finest step."""
    finest = max(table.decimals)
    scale = np.array([10 ** (finest - d) for d in table.decimals], dtype=np.int64)
    result: IntArray = points * scale
    return result


def _level(score: FloatArray, levels: IntArray) -> IntArray:
    place = np.clip(np.floor(score), levels[0], levels[-1]) - levels[0]
    result: IntArray = place.astype(np.int64)
    return result


def _level_risks(
    table: PatternTable, score: FloatArray, levels: IntArray, intercept: int, starts: FloatArray
) -> FloatArray:
    """Risk of each level: that of its score, or the mean risk there where scores have decimals."""
    if table.is_integer:
        return risk_of_log_odds((levels + intercept).astype(np.float64))
    place, mass = _level(score, levels), table.positives + table.negatives
    seen = np.bincount(place, weights=mass, minlength=levels.size)
    worth = np.bincount(
        place, weights=mass * risk_of_log_odds(score + intercept), minlength=levels.size
    )
    middle = risk_of_log_odds(levels.astype(np.float64) + intercept + 0.5)
    risks = np.where(seen > 0, worth / np.where(seen > 0, seen, 1.0), middle)
    # means of rounded numbers may leave the level by a hair
    tops = np.append(np.nextafter(starts[1:], 0.0), 1.0)
    bottoms = np.append(0.0, starts[1:])
    result: FloatArray = np.clip(risks, bottoms, tops)
    return result

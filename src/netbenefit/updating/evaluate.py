"""A stored card on new rows: what it earns, how well it ranks, whether its risks are right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import FloatArray, check_binary, check_weights
from netbenefit.common.table import Table
from netbenefit.common.text_table import lines_of, mass, number, share
from netbenefit.metrics.decision_curve import TREAT_ALL, decision_curve
from netbenefit.metrics.measures import Measures, measure
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.updating.drift import Drift, card_drift, score_rows
from netbenefit.updating.observed import LevelRow, level_rows
from netbenefit.updating.updating_calibration import Recalibration, recalibration

__all__ = ["CardEvaluation", "calibration_lines", "evaluate_card", "evaluate_scores", "level_lines"]


@dataclass(frozen=True, eq=False)
class CardEvaluation:
    """A card on some rows.

    Attributes
    ----------
    measures : Measures
        AUNBC, weighted net benefit, AUROC, ECE and more.
    calibration : Recalibration
        Observed and expected events, calibration in the large, calibration slope.
    levels : tuple of LevelRow
        Each level of the card with rows, events, observed rate and its 95% interval.
    curve : Table
        Decision curve, as :func:`netbenefit.decision_curve` makes it.
    drift : Drift or None
        How the rows differ from a reference; None for a card without rules.
    """

    measures: Measures
    calibration: Recalibration
    levels: tuple[LevelRow, ...]
    curve: Table
    drift: Drift | None

    def to_table(self) -> Table:
        """One row a level of the card.

        Returns
        -------
        Table
            ``scores, risk, n, events, observed, low, high``.
        """
        rows = self.levels
        return Table(
            {
                "scores": np.array([row.scores for row in rows], dtype=object),
                "risk": np.array([row.risk for row in rows]),
                "n": np.array([row.n for row in rows]),
                "events": np.array([row.events for row in rows]),
                "observed": np.array([row.rate for row in rows], dtype=np.float64),
                "low": np.array([row.low for row in rows], dtype=np.float64),
                "high": np.array([row.high for row in rows], dtype=np.float64),
            }
        )

    def __str__(self) -> str:
        m = self.measures
        head = f"{mass(m.n)} rows, {mass(m.events)} with the event ({share(m.prevalence)})"
        rows = [
            ["AUNBC", number(m.aunbc)],
            ["net benefit", number(m.weighted_net_benefit)],
            ["AUROC", number(m.auroc)],
            ["ECE", number(m.expected_calibration_error)],
            *calibration_lines(self.calibration),
        ]
        parts = [head, "", *lines_of(["", ""], rows)[1:], "", *level_lines(self.levels)]
        parts += ["", *self._benefit_lines()]
        if self.drift is not None:
            parts += ["", str(self.drift)]
        return "\n".join(parts)

    def _benefit_lines(self) -> list[str]:
        model, p = self.curve["model"], self.curve["threshold"]
        card, everybody = model == "Card", model == TREAT_ALL
        benefit = self.curve["net_benefit"]
        rows = [
            [share(x, 1), number(a), number(b)]
            for x, a, b in zip(p[card], benefit[card], benefit[everybody], strict=True)
        ]
        return lines_of(["threshold", "net benefit", "treat all"], rows, left=0)


def calibration_lines(found: Recalibration) -> list[list[str]]:
    """Rows of a table: observed and expected events, intercept, slope.

    >>> calibration_lines(Recalibration(30.0, 20.0, None, None, None, None, "no"))[0]
    ['observed / expected', '1.500 (30 / 20)']
    """
    counts = f"{number(found.ratio, 3)} ({found.observed:,.5g} / {found.expected:,.5g})"
    rows = [["observed / expected", counts]]
    for name, value, error in (
        ("calibration in the large", found.intercept, found.intercept_se),
        ("calibration slope", found.slope, found.slope_se),
    ):
        if value is None or error is None:
            rows.append([name, f"none: {found.note}"])
        else:
            rows.append([name, f"{number(value, 3)} (standard error {number(error, 3)})"])
    return rows


def level_lines(levels: tuple[LevelRow, ...]) -> list[str]:
    """The SCORE → RISK table with what was observed."""
    rows = [
        [
            row.scores,
            row.risk_text,
            mass(row.n),
            mass(row.events),
            share(row.rate),
            "–" if row.low is None else f"{share(row.low)} to {share(row.high)}",
        ]
        for row in levels
    ]
    return lines_of(["score", "risk", "rows", "events", "observed", "95% interval"], rows)


def evaluate_card(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    *,
    thresholds: ThresholdsLike = None,
    sample_weight: ArrayLike | None = None,
    reference: Any = None,
    reference_y: ArrayLike | None = None,
    reference_weight: ArrayLike | None = None,
) -> CardEvaluation:
    """Hold a card against new rows (external validation).

    Parameters
    ----------
    card : Scorecard
    X : table
        Rows, in any form that ``card.score`` takes.
    y : (n_rows,) array of 0/1 or booleans
    thresholds : Thresholds, str or sequence of float, optional
        Where net benefit is measured; the card's own by default.
    sample_weight : (n_rows,) array, optional
    reference, reference_y, reference_weight
        Rows to compare with, as in :func:`card_drift`.

    Returns
    -------
    CardEvaluation
        Print it.

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(1, 0.1), (2, 0.6)], Thresholds.of([0.5]))
    >>> found = evaluate_card(card, {"x": [0, 1, 1, 2, 3]}, [0, 0, 1, 1, 1])
    >>> found.to_table()["observed"].round(3), found.measures.aunbc
    (array([0.333, 1.   ]), 0.4)
    """
    event = check_binary(y, name="y")
    weight = check_weights(sample_weight, event.size)
    grid = card.thresholds if thresholds is None else as_thresholds(thresholds)
    score = score_rows(card, X, event.size)
    drift = None
    if card.rules:
        drift = card_drift(
            card,
            X,
            reference,
            y=event,
            sample_weight=weight,
            reference_y=reference_y,
            reference_weight=reference_weight,
        )
    return replace(evaluate_scores(card, score, event, weight, grid), drift=drift)


def evaluate_scores(
    card: Scorecard,
    score: ArrayLike,
    event: NDArray[np.bool_],
    weight: FloatArray,
    thresholds: Thresholds,
    *,
    worth: float | None = None,
) -> CardEvaluation:
    """Hold the scores of a card against outcomes; drift is left out.

    Parameters
    ----------
    card : Scorecard
    score, event, weight : (n,) arrays
        One entry a row; or one a group of rows with the same score and outcome, with the sum of
        their weights.
    thresholds : Thresholds
    worth : float, optional
        Of groups: how many rows of equal weight all rows are worth, (Σv)² / Σv² over the rows
        (without weights, just their number).  Intervals and errors need it.

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(1, 0.1), (2, 0.6)], Thresholds.of([0.5]))
    >>> rows, events = np.array([90.0, 10, 5, 5]), np.array([False, True, False, True])
    >>> found = evaluate_scores(card, [1, 1, 2, 2], events, rows, card.thresholds, worth=110)
    >>> [row.rate for row in found.levels]
    [0.1, 0.5]
    """
    scores = np.asarray(score, dtype=np.int64)
    risk = np.asarray(card.risk_of_score(scores), dtype=np.float64)
    return CardEvaluation(
        measures=measure(event, risk, thresholds, score=scores, sample_weight=weight),
        calibration=recalibration(event, risk, sample_weight=weight, worth=worth),
        levels=tuple(level_rows(card, scores, event, weight, worth=worth)),
        curve=decision_curve(event, {"Card": risk}, thresholds, sample_weight=weight),
        drift=None,
    )

"""A stored card on new rows: its net benefit, how well it ranks, whether its risks are right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import Scorecard
from netbenefit.common import (
    FloatArray,
    Table,
    Tabular,
    check_binary,
    check_risks,
    check_weights,
    format_count,
    format_number,
    format_percent,
    format_table,
    minimise_by_newton,
    shown_on_stdout,
)
from netbenefit.data import read_event
from netbenefit.metrics import (
    TREAT_ALL,
    TREAT_NONE,
    Beside,
    Measures,
    Thresholds,
    ThresholdsLike,
    as_thresholds,
    count_effective_rows,
    decision_curve,
    mean_benefit_beside,
    measure,
)
from netbenefit.updating.drift import Drift, card_drift, score_rows
from netbenefit.updating.observed import LevelRow, count_levels_of_card

#: Coefficients are exact to this, and move by no more than this in one step.
_CLOSE, _LONGEST = 1e-10, 5.0


class Recalibration(NamedTuple):
    """How far risks are from the observed outcomes; weights count as (Σv)² / Σv² rows."""

    observed: float  #: mass of events
    expected: float  #: sum of risks
    intercept: float | None  #: calibration in the large
    intercept_se: float | None
    slope: float | None
    slope_se: float | None
    note: str = ""  #: why there is no intercept, or no slope

    @property
    def ratio(self) -> float:
        """Observed over expected events; infinite where none were expected."""
        if self.expected == 0:
            return math.inf if self.observed > 0 else math.nan
        return self.observed / self.expected


def recalibration(
    y_true: ArrayLike,
    risk: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    effective_rows: float | None = None,
) -> Recalibration:
    """Compare risks with outcomes by logistic recalibration.

    With L the log-odds of the risks, two logistic models are fitted to the outcomes: a + L, whose a
    is the calibration in the large, above 0 where events are more common than predicted; and
    a + b · L, whose b is the calibration slope, below 1 where risks are too extreme (Cox 1958;
    Van Calster et al. 2019).

    Parameters
    ----------
    y_true, risk, sample_weight
        As in :func:`netbenefit.net_benefit`.
    effective_rows : float, optional
        How many rows of equal weight all of these are worth, where a row stands for many; by
        default (Σv)² / Σv².

    Returns
    -------
    Recalibration
        Intercept and slope are None where they do not exist: a risk of exactly 0 or 1 has no
        log-odds; one class only has no intercept; risks that are all equal, or that separate the
        classes, have no slope.

    Examples
    --------
    >>> y = [0] * 9 + [1] + [0] * 5 + [1] * 5
    >>> found = recalibration(y, [0.1] * 10 + [0.5] * 10)
    >>> abs(found.intercept) < 1e-9, round(found.slope, 6)
    (True, 1.0)
    """
    event = check_binary(y_true)
    risks = check_risks(risk, event.size)
    weight = check_weights(sample_weight, event.size)
    observed, expected = float(weight[event].sum()), float(weight @ risks)
    used = weight > 0
    event, risks, weight = event[used], risks[used], weight[used]

    def without_fit(note: str) -> Recalibration:
        return Recalibration(observed, expected, None, None, None, None, note)

    if event.all() or not event.any():
        return without_fit("all rows have the same outcome")
    if risks.min() <= 0.0 or risks.max() >= 1.0:
        return without_fit("some risks are exactly 0 or 1")
    distinct, place = np.unique(risks, return_inverse=True)
    if effective_rows is None:
        effective_rows = count_effective_rows(weight)
    scale = effective_rows / float(weight.sum())
    a: FloatArray = np.bincount(place, weights=weight * event).astype(np.float64) * scale
    b: FloatArray = np.bincount(place, weights=weight * ~event).astype(np.float64) * scale
    logit = np.log(distinct) - np.log1p(-distinct)
    one = np.ones((distinct.size, 1))
    (intercept,), (intercept_se,) = _fit(one, logit, a, b)
    if not _overlap(logit, a > 0, b > 0):
        alike = distinct.size == 1
        why = "all risks are equal" if alike else "the risks separate the classes"
        return Recalibration(observed, expected, intercept, intercept_se, None, None, why)
    (_, slope), (_, slope_se) = _fit(np.column_stack([one, logit]), np.zeros_like(logit), a, b)
    return Recalibration(observed, expected, intercept, intercept_se, slope, slope_se)


def _overlap(x: FloatArray, events: NDArray[np.bool_], others: NDArray[np.bool_]) -> bool:
    """Whether a slope has a finite best value: neither class lies all on one side of the other."""
    with_event, without = x[events], x[others]
    return bool(with_event.min() < without.max() and without.min() < with_event.max())


def _fit(
    design: FloatArray, offset: FloatArray, a: FloatArray, b: FloatArray
) -> tuple[list[float], list[float]]:
    """Coefficients and standard errors of a logistic model of grouped rows."""
    from scipy.special import expit, log_expit

    def loss(theta: FloatArray) -> float:
        eta = design @ theta + offset
        return -float(a @ log_expit(eta) + b @ log_expit(-eta))

    def derivatives(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        eta = design @ theta + offset
        weight = (a + b) * expit(eta) * expit(-eta)
        gradient = design.T @ (b * expit(eta) - a * expit(-eta))
        return gradient, design.T @ (weight[:, None] * design)

    start = np.zeros(design.shape[1])
    theta = minimise_by_newton(loss, derivatives, start, close=_CLOSE, longest=_LONGEST)
    covariance = np.linalg.inv(derivatives(theta)[1])
    return theta.tolist(), np.sqrt(np.diag(covariance)).tolist()


@dataclass(frozen=True, eq=False, repr=False)
class CardEvaluation(Tabular):
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
    beside : tuple of Beside
        Mean net benefit, less that of treating all and of treating none, each with its 95%
        interval.
    """

    measures: Measures
    calibration: Recalibration
    levels: tuple[LevelRow, ...]
    curve: Table
    drift: Drift | None
    beside: tuple[Beside, ...]

    def to_table(self) -> Table:
        """One row per level of the card: ``scores, risk, n, events, observed, low, high``."""
        columns = {"scores": np.array([row.scores for row in self.levels], dtype=object)}
        for name in ("risk", "n", "events", "rate", "low", "high"):
            values = [getattr(row, name) for row in self.levels]
            columns["observed" if name == "rate" else name] = np.array(values, dtype=np.float64)
        return Table(columns)

    @shown_on_stdout
    def __str__(self) -> str:
        m = self.measures
        n, events, rate = format_count(m.n), format_count(m.events), format_percent(m.prevalence)
        head = f"{n} rows, {events} with the event ({rate})"
        rows = [
            ["AUNBC", format_number(m.aunbc)],
            ["net benefit", format_number(m.weighted_net_benefit)],
            ["AUROC", format_number(m.auroc)],
            ["ECE", format_number(m.expected_calibration_error)],
            *calibration_lines(self.calibration),
        ]
        parts = [head, "", *format_table(["", ""], rows)[1:], "", *level_lines(self.levels)]
        parts += ["", *self._benefit_lines(), "", *beside_lines(self.beside)]
        if self.drift is not None:
            parts += ["", str(self.drift)]
        return "\n".join(parts)

    def _benefit_lines(self) -> list[str]:
        model, p = self.curve["model"], self.curve["threshold"]
        card, treat_all = model == "Card", model == TREAT_ALL
        benefit = self.curve["net_benefit"]
        rows = [
            [format_percent(x, 1), format_number(a), format_number(b)]
            for x, a, b in zip(p[card], benefit[card], benefit[treat_all], strict=True)
        ]
        return format_table(["threshold", "net benefit", "treat all"], rows, left=0)


def calibration_lines(found: Recalibration) -> list[list[str]]:
    """Rows of a table: observed and expected events, intercept, slope."""
    counts = f"{format_number(found.ratio, 3)} ({found.observed:,.5g} / {found.expected:,.5g})"
    rows = [["observed / expected", counts]]
    for name, value, error in (
        ("calibration in the large", found.intercept, found.intercept_se),
        ("calibration slope", found.slope, found.slope_se),
    ):
        if value is None or error is None:
            rows.append([name, f"none: {found.note}"])
        else:
            rows.append(
                [name, f"{format_number(value, 3)} (standard error {format_number(error, 3)})"]
            )
    return rows


def beside_lines(beside: Sequence[Beside]) -> list[str]:
    """Say in words whether a card beats treating all, and treating none."""
    names = {TREAT_ALL: "treating all", TREAT_NONE: "treating none"}
    lines = [
        f"  {one.words} than {names[one.reference]}: difference {format_number(one.difference)}, "
        f"95% interval {format_number(one.low)} to {format_number(one.high)}"
        for one in beside
    ]
    return ["In mean net benefit on these rows, the card is", *lines]


def level_lines(levels: tuple[LevelRow, ...]) -> list[str]:
    """The SCORE → RISK table with what was observed."""
    rows = [
        [
            row.scores,
            row.risk_text,
            format_count(row.n),
            format_count(row.events),
            format_percent(row.rate),
            "–" if row.low is None else f"{format_percent(row.low)} to {format_percent(row.high)}",
        ]
        for row in levels
    ]
    return format_table(["score", "risk", "rows", "events", "observed", "95% interval"], rows)


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
    """Evaluate a card on new rows (external validation).

    Parameters
    ----------
    card : Scorecard
    X : table
        Rows, in any form that ``card.score`` takes.
    y : (n_rows,) array of 0/1, booleans, or labels such as the card's own, "Yes" and "No"
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
    >>> from netbenefit import PerUnit, Rule, Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(1, 0.1), (2, 0.6)], Thresholds.of([0.5]))
    >>> found = evaluate_card(card, {"x": [0, 1, 1, 2, 3]}, [0, 0, 1, 1, 1])
    >>> found.to_table()["observed"].round(3), found.measures.aunbc
    (array([0.333, 1.   ]), 0.4)
    """
    event = read_event(y, card)
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
    effective_rows: float | None = None,
) -> CardEvaluation:
    """Evaluate the scores of a card on outcomes, without drift.

    Arrays, (n,), have one entry per row, or one per group of rows with the same score and outcome,
    with the sum of their weights; then ``effective_rows`` is (Σv)² / Σv² over the rows.
    """
    scores = np.asarray(score, dtype=np.int64)
    risk = np.asarray(card.risk_of_score(scores), dtype=np.float64)
    return CardEvaluation(
        measures=measure(event, risk, thresholds, score=scores, sample_weight=weight),
        calibration=recalibration(event, risk, sample_weight=weight, effective_rows=effective_rows),
        levels=tuple(
            count_levels_of_card(card, scores, event, weight, effective_rows=effective_rows)
        ),
        curve=decision_curve(event, {"Card": risk}, thresholds, sample_weight=weight),
        drift=None,
        beside=mean_benefit_beside(
            event, risk, thresholds, sample_weight=weight, effective_rows=effective_rows
        ),
    )

"""The measures of predicted risks that reports show, in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, check_binary, check_risks, check_weights
from netbenefit.metrics import benefit as metrics
from netbenefit.metrics.curves import TREAT_ALL, TREAT_NONE
from netbenefit.metrics.thresholds import Thresholds

# -- what validation measures: net benefit, discrimination, calibration, size, and pure chance -----


#: Of these measures less is better; of all others more.
LOWER_IS_BETTER = frozenset({"ece", "size"})


def name_at(threshold: float) -> str:
    """The name of the net benefit at one threshold."""
    return f"net_benefit_at_{float(threshold)!r}"


def check_thresholds_at(at: Sequence[float] | float | None) -> tuple[float, ...]:
    """Thresholds at which to report net benefit, checked, in increasing order."""
    if at is None:
        return ()
    numbers = sorted({float(p) for p in np.atleast_1d(np.asarray(at, dtype=np.float64))})
    wrong = [p for p in numbers if not 0.0 <= p < 1.0]
    if wrong:
        raise InputError(
            f"net_benefit_at={wrong[0]!r} is not a threshold, a risk of at least 0 and below 1. "
            "Write 0.2 for 20%."
        )
    return tuple(numbers)


def measures_of(
    event: NDArray[np.bool_],
    risk: FloatArray,
    weight: FloatArray | None,
    grid: Thresholds,
    at: Sequence[float] = (),
) -> dict[str, float]:
    """AUNBC, net benefit by the thresholds' own weights, AUROC (NaN for one class) and ECE.

    With ``at``, also the net benefit at each of these thresholds.
    """
    rows: dict[str, Any] = {"sample_weight": weight}
    # Thresholds need one above 0, so 0 is given with another, which is not used.
    single = [(p, metrics.net_benefit(event, risk, [p] if p else [p, 0.5], **rows)[0]) for p in at]
    checked = check_risks(risk, event.size), check_weights(weight, event.size)
    counts = metrics.count_levels(event, *checked, grid)
    both = counts.tp[0] > 0 and counts.fp[0] > 0
    return {
        "aunbc": float(grid.length_weights @ counts.net_benefit),
        "net_benefit": float(grid.weight_array @ counts.net_benefit),
        "auroc": metrics.auroc(event, risk, **rows) if both else float("nan"),
        "ece": float(np.abs(counts.events - counts.expected).sum() / counts.n),
        **{name_at(p): float(value) for p, value in single},
    }


def chance_of(
    event: NDArray[np.bool_],
    risk: FloatArray,
    weight: FloatArray | None,
    grid: Thresholds,
    at: Sequence[float] = (),
) -> dict[str, float]:
    """The same measures if outcomes had nothing to do with the risks (no information).

    Each is the measure on all pairs of one row's outcome and another row's risk (Efron and
    Tibshirani's definition). With π_p the share of rows whose risk is at least p, and a the share
    of events, the net benefit at p is π_p · (a - (1 - a) p / (1 - p)), the AUROC ½, and the ECE the
    mean distance of a from the mean risk of each interval.
    """
    weights = np.ones(event.size) if weight is None else weight
    share = float(weights[event].sum() / weights.sum())
    counts = metrics.count_levels(event, risk, weights, grid)
    rows = counts.events + counts.nonevents
    called = np.cumsum(rows[::-1])[::-1] / counts.n
    benefit = called * (share - (1.0 - share) * grid.odds)
    single = {
        name_at(p): float(weights[risk >= p].sum() / weights.sum())
        * (share - (1.0 - share) * p / (1.0 - p))
        for p in at
    }
    return {
        "aunbc": float(grid.length_weights @ benefit),
        "net_benefit": float(grid.weight_array @ benefit),
        "auroc": 0.5,
        "ece": float(np.abs(share * rows - counts.expected).sum() / counts.n),
        **single,
    }


# -- what a fitted model is made of ----------------------------------------------------------------


class Rules(NamedTuple):
    """What a model uses, and of how many columns it could choose."""

    n_columns: int
    columns: list[str]  #: raw columns that it uses
    rules: list[tuple[str, str, float]]  #: column, rule, points (or coefficient)


def inner_model(model: Any) -> Any:
    """The model behind pipelines, searches and other wrappers."""
    for _ in range(10):  # wrappers of wrappers have an end
        if hasattr(model, "steps"):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif hasattr(model, "estimator_") and not hasattr(model, "estimators_"):
            model = model.estimator_
        else:
            break
    return model


def size_of(model: Any) -> float:
    """Rules of a card, coefficients of a linear model that are not 0, nodes of trees; else NaN."""
    inner = inner_model(model)
    if hasattr(inner, "scorecard_"):
        return float(inner.scorecard_.size)
    if hasattr(inner, "tree_"):
        return float(inner.tree_.node_count)
    if hasattr(inner, "estimators_"):
        return float(sum(size_of(one) for one in np.ravel(inner.estimators_)))
    coefficients = _coefficients(inner)
    return float("nan") if coefficients is None else float(np.count_nonzero(coefficients))


def rules_of(model: Any) -> Rules | None:
    """Rules and points of a card, coefficients of a linear model that are not 0; else None."""
    inner = inner_model(model)
    if hasattr(inner, "scorecard_"):
        card = inner.scorecard_
        used = [rule for rule in card.rules if rule.points]
        return Rules(
            int(inner.n_features_in_),
            list(card.features),
            [(rule.term.feature, rule.term.text(), float(rule.points)) for rule in used],
        )
    coefficients = _coefficients(inner)
    if coefficients is None:
        return None
    names = _names(model, inner, coefficients.size)
    found = [(n, n, float(c)) for n, c in zip(names, coefficients, strict=True) if c]
    return Rules(coefficients.size, [name for name, _, _ in found], found)


def _coefficients(model: Any) -> FloatArray | None:
    try:
        coefficients = np.asarray(model.coef_, dtype=np.float64)
    except (AttributeError, TypeError, ValueError):
        return None
    return coefficients.ravel() if coefficients.size == coefficients.shape[-1] else None


def _names(model: Any, inner: Any, count: int) -> list[str]:
    """Names of the columns that a linear model saw, as far as they are known."""
    if hasattr(inner, "feature_names_in_"):
        return [str(name) for name in inner.feature_names_in_]
    try:
        names = [str(name) for name in model[:-1].get_feature_names_out()]
    except Exception:  # no pipeline, or steps that do not tell
        names = []
    return names if len(names) == count else [f"x{k}" for k in range(count)]


class Measures(NamedTuple):
    """Measures of one model on one table; n and events are sums of weights.

    A card has fewer risks than scores, so its scores may rank rows better than its risks do.
    """

    n: int | float
    events: int | float
    prevalence: float
    auroc: float
    aunbc: float
    weighted_net_benefit: float
    expected_calibration_error: float
    hosmer_lemeshow: float
    auroc_of_score: float | None = None


class ModelRow(NamedTuple):
    """One line of a comparison; a strategy without risks has only an area."""

    model: str
    aunbc: float
    auroc: float | None = None
    expected_calibration_error: float | None = None


def measure(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: Thresholds,
    *,
    score: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Measures:
    """Compute all measures of one model, and how well a card's ``score`` ranks the rows."""
    event = check_binary(y_true)
    weight = check_weights(sample_weight, event.size)
    n, events = (_whole(float(w.sum())) for w in (weight, weight[event]))
    metrics.require_both(events, n - events, "AUROC is")
    found = measures_of(event, np.asarray(risk), weight, thresholds)
    fit = metrics.hosmer_lemeshow(event, risk, thresholds, sample_weight=weight)
    return Measures(
        n=n,
        events=events,
        prevalence=events / n,
        auroc=found["auroc"],
        aunbc=found["aunbc"],
        weighted_net_benefit=found["net_benefit"],
        expected_calibration_error=found["ece"],
        hosmer_lemeshow=fit,
        auroc_of_score=None if score is None else _auroc_of_score(event, score, weight),
    )


def _auroc_of_score(event: NDArray[np.bool_], score: ArrayLike, weight: FloatArray) -> float:
    _, rank = np.unique(np.asarray(score), return_inverse=True)  # only their order counts
    return metrics.auroc(event, rank / max(1, int(rank.max())), sample_weight=weight)


def compare(
    y_true: ArrayLike,
    risks: Mapping[str, FloatArray],
    thresholds: Thresholds,
    *,
    sample_weight: ArrayLike | None = None,
) -> list[ModelRow]:
    """Measure models side by side, with treating all and treating none below them."""
    event = check_binary(y_true)
    weight = check_weights(sample_weight, event.size)
    metrics.require_both(weight[event].sum(), weight[~event].sum(), "AUROC is")
    rows = []
    for name, risk in risks.items():
        found = measures_of(event, np.asarray(risk), weight, thresholds)
        rows.append(ModelRow(name, found["aunbc"], found["auroc"], found["ece"]))
    everyone = measures_of(event, np.ones(event.size), weight, thresholds)
    # Not as risks of 0, which threshold 0 would call positive.
    return [*rows, ModelRow(TREAT_ALL, everyone["aunbc"]), ModelRow(TREAT_NONE, 0.0)]


class Beside(NamedTuple):
    """The mean net benefit of a model, less that of treating all or none, with its interval."""

    reference: str
    difference: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """What the interval allows to say."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no better"


def mean_benefit_beside(
    y_true: ArrayLike,
    risk: ArrayLike,
    thresholds: Thresholds,
    *,
    sample_weight: ArrayLike | None = None,
    effective_rows: float | None = None,
    confidence: float = 0.95,
) -> tuple[Beside, Beside]:
    """Set the weighted net benefit of a model beside those of treating all and treating none.

    The difference is a mean over rows, of what each of them adds; the interval is the usual one of
    a mean, with (Σv)² / Σv² rows.  ``effective_rows`` says how many these are where an entry stands
    for many rows.
    """
    event = check_binary(y_true)
    risks = check_risks(risk, event.size)
    weight = check_weights(sample_weight, event.size)
    rows = count_effective_rows(weight) if effective_rows is None else effective_rows
    found, alarm = (
        np.cumsum(w) for w in (thresholds.weight_array, thresholds.weight_array * thresholds.odds)
    )
    level = thresholds.level_of(risks)
    adds = np.where(event, found[level], -alarm[level])
    everyone = np.where(event, found[-1], -alarm[-1])
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def beside(reference: str, other: FloatArray) -> Beside:
        gain = adds - other
        mean = float(np.average(gain, weights=weight))
        if rows <= 1:  # one row has no spread
            return Beside(reference, mean, -math.inf, math.inf)
        half = z * math.sqrt(float(np.average((gain - mean) ** 2, weights=weight)) / (rows - 1))
        return Beside(reference, mean, mean - half, mean + half)

    return beside(TREAT_ALL, everyone), beside(TREAT_NONE, np.zeros(event.size))


def _whole(total: float) -> int | float:
    return int(total) if total.is_integer() else total


def count_effective_rows(weight: FloatArray) -> float:
    """Rows of equal weight that would tell as much, by Kish: (Σv)² / Σv²."""
    return float(weight.sum()) ** 2 / float(np.square(weight).sum())


def wilson(rate: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[Any, Any]:
    """Return Wilson's interval of a share of n (effective) rows, or of several shares."""
    share, rows = np.asarray(rate, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    middle = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = np.sqrt(z2 * (share * (1 - share) / rows + z2 / (4 * rows * rows))) / (1 + z2 / rows)
    # At 0 and at 1 an end is exact; rounding must not lead past the share itself.
    low, high = np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)
    return (low, high) if low.ndim else (float(low), float(high))

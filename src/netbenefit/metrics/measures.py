"""The measures of predicted risks that reports show, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, check_binary, check_weights
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.decision_curve import TREAT_ALL, TREAT_NONE
from netbenefit.metrics.thresholds import Thresholds

__all__ = ["Measures", "ModelRow", "compare", "measure"]


class Measures(NamedTuple):
    """What is said of one model on one table; n and events are sums of weights.

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
    """Compute all measures of one model.

    Parameters
    ----------
    y_true, risk, thresholds, sample_weight
        As in :func:`netbenefit.net_benefit`.
    score : (n_rows,) array, optional
        A card's scores, to say how well they rank the rows.

    Returns
    -------
    Measures

    Examples
    --------
    >>> measure([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], Thresholds.of([0.2, 0.5])).auroc
    0.875
    """
    event = check_binary(y_true)
    weight = check_weights(sample_weight, event.size)
    n, events = (_whole(float(w.sum())) for w in (weight, weight[event]))

    def on_grid(metric: Callable[..., float]) -> float:
        return metric(event, risk, thresholds, sample_weight=weight)

    return Measures(
        n=n,
        events=events,
        prevalence=events / n,
        auroc=metrics.auroc(event, risk, sample_weight=weight),
        aunbc=on_grid(metrics.aunbc),
        weighted_net_benefit=on_grid(metrics.weighted_net_benefit),
        expected_calibration_error=on_grid(metrics.expected_calibration_error),
        hosmer_lemeshow=on_grid(metrics.hosmer_lemeshow),
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
    """Put models side by side, with the strategies to treat all and to treat none below them.

    Parameters
    ----------
    y_true, thresholds, sample_weight
        As in :func:`netbenefit.net_benefit`.
    risks : mapping of str to array
        Risks by the name of the model.

    Returns
    -------
    list of ModelRow

    Examples
    --------
    >>> rows = compare([0, 0, 1, 1], {"card": [0.1, 0.5, 0.5, 0.9]}, Thresholds.of([0.2, 0.5]))
    >>> [row.model for row in rows]
    ['card', 'Treat All', 'Treat None']
    """
    event = check_binary(y_true)
    weight = {"sample_weight": sample_weight}
    rows = [
        ModelRow(
            name,
            metrics.aunbc(event, risk, thresholds, **weight),
            metrics.auroc(event, risk, **weight),
            metrics.expected_calibration_error(event, risk, thresholds, **weight),
        )
        for name, risk in risks.items()
    ]
    for name, everybody in ((TREAT_ALL, 1.0), (TREAT_NONE, 0.0)):
        constant = np.full(event.size, everybody)
        rows.append(ModelRow(name, metrics.aunbc(event, constant, thresholds, **weight)))
    return rows


def _whole(total: float) -> int | float:
    return int(total) if total.is_integer() else total

"""What displays are given: fitted models and cards, or risks by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import (
    FloatArray,
    InputError,
    check_binary,
    check_risks,
    check_weights,
    shorten,
)
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds

__all__ = [
    "Predicted",
    "Rows",
    "card_of",
    "check_rows",
    "named",
    "own_thresholds",
    "predict",
    "predict_over_time",
]


class Predicted(NamedTuple):
    """Outcomes, and the risks of each model."""

    outcome: NDArray[np.bool_]
    risks: dict[str, FloatArray]


class Rows(NamedTuple):
    """Checked rows: outcomes, the risks of each model, weights."""

    outcome: NDArray[np.bool_]
    risks: dict[str, FloatArray]
    weight: FloatArray


def named(models: Any, name: str | None = None) -> dict[str, Any]:
    """Models by name: a mapping as it is, one model under its own name.

    >>> named({"card": 1}), named(0.5), named(0.5, "half")
    ({'card': 1}, {'float': 0.5}, {'half': 0.5})
    """
    if not isinstance(models, Mapping):
        return {type(models).__name__ if name is None else name: models}
    if name is not None:
        raise InputError("name goes with one model, but several were passed, which have names.")
    if not models:
        raise InputError("no model was passed. Pass at least one, as in {'card': model}.")
    for key in models:
        if not isinstance(key, str):
            raise InputError(f"model name {key!r} is not text. Name models by strings.")
    return dict(models)


def predict(models: Mapping[str, Any], X: Any, y: ArrayLike) -> Predicted:
    """Risks that fitted classifiers and cards give to rows.

    Parameters
    ----------
    models : mapping of str to classifier or Scorecard
    X : rows, as the models take them
    y : (n_rows,) array
        Labels that the classifiers know, of which the second is the event; 0 and 1 for cards.
    """
    outcome: NDArray[np.bool_] | None = None
    risks: dict[str, FloatArray] = {}
    for name, model in models.items():
        found = _outcome(name, model, y)
        if outcome is not None and not np.array_equal(outcome, found):
            raise InputError(
                f"{name!r} takes another label for the event than the models before it. Fit all "
                "models to the same labels."
            )
        outcome = found
        risks[name] = _risk(name, model, X, outcome.size)
    assert outcome is not None  # named() lets no empty mapping pass
    return Predicted(outcome, risks)


def predict_over_time(models: Mapping[str, Any], X: Any, n_rows: int) -> dict[str, FloatArray]:
    """Risks that models give to rows whose outcomes take time: those of the second class."""
    for name, model in models.items():
        _classes(name, model)
    return {name: _risk(name, model, X, n_rows) for name, model in models.items()}


def _risk(name: str, model: Any, X: Any, n_rows: int) -> FloatArray:
    risk = model.risk(X) if isinstance(model, Scorecard) else model.predict_proba(X)[:, 1]
    return check_risks(risk, n_rows, name=f"the risk by {name!r}")


def _classes(name: str, model: Any) -> Any:
    """The two labels that a classifier knows; 0 and 1 for a card."""
    if isinstance(model, Scorecard):
        return (0, 1)
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name!r} is a {type(model).__name__}, which predicts no risks. Pass a classifier "
            "with predict_proba, or a Scorecard."
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise InputError(f"{name!r} is not fitted. Call fit first.")
    if len(classes) != 2:
        raise InputError(f"{name!r} knows {len(classes)} classes. Pass a model of two classes.")
    return classes


def _outcome(name: str, model: Any, y: ArrayLike) -> NDArray[np.bool_]:
    classes = _classes(name, model)
    if isinstance(model, Scorecard):
        return check_binary(y, name="y")
    labels = np.asarray(y)
    if labels.ndim != 1 or not labels.size:
        raise InputError(f"y must be one column of labels, but has shape {labels.shape}.")
    event = labels == classes[1]
    strange = np.flatnonzero(~(event | (labels == classes[0])))
    if strange.size:
        raise InputError(
            f"y holds labels that {name!r} does not know ({shorten(classes.tolist())}), the first "
            f"in row {int(strange[0])}: {labels[strange[:1]].tolist()[0]!r}."
        )
    return np.asarray(event, dtype=np.bool_)


def check_rows(
    y_true: ArrayLike, risks: Any, sample_weight: ArrayLike | None, name: str | None = None
) -> Rows:
    """Check outcomes, risks (of one model, or of several by name) and weights."""
    outcome = check_binary(y_true)
    several = isinstance(risks, Mapping)
    models = named(risks, name if several else name or "model")
    return Rows(
        outcome,
        {
            model: check_risks(risk, outcome.size, name=f"risks[{model!r}]" if several else "risks")
            for model, risk in models.items()
        },
        check_weights(sample_weight, outcome.size),
    )


def own_thresholds(models: Mapping[str, Any], thresholds: ThresholdsLike) -> Thresholds | None:
    """The thresholds that were given, else those of the first model that has some."""
    if thresholds is not None:
        return as_thresholds(thresholds)
    for model in models.values():
        own = model.thresholds if isinstance(model, Scorecard) else None
        own = getattr(model, "thresholds_", None) if own is None else own
        if isinstance(own, Thresholds):
            return own
    return None


def card_of(model: Any) -> Scorecard:
    """The card of a fitted estimator, or the card itself."""
    card = model if isinstance(model, Scorecard) else getattr(model, "scorecard_", None)
    if not isinstance(card, Scorecard):
        raise InputError(
            f"{type(model).__name__} holds no card. Pass a Scorecard, or an estimator that has "
            "learnt one (call fit first)."
        )
    return card

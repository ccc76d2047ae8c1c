"""ROC curves, with the points at which a card is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import Scorecard
from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    check_binary,
    check_risks,
    check_weights,
)
from netbenefit.metrics import Thresholds, ThresholdsLike, as_thresholds, count_levels, given_part
from netbenefit.plots.base import (
    GREY,
    INK,
    PLAIN,
    Display,
    draw_key,
    named,
    own_thresholds,
    predict,
    style_of,
    tidy,
)

#: Least distance between the labels of two operating points, in units of the axes.
_SPACING = 0.055


class RocCurve(NamedTuple):
    """One curve: shares of non-events and events called positive, from none to all."""

    fpr: FloatArray
    tpr: FloatArray
    auroc: float


class RocDisplay(Display):
    """ROC curves of scores and models, and the operating points of a card at its thresholds.

    The curve of a card's scores shows all cut-offs; its operating points are those that the
    thresholds choose.  Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curves : mapping of str to RocCurve
    points : mapping of str to array, optional
        Operating points: ``threshold``, ``fpr`` and ``tpr``, of equal length.

    Attributes
    ----------
    lines_ : dict of str to matplotlib line
    points_ : matplotlib line or None
        The operating points.
    labels_ : list of matplotlib text
        Their thresholds; thresholds that share a point share a label.

    Examples
    --------
    >>> risk = [0.1, 0.5, 0.5, 0.9]
    >>> display = RocDisplay.from_predictions([0, 0, 1, 1], {"card": risk}, risk=risk,
    ...     thresholds=[0.2, 0.3, 0.6])
    >>> display.curves["card"].auroc, [text.get_text() for text in display.labels_]
    (0.875, ['20%, 30%', '60%'])
    """

    _size: ClassVar[tuple[float, float]] = (5.4, 5.4)

    def __init__(
        self, curves: Mapping[str, RocCurve], points: Mapping[str, ArrayLike] | None = None
    ) -> None:
        if not curves:
            raise InputError("curves holds no model. Pass at least one.")
        self.curves = dict(curves)
        self.points = None if points is None else Table(points)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        scores: ArrayLike | Mapping[str, ArrayLike],
        *,
        risk: ArrayLike | None = None,
        thresholds: ThresholdsLike = None,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Compute ROC curves and operating points, and draw them.

        Parameters
        ----------
        y_true : (n_rows,) array of 0 and 1
        scores : (n_rows,) array, or mapping of str to (n_rows,) array
            Scores or risks of one model, or of several by name; higher is more likely an event.
        risk : (n_rows,) array, optional
            Risks whose operating points are marked.
        thresholds : Thresholds, str or sequence of float, optional
            Where, with ``risk``; None is the grid 0, 0.1, …, 0.9.
        sample_weight : (n_rows,) array, optional
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        outcome = check_binary(y_true)
        weight = check_weights(sample_weight, outcome.size)
        if not (weight[outcome].sum() > 0 and weight[~outcome].sum() > 0):
            raise InputError("a ROC curve needs events and non-events, but y_true has one kind.")
        several = isinstance(scores, Mapping)
        models = named(scores, None if several else "model")
        curves = {
            name: _curve(outcome, _scores(score, outcome.size, name if several else ""), weight)
            for name, score in models.items()
        }
        points = None
        if risk is not None:
            grid = as_thresholds(thresholds)
            points = _points(outcome, check_risks(risk, outcome.size), weight, grid)
        elif thresholds is not None:
            raise InputError("thresholds need risks to be applied to. Pass risk=…, too.")
        return cls(curves, points).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        thresholds: ThresholdsLike = None,
        *,
        name: str | None = None,
        others: Mapping[str, Any] | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curve of a card's scores with its operating points, beside other models.

        Parameters
        ----------
        estimator : fitted classifier or Scorecard
            Where it has a card, its curve is that of the scores, otherwise of the risks.
        X, y
            Rows, and their labels (0 and 1 for a Scorecard).
        thresholds : Thresholds, str or sequence of float, optional
            Of the operating points; by default the model's own.  None are marked where there are
            no thresholds.
        name : str, optional
            Of the estimator; by default the name of its class.
        others : mapping of str to fitted classifier or Scorecard, optional
            Models to compare with, by their risks.
        sample_weight, ax
            As in :meth:`from_predictions`.
        """
        if isinstance(estimator, Mapping):
            raise InputError("pass the model with operating points first, the others as others={…}")
        ((own, _),) = named(estimator, name).items()
        if others and own in others:
            raise InputError(f"two models are called {own!r}. Pass another name.")
        outcome, risks = predict({own: estimator, **named(others or {own: estimator})}, X, y)
        card = getattr(estimator, "scorecard_", estimator)
        scores: dict[str, ArrayLike] = dict(risks)
        if isinstance(card, Scorecard):
            scores[own] = np.asarray(card.score(X), dtype=np.float64)
        grid = own_thresholds({own: estimator}, thresholds)
        return cls.from_predictions(
            outcome,
            scores,
            risk=None if grid is None else risks[own],
            thresholds=grid,
            sample_weight=sample_weight,
            ax=ax,
        )

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", zorder=1)
        self.lines_: dict[str, Any] = {}
        entries = []
        for place, (name, curve) in enumerate(self.curves.items()):
            style = style_of(place)
            (self.lines_[name],) = ax.plot(
                curve.fpr,
                curve.tpr,
                color=style.colour,
                linestyle=style.line,
                linewidth=1.8 if place == 0 else 1.4,
                zorder=5 - min(place, 3),
            )
            entries.append((self.lines_[name], f"{name}: AUROC {curve.auroc:.3f}"))
        self.points_: Any = None
        self.labels_: list[Any] = []
        if self.points is not None:
            self._draw_points(ax, self.points)
            entries.append((self.points_, "operating points, risk ≥ threshold"))
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel("False Positive Rate (1 − Specificity)")
        ax.set_ylabel("True Positive Rate (Sensitivity)")
        tidy(ax, "both")
        draw_key(ax, entries, loc="lower right")

    def _draw_points(self, ax: Any, points: Table) -> None:
        """Mark the points; from right to left each label stands lower, so that none overlap."""
        (self.points_,) = ax.plot(
            points["fpr"],
            points["tpr"],
            linestyle="none",
            marker="o",
            markersize=6.5,
            markerfacecolor="white",
            markeredgecolor=INK,
            markeredgewidth=1.4,
            zorder=6,
        )
        height = 1.0
        for fpr, tpr, text in _shared(points):
            height = min(tpr - _SPACING, height - _SPACING)
            self.labels_.append(
                ax.annotate(
                    text,
                    (fpr, tpr),
                    xytext=(min(fpr + 0.06, 0.9), max(height, 0.0)),
                    fontsize="small",
                    color=INK,
                    va="center",
                    arrowprops={
                        "arrowstyle": "-",
                        "color": GREY,
                        "linewidth": 0.7,
                        "relpos": (0, 0.5),
                        "shrinkA": 1,
                        "shrinkB": 4,
                    },
                    zorder=5,
                    **PLAIN,
                )
            )


def _shared(points: Mapping[str, NDArray[Any]]) -> list[tuple[float, float, str]]:
    """Points from the top right down, with the thresholds of each."""
    found: dict[tuple[float, float], list[float]] = {}
    rows = zip(points["threshold"], points["fpr"], points["tpr"], strict=True)
    for threshold, fpr, tpr in sorted(rows):
        found.setdefault((float(fpr), float(tpr)), []).append(float(threshold))
    return [(fpr, tpr, _percents(own)) for (fpr, tpr), own in found.items()]


def _percents(thresholds: Sequence[float]) -> str:
    """List a few thresholds, or the first and the last of many (no other lies between)."""
    texts = [f"{100 * p:.6g}%" for p in thresholds]
    return ", ".join(texts) if len(texts) <= 3 else f"{texts[0]} … {texts[-1]}"


def _scores(scores: ArrayLike, n_rows: int, name: str) -> FloatArray:
    label = f"scores[{name!r}]" if name else "scores"
    try:
        array = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{label} must hold one number per row.") from None
    if array.shape != (n_rows,):
        raise InputError(
            f"{label} has shape {array.shape}, but there are {n_rows} rows. Pass one score per row."
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(f"{label} holds {array[bad[0]]} in row {int(bad[0])}. Drop such rows.")
    return array


def _curve(outcome: NDArray[np.bool_], score: FloatArray, weight: FloatArray) -> RocCurve:
    from sklearn.metrics import auc, roc_curve  # late: it takes its time to import

    fpr, tpr, _ = roc_curve(outcome, score, sample_weight=weight, drop_intermediate=False)
    return RocCurve(fpr, tpr, float(auc(fpr, tpr)))


def _points(
    outcome: NDArray[np.bool_], risk: FloatArray, weight: FloatArray, grid: Thresholds
) -> Table:
    counts, part = count_levels(outcome, risk, weight, grid), given_part(grid)
    return Table(
        {
            "threshold": grid.given,
            "fpr": (counts.fp / counts.fp[0])[part],
            "tpr": (counts.tp / counts.tp[0])[part],
        }
    )

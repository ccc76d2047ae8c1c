"""Predicted against observed risk, with the number of rows behind each point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import is_finite
from netbenefit.common import FloatArray, InputError, Table, check_count, check_option
from netbenefit.metrics import count_effective_rows, wilson
from netbenefit.plots.base import (
    GREY,
    INK,
    PLAIN,
    Display,
    check_columns,
    check_rows,
    draw_key,
    in_percent,
    named,
    predict,
    style_of,
    tidy,
)

Groups = Literal["auto", "levels", "quantiles"]

_COLUMNS = ("risk", "observed", "low", "high", "n", "events")
#: With ``groups="auto"``, a model with at most this many different risks is shown by level.
_MOST_LEVELS = 20
#: Up to this many groups, counts are printed beside the stems.
_MOST_FIGURES = 10


class CalibrationDisplay(Display):
    """Observed share of events against predicted risk, with intervals and counts.

    A card has few risks: each of them is a point.  Other models have many, which are put into
    groups of about equal size.  Make it with :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    groups : mapping of str to mapping of str to array
        By model, columns of equal length, one row per point: ``risk`` (mean predicted),
        ``observed`` (share of events), ``low`` and ``high`` (ends of the interval; NaN for none),
        ``n`` and ``events`` (rows and events, or their weights).
    confidence : float or None, default=0.95
        Of the intervals, for the key.

    Attributes
    ----------
    counts_ax_ : matplotlib axes
        Below the others (on given axes, in their lower part), with the number of rows per point.
    errorbars_ : dict of str to matplotlib container
    line_ : matplotlib line
        Where predicted and observed risk agree.

    Examples
    --------
    >>> display = CalibrationDisplay.from_predictions(
    ...     [0, 1, 0, 1, 1], {"card": [0.2, 0.2, 0.2, 0.7, 0.7]})
    >>> table = display.groups["card"]
    >>> table["risk"].tolist(), table["n"].tolist(), table["observed"].round(3).tolist()
    ([0.2, 0.7], [3.0, 2.0], [0.333, 1.0])
    """

    _size: ClassVar[tuple[float, float]] = (5.4, 5.9)

    def __init__(
        self,
        groups: Mapping[str, Mapping[str, NDArray[Any]]],
        *,
        confidence: float | None = 0.95,
    ) -> None:
        if not groups:
            raise InputError("groups holds no model. Pass at least one.")
        self.groups = {
            name: check_columns(f"groups[{name!r}]", table, _COLUMNS)
            for name, table in groups.items()
        }
        self.confidence = confidence

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        risks: ArrayLike | Mapping[str, ArrayLike],
        *,
        groups: Groups = "auto",
        n_groups: int = 10,
        confidence: float | None = 0.95,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Group rows by their risk, count events and draw.

        Parameters
        ----------
        y_true : (n_rows,) array of 0 and 1
        risks : (n_rows,) array, or mapping of str to (n_rows,) array
            Risks of one model, or of several by name.
        groups : {"auto", "levels", "quantiles"}, default="auto"
            "levels" makes a point of every different risk, "quantiles" of about equally many rows
            (rows of equal risk stay together).  "auto" takes the levels of a model with at most 20
            different risks.
        n_groups : int, default=10
            Number of quantile groups.
        confidence : float or None, default=0.95
            Of Wilson's intervals; None for none.
        sample_weight : (n_rows,) array, optional
            A weight of 2 counts a row twice.  Weights may have any scale, so intervals go by the
            number of equal rows that would tell as much: (Σv)² / Σv² in all.
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        check_option("groups", groups, get_args(Groups))
        check_count(n_groups, "n_groups")
        if confidence is not None and not (is_finite(confidence) and 0 < confidence < 1):
            raise InputError(f"confidence={confidence!r} must lie between 0 and 1, or be None.")
        outcome, by_model, weight = check_rows(y_true, risks, sample_weight)
        used = weight > 0
        outcome, weight = outcome[used], weight[used]
        tables = {}
        for name, risk in by_model.items():
            group = _group(risk[used], weight, groups, n_groups)
            tables[name] = _count(outcome, risk[used], weight, group, confidence)
        return cls(tables, confidence=confidence).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Self:
        """Let models predict, group rows by their risk and draw.

        Parameters
        ----------
        estimator, X, y, name
            As in :meth:`DecisionCurveDisplay.from_estimator`.
        **options
            As in :meth:`from_predictions`.
        """
        outcome, risks = predict(named(estimator, name), X, y)
        return cls.from_predictions(outcome, risks, **options)

    def _draw(self, ax: Any) -> None:
        (self.line_,) = ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", zorder=1)
        self.errorbars_: dict[str, Any] = {}
        for place, (name, table) in enumerate(self.groups.items()):
            self.errorbars_[name] = _draw_points(ax, table, place)
        self.counts_ax_ = self._draw_counts(ax)
        self._frame(ax)

    def _draw_counts(self, ax: Any) -> Any:
        """Draw the rows of each point as a stem; figures where there is room for them."""
        below = ax.inset_axes([0.0, -0.27, 1.0, 0.2], sharex=ax)
        top = max(float(table["n"].max()) for table in self.groups.values())
        for place, table in enumerate(self.groups.values()):
            style = style_of(place)
            below.vlines(table["risk"], 0, table["n"], color=style.colour, linewidth=2.2, zorder=3)
            below.plot(
                table["risk"],
                table["n"],
                linestyle="none",
                marker=style.marker,
                markersize=4,
                color=style.colour,
                zorder=4,
            )
        (table, *others) = self.groups.values()
        if not others and len(table["n"]) <= _MOST_FIGURES:
            for x, n in _apart(table["risk"], table["n"]):
                below.annotate(
                    f"{n:,.6g}",
                    (x, n),
                    xytext=(0, 4),
                    textcoords="offset points",
                    ha="center",
                    fontsize="x-small",
                    color=INK,
                    **PLAIN,
                )
        below.set_ylim(0, 1.45 * top)
        below.set_ylabel("Rows", fontsize="small")
        below.tick_params(labelsize="small")
        below.locator_params(axis="y", nbins=3, integer=True)
        tidy(below)
        return below

    def _frame(self, ax: Any) -> None:
        in_percent(ax.xaxis, ax.yaxis)
        interval = f", {100 * self.confidence:g}% interval" if self.confidence else ""
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"Observed Share of Events{interval}")
        ax.set_aspect("equal", adjustable="box")
        ax.tick_params(labelbottom=False)
        self.counts_ax_.set_xlabel("Predicted Risk")
        tidy(ax, "both")
        entries = [(bar, name) for name, bar in self.errorbars_.items()]
        draw_key(ax, [*entries, (self.line_, "perfect calibration")])


def _draw_points(ax: Any, table: Table, place: int) -> Any:
    style = style_of(place)
    shown = np.nan_to_num(
        np.abs(np.array([table["observed"] - table["low"], table["high"] - table["observed"]]))
    )
    return ax.errorbar(
        table["risk"],
        table["observed"],
        yerr=shown if shown.any() else None,
        color=style.colour,
        linestyle="none",
        elinewidth=1.2,
        capsize=2.5,
        marker=style.marker,
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=3,
    )


def _apart(x: FloatArray, n: FloatArray) -> list[tuple[float, float]]:
    """Points whose figures do not run into each other; of near ones, those with most rows."""
    kept: list[tuple[float, float]] = []
    for i in np.argsort(-n, kind="stable"):
        if all(abs(x[i] - other) > 0.045 for other, _ in kept):
            kept.append((float(x[i]), float(n[i])))
    return sorted(kept)


def _group(risk: FloatArray, weight: FloatArray, groups: Groups, n_groups: int) -> NDArray[np.intp]:
    """Number the group of each row, from the lowest risk up."""
    values, place = np.unique(risk, return_inverse=True)
    if groups == "levels" or (groups == "auto" and values.size <= _MOST_LEVELS):
        return np.asarray(place)
    # A group ends at the first risk up to which its share of the rows lies.
    reached = np.cumsum(np.bincount(place, weights=weight))
    ends = np.searchsorted(reached * n_groups, np.arange(1, n_groups) * reached[-1])
    return np.searchsorted(np.unique(ends), place)


def _count(
    outcome: NDArray[np.bool_],
    risk: FloatArray,
    weight: FloatArray,
    group: NDArray[np.intp],
    confidence: float | None,
) -> Table:
    n: FloatArray = np.bincount(group, weights=weight).astype(np.float64)
    filled = n > 0
    n = n[filled]
    events = np.bincount(group, weights=weight * outcome)[filled]
    low = high = np.full(n.shape, math.nan)
    if confidence is not None:
        per_weight = count_effective_rows(weight) / float(weight.sum())
        low, high = wilson(events / n, n * per_weight, confidence)
    return Table(
        {
            "risk": np.clip(
                np.bincount(group, weights=weight * risk)[filled] / n, *_ends(risk, group)
            ),
            "observed": events / n,
            "low": low,
            "high": high,
            "n": n,
            "events": events,
        }
    )


def _ends(risk: FloatArray, group: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest risk of each group that has rows: a mean must not leave them."""
    order = np.lexsort((risk, group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    last = np.append(first[1:], group.size) - 1
    return risk[order][first], risk[order][last]

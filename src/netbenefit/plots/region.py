"""Discrimination and utility: which pairs of AUROC and AUNBC a model can have.

The bounds, and why they hold, are in :mod:`netbenefit.theory`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import is_finite
from netbenefit.common import FloatArray, InputError
from netbenefit.metrics import ThresholdsLike, as_thresholds, aunbc, check_prevalence, grouped_auroc
from netbenefit.plots.base import GREY, INK, ModelDisplay, check_rows, draw_key, style_of, tidy
from netbenefit.theory import lower_aunbc, upper_aunbc

#: Values of AUROC at which the bounds are computed.
_STEPS = 400


class RegionDisplay(ModelDisplay):
    """The pairs of AUROC and AUNBC that are possible, and where models lie.

    High utility needs high discrimination, but not the other way round: the region is high on the
    right and narrow at the top.  The AUROC is the grouped one (:func:`netbenefit.grouped_auroc`),
    in which an event and a non-event between the same two thresholds count as ordered correctly:
    for the ordinary one, the bounds do not hold.

    Parameters
    ----------
    thresholds : Thresholds, str or sequence of float, optional
        None is the grid 0, 0.1, …, 0.9.
    prevalence : float
        Share of events.
    models : mapping of str to (float, float), optional
        Grouped AUROC and AUNBC of models, at these thresholds and with this prevalence.

    Attributes
    ----------
    auroc, lower, upper : (n,) float
        The edge of the region: for each grouped AUROC the least and the most AUNBC.
    region_ : matplotlib collection
    edges_ : list of matplotlib line
        Upper and lower edge.
    points_ : dict of str to matplotlib line

    Examples
    --------
    >>> display = RegionDisplay.from_predictions([0, 0, 1, 1], {"card": [0.1, 0.5, 0.5, 0.9]})
    >>> [round(x, 4) for x in display.models["card"]]
    [1.0, 0.3358]
    """

    _size: ClassVar[tuple[float, float]] = (5.6, 4.6)

    def __init__(
        self,
        thresholds: ThresholdsLike = None,
        *,
        prevalence: float,
        models: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.thresholds = as_thresholds(thresholds)
        self.prevalence = check_prevalence(prevalence)
        self.models = {name: _checked_pair(name, pair) for name, pair in (models or {}).items()}
        self.auroc: FloatArray = 1.0 - np.linspace(1.0, 0.0, _STEPS + 1) ** 2  # steep near 1
        self.lower = lower_aunbc(self.thresholds, self.prevalence, self.auroc)
        self.upper = upper_aunbc(self.thresholds, self.prevalence, self.auroc)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        risks: ArrayLike | Mapping[str, ArrayLike],
        thresholds: ThresholdsLike = None,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Compute where models lie, and draw the region around them.

        Parameters
        ----------
        y_true, risks, thresholds, sample_weight
            As in :func:`netbenefit.aunbc`; risks of several models by name.
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        outcome, by_model, weight = check_rows(y_true, risks, sample_weight)
        grid = as_thresholds(thresholds)
        models = {
            name: (
                grouped_auroc(outcome, risk, grid, sample_weight=weight),
                aunbc(outcome, risk, grid, sample_weight=weight),
            )
            for name, risk in by_model.items()
        }
        share = float(weight[outcome].sum() / weight.sum())
        return cls(grid, prevalence=share, models=models).plot(ax=ax)

    def plot(self, ax: Any = None, *, zoom: bool = False) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default a new figure, unless this view stands in an open one.
        zoom : bool, default=False
            Show only the corner from the models to the best that is possible.
        """
        if self._is_shown(ax, zoom):
            return self
        ax = self._axes(ax, zoom)
        self.region_ = ax.fill_between(
            self.auroc, self.lower, self.upper, color="#EDF3F8", linewidth=0, zorder=1
        )
        self.edges_ = [
            *ax.plot(self.auroc, self.upper, color=INK, linewidth=1.4, zorder=2),
            *ax.plot(self.auroc, self.lower, color=GREY, linewidth=1.4, linestyle="--", zorder=2),
        ]
        ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":", zorder=1)
        self.points_: dict[str, Any] = {}
        for place, (name, (auroc, area)) in enumerate(self.models.items()):
            style = style_of(place)
            (self.points_[name],) = ax.plot(
                [auroc],
                [area],
                linestyle="none",
                marker=style.marker,
                markersize=8,
                color=style.colour,
                markeredgecolor="white",
                markeredgewidth=0.8,
                zorder=4,
                clip_on=False,
            )
        self._frame(ax, zoom)
        return self

    def _limits(self, zoom: bool) -> tuple[float, float, float, float]:
        """Return left, right, low and high end of what is shown."""
        aurocs, areas = zip(*self.models.values(), strict=True) if self.models else ((), ())
        high = max([self.prevalence, *areas, float(self.upper.max())])
        if zoom and areas:
            return min([*aurocs, 0.99]), 1.0, min([*areas, 0.98 * high]), high
        # High thresholds make the lowest possible values very low; what lies near 0 matters.
        return 0.0, 1.0, max(float(self.lower.min()), min([-self.prevalence, *areas])), high

    def _frame(self, ax: Any, zoom: bool) -> None:
        ax.set_xlabel("Grouped AUROC (ties within an interval are wins)")
        ax.set_ylabel("AUNBC")
        left, right, low, high = self._limits(zoom)
        margin = 0.1 if zoom else 0.02
        ax.set_xlim(left - margin * (right - left), right + 0.02 * (right - left))
        ax.set_ylim(low - (margin + 0.03) * (high - low), high + 0.05 * (high - low))
        tidy(ax, "both")
        upper, lower = self.edges_
        edges = [(upper, "most that is possible")]
        if self.lower.max() > low:  # in the picture
            edges.append((lower, "least that is possible"))
        draw_key(
            ax,
            [*((point, name) for name, point in self.points_.items()), *edges],
            title=f"prevalence {100 * self.prevalence:.3g}%",
            title_fontsize="small",
            alignment="left",
        )


def _checked_pair(name: str, pair: tuple[float, float]) -> tuple[float, float]:
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(map(is_finite, pair))):
        raise InputError(f"models[{name!r}] = {pair!r} must be (grouped AUROC, AUNBC).")
    return float(pair[0]), float(pair[1])

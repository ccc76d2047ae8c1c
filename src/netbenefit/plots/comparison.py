"""Out-of-fold decision curves of several models, and how far they are from the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from netbenefit.common.checks import InputError
from netbenefit.common.table import Table
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.plots.base import GREY, PLAIN, Display, name_lines, tidy
from netbenefit.plots.decision_curve import DecisionCurveDisplay
from netbenefit.plots.decision_grid import curve_grid

__all__ = ["ComparisonDisplay"]

_BANDS = ("model", "threshold", "lower", "upper")
#: Up to as many models, each has its band; of more, only the first: bands would cover each other.
_MOST_BANDS = 2

#: Mean and ends of an interval.
Interval = Sequence[float]


class ComparisonDisplay(Display):
    """Decision curves with bands and, beside them, differences to the first model.

    Usually made by :meth:`Comparison.plot <netbenefit.Comparison.plot>`.

    Parameters
    ----------
    curve : table
        Of :func:`netbenefit.decision_curve`.
    bands : table
        Columns ``model, threshold, lower, upper``.
    thresholds : Thresholds, str or sequence of float, optional
        Those that matter, to be shaded.
    differences : mapping of str to (mean, low, high), optional
        Of a measure, to the first model; they are drawn in a panel of their own, unless axes are
        given.
    measure : str, default="AUNBC"
        What the differences are of.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    curves_ : DecisionCurveDisplay
        The curves, as drawn.
    bands_ : dict of str to matplotlib collection
        Of each model; where there are more than two, of the first only.
    intervals_ : dict of str to matplotlib container
        The differences, as drawn.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no screen is needed
    >>> from netbenefit import decision_curve
    >>> curve = decision_curve([0, 0, 1, 1], {"card": [0.1, 0.5, 0.5, 0.9]}, [0.2, 0.5])
    >>> bands = {"model": ["card", "card"], "threshold": [0.2, 0.5],
    ...          "lower": [0.2, 0.1], "upper": [0.6, 0.5]}
    >>> list(ComparisonDisplay(curve, bands).plot().bands_)
    ['card']
    """

    def __init__(
        self,
        curve: Mapping[str, NDArray[Any]],
        bands: Mapping[str, Any],
        thresholds: ThresholdsLike = None,
        *,
        differences: Mapping[str, Interval] | None = None,
        measure: str = "AUNBC",
    ) -> None:
        lacking = [name for name in _BANDS if name not in bands]
        if lacking:
            raise InputError(f"bands lack the column {lacking[0]!r}. Pass {', '.join(_BANDS)}.")
        self.curve = Table(curve)
        self.bands = Table(bands)
        self.thresholds = None if thresholds is None else as_thresholds(thresholds)
        self.differences = dict(differences or {})
        self.measure = measure
        self._panels: tuple[Any, Any] | None = None

    @staticmethod
    def fine_grid(thresholds: Thresholds) -> Thresholds:
        """Whole percents, and the thresholds that matter: where curves are computed."""
        return curve_grid(None, thresholds, ())

    def _figure_size(self) -> tuple[float, float]:
        return (10.4, 4.6) if self.differences else (6.8, 4.6)

    def _fill(self, figure: Any) -> Any:
        if not self.differences:
            return super()._fill(figure)
        figure.set_layout_engine("constrained", w_pad=0.12)
        left, right = figure.subplots(1, 2, width_ratios=[1.75, 1.0])
        self._panels = (left, right)
        return left

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw the curves; by default a new figure, with the differences in it.

        Returns
        -------
        ComparisonDisplay
            Itself, with ``ax_``, ``figure_``, ``curves_``, ``bands_`` and ``intervals_``.
        """
        ax = self._axes(ax)
        self.curves_ = DecisionCurveDisplay(self.curve, self.thresholds).plot(ax=ax)
        names = list(dict.fromkeys(self.bands["model"].tolist()))
        shown = names if len(names) <= _MOST_BANDS else names[:1]
        self.bands_: dict[str, Any] = {name: self._band(ax, name) for name in shown}
        whose = "" if shown == names else f" of {shown[0]}"
        title = name_lines(f"Held-out rows, 95% band{'s' * (len(shown) > 1)}{whose}")
        ax.set_title(title, loc="left", fontsize="medium", **PLAIN)
        self.intervals_: dict[str, Any] = {}
        if self._panels is not None and self._panels[0] is ax:
            self._draw_differences(self._panels[1], names[0])
        return self

    def _band(self, ax: Any, name: str) -> Any:
        of = self.bands["model"] == name
        return ax.fill_between(
            self.bands["threshold"][of],
            self.bands["lower"][of],
            self.bands["upper"][of],
            color=self.curves_.lines_[name].get_color(),
            alpha=0.16,
            linewidth=0,
            zorder=1.5,
        )

    def _draw_differences(self, ax: Any, first: str) -> None:
        """One line a model, in the order of the key: dot and interval."""
        for place, (name, (mean, low, high)) in enumerate(self.differences.items()):
            line = self.curves_.lines_[name]
            self.intervals_[name] = ax.errorbar(
                [mean],
                [place],
                xerr=[[mean - low], [high - mean]],
                color=line.get_color(),
                marker=line.get_marker(),
                markersize=6,
                elinewidth=1.8,
                capsize=3,
                linestyle="none",
                zorder=3,
            )
        ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=1)
        ax.set_yticks(range(len(self.differences)))
        ax.set_yticklabels([name_lines(name, 24) for name in self.differences], **PLAIN)
        ax.set_ylim(len(self.differences) - 0.5, -0.5)
        ax.margins(x=0.08)
        ax.set_xlabel(name_lines(f"{self.measure} less that of {first}, 95% interval", 44), **PLAIN)
        tidy(ax, grid="x")
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.locator_params(axis="x", nbins=5)

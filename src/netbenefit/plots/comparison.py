"""Out-of-fold decision curves of several models, and how far they are from the first one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, Table, check_option
from netbenefit.metrics import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.plots.base import (
    BLUE,
    GREY,
    INK,
    PALE_BLUE,
    PLAIN,
    Display,
    check_columns,
    draw_key,
    in_percent,
    name_lines,
    style_of,
    tidy,
)
from netbenefit.plots.decision_curve import DecisionCurveDisplay, curve_grid

# -- average ranks of models, with the critical difference of Nemenyi's test -----------------------


#: Characters per line of a model's name.
_NAME_WIDTH = 24
#: Heights, in units of one line of names.
_CD_HEIGHT, _FIRST_NAME, _BAR_STEP = 1.5, 0.55, 0.42


class CriticalDifferenceDisplay(Display):
    """Average ranks on a line, best on the left; bars join models that do not differ.

    Usually made by :meth:`RankTest.plot <netbenefit.RankTest.plot>`.

    Parameters
    ----------
    models : sequence of str
    average : (n_models,) float
        Their average ranks.
    difference : float
        The critical difference.
    groups : sequence of sequences of str
        Models that do not differ; each group gets a bar.
    n_datasets : int, optional
        Over which ranks were averaged.

    Attributes
    ----------
    bars_ : list of matplotlib lines
        One per group.

    Examples
    --------
    >>> display = CriticalDifferenceDisplay(
    ...     ["card", "tree", "coin"], [1.2, 1.9, 2.9], 1.1, groups=[("card", "tree")]).plot()
    >>> len(display.bars_)
    1
    """

    def __init__(
        self,
        models: Sequence[str],
        average: ArrayLike,
        difference: float,
        *,
        groups: Sequence[Sequence[str]] = (),
        n_datasets: int | None = None,
    ) -> None:
        self.models = tuple(models)
        self.average: FloatArray = np.asarray(average, dtype=np.float64)
        if self.average.shape != (len(self.models),):
            raise InputError(
                f"average has shape {self.average.shape}, but there are {len(self.models)} models. "
                "Pass one average rank per model."
            )
        self.difference = float(difference)
        self.groups = [tuple(group) for group in groups]
        self.n_datasets = n_datasets

    def _figure_size(self) -> tuple[float, float]:
        return 7.0, 1.0 + 0.3 * (_CD_HEIGHT + self._lines())

    def _lines(self) -> float:
        """Lines below the axis: bars, and half of the names."""
        return _BAR_STEP * len(self.groups) + _FIRST_NAME + (len(self.models) + 1) // 2

    def _draw(self, ax: Any) -> None:
        most = max(len(self.models), 2)
        ax.set_axis_off()
        ax.set_xlim(1 - 0.42 * (most - 1), most + 0.42 * (most - 1))
        ax.set_ylim(-self._lines() - 0.2, _CD_HEIGHT + 0.9)
        self._scale(ax, most)
        self.bars_ = self._bars(ax)
        self._names(ax, most)

    def _scale(self, ax: Any, most: int) -> None:
        """The line of ranks, and the critical difference above it."""
        ax.plot([1, most], [0, 0], color=INK, linewidth=1.2)
        for rank in range(1, most + 1):
            ax.plot([rank, rank], [0, 0.16], color=INK, linewidth=1.2)
            ax.text(rank, 0.26, str(rank), ha="center", va="bottom", color=INK)
        end, height = 1 + self.difference, _CD_HEIGHT
        ax.plot([1, end], [height, height], color=GREY, linewidth=1.6)
        for x in (1, end):
            ax.plot([x, x], [height - 0.12, height + 0.12], color=GREY, linewidth=1.6)
        text = f"critical difference {self.difference:.2f}"
        ax.text((1 + end) / 2, height + 0.16, text, ha="center", va="bottom", fontsize="small")
        over = "" if self.n_datasets is None else f" over {self.n_datasets} data sets"
        ax.set_title(f"Average rank{over} (1 is best)", fontsize="medium", color=INK)

    def _bars(self, ax: Any) -> list[Any]:
        drawn = []
        for place, group in enumerate(self.groups):
            ranks = [self.average[self.models.index(name)] for name in group]
            height = -_BAR_STEP * (place + 0.75)
            margin = 0.012 * max(len(self.models), 2)
            drawn += ax.plot(
                [min(ranks) - margin, max(ranks) + margin],
                [height, height],
                color=BLUE,
                linewidth=3.5,
                solid_capstyle="butt",
                zorder=4,
            )
        return drawn

    def _names(self, ax: Any, most: int) -> None:
        """The better half of the models on the left, the others on the right."""
        order = np.argsort(self.average, kind="stable")
        half = (len(order) + 1) // 2
        top = _BAR_STEP * len(self.groups) + _FIRST_NAME
        gap = 0.08 * (most - 1)
        for place, model in enumerate(order):
            left = place < half
            line = place if left else len(order) - 1 - place
            rank, height = self.average[model], -top - line
            side = 1 - gap if left else most + gap
            ax.plot([rank, rank, side], [0, height, height], color=GREY, linewidth=1.0, zorder=2)
            ax.plot([rank], [0], marker="o", markersize=4, color=INK, zorder=5)
            text = f"{name_lines(self.models[model], _NAME_WIDTH)}  {rank:.2f}"
            ax.text(
                side - 0.2 * gap if left else side + 0.2 * gap,
                height,
                text,
                ha="right" if left else "left",
                va="center",
                color=INK,
                **PLAIN,
            )


# -- aUNBC and decisions against the thresholds that cards were learnt for -------------------------


Kind = Literal["aunbc", "decisions"]
#: Characters per line of a setting's name beside the axis.
_WIDTH = 24


class SensitivityDisplay(Display):
    """How much depends on the thresholds.

    Make it with :meth:`from_sensitivity`, or from numbers.

    Parameters
    ----------
    settings : sequence of str
        Names; the first is the one to compare with.
    aunbc, difference, difference_se : (K,) float
        Mean on held-out rows, difference to the first, its standard error.
    thresholds : (T,) float
    changed : (K, T) float
        Share of rows decided differently than by the first setting.
    kind : {"aunbc", "decisions"}, default="aunbc"
        Differences in AUNBC with one standard error either way, or changed decisions by threshold.

    Attributes
    ----------
    errorbar_ : matplotlib container, or None
    lines_ : dict of str to matplotlib line
        Of changed decisions, by setting.

    Examples
    --------
    >>> display = SensitivityDisplay(
    ...     ["i/10", "i/5"], [0.2, 0.19], [0, -0.01], [0, 0.005], [0.1, 0.2], [[0, 0], [0.1, 0.3]]
    ... ).plot()
    >>> display.ax_.get_xlabel()
    'AUNBC on held-out rows, less that of i/10 (0.2000)'
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 3.6)

    def __init__(
        self,
        settings: list[str] | tuple[str, ...],
        aunbc: ArrayLike,
        difference: ArrayLike,
        difference_se: ArrayLike,
        thresholds: ArrayLike,
        changed: ArrayLike,
        *,
        kind: str = "aunbc",
    ) -> None:
        self.settings = tuple(settings)
        self.aunbc, self.difference, self.difference_se, self.thresholds, self.changed = (
            np.asarray(values, dtype=np.float64)
            for values in (aunbc, difference, difference_se, thresholds, changed)
        )
        self.kind: Kind = check_option("kind", kind, get_args(Kind))

    @classmethod
    def from_sensitivity(cls, found: Any, ax: Any = None, *, kind: str = "aunbc") -> Self:
        """Draw what :func:`netbenefit.threshold_sensitivity` found; the rest as in :meth:`plot`."""
        return cls(
            list(found.settings),
            found.aunbc,
            found.difference,
            found.difference_se,
            found.evaluated.given,
            found.changed,
            kind=kind,
        ).plot(ax=ax)

    def plot(self, ax: Any = None, *, kind: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default a new figure, unless this view stands in an open one.
        kind : {"aunbc", "decisions"}, optional
            Another view than the display's own.
        """
        view = self.kind if kind is None else check_option("kind", kind, get_args(Kind))
        if self._is_shown(ax, view):
            return self
        ax = self._axes(ax, view)
        self.errorbar_: Any = None
        self.lines_: dict[str, Any] = {}
        if view == "aunbc":
            self._draw_areas(ax)
        else:
            self._draw_decisions(ax)
        return self

    def _draw_areas(self, ax: Any) -> None:
        places = np.arange(len(self.settings))
        ax.axvline(0.0, color=GREY, linewidth=1.0, zorder=1)
        self.errorbar_ = ax.errorbar(
            self.difference,
            places,
            xerr=self.difference_se,
            color=BLUE,
            ecolor=PALE_BLUE,
            linestyle="none",
            marker="o",
            markersize=6,
            elinewidth=1.6,
            capsize=3,
            zorder=3,
        )
        ax.set_yticks(places, [name_lines(name, _WIDTH) for name in self.settings], **PLAIN)
        ax.set_ylim(len(self.settings) - 0.5, -0.5)  # the first setting on top
        first = name_lines(self.settings[0], 2 * _WIDTH)
        label = f"AUNBC on held-out rows, less that of {first} ({self.aunbc[0]:.4f})"
        ax.set_xlabel(label, **PLAIN)
        tidy(ax, "x")

    def _draw_decisions(self, ax: Any) -> None:
        for place, name in enumerate(self.settings[1:]):
            style = style_of(place)
            (self.lines_[name],) = ax.plot(
                self.thresholds,
                self.changed[place + 1],
                color=style.colour,
                linestyle=style.line,
                marker=style.marker,
                markersize=4.5,
                linewidth=1.6,
            )
        ax.set_xlabel("Threshold Probability")
        ax.set_ylabel("held-out rows decided otherwise")
        in_percent(ax.xaxis, ax.yaxis)
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        if self.lines_:
            draw_key(ax, [(line, name) for name, line in self.lines_.items()])


_BANDS = ("model", "threshold", "lower", "upper")
#: Up to this many models, each has its band; of more, only the first: bands would overlap.
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
        Of a measure, to the first model; drawn in a panel of their own in a new figure, but not
        on given axes.
    measure : str, default="AUNBC"
        What the differences are of.

    Attributes
    ----------
    curves_ : DecisionCurveDisplay
        The curves, as drawn.
    bands_ : dict of str to matplotlib collection
        Of each model; where there are more than two, of the first only.
    intervals_ : dict of str to matplotlib container
        The differences, as drawn.

    Examples
    --------
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
        self.curve = Table(curve)
        self.bands = check_columns("bands", bands, _BANDS, f"Pass {', '.join(_BANDS)}.")
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

    def _draw(self, ax: Any) -> None:
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
        """One line per model, in the order of the key: dot and interval."""
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

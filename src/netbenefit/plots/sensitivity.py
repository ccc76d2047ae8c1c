"""AUNBC and decisions against the thresholds that cards were learnt for."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import FloatArray
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.plots.base import (
    BLUE,
    GREY,
    PALE_BLUE,
    PLAIN,
    Display,
    check_option,
    draw_key,
    name_lines,
    style_of,
    tidy,
)

__all__ = ["SensitivityDisplay"]

Kind = Literal["aunbc", "decisions"]
#: Columns of a setting's name beside the axis.
_WIDTH = 24


class _Sensitivity(Protocol):
    """What is drawn of a :class:`netbenefit.Sensitivity`."""

    @property
    def settings(self) -> dict[str, Thresholds]: ...

    @property
    def evaluated(self) -> Thresholds: ...

    @property
    def aunbc(self) -> FloatArray: ...

    @property
    def difference(self) -> FloatArray: ...

    @property
    def difference_se(self) -> FloatArray: ...

    @property
    def changed(self) -> FloatArray: ...


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
        Share of rows decided otherwise than by the first setting.
    kind : {"aunbc", "decisions"}, default="aunbc"
        Differences in AUNBC with one standard error either way, or changed decisions by threshold.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    errorbar_ : matplotlib container, or None
    lines_ : dict of str to matplotlib line
        Of changed decisions, by setting.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no screen is needed
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
        self.aunbc: FloatArray = np.asarray(aunbc, dtype=np.float64)
        self.difference: FloatArray = np.asarray(difference, dtype=np.float64)
        self.difference_se: FloatArray = np.asarray(difference_se, dtype=np.float64)
        self.thresholds: FloatArray = np.asarray(thresholds, dtype=np.float64)
        self.changed: FloatArray = np.asarray(changed, dtype=np.float64)
        self.kind: Kind = check_option("kind", kind, get_args(Kind))

    @classmethod
    def from_sensitivity(cls, found: _Sensitivity, ax: Any = None, *, kind: str = "aunbc") -> Self:
        """Draw what :func:`netbenefit.threshold_sensitivity` found.

        Parameters
        ----------
        found : Sensitivity
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        kind : {"aunbc", "decisions"}, default="aunbc"

        Returns
        -------
        SensitivityDisplay
            Drawn.
        """
        return cls(
            list(found.settings),
            found.aunbc,
            found.difference,
            found.difference_se,
            found.evaluated.asked,
            found.changed,
            kind=kind,
        ).plot(ax=ax)

    def plot(self, ax: Any = None, *, kind: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        kind : {"aunbc", "decisions"}, optional
            Another view than the display's own.

        Returns
        -------
        SensitivityDisplay
            Itself, with ``ax_``, ``figure_``, ``errorbar_`` and ``lines_``.
        """
        view = self.kind if kind is None else check_option("kind", kind, get_args(Kind))
        ax = self._axes(ax)
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
        ax.set_yticks(places, [name_lines(name, _WIDTH) for name in self.settings])
        for text in ax.get_yticklabels():
            text.update(PLAIN)
        ax.set_ylim(len(self.settings) - 0.5, -0.5)  # the first setting on top
        first = name_lines(self.settings[0], 2 * _WIDTH)
        label = f"AUNBC on held-out rows, less that of {first} ({self.aunbc[0]:.4f})"
        ax.set_xlabel(label, **PLAIN)
        tidy(ax, "x")

    def _draw_decisions(self, ax: Any) -> None:
        from matplotlib.ticker import PercentFormatter

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
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(xmax=1.0))
        ax.set_ylim(bottom=0.0)
        tidy(ax)
        if self.lines_:
            draw_key(ax, [(line, name) for name, line in self.lines_.items()])

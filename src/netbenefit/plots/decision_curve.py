"""Decision curves, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common import FloatArray, InputError, Table, check_option
from netbenefit.metrics import (
    TREAT_ALL,
    TREAT_NONE,
    Measure,
    Thresholds,
    ThresholdsLike,
    TimeToEvent,
    as_thresholds,
    decision_bands,
    decision_curve,
    risk_breakpoints,
)
from netbenefit.plots.base import (
    GREY,
    INK,
    ModelDisplay,
    check_columns,
    draw_key,
    in_percent,
    style_of,
    tidy,
)

# -- where decision curves are computed to be drawn ------------------------------------------------


#: Added to a risk: enough for a threshold of its own, too little to be seen.
_HAIR = 1e-9


def curve_grid(grid: Any, marked: Thresholds | None, risks: Any) -> Thresholds:
    """Whole percents and the thresholds that matter; the user's own; or all breaks as well."""
    if grid is not None and not (isinstance(grid, str) and grid == "risks"):
        return as_thresholds(grid)
    points = {i / 100 for i in range(100)}
    if marked is not None:
        points |= set(marked.given.tolist())
    if grid is not None:
        breaks = risk_breakpoints(risks).given
        # At a risk its rows are positive, a hair above they are not: the jump is drawn upright.
        points |= {float(p) for q in breaks for p in (q, q + _HAIR) if p < 1.0}
    return Thresholds.of(sorted(points))


def part_of_interest(grid: Thresholds, marked: Thresholds | None) -> Thresholds:
    """The part of the grid that bands cover; a band over more would be wider."""
    if marked is None:
        return grid
    low, high = marked.given[0], marked.given[-1]
    inside = [p for p in grid.given.tolist() if low <= p <= high and p > 0]
    return Thresholds.of(inside) if inside else grid


Kind = Literal["net_benefit", "standardised_net_benefit", "interventions_avoided"]
Band = Literal["pointwise", "simultaneous"]

_COLUMNS = ("model", "threshold", "prevalence", "net_benefit", "net_intervention_avoided")
_REFERENCES = (TREAT_ALL, TREAT_NONE)
_LABELS: dict[Kind, str] = {
    "net_benefit": "Net Benefit",
    "standardised_net_benefit": "Standardised Net Benefit",
    "interventions_avoided": "Net Interventions Avoided per 100",
}
#: The measure that each view shows, and that its bands must be of.
_MEASURES: dict[Kind, Measure] = {
    "net_benefit": "net_benefit",
    "standardised_net_benefit": "standardised_net_benefit",
    "interventions_avoided": "net_intervention_avoided",
}
_BAND_COLUMNS: dict[Band, tuple[str, str]] = {
    "pointwise": ("lower", "upper"),
    "simultaneous": ("simultaneous_lower", "simultaneous_upper"),
}
_BAND_WORDS: dict[Band, str] = {
    "pointwise": "band, each threshold on its own",
    "simultaneous": "band, whole curve",
}
#: Up to this many thresholds are marked on the curves.
_MOST_MARKS = 25


class DecisionCurveDisplay(ModelDisplay):
    """Net benefit of models over thresholds, beside treating all and treating none.

    Make it with :meth:`from_estimator` or :meth:`from_predictions`, or from a table of
    :func:`netbenefit.decision_curve`.  Points of the table are joined by straight lines, not
    smoothed.

    Parameters
    ----------
    curve : Table
        As :func:`netbenefit.decision_curve` makes it.
    thresholds : Thresholds, str or sequence of float, optional
        Those that matter: their range is shaded, and the curves are marked at each.
    kind : {"net_benefit", "standardised_net_benefit", "interventions_avoided"}
        The second view is net benefit as a share of the greatest possible one; the third is the net
        number of interventions that a model avoids among 100 people, compared with treating all,
        without missing more events.
    bands : Table, optional
        As :func:`netbenefit.decision_bands` makes it, of the measure that ``kind`` shows and with
        ``per=1``; where the view is another one, no bands are drawn.
    band : {"pointwise", "simultaneous"}, default="simultaneous"
        Which of its limits to draw.

    Attributes
    ----------
    lines_ : dict of str to matplotlib line
        By model; "Treat All" and "Treat None" are the last two.
    bands_ : dict of str to matplotlib collection
        By model, where there are bands.
    range_ : matplotlib patch or line, or None
        The range of the thresholds that matter.

    Examples
    --------
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 0, 1, 1], {"card": [0.1, 0.5, 0.5, 0.9]}, [0.2, 0.5])
    >>> list(display.lines_), display.ax_.get_xlabel()
    (['card', 'Treat All', 'Treat None'], 'Threshold Probability')
    """

    #: Confidence level of the bands, where it is known.
    level: float | None = None

    def __init__(
        self,
        curve: Mapping[str, NDArray[Any]],
        thresholds: ThresholdsLike = None,
        *,
        kind: Kind = "net_benefit",
        bands: Mapping[str, NDArray[Any]] | None = None,
        band: Band = "simultaneous",
    ) -> None:
        self.curve = check_columns("curve", curve, _COLUMNS, "Pass the table of decision_curve(…).")
        self.thresholds = None if thresholds is None else as_thresholds(thresholds)
        self.kind: Kind = check_option("kind", kind, get_args(Kind))
        self.band: Band = check_option("band", band, get_args(Band))
        self.bands = None if bands is None else Table(bands)
        if bands is not None and "simultaneous_lower" not in bands:
            raise InputError("bands lacks limits. Pass the table of decision_bands(…).")

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | TimeToEvent,
        risks: ArrayLike | Mapping[str, ArrayLike],
        thresholds: ThresholdsLike = None,
        *,
        sample_weight: ArrayLike | None = None,
        harm: float | Mapping[str, float] | None = None,
        prevalence: float | None = None,
        grid: ThresholdsLike = None,
        kind: Kind = "net_benefit",
        band: Band | None = None,
        ax: Any = None,
        **bootstrap: Any,
    ) -> Self:
        """Compute decision curves and draw them.

        Parameters
        ----------
        y_true, risks, sample_weight, harm, prevalence
            As in :func:`netbenefit.decision_curve`; outcomes may be binary or a
            :class:`netbenefit.TimeToEvent`.
        thresholds : Thresholds, str or sequence of float, optional
            Those that matter, to be shaded and marked.
        grid : Thresholds, str or sequence of float, optional
            Where the curves are computed; by default at 0%, 1%, …, 99% and at ``thresholds``.
            ``"risks"`` adds all risks that occur, so that the curve of a card jumps where it does.
        band : {"pointwise", "simultaneous"}, optional
            Draw bootstrap bands over the range of ``thresholds`` (over all of the grid where there
            are none): for each threshold on its own, or for the whole curve at once.
        kind, ax
            As in :meth:`plot`.
        **bootstrap
            ``strata``, ``n_resamples``, ``level`` and ``random_state`` of
            :func:`netbenefit.decision_bands`.
        """
        marked = None if thresholds is None else as_thresholds(thresholds)
        check_option("kind", kind, get_args(Kind))  # before the work
        where = curve_grid(grid, marked, risks)
        options: dict[str, Any] = {
            "sample_weight": sample_weight,
            "harm": harm,
            "prevalence": prevalence,
        }
        curve = decision_curve(y_true, risks, where, **options)
        if band is None:
            if bootstrap:
                raise InputError(f"{next(iter(bootstrap))} goes with bands. Pass band, too.")
            return cls(curve, marked, kind=kind).plot(ax=ax)
        check_option("band", band, get_args(Band))
        bands = decision_bands(
            y_true,
            risks,
            part_of_interest(where, marked),
            measure=_MEASURES[kind],
            **options,
            **bootstrap,
        )
        display = cls(curve, marked, kind=kind, bands=bands, band=band)
        display.level = bootstrap.get("level", 0.95)
        return display.plot(ax=ax)

    def plot(self, ax: Any = None, *, kind: Kind | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default a new figure, unless this view stands in an open one.
        kind : {"net_benefit", "standardised_net_benefit", "interventions_avoided"}, optional
            Another view than the display's own.
        """
        view = self.kind if kind is None else check_option("kind", kind, get_args(Kind))
        if self._is_shown(ax, view):
            return self
        ax = self._axes(ax, view)
        self.lines_: dict[str, Any] = {}
        names = [n for n in dict.fromkeys(self.curve["model"].tolist()) if n not in _REFERENCES]
        for place, name in enumerate([*names, *_REFERENCES]):
            p, y = self._values(name, view)
            (self.lines_[name],) = ax.plot(p, y, **self._look(name, place, p))
        entries: list[tuple[Any, str]] = [(line, name) for name, line in self.lines_.items()]
        self.bands_ = self._draw_bands(ax, names, view)
        if self.bands_:
            share = "" if self.level is None else f"{100 * self.level:g}% "
            from matplotlib.patches import Patch

            sample = Patch(facecolor=GREY, alpha=0.25, linewidth=0)
            entries.append((sample, share + _BAND_WORDS[self.band]))
        self.range_ = self._shade(ax)
        if self.range_ is not None:
            entries.append((self.range_, "thresholds of interest"))
        self._frame(ax, view)
        tidy(ax)
        draw_key(ax, entries)
        return self

    def _values(self, name: str, kind: Kind) -> tuple[FloatArray, FloatArray]:
        rows = self.curve["model"] == name
        p, benefit = self.curve["threshold"][rows], self.curve["net_benefit"][rows]
        if kind == "net_benefit":
            return p, benefit
        if kind == "standardised_net_benefit":
            share = self.curve["prevalence"][rows]
            return p, benefit / np.where(share > 0, share, np.nan)
        return p, 100 * self.curve["net_intervention_avoided"][rows]

    def _limits(self, kind: Kind) -> list[FloatArray]:
        """Limits of the bands in this view, if there are any."""
        if self.bands is None or self.bands["band_of"][0] != _MEASURES[kind]:
            return []
        scale = 100 if kind == "interventions_avoided" else 1
        limits = [scale * self.bands[column] for column in _BAND_COLUMNS[self.band]]
        return limits if np.isfinite(limits).any() else []

    def _draw_bands(self, ax: Any, names: list[str], kind: Kind) -> dict[str, Any]:
        """Shade between the limits; thin edges in the model's own line tell bands apart in grey."""
        limits = self._limits(kind)
        if self.bands is None or not limits:
            return {}
        drawn = {}
        for place, name in enumerate(names):
            rows = self.bands["model"] == name
            p = self.bands["threshold"][rows]
            low, high = (limit[rows] for limit in limits)
            style = style_of(place)
            if p.size == 1:
                look = {"color": style.colour, "linewidth": 1.2, "zorder": 3}
                drawn[name] = ax.vlines(p, low, high, **look)
                continue
            drawn[name] = ax.fill_between(
                p, low, high, color=style.colour, alpha=0.14, linewidth=0, zorder=1.5
            )
            edge = {"color": style.colour, "linestyle": style.line, "linewidth": 0.7}
            ax.plot(p, low, **edge, zorder=3)
            ax.plot(p, high, **edge, zorder=3)
        return drawn

    def _look(self, name: str, place: int, p: FloatArray) -> dict[str, Any]:
        if name == TREAT_ALL:
            return {"color": GREY, "linewidth": 1.3, "linestyle": (0, (1, 1.4)), "zorder": 2}
        if name == TREAT_NONE:
            return {"color": INK, "linewidth": 1.0, "linestyle": "-", "zorder": 2}
        style = style_of(place)
        marked = np.flatnonzero(np.isin(p, self._marked))
        return {
            "color": style.colour,
            "linewidth": 1.8,
            "linestyle": style.line,
            "marker": style.marker,
            "markersize": 4.5,
            "markevery": marked.tolist() if marked.size <= _MOST_MARKS else [],
            "zorder": 4,
        }

    @property
    def _marked(self) -> FloatArray:
        return np.empty(0) if self.thresholds is None else self.thresholds.given

    def _shade(self, ax: Any) -> Any:
        marked = self._marked[self._marked > 0]
        if not marked.size:
            return None
        if marked.size == 1:
            return ax.axvline(marked[0], color=GREY, linewidth=1.0, linestyle=":", zorder=1)
        look = {"facecolor": "#F4F4F4", "edgecolor": "#BDBDBD", "linewidth": 0.8}
        return ax.axvspan(marked[0], marked[-1], **look, zorder=0)

    def _frame(self, ax: Any, kind: Kind) -> None:
        """Set limits and labels: the top is the most that any model could reach."""
        p = self.curve["threshold"]
        low, high = float(p.min()), float(p.max())
        if self._marked.size and self._marked[-1] > low:  # a little beyond what matters
            high = min(high, 1.2 * float(self._marked[-1]))
        ax.set_xlim((low, high) if high > low else (low - 0.05, low + 0.05))
        in_percent(ax.xaxis)
        ax.set_xlabel("Threshold Probability")
        share = float(self.curve["prevalence"].max())
        top = {"net_benefit": share, "standardised_net_benefit": 1.0}.get(kind, 100 * (1 - share))
        top = top if top > 0 else 1.0
        highest = max((float(np.nanmax(y)) for y in self._limits(kind)), default=top)
        ax.set_ylim(-0.1 * top, max(1.05 * top, 1.02 * highest))
        ax.set_ylabel(_LABELS[kind])

"""The points of a card as bars."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from netbenefit.cards.rows import Row, card_rows
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.terms import PerUnit
from netbenefit.cards.text import integer_text
from netbenefit.plots.base import (
    BLUE,
    INK,
    ORANGE,
    PLAIN,
    Display,
    name_lines,
    tidy,
)
from netbenefit.plots.models import card_of

__all__ = ["PointsDisplay"]

_BAR = 0.72
#: Room between two columns of the table, in bars.
_GAP = 0.4
#: Columns of a label, before it goes on in the next line.
_WIDTH = 38
#: Inches a bar.
_HEIGHT = 0.27


class PointsDisplay(Display):
    """Points of a card's rows as horizontal bars, the rows of one column of the data together.

    The rows are those of the printed card: where conditions on a column add up, their totals.
    Points that are taken away are hatched.  A bar that is only an outline is worth its points for
    every unit of the value, so that its length does not compare with that of the others.

    Parameters
    ----------
    card : Scorecard

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    bars_ : list of matplotlib patch
        From top to bottom, as on the card.
    labels_ : list of str
        What stands beside each bar.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no screen is needed
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
    >>> card = Scorecard(rules, [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]))
    >>> display = PointsDisplay.from_estimator(card)
    >>> display.labels_, [int(bar.get_width()) for bar in display.bars_]
    (['40 ≤ age < 60', 'age ≥ 60'], [1, 3])
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 0.95)

    def __init__(self, card: Scorecard) -> None:
        self.card = card_of(card)
        self.rows = card_rows(self.card)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the points of an estimator's card.

        Parameters
        ----------
        estimator : fitted estimator with a card, or Scorecard
        ax : matplotlib axes, optional
            Where to draw; a new figure by default, as high as the card is long.

        Returns
        -------
        PointsDisplay
            Drawn.
        """
        return cls(card_of(estimator)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default, as high as the card is long.

        Returns
        -------
        PointsDisplay
            Itself, with ``ax_``, ``figure_``, ``bars_`` and ``labels_``.
        """
        ax = self._axes(ax)
        places, end = self._places()
        self.labels_ = [name_lines(row.text, _WIDTH) for row in self.rows]
        self.bars_ = [
            self._bar(ax, place, row) for place, row in zip(places, self.rows, strict=True)
        ]
        ax.set_yticks(places, labels=self.labels_, **PLAIN)
        ax.tick_params(axis="y", length=0)
        if self.rows:
            ax.axvline(0, color=INK, linewidth=1.0, zorder=4)
        self._frame(ax, end)
        return self

    def _places(self) -> tuple[list[float], float]:
        """Middle of each bar, from the top down, and where the last one ends."""
        places: list[float] = []
        at, before = 0.0, None
        for row in self.rows:
            lines = name_lines(row.text, _WIDTH).count("\n")
            at += (_GAP if before not in (None, row.feature) else 0.0) + 0.5 + 0.3 * lines
            places.append(at)
            at, before = at + 0.5 + 0.3 * lines, row.feature
        return places, at

    def _bar(self, ax: Any, place: float, row: Row) -> Any:
        per_unit = _is_per_unit(row)
        colour = BLUE if row.points > 0 else ORANGE
        (bar,) = ax.barh(
            [place],
            [row.points],
            height=_BAR,
            facecolor="white" if per_unit else colour,
            edgecolor=colour if per_unit else "white",
            hatch="///" if row.points < 0 and not per_unit else None,
            linestyle=(0, (3, 2)) if per_unit else "-",
            linewidth=1.4 if per_unit else 0.0,
            zorder=3,
        )
        ax.annotate(
            _worth(row),
            (row.points, place),
            xytext=(-4 if row.points < 0 else 4, 0),
            textcoords="offset points",
            ha="right" if row.points < 0 else "left",
            va="center",
            fontsize="small",
            color=INK,
            **PLAIN,
        )
        return bar

    def _frame(self, ax: Any, end: float) -> None:
        from matplotlib.ticker import MaxNLocator

        if not self.rows:
            ax.text(0.5, 0.5, "no rules: every row scores 0", ha="center", transform=ax.transAxes)
        ax.set_xlim(*self._limits())
        ax.set_ylim(max(end, 1.0), 0.0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.xaxis.set_major_formatter(lambda x, _: integer_text(round(x)))
        ax.set_xlabel("Points")
        tidy(ax, "x")
        ax.spines["left"].set_visible(False)

    def _limits(self) -> tuple[float, float]:
        """Ends of the axis, with room for what stands beside the bars."""
        low = min([0, *(row.points for row in self.rows)])
        high = max([0, *(row.points for row in self.rows)])
        if low == high:
            return -1.0, 1.0
        left = max((_share(row) for row in self.rows if row.points < 0), default=0.0)
        right = max((_share(row) for row in self.rows if row.points >= 0), default=0.0)
        whole = (high - low) / (1.0 - left - right)
        return low - left * whole, high + right * whole

    def _figure_size(self) -> tuple[float, float]:
        width, height = self._size
        return width, height + _HEIGHT * max(self._places()[1], 2.0)


def _is_per_unit(row: Row) -> bool:
    return isinstance(row.term, PerUnit) and not row.term.binary


def _worth(row: Row) -> str:
    sign = "+" if row.points > 0 else ""
    return f"{sign}{integer_text(row.points)}{' per unit' if _is_per_unit(row) else ''}"


def _share(row: Row) -> float:
    """Rough share of the axis that a bar's label takes, at the figure's usual width."""
    return min(0.04 + 0.022 * len(_worth(row)), 0.3)

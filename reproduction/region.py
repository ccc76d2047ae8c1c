"""Discrimination and utility: synthetic predictions and the credit card in the possible region.

The AUROC of these figures is the grouped one, for which alone the bounds hold; tables give the
ordinary one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import check_binary, check_risks
from netbenefit.common.table import Table
from netbenefit.metrics.benefit import aunbc, auroc, grouped_auroc
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.plots.base import BLUE, GREY, INK, ORANGE, PALE_BLUE, PLAIN, draw_key, tidy
from netbenefit.plots.region import RegionDisplay
from netbenefit.theory import boundary_risks, correlated_risks, lower_aunbc, upper_aunbc
from netbenefit.theory.calibration import calibrate_levels
from reproduction.curves import Drawn, Row, blank_axes

#: The thresholds of the theoretical figure.
FIFTHS = Thresholds.of([i / 5 for i in range(5)])
#: Correlations of the synthetic predictions of type I, and the seed of their noise.
CORRELATIONS = tuple(round(0.05 * i, 2) for i in range(1, 20))
SEED = 20
#: Grouped AUROCs that predictions of type II are made for.
GROUPED = tuple(round(0.02 + 0.04 * i, 2) for i in range(25))


def bound_table(thresholds: Thresholds, prevalence: float, steps: int = 200) -> Table:
    """Least and most AUNBC for each grouped AUROC, corrected and as published."""
    G = 1.0 - np.linspace(1.0, 0.0, steps + 1) ** 2
    return Table(
        {
            "grouped_auroc": G,
            "least": lower_aunbc(thresholds, prevalence, G),
            "most": upper_aunbc(thresholds, prevalence, G),
            "least_published": lower_aunbc(thresholds, prevalence, G, "paper"),
            "most_published": upper_aunbc(thresholds, prevalence, G, "paper"),
        }
    )


def correlated_pairs(
    y_true: ArrayLike,
    thresholds: Thresholds | None = None,
    correlations: Sequence[float] = CORRELATIONS,
    *,
    random_state: int = SEED,
) -> Table:
    """AUROC and AUNBC of type I predictions, before and after Algorithm 2, with order kept.

    AUNBC increases, and the ordinary AUROC stays the same (:func:`netbenefit.keep_order`).
    """
    y = check_binary(y_true)
    grid = Thresholds.tenths() if thresholds is None else thresholds
    rng = np.random.default_rng(random_state)
    found = []
    for correlation in correlations:
        risk = correlated_risks(y, correlation, random_state=rng)
        better = calibrate_levels(y, risk, grid, order_keeping=True).apply(risk)
        found.append((correlation, *_measures(y, risk, grid), *_measures(y, better, grid)))
    names = ("grouped_auroc", "auroc", "aunbc")
    heads = ("correlation", *names, *(f"calibrated_{name}" for name in names))
    return Table(dict(zip(heads, np.array(found).T, strict=True)))


def boundary_pairs(
    y_true: ArrayLike, thresholds: Thresholds | None = None, grouped: Sequence[float] = GROUPED
) -> Table:
    """AUROC and AUNBC of type II predictions, which reach the upper bound."""
    y = check_binary(y_true)
    grid = Thresholds.tenths() if thresholds is None else thresholds
    found = [(g, *_measures(y, boundary_risks(y, g, grid), grid)) for g in grouped]
    heads = ("wanted", "grouped_auroc", "auroc", "aunbc")
    return Table(dict(zip(heads, np.array(found).T, strict=True)))


def _measures(y: Any, risk: Any, grid: Thresholds) -> tuple[float, float, float]:
    return grouped_auroc(y, risk, grid), auroc(y, risk), aunbc(y, risk, grid)


class CardPair(NamedTuple):
    """Where the illustrative card lies; the grouped AUROC is NaN where risks were not kept."""

    auroc: float
    aunbc: float
    grouped_auroc: float

    @property
    def place(self) -> tuple[float, float]:
        """What is drawn: by the grouped AUROC where it is known, else by the ordinary one."""
        known = not math.isnan(self.grouped_auroc)
        return (self.grouped_auroc if known else self.auroc), self.aunbc


def card_pair(
    rows: Sequence[Row], y_true: ArrayLike | None = None, thresholds: Thresholds | None = None
) -> CardPair | None:
    """Find the card of the case study that was trained and measured on all rows, or None.

    With its risks and the outcomes ``y_true`` the grouped AUROC is computed.
    """
    cards = [row for row in rows if row["dataset"] == "credit" and row["fold"] == -1]
    for row in sorted(cards, key=_is_another):
        ordinary, area = (_number(row.get(name)) for name in ("train_auroc", "train_aunbc"))
        if math.isnan(ordinary) or math.isnan(area):
            continue
        return CardPair(ordinary, area, _grouped(row, y_true, thresholds))
    return None


def _is_another(row: Row) -> bool:
    """Tell other cards of all rows from the illustrative one, which comes first."""
    return (row.get("method"), row.get("setting")) != ("rss-dnb-exact", "c0=0")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _grouped(row: Row, y_true: ArrayLike | None, thresholds: Thresholds | None) -> float:
    numbers = row.get("test_rows")
    if y_true is None or numbers is None or len(numbers) == 0:
        return math.nan
    y = check_binary(y_true)
    if len(numbers) != y.size:  # risks of a part of the rows say nothing about all
        return math.nan
    risk = check_risks(row["test_risks"], y.size, name="test_risks (credit, fold -1)")
    return grouped_auroc(y[np.asarray(numbers)], risk, thresholds)


# -- the region of possible AUROC and AUNBC, drawn: theory, the credit example, calibration --------


GREEN = "#009E73"
#: Where two bounds differ by less, they are one line.
_SAME = 1e-9
_CARD = "illustrative credit card"


def draw_region_theory(thresholds: Thresholds = FIFTHS, prevalence: float = 0.5) -> Drawn:
    """Draw what AUROC says about AUNBC: both bounds, corrected and as published."""
    figure, (ax,) = blank_axes(1, 1, 5.8, 4.4)
    entries = _region(ax, thresholds, prevalence)
    low = float(bound_table(thresholds, prevalence)["least"].min())
    ax.set(xlim=(-0.02, 1.02), ylim=(low - 0.05, prevalence + 0.04))
    draw_key(ax, entries, loc="upper left")
    return Drawn(figure, bound_table(thresholds, prevalence))


def draw_region_credit(
    type_1: Table,
    type_2: Table,
    prevalence: float,
    card: CardPair | None = None,
    thresholds: Thresholds | None = None,
) -> Drawn:
    """Draw synthetic predictions and the illustrative card under the bound; its top once more."""
    grid = Thresholds.tenths() if thresholds is None else thresholds
    figure, axes = blank_axes(1, 2, 9.6, 4.4)
    lowest = min(float(type_1["aunbc"].min()), 0.0)
    for ax, zoomed in zip(axes, (False, True), strict=True):
        entries = _region(ax, grid, prevalence)
        entries += [
            (_dots(ax, type_1, ORANGE, "s"), "type I: random, given correlation"),
            (_dots(ax, type_2, BLUE, "o"), "type II: made to reach the bound"),
        ]
        entries += _card(ax, card)
        margin = 0.06 * (prevalence - (0 if zoomed else lowest))
        bottom = -margin if zoomed else lowest - margin
        left = 0.45 if zoomed else -0.02
        ax.set(xlim=(left, 1.02 if not zoomed else 1.01), ylim=(bottom, prevalence + margin))
        ax.set_title("the top, larger" if zoomed else "all pairs", **_TITLE)
    axes[1].set_ylabel("")
    draw_key(figure, _seen(axes, entries), loc="outside lower center", ncols=3)
    return Drawn(figure, _pairs_table(type_1, type_2, card, grid, prevalence))


def draw_region_calibration(
    type_1: Table,
    prevalence: float,
    card: CardPair | None = None,
    thresholds: Thresholds | None = None,
) -> Drawn:
    """Draw type I predictions before and after Algorithm 2, by grouped and by ordinary AUROC."""
    grid = Thresholds.tenths() if thresholds is None else thresholds
    figure, axes = blank_axes(1, 2, 9.6, 4.6)
    lowest = min(float(type_1["aunbc"].min()), 0.0)
    for ax, kind in zip(axes, ("grouped_auroc", "auroc"), strict=True):
        entries = _region(ax, grid, prevalence)
        before = np.column_stack([type_1[kind], type_1["aunbc"]])
        after = np.column_stack([type_1[f"calibrated_{kind}"], type_1["calibrated_aunbc"]])
        for start, stop in zip(before, after, strict=True):
            arrow = {"arrowstyle": "->", "color": PALE_BLUE, "linewidth": 0.9, "shrinkA": 2}
            ax.annotate("", stop, start, arrowprops=arrow, zorder=2.5)
        (old,) = ax.plot(*before.T, "s", color=ORANGE, markersize=4.5, zorder=3)
        (new,) = ax.plot(*after.T, "o", color=BLUE, markersize=4.5, zorder=4, clip_on=False)
        entries += [(old, "type I, before"), (new, "type I, after calibration")]
        entries += _card(ax, card, ordinary=kind == "auroc")
        margin = 0.06 * (prevalence - lowest)
        ax.set(xlim=(0.45, 1.01), ylim=(lowest - margin, prevalence + margin))
    axes[0].set_title("grouped AUROC: the bound holds", **_TITLE)
    axes[1].set_title("ordinary AUROC: the bound is for comparison only", **_TITLE)
    axes[1].set(xlabel="AUROC (ties count one half)", ylabel="")
    draw_key(figure, _seen(axes, entries), loc="outside lower center", ncols=3)
    return Drawn(figure, type_1)


_TITLE: dict[str, Any] = {"loc": "left", "fontsize": "small", **PLAIN}


def _region(ax: Any, grid: Thresholds, prevalence: float) -> list[tuple[Any, str]]:
    """Draw the region, with published bounds where they differ, and return what goes in the key."""
    display = RegionDisplay(grid, prevalence=prevalence).plot(ax=ax)
    ax.get_legend().remove()
    table = bound_table(grid, prevalence)
    upper, lower = display.edges_
    lower.set(color=GREY, linestyle="--")
    entries = []
    for name, edge, line in (("most", upper, "-."), ("least", lower, ":")):
        printed = table[f"{name}_published"]
        apart = np.abs(printed - table[name]) > _SAME
        alike = "" if apart.any() else ", also as published"
        entries.append((edge, f"{name} that is possible{alike}"))
        if apart.any():
            y = np.where(apart, printed, np.nan)
            look = {"color": GREEN, "linestyle": line, "linewidth": 1.4, "zorder": 2}
            (drawn,) = ax.plot(table["grouped_auroc"], y, **look)
            entries.append((drawn, f"{name}, as published"))
    ax.set(xlabel="Grouped AUROC (ties within an interval are wins)", ylabel="AUNBC")
    tidy(ax, "both")
    return entries


def _seen(axes: list[Any], entries: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Leave out of a key what lies below all that the panels show."""
    bottom = min(ax.get_ylim()[0] for ax in axes)
    return [(line, name) for line, name in entries if np.nanmax(line.get_ydata()) > bottom]


def _dots(ax: Any, table: Table, colour: str, marker: str) -> Any:
    look = {"linestyle": "none", "color": colour, "marker": marker, "markersize": 4.5}
    (dots,) = ax.plot(table["grouped_auroc"], table["aunbc"], **look, zorder=3)
    return dots


def _card(ax: Any, card: CardPair | None, ordinary: bool = False) -> list[tuple[Any, str]]:
    if card is None:
        return []
    x, y = (card.auroc, card.aunbc) if ordinary else card.place
    look = {"marker": "*", "markersize": 13, "color": INK, "markeredgecolor": "white"}
    (star,) = ax.plot([x], [y], linestyle="none", **look, zorder=5)
    by = "" if np.isfinite(card.grouped_auroc) else ", by its ordinary AUROC"
    return [(star, _CARD + by)]


def _pairs_table(
    type_1: Table, type_2: Table, card: CardPair | None, grid: Thresholds, prevalence: float
) -> Table:
    rows = [*_records("type I", type_1, "correlation"), *_records("type II", type_2, "wanted")]
    if card is not None:
        rows.append((_CARD, np.nan, card.grouped_auroc, card.auroc, card.aunbc))
    names, *columns = zip(*rows, strict=True)
    heads = ("parameter", "grouped_auroc", "auroc", "aunbc")
    table = Table({"prediction": names, **dict(zip(heads, columns, strict=True))})
    known = np.isfinite(table["grouped_auroc"])
    bound = np.full(known.shape, np.nan)
    bound[known] = upper_aunbc(grid, prevalence, table["grouped_auroc"][known])
    return Table({**table, "bound": bound})


def _records(
    kind: str, table: Table, parameter: str
) -> list[tuple[str, float, float, float, float]]:
    names = (parameter, "grouped_auroc", "auroc", "aunbc")
    return [(kind, a, b, c, d) for a, b, c, d in zip(*(table[n] for n in names), strict=True)]

"""ROC, calibration and decision curves of all methods: one figure a kind, one panel a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common.checks import FloatArray
from netbenefit.common.table import Table
from netbenefit.metrics.decision_curve import TREAT_ALL, TREAT_NONE
from netbenefit.plots.base import GREY, INK, PLAIN, draw_key, tidy
from netbenefit.plots.decision_curve import DecisionCurveDisplay
from netbenefit.plots.roc import RocCurve, RocDisplay
from reproduction.figures_curves import (
    calibration_table,
    decision_table,
    roc_of,
    stack_tables,
    thin,
)
from reproduction.figures_methods import key_line, method_order, style_for
from reproduction.figures_pool import Pooled, PooledRun
from reproduction.names import title_of

__all__ = ["Drawn", "blank_axes", "draw_calibration", "draw_case", "draw_decision", "draw_roc"]

#: Methods that learn cards for net benefit are drawn a little thicker than those beside them.
_OWN = ("rss-dnb", "scorecard")
#: Columns of panels.
_ACROSS = 2
#: Risk intervals with fewer rows have a hollow point and no line.
FEW = 10
#: Shares of the rows from which on a point of the calibration curve grows, and its sizes.
_SHARES, _SIZES = (0.05, 0.15, 0.35), (3.4, 4.4, 5.8, 7.4)
#: Where half of the AUROCs are as high, the upper left corner is drawn once more, larger.
_CROWDED, _CORNER = 0.95, 0.16

#: How the display of decision curves draws them.
_REFERENCES = ((TREAT_ALL, GREY, (0, (1, 1.4))), (TREAT_NONE, INK, "-"))

Methods = Mapping[str, Pooled]
Panel = Callable[[Any, Methods], Table]


class Drawn(NamedTuple):
    """A figure, and the numbers that it shows."""

    figure: Any
    table: Table


def draw_roc(pooled: PooledRun) -> Drawn:
    """Draw ROC curves, thinned to what can be seen, with their AUROC.

    Parameters
    ----------
    pooled : dict of str to dict of str to Pooled
        By data set and method, as :func:`~reproduction.figures_pool.pool_run` makes it.

    Returns
    -------
    Drawn
        The table holds ``dataset``, ``method``, ``auroc`` (of the whole curve), ``fpr``, ``tpr``.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> one = Pooled("toy", "tree", (0,), rows, np.array([0.1, 0.4, 0.4, 0.9]), rows > 1, 4)
    >>> draw_roc({"toy": {"tree": one}}).table["tpr"]
    array([0. , 0.5, 1. , 1. ])
    """
    return _grid(pooled, _roc_panel, (4.1, 4.0), [("no discrimination", GREY, ":")])


def draw_calibration(pooled: PooledRun) -> Drawn:
    """Draw observed shares of events against mean risks, in ten intervals of risk.

    Parameters
    ----------
    pooled : dict of str to dict of str to Pooled

    Returns
    -------
    Drawn
        The table holds ``dataset``, ``method`` and the columns of
        :func:`~reproduction.figures_curves.calibration_table`.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> one = Pooled("toy", "tree", (0,), rows, np.array([0.1, 0.4, 0.4, 0.9]), rows > 1, 4)
    >>> draw_calibration({"toy": {"tree": one}}).table["observed"]
    array([0. , 0.5, 1. ])
    """
    return _grid(pooled, _calibration_panel, (4.1, 4.0), [("perfect calibration", GREY, ":")])


def draw_decision(pooled: PooledRun) -> Drawn:
    """Draw decision curves beside treating all and treating none.

    Parameters
    ----------
    pooled : dict of str to dict of str to Pooled

    Returns
    -------
    Drawn
        The table holds ``dataset``, ``method``, ``threshold``, ``n``, ``prevalence`` and
        ``net_benefit``.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> one = Pooled("toy", "tree", (0,), rows, np.array([0.1, 0.4, 0.4, 0.9]), rows > 1, 4)
    >>> sorted(set(draw_decision({"toy": {"tree": one}}).table["method"].tolist()))
    ['Treat All', 'Treat None', 'tree']
    """
    return _grid(pooled, _decision_panel, (4.4, 3.3), _REFERENCES)


def draw_case(methods: Methods) -> Drawn:
    """Draw all three kinds of curves of one data set, side by side.

    Parameters
    ----------
    methods : mapping of str to Pooled
        Of one data set.

    Returns
    -------
    Drawn
        The table holds ``dataset``, ``panel``, ``method``, ``x`` and ``y`` as drawn: rates, mean
        risk and share of events, or threshold and net benefit.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> one = Pooled("toy", "tree", (0,), rows, np.array([0.1, 0.4, 0.4, 0.9]), rows > 1, 4)
    >>> len(draw_case({"tree": one}).figure.axes)
    3
    """
    order = method_order(methods)
    shown = {m: methods[m] for m in order}
    dataset = next(iter(methods.values())).dataset
    references = [("no discrimination, perfect calibration", GREY, ":"), *_REFERENCES]
    across = 5
    height = 4.1 + _key_height(len(order) + len(references), across)
    figure, axes = blank_axes(1, 3, 12.6, height)
    tables = []
    for ax, (title, panel, x, y) in zip(axes, _KINDS, strict=True):
        table = panel(ax, shown)
        ax.set_title(title, **_TITLE)
        about = {"dataset": dataset, "panel": title}
        drawn = {"method": table["method"], "x": table[x], "y": table[y]}
        tables.append(Table({**{k: np.full(table.n_rows, v) for k, v in about.items()}, **drawn}))
    axes[2].set_box_aspect(1)
    _key(figure, order, references, across)
    return Drawn(figure, stack_tables(tables))


# -- one panel -------------------------------------------------------------------------------------


def _roc_panel(ax: Any, methods: Methods) -> Table:
    curves = {m: thin(roc_of(p)) for m, p in methods.items() if p.both}
    if not curves:
        _say(ax, "one kind of outcome only")
        return _columns(("method", "auroc", "fpr", "tpr"))
    display = RocDisplay(curves).plot(ax=ax)
    for method, line in display.lines_.items():
        _restyle(line, method, methods)
    ax.set(xlabel="False positive rate", ylabel="True positive rate")
    # Which line belongs to which method tells the key of the figure; here are the figures.
    entries = [
        (key_line(style_for(m, methods), width=1.2), f"{c.auroc:.3f}") for m, c in curves.items()
    ]
    draw_key(
        ax,
        entries,
        loc="lower right",
        ncols=1 if len(entries) < 7 else 2,
        fontsize=7,
        handlelength=2.6,
        labelspacing=0.3,
        columnspacing=1.0,
        title="AUROC",
        title_fontsize=7,
    )
    if float(np.median([c.auroc for c in curves.values()])) >= _CROWDED:
        _magnify(ax, curves)
    return stack_tables(
        [
            Table(
                {
                    "method": np.full(c.fpr.size, m),
                    "auroc": np.full(c.fpr.size, c.auroc),
                    "fpr": c.fpr,
                    "tpr": c.tpr,
                }
            )
            for m, c in curves.items()
        ]
    )


def _magnify(ax: Any, curves: Mapping[str, RocCurve]) -> None:
    """Draw the upper left corner larger, in the empty middle."""
    box = ax.inset_axes([0.3, 0.43, 0.42, 0.42])
    for method, curve in curves.items():
        # One corner beyond the window is enough; a file holds what is not seen, too.
        inside = int(np.searchsorted(curve.fpr, _CORNER, side="right")) + 1
        (line,) = box.plot(curve.fpr[:inside], curve.tpr[:inside])
        _restyle(line, method, curves)
    box.set(xlim=(-0.01 * _CORNER, _CORNER), ylim=(1 - _CORNER, 1 + 0.02 * _CORNER))
    box.tick_params(labelsize=6.5, length=2)
    box.locator_params(nbins=3)
    tidy(box, "both")
    for spine in box.spines.values():
        spine.set(visible=True, color=GREY, linewidth=0.6)


def _calibration_panel(ax: Any, methods: Methods) -> Table:
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", zorder=1)
    tables = []
    for method, pooled in methods.items():
        table = calibration_table(pooled)
        look, marker = _look(method, methods), style_for(method, methods).marker
        many = table["n"] >= FEW
        ax.plot(*_joined(table, many), **{**look, "linewidth": 1.0})
        share = np.digitize(table["n"] / pooled.rows.size, _SHARES)
        for step in np.unique(share[many]):
            _dots(ax, table, many & (share == step), look["color"], marker, _SIZES[step], True)
        _dots(ax, table, ~many, look["color"], marker, _SIZES[0], False)
        tables.append(Table({"method": np.full(table.n_rows, method), **table}))
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlabel="Mean predicted risk", ylabel="Observed share of events")
    tidy(ax, "both")
    return stack_tables(tables)


def _joined(table: Table, many: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Points of neighbouring intervals; across a gap no line must suggest what is not known."""
    gap = np.flatnonzero(table["low"][many][1:] > table["high"][many][:-1]) + 1
    x, y = (np.insert(table[name][many], gap, np.nan) for name in ("risk", "observed"))
    return x, y


def _dots(
    ax: Any, table: Table, rows: Any, colour: str, marker: str, size: float, full: bool
) -> None:
    """Mark some points: full where there are many rows, hollow where there are few."""
    if not rows.any():
        return
    ax.plot(
        table["risk"][rows],
        table["observed"][rows],
        linestyle="none",
        marker=marker,
        markersize=size * _wide(marker),
        markerfacecolor=colour if full else "white",
        markeredgecolor="white" if full else colour,
        markeredgewidth=0.4 if full else 0.7,
        zorder=4 if full else 3,
    )


def _decision_panel(ax: Any, methods: Methods) -> Table:
    table = decision_table(methods)
    display = DecisionCurveDisplay(table).plot(ax=ax)
    for method in methods:
        _restyle(display.lines_[method], method, methods)
    ax.get_legend().remove()
    ax.set(xlabel="Threshold probability", ylabel="Net benefit")
    shown = {"method": table["model"], **{k: table[k] for k in ("threshold", "n")}}
    return Table({**shown, **{k: table[k] for k in ("prevalence", "net_benefit")}})


def _look(method: str, methods: Iterable[str]) -> dict[str, Any]:
    style = style_for(method, methods)
    width = 1.7 if method in _OWN else 1.2
    return {"color": style.colour, "linestyle": style.line, "linewidth": width}


def _restyle(line: Any, method: str, methods: Iterable[str]) -> None:
    """Give a line the look of its method; a few markers tell it apart in grey."""
    marker = style_for(method, methods).marker
    place = method_order(methods).index(method)
    line.set(
        **_look(method, methods),
        marker=marker,
        markersize=4.5 * _wide(marker),
        markeredgecolor="white",
        markeredgewidth=0.4,
        markevery=(0.04 + 0.025 * (place % 12), 0.31),
    )


def _wide(marker: str) -> float:
    """How much wider a marker has to be to look as large as a disc."""
    return {"*": 1.6, "P": 1.2}.get(marker, 1.0)


#: Kinds of curves: title, panel, and the columns that it draws.
_KINDS: tuple[tuple[str, Panel, str, str], ...] = (
    ("ROC", _roc_panel, "fpr", "tpr"),
    ("calibration", _calibration_panel, "risk", "observed"),
    ("decision curves", _decision_panel, "threshold", "net_benefit"),
)
_TITLE: dict[str, Any] = {"loc": "left", "fontsize": "medium", "fontweight": "bold", **PLAIN}


def _say(ax: Any, text: str) -> None:
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", color=GREY, **PLAIN)


def _columns(names: Sequence[str]) -> Table:
    return Table({name: np.empty(0, dtype=str if name == "method" else float) for name in names})


# -- the figure ------------------------------------------------------------------------------------


def _grid(
    pooled: PooledRun,
    panel: Panel,
    size: tuple[float, float],
    others: Sequence[tuple[str, str, Any]],
) -> Drawn:
    """Draw a panel for each data set under one key."""
    across = min(_ACROSS, len(pooled))
    down = -(-len(pooled) // across)
    methods = method_order(m for found in pooled.values() for m in found)
    columns = 2 * across
    height = size[1] * down + _key_height(len(methods) + len(others), columns)
    figure, axes = blank_axes(down, across, size[0] * across, height)
    tables = []
    for ax, (dataset, found) in zip(axes, pooled.items(), strict=False):
        table = panel(ax, {m: found[m] for m in methods if m in found})
        ax.set_title(dataset, **_TITLE)
        tables.append(Table({"dataset": np.full(table.n_rows, dataset), **table}))
    for ax in axes[len(pooled) :]:
        ax.set_axis_off()
    _key(figure, methods, others, columns)
    return Drawn(figure, stack_tables(tables))


def blank_axes(down: int, across: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a new figure and its panels, row by row.

    Examples
    --------
    >>> figure, panels = blank_axes(2, 3, 9, 6)
    >>> len(panels)
    6
    """
    from matplotlib.figure import Figure  # late: an extra; no window, no trace in pyplot

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08)
    return figure, list(np.atleast_1d(figure.subplots(down, across)).ravel())


def _key_height(entries: int, across: int) -> float:
    """Inches that a key needs above the panels."""
    return 0.25 + 0.18 * -(-entries // across)


def _key(
    figure: Any, methods: Sequence[str], others: Sequence[tuple[str, str, Any]], across: int
) -> None:
    """Draw one key for all panels, above them."""
    from matplotlib.lines import Line2D

    entries = [(key_line(style_for(m, methods)), title_of(m)) for m in methods]
    entries += [
        (Line2D([], [], color=colour, linestyle=line, linewidth=1.2), name)
        for name, colour, line in others
    ]
    draw_key(figure, entries, loc="outside upper center", ncols=across)

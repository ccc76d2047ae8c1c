"""ROC, calibration and decision curves of all methods: a figure per kind, a panel per data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, InputError, check_binary, check_risks
from netbenefit.common.table import Table
from netbenefit.metrics.curves import TREAT_ALL, TREAT_NONE, decision_curve
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.plots.base import GREY, INK, PLAIN, draw_key, tidy
from netbenefit.plots.decision_curve import DecisionCurveDisplay
from netbenefit.plots.roc import RocCurve, RocDisplay
from reproduction.names import DATASETS, key_line, method_order, style_for, title_of

# -- out-of-fold predictions, put together from the rows of a run ----------------------------------


Row = Mapping[str, Any]
#: Outcomes of a data set, by its name.
Outcomes = Callable[[str], ArrayLike]

#: The case study has figures of its own.
_APART = "credit"


@dataclass(frozen=True, eq=False)
class Pooled:
    """Predictions, (n,), of one method for held-out rows of one data set, by row number."""

    dataset: str
    method: str
    folds: tuple[int, ...]
    rows: NDArray[np.int64]
    risks: FloatArray
    outcome: NDArray[np.bool_]
    n_all: int

    @property
    def missing(self) -> int:
        """Rows of the data set without a prediction."""
        return self.n_all - self.rows.size

    @property
    def both(self) -> bool:
        """Whether there are events and non-events among the rows."""
        return bool(self.outcome.any() and not self.outcome.all())


#: By data set and method, in the order of panels and keys.
PooledRun = dict[str, dict[str, Pooled]]


def pool_method(rows: Sequence[Row], dataset: str, method: str, outcome: ArrayLike) -> Pooled:
    """Combine the held-out predictions of a method's folds (setting "original").

    Folds that were not run are left out, as are those below 0, which hold nothing out. Rows that
    cannot come from one cross-validation are an error.
    """
    y = check_binary(outcome, name=f"the outcome of {dataset!r}")
    folds: list[int] = []
    numbers: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    risks: list[FloatArray] = [np.empty(0)]
    for row in rows:
        if (row["dataset"], row["method"]) != (dataset, method) or not _held_out(row):
            continue
        where = f"{dataset}, {method}, fold {row['fold']}"
        if row["fold"] in folds:
            raise InputError(f"{where} is there twice. Pass the rows of one run only.")
        folds.append(int(row["fold"]))
        numbers.append(_row_numbers(row, where, y.size))
        risks.append(check_risks(row["test_risks"], numbers[-1].size, name=f"test_risks ({where})"))
    together, risk = np.concatenate(numbers), np.concatenate(risks)
    held, counts = np.unique(together, return_counts=True)
    if counts.size and counts.max() > 1:
        raise InputError(
            f"row {int(held[counts > 1][0])} of {dataset!r} is held out more than once by "
            f"{method!r}. Every row belongs to one fold: pass the rows of one run only."
        )
    order = np.argsort(together)
    return Pooled(dataset, method, tuple(sorted(folds)), held, risk[order], y[held], y.size)


def pool_run(
    rows: Sequence[Row], outcomes: Outcomes, *, datasets: Sequence[str] | None = None
) -> tuple[PooledRun, list[str]]:
    """Pool all methods of all data sets; notes name what is absent or incomplete.

    An ``InputError`` of ``outcomes`` means that a data set is absent.
    """
    used = [row for row in rows if _held_out(row)]
    known = {row["dataset"]: None for row in used if row["dataset"] != _APART}
    chosen = _dataset_order(known) if datasets is None else list(datasets)
    found: PooledRun = {}
    notes: list[str] = []
    for dataset in chosen:
        methods = method_order(row["method"] for row in used if row["dataset"] == dataset)
        if not methods:
            continue
        try:
            y = outcomes(dataset)
        except InputError as error:
            notes.append(f"{dataset}: not drawn, as its outcomes are not there: {error}")
            continue
        found[dataset] = {m: pool_method(used, dataset, m, y) for m in methods}
        notes += _lacking(dataset, found[dataset])
    return found, notes


def _held_out(row: Row) -> bool:
    """Whether a row of the run holds predictions of the comparison."""
    numbers = row.get("test_rows")
    filled = numbers is not None and len(numbers) > 0
    return row["setting"] == "original" and row["fold"] >= 0 and filled


def _dataset_order(names: Mapping[str, None]) -> list[str]:
    known = [name for name in DATASETS if name in names]
    return known + sorted(name for name in names if name not in DATASETS)


def _row_numbers(row: Row, where: str, n_rows: int) -> NDArray[np.int64]:
    numbers = np.asarray(row["test_rows"])
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InputError(f"test_rows ({where}) must hold whole row numbers.")
    outside = numbers[(numbers < 0) | (numbers >= n_rows)]
    if outside.size:
        raise InputError(
            f"test_rows ({where}) holds the row {int(outside[0])}, but the data set has rows 0 to "
            f"{n_rows - 1}. The run was made with other data."
        )
    return numbers.astype(np.int64)


def _lacking(dataset: str, methods: Mapping[str, Pooled]) -> list[str]:
    sizes = {m: p.rows.size for m, p in methods.items() if p.missing}
    if not sizes:
        return []
    n_all = next(iter(methods.values())).n_all
    alike = len(sizes) == len(methods) > 1 and len(set(sizes.values())) == 1
    listed = "; ".join(f"{m}: {n:,}" for m, n in sizes.items())
    found = f"all methods: {min(sizes.values()):,}" if alike else listed
    return [f"{dataset}: predictions are not there for all of its {n_all:,} rows ({found})."]


# -- the numbers behind ROC, calibration and decision curves of pooled predictions -----------------


#: Whole percents: fine enough to see every jump that matters, few enough for a small file.
PERCENTS = Thresholds.of([i / 100 for i in range(100)])
#: Thinner than a line: how far a thinned curve may be from the whole one, in units of the axes.
HAIR = 0.002


def roc_of(pooled: Pooled) -> RocCurve:
    """Return the ROC curve with all its corners."""
    from sklearn.metrics import auc, roc_curve  # late: slow to import

    fpr, tpr, _ = roc_curve(pooled.outcome, pooled.risks)
    return RocCurve(fpr, tpr, float(auc(fpr, tpr)))


def thin(curve: RocCurve, tolerance: float = HAIR) -> RocCurve:
    """Leave out corners of a ROC curve that are too near to be seen; the AUROC stays that of all.

    1. Keep both ends.
    2. Between two kept corners, keep the one farthest from the straight line that joins them,
       unless all are nearer than the tolerance.
    3. Repeat for the two parts.
    """
    points = np.column_stack([curve.fpr, curve.tpr])
    kept = {0, len(points) - 1}
    parts = [(0, len(points) - 1)]
    while parts:
        first, last = parts.pop()
        if last - first < 2:
            continue
        away = _distances(points[first : last + 1])
        farthest = first + int(np.argmax(away))
        if away[farthest - first] > tolerance:
            kept.add(farthest)
            parts += [(first, farthest), (farthest, last)]
    places = sorted(kept)
    return RocCurve(curve.fpr[places], curve.tpr[places], curve.auroc)


def _distances(points: FloatArray) -> FloatArray:
    """Distances of points from the line between the first and the last."""
    along = points[-1] - points[0]
    length = float(np.hypot(*along))
    off = points - points[0]
    if length == 0:
        return np.asarray(np.hypot(off[:, 0], off[:, 1]))
    return np.asarray(np.abs(along[0] * off[:, 1] - along[1] * off[:, 0]) / length)


def calibration_table(pooled: Pooled, thresholds: Thresholds | None = None) -> Table:
    """Mean risk and observed share of events in each risk interval that holds rows."""
    grid = Thresholds.tenths() if thresholds is None else thresholds
    level = grid.level_of(pooled.risks)
    n = np.bincount(level, minlength=len(grid)).astype(np.float64)
    filled = n > 0
    events = np.bincount(level, weights=pooled.outcome, minlength=len(grid))[filled]
    total = np.bincount(level, weights=pooled.risks, minlength=len(grid))[filled]
    ends = np.append(grid.array[1:], 1.0)
    n, low, high = n[filled], grid.array[filled], ends[filled]
    return Table(
        {
            "low": low,
            "high": high,
            "n": n,
            "events": events,
            "risk": np.clip(total / n, low, high),  # a sum of equal risks may be a hair off
            "observed": events / n,
        }
    )


def decision_table(methods: Mapping[str, Pooled], thresholds: Thresholds = PERCENTS) -> Table:
    """Decision curves of methods on a data set, each on the rows that it predicted.

    Treating all and treating none are of all rows that any method predicted.
    """
    tables = []
    for method, pooled in methods.items():
        curve = decision_curve(pooled.outcome, {method: pooled.risks}, thresholds)
        tables.append(Table({k: v[curve["model"] == method] for k, v in curve.items()}))
    outcome: dict[int, bool] = {}
    for pooled in methods.values():
        outcome.update(zip(pooled.rows.tolist(), pooled.outcome.tolist(), strict=True))
    all_rows = np.array(list(outcome.values()))
    curve = decision_curve(all_rows, np.zeros(all_rows.size), thresholds)
    shown = np.isin(curve["model"], (TREAT_ALL, TREAT_NONE))
    return stack_tables([*tables, Table({k: v[shown] for k, v in curve.items()})])


def stack_tables(tables: Sequence[Table]) -> Table:
    """Put tables of the same columns one below the other."""
    return Table({name: np.concatenate([t[name] for t in tables]) for name in tables[0]})


#: Methods that learn cards for net benefit are drawn a little thicker than the others.
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
    """Draw ROC curves, thinned to what can be seen, with their AUROC."""
    return _grid(pooled, _roc_panel, (4.1, 4.0), [("no discrimination", GREY, ":")])


def draw_calibration(pooled: PooledRun) -> Drawn:
    """Draw observed shares of events against mean risks, in ten intervals of risk."""
    return _grid(pooled, _calibration_panel, (4.1, 4.0), [("perfect calibration", GREY, ":")])


def draw_decision(pooled: PooledRun) -> Drawn:
    """Draw decision curves with treating all and treating none."""
    return _grid(pooled, _decision_panel, (4.4, 3.3), _REFERENCES)


def draw_case(methods: Methods) -> Drawn:
    """Draw all three kinds of curves of one data set, side by side."""
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
    # The key of the figure shows which line belongs to which method; here are the numbers.
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
    """Give a line the look of its method; a few markers distinguish it in greyscale."""
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
    """Return a new figure and its panels, row by row."""
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

"""ROC, calibration and decision curves of all methods: a figure per kind, a panel per data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.common.checks import FloatArray, InputError, check_binary, check_risks
from netbenefit.common.table import Table
from netbenefit.metrics.curves import TREAT_ALL, TREAT_NONE, decision_curve
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.plots.base import GREY, INK, PLAIN, draw_key, style_of, tidy
from netbenefit.plots.roc import RocCurve
from reproduction.names import DATASETS, method_order, title_of

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


Methods = Mapping[str, Pooled]
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


def roc_table(methods: Methods) -> Table:
    """ROC curves, thinned to what can be seen, with their AUROC; NaN without both outcomes."""
    none = np.array([np.nan])
    curves = {
        m: thin(roc_of(p)) if p.both else RocCurve(none, none, float("nan"))
        for m, p in methods.items()
    }
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


def calibration_tables(methods: Methods) -> Table:
    """Points of the calibration curves of methods."""
    tables = [(m, calibration_table(pooled)) for m, pooled in methods.items()]
    return stack_tables([Table({"method": np.full(t.n_rows, m), **t}) for m, t in tables])


def net_benefit_table(methods: Methods) -> Table:
    """Decision curves of methods, of treating all and of treating none."""
    table = decision_table(methods)
    kept = ("threshold", "n", "prevalence", "net_benefit")
    return Table({"method": table["model"], **{name: table[name] for name in kept}})


# -- drawing: from these numbers alone, so that they can be drawn again ----------------------------


#: One method stands out; the others are grey, and their numbers are in the tables.
HIGHLIGHTED = "rss-dnb"
_COLOUR, _OTHERS = style_of(0).colour, "#b4b4b4"
#: Columns of panels, and inches of each.
_ACROSS, _PANEL = 2, (4.7, 4.1)
#: Risk intervals with fewer rows have a hollow point and no line.
FEW = 10
#: Shares of the rows from which on a point of the calibration curve grows, and its sizes.
_SHARES, _SIZES = (0.05, 0.15, 0.35), (4.2, 5.4, 6.8, 8.4)
#: Where half of the AUROCs are as high, the upper left corner is drawn once more, larger.
_CROWDED, _CORNER = 0.95, 0.16
_REFERENCES: dict[str, tuple[str, Any]] = {TREAT_ALL: (INK, (0, (1, 1.4))), TREAT_NONE: (INK, "-")}


class Kind(NamedTuple):
    """A kind of curves: what a panel of it shows."""

    title: str
    numbers: Callable[[Methods], Table]
    x: str
    y: str
    labels: tuple[str, str]
    #: Names of lines that belong to no method.
    others: tuple[str, ...]


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "roc": Kind(
            "ROC",
            roc_table,
            "fpr",
            "tpr",
            ("False positive rate", "True positive rate"),
            ("no discrimination",),
        ),
        "calibration": Kind(
            "calibration",
            calibration_tables,
            "risk",
            "observed",
            ("Mean predicted risk", "Observed share of events"),
            ("perfect calibration",),
        ),
        "decision": Kind(
            "decision curves",
            net_benefit_table,
            "threshold",
            "net_benefit",
            ("Threshold probability", "Net benefit"),
            (TREAT_ALL, TREAT_NONE),
        ),
    }
)


class Drawn(NamedTuple):
    """A figure, and the numbers that it shows."""

    figure: Any
    table: Table


def numbers_of(name: str, pooled: PooledRun) -> Table:
    """Return the numbers of a kind of curves, of all data sets."""
    tables = []
    for dataset, found in pooled.items():
        order = method_order(found)
        table = KINDS[name].numbers({m: found[m] for m in order})
        tables.append(Table({"dataset": np.full(table.n_rows, dataset), **table}))
    return stack_tables(tables)


def draw_kind(name: str, table: Table) -> Drawn:
    """Draw a panel for each data set, from the numbers of :func:`numbers_of`."""
    kind, datasets = KINDS[name], list(dict.fromkeys(table["dataset"].tolist()))
    figure, axes = _panels(len(datasets), min(_ACROSS, len(datasets)), table, kind.others)
    for ax, dataset in zip(axes, datasets, strict=False):
        _panel(ax, name, _only(table, "dataset", dataset), highlighted(table))
        ax.set_title(dataset, **_TITLE)
    return Drawn(figure, table)


def case_table(methods: Methods) -> Table:
    """Points of all three kinds of curves of one data set."""
    shown = {m: methods[m] for m in method_order(methods)}
    dataset = next(iter(methods.values())).dataset
    tables = []
    for kind in KINDS.values():
        table = kind.numbers(shown)
        about = {"dataset": dataset, "panel": kind.title}
        points = {"method": table["method"], "x": table[kind.x], "y": table[kind.y]}
        tables.append(Table({**{k: np.full(table.n_rows, v) for k, v in about.items()}, **points}))
    return stack_tables(tables)


def draw_case(table: Table) -> Drawn:
    """Draw all three kinds of curves of one data set, from the numbers of :func:`case_table`."""
    figure, axes = _panels(
        len(KINDS), _ACROSS, table, ("no discrimination, perfect calibration", *_REFERENCES)
    )
    for ax, (name, kind) in zip(axes, KINDS.items(), strict=False):
        part = _only(table, "panel", kind.title)
        points = Table({"method": part["method"], kind.x: part["x"], kind.y: part["y"]})
        _panel(ax, name, points, highlighted(table))
        ax.set_title(kind.title, **_TITLE)
    return Drawn(figure, table)


def highlighted(table: Table) -> str:
    """Return the method that stands out: the published one, or else the first there is."""
    methods = method_order(m for m in table["method"].tolist() if m not in _REFERENCES)
    return HIGHLIGHTED if HIGHLIGHTED in methods else (methods or [""])[0]


# -- one panel -------------------------------------------------------------------------------------


def _panel(ax: Any, name: str, table: Table, shown: str) -> None:
    from matplotlib.ticker import PercentFormatter

    kind = KINDS[name]
    if np.isnan(table[kind.x]).all():
        ax.text(0.5, 0.5, "one kind of outcome only", ha="center", **PLAIN)
    methods = dict.fromkeys(table["method"].tolist())
    for method in sorted(methods, key=lambda method: method == shown):
        lines = _only(table, "method", method)
        x, y = _joined(lines) if name == "calibration" else (lines[kind.x], lines[kind.y])
        ax.plot(x, y, **_look(method, shown))
    if name == "decision":
        top = float(table["net_benefit"].max(initial=1e-6))
        ax.set(xlim=(0, 1), ylim=(-0.12 * top, 1.06 * top))
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    else:
        ax.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle=":", zorder=1)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.set_aspect("equal", adjustable="box")
    if name == "calibration" and "n" in table:
        _dots(ax, _only(table, "method", shown))
    if name == "roc" and "auroc" in table and not np.isnan(table["auroc"]).all():
        _tell_auroc(ax, table, shown)
    ax.set(xlabel=kind.labels[0], ylabel=kind.labels[1])
    tidy(ax, "both")


def _look(method: str, shown: str) -> dict[str, Any]:
    if method in _REFERENCES:
        colour, line = _REFERENCES[method]
        return {"color": colour, "linestyle": line, "linewidth": 1.0, "zorder": 2}
    if method == shown:
        return {"color": _COLOUR, "linewidth": 2.2, "zorder": 5}
    return {"color": _OTHERS, "linewidth": 1.0, "zorder": 3}


def _only(table: Table, column: str, value: str) -> Table:
    return Table({name: values[table[column] == value] for name, values in table.items()})


def _tell_auroc(ax: Any, table: Table, shown: str) -> None:
    """Write the AUROCs, and draw the corner larger where the curves crowd there."""
    pairs = zip(table["method"].tolist(), table["auroc"].tolist(), strict=True)
    first = {method: auroc for method, auroc in pairs if not np.isnan(auroc)}
    parts = [f"{title_of(shown)} {first[shown]:.3f}"] if shown in first else []
    others = [auroc for method, auroc in first.items() if method != shown]
    if others:
        parts.append(f"others {min(others):.3f} to {max(others):.3f}")
    ax.text(0.97, 0.04, "AUROC\n" + "\n".join(parts), ha="right", va="bottom", fontsize=9, **PLAIN)
    if float(np.median(list(first.values()))) < _CROWDED:
        return
    box = ax.inset_axes([0.3, 0.36, 0.46, 0.46])
    for method in sorted(first, key=lambda method: method == shown):
        curve = _only(table, "method", method)
        # One corner beyond the window is enough; a file holds what is not seen, too.
        inside = int(np.searchsorted(curve["fpr"], _CORNER, side="right")) + 1
        box.plot(curve["fpr"][:inside], curve["tpr"][:inside], **_look(method, shown))
    box.set(xlim=(-0.01 * _CORNER, _CORNER), ylim=(1 - _CORNER, 1 + 0.02 * _CORNER))
    box.tick_params(labelsize=8, length=2)
    box.locator_params(nbins=3)
    tidy(box, "both")
    for spine in box.spines.values():
        spine.set(visible=True, color=GREY, linewidth=0.6)


def _joined(table: Table) -> tuple[FloatArray, FloatArray]:
    """Points of neighbouring intervals; across a gap no line must suggest what is not known."""
    if "n" not in table:
        return table["risk"], table["observed"]
    many = table["n"] >= FEW
    gap = np.flatnonzero(table["low"][many][1:] > table["high"][many][:-1] + 1e-9) + 1
    x, y = (np.insert(table[name][many], gap, np.nan) for name in ("risk", "observed"))
    return x, y


def _dots(ax: Any, table: Table) -> None:
    """Mark points: larger where there are more rows, hollow where there are few."""
    share = np.digitize(table["n"] / table["n"].sum(), _SHARES)
    few = table["n"] < FEW
    for step in range(len(_SIZES)):
        for rows, full in ((~few & (share == step), True), (few & (share == step), False)):
            ax.plot(
                table["risk"][rows],
                table["observed"][rows],
                linestyle="none",
                marker="o",
                markersize=_SIZES[step],
                markerfacecolor=_COLOUR if full else "white",
                markeredgecolor="white" if full else _COLOUR,
                markeredgewidth=0.4 if full else 0.9,
                zorder=6,
            )


_TITLE: dict[str, Any] = {"loc": "left", "fontsize": "large", "fontweight": "bold", **PLAIN}


# -- the figure ------------------------------------------------------------------------------------


def _panels(count: int, across: int, table: Table, others: Sequence[str]) -> tuple[Any, list[Any]]:
    """Return a figure of ``count`` panels under one key."""
    from matplotlib.lines import Line2D

    down = -(-count // across)
    figure, axes = blank_axes(down, across, _PANEL[0] * across, _PANEL[1] * down + 0.4)
    for ax in axes[count:]:
        ax.set_axis_off()
    shown = highlighted(table)
    methods = {m for m in table["method"].tolist() if m not in _REFERENCES}
    entries = [(Line2D([], [], **_look(shown, shown)), title_of(shown))]
    if len(methods) > 1:
        name = f"{len(methods) - 1} other method{'s' * (len(methods) > 2)}"
        entries.append((Line2D([], [], **_look("", shown)), name))
    for name in others:
        colour, line = _REFERENCES.get(name, (INK, ":"))
        entries.append((Line2D([], [], color=colour, linestyle=line, linewidth=1.0), name))
    draw_key(figure, entries, loc="outside upper center", ncols=len(entries))
    return figure, axes


def blank_axes(down: int, across: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a new figure and its panels, row by row."""
    from matplotlib.figure import Figure  # late: an extra; no window, no trace in pyplot

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08)
    return figure, list(np.atleast_1d(figure.subplots(down, across)).ravel())

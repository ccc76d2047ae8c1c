"""The pictures of docs/theory.md: ``python -m benchmarks.theory_figures [--folder docs/theory]``.

One function a picture; all numbers come from ``netbenefit.theory`` and from seeded simulation, so
that the same versions of numpy and matplotlib write the same files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from netbenefit import (
    Thresholds,
    aunbc,
    calibrate_levels,
    grouped_auroc,
    improve_levels,
)
from netbenefit.plots.base import BLUE, GREY, INK, LIGHT, ORANGE, PALE_BLUE, tidy, write_figure
from netbenefit.theory import (
    boundary_risks,
    correlated_risks,
    generalisation_bound,
    improvements,
    learning_capacity,
    lower_aunbc,
    lower_grouped_auroc,
    rates_inside,
    rounding_loss,
    rows_needed,
    upper_aunbc,
    upper_grouped_auroc,
)

TENTHS = Thresholds.tenths()
FIFTHS = Thresholds.of([i / 5 for i in range(5)])
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "theory"
REGION = "#EDF3F8"


def _axes(width: float = 5.6, height: float = 3.8, columns: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns)
    for ax in np.atleast_1d(axes):
        tidy(ax, "both")
    return figure, axes


def _key(ax: Any, **options: Any) -> None:
    key = ax.legend(fontsize="small", **options)
    key.get_frame().set(facecolor="white", alpha=0.85, linewidth=0)


def _dots(ax: Any, x: Any, y: Any, label: str, colour: str, marker: str = "o") -> None:
    ax.plot(x, y, marker, color=colour, markersize=3, markeredgewidth=0, label=label)


# -- discrimination and utility --------------------------------------------------------------------


def draw_region() -> Figure:
    """Both versions of both bounds, and models of every kind between them."""
    figure, ax = _axes()
    rng, a0 = np.random.default_rng(0), 0.9
    G = np.linspace(0, 1, 201)
    upper, lower = upper_aunbc(TENTHS, a0, G), lower_aunbc(TENTHS, a0, G)
    ax.fill_between(G, lower, upper, color=REGION, linewidth=0)
    ax.plot(G, upper_aunbc(TENTHS, a0, G, "paper"), "--", color=ORANGE, label="most, as published")
    ax.plot(G, upper, color=INK, label="most")
    ax.plot(G, lower, color=BLUE, label="least")
    ax.plot(G, lower_aunbc(TENTHS, a0, G, "paper"), ":", color=ORANGE, label="least, as published")
    y = np.repeat([1, 0], [90, 10])
    pairs = []
    for _ in range(200):
        level = rng.integers(0, 10, 2)
        own = rng.integers(level.min(), level.max() + 1, y.size)
        mixed = np.where(rng.random(y.size) < rng.random(), own, np.where(y == 1, *level))
        risk = TENTHS.array[mixed]
        pairs.append((grouped_auroc(y, risk), aunbc(y, risk)))
    _dots(ax, *zip(*pairs, strict=True), label="random models", colour=GREY)
    ax.set_xlabel("Grouped AUROC")
    ax.set_ylabel("AUNBC")
    ax.set_title("prevalence 90%, thresholds 0, 0.1, …, 0.9", fontsize="small", loc="left")
    _key(ax, loc="lower right", bbox_to_anchor=(1.0, 0.2))
    return figure


def draw_tightness() -> Figure:
    """By how much the published upper bound is too high."""
    figure, axes = _axes(7.2, 3.4, columns=2)
    share, G = np.linspace(0.002, 0.998, 167), np.linspace(0, 1, 51)
    for ax, grid, name in zip(axes, (TENTHS, FIFTHS), ("tenths", "fifths"), strict=True):
        gap = np.array([upper_aunbc(grid, a, G, "paper") - upper_aunbc(grid, a, G) for a in share])
        levels = [1e-9, 0.005, 0.01, 0.02, 0.05]
        filled = ax.contourf(
            share, G, gap.T, levels=levels, colors=["#FBE3D3", "#F4B58E", "#E58449", ORANGE]
        )
        ax.set_xlabel("Prevalence")
        ax.set_title(f"thresholds: {name}", fontsize="small", loc="left")
    axes[0].set_ylabel("Grouped AUROC")
    bar = figure.colorbar(filled, ax=axes, shrink=0.9)
    bar.set_label("published bound − corrected bound", fontsize="small")
    bar.ax.set_yticks(levels, ["0", *map(str, levels[1:])], fontsize="small")
    return figure


def draw_inverse() -> Figure:
    """What AUNBC says about AUROC, for two prevalences."""
    figure, axes = _axes(7.2, 3.4, columns=2)
    for ax, a0 in zip(axes, (0.2, 0.9), strict=True):
        floor = float(lower_aunbc(TENTHS, a0, 0.0))
        shown = max(floor, -1.5 * a0)
        area = np.linspace(shown, a0, 201)
        least, most = (f(TENTHS, a0, area) for f in (lower_grouped_auroc, upper_grouped_auroc))
        ax.fill_between(area, least, most, color=REGION, linewidth=0)
        ax.plot(area, most, color=BLUE, label="most")
        printed = lower_grouped_auroc(TENTHS, a0, area, "paper")
        ax.plot(area, printed, "--", color=ORANGE, label="least, as published")
        ax.plot(area, least, color=INK, label="least")
        ax.set_xlim(shown, a0)
        ax.set_xlabel("AUNBC")
        ax.set_title(f"prevalence {100 * a0:.0f}%", fontsize="small", loc="left")
    axes[0].set_ylabel("Grouped AUROC")
    _key(axes[1], loc="center right", bbox_to_anchor=(0.75, 0.5))
    return figure


# -- calibration and utility -----------------------------------------------------------------------


def _outcomes(rng: np.random.Generator, n: int, share: float) -> np.ndarray:
    return (rng.permutation(n) < share * n).astype(int)


def draw_rules() -> Figure:
    """Type I predictions before and after all moves that the rules find."""
    figure, ax = _axes()
    rng, a0 = np.random.default_rng(1), 0.3
    y = _outcomes(rng, 1000, a0)
    G = np.linspace(0, 1, 201)
    ax.plot(G, upper_aunbc(TENTHS, a0, G), color=INK, label="most that is possible")
    pairs = []
    for r in np.linspace(0.05, 0.9, 18):
        risk = correlated_risks(y, float(r), random_state=rng)
        better = improve_levels(y, risk).apply(risk)
        pairs.append([(grouped_auroc(y, s), aunbc(y, s)) for s in (risk, better)])
    before, after = np.array(pairs).swapaxes(0, 1)
    for start, stop in zip(before, after, strict=True):
        ax.annotate("", stop, start, arrowprops={"arrowstyle": "->", "color": PALE_BLUE})
    _dots(ax, *before.T, label="before", colour=ORANGE)
    _dots(ax, *after.T, label="after", colour=BLUE, marker="s")
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlim(0.4, 1.01)
    ax.set_ylim(before[:, 1].min() - 0.05, a0 + 0.02)
    ax.set_xlabel("Grouped AUROC")
    ax.set_ylabel("AUNBC")
    _key(ax, loc="lower right")
    return figure


def draw_levels() -> Figure:
    """Event rates of levels against their intervals: as they are, improved, calibrated."""
    figure, axes = _axes(7.6, 3.2, columns=3)
    rng = np.random.default_rng(3)
    y = _outcomes(rng, 600, 0.35)
    risk = correlated_risks(y, 0.55, random_state=rng)
    maps = {
        "as predicted": None,
        "after algorithm 1": improve_levels(y, risk, FIFTHS),
        "after algorithm 2": calibrate_levels(y, risk, FIFTHS),
    }
    for ax, (name, level_map) in zip(axes, maps.items(), strict=True):
        new = risk if level_map is None else level_map.apply(risk)
        failures = {f.level for f in rates_inside(y, new, FIFTHS, half_open=True).failures}
        level = FIFTHS.level_of(new)
        for i, low in enumerate(FIFTHS.values):
            ax.fill_between([i - 0.35, i + 0.35], low, low + 0.2, color=LIGHT, linewidth=0)
            if (rows := level == i).any():
                colour = ORANGE if i in failures else BLUE
                ax.plot(i, y[rows].mean(), "o", color=colour, markersize=6)
                ax.plot([i - 0.3, i + 0.3], [new[rows].mean()] * 2, color=INK, linewidth=1.2)
        gains = len(improvements(y, new, FIFTHS))
        ax.set_title(
            f"{name}\n{gains} moves left, AUNBC {aunbc(y, new, FIFTHS):.3f}",
            fontsize="small",
            loc="left",
        )
        ax.set_xticks(range(5))
        ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel("Level")
    axes[0].set_ylabel("Risk (line), event rate (dot)")
    return figure


# -- capacity and generalisation -------------------------------------------------------------------


def draw_capacity() -> Figure:
    """How large points must be, and what it costs to leave rows out of account."""
    figure, axes = _axes(7.2, 3.2, columns=2)
    rng, n = np.random.default_rng(4), 1000
    X = np.column_stack([rng.integers(0, 2, (n, 6)), rng.integers(0, 10, (n, 2)) / 10])
    rho = np.array([0.83, -0.41, 1.27, 0.36, -0.72, 0.55, 1.9, -1.1])
    grid = Thresholds.parse("0.1:0.5:0.1")
    scores = np.unique((X @ rho).round(9))
    at = np.searchsorted(scores, np.quantile(X @ rho, [0.3, 0.5, 0.65, 0.8, 0.9]))
    cutoffs = (scores[at] + scores[at - 1]) / 2
    drops = [0, 1, 2, 5, 10, 20, 50, 100, 200]
    found = [learning_capacity(X, rho, cutoffs, drop=drop) for drop in drops]
    axes[0].plot(drops, [c.max_points for c in found], "o-", color=BLUE, markersize=4)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("Points that are enough")
    costs = [rounding_loss(grid, drop, n) for drop in drops]
    axes[1].plot(drops, costs, "o-", color=ORANGE, markersize=4)
    axes[1].set_ylabel("Net benefit lost, at most")
    for ax in axes:
        ax.set_xscale("symlog")
        ax.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        ax.set_xlabel("Rows dropped, of 1,000")
    return figure


def largest_gaps(rng: np.random.Generator, n: int, grid: Thresholds, draws: int) -> np.ndarray:
    """Training less expected net benefit of the worst card, in samples of n rows.

    Rows hold two columns, 0/1 and 0/1/2; cards have points −2 … 2 and cut-offs −6 … 6.
    """
    cells = np.array(list(product(range(2), range(3), range(2))))
    x, y = cells[:, :2], cells[:, 2]
    chances = rng.dirichlet(np.ones(len(cells)))
    off = rng.multinomial(n, chances, draws) / n - chances
    worst = np.full(draws, -np.inf)
    for points in product(range(-2, 3), repeat=2):
        called = (x @ points)[:, None] >= np.arange(-6, 7)
        tp, fp = (off @ (called * (y == kind)[:, None]) for kind in (1, 0))
        best = [(tp - r * fp).max(axis=1) for r in grid.odds]
        worst = np.maximum(worst, np.tensordot(grid.weight_array, best, axes=1))
    return worst


def draw_generalisation() -> Figure:
    """The bound, and what happened in 400 samples of each size."""
    figure, ax = _axes()
    rng, grid = np.random.default_rng(5), Thresholds.parse("0.05:0.5:0.05")
    sizes = (10 ** np.linspace(1.5, 4.5, 13)).astype(int)
    bounds = [generalisation_bound(int(n), [2, 2], 6, grid) for n in sizes]
    gaps = [np.concatenate([largest_gaps(rng, int(n), grid, 40) for _ in range(10)]) for n in sizes]
    ax.plot(sizes, bounds, color=INK, label="bound, 95%")
    ax.plot(sizes, [g.max() for g in gaps], "^", color=ORANGE, markersize=5, label="largest of 400")
    ax.plot(sizes, [np.median(g) for g in gaps], "o", color=BLUE, markersize=4, label="median")
    target = 0.05
    n = rows_needed(target, [2, 2], 6, grid)
    ax.plot([sizes[0], n, n], [target, target, 1e-3], ":", color=GREY)
    ax.text(n * 1.1, 1.3e-3, f"{n:,} rows for {target}", fontsize="small", color=INK)
    ax.set(xscale="log", yscale="log", xlabel="Rows in training", ylim=(1e-3, 1))
    ax.set_ylabel("Training − expected net benefit, worst card")
    _key(ax, loc="upper right")
    return figure


# -- synthetic predictions -------------------------------------------------------------------------


def draw_synthetic() -> Figure:
    """Type I and type II predictions for the same outcomes."""
    figure, ax = _axes()
    rng, a0 = np.random.default_rng(6), 0.5
    y = _outcomes(rng, 1000, a0)
    G = np.linspace(0, 1, 201)
    ax.fill_between(
        G, lower_aunbc(FIFTHS, a0, G), upper_aunbc(FIFTHS, a0, G), color=REGION, linewidth=0
    )
    aurocs = np.linspace(0.02, 0.98, 25)
    for side, colour in (("upper", INK), ("lower", BLUE)):
        risks = [boundary_risks(y, float(g), FIFTHS, side) for g in aurocs]
        pairs = [(grouped_auroc(y, s, FIFTHS), aunbc(y, s, FIFTHS)) for s in risks]
        _dots(ax, *zip(*pairs, strict=True), label=f"type II, {side} edge", colour=colour)
    risks = [correlated_risks(y, float(r), random_state=rng) for r in np.linspace(-0.9, 0.95, 60)]
    pairs = [(grouped_auroc(y, s, FIFTHS), aunbc(y, s, FIFTHS)) for s in risks]
    _dots(ax, *zip(*pairs, strict=True), label="type I", colour=ORANGE, marker="s")
    ax.set_xlabel("Grouped AUROC")
    ax.set_ylabel("AUNBC")
    ax.set_title("prevalence 50%, thresholds 0, 0.2, …, 0.8", fontsize="small", loc="left")
    _key(ax, loc="lower right")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "region": draw_region,
    "tightness": draw_tightness,
    "inverse": draw_inverse,
    "rules": draw_rules,
    "levels": draw_levels,
    "capacity": draw_capacity,
    "generalisation": draw_generalisation,
    "synthetic": draw_synthetic,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw all pictures, or those named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.theory_figures")
    parser.add_argument("names", nargs="*", help=f"{', '.join(FIGURES)}; all by default")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(FIGURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for name in chosen.names or FIGURES:
        file = chosen.folder / f"{name}.svg"
        write_figure(FIGURES[name](), file)
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

"""Where decision curves are computed to be drawn."""

from __future__ import annotations

from typing import Any

from netbenefit.metrics.decision_curve import risk_breakpoints
from netbenefit.metrics.thresholds import Thresholds, as_thresholds

__all__ = ["curve_grid", "part_of_interest"]

#: Just beyond a risk: far enough to be a threshold of its own, too near to be seen.
_HAIR = 1e-9


def curve_grid(grid: Any, marked: Thresholds | None, risks: Any) -> Thresholds:
    """Whole percents and the thresholds that matter; the user's own; or all breaks as well.

    >>> len(curve_grid(None, Thresholds.of([0.125, 0.5]), [0.2]).asked)
    101
    >>> len(curve_grid("risks", None, [0.125, 0.3, 0.125]).asked)
    103
    """
    if grid is not None and not (isinstance(grid, str) and grid == "risks"):
        return as_thresholds(grid)
    points = {i / 100 for i in range(100)}
    if marked is not None:
        points |= set(marked.asked.tolist())
    if grid is not None:
        breaks = risk_breakpoints(risks).asked
        # At a risk its rows are positive, a hair above they are not: the jump is drawn upright.
        points |= {float(p) for q in breaks for p in (q, q + _HAIR) if p < 1.0}
    return Thresholds.of(sorted(points))


def part_of_interest(grid: Thresholds, marked: Thresholds | None) -> Thresholds:
    """The part of the grid over which bands are asked for; a band over more would be wider.

    >>> part_of_interest(Thresholds.tenths(), Thresholds.of([0.2, 0.4])).asked
    array([0.2, 0.3, 0.4])
    """
    if marked is None:
        return grid
    low, high = marked.asked[0], marked.asked[-1]
    inside = [p for p in grid.asked.tolist() if low <= p <= high and p > 0]
    return Thresholds.of(inside) if inside else grid

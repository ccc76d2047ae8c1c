"""The signed covering relaxation: an upper bound of a problem by cuts and three-way branching.

Variables: z_iu = 1 if pattern u is lost at threshold i (a gain not called, or a loss called), and
s⁺_k, s⁻_k = 1 if λ_k is positive, negative.  Convex combinations of positives and negatives that
coincide on some columns show that either a pattern in them is lost or one of the other columns must
be used with the right sign (see ``_cuts``).  The linear program over z and s with these cuts bounds
every card of a box (``_cover_lp``); boxes are split where that helps (``_cover_tree``), after wide
columns have been probed (``probing``).  All bounds are counted in whole numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netbenefit.common.checks import InputError, IntArray
from netbenefit.problem.integer import IntegerProblem
from netbenefit.solvers.bounds.cover_program import SupportRows
from netbenefit.solvers.bounds.cover_tree import CoverTree, Effort
from netbenefit.solvers.bounds.probing import Part, probe_columns, sign_parts

__all__ = ["CoveringBound", "covering_bound"]

#: A column with more values than this is split before anything is solved.
_MANY = 20


@dataclass(frozen=True, eq=False)
class CoveringBound:
    """What the covering relaxation proves."""

    value: int  #: no vector of the box is worth more, in the units of :class:`IntegerProblem`
    leaves: list[Part]  #: boxes (lower, upper, value) that cover the box, each with its own bound
    nodes: int  #: boxes worked on
    cuts: int  #: convex combinations found
    details: dict[str, Any] = field(default_factory=dict)  #: figures for the trace


def covering_bound(
    integers: IntegerProblem,
    *,
    lower: IntArray | None = None,
    upper: IntArray | None = None,
    incumbent: int | None = None,
    seconds: float = 60.0,
    n_jobs: int = 1,
    on_bound: Callable[[int], None] = lambda value: None,
    should_stop: Callable[[], bool] = lambda: False,
    support: IntArray | None = None,
    support_limit: IntArray | None = None,
    effort: Effort | None = None,
    most_nodes: int | None = None,
) -> CoveringBound:
    """Bound the values of all vectors of a box, at whatever moment it ends.

    Boxes that cannot beat the ``incumbent`` are closed; vectors that break
    Σ_k support[r, k] · [λ_k ≠ 0] ≤ support_limit[r] need no bound.  ``on_bound`` gets every lower
    bound, from any thread but never from two at once.
    """
    begin = time.perf_counter()
    low = integers.lower if lower is None else np.asarray(lower, dtype=np.int64)
    high = integers.upper if upper is None else np.asarray(upper, dtype=np.int64)
    if (low > high).any() or (low < integers.lower).any() or (high > integers.upper).any():
        raise InputError("lower and upper must be a box within the problem's own bounds.")
    rows = None
    if support is not None and support_limit is not None:
        rows = SupportRows(np.asarray(support), np.asarray(support_limit))
    deadline = begin + seconds

    def over() -> bool:
        return time.perf_counter() > deadline or should_stop()

    target = integers.ceiling // 2 if incumbent is None else incumbent
    parts = probe_columns(integers, low, high, target, over)
    probed = len(parts)
    parts = [piece for part in parts for piece in _first_split(integers, part, target)]
    tree = CoverTree(
        integers,
        parts,
        incumbent=incumbent,
        deadline=deadline,
        on_bound=on_bound,
        should_stop=should_stop,
        support=rows,
        effort=effort,
        most_nodes=most_nodes,
    )
    probing = time.perf_counter() - begin
    tree.run(n_jobs)
    leaves = tree.leaves()
    return CoveringBound(
        value=max(part.value for part in leaves),
        leaves=leaves,
        nodes=tree.nodes,
        cuts=len(tree.pool),
        details={
            "probed": probed,
            "probing_seconds": round(probing, 3),
            "leaves": len(leaves),
            "seconds": round(time.perf_counter() - begin, 3),
        },
    )


def _first_split(integers: IntegerProblem, part: Part, target: int) -> list[Part]:
    """Split at the signs of the column with most values: either sign alone satisfies all cuts."""
    undecided = (part.lower <= 0) & (part.upper >= 0) & (part.lower < part.upper)
    levels = np.array([np.unique(column).size for column in integers.units.T])
    k = int(np.argmax(np.where(undecided, levels, 0)))
    if part.value <= target or not undecided.any() or levels[k] <= _MANY:
        return [part]
    return [Part(a, b, part.value) for a, b in sign_parts(part.lower, part.upper, k)]

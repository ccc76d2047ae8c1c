"""The whole of RISKSLIM's search: relaxation, starts, shaking, then proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from netbenefit.estimators.riskslim.lattice_branch import branch, make_node, probe
from netbenefit.estimators.riskslim.lattice_kernels import descend, round_in_turn
from netbenefit.estimators.riskslim.problem import Lattice, Search
from netbenefit.estimators.riskslim.relaxation import relax
from netbenefit.estimators.riskslim.starts import begin, shake
from netbenefit.solvers.base import Progress, Status

__all__ = ["solve_lattice"]

#: Shares of the time limit that shaking and probing may take.
_SHAKE, _PROBE = 0.1, 0.15


def solve_lattice(
    lattice: Lattice,
    *,
    time_limit: float = math.inf,
    max_nodes: float = math.inf,
    seed: int = 0,
    callback: Callable[[Progress], None] | None = None,
) -> tuple[Search, Status]:
    """Minimise; Ctrl-C ends the search with the best so far.

    1. Relax the whole box: a bound, and a first place to round.
    2. Round logistic regressions, polish them by discrete coordinate descent, shake the best.
    3. Probe the ends of each range.
    4. Branch and bound.

    Examples
    --------
    >>> from netbenefit.data.patterns import PatternTable
    >>> table = PatternTable.from_arrays([[0], [1]] * 10, [0, 1] * 8 + [1, 0] * 2)
    >>> lattice = Lattice.of(table, max_points=5, max_intercept=10, penalty=1e-3)
    >>> search, status = solve_lattice(lattice)
    >>> search.best, status
    (array([-1,  2]), 'optimal')
    """
    _compile()
    search = Search(lattice, time_limit, callback)
    status: Status = "finished"
    try:
        # 1.
        nowhere = np.zeros(lattice.low.size)
        search.offer(np.clip(nowhere.astype(np.int64), lattice.low, lattice.high), "no points")
        root = make_node(search, lattice.low, lattice.high, nowhere, cutoff=math.inf)
        search.raise_bound(root.bound, "relaxation")
        # 2.
        begin(search, root.at)
        shake(search, np.random.default_rng(seed), _SHAKE * min(time_limit, 600.0))
        # 3.
        root = probe(search, root, _PROBE * min(time_limit, 600.0))
        search.raise_bound(root.bound, "probing")
        # 4.
        branch(search, root, max_nodes)
    except KeyboardInterrupt:
        status = "interrupted"
    if search.proven:
        status = "optimal"
    elif status == "finished" and search.out_of_time:
        status = "time_limit"
    return search, status


@cache
def _compile() -> None:
    """Compile before the clock starts, once a process; takes no time where that was done before."""
    z, half, box = np.ones((1, 1)), np.full(1, 0.5), np.ones(1, dtype=np.int64)
    price, w = np.zeros(1), np.zeros(1, dtype=np.int64)
    descend(z, half, half, -box, box, price, 0, w)
    round_in_turn(z, half, half, -box, box, price)
    relax(z, half, half, -box, box, price, 0, 1.0, 1e-9, np.zeros(1))

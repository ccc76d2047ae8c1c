"""Combinations of several patterns that given signs cannot keep in order.

A linear program looks for weights α ≥ 0 on patterns u and β ≥ 0 on patterns w, each with sum 1, for
which d = Σ α_u x_u − Σ β_w x_w has d_k ≤ 0 where column k may be positive and d_k ≥ 0 where it may
be negative, and otherwise few entries.  Its floating-point answer only proposes patterns: whole
multipliers are computed anew, and d from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from netbenefit.common import FloatArray, IntArray
from netbenefit.solvers.bounds.multipliers import equal_multipliers
from netbenefit.solvers.bounds.signs import Signs, Words
from netbenefit.solvers.highs import equality_program, solve_again
from netbenefit.solvers.kernels.jit import jit

#: Weights and entries below this are taken for zeros of the program; exact numbers decide later.
_TINY = 1e-7
#: Cost of an entry that is in the set already.
_CHEAP = 1e-4
_TRIES = 3


class Combination(NamedTuple):
    """Whole multipliers of patterns; both sides have the same sum."""

    gain_rows: tuple[int, ...]
    gain_times: tuple[int, ...]
    loss_rows: tuple[int, ...]
    loss_times: tuple[int, ...]


@jit
def _pack(
    start: IntArray,
    rows: IntArray,
    is_gain: NDArray[np.bool_],
    gain: IntArray,
    loss: IntArray,
    first: int,
    most: int,
    log: IntArray,
) -> Any:
    """Pack copies of a combination whose members may be any of rows[start[c] : start[c + 1]].

    Copies are made while every member has a pattern that can pay at threshold ``first``; ``log``
    takes the patterns of each copy.  Returns what all pay, and the number of copies.
    """
    total, copies = np.int64(0), 0
    n_members = is_gain.size
    while total < most and copies < log.shape[0]:
        for c in range(n_members):
            best, left = -1, np.int64(0)
            for j in range(start[c], start[c + 1]):
                has = gain[rows[j], first] if is_gain[c] else loss[rows[j], first]
                if has > left:
                    best, left = rows[j], has
            if best < 0:
                return total, copies
            log[copies, c] = best
        for i in range(gain.shape[1]):
            y = np.int64(1) << np.int64(62)
            for c in range(n_members):
                row = log[copies, c]
                y = min(y, gain[row, i] if is_gain[c] else loss[row, i])
            if y == 0:
                continue
            total += y
            for c in range(n_members):
                row, twice = log[copies, c], False
                for other in range(c):
                    if log[copies, other] == row and is_gain[other] == is_gain[c]:
                        twice = True
                if not twice:  # a pattern pays once for a copy
                    if is_gain[c]:
                        gain[row, i] -= y
                    else:
                        loss[row, i] -= y
        copies += 1
    return total, copies


class Combiner:
    """Looks for combinations; keeps one linear program for all its questions."""

    def __init__(
        self, signs: Signs, gain: IntArray, loss: IntArray, stop: Callable[[], bool]
    ) -> None:
        self.signs, self.gain, self.loss, self.stop = signs, gain, loss, stop
        self.rows_u = np.flatnonzero(gain.any(axis=1))
        self.rows_w = np.flatnonzero(loss.any(axis=1))
        self.programs = 0
        self.allowed = self._flags(signs.allowed)
        self._model = self._build()

    def _flags(self, mask: Words) -> NDArray[np.bool_]:
        out = np.zeros(2 * self.signs.columns.size, dtype=np.bool_)
        out[self.signs.elements(mask)] = True
        return out

    def find(self, chosen: Words, need: int) -> tuple[Words, int, tuple[Combination, ...]] | None:
        """A cut that ``chosen`` misses, with a loss of ``need`` where that can be found."""
        taken, gain, loss = self._flags(chosen), self.gain.copy(), self.loss.copy()
        elements = np.zeros_like(taken)
        found: list[Combination] = []
        total = 0
        pending = set(range(gain.shape[1]))
        while pending and total < need and not self.stop():
            first = max(pending, key=lambda i: (min(gain[:, i].sum(), loss[:, i].sum()), -i))
            best = self._propose(taken, elements, gain[:, first] > 0, loss[:, first] > 0)
            if best is None:
                pending.remove(first)
                continue
            combination, more = best
            elements |= more
            paid, copies = self._copies(combination, elements, gain, loss, first, need - total)
            total += paid
            found += copies
        if not found:
            return None
        return self.signs.mask(np.flatnonzero(elements)), total, tuple(found)

    # -- one combination -------------------------------------------------------------------------

    def _propose(
        self,
        taken: NDArray[np.bool_],
        elements: NDArray[np.bool_],
        can_gain: NDArray[np.bool_],
        can_lose: NDArray[np.bool_],
    ) -> tuple[Combination, NDArray[np.bool_]] | None:
        """A combination that adds few elements; costs of large entries fall from try to try."""
        weight = np.ones(taken.size)
        best: tuple[Combination, NDArray[np.bool_]] | None = None
        for _ in range(_TRIES):
            answer = self._solve(
                np.where(elements, _CHEAP, 1.0) * weight * self.allowed, taken, can_gain, can_lose
            )
            if answer is None:
                break
            alpha, beta, entries = answer
            exact = self._exact(alpha, beta, entries)
            if exact is not None and not (exact[1] & taken).any():
                if best is None or (exact[1] & ~elements).sum() < (best[1] & ~elements).sum():
                    best = exact
                if not (exact[1] & ~elements).any():
                    break
            weight = 1 / (np.concatenate([entries, -entries]).clip(0) + 0.02)
            weight /= weight.max()
        return best

    def _exact(
        self, alpha: FloatArray, beta: FloatArray, entries: FloatArray
    ) -> tuple[Combination, NDArray[np.bool_]] | None:
        """Whole multipliers that make the small entries vanish, and the elements of the others."""
        u, w = np.flatnonzero(alpha > _TINY), np.flatnonzero(beta > _TINY)
        if u.size == 0 or w.size == 0:
            return None
        units_u, units_w = self.signs.units[self.rows_u[u]], self.signs.units[self.rows_w[w]]
        small = np.abs(entries) <= _TINY
        weights = np.concatenate([alpha[u], beta[w]])
        times = equal_multipliers(units_u[:, small], units_w[:, small], weights)
        if times is None:
            return None
        d = np.array(times, dtype=object) @ np.vstack([units_u, -units_w]).astype(object)
        more = np.array([v > 0 for v in d] + [v < 0 for v in d], dtype=np.bool_) & self.allowed
        combination = Combination(
            tuple(self.rows_u[u].tolist()),
            tuple(times[: u.size]),
            tuple(self.rows_w[w].tolist()),
            tuple(times[u.size :]),
        )
        return combination, more

    # -- copies of it ----------------------------------------------------------------------------

    def _copies(
        self,
        combination: Combination,
        elements: NDArray[np.bool_],
        gain: IntArray,
        loss: IntArray,
        first: int,
        most: int,
    ) -> tuple[int, list[Combination]]:
        """Pack a combination and what it becomes when members give way to patterns like them.

        A pattern may take the place of another if that moves d only where it does not matter.
        """
        size = self.signs.columns.size
        free = elements | ~self.allowed
        up, down = free[:size], free[size:]
        lists = []
        for rows, side, is_up, is_down in (
            (combination.gain_rows, gain, up, down),
            (combination.loss_rows, loss, down, up),
        ):
            able = np.flatnonzero(side[:, first] > 0)
            ranks = self.signs.ranks[able]
            for row in rows:
                own = self.signs.ranks[row]
                alike = ((ranks <= own) | is_up) & ((ranks >= own) | is_down)
                lists.append(able[alike.all(axis=1)])
        start = np.concatenate([[0], np.cumsum([part.size for part in lists])])
        n_gain = len(combination.gain_rows)
        is_gain = np.arange(len(lists)) < n_gain
        log = np.zeros((gain.shape[0] * gain.shape[1], len(lists)), dtype=np.int64)
        paid, copies = _pack(start, np.concatenate(lists), is_gain, gain, loss, first, most, log)
        return int(paid), [
            combination._replace(
                gain_rows=tuple(row[:n_gain].tolist()), loss_rows=tuple(row[n_gain:].tolist())
            )
            for row in log[:copies]
        ]

    # -- the linear program ----------------------------------------------------------------------

    def _build(self) -> Any:
        """Σ α x_u − Σ β x_w − d⁺ + d⁻ = 0, Σ α = Σ β = 1, columns scaled to spread 1."""
        units, size = self.signs.units, self.signs.columns.size
        low = units.min(axis=0)
        scaled = (units - low) / (units.max(axis=0) - low)
        n_u, n_w = self.rows_u.size, self.rows_w.size
        one = sparse.identity(size)
        ones_u, ones_w = np.ones((1, n_u)), np.ones((1, n_w))
        matrix = sparse.bmat(
            [
                [
                    sparse.csr_matrix(scaled[self.rows_u].T),
                    sparse.csr_matrix(-scaled[self.rows_w].T),
                    -one,
                    one,
                ],
                [ones_u, None, None, None],
                [None, ones_w, None, None],
            ],
            format="csc",
        )
        sides = np.concatenate([np.zeros(size), [1.0, 1.0]])
        # Primal simplex: costs change, the matrix does not.
        return equality_program(
            matrix, sides, simplex_strategy=4, primal_feasibility_tolerance=1e-9
        )

    def _solve(
        self,
        cost: FloatArray,
        taken: NDArray[np.bool_],
        can_gain: NDArray[np.bool_],
        can_lose: NDArray[np.bool_],
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """α, β and d of the best combination; None where there is none."""
        self.programs += 1
        n_u, size = self.rows_u.size, taken.size // 2
        n_rows = n_u + self.rows_w.size
        upper = np.full(n_rows + 2 * size, highspy.kHighsInf)
        upper[:n_u][~can_gain[self.rows_u]] = 0
        upper[n_u:n_rows][~can_lose[self.rows_w]] = 0
        upper[n_rows:][taken] = 0
        values = solve_again(self._model, cost, upper)
        if values is None:
            return None
        entries = values[n_rows : n_rows + size] - values[n_rows + size :]
        return values[:n_u], values[n_u:n_rows], entries

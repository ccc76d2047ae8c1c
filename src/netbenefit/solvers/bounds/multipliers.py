"""Whole multipliers of a convex combination, found from floating-point ones and then proven.

A pricing program returns weights of patterns in floating point.  A cut needs whole multipliers for
which chosen columns cancel *exactly*.  They solve a small homogeneous system, which is reduced
modulo several primes; the rational solution is put together from the residues and tested in
integers, so a bad guess is dropped and never believed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import IntArray
from netbenefit.solvers.kernels.jit import jit

#: The largest primes below 2³¹, so that products fit in 64 bits.
_PRIMES = (
    *(2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543),
    *(2147483497, 2147483489, 2147483477, 2147483423, 2147483399, 2147483353, 2147483323),
    *(2147483269, 2147483249),
)
#: How many primes are used, one attempt after the other.
_ATTEMPTS = (4, 16)
_FREE_GRID = 64


@jit
def _reduce(matrix: IntArray, order: IntArray, prime: int) -> tuple[IntArray, IntArray]:
    """Bring ``matrix`` (changed in place) to reduced echelon form modulo a prime.

    Columns are tried in ``order``; the answer holds the pivot column of each row, or −1.
    """
    rows, columns = matrix.shape
    pivots = np.full(rows, -1, dtype=np.int64)
    for r in range(rows):
        for c in range(columns):
            matrix[r, c] %= prime
    rank = 0
    for c in order:
        if rank == rows:
            break
        found = -1
        for r in range(rank, rows):
            if matrix[r, c] != 0:
                found = r
                break
        if found < 0:
            continue
        for j in range(columns):
            matrix[rank, j], matrix[found, j] = matrix[found, j], matrix[rank, j]
        inverse, base, power = 1, matrix[rank, c], prime - 2
        while power > 0:  # Fermat
            if power & 1:
                inverse = inverse * base % prime
            base = base * base % prime
            power >>= 1
        for j in range(columns):
            matrix[rank, j] = matrix[rank, j] * inverse % prime
        for r in range(rows):
            factor = matrix[r, c]
            if r != rank and factor != 0:
                for j in range(columns):
                    matrix[r, j] = (matrix[r, j] - factor * matrix[rank, j]) % prime
        pivots[rank] = c
        rank += 1
    return matrix, pivots


def equal_multipliers(
    units_u: IntArray, units_w: IntArray, weights: NDArray[np.float64]
) -> list[int] | None:
    """Positive whole α, β near ``weights`` with Σ α_u x_u = Σ β_w x_w and Σ α = Σ β."""
    sides = np.repeat(np.array([1, -1]), [len(units_u), len(units_w)])
    matrix = np.concatenate([np.concatenate([units_u, -units_w]).T, sides[None]])
    return null_multipliers(np.ascontiguousarray(matrix), weights)


def null_multipliers(matrix: IntArray, weights: NDArray[np.float64]) -> list[int] | None:
    """Positive whole x with matrix · x = 0, near a multiple of ``weights``; None if not found."""
    order = np.argsort(-weights, kind="stable")
    first, pivots = _reduce(matrix.copy(), order, _PRIMES[0])
    free = sorted(set(range(matrix.shape[1])) - set(pivots.tolist()))
    if not free:
        return None
    chosen = _free_values(weights, free)
    residues = [_residues(first, pivots, free, chosen, _PRIMES[0])]
    for most in _ATTEMPTS:
        for prime in _PRIMES[len(residues) : most]:
            reduced, found = _reduce(matrix.copy(), order, prime)
            if (pivots != found).any():
                return None  # an unlucky prime
            residues.append(_residues(reduced, pivots, free, chosen, prime))
        answer = _lift(matrix, [int(c) for c in pivots if c >= 0], free, chosen, residues)
        if answer is not None:
            return answer if min(answer) > 0 else None
    return None


def _residues(
    reduced: IntArray, pivots: IntArray, free: list[int], chosen: list[int], prime: int
) -> list[int]:
    """Values of the pivot columns, modulo a prime."""
    return [
        -sum(int(reduced[r, c]) * v for c, v in zip(free, chosen, strict=True)) % prime
        for r in range(pivots.size)
        if pivots[r] >= 0
    ]


def _free_values(weights: NDArray[np.float64], free: list[int]) -> list[int]:
    """Whole values of the columns that may be chosen."""
    if len(free) == 1:
        return [1]
    largest = float(weights[free].max())
    return [max(1, round(_FREE_GRID * float(weights[c]) / largest)) for c in free]


def _lift(
    matrix: IntArray, pivots: list[int], free: list[int], chosen: list[int], parts: list[list[int]]
) -> list[int] | None:
    """Put residues together, clear denominators, and test the answer in integers."""
    modulus = math.prod(_PRIMES[: len(parts)])
    common = 1
    whole: list[int] = []
    for place in range(len(pivots)):
        residue = _join([part[place] for part in parts])
        found = _fraction(residue * common % modulus, modulus)
        if found is None:
            return None
        top, bottom = found
        if bottom > 1:
            common *= bottom
            whole = [v * bottom for v in whole]
        whole.append(top)
    answer = [0] * matrix.shape[1]
    for c, v in zip(pivots, whole, strict=True):
        answer[c] = v
    for c, v in zip(free, chosen, strict=True):
        answer[c] = v * common
    divisor = math.gcd(*answer)
    answer = [v // divisor for v in answer]
    if any(sum(a * v for a, v in zip(row, answer, strict=True)) for row in matrix.tolist()):
        return None
    return answer


def _join(residues: list[int]) -> int:
    """The number modulo the product of the primes (Garner's way)."""
    value, modulus = residues[0], _PRIMES[0]
    for residue, prime in zip(residues[1:], _PRIMES[1:], strict=False):
        step = (residue - value) * pow(modulus, -1, prime) % prime
        value += modulus * step
        modulus *= prime
    return value


def _fraction(residue: int, modulus: int) -> tuple[int, int] | None:
    """The fraction with small numerator and denominator that has this residue."""
    most = math.isqrt(modulus // 2)
    above, below = (modulus, 0), (residue, 1)
    while below[0] > most:
        quotient = above[0] // below[0]
        above, below = (
            below,
            (above[0] - quotient * below[0], above[1] - quotient * below[1]),
        )
    top, bottom = below
    if bottom == 0 or abs(bottom) > most:
        return None
    return (top, bottom) if bottom > 0 else (-top, -bottom)

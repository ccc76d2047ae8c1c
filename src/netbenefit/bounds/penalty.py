"""Penalty bound: what features cost at least, and how many of them can pay off."""

from __future__ import annotations

from netbenefit._validation import IntArray
from netbenefit.bounds.pieces import Pieces

__all__ = ["most_features", "paid_price"]


def most_features(pieces: Pieces, incumbent: int, ceiling: int | None = None) -> int:
    """Largest number of features that a card worth more than ``incumbent`` can have.

    Parameters
    ----------
    pieces : Pieces
    incumbent : int
    ceiling : int, optional
        A bound of the gain of every card, its price left out; by default that of right calls for
        every pattern.

    Returns
    -------
    int
        −1 where no card can be worth more; the number of columns where features are free.

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.problem import Problem
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 1], [1, 1], [1, 0]], [0, 1, 1])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5]), penalty=0.1))
    >>> pieces.ceiling, pieces.price, [most_features(pieces, v) for v in (13, 14, 16, 17, 20)]
    (20, 3, [2, 1, 1, 0, -1])
    """
    room = (pieces.ceiling if ceiling is None else ceiling) - incumbent - 1
    if room < 0:
        return -1
    usable = int(((pieces.lower != 0) | (pieces.upper != 0)).sum())
    return usable if pieces.price == 0 else min(usable, room // pieces.price)


def paid_price(pieces: Pieces, lower: IntArray, upper: IntArray) -> int:
    """Price that every card of a box pays, for columns whose points exclude 0.

    Examples
    --------
    >>> from netbenefit.patterns import PatternTable
    >>> from netbenefit.problem import Problem
    >>> from netbenefit.thresholds import Thresholds
    >>> table = PatternTable.from_arrays([[0, 1], [1, 1], [1, 0]], [0, 1, 1])
    >>> pieces = Pieces.of(Problem.build(table, Thresholds.of([0.5]), penalty=0.1))
    >>> import numpy as np
    >>> paid_price(pieces, np.array([1, -1]), np.array([3, 1]))
    3
    """
    return pieces.price * int(((lower > 0) | (upper < 0)).sum())

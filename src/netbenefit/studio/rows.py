"""Rows on which a card is judged while it is edited: their outcomes, and the codes of conditions.

Codes are computed when a condition first has points, and kept, so that an edit costs a few sums of
small arrays, whatever the table's width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.binning import FittedBins
from netbenefit.cards import Column, ColumnLogic, Term
from netbenefit.common import FloatArray, IntArray, check_weights
from netbenefit.data import LazyColumns, RawTable
from netbenefit.problem import floor_scores


class RowSet:
    """Raw rows, read by the conditions of a binner."""

    def __init__(
        self,
        X: Any,
        event: NDArray[np.bool_],
        sample_weight: ArrayLike | None,
        bins: FittedBins,
        risk: FloatArray | None = None,
    ) -> None:
        self.table = X if isinstance(X, RawTable) else RawTable(X, bins.columns)
        self.event = event
        self.weight = check_weights(sample_weight, event.size)
        self.risk = risk  #: the teacher's, where it is known
        self._bins = bins
        self._columns: dict[str, tuple[ColumnLogic, Column]] = {}
        self._codes: dict[Term, NDArray[Any]] = {}

    def __len__(self) -> int:
        return int(self.event.size)

    def column(self, term: Term) -> Column:
        """Read the raw (or combined) column of a condition, as a card reads it."""
        name = term.feature
        if name not in self._columns:
            own = replace(self._bins, terms=(term,), names=(name,))
            (read,) = own.logic.read(LazyColumns(self.table), len(self))
            self._columns[name] = read
        return self._columns[name][1]

    def codes(self, term: Term) -> NDArray[Any]:
        """Return the codes of one condition: (n_rows,)."""
        if term not in self._codes:
            codes = term.column_codes(self.column(term))
            self._codes[term] = codes.astype(np.int8) if codes.dtype == np.bool_ else codes
        return self._codes[term]

    def scores(self, terms: Sequence[Term], points: Sequence[int]) -> IntArray:
        """Floor of the score of each row: (n_rows,), counted as solvers do."""
        used = [(term, p) for term, p in zip(terms, points, strict=True) if p]
        if not used:
            return np.zeros(len(self), dtype=np.int64)
        codes = np.column_stack([self.codes(term) for term, _ in used]).astype(np.int64)
        vector = np.array([p for _, p in used], dtype=np.int64)
        return floor_scores(codes, [term.decimals for term, _ in used], vector)

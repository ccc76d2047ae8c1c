"""Fingerprints: of a pattern table, and of what a certificate says.

They are checksums, not signatures: who changes a file can compute them anew.  What then still fails
is the arithmetic, which :mod:`netbenefit.certificates.verify` does again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from netbenefit.common.checks import IntArray
from netbenefit.data.patterns import PatternTable

__all__ = ["canonical", "json_digest", "pattern_order", "table_digest"]


def canonical(data: Any) -> bytes:
    """JSON with sorted keys, no spaces, in UTF-8: one text for one meaning.

    >>> canonical({"b": [1, "½"], "a": None}).decode()
    '{"a":null,"b":[1,"½"]}'
    """
    text = json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def json_digest(data: Any) -> str:
    """SHA-256 of :func:`canonical`, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()


def pattern_order(table: PatternTable) -> IntArray:
    """Patterns in lexicographic order of their codes.

    >>> table = PatternTable.from_arrays([[1, 0], [0, 1], [0, 0]], [0, 1, 1])
    >>> table.codes[pattern_order(table)].tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    order: IntArray = np.lexsort(table.codes.T[::-1])
    return order


def table_digest(table: PatternTable) -> str:
    """SHA-256 of the distinct rows and their outcomes, whatever the order and format of the file.

    Hashed are, one after the other,

    1. the canonical JSON of ``{"columns": P, "decimals": […], "masses": "int64" or "float64",
       "names": […], "patterns": n}`` and a line feed,
    2. the codes, n rows of P little-endian int64, rows in lexicographic order,
    3. the n numbers of rows with the event in that order, then of those without, little-endian, as
       int64 or (where some weight is not whole) float64.

    Real weights of equal rows are added in the order of the file, so that with them another order
    can give another last digit, and so another digest.

    >>> one = PatternTable.from_arrays([[0, 1], [1, 1], [0, 1]], [0, 1, 1])
    >>> two = PatternTable.from_arrays([[1.0, 1], [0, 1], [0, 1]], [1, 1, 0])
    >>> table_digest(one) == table_digest(two)
    True
    """
    kind = "int64" if table.is_whole else "float64"
    header = {
        "columns": table.n_features,
        "decimals": list(table.decimals),
        "masses": kind,
        "names": list(table.names),
        "patterns": len(table),
    }
    order = pattern_order(table)
    small = np.dtype(kind).newbyteorder("<")
    digest = hashlib.sha256(canonical(header) + b"\n")
    digest.update(np.ascontiguousarray(table.codes[order], dtype="<i8").tobytes())
    for rows in (table.events, table.others):
        digest.update(rows[order].astype(small).tobytes())
    return digest.hexdigest()

"""Sets as bits of 64-bit words, inside compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["ONE", "WORD", "ZERO", "count_bits", "lowest_bit"]

#: Bits in a word.
WORD = 64
ZERO, ONE = np.uint64(0), np.uint64(1)  # numba makes floats of int64 with uint64: stay unsigned


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """Place of the lowest bit that is set; the word must not be 0."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.true_bit)

    return types.int64(types.uint64), code


def _count_bits(typing_context: Any, word: Any) -> Any:
    """How many bits are set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), code


# numba passes the typing context by itself, which its annotations do not tell.
lowest_bit: Any = intrinsic(_lowest_bit)
count_bits: Any = intrinsic(_count_bits)

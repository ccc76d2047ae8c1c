"""One way to compile: plain functions on arrays, cached on disk, free of the interpreter lock.

numba renews its cache when the file of a cached function changes, not when that of a function which
it calls does.  An installation renews all files at once; after an edit of the kernels, clear the
``__pycache__`` folders (``make clean``), as the tests do for themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

# -- sets as bits of 64-bit words, inside compiled code --------------------------------------------


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


# numba passes the typing context by itself, which its annotations leave out.
lowest_bit: Any = intrinsic(_lowest_bit)
count_bits: Any = intrinsic(_count_bits)


F = TypeVar("F", bound=Callable[..., object])

_ENTRY: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
_INTERNAL: dict[str, Any] = {
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def jit(function: F) -> F:
    """Compile ``function`` on first use for the types it meets; threads may run it together."""
    return cast(F, numba.njit(**_ENTRY)(function))


def internal(function: F) -> F:
    """Compile ``function`` for other compiled functions only: no way in from Python, no cache.

    Ways in take more time to compile than many a kernel.
    """
    return cast(F, numba.njit(**_INTERNAL)(function))


def inlined(function: F) -> F:
    """Compile ``function`` as part of each caller, which suits a large one with a single caller.

    Otherwise it would be optimised once by itself and again inside the caller.
    """
    return cast(F, numba.njit(inline="always", **_ENTRY)(function))


# A mass holds the positives and the negatives of some rows in one number, so that one addition
# counts both: an int64 with positives in the upper half for counts, a complex number for real
# weights.


def positives(mass: Any) -> Any:
    """Positives of a mass, inside compiled code."""
    raise TypeError("positives() works in compiled code only")  # replaced by the overload below


def negatives(mass: Any) -> Any:
    """Negatives of a mass, inside compiled code."""
    raise TypeError("negatives() works in compiled code only")


def _upper_half(mass):  # type: ignore[no-untyped-def]
    return mass >> 32


def _lower_half(mass):  # type: ignore[no-untyped-def]
    return mass & 0xFFFFFFFF


def _real(mass):  # type: ignore[no-untyped-def]
    return mass.real


def _imag(mass):  # type: ignore[no-untyped-def]
    return mass.imag


# numba compares argument names and annotations of both functions: hence none here.


def _choose_positives(mass):  # type: ignore[no-untyped-def]
    return _upper_half if isinstance(mass, types.Integer) else _real


def _choose_negatives(mass):  # type: ignore[no-untyped-def]
    return _lower_half if isinstance(mass, types.Integer) else _imag


overload(positives)(_choose_positives)
overload(negatives)(_choose_negatives)

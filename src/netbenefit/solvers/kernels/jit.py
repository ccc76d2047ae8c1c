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
from numba.core import cgutils, event
from numba.extending import intrinsic, overload

from netbenefit.solvers.clock import compiling

#: Bits in a word; sets are bits of such words, inside compiled code.
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


class _Calls(event.Listener):
    """Reports to the clock when the compiler begins and ends."""

    def on_start(self, event: Any) -> None:
        compiling.begin()

    def on_end(self, event: Any) -> None:
        compiling.end()


class _Misses(event.Listener):
    """Reports what was not found on disk."""

    def on_start(self, event: Any) -> None:
        compiling.announce()

    def on_end(self, event: Any) -> None:
        pass


_register: Any = event.register  # numba has no types
_register("numba:compiler_lock", _Calls())
_register("numba:compile", _Misses())


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


#: For functions that make no arrays: without code that counts references, a tenth less to compile.
_LEAN: dict[str, Any] = {"_nrt": False}


def jit(function: F) -> F:
    """Compile ``function`` on first use for the types it meets; threads may run it together."""
    return cast(F, numba.njit(**_ENTRY)(function))


def internal(function: F) -> F:
    """Compile ``function`` for other compiled functions only, not callable from Python, not cached.

    An entry from Python takes longer to compile than many kernels.
    """
    return cast(F, numba.njit(**_INTERNAL)(function))


def lean(function: F) -> F:
    """Compile as :func:`jit` does; ``function``, and what it calls, must make no array."""
    return cast(F, numba.njit(**_ENTRY, **_LEAN)(function))


def lean_internal(function: F) -> F:
    """Compile as :func:`internal` does; ``function`` must make no array."""
    return cast(F, numba.njit(**_INTERNAL, **_LEAN)(function))


def inlined(function: F) -> F:
    """Compile ``function`` as part of its caller, so that a large one is not optimised twice."""
    return cast(F, numba.njit(inline="always", **_ENTRY, **_LEAN)(function))


# A mass holds the positives and the negatives of some rows in one number, so that one addition
# counts both: an int64 with positives in the upper half for counts, a complex number for real
# weights.


def positives(mass: Any) -> Any:
    """Positives of a mass, inside compiled code."""
    raise TypeError("positives() works in compiled code only")  # replaced by the overload below


def negatives(mass: Any) -> Any:
    """Negatives of a mass, inside compiled code."""
    raise TypeError("negatives() works in compiled code only")


# numba compares argument names and annotations of both functions: hence none here.


def _choose_positives(mass):  # type: ignore[no-untyped-def]
    if isinstance(mass, types.Integer):
        return lambda mass: mass >> 32
    return lambda mass: mass.real


def _choose_negatives(mass):  # type: ignore[no-untyped-def]
    if isinstance(mass, types.Integer):
        return lambda mass: mass & 0xFFFFFFFF
    return lambda mass: mass.imag


overload(positives)(_choose_positives)
overload(negatives)(_choose_negatives)

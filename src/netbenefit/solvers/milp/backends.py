"""Mixed-integer solvers behind one interface; each is imported when it is asked for."""

from __future__ import annotations

from netbenefit.common.checks import InputError
from netbenefit.solvers.milp.base import Answer, Backend, News

__all__ = ["BACKENDS", "Answer", "Backend", "News", "find_backend"]

#: Names that :func:`find_backend` knows.
BACKENDS = ("highs", "gurobi")


def find_backend(name: str) -> Backend:
    """Return a backend by name, or say what is missing.

    Examples
    --------
    >>> find_backend("highs").name
    'HiGHS'
    """
    backend: Backend
    if name == "highs":
        from netbenefit.solvers.milp.highs import HighsBackend

        backend = HighsBackend()
    elif name == "gurobi":
        from netbenefit.solvers.milp.gurobi import GurobiBackend

        backend = GurobiBackend()
    else:
        known = ", ".join(repr(known) for known in BACKENDS)
        raise InputError(f"backend={name!r} is not known. Use one of {known}.")
    backend.require()
    return backend

"""What a mixed-integer solver has to offer."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from netbenefit.common.checks import FloatArray, InputError, IntArray
from netbenefit.solvers.milp.model import MilpModel

__all__ = ["Backend", "BackendAnswer", "End", "News", "Order"]

#: How a solver ended; "failed" is anything that is not one of the others.
End = Literal["optimal", "infeasible", "time_limit", "interrupted", "failed"]


class News(NamedTuple):
    """What a solver reports while it runs; None where there is nothing new.

    ``points`` are the values of the points block, ``claimed`` is what the solver takes their
    objective to be, ``bound`` is what no solution exceeds, as far as the solver knows.
    """

    points: FloatArray | None = None
    claimed: float | None = None
    bound: float | None = None


class BackendAnswer(NamedTuple):
    """What a solver says at the end; the same fields as :class:`News`."""

    end: End
    points: FloatArray | None = None
    claimed: float | None = None
    bound: float | None = None
    details: str = ""


def _say_nothing(news: News) -> None:
    """Ignore news."""


def _never() -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Order:
    """How a model is to be solved."""

    time_limit: float = float("inf")  #: seconds; may be infinite
    warm_start: IntArray | None = None  #: (variables,) a feasible solution
    #: called from whatever thread the solver uses; must not raise
    on_news: Callable[[News], None] = _say_nothing
    should_stop: Callable[[], bool] = _never  #: called often; True ends the search
    n_jobs: int = 1
    seed: int = 0


class Backend(ABC):
    """A mixed-integer solver; its package is imported by :meth:`require`, not before."""

    name: ClassVar[str]  #: as people write it
    package: ClassVar[str]  #: what to import
    install: ClassVar[str]  #: what pip should install

    def require(self) -> Any:
        """Import the solver's package, or say how to get it."""
        try:
            return importlib.import_module(self.package)
        except ImportError as error:
            raise InputError(
                f"the {self.name} backend needs the package {self.package!r}, which cannot be "
                f'imported ({error}). Install it with pip install "{self.install}", or '
                'use backend="highs".'
            ) from error

    @abstractmethod
    def solve(self, model: MilpModel, order: Order) -> BackendAnswer:
        """Maximise; with tolerances of ``TOLERANCE`` and no gap below one unit of the objective."""

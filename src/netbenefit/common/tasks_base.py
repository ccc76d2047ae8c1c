"""What the ways to run tasks share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["Lost", "Numbered", "Pass", "attempt"]


class Lost(NamedTuple):
    """What a pass hands over instead of the result of a task that died with its worker."""

    why: str
    times: int = 1  #: that a worker died over it


#: The number of a task among all, and the task.
Numbered = tuple[int, Any]


class Pass(Protocol):
    """One way to run tasks: each comes back once, in whatever order, as a result or as lost.

    Tasks that were not begun when a worker died may be left out.
    """

    def __call__(self, tasks: Sequence[Numbered]) -> Generator[tuple[int, Any]]:
        """Run tasks; yield their numbers, and what became of them."""


def attempt(function: Callable[[Any], Any], place: int, task: Any) -> tuple[int, Any]:
    """One task's number, and its result or error.

    >>> attempt(abs, 3, -7)
    (3, 7)
    """
    try:
        return place, function(task)
    except Exception as error:
        return place, error

"""Progress that people see: one live line on a terminal, nothing elsewhere."""

from __future__ import annotations

import logging
import math
import sys
from fractions import Fraction
from types import TracebackType

from rich.console import Console
from rich.status import Status

from netbenefit.cards.scorecard import Provenance
from netbenefit.cards.text import share_text
from netbenefit.problem.result import Progress, SolverResult

__all__ = ["LiveLine", "conclude", "describe"]

logger = logging.getLogger(__name__)


def describe(progress: Progress) -> str:
    """One line: incumbent, size, bound and gap where known, elapsed, evaluations."""
    parts = [f"objective {progress.objective:.6f}", f"size {progress.size}"]
    if progress.bound is not None and progress.gap is not None:
        parts += [f"bound {progress.bound:.6f}", f"gap {progress.gap:.1%}"]
    parts += [f"{progress.seconds:.1f} s", f"{progress.evaluations:,} cards tried"]
    return " · ".join(parts)


def conclude(result: SolverResult, origin: Provenance | None = None) -> str:
    """One honest sentence about how far from the best possible card a card is.

    Where the card's ``origin`` names a teacher, it says how much of the teacher's net benefit the
    card keeps, and how much any other card could.
    """
    if origin is not None and origin.updated is not None and origin.objective is None:
        return "The points were searched on a sample of the rows: nothing is proven about all rows."
    if origin is not None and origin.share_kept is not None:
        return _share(result, origin.share_kept, origin.share_bound)
    proof = result.proof
    if result.status == "optimal":
        solver = proof.method if proof is not None and proof.rounded else ""
        trust = f" (as far as {solver} can be trusted)" if solver else ""
        return f"Proven optimal{trust}: no card within these limits has a higher objective."
    if proof is None:
        return "Nothing is proven: better cards may exist (solvers auto and exact give a bound)."
    bound = f"no card within these limits has an objective above {_up(proof.bound, 6)}"
    if not result.objective > 0:
        return f"Not proven optimal: {bound}."
    gap = proof.bound / Fraction(result.objective) - 1
    return f"Within {_up(100 * gap, 1)}% of the best possible card: {bound}."


def _share(result: SolverResult, kept: float, most: float | None) -> str:
    rules = f"{result.size} rule{'s' * (result.size != 1)}"
    own = f"This card of {rules} keeps {share_text(kept)} of the net benefit of the model behind it"
    if most is None or (most >= 1.0 and most > kept):
        return f"{own}; whether another card of at most {rules} could keep more is not known."
    exact = result.status == "optimal" and not (result.proof is not None and result.proof.rounded)
    if exact:
        return f"{own}, and no card of at most {rules} can keep more: this is proven."
    most_text = _up(Fraction(100) * Fraction(most), 1)
    return f"{own}; no card of at most {rules} can keep more than {most_text}%."


def _up(value: Fraction, digits: int) -> str:
    """A number for people, rounded up: what it says must stay true."""
    scale = 10**digits
    return f"{math.ceil(value * scale) / scale:.{digits}f}"


class LiveLine:
    """A context manager whose calls update one line on the terminal; quiet where there is none."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._status: Status | None = None

    def __enter__(self) -> LiveLine:
        if self._console.is_terminal:
            # The first call on a machine compiles for some seconds; later ones load from disk.
            self._status = self._console.status("preparing (the first run compiles its kernels)")
            self._status.start()
        return self

    def __call__(self, progress: Progress) -> None:
        """Show where the solver stands."""
        text = describe(progress)
        logger.info(text)
        if self._status is not None:
            self._status.update(text)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()
            sys.stderr.flush()

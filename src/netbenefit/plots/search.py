"""How a search went over time, and net benefit against the number of questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import percent, share_text
from netbenefit.common import FloatArray, InputError, IntArray
from netbenefit.plots.base import BLUE, GREY, INK, ORANGE, PALE_BLUE, Display, draw_key, tidy

if TYPE_CHECKING:
    from netbenefit.problem import SolverResult

# -- how a search went: the best card so far, and the bound that closes in on it -------------------


#: Time is drawn on a logarithmic axis where the last event came this many times later than the
#: first.
_LONG = 50.0
#: Where the first card came at once, time starts here on a logarithmic axis.
_EARLIEST = 1e-3


class TraceDisplay(Display):
    """Objective of the best card so far and, where there is one, its bound, over time.

    Parameters
    ----------
    result : SolverResult
        Such as ``estimator.result_``.

    Attributes
    ----------
    line_ : matplotlib line
        Objective of the best card so far.
    bound_line_ : matplotlib line or None
        What no card can exceed; None where nothing is proven.
    conclusion_ : str
        The final gap, in words.

    Examples
    --------
    >>> from netbenefit import RSSDNBClassifier
    >>> model = RSSDNBClassifier(solver="exact").fit([[0], [1], [1], [0]], [0, 1, 1, 0])
    >>> TraceDisplay.from_estimator(model).conclusion_
    'proven optimal'
    """

    def __init__(self, result: SolverResult) -> None:
        if not hasattr(result, "trace"):
            raise InputError(
                f"{type(result).__name__} has no trace. Pass a SolverResult, such as the result_ "
                "of a fitted estimator."
            )
        self.result = result

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw how the search of a fitted estimator went.

        Parameters
        ----------
        estimator : fitted estimator with a ``result_``
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        if not hasattr(estimator, "result_"):
            raise InputError(
                f"{type(estimator).__name__} has no result_. Call fit first; a card that was "
                "loaded from a file does not tell how it was found."
            )
        return cls(estimator.result_).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        seconds, objective, bound = self._steps()
        log = bool(seconds[-1] > _LONG * max(float(seconds[0]), _EARLIEST))
        if log:
            ax.set_xscale("log")
            seconds = np.maximum(seconds, _EARLIEST)
        (self.line_,) = ax.plot(
            seconds,
            objective,
            drawstyle="steps-post",
            color=BLUE,
            linewidth=1.8,
            marker="o",
            markevery=[-1],
            zorder=4,
        )
        entries = [(self.line_, "best card so far")]
        self.bound_line_ = None
        if np.isfinite(bound).any():
            entries += self._draw_bound(ax, seconds, objective, bound)
        self.conclusion_ = self._conclusion()
        ax.set_title(self.conclusion_, fontsize="medium", loc="right", color=INK)
        self._frame(ax, objective, bound, log)
        draw_key(ax, entries)

    def _draw_bound(
        self, ax: Any, seconds: FloatArray, objective: FloatArray, bound: FloatArray
    ) -> list[tuple[Any, str]]:
        (self.bound_line_,) = ax.plot(
            seconds,
            bound,
            drawstyle="steps-post",
            color=ORANGE,
            linewidth=1.6,
            linestyle=(0, (5, 2)),
            marker="v",
            markevery=[-1],
            zorder=4,
        )
        # The last step may be the first with a bound: it has no length to be seen by.
        ends = [seconds[-1]] * 2, [objective[-1], bound[-1]]
        ax.plot(*ends, color=GREY, linewidth=1.0, linestyle=":", zorder=3)
        gap = ax.fill_between(
            seconds, objective, bound, step="post", color="#E6E6E6", linewidth=0, zorder=1
        )
        return [(self.bound_line_, "bound: no card can exceed it"), (gap, "gap")]

    def _steps(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Times, objectives and bounds (NaN for none); the last row is the result itself."""
        result = self.result
        rows = [(row.seconds, row.objective, row.bound) for row in result.trace]
        rows.append((result.seconds, result.objective, result.bound))
        seconds, objective, bound = zip(*rows, strict=True)
        known = [np.nan if value is None else value for value in bound]
        # Parts of a search have clocks of their own; time must not run backwards in a picture.
        return np.maximum.accumulate(seconds), np.array(objective), np.array(known, dtype=float)

    def _conclusion(self) -> str:
        gap = self.result.gap
        if gap is None:
            return "no bound: nothing is proven"
        if gap == 0:
            return "proven optimal"
        return f"final gap {percent(gap)}" if np.isfinite(gap) else "final gap: not defined at 0"

    def _frame(self, ax: Any, objective: FloatArray, bound: FloatArray, log: bool) -> None:
        ax.set_xlabel("Seconds" + " (logarithmic)" * log)
        ax.set_ylabel("Objective")
        if log:
            ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        tidy(ax)
        # A first bound far away would leave no room for what matters: the end.
        low, high = float(objective[0]), float(objective[-1])
        tops = bound[np.isfinite(bound)]
        if tops.size:
            high = max(float(tops[-1]), high)
            near = tops[tops <= high + 2 * (high - low) + abs(high)]
            high = max(high, float(near.max()) if near.size else high)
        room = 0.06 * (high - low) or 0.05 * abs(high) or 0.01
        ax.set_ylim(low - room, high + room)


#: Up to this many sizes, each has its tick.
_MANY_SIZES = 20


class SizePathDisplay(Display):
    """Net benefit against the number of questions, on held-out rows and in training.

    Make it with :meth:`from_size_path`, or from numbers.

    Parameters
    ----------
    sizes : (K,) int
    held_out, held_out_se : (K,) float
        Mean net benefit on held-out rows, and its standard error.
    training : (K,) float
        Net benefit on the training rows.
    best, suggested : int
        Sizes to mark.
    n_folds : int
        Over which the standard error was taken.
    kept : (K,) float, optional
        Share of the teacher's net benefit that each card keeps in training, written below its size.

    Attributes
    ----------
    errorbar_ : matplotlib container
        Held-out net benefit with its error bars.
    line_ : matplotlib line
        Training net benefit.

    Examples
    --------
    >>> display = SizePathDisplay(
    ...     [1, 2], [0.1, 0.2], [0.01, 0.01], [0.11, 0.22], best=2, suggested=2, n_folds=5
    ... ).plot()
    >>> display.ax_.get_xlabel()
    'questions on the card'
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 4.0)

    def __init__(
        self,
        sizes: ArrayLike,
        held_out: ArrayLike,
        held_out_se: ArrayLike,
        training: ArrayLike,
        *,
        best: int,
        suggested: int,
        n_folds: int,
        kept: ArrayLike | None = None,
    ) -> None:
        self.sizes: IntArray = np.asarray(sizes, dtype=np.int64)
        self.held_out: FloatArray = np.asarray(held_out, dtype=np.float64)
        self.held_out_se: FloatArray = np.asarray(held_out_se, dtype=np.float64)
        self.training: FloatArray = np.asarray(training, dtype=np.float64)
        self.best, self.suggested, self.n_folds = best, suggested, n_folds
        self.kept = None if kept is None else np.asarray(kept, dtype=np.float64)

    @classmethod
    def from_size_path(cls, path: Any, ax: Any = None) -> Self:
        """Draw a :class:`netbenefit.SizePath`; ``ax`` is as in :meth:`plot`."""
        return cls.of_path(path).plot(ax=ax)

    @classmethod
    def of_path(cls, path: Any) -> Self:
        """Take the numbers of a :class:`netbenefit.SizePath`, without drawing them."""
        return cls(
            path.sizes,
            path.held_out,
            path.held_out_se,
            path.training_net_benefit,
            best=path.best,
            suggested=path.suggested,
            n_folds=len(path.fold_net_benefit),
            kept=path.kept,
        )

    def _draw(self, ax: Any) -> None:
        (self.line_,) = ax.plot(
            self.sizes,
            self.training,
            color=GREY,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            label="training rows, for comparison",
            zorder=2,
        )
        self.errorbar_ = ax.errorbar(
            self.sizes,
            self.held_out,
            yerr=self.held_out_se,
            color=BLUE,
            ecolor=PALE_BLUE,
            linewidth=1.8,
            marker="o",
            markersize=5,
            elinewidth=1.2,
            capsize=3,
            label=f"held-out rows, ± one standard error over {self.n_folds} folds",
            zorder=3,
        )
        self._frame(ax, self._mark(ax))

    def _mark(self, ax: Any) -> list[Any]:
        """Rings of different shapes around the two sizes that are named."""
        same = self.best == self.suggested
        marks = [
            (self.best, "D", ORANGE, "best" + " and suggested" * same),
            (self.suggested, "s", "black", "suggested: the smallest about as good"),
        ]
        drawn = []
        for size, shape, colour, label in marks[: 1 if same else 2]:
            (at,) = np.flatnonzero(self.sizes == size)
            drawn += ax.plot(
                [size],
                [self.held_out[at]],
                marker=shape,
                markersize=12,
                markerfacecolor="none",
                markeredgecolor=colour,
                markeredgewidth=1.8,
                linestyle="none",
                label=f"{label} ({size} question{'s' * (size != 1)})",
                zorder=4,
            )
        return drawn

    def _frame(self, ax: Any, marks: list[Any]) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_xlabel("questions on the card")
        ax.set_ylabel("net benefit on held-out rows")
        if self.sizes.size <= _MANY_SIZES:
            labels = [str(size) for size in self.sizes.tolist()]
            if self.kept is not None:
                shares = map(share_text, self.kept.tolist())
                labels = [f"{size}\n{kept}" for size, kept in zip(labels, shares, strict=True)]
                ax.set_xlabel("questions on the card; share of the teacher's net benefit kept")
            ax.set_xticks(self.sizes, labels)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)
        handles = [self.errorbar_, *marks, self.line_]
        draw_key(ax, [(handle, handle.get_label()) for handle in handles], markerscale=0.6)


def save_picture(path: Any, file: Path) -> None:
    """Draw a path of sizes into a file; the same path gives the same file."""
    SizePathDisplay.of_path(path).save(file)

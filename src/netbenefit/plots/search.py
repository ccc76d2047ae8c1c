"""Net benefit against the number of rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.plots.base import BLUE, GREY, ORANGE, PALE_BLUE, Display, draw_key, tidy

__all__ = ["SizePathDisplay", "save_picture"]

#: Up to as many sizes, each has its tick.
_MANY_SIZES = 20


class _Sizes(Protocol):
    """What is drawn of a :class:`netbenefit.validation.sizes.SizePath`."""

    @property
    def sizes(self) -> tuple[int, ...]: ...

    @property
    def training_net_benefit(self) -> FloatArray: ...

    @property
    def fold_net_benefit(self) -> FloatArray: ...

    @property
    def held_out(self) -> FloatArray: ...

    @property
    def held_out_se(self) -> FloatArray: ...

    @property
    def best(self) -> int: ...

    @property
    def suggested(self) -> int: ...


class SizePathDisplay(Display):
    """Net benefit against the number of rules, on held-out rows and in training.

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

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    errorbar_ : matplotlib container
        Held-out net benefit with its error bars.
    line_ : matplotlib line
        Training net benefit.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no screen is needed
    >>> display = SizePathDisplay(
    ...     [1, 2], [0.1, 0.2], [0.01, 0.01], [0.11, 0.22], best=2, suggested=2, n_folds=5
    ... ).plot()
    >>> display.ax_.get_xlabel()
    'rules on the card'
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
    ) -> None:
        self.sizes: IntArray = np.asarray(sizes, dtype=np.int64)
        self.held_out: FloatArray = np.asarray(held_out, dtype=np.float64)
        self.held_out_se: FloatArray = np.asarray(held_out_se, dtype=np.float64)
        self.training: FloatArray = np.asarray(training, dtype=np.float64)
        self.best, self.suggested, self.n_folds = best, suggested, n_folds

    @classmethod
    def from_size_path(cls, path: _Sizes, ax: Any = None) -> Self:
        """Draw a path of sizes.

        Parameters
        ----------
        path : SizePath
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SizePathDisplay
            Drawn.
        """
        return cls.of_path(path).plot(ax=ax)

    @classmethod
    def of_path(cls, path: _Sizes) -> Self:
        """Take the numbers of a path of sizes, without drawing them.

        Parameters
        ----------
        path : SizePath

        Returns
        -------
        SizePathDisplay
            Not drawn yet.
        """
        return cls(
            path.sizes,
            path.held_out,
            path.held_out_se,
            path.training_net_benefit,
            best=path.best,
            suggested=path.suggested,
            n_folds=len(path.fold_net_benefit),
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SizePathDisplay
            Itself, with ``ax_``, ``figure_``, ``errorbar_`` and ``line_``.
        """
        ax = self._axes(ax)
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
        self._marks = self._mark(ax)
        self._tidy(ax)
        return self

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
                label=f"{label} ({size} rule{'s' * (size != 1)})",
                zorder=4,
            )
        return drawn

    def _tidy(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        ax.set_xlabel("rules on the card")
        ax.set_ylabel("net benefit on held-out rows")
        if self.sizes.size <= _MANY_SIZES:
            ax.set_xticks(self.sizes)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        tidy(ax)
        handles = [self.errorbar_, *self._marks, self.line_]
        draw_key(ax, [(handle, handle.get_label()) for handle in handles], markerscale=0.6)


def save_picture(path: _Sizes, file: Path) -> None:
    """Draw a path of sizes into a file; the same path gives the same file."""
    SizePathDisplay.of_path(path).save(file)

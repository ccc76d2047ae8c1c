"""Average ranks of models, with the critical difference of Nemenyi's test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import FloatArray, InputError
from netbenefit.plots.base import BLUE, GREY, INK, PLAIN, Display, name_lines

__all__ = ["CriticalDifferenceDisplay"]

#: Columns of a model's name, before it goes on in the next line.
_NAME_WIDTH = 24
#: Heights, in units of one line of names.
_CD_HEIGHT, _FIRST_NAME, _BAR_STEP = 1.5, 0.55, 0.42


class CriticalDifferenceDisplay(Display):
    """Average ranks on a line, best on the left; bars join models that do not differ.

    Usually made by :meth:`RankTest.plot <netbenefit.RankTest.plot>`.

    Parameters
    ----------
    models : sequence of str
    average : (n_models,) float
        Their average ranks.
    difference : float
        The critical difference.
    groups : sequence of sequences of str
        Models that do not differ; each group gets a bar.
    n_datasets : int, optional
        Over which ranks were averaged.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    bars_ : list of matplotlib lines
        One a group.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")  # no screen is needed
    >>> display = CriticalDifferenceDisplay(
    ...     ["card", "tree", "coin"], [1.2, 1.9, 2.9], 1.1, groups=[("card", "tree")]).plot()
    >>> len(display.bars_)
    1
    """

    def __init__(
        self,
        models: Sequence[str],
        average: ArrayLike,
        difference: float,
        *,
        groups: Sequence[Sequence[str]] = (),
        n_datasets: int | None = None,
    ) -> None:
        self.models = tuple(models)
        self.average: FloatArray = np.asarray(average, dtype=np.float64)
        if self.average.shape != (len(self.models),):
            raise InputError(
                f"{len(self.models)} models need as many average ranks, not {self.average.shape}."
            )
        self.difference = float(difference)
        self.groups = [tuple(group) for group in groups]
        self.n_datasets = n_datasets

    def _figure_size(self) -> tuple[float, float]:
        lines = self._lines()
        return 7.0, 1.0 + 0.3 * (_CD_HEIGHT + lines)

    def _lines(self) -> float:
        """Lines below the axis: bars, and half of the names."""
        return _BAR_STEP * len(self.groups) + _FIRST_NAME + (len(self.models) + 1) // 2

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        CriticalDifferenceDisplay
            Itself, with ``ax_``, ``figure_`` and ``bars_``.
        """
        ax = self._axes(ax)
        most = max(len(self.models), 2)
        ax.set_axis_off()
        ax.set_xlim(1 - 0.42 * (most - 1), most + 0.42 * (most - 1))
        ax.set_ylim(-self._lines() - 0.2, _CD_HEIGHT + 0.9)
        self._scale(ax, most)
        self.bars_ = self._bars(ax)
        self._names(ax, most)
        return self

    def _scale(self, ax: Any, most: int) -> None:
        """The line of ranks, and the critical difference above it."""
        ax.plot([1, most], [0, 0], color=INK, linewidth=1.2)
        for rank in range(1, most + 1):
            ax.plot([rank, rank], [0, 0.16], color=INK, linewidth=1.2)
            ax.text(rank, 0.26, str(rank), ha="center", va="bottom", color=INK)
        end, height = 1 + self.difference, _CD_HEIGHT
        ax.plot([1, end], [height, height], color=GREY, linewidth=1.6)
        for x in (1, end):
            ax.plot([x, x], [height - 0.12, height + 0.12], color=GREY, linewidth=1.6)
        text = f"critical difference {self.difference:.2f}"
        ax.text((1 + end) / 2, height + 0.16, text, ha="center", va="bottom", fontsize="small")
        over = "" if self.n_datasets is None else f" over {self.n_datasets} data sets"
        ax.set_title(f"Average rank{over} (1 is best)", fontsize="medium", color=INK)

    def _bars(self, ax: Any) -> list[Any]:
        drawn = []
        for place, group in enumerate(self.groups):
            ranks = [self.average[self.models.index(name)] for name in group]
            height = -_BAR_STEP * (place + 0.75)
            margin = 0.012 * max(len(self.models), 2)
            drawn += ax.plot(
                [min(ranks) - margin, max(ranks) + margin],
                [height, height],
                color=BLUE,
                linewidth=3.5,
                solid_capstyle="butt",
                zorder=4,
            )
        return drawn

    def _names(self, ax: Any, most: int) -> None:
        """The better half of the models on the left, the others on the right."""
        order = np.argsort(self.average, kind="stable")
        half = (len(order) + 1) // 2
        top = _BAR_STEP * len(self.groups) + _FIRST_NAME
        gap = 0.08 * (most - 1)
        for place, model in enumerate(order):
            left = place < half
            line = place if left else len(order) - 1 - place
            rank, height = self.average[model], -top - line
            side = 1 - gap if left else most + gap
            ax.plot([rank, rank, side], [0, height, height], color=GREY, linewidth=1.0, zorder=2)
            ax.plot([rank], [0], marker="o", markersize=4, color=INK, zorder=5)
            text = f"{name_lines(self.models[model], _NAME_WIDTH)}  {rank:.2f}"
            ax.text(
                side - 0.2 * gap if left else side + 0.2 * gap,
                height,
                text,
                ha="right" if left else "left",
                va="center",
                color=INK,
                **PLAIN,
            )

"""Discrimination and utility: synthetic predictions and the credit card in the possible region.

The AUROC of these figures is the grouped one, for which alone the bounds hold; tables give the
ordinary one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common.checks import check_binary, check_risks
from netbenefit.common.table import Table
from netbenefit.metrics.net_benefit import aunbc, auroc, grouped_auroc
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.theory import boundary_risks, correlated_risks, lower_aunbc, upper_aunbc
from netbenefit.theory.calibration import calibrate_levels
from reproduction.figures_pool import Row

__all__ = [
    "FIFTHS",
    "CardPair",
    "bound_table",
    "boundary_pairs",
    "card_pair",
    "correlated_pairs",
]

#: The thresholds of the theoretical figure.
FIFTHS = Thresholds.of([i / 5 for i in range(5)])
#: Correlations of the synthetic predictions of type I, and the seed of their noise.
CORRELATIONS = tuple(round(0.05 * i, 2) for i in range(1, 20))
SEED = 20
#: Grouped AUROCs that predictions of type II are made for.
WANTED = tuple(round(0.02 + 0.04 * i, 2) for i in range(25))


def bound_table(thresholds: Thresholds, prevalence: float, steps: int = 200) -> Table:
    """Least and most AUNBC for each grouped AUROC, corrected and as published.

    Parameters
    ----------
    thresholds : Thresholds
    prevalence : float
    steps : int, default=200
        Parts into which the range of the AUROC is cut; shorter ones near 1, where bounds are steep.

    Returns
    -------
    Table
        ``grouped_auroc``, ``least``, ``most``, ``least_published``, ``most_published``.
    """
    G = 1.0 - np.linspace(1.0, 0.0, steps + 1) ** 2
    return Table(
        {
            "grouped_auroc": G,
            "least": lower_aunbc(thresholds, prevalence, G),
            "most": upper_aunbc(thresholds, prevalence, G),
            "least_published": lower_aunbc(thresholds, prevalence, G, "paper"),
            "most_published": upper_aunbc(thresholds, prevalence, G, "paper"),
        }
    )


def correlated_pairs(
    y_true: ArrayLike,
    thresholds: Thresholds | None = None,
    correlations: Sequence[float] = CORRELATIONS,
    *,
    random_state: int = SEED,
) -> Table:
    """AUROC and AUNBC of type I predictions, before and after Algorithm 2, order kept.

    Rows that share a level keep their order, by a share of the original risk that crosses no
    threshold (:func:`netbenefit.keep_order`), as the paper's text has it: AUNBC rises and the
    ordinary AUROC stays.

    Parameters
    ----------
    y_true : (n_rows,) array of 0 and 1
    thresholds : Thresholds, optional
        By default 0, 0.1, …, 0.9.
    correlations : sequence of float
        With the outcome, one set of predictions for each.
    random_state : int
        Of the noise.

    Returns
    -------
    Table
        ``correlation``, then ``grouped_auroc``, ``auroc`` and ``aunbc``, then the same three as
        ``calibrated_…``.
    """
    y = check_binary(y_true)
    grid = Thresholds.tenths() if thresholds is None else thresholds
    rng = np.random.default_rng(random_state)
    found = []
    for correlation in correlations:
        risk = correlated_risks(y, correlation, random_state=rng)
        better = calibrate_levels(y, risk, grid, order_keeping=True).apply(risk)
        found.append((correlation, *_measures(y, risk, grid), *_measures(y, better, grid)))
    names = ("grouped_auroc", "auroc", "aunbc")
    heads = ("correlation", *names, *(f"calibrated_{name}" for name in names))
    return Table(dict(zip(heads, np.array(found).T, strict=True)))


def boundary_pairs(
    y_true: ArrayLike, thresholds: Thresholds | None = None, wanted: Sequence[float] = WANTED
) -> Table:
    """AUROC and AUNBC of type II predictions, which reach the upper bound.

    Parameters
    ----------
    y_true : (n_rows,) array of 0 and 1
    thresholds : Thresholds, optional
        By default 0, 0.1, …, 0.9.
    wanted : sequence of float
        Grouped AUROCs, met as well as whole rows allow.

    Returns
    -------
    Table
        ``wanted``, ``grouped_auroc``, ``auroc``, ``aunbc``.
    """
    y = check_binary(y_true)
    grid = Thresholds.tenths() if thresholds is None else thresholds
    found = [(g, *_measures(y, boundary_risks(y, g, grid), grid)) for g in wanted]
    heads = ("wanted", "grouped_auroc", "auroc", "aunbc")
    return Table(dict(zip(heads, np.array(found).T, strict=True)))


def _measures(y: Any, risk: Any, grid: Thresholds) -> tuple[float, float, float]:
    return grouped_auroc(y, risk, grid), auroc(y, risk), aunbc(y, risk, grid)


class CardPair(NamedTuple):
    """Where the illustrative card lies; the grouped AUROC is NaN where risks were not kept."""

    auroc: float
    aunbc: float
    grouped_auroc: float

    @property
    def place(self) -> tuple[float, float]:
        """What is drawn: by the grouped AUROC where it is known, else by the ordinary one."""
        known = not math.isnan(self.grouped_auroc)
        return (self.grouped_auroc if known else self.auroc), self.aunbc


def card_pair(
    rows: Sequence[Row], y_true: ArrayLike | None = None, thresholds: Thresholds | None = None
) -> CardPair | None:
    """Find the card of the case study that was trained and measured on all rows.

    Parameters
    ----------
    rows : sequence of mappings
        Rows of a run.
    y_true : (n_rows,) array of 0 and 1, optional
        Outcomes of the case study; with them, and with the risks of the row, the grouped AUROC is
        computed.
    thresholds : Thresholds, optional
        By default 0, 0.1, …, 0.9.

    Returns
    -------
    CardPair or None
        None where the run has no such row, or no AUROC and AUNBC in it.
    """
    cards = [row for row in rows if row["dataset"] == "credit" and row["fold"] == -1]
    for row in sorted(cards, key=_is_another):
        ordinary, area = (_number(row.get(name)) for name in ("train_auroc", "train_aunbc"))
        if math.isnan(ordinary) or math.isnan(area):
            continue
        return CardPair(ordinary, area, _grouped(row, y_true, thresholds))
    return None


def _is_another(row: Row) -> bool:
    """Tell other cards of all rows from the illustrative one, which comes first."""
    return (row.get("method"), row.get("setting")) != ("rss-dnb-exact", "c0=0")


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _grouped(row: Row, y_true: ArrayLike | None, thresholds: Thresholds | None) -> float:
    numbers = row.get("test_rows")
    if y_true is None or numbers is None or len(numbers) == 0:
        return math.nan
    y = check_binary(y_true)
    if len(numbers) != y.size:  # risks of a part of the rows say nothing about all
        return math.nan
    risk = check_risks(row["test_risks"], y.size, name="test_risks (credit, fold -1)")
    return grouped_auroc(y[np.asarray(numbers)], risk, thresholds)

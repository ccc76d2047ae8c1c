"""A verdict in words: is a card worth using, at which thresholds, and how sure is that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray, check_weights
from netbenefit.metrics import (
    TREAT_ALL,
    TREAT_NONE,
    Thresholds,
    decision_differences,
    mean_benefit_beside,
)

#: Fewer events, or fewer rows without, make an evaluation unsure.
ENOUGH = 100
_CARD = "Card"
_IN_WORDS = {TREAT_ALL: "treating all", TREAT_NONE: "treating none"}


class Worth(NamedTuple):
    """What rows say about a card's decisions, beside treating all and treating none."""

    headline: str
    sentences: tuple[str, ...]
    sure: str  #: how many rows this is from, and whether they are enough


class Places(NamedTuple):
    """Positions of thresholds, by what is shown there."""

    better: list[int]  #: than treating all, and than treating none
    worse: dict[str, list[int]]  #: than one of these
    open: list[int]


def judge_worth(
    event: NDArray[np.bool_],
    risk: FloatArray,
    thresholds: Thresholds,
    sample_weight: FloatArray | None = None,
) -> Worth:
    """Judge a card's risks on rows.

    A card is called better at a threshold where the 95% bands of both differences, which hold over
    all thresholds at once, lie above 0; worse, where one of them lies below.  At a threshold of 0
    all are treated, which nothing can improve.
    """
    places, grid = _places(event, risk, thresholds, sample_weight), thresholds.given
    judged = [p for p in grid.tolist() if p > 0]

    def at(these: Sequence[int]) -> str:
        return runs_text([float(grid[i]) for i in these], judged)

    sentences = []
    headline = "Not shown to be worth using on these rows."
    if places.worse:
        headline = "Not worth using on these rows."
    if places.better:
        headline = f"Worth using at {at(places.better)}."
        sentences.append("There it beats both treating all and treating none.")
    for name, these in places.worse.items():
        sentences.append(f"At {at(these)} it is worse than {_IN_WORDS[name]}.")
    if places.open:
        sentences.append(
            f"At {at(places.open)} it is not shown to beat both treating all and treating none."
            if not places.better
            else f"At {at(places.open)} that is not shown."
        )
    sentences.append(_mean(event, risk, thresholds, sample_weight))
    return Worth(headline, tuple(sentences), _sure(event, sample_weight))


def _places(
    event: NDArray[np.bool_],
    risk: FloatArray,
    thresholds: Thresholds,
    sample_weight: FloatArray | None,
) -> Places:
    given = [i for i, p in enumerate(thresholds.given) if p > 0]
    above, worse = set(given), {}
    for other in (TREAT_ALL, TREAT_NONE):
        found = decision_differences(
            event, {_CARD: risk}, thresholds, reference=other, sample_weight=sample_weight
        )
        own = found["model"] == _CARD
        low, high = (found[f"simultaneous_{end}"][own] for end in ("lower", "upper"))
        above &= {i for i in given if low[i] > 0}
        below = [i for i in given if high[i] < 0]
        if below:
            worse[other] = below
    lost = {i for below in worse.values() for i in below}
    return Places(sorted(above), worse, [i for i in given if i not in above | lost])


def _mean(
    event: NDArray[np.bool_],
    risk: FloatArray,
    thresholds: Thresholds,
    sample_weight: FloatArray | None,
) -> str:
    """Set the mean net benefit beside that of the better of the two strategies."""
    _, none = beside = mean_benefit_beside(event, risk, thresholds, sample_weight=sample_weight)
    best = min(beside, key=lambda one: one.difference)
    own, other = none.difference, none.difference - best.difference
    more, low, high = (
        f"{100 * end:.1f}".replace("-", "−") for end in (best.difference, best.low, best.high)
    )
    return (
        f"Its mean net benefit is {_signed(own)}, and that of {_IN_WORDS[best.reference]} "
        f"{_signed(other)}: the difference is worth {more} events found per 100 records at no "
        f"further false alarm (95% interval {low} to {high})."
    )


def _sure(event: NDArray[np.bool_], sample_weight: FloatArray | None) -> str:
    """Say how many rows these are, and whether they are enough."""
    used = check_weights(sample_weight, event.size) > 0
    n, events = int(used.sum()), int((used & event).sum())
    text = f"From {n:,} rows, {events:,} of them with the event; bands hold over all thresholds."
    if min(events, n - events) >= ENOUGH:
        return text
    return (
        f"{text} These are few: at least {ENOUGH} with the event and {ENOUGH} without are advised "
        "(Vergouwe and others, J Clin Epidemiol 2005)."
    )


def _signed(number: float) -> str:
    if number == 0:
        return "0"
    return f"{number:.4f}".replace("-", "−")


def runs_text(values: Sequence[float], grid: Sequence[float]) -> str:
    """Write thresholds; of neighbours on a grid, the first and the last.

    >>> runs_text([0.1, 0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5])
    'thresholds 10% to 30% and 50%'
    """
    runs: list[list[float]] = []
    for value in values:
        place = grid.index(value)
        if runs and place and grid[place - 1] == runs[-1][-1]:
            runs[-1].append(value)
        else:
            runs.append([value])
    texts = []
    for run in runs:
        texts += (
            [f"{100 * run[0]:g}% to {100 * run[-1]:g}%"]
            if len(run) > 2
            else [f"{100 * p:g}%" for p in run]
        )
    if len(values) == 1:
        return f"the threshold {texts[0]}"
    start = "thresholds from " if len(texts) == 1 and len(values) > 2 else "thresholds "
    return start + " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))

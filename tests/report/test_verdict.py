"""The verdict of a report: its words follow from the bands of decision curves."""

from __future__ import annotations

import numpy as np
import pytest

from netbenefit.metrics import decision_differences, decision_summary
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.report.verdict import judge_worth, runs_text

GRID = Thresholds.parse("0.1:0.5:0.1")


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes, and risks that are right."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(1, 2, size=n)
    return rng.random(n) < risk, risk


def test_a_good_card_is_worth_using_and_by_how_much() -> None:
    event, risk = rows(4000)
    worth = judge_worth(event, risk, GRID)
    assert worth.headline == "Worth using at thresholds from 10% to 50%."
    assert worth.sentences[0] == "There it beats both treating all and treating none."
    assert len(worth.sentences) == 2
    own, everyone, nobody = decision_summary(event, {"Card": risk}, GRID)["aunbc"].tolist()
    best, name = max((everyone, "all"), (nobody, "none"))
    shown = f"{best:.4f}" if best else "0"
    assert worth.sentences[1].startswith(
        f"Its mean net benefit is {own:.4f}, and that of treating {name} {shown}: the "
        f"difference is worth {100 * (own - best):.1f} events found per 100"
    )
    assert worth.sure == (
        f"From 4,000 rows, {event.sum():,} of them with the event; bands hold over all thresholds."
    )


def test_what_is_not_shown_is_not_said() -> None:
    event, risk = rows(60)
    some = judge_worth(event, risk, GRID)
    assert "These are few: at least 100" in some.sure
    coin = np.random.default_rng(1).random(60)
    none = judge_worth(event, coin, GRID)
    assert none.headline in (
        "Not shown to be worth using on these rows.",
        "Not worth using on these rows.",
    )
    assert "not shown to beat both" in none.sentences[0] or "is worse than" in none.sentences[0]


def test_every_threshold_is_judged_once_and_as_its_bands_say() -> None:
    for seed in range(6):
        event, risk = rows(300, seed)
        shown = np.clip(risk * [0.4, 1.0, 2.5][seed % 3], 0, 1)
        worth = judge_worth(event, shown, GRID)
        above, below = np.ones(5, dtype=bool), {}
        for other, words in (("Treat All", "all"), ("Treat None", "none")):
            found = decision_differences(event, {"Card": shown}, GRID, reference=other)
            own = found["model"] == "Card"
            above &= found["simultaneous_lower"][own] > 0
            below[words] = found["simultaneous_upper"][own] < 0
        text = " ".join([worth.headline, *worth.sentences])
        if above.any():
            assert runs_text(GRID.given[above].tolist(), GRID.given.tolist()) in worth.headline
        else:
            assert not worth.headline.startswith("Worth")
        for words, there in below.items():
            assert (f"it is worse than treating {words}." in text) == there.any()


def test_a_card_that_harms_is_said_to() -> None:
    event, risk = rows(2000)
    worth = judge_worth(event, 1 - risk, GRID)
    assert worth.headline == "Not worth using on these rows."
    assert "it is worse than treating" in worth.sentences[0]
    assert "the difference is worth −" in worth.sentences[-1]


def test_a_threshold_of_zero_is_no_merit_and_weights_count() -> None:
    event, risk = rows(2000)
    weight = np.where(event, 1.0, 0.0)
    weight[~event] = 0.5
    worth = judge_worth(event, risk, Thresholds.tenths(), weight)
    assert " 0%" not in worth.headline
    assert worth.sure.startswith(f"From 2,000 rows, {event.sum():,} of them")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.2], "the threshold 20%"),
        ([0.1, 0.2], "thresholds 10% and 20%"),
        ([0.1, 0.2, 0.3, 0.4], "thresholds from 10% to 40%"),
        ([0.1, 0.3, 0.4], "thresholds 10%, 30% and 40%"),
        ([0.1, 0.2, 0.3, 0.5], "thresholds 10% to 30% and 50%"),
    ],
)
def test_thresholds_in_words(values: list[float], text: str) -> None:
    assert runs_text(values, [0.1, 0.2, 0.3, 0.4, 0.5]) == text

"""What labels mean: yes or no by themselves, or a question."""

from __future__ import annotations

from typing import Any

import pytest

from netbenefit.cards.text import event_in_words
from netbenefit.common import InputError
from netbenefit.data import read_outcome, sorted_labels


@pytest.mark.parametrize(
    ("no", "yes"),
    [
        (0, 1),
        (0.0, 1.0),
        (False, True),
        ("no", "Yes"),
        ("NO", "yes"),
        ("n", "Y"),
        ("f", "T"),
        ("FALSE", "True"),
        ("0", "1"),
    ],
)
def test_labels_that_say_yes_or_no_are_clear_in_any_spelling(no: Any, yes: Any) -> None:
    for y in ([no, yes, no], [yes, no, no]):
        outcome = read_outcome(y, asks=True)
        assert outcome.event.tolist() == [label == yes for label in y]
        assert outcome.labels.tolist() == [no, yes]
        assert sorted_labels(outcome.labels).tolist() == sorted([no, yes])


@pytest.mark.parametrize("pair", [("died", "survived"), ("bad", "good"), (1, 2), (-1, 1)])
def test_other_labels_are_asked_for(pair: tuple[Any, Any]) -> None:
    first, second = pair
    with pytest.raises(InputError) as caught:
        read_outcome([first, second], "x", asks=True)
    told = f"column 'x' holds {first} and {second}. Say which of them is the event: --positive "
    assert caught.value.in_options() == f"{told}{first} or --positive {second}."
    assert read_outcome([first, second], "x").labels.tolist() == [first, second]
    assert read_outcome([first, second], "x", first, asks=True).event.tolist() == [True, False]


def test_an_event_is_spelled_in_one_way() -> None:
    with pytest.raises(InputError, match="spells the event in several ways: 'Yes' and 'yes'"):
        read_outcome(["Yes", "yes", "No"], positive="Yes")
    with pytest.raises(InputError, match="Only binary classification"):
        read_outcome(["Yes", "yes", "No"])


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("died = 1", "died"),
        ("died = Yes", "died"),
        ("outcome = True", "the outcome"),
        ("outcome = died", "died"),
        ("status = died", "died (status)"),
        ("class = 2", "class = 2"),
        ("ill = no", "ill = no"),
        ("a = b = c", "a = b = c"),
        ("serious delinquency", "serious delinquency"),
    ],
)
def test_the_title_of_a_card_says_the_event_in_words(outcome: str, words: str) -> None:
    assert event_in_words(outcome) == words

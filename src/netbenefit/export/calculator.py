"""A card as a calculator: one HTML file that works offline, on a phone, and prints as a card.

The page holds the script of :mod:`netbenefit.export.javascript` as it is, so that a field and a row
of a table come to the same score.  Its security policy lets nothing run but that script, and lets
it talk to nobody.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any

from netbenefit._version import __version__
from netbenefit.cards.rows import card_rows
from netbenefit.cards.rules import is_finite
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.text import integer_text, percent, strip_control
from netbenefit.common.checks import InputError, shorten
from netbenefit.export.calculator_fields import Field, groups_of
from netbenefit.export.calculator_page import Words, page
from netbenefit.export.javascript import asset, card_script, literal, term_data
from netbenefit.export.scaling import Scaling

__all__ = ["to_calculator"]

#: In this order: what holds for wide screens and for paper comes last.
_STYLES = ("fields", "result", "media")


def to_calculator(
    card: Scorecard,
    *,
    threshold: float | None = None,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    scaling: Scaling | None = None,
) -> str:
    """Return a card as one HTML file: fields to fill in, score and risk, and the card to print.

    Parameters
    ----------
    card : Scorecard
    threshold : float, optional
        The decision threshold to start with: the risk, between 0 and 1, from which one would act.
        Whoever uses the page can change it.  Without one, the page asks for it.
    labels : mapping of str to str, optional
        What to call raw columns, where their names do not speak for themselves; the card's own
        name stands beside it.
    units : mapping of str to str, optional
        What raw columns are measured in, such as ``{"lactate": "mmol/l"}``.
    ranges : mapping of str to (lowest, highest), optional
        Where the numbers of raw columns usually lie, such as ``{"lactate": (0.3, 20)}``: stands
        beside the field, and whoever enters another number is asked whether it is right.
    scaling : Scaling, optional
        Shows the scaled score beside the score, and on the card how it is read.

    Returns
    -------
    str
        The page, without any link to the outside.  Write it to a file as UTF-8.

    Raises
    ------
    InputError
        Where the threshold is no risk between 0 and 1, or a label or unit is for no raw column.

    Examples
    --------
    >>> from netbenefit.cards.terms import Condition
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(Condition("lactate", ">=", 2), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> text = to_calculator(card, threshold=0.2, units={"lactate": "mmol/l"})
    >>> text.startswith("<!DOCTYPE html>"), "mmol/l" in text, "http://" in text
    (True, True, False)
    """
    if threshold is not None and not (is_finite(threshold) and 0 < threshold < 1):
        raise InputError(f"threshold={threshold!r} must be a risk between 0 and 1, such as 0.2.")
    groups = groups_of(card)
    fields = [one for group in groups for one in group.fields]
    numbers = {one.name for one in fields if one.control == "number"}
    words = Words(
        _checked(labels, "labels", card),
        _checked(units, "units", card),
        _checked_ranges(ranges, card, numbers),
    )
    exact = None if threshold is None else float(threshold)
    data = _page_data(card, fields, words, exact)
    script = (
        f'"use strict";\n(() => {{\n{card_script(card, scaling)}\nconst PAGE = {literal(data)};\n\n'
        f"{asset('calculator.js')}}})();\n"
    )
    style = "\n".join(asset(f"calculator-{part}.css") for part in _STYLES)
    return page(
        card,
        groups,
        words,
        threshold="" if exact is None else _percent_text(exact),
        script=script,
        style=style,
        policy=_policy(script, style),
        generator=f"netbenefit {__version__}",
        scaling="" if scaling is None else scaling.text(),
    )


def _checked(given: Mapping[str, str] | None, what: str, card: Scorecard) -> dict[str, str]:
    _check_names(given, what, card)
    texts = dict(given or {})
    empty = [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]
    if empty:
        raise InputError(f"{what} of {shorten(empty)} must be text that is not blank.")
    return texts


def _checked_ranges(
    given: Mapping[str, tuple[float, float]] | None, card: Scorecard, numbers: set[str]
) -> dict[str, tuple[float, float]]:
    _check_names(given, "ranges", card)
    found = {}
    for name, ends in (given or {}).items():
        if name not in numbers:
            raise InputError(f"ranges of {name!r}: nobody types a number there. Leave it out.")
        usable = isinstance(ends, tuple | list) and len(ends) == 2 and all(map(is_finite, ends))
        if not usable or not ends[0] < ends[1]:
            raise InputError(
                f"ranges of {name!r} must be two numbers, the lower first, not {ends!r}."
            )
        found[name] = (float(ends[0]), float(ends[1]))
    return found


def _check_names(given: Mapping[str, Any] | None, what: str, card: Scorecard) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise InputError(f"{what}={given!r} must be a mapping by raw columns.")
    unknown = [name for name in given if name not in card.features]
    if unknown:
        raise InputError(
            f"{what} names {shorten(unknown)}, but the card's raw columns are "
            f"{shorten(card.features, 10) or 'none'}. Use these names."
        )


def _page_data(
    card: Scorecard, fields: list[Field], words: Words, threshold: float | None
) -> dict[str, Any]:
    """Return what the page's own script has to know, as data for JSON."""
    places = {row.risk: place for place, row in enumerate(card._risk_rows)}
    steps = {column.name: place for place, column in enumerate(card._plan.columns)}
    decimals = max((rule.term.decimals for rule in card.rules), default=0)
    return {
        "fields": [
            {
                "name": one.name,
                "label": strip_control(words.labels.get(one.name, one.name)),
                "control": one.control,
                "values": [value for _, value in one.options],
                "canMiss": one.unknown is not None,
                "unseen": one.unseen,
                "whole": one.whole,
                "range": words.ranges.get(one.name),
                "rangeText": words.range_text(one.name),
            }
            for one in fields
        ],
        "rows": [
            {
                "step": steps[row.feature],
                "term": term_data(row.term),
                "units": str(row.points * 10 ** (decimals - row.term.decimals)),
            }
            for row in card_rows(card)
        ],
        "risks": [percent(row.risk, card.thresholds) for row in card._risk_rows],
        # Rows of the printed table: which of these risks, and its first score in words.
        "listed": [
            [places[row.risk], None if row.low is None else integer_text(row.low)]
            for row in card.risk_table()
        ],
        "decimals": decimals,
        "threshold": threshold,
    }


def _percent_text(threshold: float) -> str:
    """Write a threshold in percent, as short as four decimals allow.

    >>> _percent_text(0.07), _percent_text(1 / 3)
    ('7', '33.3333')
    """
    percent = Decimal(repr(threshold)).scaleb(2)
    short = round(percent, 4)
    return f"{(short or percent).normalize():f}"


def _policy(script: str, style: str) -> str:
    """Let nothing run or load but these two texts."""
    parts = (
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"

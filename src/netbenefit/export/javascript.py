"""A card as a JavaScript module without dependencies, for browsers and for Node.

The module holds the card as data and one short reader of it, the same for all cards, so that no
name or level of a card is ever code.  It adds in BigInt: no number of points is too large.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

from netbenefit._version import __version__
from netbenefit.cards import (
    CardLogic,
    ColumnLogic,
    InputColumn,
    PerUnit,
    Scorecard,
    Term,
    check_card,
    log_ends,
)
from netbenefit.common import asset
from netbenefit.export.scaling import Scaling


def to_javascript(card: Scorecard, *, scaling: Scaling | None = None) -> str:
    r"""Return a card as an ES module that exports ``score(row)`` and ``risk(row)``.

    Parameters
    ----------
    card : Scorecard
    scaling : Scaling, optional
        The module then also exports ``scaledScore(row)``.

    Returns
    -------
    str
        The text of the module, in ASCII.  Names and levels are JSON, also safe inside a script
        element of a page.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("</script>", ">=", 1), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> module = to_javascript(card)
    >>> "</script>" in module, module.endswith("export { score, risk };\n")
    (False, True)
    """
    names = "score, risk" if scaling is None else "score, risk, scaledScore"
    # The wording of a scaling is our own, numbers aside: safe in a comment.
    scaled = "" if scaling is None else f"//   scaledScore(row)  {scaling.text()}\n"
    head = asset("export", "head.js").format(version=__version__, names=names, scaled=scaled)
    return f"{head}{card_script(card, scaling)}\nexport {{ {names} }};\n"


def card_script(card: Scorecard, scaling: Scaling | None = None) -> str:
    """Return a card and its reader as a script, for a module or a function."""
    script = f"const CARD = {literal(card_data(card))};\n\n{asset('export', 'card.js')}"
    if scaling is None:
        return script
    line = literal({"offset": str(scaling.offset), "multiplier": str(scaling.multiplier)})
    return f"{script}\nconst SCALE = {line};\n\n{asset('export', 'scaled.js')}"


def card_data(card: Scorecard) -> dict[str, Any]:
    """Return a card as data for JSON; whole numbers that may be beyond 2**53 are text."""
    logic = check_card(card)._logic
    place = {one: index for index, one in enumerate(logic.reads)}
    return {
        "inputs": [_input_data(one) for one in logic.reads],
        "steps": [_column_data(column, place) for column in logic.columns],
        "ends": _ends(logic),
        "unit": str(logic.unit),
        "risks": [[None if row.low is None else str(row.low), row.risk] for row in card._risk_rows],
    }


def _input_data(one: InputColumn) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "special": one.special,
        "fill": one.fill,
        "refuse": one.refuse,
        # With a reading, numbers may come as text, and a number is the level that it is written as.
        "numerals": one.text,
        "spelt": one.has_reading,
    }


def _column_data(column: ColumnLogic, place: dict[InputColumn, int]) -> dict[str, Any]:
    return {
        "name": column.name,
        "inputs": [place[one] for one in column.inputs],
        "combine": column.combine,
        "special": column.special,
        "fill": column.fill,
        "mayMiss": column.may_miss,
        "base": str(column.base),
        "terms": [[term_data(term), str(factor)] for term, factor in column.terms],
    }


def term_data(term: Term) -> dict[str, Any]:
    """Return a term as data for JSON."""
    if not isinstance(term, PerUnit):
        return {"op": term.op, "value": term.value}
    lower, upper = term.ends
    op = "log" if term.log else "per unit"
    return {"op": op, "decimals": term.decimals, "lower": lower, "upper": upper}


def _ends(logic: CardLogic) -> dict[str, list[float]]:
    """List the ends of steps of ln(1 + x), by decimals, as far as a card's terms need them."""
    found: dict[str, list[float]] = {}
    for term in (term for column in logic.columns for term, _ in column.terms):
        if isinstance(term, PerUnit) and term.log:
            ends = log_ends(term.decimals).tolist()
            needed = ends if term.upper is None else ends[: bisect_right(ends, term.upper)]
            found[str(term.decimals)] = max(needed, found.get(str(term.decimals), []), key=len)
    return found


def literal(data: Any) -> str:
    """Write data as a JavaScript literal that is safe inside a script element, too."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False)
    for char in "<>&":  # in JSON they occur in texts only
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text

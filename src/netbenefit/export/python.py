"""A card as Python: one function that needs nothing but the standard library."""

from __future__ import annotations

import builtins
import keyword
import textwrap
from collections.abc import Sequence

from netbenefit.cards import (
    INT64,
    ColumnLogic,
    Condition,
    InputColumn,
    PerUnit,
    RiskRow,
    Scorecard,
    check_card,
    contents,
)
from netbenefit.common import LARGEST_EXACT, InputError, asset
from netbenefit.export.scaling import Scaling

_WIDTH = 96


def to_python(
    card: Scorecard, *, function: str = "risk_score", scaling: Scaling | None = None
) -> str:
    """Write a card as the source of one Python function, for Python 3.8 and later.

    The function takes a row, a mapping by column name, and returns its score and its risk, or
    ``(None, None)`` where the card refuses the row.

    Parameters
    ----------
    card : Scorecard
    function : str, default="risk_score"
        What to call it.
    scaling : Scaling, optional
        The function then returns the scaled score as a third value.

    Returns
    -------
    str

    Examples
    --------
    >>> from netbenefit import Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> module = {}
    >>> exec(to_python(card, function="of_patient"), module)
    >>> module["of_patient"]({"age": 60}), module["of_patient"]({"age": None})
    ((2, 0.6), (None, None))
    """
    usable = isinstance(function, str) and function.isidentifier()
    if not usable or keyword.iskeyword(function) or hasattr(builtins, function):
        raise InputError(f"function={function!r} cannot be used. Use a name that is free.")
    logic = check_card(card)._logic
    nothing = "(None, None)" if scaling is None else "(None, None, None)"
    found = "(score, risk)" if scaling is None else "(score, risk, scaled score)"
    more = "" if scaling is None else f"\n\n    {scaling.text()}."
    # A title has no control characters, but may have quotes and backslashes.
    title = contents(card).title.replace("\\", "\\\\").replace('"', '\\"')
    parts = [
        f'def {function}(row):\n    """{title}.\n\n    Takes a row, a mapping by column name, and '
        f"returns {found},\n    or {nothing} where the card gives none.{more}\n"
        f'    """\n    nothing = {nothing}'
    ]
    if logic.reads:
        columns = "".join(f"        {_input(one)},\n" for one in logic.reads)
        parts.append(asset("export", "read_row.py.txt").replace("        COLUMNS\n", columns))
    parts.append(f"    units = {logic.base}")
    parts += [_column(column) for column in logic.columns]
    parts.append(_result(logic.unit, card._risk_rows, scaling))
    return "\n".join(parts) + "\n"


def _input(one: InputColumn) -> str:
    spelt = one.text and one.kind != "text"
    fill = float(one.fill) if isinstance(one.fill, int) else one.fill
    return repr((one.name, one.kind, one.has_reading, spelt, one.special, fill, one.refuse))


# -- columns ---------------------------------------------------------------------------------------


def _column(column: ColumnLogic) -> str:
    """Write the units that one column brings."""
    lines = [f"x = {_read(column.inputs[0])}"] if column.combine is None else _combined(column)
    missing = column.missing_units
    if not column.may_miss and column.fill is None:
        lines += ["if x is None:", "    return nothing"]
    elif column.may_miss and missing:
        lines += ["if x is None:", f"    units += {missing}"]
    counted = []
    for term, factor in column.present_terms:
        counted += _condition(term, factor) if isinstance(term, Condition) else _unit(term, factor)
    if counted and column.may_miss:
        lines += ["else:" if missing else "if x is not None:", *(f"    {line}" for line in counted)]
    else:
        lines += counted
    return textwrap.indent("\n".join(lines), "    ")


def _read(one: InputColumn) -> str:
    # One column may be read in two ways: as a number, and for being missing only.
    return f"read[{one.name!r}, {one.kind!r}]"


def _combined(column: ColumnLogic) -> list[str]:
    parts = [_read(one) for one in column.inputs]
    lines = ["parts = (", *(f"    {part}," for part in parts), ")", "x = None"]
    whole = f"{column.combine}(parts)"
    if column.combine == "sum":  # sum() rounds differently in newer versions of Python
        whole = " + ".join(f"parts[{i}]" for i in range(len(parts)))
    lines += ["if None not in parts:", f"    x = {whole}"]
    if column.special:
        lines += [f"if x in {column.special!r}:", "    x = None"]
    if column.fill is not None:
        lines += ["if x is None:", f"    x = {column.fill!r}"]
    return lines


def _condition(term: Condition, factor: int) -> list[str]:
    test = f"x {term.op} {term.value!r}"
    if term.op == "between":
        low, high = term.values
        test = f"{low!r} <= x < {high!r}"
    return [f"if {test}:", f"    units += {factor}"]


def _unit(term: PerUnit, factor: int) -> list[str]:
    """Count steps, as :class:`PerUnit` does."""
    if term.log:
        return _log(term, factor)
    low, high = term.lower, term.upper
    lines = ["c = x"]
    if low is not None:
        lines.append(f"c = {low!r} if c < {low!r} else c")
    if high is not None:
        lines.append(f"c = {high!r} if c > {high!r} else c")
    lines.append(f"c = c * {float(10**term.decimals)!r}")
    if low is None or high is None:
        lines += [f"if abs(c) > {LARGEST_EXACT}:", "    return nothing"]
    return [*lines, f"units += {factor} * math.floor(c + 0.5)"]


def _log(term: PerUnit, factor: int) -> list[str]:
    """List the ends of steps within the clip; those below it are always reached."""
    first, ends = term.log_steps()
    listed = textwrap.wrap(" ".join(f"{end!r}," for end in ends), _WIDTH - 12)
    count = "bisect.bisect_right(ends, x)" + (f" + {first}" if first else "")
    return ["ends = (", *(f"    {line}" for line in listed), ")", f"units += {factor} * ({count})"]


def _result(unit: int, risks: Sequence[RiskRow], scaling: Scaling | None) -> str:
    lines = [f"if not {-INT64} <= units < {INT64}:", "    return nothing"]
    lines.append(f"score = units // {unit}")
    scaled = ""
    if scaling is not None:
        lines.append(f"scaled = {scaling.offset} + ({scaling.multiplier}) * score")
        scaled = ", scaled"
    for row in reversed(risks):
        answer = f"return score, {float(row.risk)!r}{scaled}"
        lines += [answer] if row.low is None else [f"if score >= {row.low}:", f"    {answer}"]
    return textwrap.indent("\n".join(lines), "    ")

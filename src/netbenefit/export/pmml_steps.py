"""Parts of a PMML scorecard: predicates, expressions, and the attributes of one column.

PMML's logic has three values: a comparison with a missing value is neither true nor false.  So a
column's attributes ask first whether it is missing, where the card has an answer to that, and
then only what a value that is there satisfies; where none fits there is no score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast
from xml.etree.ElementTree import Element, SubElement

from netbenefit.cards.terms import Condition, PerUnit, Term, Value
from netbenefit.common.checks import InputError
from netbenefit.common.decimals import LARGEST_EXACT
from netbenefit.export.logic import Step, log_ends, unit_ends

__all__ = ["apply", "attributes", "constant", "discretize", "field_ref", "log_bins", "number_text"]

_PREDICATES = {
    ">=": "greaterOrEqual",
    ">": "greaterThan",
    "<=": "lessOrEqual",
    "<": "lessThan",
    "==": "equal",
    "!=": "notEqual",
}

_Pairs = Sequence[tuple[Term, int]]


def number_text(number: float) -> str:
    """Write a number so that every reader gets the same double.

    >>> number_text(52), number_text(0.1), number_text(1e300)
    ('52', '0.1', '1e+300')
    """
    return repr(number)


def field_ref(name: str) -> Element:
    """Refer to a field."""
    return Element("FieldRef", field=name)


def constant(value: Value) -> Element:
    """Write a value; numbers as doubles, since engines may divide or overflow integers."""
    kind = "string" if isinstance(value, str) else "double"
    found = Element("Constant", dataType=kind)
    found.text = value if isinstance(value, str) else number_text(value)
    return found


def apply(function: str, *arguments: Element) -> Element:
    """Call a built-in function."""
    found = Element("Apply", function=function)
    found.extend(arguments)
    return found


# -- attributes ------------------------------------------------------------------------------------


def attributes(step: Step, field: str, logs: dict[PerUnit, str], largest: float) -> list[Element]:
    """Return the attributes of a column: when which points count.

    Parameters
    ----------
    step : Step
    field : str
        The field that holds its value.
    logs : dict
        The fields that hold the steps of logarithms.
    largest : float
        Codes beyond are refused, so that sums stay exact.
    """
    found = []
    if step.may_miss:  # sources that are refused have a guard of their own
        missing = sum(factor for term, factor in step.terms if term.kind == "any")
        found.append(_attribute(missing, _simple(field, "isMissing")))
    terms = [(term, factor) for term, factor in step.terms if term.kind != "any"]
    if any(isinstance(term, PerUnit) for term, _ in terms):
        return [*found, _counted(terms, field, logs, largest)]
    if not terms:
        return [*found, _attribute(0, _simple(field, "isNotMissing"))]
    if step.kind == "text":
        return found + _level_attributes(terms, field)
    return found + _number_attributes(terms, field)


def _attribute(units: int, predicate: Element) -> Element:
    found = Element("Attribute", partialScore=str(units))
    found.append(predicate)
    return found


def _simple(field: str, operator: str, value: Value | None = None) -> Element:
    found = Element("SimplePredicate", field=field, operator=operator)
    if value is not None:
        found.set("value", value if isinstance(value, str) else number_text(value))
    return found


def _all_of(predicates: Sequence[Element], operator: str = "and") -> Element:
    if len(predicates) == 1:
        return predicates[0]
    found = Element("CompoundPredicate", booleanOperator=operator)
    found.extend(predicates)
    return found


def _values(pairs: _Pairs) -> list[Value]:
    found: dict[Value, None] = {}
    for term, _ in pairs:
        found |= dict.fromkeys(cast(Condition, term).values)
    return list(found)


def _total(pairs: _Pairs, value: Value) -> int:
    return sum(factor * term.value_code(value) for term, factor in pairs)


def _level_attributes(pairs: _Pairs, field: str) -> list[Element]:
    """One attribute for all levels of equal total, one for all others."""
    others = sum(factor for term, factor in pairs if cast(Condition, term).op in ("!=", "not in"))
    together: dict[int, list[Value]] = {}
    for level in _values(pairs):
        together.setdefault(_total(pairs, level), []).append(level)
    together.pop(others, None)
    found = [
        _attribute(total, _all_of([_simple(field, "equal", level) for level in levels], "or"))
        for total, levels in together.items()
    ]
    return [*found, _attribute(others, _simple(field, "isNotMissing"))]


def _number_attributes(pairs: _Pairs, field: str) -> list[Element]:
    """One attribute for each interval of equal total, ascending.

    >>> pairs = [(Condition("age", ">=", 40), 1), (Condition("age", ">", 60), 2)]
    >>> [one.get("partialScore") for one in _number_attributes(pairs, "age")]
    ['0', '1', '3']
    >>> [one.get("partialScore") for one in _number_attributes([(Condition("x", "==", 2), 5)], "x")]
    ['0', '5', '0']
    """
    edges = sorted({float(value) for value in _values(pairs)})
    # Each piece starts at an end or just above it, and goes on to the next that is worth another.
    pieces: list[tuple[float, bool, int]] = [(-math.inf, False, _total(pairs, -math.inf))]
    for edge, after in zip(edges, [*edges[1:], math.inf], strict=True):
        pieces.append((edge, True, _total(pairs, edge)))
        above = math.nextafter(edge, math.inf)
        if above < after:  # else no number lies between
            pieces.append((edge, False, _total(pairs, above)))
    pieces = [piece for k, piece in enumerate(pieces) if k == 0 or piece[2] != pieces[k - 1][2]]
    found = []
    for k, (low, closed, total) in enumerate(pieces):
        bounds = []
        if low > -math.inf:
            bounds.append(_simple(field, "greaterOrEqual" if closed else "greaterThan", low))
        if k + 1 < len(pieces):
            high, above_closed, _ = pieces[k + 1]
            bounds.append(_simple(field, "lessThan" if above_closed else "lessOrEqual", high))
        found.append(_attribute(total, _all_of(bounds or [_simple(field, "isNotMissing")])))
    return found


# -- points per unit -------------------------------------------------------------------------------


def _counted(pairs: _Pairs, field: str, logs: dict[PerUnit, str], largest: float) -> Element:
    """One attribute for all values, worth what an expression says."""
    predicates = [_simple(field, "isNotMissing")]
    for term, _ in pairs:
        if isinstance(term, Condition):
            continue
        if term.log:
            if log_bins(term)[-1][1] > largest:
                raise _too_large(term)
            continue
        most = largest / 10**term.decimals
        for end, operator, bound in zip(
            unit_ends(term), ("greaterOrEqual", "lessOrEqual"), (-most, most), strict=True
        ):
            if end is None:
                predicates.append(_simple(field, operator, bound))
            elif abs(end) > most:
                raise _too_large(term)
    found = Element("Attribute")
    found.append(_all_of(predicates))
    expression = _expression(pairs[0], field, logs)
    for pair in pairs[1:]:
        expression = apply("+", expression, _expression(pair, field, logs))
    SubElement(found, "ComplexPartialScore").append(expression)
    return found


def _too_large(term: PerUnit) -> InputError:
    return InputError(
        f"the rule {term.text()!r} can bring more units than PMML's doubles add up exactly "
        f"({LARGEST_EXACT}). Clip the column at a smaller number."
    )


def _expression(pair: tuple[Term, int], field: str, logs: dict[PerUnit, str]) -> Element:
    term, factor = pair
    if isinstance(term, PerUnit):
        return apply("*", constant(factor), _code(term, field, logs))
    return apply("if", _question(term, field), constant(factor), constant(0))


def _question(term: Condition, field: str) -> Element:
    if not isinstance(term.value, tuple):
        value = cast(Value, term.value)
        return apply(_PREDICATES[term.op], field_ref(field), constant(value))
    if term.op == "between":
        low, high = term.value
        above = apply("greaterOrEqual", field_ref(field), constant(low))
        return apply("and", above, apply("lessThan", field_ref(field), constant(high)))
    function, join = ("equal", "or") if term.op == "in" else ("notEqual", "and")
    parts = [apply(function, field_ref(field), constant(value)) for value in term.value]
    return parts[0] if len(parts) == 1 else apply(join, *parts)


def _code(term: PerUnit, field: str, logs: dict[PerUnit, str]) -> Element:
    if term.log:
        return field_ref(logs[term])
    low, high = unit_ends(term)
    value = field_ref(field)
    if high is not None:
        value = apply("min", value, constant(high))
    if low is not None:
        value = apply("max", value, constant(low))
    raised = apply("*", value, constant(10**term.decimals))
    return apply("floor", apply("+", raised, constant(0.5)))


def log_bins(term: PerUnit) -> list[tuple[float | None, float]]:
    """Return where each step of a logarithm starts, and its code; clipped ones are left out.

    >>> [(start and round(start, 3), code) for start, code in
    ...     log_bins(PerUnit("income", log=True, upper=10))]
    [(None, 0), (0.649, 1), (3.482, 2)]
    """
    low, high = unit_ends(term)
    ends = log_ends(term.decimals).tolist()
    first = sum(end <= (low or 0.0) for end in ends)
    last = len(ends) if high is None else sum(end <= max(high, low or 0.0) for end in ends)
    later: list[tuple[float | None, float]] = [(ends[k], k + 1) for k in range(first, last)]
    return [(None, first), *later]


def discretize(field: str, bins: Sequence[tuple[float | None, float]]) -> Element:
    """Turn a number into the value of the last bin whose start it reaches."""
    found = Element("Discretize", field=field, dataType="double")
    for k, (start, value) in enumerate(bins):
        one = SubElement(found, "DiscretizeBin", binValue=number_text(value))
        interval = SubElement(
            one, "Interval", closure="closedOpen" if start is not None else "openOpen"
        )
        if start is not None:
            interval.set("leftMargin", number_text(start))
        if k + 1 < len(bins):
            interval.set("rightMargin", number_text(cast(float, bins[k + 1][0])))
    return found

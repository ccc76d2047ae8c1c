"""A card as a PMML 4.4 scorecard, the XML that credit systems read.

Each column of the card is a characteristic, whose attributes bring whole partial scores.  Raw
columns are data fields; combined ones, logarithms and filled ones are derived fields.  The outputs
are "score" and "risk" (followed by a number where a column has that name), both missing where the
card refuses a row.  A card with decimal steps adds up units of a point, which are divided and
rounded down to the score; then there is a third output, "units".

Engines differ in how they take text in a field of numbers: as invalid, or as missing.  Pass numbers
as numbers, text as text, and null where a value is missing.  For a row without a score an engine
may return nothing, or an error that says that the result is undefined.  Sums beyond 2^53 units,
which doubles do not hold, have no score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from itertools import zip_longest
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from netbenefit._version import __version__
from netbenefit.cards import (
    CardLogic,
    ColumnLogic,
    Condition,
    InputColumn,
    PerUnit,
    RiskRow,
    Scorecard,
    Term,
    check_card,
    contents,
    edges,
    group_levels,
    intervals,
    named,
    plain_number,
    total_of,
)
from netbenefit.common import LARGEST_EXACT, InputError, Value
from netbenefit.export.scaling import Scaling

# -- parts of a PMML scorecard: predicates, expressions, and the attributes of one column ----------
# PMML's logic has three values: a comparison with a missing value is neither true nor false.  So
# the first attribute of a column that may be missing is for missing values, and the others are for
# values that are present; where none fits there is no score.


_PREDICATES = {
    ">=": "greaterOrEqual",
    ">": "greaterThan",
    "<=": "lessOrEqual",
    "<": "lessThan",
    "==": "equal",
    "!=": "notEqual",
    "in": "equal",
    "not in": "notEqual",
}

_Pairs = Sequence[tuple[Term, int]]


def value_attribute(value: Value) -> str:
    """Write a value; a number so that every reader gets the same double."""
    return value if isinstance(value, str) else repr(value)


def field_ref(name: str) -> Element:
    """Refer to a field."""
    return Element("FieldRef", field=name)


def constant(value: Value) -> Element:
    """Write a value; numbers as doubles, since engines may divide or overflow integers."""
    found = Element("Constant", dataType="string" if isinstance(value, str) else "double")
    found.text = value_attribute(value)
    return found


def apply(function: str, *arguments: Element) -> Element:
    """Call a built-in function."""
    found = Element("Apply", function=function)
    found.extend(arguments)
    return found


def where_present(field: str, value: Element) -> Element:
    """Return a value, missing where a field is."""
    return apply("if", apply("isNotMissing", field_ref(field)), value)


def sum_of(parts: Sequence[Element]) -> Element:
    """Add up numbers, from left to right."""
    return reduce(partial(apply, "+"), parts)


# -- attributes ------------------------------------------------------------------------------------


def attributes(
    column: ColumnLogic, field: str, logs: dict[PerUnit, str], share: float
) -> list[Element]:
    """Return the attributes of a column: when which points count.

    ``field`` holds its value, ``logs`` name the fields that hold the steps of logarithms, and of a
    rule whose codes have no end more units than ``share`` are refused, so that sums stay exact.
    """
    found, terms, base = [], column.present_terms, column.base
    first = column.inputs[0]
    if column.combine is None and _is_text(first) and first.fill is not None:
        found.append(_attribute(column.units_of(str(first.fill)), _simple(field, "isMissing")))
    elif column.may_miss:  # sources that are refused have a guard of their own
        found.append(_attribute(base + column.missing_units, _simple(field, "isMissing")))
    if any(isinstance(term, PerUnit) for term, _ in terms):
        return [*found, _counted(terms, base, field, logs, share)]
    if not terms:
        return [*found, _attribute(base, _simple(field, "isNotMissing"))]
    if column.kind == "text":
        return found + _level_attributes(terms, base, field)
    return found + _number_attributes(terms, base, field)


def _attribute(units: int, predicate: Element) -> Element:
    found = Element("Attribute", partialScore=str(units))
    found.append(predicate)
    return found


def _simple(field: str, operator: str, value: Value | None = None) -> Element:
    found = Element("SimplePredicate", field=field, operator=operator)
    if value is not None:
        found.set("value", value_attribute(value))
    return found


def _all_of(predicates: Sequence[Element], operator: str = "and") -> Element:
    if len(predicates) == 1:
        return predicates[0]
    found = Element("CompoundPredicate", booleanOperator=operator)
    found.extend(predicates)
    return found


def _level_attributes(pairs: _Pairs, base: int, field: str) -> list[Element]:
    """One attribute for all levels of equal total, one for all others."""
    groups, others = group_levels([term for term, _ in pairs], partial(total_of, pairs))
    found = [
        _attribute(base + total, _all_of([_simple(field, "equal", v) for v in levels], "or"))
        for total, levels in groups.items()
    ]
    return [*found, _attribute(base + others, _simple(field, "isNotMissing"))]


def _number_attributes(pairs: _Pairs, base: int, field: str) -> list[Element]:
    """One attribute for each interval of equal total, ascending."""
    pieces = intervals(edges(term for term, _ in pairs), partial(total_of, pairs))
    found = []
    for (low, total), after in zip_longest(pieces, pieces[1:]):
        bounds = []
        if low.value > -math.inf:
            operator = "greaterThan" if low.above else "greaterOrEqual"
            bounds.append(_simple(field, operator, float(low.value)))
        if after is not None:
            operator = "lessOrEqual" if after[0].above else "lessThan"
            bounds.append(_simple(field, operator, float(after[0].value)))
        bounds = bounds or [_simple(field, "isNotMissing")]
        found.append(_attribute(base + total, _all_of(bounds)))
    return found


# -- points per unit -------------------------------------------------------------------------------


def _counted(
    pairs: _Pairs, base: int, field: str, logs: dict[PerUnit, str], share: float
) -> Element:
    """One attribute for all values, worth the value of an expression."""
    predicates = [_simple(field, "isNotMissing")]
    for term, factor in pairs:
        if isinstance(term, Condition) or term.most_code is not None:
            continue
        most = share / abs(factor) / 10**term.decimals
        for end, operator, bound in zip(
            term.ends, ("greaterOrEqual", "lessOrEqual"), (-most, most), strict=True
        ):
            if end is None:
                predicates.append(_simple(field, operator, bound))
            elif abs(end) > most:
                raise _too_large(f"the rule {term.text()!r}")
    found = Element("Attribute")
    found.append(_all_of(predicates))
    parts = [_expression(pair, field, logs) for pair in pairs]
    expression = sum_of([*parts, *([constant(base)] if base else [])])
    SubElement(found, "ComplexPartialScore").append(expression)
    return found


def _too_large(what: str) -> InputError:
    return InputError(
        f"{what} can bring more units than PMML's doubles add up exactly ({LARGEST_EXACT}). Clip "
        "the column at a smaller number, or give the card smaller points."
    )


def _expression(pair: tuple[Term, int], field: str, logs: dict[PerUnit, str]) -> Element:
    term, factor = pair
    if isinstance(term, PerUnit):
        return apply("*", constant(factor), _code(term, field, logs))
    return apply("if", _test(term, field), constant(factor), constant(0))


def _test(term: Condition, field: str) -> Element:
    functions = ["greaterOrEqual", "lessThan"]
    if term.op != "between":
        functions = [_PREDICATES[term.op]] * len(term.values)
    parts = [
        apply(function, field_ref(field), constant(value))
        for function, value in zip(functions, term.values, strict=True)
    ]
    return parts[0] if len(parts) == 1 else apply("or" if term.op == "in" else "and", *parts)


def _code(term: PerUnit, field: str, logs: dict[PerUnit, str]) -> Element:
    if term.log:
        return field_ref(logs[term])
    low, high = term.ends
    value = field_ref(field)
    if high is not None:
        value = apply("min", value, constant(high))
    if low is not None:
        value = apply("max", value, constant(low))
    raised = apply("*", value, constant(10**term.decimals))
    return apply("floor", apply("+", raised, constant(0.5)))


def discretize(field: str, term: PerUnit) -> Element:
    """Turn a number into its step of a logarithm; steps that are clipped are left out."""
    first, ends = term.log_steps()
    found = Element("Discretize", field=field, dataType="double")
    for code, (start, end) in enumerate(zip_longest([None, *ends], ends), start=first):
        one = SubElement(found, "DiscretizeBin", binValue=repr(code))
        closure = "closedOpen" if start is not None else "openOpen"
        interval = SubElement(one, "Interval", closure=closure)
        if start is not None:
            interval.set("leftMargin", repr(start))
        if end is not None:
            interval.set("rightMargin", repr(end))
    return found


#: What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LARGEST = "1.7976931348623157e+308"
#: What ``str.strip`` takes away, as a regular expression (without "]", at which pmml4s cuts text).
_BLANK = r"(?:\s|\p{Z}|\x1c|\x1d|\x1e|\x1f|\x85)"


def to_pmml(card: Scorecard, *, scaling: Scaling | None = None) -> str:
    """Return a card as a PMML document.

    Parameters
    ----------
    card : Scorecard
    scaling : Scaling, optional
        Adds the output "scaled score".

    Returns
    -------
    str

    Raises
    ------
    InputError
        Where PMML cannot express exactly what the card does: control characters in names or
        levels, a column that is read as numbers and as text, a number as special code of a text
        column, points per unit beyond what doubles count exactly.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> text = to_pmml(card)
    >>> '<Attribute partialScore="2">' in text and '<Characteristic name="age">' in text
    True
    """
    logic = check_card(card)._logic
    root = Element("PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    header = SubElement(root, "Header", description=_checked(contents(card).title))
    SubElement(header, "Application", name="netbenefit", version=__version__)
    _check(logic)
    # A dictionary has at least one field; that of a card without rules is not used.
    shown = logic.inputs or (InputColumn("none", "any"),)
    fields = SubElement(root, "DataDictionary", numberOfFields=str(len(shown)))
    fields.extend(_data_field(one) for one in shown)
    root.append(_scorecard(logic, card._risk_rows, scaling))
    indent(root)
    text = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _checked(text: str) -> str:
    found = _FORBIDDEN.search(text)
    if found:
        raise InputError(
            f"{text!r} holds the character {found[0]!r}, which XML cannot. Rename the column or "
            "level before fitting the card."
        )
    return text


def _check(logic: CardLogic) -> None:
    """Refuse raw columns of two types, and what XML cannot hold."""
    known = {one.name: one.kind for one in logic.inputs}
    for one in logic.reads:
        if one.kind not in ("any", known[one.name]):
            raise InputError(
                f"column {one.name!r} is read as {one.kind} and as {known[one.name]}, but a field "
                "of PMML has one type. Split the column in two."
            )
    for one in logic.inputs:
        for text in (one.name, one.fill, *one.special):
            _checked(str(text))
    for column in logic.columns:
        for value in (column.name, *named(term for term, _ in column.terms)):
            _checked(str(value))


class _Fields:
    """Derived fields, and names for them that no other field has."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self.elements: list[Element] = []

    def name(self, base: str) -> str:
        """Return a name that is free."""
        name, k = base, 1
        while name in self._taken:
            k += 1
            name = f"{base} {k}"
        self._taken.add(name)
        return name

    def add(self, base: str, kind: str, expression: Element) -> str:
        """Add a derived field; return its name."""
        name = self.name(base)
        optype = "categorical" if kind == "string" else "continuous"
        field = Element("DerivedField", name=name, optype=optype, dataType=kind)
        field.append(expression)
        self.elements.append(field)
        return name


def _scorecard(logic: CardLogic, risks: Sequence[RiskRow], scaling: Scaling | None) -> Element:
    found = Element(
        "Scorecard",
        modelName="scorecard",
        functionName="regression",
        initialScore="0",
        useReasonCodes="false",
    )
    fields = _Fields([*logic.features, *(column.name for column in logic.columns)])
    schema = SubElement(found, "MiningSchema")
    schema.extend(_mining_field(one) for one in logic.inputs)
    if not logic.inputs:
        SubElement(schema, "MiningField", name="none", usageType="supplementary")
    found.append(_output(logic.unit, risks, fields, scaling))
    characteristics = Element("Characteristics")
    # All units together are then exact in doubles.
    share = (LARGEST_EXACT - logic.bounded_units) / max(1, len(logic.open_factors))
    if share < 0:
        raise _too_large("the rules together")
    read = {one.name: _read(one, fields) for one in logic.inputs}
    for column in logic.columns:
        value = _value(column, read, fields)
        logs = {
            term: fields.add(f"{column.name} (ln steps)", "double", discretize(value, term))
            for term, _ in column.terms
            if isinstance(term, PerUnit) and term.log
        }
        part = SubElement(characteristics, "Characteristic", name=column.name)
        part.extend(attributes(column, value, logs, share))
        if column.combine is not None:
            characteristics.extend(_guard(one) for one in column.inputs if one.refuse)
    if not logic.columns:
        part = SubElement(characteristics, "Characteristic", name="no rules")
        part.append(_attribute(0, Element("True")))
    if fields.elements:
        SubElement(found, "LocalTransformations").extend(fields.elements)
    found.append(characteristics)
    return found


def _guard(one: InputColumn) -> Element:
    """Give no score where a source is missing that must not be."""
    found = Element("Characteristic", name=f"{one.name}: present")
    found.append(_attribute(0, _simple(one.name, "isNotMissing")))
    return found


# -- reading ---------------------------------------------------------------------------------------


def _data_field(one: InputColumn) -> Element:
    if _is_text(one):
        return Element("DataField", name=one.name, optype="categorical", dataType="string")
    found = Element("DataField", name=one.name, optype="continuous", dataType="double")
    # All that is finite: infinity has no score.
    SubElement(
        found, "Interval", closure="closedClosed", leftMargin=f"-{_LARGEST}", rightMargin=_LARGEST
    )
    for code in _number_codes(one):
        SubElement(found, "Value", value=code, property="missing")
    return found


def _is_text(one: InputColumn) -> bool:
    return one.kind == "text" or (
        one.kind == "any" and all(isinstance(code, str) for code in one.special)
    )


def _number_codes(one: InputColumn) -> list[str]:
    """Write the special codes of a field of numbers; of those that spell one, the number."""
    words = [code for code in one.text_codes if code.strip() and plain_number(code) is None]
    return [*map(repr, one.number_codes), *words]


def _text_codes(one: InputColumn) -> list[str]:
    odd = [code for code in one.number_codes if str(code) not in one.text_codes]
    if odd:
        raise InputError(
            f"column {one.name!r} holds text, but the number {odd[0]!r} is one of its special "
            f"codes. A text field of PMML cannot tell it from {str(odd[0])!r}: add that as a code."
        )
    return [code for code in one.text_codes if code.strip()]


def _mining_field(one: InputColumn) -> Element:
    found = Element(
        "MiningField", name=one.name, usageType="active", invalidValueTreatment="returnInvalid"
    )
    if one.fill is not None and not _is_text(one):
        # Where only being missing matters, any number will do.
        number = 0 if isinstance(one.fill, str) else one.fill
        found.set("missingValueReplacement", repr(number))
        found.set("missingValueTreatment", "asValue")
    return found


def _read(one: InputColumn, fields: _Fields) -> str:
    """Return the field that holds an input as read: in text, blanks and codes are missing."""
    if not _is_text(one):
        return one.name
    codes = ["", *_text_codes(one)]
    bare = "|".join(_literal(code) for code in codes if code == code.strip())
    padded = "".join(f"|{_literal(code)}" for code in codes if code != code.strip())
    missing = rf"^(?:{_BLANK}*(?:{bare}){_BLANK}*{padded})\z"
    known = apply("not", apply("matches", field_ref(one.name), constant(missing)))
    value = apply("if", known, field_ref(one.name))
    return fields.add(f"{one.name} (read)", "string", where_present(one.name, value))


def _literal(text: str) -> str:
    """Write text in a regular expression, without what engines stumble over in an element."""
    return re.sub(r"[^\w\x80-\U0010ffff ]", lambda sign: rf"\x{ord(sign[0]):02x}", text)


def _value(column: ColumnLogic, read: dict[str, str], fields: _Fields) -> str:
    """Return the field that holds the value of a column, combined where it is."""
    sources = [read[one.name] for one in column.inputs]
    if column.combine is None:
        return sources[0]
    parts = [field_ref(source) for source in sources]
    value = sum_of(parts) if column.combine == "sum" else apply(column.combine, *parts)
    for source in sources:  # max and min ignore missing values, which the card does not
        value = where_present(source, value)
    # A rule's column may have the name of a raw one: the derived field has its own.
    name = fields.add(f"{column.name} ({column.combine})", "double", value)
    if column.number_codes:
        value = field_ref(name)
        for code in column.number_codes:
            value = apply("if", apply("notEqual", field_ref(name), constant(code)), value)
        # Some engines need the test for being present.
        name = fields.add(f"{name}, read", "double", where_present(name, value))
    if column.fill is None:
        return name
    fill = apply("if", apply("isMissing", field_ref(name)), constant(column.fill), field_ref(name))
    return fields.add(f"{name}, filled", "double", fill)


def _output(
    unit: int, risks: Sequence[RiskRow], fields: _Fields, scaling: Scaling | None
) -> Element:
    found = Element("Output")

    def add(base: str, expression: Element | None = None) -> str:
        name = fields.name(base)
        feature = "predictedValue" if expression is None else "transformedValue"
        kind = {"feature": feature, "optype": "continuous", "dataType": "double"}
        field = SubElement(found, "OutputField", {"name": name, **kind})
        field.extend([] if expression is None else [expression])
        return name

    if unit == 1:
        score = add("score")
    else:
        points = apply("/", field_ref(add("units")), constant(unit))
        score = add("score", apply("floor", points))
    add("risk", _risk(risks, score))
    if scaling is not None:
        times = apply("*", constant(scaling.multiplier), field_ref(score))
        add("scaled score", apply("+", constant(scaling.offset), times))
    return found


def _risk(risks: Sequence[RiskRow], score: str) -> Element:
    """Look a score up, from the end (engines may return the bins of Discretize as text)."""
    found = constant(risks[0].risk)
    for row in risks[1:]:
        reached = apply("greaterOrEqual", field_ref(score), constant(row.low or 0))
        found = apply("if", reached, constant(row.risk), found)
    return where_present(score, found)

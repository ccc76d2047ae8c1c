"""A card as a calculator: one HTML file that works offline, on a phone, and prints as a card.

The page holds the script of :mod:`netbenefit.export.javascript` as it is, so that a filled-in form
gets the score that a row of a table gets.  Its security policy allows that script only, and no
connections.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from html import escape
from itertools import count, zip_longest
from typing import Any, Literal

from netbenefit._version import __version__
from netbenefit.cards import (
    ANY_OTHER,
    LEVELS,
    NOT_KNOWN,
    Asked,
    CardLogic,
    ColumnLogic,
    Condition,
    HeldOut,
    InputColumn,
    Labels,
    PerUnit,
    Question,
    RiskRow,
    Scorecard,
    Term,
    check_card,
    columns_with_others,
    combined_text,
    contents,
    integer_text,
    is_finite,
    join_words,
    level_order,
    named,
    percent,
    scores_text,
    strip_control,
    value_text,
)
from netbenefit.common import InputError, Value, asset
from netbenefit.export.javascript import card_script, literal, term_data
from netbenefit.export.scaling import Scaling

# -- the page of a calculator: fields, result, and the card itself, with every name escaped --------


Control = Literal["check", "choice", "select", "number"]

#: A wall has room for large letters where there are few lines.
_SIZES = ((15, "few"), (28, "some"))


@dataclass(frozen=True)
class Field:
    """One raw column, and how to ask for it."""

    name: str
    control: Control
    options: tuple[tuple[str, Value], ...] = ()  #: words and value, of a choice or select
    unknown: str | None = None  #: words for "not known", where the card can do without
    unseen: bool = False  #: whether training had no missing value
    whole: bool = False  #: whether training had whole numbers only
    hint: str = ""
    codes: tuple[float, ...] = ()  #: numbers that mean "not known", wherever they lie


@dataclass(frozen=True)
class Group:
    """The fields of one column that rules use: several where it is combined."""

    name: str
    note: str  #: how it is combined; empty for a raw column
    fields: tuple[Field, ...]


# -- the form --------------------------------------------------------------------------------------


def _form(groups: Sequence[Group], labels: Labels) -> str:
    parts, places = [], count()
    for group in groups:
        inner = "\n".join(_field_html(next(places), one, labels) for one in group.fields)
        if group.note:
            inner = (
                f'<fieldset class="group"><legend>{_name(labels.called(group.name))}</legend>'
                f'<p class="hint">{_text(group.note)}</p>\n{inner}</fieldset>'
            )
        parts.append(inner)
    can_miss = any(one.unknown is not None for group in groups for one in group.fields)
    rest = '<button type="button" id="rest">Set the rest to “not known”</button>'
    return (
        '<form id="form" class="panel" autocomplete="off" novalidate aria-label="Values">\n'
        + "\n".join(parts)
        + f'\n<p class="buttons">{rest if can_miss else ""}'
        '<button type="button" id="clear">Clear</button></p>\n</form>'
    )


def _field_html(place: int, one: Field, labels: Labels) -> str:
    """Return one field; controls are found by the field's number, never by a name."""
    known = labels.of(one.name)
    label = _name(labels.called(one.name))
    unit = f' <span class="column">in {_text(known.unit)}</span>' if known.unit else ""
    options = [(text, str(k)) for k, (text, _) in enumerate(one.options)]
    if one.unknown is not None:
        options.append((one.unknown, "unknown"))
    if one.control == "check":
        box = f'<input type="checkbox" id="f{place}" aria-describedby="f{place}h">'
        hint = f'<p class="hint" id="f{place}h">{_text(one.hint)}</p>'
        inner = f'<label class="tick">{box} <span>{label}</span></label>{hint}'
    elif one.control == "choice":
        inner = _choice(place, options, label)
    elif one.control == "select":
        inner = _select(place, options, label + unit)
    else:
        hint = "; ".join(filter(None, [known.range_text, one.hint]))
        inner = _number(place, replace(one, hint=hint), label + unit)
    caution = f'<p class="caution" id="f{place}c" hidden></p>'
    return f'<div class="field {one.control}" data-field="{place}">{inner}{caution}</div>'


def _choice(place: int, options: Sequence[tuple[str, str]], label: str) -> str:
    radios = "".join(
        f'<label><input type="radio" name="f{place}" value="{value}"> <span>{_text(text)}</span>'
        "</label>"
        for text, value in options
    )
    return f'<fieldset><legend>{label}</legend><div class="radios">{radios}</div></fieldset>'


def _select(place: int, options: Sequence[tuple[str, str]], label: str) -> str:
    inner = "".join(
        f'<option value="{value}" dir="auto">{_text(text)}</option>'
        for text, value in [("choose …", ""), *options]
    )
    return (
        f'<label for="f{place}">{label}</label>'
        f'<select id="f{place}" aria-describedby="f{place}c">{inner}</select>'
    )


def _number(place: int, one: Field, label: str) -> str:
    hint = f'<p class="hint" id="f{place}h">{_text(one.hint)}</p>' if one.hint else ""
    described = f"f{place}h f{place}c" if one.hint else f"f{place}c"
    mode = "numeric" if one.whole else "decimal"
    unknown = ""
    if one.unknown is not None:
        unknown = (
            f'<label class="tick quiet"><input type="checkbox" id="f{place}u" '
            f'aria-describedby="f{place}l"> <span>{_text(one.unknown)}</span></label>'
        )
    return (
        f'<label for="f{place}" id="f{place}l">{label}</label>{hint}'
        f'<div class="line"><span class="with-unit"><input id="f{place}" type="number" dir="ltr" '
        f'inputmode="{mode}" step="{"1" if one.whole else "any"}" aria-describedby="{described}">'
        f"</span>{unknown}</div>"
    )


def _text(text: str) -> str:
    return escape(strip_control(text))


def _name(name: str) -> str:
    """Escape a name, and keep the direction of its writing to itself."""
    return f"<bdi>{_text(name)}</bdi>"


# -- the card --------------------------------------------------------------------------------------


def _card(card: Scorecard, scaling: str) -> str:
    """Return the card as it is printed for a wall."""
    printed = contents(card)
    places = {row.risk: place for place, row in enumerate(card._risk_rows)}
    body = "".join(
        _asked(place, asked, question)
        for place, (asked, question) in enumerate(
            zip(printed.questions, card.questions, strict=True)
        )
    )
    if not body:  # a table without a row is none to a screen reader
        body = (
            '<tbody role="rowgroup"><tr role="row"><td role="cell" colspan="3">'
            "The card asks nothing.</td></tr></tbody>"
        )
    risks = "".join(
        f'<tr role="row" data-level="{places[row.risk]}"><th role="rowheader" scope="row">'
        f'{escape(scores)}</th><td role="cell">{escape(risk)}</td></tr>'
        for row, (scores, risk) in zip(card.risk_table(), printed.table, strict=True)
    )
    notes = "".join(f"<li>{_text(note)}</li>" for note in [*printed.notes, scaling] if note)
    # On paper, five levels are side by side, and take two lines.
    lines = (
        sum(len(asked.answers) for asked in printed.questions)
        + 2 * -(-len(printed.table) // 5)
        + len(printed.notes)
    )
    size = next((name for most, name in _SIZES if lines <= most), "many")
    sheet = asset("export", "calculator-card.html").replace("\n", "")
    return sheet.format(
        size=size,
        title=escape(printed.title),
        count=escape(printed.asked),
        questions=body,
        score=escape(printed.score),
        risks=risks,
        notes=f'<ul class="notes">{notes}</ul>' if notes else "",
        footer=_origin(card, printed.footer),
    )


def _origin(card: Scorecard, footer: str) -> str:
    """Say from how many rows the card was made; the rest is folded on a screen."""
    if not footer:
        return ""
    rest, made = escape(footer), card.provenance
    line = "How this card was made"
    if made is not None and made.n_rows is not None:
        line = f"{'Risks' if made.updated else 'Made'} from {made.n_rows:,.10g} records"
        if made.n_events is not None:
            line += f", {made.n_events:,.10g} of them with the event"
    return (
        f'<details class="origin on-screen"><summary>{line}</summary><p>{rest}</p></details>'
        f'<p class="origin on-paper">{rest}</p>'
    )


def _seen(found: HeldOut | None) -> tuple[list[str | None], list[str]]:
    """Return from which scores on counts of held-out rows hold, and what they say."""
    levels = () if found is None else found.levels
    texts = []
    nexts = [level.first for level in levels[1:]]
    for level, after in zip_longest(levels, nexts):
        last = None if after is None else after - 1
        scores = scores_text(RiskRow(level.first, last, 0.0))
        text = f"No held-out record had a score of {scores}."
        if level.low is not None and level.high is not None:
            low, high = (percent(end) for end in (level.low, level.high))
            events = f"{level.events:,.10g}" if level.events else "none"
            text = f"Of {level.rows:,.10g} held-out records with a score of {scores}, {events} had"
            if level.rows == 1:
                had = "had" if level.events else "did not have"
                text = f"The only held-out record with a score of {scores} {had}"
            text += f" the event (95% interval of the risk: {low} to {high})."
        texts.append(text)
    return [None if one.first is None else str(one.first) for one in levels], texts


def _asked(place: int, asked: Asked, question: Question) -> str:
    """Return a question of the card; its name and the blank stand beside the first answer."""
    rows, sign = len(asked.answers), "+ " if place else ""
    name = f'<th role="rowheader" scope="rowgroup" rowspan="{rows}">{_name(asked.name)}</th>'
    blank = (
        f'<td role="cell" rowspan="{rows}" class="on-paper blank">{sign}'
        '<span class="line-out"></span></td>'
    )
    parts = []
    first = len(question.units)  # lines that say what a unit is worth are no answers
    for i, (words, points) in enumerate(asked.answers):
        data = f' data-question="{place}" data-answer="{i - first}"' if i >= first else ""
        parts.append(
            f'<tr role="row"{data}>{"" if i else name}<td role="cell"><bdi data-words>'
            f'{escape(words)}</bdi></td><td role="cell">{escape(points)}</td>'
            f"{'' if i else blank}</tr>"
        )
    return f'<tbody role="rowgroup">{"".join(parts)}</tbody>'


#: In this order: rules for wide screens and for paper come last.
_STYLES = ("fields", "result", "media")
#: Most answers whose points are listed beside a field.
_MOST_LISTED = 8


def to_calculator(
    card: Scorecard,
    *,
    threshold: float | None = None,
    scaling: Scaling | None = None,
) -> str:
    """Return a card as one HTML file: fields to fill in, score and risk, and the card to print.

    Fields have the names and units of the card's labels (:meth:`Scorecard.with_labels`), and refuse
    numbers outside of the plausible ranges.

    Parameters
    ----------
    card : Scorecard
    threshold : float, optional
        The decision threshold to start with: the risk, between 0 and 1, from which one would act.
        Users of the page can change it.  Without one, the page asks for it.
    scaling : Scaling, optional
        Shows the scaled score beside the score, and on the card how it is read.

    Returns
    -------
    str
        The page, without any link to the outside.  Write it to a file as UTF-8.

    Raises
    ------
    InputError
        Where the threshold is no risk between 0 and 1.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("lactate", ">=", 2), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> card = card.with_labels({"columns": {"lactate": {"unit": "mmol/l"}}})
    >>> text = to_calculator(card, threshold=0.2)
    >>> text.startswith("<!DOCTYPE html>"), "mmol/l" in text, "http://" in text
    (True, True, False)
    """
    if threshold is not None and not (is_finite(threshold) and 0 < threshold < 1):
        raise InputError(f"threshold={threshold!r} must be a risk between 0 and 1, such as 0.2.")
    groups = groups_of(card)
    fields = [one for group in groups for one in group.fields]
    exact = None if threshold is None else float(threshold)
    data = _page_data(card, fields, exact)
    script = (
        f'"use strict";\n(() => {{\n{card_script(card, scaling)}\nconst PAGE = {literal(data)};\n\n'
        f"{asset('export', 'calculator.js')}}})();\n"
    )
    style = "\n".join(asset("export", f"calculator-{part}.css") for part in _STYLES)
    scaled = '\n<div><dt>Scaled score</dt><dd id="scaled"></dd></div>'
    some, none = "Fill in all fields to see score and risk.", "There is nothing to fill in."
    return asset("export", "calculator.html").format(
        policy=escape(_policy(script, style)),
        generator=escape(f"netbenefit {__version__}"),
        title=escape(contents(card).title),
        lead=some if groups else none,
        style=style,
        form=_form(groups, card.labels) if groups else "",
        threshold="" if exact is None else _percent_text(exact),
        card=_card(card, "" if scaling is None else scaling.text()),
        scaled="" if scaling is None else scaled,
        script=script,
    )


def _page_data(card: Scorecard, fields: list[Field], threshold: float | None) -> dict[str, Any]:
    """Return what the page's own script has to know, as data for JSON."""
    places = {row.risk: place for place, row in enumerate(card._risk_rows)}
    steps = {column.name: place for place, column in enumerate(card._logic.columns)}
    unit = card._logic.unit
    seen_from, seen = _seen(card.held_out)
    labels = card.labels
    return {
        "fields": [
            {
                "name": one.name,
                "label": strip_control(labels.called(one.name)),
                "control": one.control,
                "values": [value for _, value in one.options],
                "canMiss": one.unknown is not None,
                "unseen": one.unseen,
                "whole": one.whole,
                "low": labels.of(one.name).low,
                "high": labels.of(one.name).high,
                "codes": one.codes,
                "rangeText": labels.of(one.name).range_text,
            }
            for one in fields
        ],
        "questions": [
            {
                "step": steps[question.feature],
                "name": strip_control(labels.called(question.feature)),
                # Points per unit never decide which answer applies.
                "terms": [None if a.term is None else term_data(a.term) for a in question.answers],
                "counted": bool(question.units),
            }
            for question in card.questions
        ],
        "risks": [percent(row.risk, card.thresholds) for row in card._risk_rows],
        # Rows of the printed table: which of these risks, and its first score in words.
        "listed": [
            [places[row.risk], None if row.low is None else integer_text(row.low)]
            for row in card.risk_table()
        ],
        "names": [strip_control(labels.called(column.name)) for column in card._logic.columns],
        "seenFrom": seen_from,
        "seen": seen,
        "decimals": len(str(unit)) - 1,
        "threshold": threshold,
    }


def _percent_text(threshold: float) -> str:
    """Write a threshold in percent, as short as four decimals allow."""
    percent = Decimal(repr(threshold)).scaleb(2)
    short = round(percent, 4)
    return f"{(short or percent).normalize():f}"


def _policy(script: str, style: str) -> str:
    """Allow these two texts, and nothing else to run or load."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


# -- one field per raw column, of the kind that fits its rules -------------------------------------


def groups_of(card: Scorecard) -> tuple[Group, ...]:
    """Return the fields of a card, in the order of the printed card."""
    logic = check_card(card)._logic
    asked = {question.feature: question for question in card.questions}
    order = {name: place for place, name in enumerate(asked)}
    columns = sorted(logic.columns, key=lambda column: order.get(column.name, len(order)))
    groups, shown = [], set()
    for column in columns:
        names = [one.name for one in column.inputs if one.name not in shown]
        shown |= set(names)
        fields = tuple(_field(name, logic, asked) for name in dict.fromkeys(names))
        if fields:
            groups.append(Group(column.name, _note(column, asked.get(column.name)), fields))
    return tuple(groups)


def _note(column: ColumnLogic, question: Question | None) -> str:
    if column.combine is None:
        return ""
    combined = combined_text(column.combine, (one.name for one in column.inputs))
    return "; ".join(filter(None, [combined, _worths(question)]))


def _field(name: str, logic: CardLogic, asked: Mapping[str, Question]) -> Field:
    """Describe the field of one raw column, for all the columns that use it."""
    uses, own = logic.uses(name), logic.own_column(name)
    one = next(one for one in logic.inputs if one.name == name)
    terms = [term for term, _ in own.terms] if own is not None else []
    unknown = _unknown(one, uses)
    control = _control(one, uses, terms, unknown)
    found = Field(
        name, control, unknown=unknown, unseen=one.fill is not None and not one.saw_missing
    )
    question = asked.get(name) if own is not None else None
    if control == "number":
        codes = tuple(one.number_codes)
        return replace(found, whole=one.whole, hint=_hint(one, question), codes=codes)
    if control == "check":
        return replace(found, hint=_worths(question))
    if control == "select":
        found = replace(found, options=_options(one, terms))
    elif one.kind == "any":
        found = replace(found, options=(("known", _apart(one.special)),))
    else:
        found = replace(found, options=(("yes", 1), ("no", 0)))
    if question is None or own is None:
        return found
    options = [(_with_points(text, question, value), value) for text, value in found.options]
    if unknown is not None:
        fill = own.last.fill
        unknown = _with_points(unknown, question, fill)
    return replace(found, options=tuple(options), unknown=unknown)


def _with_points(text: str, question: Question, value: Value | None) -> str:
    """Add to an answer what it is worth."""
    answer = question.answer_to(value)
    return text if answer is None else f"{text} ({_points(answer.points)})"


def _points(points: int) -> str:
    return f"{integer_text(points)} point{'' if abs(points) == 1 else 's'}"


def _control(
    one: InputColumn, uses: Sequence[ColumnLogic], terms: Sequence[Term], unknown: str | None
) -> Control:
    present = [term for term in terms if term.kind != "any"]
    if any(column.combine is not None for column in uses):
        return "number"  # the combined value depends on the number itself
    if one.kind == "text":
        return "select"
    if one.kind == "any":
        return "choice"
    if any(isinstance(term, PerUnit) and term.binary for term in present):
        return "check" if unknown is None else "choice"
    if present and all(isinstance(term, Condition) and term.op in LEVELS for term in present):
        return "select"
    return "number"


def _unknown(one: InputColumn, uses: Iterable[ColumnLogic]) -> str | None:
    """Say what "not known" means for a column; None where the card needs its value."""
    if one.refuse:
        return None
    if one.fill is not None:
        binary = any(column.is_binary for column in uses)
        return f"not known (counts as {value_text(one.fill, binary=binary)})"
    words = []
    for column in uses:
        if not (column.may_miss or column.fill is not None):
            return None
        if column.fill is not None:
            words.append(f"{column.name} counts as {value_text(column.fill)}")
    return f"not known ({', '.join(words)})" if words else "not known"


def _options(one: InputColumn, terms: Sequence[Term]) -> tuple[tuple[str, Value], ...]:
    """List the levels of a column, and "any other" where the card knows what others are worth."""
    more = named(terms) if one.levels else level_order(terms, ())
    levels = list(dict.fromkeys([*one.levels, *more]))
    usable = [v for v in levels if v not in one.special and str(v).strip()]
    options = [(value_text(level), level) for level in usable]
    if columns_with_others(terms) or not one.levels:
        options.append((ANY_OTHER, _apart([*levels, *one.special], text=one.kind == "text")))
    return tuple(options)


def _apart(taken: Sequence[Value], text: bool = False) -> Value:
    """Return a value that is none of some."""
    tried: Iterable[Value] = (f"other{'…' * k}" if text else k + 0.5 for k in count())
    return next(value for value in tried if value not in taken)


def _hint(one: InputColumn, question: Question | None) -> str:
    codes = [value_text(code) for code in one.number_codes]
    parts = (
        one.whole and "whole number",
        _worths(question),
        codes and f"{join_words(codes)} means not known",
    )
    return "; ".join(part for part in parts if part)


def _worths(question: Question | None) -> str:
    """Say what each answer to a question is worth; of many, only that there are many."""
    if question is None:
        return ""
    parts = []
    for answer in question.listed():
        if isinstance(answer.term, PerUnit):
            parts.append(f"{_counted(answer.term)} → × {integer_text(answer.points)}")
        elif answer.text != NOT_KNOWN:
            parts.append(f"{answer.text} → {integer_text(answer.points)}")
    if len(parts) <= _MOST_LISTED:
        return f"points: {', '.join(parts)}" if parts else ""
    return f"{len(parts)} answers with different points: see the card below"


def _counted(term: PerUnit) -> str:
    """Say how points per unit count a number."""
    lower, upper = term.ends
    low, high = (None if v is None else value_text(_short(v)) for v in (lower, upper))
    step = f"{10**-term.decimals:.{term.decimals}f}"
    words = f"counted {'as ln(1 + x) ' if term.log else ''}in steps of {step}"
    name = "x " if term.log else ""
    if low and high:
        return f"{words}, {name}from {low} to {high}"
    if low or high:
        return f"{words}, {name}" + (f"from {low} on" if low else f"up to {high}")
    return words


def _short(number: float) -> float:
    return int(number) if float(number).is_integer() else number

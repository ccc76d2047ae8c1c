"""Drift: how the inputs of a card, its scores and the prevalence differ from what they were.

A card carries little of its training rows: their number, the share of events, the levels of its
text columns, and whether values were missing.  Everything else needs a reference table, such as the
training rows themselves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import (
    NOT_KNOWN,
    Column,
    Condition,
    PerUnit,
    Question,
    Scorecard,
    read_columns,
    strip_control,
    value_text,
)
from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    Tabular,
    check_binary,
    check_weights,
    format_count,
    format_number,
    format_percent,
    shown_on_stdout,
)
from netbenefit.metrics import count_effective_rows, wilson
from netbenefit.updating.observed import Cells, LevelRow, count_levels_of_card, table_lines

#: Most bins of numbers, and most levels of text that are counted one by one.
_MOST_BINS, _MOST_LEVELS = 10, 20


class Bins(NamedTuple):
    """Mass of the rows of two tables by bin."""

    names: tuple[str, ...]
    reference: FloatArray
    new: FloatArray


def stability_index(
    reference: ArrayLike, new: ArrayLike, *, rows: tuple[float, float] | None = None
) -> float:
    """Population stability index Σ (b − a) ln(b / a) of the shares a and b of two tables by bin.

    Where a bin is empty in one table, half a row is added to every bin of both, so that the index
    stays finite. ``rows`` are effective numbers of rows, where masses are sums of weights.
    """
    a, b = np.asarray(reference, dtype=np.float64), np.asarray(new, dtype=np.float64)
    used = (a > 0) | (b > 0)
    a, b = a[used], b[used]
    if (a == 0).any() or (b == 0).any():
        sizes = (a.sum(), b.sum()) if rows is None else rows
        a, b = a + 0.5 * a.sum() / sizes[0], b + 0.5 * b.sum() / sizes[1]
    a, b = a / a.sum(), b / b.sum()
    return float((b - a) @ np.log(b / a))


def chance_index(n_bins: int, rows: tuple[float, float]) -> float:
    """Index that chance alone exceeds in about 5% of cases where nothing has changed.

    For large tables the index is (1/n + 1/m) times a chi-squared of bins − 1 degrees of freedom
    (Yurdakul and Naranjo 2020, Journal of Risk Model Validation).
    """
    from scipy.stats import chi2

    if n_bins < 2:
        return 0.0
    return float(chi2.ppf(0.95, n_bins - 1)) * (1 / rows[0] + 1 / rows[1])


def standardised_difference(
    reference: FloatArray, reference_weight: FloatArray, new: FloatArray, new_weight: FloatArray
) -> float:
    """Difference of means over the root of the mean of both variances (Austin 2009, Stat Med)."""
    if not (reference_weight.sum() > 0 and new_weight.sum() > 0):
        return math.nan
    means, spreads = [], []
    for values, weight in ((reference, reference_weight), (new, new_weight)):
        mean = float(weight @ values) / float(weight.sum())
        means.append(mean)
        spreads.append(float(weight @ (values - mean) ** 2) / float(weight.sum()))
    gap, spread = means[1] - means[0], math.sqrt(sum(spreads) / 2)
    if gap == 0:
        return 0.0
    return gap / spread if spread > 0 else math.copysign(math.inf, gap)


def bins_of(
    reference: Column, reference_weight: FloatArray, new: Column, new_weight: FloatArray
) -> Bins:
    """Count two columns in bins that the reference sets.

    Numbers: tenths of the reference's rows, or its values where these are few. Text: its commonest
    levels, and all others together. Missing values have their own bin.
    """
    there, here = _known(reference, reference_weight), _known(new, new_weight)
    if reference.values.dtype.kind == "f" and new.values.dtype.kind == "f":
        edges = _edges(reference.values[there], reference_weight[there])
        names = _interval_names(edges)
        codes = [np.searchsorted(edges, c.values, side="right") for c in (reference, new)]
    else:
        levels = _levels(reference.values[there], reference_weight[there])
        names = [*levels, "others"]
        place = {level: i for i, level in enumerate(levels)}
        codes = [
            np.array([place.get(str(v), len(levels)) for v in c.values.tolist()], dtype=np.intp)
            for c in (reference, new)
        ]
    masses = []
    pairs = ((codes[0], there, reference_weight), (codes[1], here, new_weight))
    for code, known, weight in pairs:
        found = np.bincount(code[known], weights=weight[known], minlength=len(names))
        masses.append(np.append(found.astype(np.float64), weight[~known].sum()))
    used = (masses[0] > 0) | (masses[1] > 0)
    kept = tuple(name for name, use in zip([*names, "missing"], used, strict=True) if use)
    return Bins(kept, masses[0][used], masses[1][used])


def _known(column: Column, weight: FloatArray) -> NDArray[np.bool_]:
    """Rows with weight whose value is not missing."""
    weighted: NDArray[np.bool_] = weight > 0
    return weighted if column.missing is None else weighted & ~column.missing


def _edges(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Where bins of numbers start, except the first: tenths of the weight, or all values.

    A bin ends with the value that completes a tenth, so that a value of most rows has its own bin.
    """
    distinct, place = np.unique(values, return_inverse=True)
    if distinct.size <= _MOST_BINS:
        few: FloatArray = distinct[1:]
        return few
    mass = np.cumsum(np.bincount(place, weights=weight))
    tenths = np.arange(1, _MOST_BINS) / _MOST_BINS * mass[-1]
    # An exact tenth must find its own value, whatever the sums of weights round to.
    at = np.searchsorted(mass, tenths * (1 - 1e-12))
    edges: FloatArray = np.unique(distinct[np.minimum(at + 1, distinct.size - 1)])
    return edges


def _interval_names(edges: FloatArray) -> list[str]:
    if not edges.size:
        return ["any"]
    texts = [_shown(edge) for edge in edges.tolist()]
    middle = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *middle, f"≥ {texts[-1]}"]


def _levels(values: NDArray[np.object_], weight: FloatArray) -> list[str]:
    """The commonest levels, by mass and then by name."""
    mass: dict[str, float] = {}
    for value, w in zip(values.tolist(), weight.tolist(), strict=True):
        mass[str(value)] = mass.get(str(value), 0.0) + w
    return sorted(mass, key=lambda level: (-mass[level], level))[:_MOST_LEVELS]


class Prevalence(NamedTuple):
    """Share of events then and now; None where it is not known."""

    reference: float | None  #: in the reference table, or by the card's own record
    new: float | None
    low: float | None  #: 95% interval of the new one (Wilson)
    high: float | None
    expected: float  #: mean risk of the new rows: the prevalence that the card expects


def _text(value: Any) -> str:
    return strip_control(str(value))


_2, _3 = partial(format_number, decimals=2), partial(format_number, decimals=3)


def _prevalence_text(p: Prevalence) -> str:
    then = "not recorded" if p.reference is None else f"{format_percent(p.reference)} then"
    now = ""
    if p.new is not None:
        ends = f"{format_percent(p.low)} to {format_percent(p.high)}"
        now = f", {format_percent(p.new)} now (95% interval {ends})"
    return f"prevalence: {then}{now}; the card expects {format_percent(p.expected)}"


_COLUMN_CELLS: Cells = [
    ("column", "column", _text),
    ("PSI", "psi", _3),
    ("by chance", "chance", _3),
    ("std. diff.", "difference", _2),
    ("missing then", "missing_reference", format_percent),
    ("now", "missing", format_percent),
    ("unseen", "unseen", format_percent),
    ("", "unseen_values", _text),
]
_ANSWER_CELLS: Cells = [
    ("answer", "answer", str),
    ("points", "points", partial(format_number, decimals=0)),
    ("mean then", "reference", _3),
    ("now", "new", _3),
    ("PSI", "psi", _3),
    ("std. diff.", "difference", _2),
    ("moves the score by", "shift", _2),
]
_COLUMNS, _ANSWERS = ([name for _, name, _ in cells] for cells in (_COLUMN_CELLS, _ANSWER_CELLS))
_BINS = ("column", "bin", "reference", "new")
_WORDS = ("column", "bin", "answer", "unseen_values")
#: Unseen values that are listed.
_MOST_SHOWN = 5


@dataclass(frozen=True, eq=False, repr=False)
class Drift(Tabular):
    """How inputs, scores and prevalence have changed; each table has one row per item.

    Attributes
    ----------
    columns : Table
        ``column``; ``psi``, the population stability index; ``chance``, what it exceeds by chance
        in 5% of cases without any change; ``difference`` of means, standardised; shares that are
        missing then and now; ``unseen``, the share of levels that training (or the reference) did
        not have, or of numbers beyond the reference's range, and some of them.
    bins : Table
        Counts behind each index: ``column``, ``bin``, ``reference``, ``new``.
    answers : Table
        Each answer to each question of the card: how often it applies then and now (of points per
        unit, the mean number of units), its ``psi`` (applies or not), the standardised difference,
        and ``shift``, the points by which it moves the mean score.
    levels : Table
        Rows on each level of the card, then and now.
    score_psi, score_chance : float
        Index of the levels, and what chance explains.
    beyond : float
        Share of the new rows with a score outside the range of training.
    prevalence : Prevalence
    n_reference, n_new : float
        Mass of the rows; no reference is 0.
    """

    columns: Table
    bins: Table
    answers: Table
    levels: Table
    score_psi: float
    score_chance: float
    beyond: float
    prevalence: Prevalence
    n_reference: float
    n_new: float

    def to_table(self) -> Table:
        """The columns, or the card's levels where there are no columns to compare."""
        return self.columns if self.columns.n_rows else self.levels

    @shown_on_stdout
    def __str__(self) -> str:
        known = self.n_reference > 0
        against = "no reference table"
        if known:
            against = f"against {format_count(self.n_reference)} of reference"
        lines = [f"Drift: {format_count(self.n_new)} rows, {against}", ""]
        lines += [_prevalence_text(self.prevalence), ""]
        if self.columns.n_rows:
            lines += [*table_lines(self.columns, _COLUMN_CELLS), ""]
            lines += [*table_lines(self.answers, _ANSWER_CELLS), ""]
        if known:
            index, chance = format_number(self.score_psi, 3), format_number(self.score_chance, 3)
            lines.append(f"score levels: PSI {index}, by chance up to {chance}")
        if not math.isnan(self.beyond):
            beyond = format_percent(self.beyond)
            lines.append(f"scores beyond those of training: {beyond} of the rows")
        if known or self.columns.n_rows:
            lines.append(
                "By chance: what the index exceeds in 5% of cases where nothing has changed."
            )
        return "\n".join(lines)


class ScoredRows(NamedTuple):
    """Rows that a card has scored, or groups of rows with the same score and outcome."""

    score: IntArray
    event: NDArray[np.bool_] | None
    weight: FloatArray
    effective_rows: float  #: how many rows of equal weight all of them are worth
    columns: Mapping[str, Column] = {}  #: raw, nothing filled in
    seen: Mapping[str, Column] = {}  #: as the rules see them


def card_drift(
    card: Scorecard,
    X: Any,
    reference: Any = None,
    *,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    reference_y: ArrayLike | None = None,
    reference_weight: ArrayLike | None = None,
) -> Drift:
    """Compare the rows that a card meets now with those that it was made for.

    Parameters
    ----------
    card : Scorecard
    X : table
        The new rows, in any form that ``card.score`` takes.
    reference : table, optional
        Rows to compare with, such as the training rows.  Without them, the comparison is with what
        the card itself records: levels, missing values, range of scores, prevalence.
    y, reference_y : (n_rows,) array of 0/1, optional
        Outcomes, for the prevalence.
    sample_weight, reference_weight : (n_rows,) array, optional

    Returns
    -------
    Drift
        Print it; its tables hold the numbers.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 60), 2)], [(1, 0.1), (2, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> drift = card_drift(card, {"age": [50, 60, 70, 80]}, {"age": [40, 50, 60, 70]})
    >>> drift.answers["answer"].tolist(), drift.answers["new"], drift.columns["unseen"]
    (['age: under 60', 'age: 60 or more'], array([0.25, 0.75]), array([0.25]))
    """
    new = _read(card, X, y, sample_weight, "y")
    old = None
    if reference is not None:
        old = _read(card, reference, reference_y, reference_weight, "reference_y")
    elif reference_y is not None or reference_weight is not None:
        raise InputError(
            "reference_y and reference_weight go with reference. Pass that table, too."
        )
    return compare_rows(card, new, old)


def compare_rows(card: Scorecard, new: ScoredRows, old: ScoredRows | None) -> Drift:
    """Compare rows with those of a reference; without columns, only their scores."""
    columns, bins = _column_tables(card, old, new)
    levels = _level_table(card, old, new)
    index = chance = math.nan
    if old is not None:
        rows = (old.effective_rows, new.effective_rows)
        index = stability_index(levels["reference"], levels["new"], rows=rows)
        used = (levels["reference"] > 0) | (levels["new"] > 0)
        chance = chance_index(int(used.sum()), rows)
    return Drift(
        columns=columns,
        bins=bins,
        answers=_answer_table(card, old, new),
        levels=levels,
        score_psi=index,
        score_chance=chance,
        beyond=_beyond(card, new),
        prevalence=_prevalence(card, old, new),
        n_reference=0.0 if old is None else float(old.weight.sum()),
        n_new=float(new.weight.sum()),
    )


def score_rows(card: Scorecard, X: Any, n_rows: int | None = None) -> IntArray:
    """Score a table; a card without rules, which needs no columns, gives every row its 0."""
    if not card.rules and n_rows is not None:
        return np.zeros(n_rows, dtype=np.int64)
    score = np.asarray(card.score(X), dtype=np.int64)
    if score.ndim == 0:
        raise InputError("X is a single row. Pass a table: one value per row in every column.")
    if n_rows is not None and score.size != n_rows:
        raise InputError(f"X has {score.size} rows, but y has {n_rows}. Pass one outcome per row.")
    return score


def _read(
    card: Scorecard, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, name: str
) -> ScoredRows:
    if not card.rules:
        raise InputError("the card has no rules: no column can drift. Pass another card.")
    event = None if y is None else check_binary(y, name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is missing or unseen is counted here
        score = score_rows(card, X, None if event is None else event.size)
        data, _ = read_columns(X, card.features, card.feature_names)
        logic = card._logic
        raw = (logic.readings.raw(one.name, data, one.kind) for one in logic.inputs)
        columns = {column.name: _as_numbers(column) for column in raw}
        seen = {
            column.name: logic.readings.column(column.name, data, column.kind)
            for column in logic.columns
        }
    weight = check_weights(sample_weight, score.size)
    return ScoredRows(score, event, weight, count_effective_rows(weight), columns, seen)


def _as_numbers(column: Column) -> Column:
    """Numbers as an array, where they are objects because the card only tests for missing."""
    if column.values.dtype.kind == "f":
        return column
    there = column.values if column.missing is None else column.values[~column.missing]
    if not there.size or not all(isinstance(v, float) for v in there.tolist()):
        return column
    values = np.full(column.values.size, np.nan)
    values[slice(None) if column.missing is None else ~column.missing] = there.astype(np.float64)
    return column._replace(values=values)


def _column_tables(card: Scorecard, old: ScoredRows | None, new: ScoredRows) -> tuple[Table, Table]:
    rows, counts = [], []
    for name, column in new.columns.items():
        row: dict[str, Any] = dict.fromkeys(_COLUMNS, math.nan)
        row |= {"column": name, "missing": _missing(column, new.weight)}
        if old is not None:
            before = old.columns[name]
            bins = bins_of(before, old.weight, column, new.weight)
            sizes = (old.effective_rows, new.effective_rows)
            row["psi"] = stability_index(bins.reference, bins.new, rows=sizes)
            row["chance"] = chance_index(len(bins.names), sizes)
            row["difference"] = _gap(before, old, column, new)
            row["missing_reference"] = _missing(before, old.weight)
            for cells in zip(*bins, strict=True):
                counts.append(dict(zip(_BINS, (name, *cells), strict=True)))
        row["unseen"], row["unseen_values"] = _unseen(card, name, old, column, new)
        rows.append(row)
    return _table(_COLUMNS, rows), _table(_BINS, counts)


def _table(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    kinds = {name: object if name in _WORDS else np.float64 for name in names}
    return Table({n: np.array([row[n] for row in rows], dtype=kinds[n]) for n in names})


def _missing(column: Column, weight: FloatArray) -> float:
    if column.missing is None:
        return 0.0
    return float(weight[column.missing].sum() / weight.sum())


def _gap(before: Column, old: ScoredRows, column: Column, new: ScoredRows) -> float:
    """Standardised difference of numbers; text has none."""
    if before.values.dtype.kind != "f" or column.values.dtype.kind != "f":
        return math.nan
    there, here = _known(before, old.weight), _known(column, new.weight)
    return standardised_difference(
        before.values[there], old.weight[there], column.values[here], new.weight[here]
    )


def _unseen(
    card: Scorecard, name: str, old: ScoredRows | None, column: Column, new: ScoredRows
) -> tuple[float, str]:
    """Share of values that were not there before, and some of them; NaN where unknown."""
    values, known = column.values, None
    if old is not None:
        before = old.columns[name]
        known = before.values[_known(before, old.weight)]
    levels = next((r.levels for r in card.readings if r.feature == name), ())
    if values.dtype.kind == "f" and not levels:
        if known is None or known.dtype.kind != "f" or not known.size:
            return math.nan, ""
        strange = (values < known.min()) | (values > known.max())
    else:
        if not levels and known is None:
            return math.nan, ""
        seen = set(known.tolist() if known is not None and not levels else levels)
        strange = np.array([value not in seen for value in values.tolist()], dtype=np.bool_)
    strange &= _known(column, new.weight)
    found = sorted(set(values[strange].tolist()), key=lambda v: (isinstance(v, str), v))
    more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    shown = ", ".join(_shown(value) for value in found[:_MOST_SHOWN])
    return float(new.weight[strange].sum() / new.weight.sum()), shown + more


def _shown(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return value_text(int(value) if whole else value)


def _answer_table(card: Scorecard, old: ScoredRows | None, new: ScoredRows) -> Table:
    rows = []
    for question in card.questions if new.seen else ():
        name = question.feature
        now, then = _codes(question, new), None if old is None else _codes(question, old)
        for place, answer in enumerate(question.listed()):
            if (
                question.filled and answer.text == NOT_KNOWN
            ):  # such rows are with what they count as
                continue
            here, mean = now[place], math.nan
            mean_now = float(new.weight @ here / new.weight.sum())
            index = gap = math.nan
            if old is not None and then is not None:
                before = then[place]
                mean = float(old.weight @ before / old.weight.sum())
                gap = standardised_difference(before, old.weight, here, new.weight)
                if not answer.per_unit:
                    sizes = (old.effective_rows, new.effective_rows)
                    index = stability_index([1 - mean, mean], [1 - mean_now, mean_now], rows=sizes)
            text = strip_control(f"{name}: {answer.text}")
            shift = answer.points * (mean_now - mean) + 0.0  # never −0
            cells = (text, answer.points, mean, mean_now, index, gap, shift)
            rows.append(dict(zip(_ANSWERS, cells, strict=True)))
    return _table(_ANSWERS, rows)


def _codes(question: Question, rows: ScoredRows) -> list[FloatArray]:
    """Whether each answer of a question applies to rows, or how many units count."""
    column = rows.seen[question.feature]
    absent = np.zeros(len(column.values), bool) if column.missing is None else column.missing
    listed, rest = question.listed(), ~absent
    for answer in listed:
        if isinstance(answer.term, Condition):
            rest &= ~answer.term.column_codes(column)
    codes = []
    for answer in listed:
        unit = 10.0**answer.term.decimals if isinstance(answer.term, PerUnit) else 1.0
        own = rest if answer.term is None else answer.term.column_codes(column)
        codes.append(own.astype(np.float64) / unit)
    return codes


def _level_table(card: Scorecard, old: ScoredRows | None, new: ScoredRows) -> Table:
    def counted(rows: ScoredRows) -> list[LevelRow]:
        no_events = np.zeros(rows.score.size, dtype=np.bool_)
        return count_levels_of_card(card, rows.score, no_events, rows.weight)

    levels = counted(new)
    then = [math.nan] * len(levels) if old is None else [row.n for row in counted(old)]
    return Table(
        {
            "scores": np.array([row.scores for row in levels], dtype=object),
            "risk": [row.risk for row in levels],
            "reference": then,
            "new": [row.n for row in levels],
        }
    )


def _beyond(card: Scorecard, new: ScoredRows) -> float:
    if card.score_range is None:
        return math.nan
    low, high = card.score_range
    outside = (new.score < low) | (new.score > high)
    return float(new.weight[outside].sum() / new.weight.sum())


def _prevalence(card: Scorecard, old: ScoredRows | None, new: ScoredRows) -> Prevalence:
    then = card.provenance.prevalence if card.provenance else None
    if old is not None and old.event is not None:
        then = float(old.weight[old.event].sum() / old.weight.sum())
    expected = float(new.weight @ card.risk_of_score(new.score) / new.weight.sum())
    if new.event is None:
        return Prevalence(then, None, None, None, expected)
    now = float(new.weight[new.event].sum() / new.weight.sum())
    return Prevalence(then, now, *wilson(now, new.effective_rows), expected)

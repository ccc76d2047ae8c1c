"""Drift: how the inputs of a card, its scores and the prevalence differ from what they were.

A card carries little of its training rows: their number, the share of events, the levels of its
text columns, and whether values were missing.  Everything else needs a reference table, such as the
training rows themselves.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import (
    Column,
    PerUnit,
    Scorecard,
    card_rows,
    read_columns,
    strip_control,
    value_text,
)
from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    check_binary,
    check_weights,
    format_count,
    format_number,
    format_percent,
    format_table,
)
from netbenefit.metrics import count_effective_rows, wilson
from netbenefit.updating.observed import count_levels_of_card

# -- the distribution of one raw column in two tables, and how far they are apart ------------------


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
    there, here = _present(reference, reference_weight), _present(new, new_weight)
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
    size, masses = len(names), []
    pairs = ((codes[0], there, reference_weight), (codes[1], here, new_weight))
    for code, present, weight in pairs:
        found = np.bincount(code[present], weights=weight[present], minlength=size)
        masses.append(np.append(found.astype(np.float64), weight[~present].sum()))
    used = (masses[0] > 0) | (masses[1] > 0)
    kept = tuple(name for name, use in zip([*names, "missing"], used, strict=True) if use)
    return Bins(kept, masses[0][used], masses[1][used])


def _present(column: Column, weight: FloatArray) -> NDArray[np.bool_]:
    if column.missing is None:
        return np.ones(weight.size, dtype=np.bool_)
    return ~column.missing


def _edges(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Where bins of numbers start, except the first: tenths of the weight, or all values.

    A bin ends with the value that completes a tenth: so a value that most rows share is separated
    from the larger ones.
    """
    used = weight > 0
    distinct, place = np.unique(values[used], return_inverse=True)
    if distinct.size <= _MOST_BINS:
        few: FloatArray = distinct[1:]
        return few
    mass = np.cumsum(np.bincount(place, weights=weight[used]))
    tenths = np.arange(1, _MOST_BINS) / _MOST_BINS * mass[-1]
    # An exact tenth must find its own value, whatever the sums of weights round to.
    at = np.searchsorted(mass, tenths * (1 - 1e-12))
    edges: FloatArray = np.unique(distinct[np.minimum(at + 1, distinct.size - 1)])
    return edges


def _interval_names(edges: FloatArray) -> list[str]:
    if not edges.size:
        return ["any"]
    numbers = [float(edge) for edge in edges]
    texts = [value_text(int(x) if x.is_integer() else x) for x in numbers]
    middle = [f"{low} to < {high}" for low, high in pairwise(texts)]
    return [f"< {texts[0]}", *middle, f"≥ {texts[-1]}"]


def _levels(values: NDArray[np.object_], weight: FloatArray) -> list[str]:
    """The commonest levels, by mass and then by name."""
    mass: dict[str, float] = {}
    for value, w in zip(values.tolist(), weight.tolist(), strict=True):
        mass[str(value)] = mass.get(str(value), 0.0) + w
    found = sorted((level for level, w in mass.items() if w > 0), key=lambda v: (-mass[v], v))
    return found[:_MOST_LEVELS]


# -- drift, in words -------------------------------------------------------------------------------


class Prevalence(NamedTuple):
    """Share of events then and now; None where it is not known."""

    reference: float | None  #: in the reference table, or by the card's own record
    new: float | None
    low: float | None  #: 95% interval of the new one (Wilson)
    high: float | None
    expected: float  #: mean risk of the new rows: the prevalence that the card expects


def drift_lines(drift: Drift) -> list[str]:
    """Put drift into words, one line each."""
    known = drift.n_reference > 0
    against = (
        f"against {format_count(drift.n_reference)} of reference" if known else "no reference table"
    )
    lines = [
        f"Drift: {format_count(drift.n_new)} rows, {against}",
        "",
        *_prevalence_text(drift),
        "",
    ]
    if drift.columns.n_rows:
        lines += [*_column_lines(drift.columns), "", *_rule_lines(drift.rules), ""]
    if known:
        lines.append(
            f"score levels: PSI {format_number(drift.score_psi, 3)}, by chance up to "
            f"{format_number(drift.score_chance, 3)}"
        )
    if not math.isnan(drift.beyond):
        lines.append(f"scores beyond those of training: {format_percent(drift.beyond)} of the rows")
    if known or drift.columns.n_rows:
        lines.append("By chance: what the index exceeds in 5% of cases where nothing has changed.")
    return lines


def _column_lines(c: Table) -> list[str]:
    head = ["column", "PSI", "by chance", "std. diff.", "missing then", "now", "unseen", ""]
    rows = [
        [
            strip_control(str(c["column"][i])),
            format_number(c["psi"][i], 3),
            format_number(c["chance"][i], 3),
            format_number(c["difference"][i], 2),
            format_percent(c["missing_reference"][i]),
            format_percent(c["missing"][i]),
            format_percent(c["unseen"][i]),
            strip_control(str(c["unseen_values"][i])),
        ]
        for i in range(c.n_rows)
    ]
    return format_table(head, rows)


def _rule_lines(r: Table) -> list[str]:
    head = ["rule", "points", "mean then", "now", "PSI", "std. diff.", "moves the score by"]
    rows = [
        [
            str(r["rule"][i]),
            format_number(r["points"][i], 0),
            format_number(r["reference"][i], 3),
            format_number(r["new"][i], 3),
            format_number(r["psi"][i], 3),
            format_number(r["difference"][i], 2),
            format_number(r["shift"][i], 2),
        ]
        for i in range(r.n_rows)
    ]
    return format_table(head, rows)


def _prevalence_text(drift: Drift) -> list[str]:
    p = drift.prevalence
    then = "not recorded" if p.reference is None else f"{format_percent(p.reference)} then"
    now = ""
    if p.new is not None:
        ends = f"{format_percent(p.low)} to {format_percent(p.high)}"
        now = f", {format_percent(p.new)} now (95% interval {ends})"
    return [f"prevalence: {then}{now}; the card expects {format_percent(p.expected)}"]


_COLUMNS = (
    "column",
    "psi",
    "chance",
    "difference",
    "missing_reference",
    "missing",
    "unseen",
    "unseen_values",
)
_BINS = ("column", "bin", "reference", "new")
_RULES = ("rule", "points", "reference", "new", "psi", "difference", "shift")
#: Values that a message lists.
_MOST_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Drift:
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
    rules : Table
        Each row of the printed card: mean of its code then and now (of a condition, how often it
        holds), its ``psi`` (of conditions: holds or not), the standardised difference, and
        ``shift``, the points by which it moves the mean score.
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
    rules: Table
    levels: Table
    score_psi: float
    score_chance: float
    beyond: float
    prevalence: Prevalence
    n_reference: float
    n_new: float

    def __str__(self) -> str:
        return "\n".join(drift_lines(self))


class _Rows(NamedTuple):
    """One table, read for a card."""

    columns: dict[str, Column]  #: raw, nothing filled in
    seen: dict[str, Column]  #: as the rules see them
    score: IntArray
    weight: FloatArray
    event: NDArray[np.bool_] | None
    counted: float | None = None  #: effective rows, where a row stands for many

    @property
    def effective_rows(self) -> float:
        return count_effective_rows(self.weight) if self.counted is None else self.counted


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
    >>> from netbenefit.cards.terms import Condition
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(Condition("age", ">=", 60), 2)], [(1, 0.1), (2, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> drift = card_drift(card, {"age": [50, 60, 70, 80]}, {"age": [40, 50, 60, 70]})
    >>> drift.rules["reference"], drift.rules["new"], drift.columns["unseen"]
    (array([0.5]), array([0.75]), array([0.25]))
    """
    new = _read(card, X, y, sample_weight, "y")
    old = None
    if reference is not None:
        old = _read(card, reference, reference_y, reference_weight, "reference_y")
    elif reference_y is not None or reference_weight is not None:
        raise InputError(
            "reference_y and reference_weight go with reference. Pass that table, too."
        )
    return _drift(card, old, new, *_column_tables(card, old, new), _rule_table(card, old, new))


class ScoreCounts(NamedTuple):
    """Groups of rows with the same score and outcome."""

    score: IntArray
    event: NDArray[np.bool_] | None
    weight: FloatArray
    effective_rows: float  #: how many rows of equal weight all of them are worth


def score_drift(card: Scorecard, new: ScoreCounts, reference: ScoreCounts | None = None) -> Drift:
    """Compare the scores that a card gives now with those that it gave, without columns."""
    old = None if reference is None else _counted(reference)
    nothing = [Table(_typed({key: [] for key in keys})) for keys in (_COLUMNS, _BINS, _RULES)]
    return _drift(card, old, _counted(new), *nothing)


def _counted(counts: ScoreCounts) -> _Rows:
    return _Rows({}, {}, counts.score, counts.weight, counts.event, counts.effective_rows)


def _drift(
    card: Scorecard, old: _Rows | None, new: _Rows, columns: Table, bins: Table, rules: Table
) -> Drift:
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
        rules=rules,
        levels=levels,
        score_psi=index,
        score_chance=chance,
        beyond=_beyond(card, new),
        prevalence=_prevalence(card, old, new),
        n_reference=0.0 if old is None else float(old.weight.sum()),
        n_new=float(new.weight.sum()),
    )


# -- reading ---------------------------------------------------------------------------------------


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
) -> _Rows:
    if not card.rules:
        raise InputError("the card has no rules: no column can drift. Pass another card.")
    event = None if y is None else check_binary(y, name=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is missing or unseen is counted here
        score = score_rows(card, X, None if event is None else event.size)
        data, _ = read_columns(X, card.features, card.feature_names)
        columns = _raw_columns(card, data)
        seen = {
            column.name: card._logic.readings.column(column.name, data, column.kind)
            for column in card._logic.columns
        }
    return _Rows(columns, seen, score, check_weights(sample_weight, score.size), event)


def _raw_columns(card: Scorecard, data: Mapping[str, Any]) -> dict[str, Column]:
    """Raw columns with their special codes read as missing, and nothing filled in."""
    logic = card._logic
    found = (logic.readings.raw(one.name, data, one.kind) for one in logic.inputs)
    return {column.name: _as_numbers(column) for column in found}


def _as_numbers(column: Column) -> Column:
    """Numbers as numbers, where the card asks only whether they are missing and lists hold them."""
    if column.values.dtype.kind == "f":
        return column
    there = column.values if column.missing is None else column.values[~column.missing]
    if not there.size or not all(isinstance(v, float) for v in there.tolist()):
        return column
    values = np.full(column.values.size, np.nan)
    values[slice(None) if column.missing is None else ~column.missing] = there.astype(np.float64)
    return column._replace(values=values)


# -- tables ----------------------------------------------------------------------------------------


def _column_tables(card: Scorecard, old: _Rows | None, new: _Rows) -> tuple[Table, Table]:
    rows: dict[str, list[Any]] = {key: [] for key in _COLUMNS}
    counts: dict[str, list[Any]] = {key: [] for key in _BINS}
    for name, column in new.columns.items():
        rows["column"].append(name)
        rows["missing"].append(_missing(column, new.weight))
        before = None if old is None else old.columns[name]
        index = chance = gap = absent = math.nan
        if old is not None and before is not None:
            bins = bins_of(before, old.weight, column, new.weight)
            sizes = (old.effective_rows, new.effective_rows)
            index = stability_index(bins.reference, bins.new, rows=sizes)
            chance = chance_index(len(bins.names), sizes)
            gap, absent = _gap(before, old, column, new), _missing(before, old.weight)
            counts["column"] += [name] * len(bins.names)
            counts["bin"] += bins.names
            counts["reference"] += bins.reference.tolist()
            counts["new"] += bins.new.tolist()
        part, shown = _unseen(card, name, before, old, column, new)
        found = {"psi": index, "chance": chance, "difference": gap, "missing_reference": absent}
        for key, value in (*found.items(), ("unseen", part), ("unseen_values", shown)):
            rows[key].append(value)
    return Table(_typed(rows)), Table(_typed(counts))


def _typed(rows: Mapping[str, list[Any]]) -> dict[str, NDArray[Any]]:
    words = ("column", "bin", "rule", "scores", "unseen_values")
    return {k: np.array(v, dtype=object if k in words else np.float64) for k, v in rows.items()}


def _missing(column: Column, weight: FloatArray) -> float:
    if column.missing is None:
        return 0.0
    return float(weight[column.missing].sum() / weight.sum())


def _here(column: Column, weight: FloatArray) -> NDArray[np.bool_]:
    there: NDArray[np.bool_] = weight > 0
    return there if column.missing is None else there & ~column.missing


def _gap(before: Column, old: _Rows, column: Column, new: _Rows) -> float:
    """Standardised difference of numbers; text has none."""
    if before.values.dtype.kind != "f" or column.values.dtype.kind != "f":
        return math.nan
    there, here = _here(before, old.weight), _here(column, new.weight)
    return standardised_difference(
        before.values[there], old.weight[there], column.values[here], new.weight[here]
    )


def _unseen(
    card: Scorecard, name: str, before: Column | None, old: _Rows | None, column: Column, new: _Rows
) -> tuple[float, str]:
    """Share of values that were not there before, and some of them; NaN where unknown."""
    here = _here(column, new.weight)
    levels = next((r.levels for r in card.readings if r.feature == name), ())
    values = column.values
    if values.dtype.kind == "f" and not levels:
        if before is None or old is None or before.values.dtype.kind != "f":
            return math.nan, ""
        known = before.values[_here(before, old.weight)]
        if not known.size:
            return math.nan, ""
        strange = here & ((values < known.min()) | (values > known.max()))
    else:
        seen: set[Any] = set(levels)
        if not levels:
            if before is None or old is None:
                return math.nan, ""
            seen = set(before.values[_here(before, old.weight)].tolist())
        strange = here & np.array([v not in seen for v in values.tolist()], dtype=np.bool_)
    found = sorted(set(values[strange].tolist()), key=lambda v: (isinstance(v, str), v))
    more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    shown = ", ".join(_shown(value) for value in found[:_MOST_SHOWN])
    return float(new.weight[strange].sum() / new.weight.sum()), shown + more


def _shown(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return value_text(int(value) if whole else value)


def _rule_table(card: Scorecard, old: _Rows | None, new: _Rows) -> Table:
    rows: dict[str, list[Any]] = {key: [] for key in _RULES}
    for row in card_rows(card):
        unit = 10.0**row.term.decimals if isinstance(row.term, PerUnit) else 1.0
        codes = row.term.column_codes(new.seen[row.feature]).astype(np.float64) / unit
        now = float(new.weight @ codes / new.weight.sum())
        then = index = gap = math.nan
        if old is not None:
            before = row.term.column_codes(old.seen[row.feature]).astype(np.float64) / unit
            then = float(old.weight @ before / old.weight.sum())
            gap = standardised_difference(before, old.weight, codes, new.weight)
            if not isinstance(row.term, PerUnit):
                sizes = (old.effective_rows, new.effective_rows)
                index = stability_index([1 - then, then], [1 - now, now], rows=sizes)
        cells = (
            strip_control(row.text),
            row.points,
            then,
            now,
            index,
            gap,
            row.points * (now - then),
        )
        for key, value in zip(_RULES, cells, strict=True):
            rows[key].append(value)
    return Table(_typed(rows))


def _level_table(card: Scorecard, old: _Rows | None, new: _Rows) -> Table:
    def masses(rows: _Rows) -> list[float]:
        event = np.zeros(rows.score.size, dtype=np.bool_) if rows.event is None else rows.event
        return [row.n for row in count_levels_of_card(card, rows.score, event, rows.weight)]

    levels = count_levels_of_card(
        card, new.score, np.zeros(new.score.size, dtype=np.bool_), new.weight
    )
    then = [math.nan] * len(levels) if old is None else masses(old)
    return Table(
        {
            "scores": np.array([row.scores for row in levels], dtype=object),
            "risk": np.array([row.risk for row in levels]),
            "reference": np.array(then),
            "new": np.array([row.n for row in levels]),
        }
    )


def _beyond(card: Scorecard, new: _Rows) -> float:
    if card.score_range is None:
        return math.nan
    low, high = card.score_range
    outside = (new.score < low) | (new.score > high)
    return float(new.weight[outside].sum() / new.weight.sum())


def _prevalence(card: Scorecard, old: _Rows | None, new: _Rows) -> Prevalence:
    then = card.provenance.prevalence if card.provenance else None
    if old is not None and old.event is not None:
        then = float(old.weight[old.event].sum() / old.weight.sum())
    expected = float(new.weight @ card.risk_of_score(new.score) / new.weight.sum())
    if new.event is None:
        return Prevalence(then, None, None, None, expected)
    now = float(new.weight[new.event].sum() / new.weight.sum())
    return Prevalence(then, now, *wilson(now, new.effective_rows), expected)

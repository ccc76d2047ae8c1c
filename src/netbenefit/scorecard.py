"""The scorecard: all that a user keeps, and how it turns rows into scores and risks.

Recipe, with the same arithmetic in every place where a card is used:

1. Each rule turns its raw value into an integer code, in steps of ``10**-d`` (see
   :mod:`netbenefit.conditions`).
2. units = Σ points · code · ``10**(D - d)`` with D the largest d of the card; the score is
   ``units // 10**D``.  No float takes part.
3. The score is moved into the range that training has seen; its level is the number of cut-offs
   that it reaches, and the level has a risk.
"""

from __future__ import annotations

import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from netbenefit._validation import FloatArray, InputError, IntArray, check_names, shorten
from netbenefit.conditions import (
    Condition,
    Kind,
    PerUnit,
    Term,
    as_column,
    as_value,
    missing_error,
)
from netbenefit.thresholds import Thresholds

__all__ = ["Provenance", "RiskRow", "Rule", "Scorecard"]

_INT64 = 2**63
_MOST_POINTS = 10**9


@dataclass(frozen=True)
class Rule:
    """A term and the points that it brings.

    >>> Rule(Condition("age", ">=", 52), -2).term.text()
    'age ≥ 52'
    """

    term: Term
    points: int

    def __post_init__(self) -> None:
        if not isinstance(self.term, Condition | PerUnit):
            raise InputError(f"a rule needs a Condition or a PerUnit, not {self.term!r}.")
        points = _integer(self.points, f"points of the rule on {self.term.feature!r}")
        if abs(points) > _MOST_POINTS:
            raise InputError(f"{points} points on {self.term.feature!r}: use at most 10**9.")
        object.__setattr__(self, "points", points)


class RiskRow(NamedTuple):
    """One row of the SCORE → RISK table; no ``low`` (``high``) means from below (and above)."""

    low: int | None
    high: int | None
    risk: float


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a card comes from; what is not known is None.

    Parameters
    ----------
    version : str
        Version of the package that made the card.
    n_rows, n_events, n_patterns, prevalence : int or float
        Mass of the training rows and of those with the event (floats where rows were weighted),
        number of distinct rows, share of events.
    objective, bound, penalty : float
        Weighted net benefit minus penalties that the card reaches, the most that any card could
        reach, and the penalty a feature.
    solver, status, seconds, random_state : str, str, float, int
        What searched, how it ended, how long it took, and its seed.
    outcome : str
        What the risk is the risk of, such as "Malignant = 1".
    """

    version: str
    n_rows: int | float | None = None
    n_events: int | float | None = None
    n_patterns: int | None = None
    prevalence: float | None = None
    objective: float | None = None
    bound: float | None = None
    penalty: float | None = None
    solver: str | None = None
    status: str | None = None
    seconds: float | None = None
    random_state: int | None = None
    outcome: str | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name != "version":
                continue
            value = value.item() if isinstance(value, np.generic) else value
            if field.name in ("version", "solver", "status", "outcome"):
                usable, wanted = isinstance(value, str), "text"
            elif field.name in ("n_patterns", "random_state"):
                usable, wanted = type(value) is int and 0 <= value < _INT64, "an integer from 0"
            elif field.name in ("objective", "bound"):
                usable, wanted = _is_finite(value), "a finite number"
            elif field.name == "prevalence":
                usable, wanted = _is_finite(value) and 0 <= value <= 1, "a number from 0 to 1"
            else:
                usable, wanted = _is_finite(value) and value >= 0, "a finite number from 0"
            if not usable:
                raise InputError(f"provenance: {field.name}={value!r} must be {wanted}.")
            object.__setattr__(self, field.name, value)

    @property
    def gap(self) -> float | None:
        """Bound minus objective, as a share of the objective's size; None where one is unknown.

        >>> round(Provenance(version="1", objective=0.4, bound=0.5).gap, 2)
        0.25
        """
        if self.objective is None or self.bound is None:
            return None
        excess = max(0.0, self.bound - self.objective)
        if excess == 0:
            return 0.0
        return excess / abs(self.objective) if self.objective else math.inf


@dataclass(frozen=True)
class Scorecard:
    """Rules with integer points, cut-offs and the risk of each level.

    With thresholds 0 = p_0 < p_1 < … < p_M, a row with score s is on level i when s reaches
    exactly the first i cut-offs T_1 ≤ … ≤ T_M; its risk q_i lies in [p_i, p_{i+1}).

    Parameters
    ----------
    rules : sequence of Rule
        Points of conditions and per unit; a rule for missing values may be worth 0.
    cutoffs : sequence of int
        T_1 … T_M, not decreasing.
    risks : sequence of float or None
        q_0 … q_M; None for a level that no training row reaches.
    thresholds : Thresholds
        p_0 … p_M.
    score_range : (int, int), optional
        Lowest and highest score in training.  A score beyond is read as the nearest of them, as
        on the printed table, whose first row says "≤" and whose last says "≥".
    feature_names : sequence of str, optional
        Raw columns in the order of an array to be scored; by default :attr:`features`.
    provenance : Provenance, optional
        Where the card comes from.

    Examples
    --------
    >>> card = Scorecard(
    ...     rules=[Rule(Condition("age", ">=", 52), 2), Rule(PerUnit("falls"), 1)],
    ...     cutoffs=[2, 4],
    ...     risks=[0.04, 0.3, 0.75],
    ...     thresholds=Thresholds.of([0.1, 0.5]),
    ... )
    >>> card.score({"age": 60, "falls": 1}), card.risk({"age": 60, "falls": 1})
    (3, 0.3)
    >>> card.risk({"age": [40, 60, 80], "falls": [0, 1, 3]})
    array([0.04, 0.3 , 0.75])
    >>> Scorecard.from_json(card.to_json()) == card
    True
    """

    rules: tuple[Rule, ...]
    cutoffs: tuple[int, ...]
    risks: tuple[float | None, ...]
    thresholds: Thresholds
    score_range: tuple[int, int] | None = None
    feature_names: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.thresholds, Thresholds):
            raise InputError(f"thresholds must be Thresholds, not {self.thresholds!r}.")
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise InputError(f"provenance must be a Provenance, not {self.provenance!r}.")
        put = object.__setattr__
        put(self, "rules", _checked_rules(self.rules))
        put(self, "feature_names", self._checked_names())
        put(self, "cutoffs", self._checked_cutoffs())
        if self.score_range is not None:
            put(self, "score_range", _checked_range(self.score_range))
        put(self, "risks", self._checked_risks())

    def _checked_names(self) -> tuple[str, ...]:
        if not self.feature_names:
            return self.features
        names = check_names(self.feature_names)
        unknown = [name for name in self.features if name not in names]
        if unknown:
            raise InputError(f"feature_names lack {shorten(unknown)}, of which rules speak.")
        return names

    def _checked_cutoffs(self) -> tuple[int, ...]:
        cutoffs = tuple(_integer(t, f"cutoffs[{i}]") for i, t in enumerate(self.cutoffs))
        if len(cutoffs) != len(self.thresholds) - 1:
            raise InputError(
                f"{len(cutoffs)} cutoffs for {len(self.thresholds) - 1} thresholds above 0. "
                "Pass one cut-off for each."
            )
        for i, (before, after) in enumerate(pairwise(cutoffs), start=1):
            if after < before:
                raise InputError(
                    f"cutoffs must not decrease, but cutoffs[{i}] = {after} follows {before}."
                )
        return cutoffs

    def _checked_risks(self) -> tuple[float | None, ...]:
        p = (*self.thresholds.values, 1.0)
        if len(self.risks) != len(p) - 1:
            raise InputError(
                f"{len(self.risks)} risks for {len(p) - 1} levels. Pass one risk (or None) a level."
            )
        risks = []
        for i, risk in enumerate(self.risks):
            risk = risk.item() if isinstance(risk, np.generic) else risk
            last = i == len(p) - 2
            if risk is not None and not (
                _is_finite(risk) and p[i] <= risk and (risk < p[i + 1] or (last and risk == 1))
            ):
                interval = f"[{p[i]:g}, {p[i + 1]:g}{']' if last else ')'}"
                raise InputError(f"risks[{i}] = {risk!r} must lie in {interval}, or be None.")
            risks.append(None if risk is None else float(risk))
        for low, high, level in self._reachable_levels():
            if risks[level] is None:
                example = low if low is not None else high if high is not None else 0
                raise InputError(
                    f"risks[{level}] is None, but a score such as {example} is on level {level}. "
                    "Give the level a risk, or narrow score_range."
                )
        return tuple(risks)

    # -- what it knows ---------------------------------------------------------------------------

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Raw columns that the rules speak of, in order of appearance."""
        return tuple(dict.fromkeys(rule.term.feature for rule in self.rules))

    @property
    def size(self) -> int:
        """Number of rules whose points are not zero."""
        return sum(rule.points != 0 for rule in self.rules)

    @cached_property
    def score_limits(self) -> tuple[int, int] | None:
        """Lowest and highest score that any row can get, or None where there is no end.

        Conditions on one column are taken together ("≥ 40" and "< 30" never both hold).  Where one
        column has several per-unit rules the limits may be wider than what is attained.

        >>> rules = [Rule(Condition("age", ">=", 40), 3), Rule(Condition("age", "<", 30), 2)]
        >>> Scorecard(rules, [1], [0.1, 0.9], Thresholds.of([0.5])).score_limits
        (0, 3)
        """
        low = high = 0
        for column in self._plan:
            limits = _column_limits(column.kind, column.terms, column.missing_allowed)
            if limits is None:
                return None
            low, high = low + limits[0], high + limits[1]
        return low // self._unit, high // self._unit

    def risk_table(self) -> tuple[RiskRow, ...]:
        """Return the SCORE → RISK table: the levels that a score can reach, lowest first."""
        return tuple(
            RiskRow(low, high, cast(float, self.risks[level]))
            for low, high, level in self._reachable_levels()
        )

    def _reachable_levels(self) -> list[tuple[int | None, int | None, int]]:
        """List (lowest score, highest score, level); the ends are open."""
        edges = [-math.inf, *self.cutoffs, math.inf]
        low, high = self.score_range or (-math.inf, math.inf)
        levels = [i for i, (a, b) in enumerate(pairwise(edges)) if a < b and a <= high and low < b]
        return [
            (
                None if i == levels[0] else self.cutoffs[i - 1],
                None if i == levels[-1] else self.cutoffs[i] - 1,
                i,
            )
            for i in levels
        ]

    # -- scoring ---------------------------------------------------------------------------------

    def score(self, X: Any) -> Any:
        """Return the score of each row.

        Parameters
        ----------
        X : mapping, data frame, array or list
            Columns by name (a mapping, or a pandas, polars or pyarrow frame), an array with the
            columns :attr:`feature_names`, a list of dicts, or one row as a dict of plain values.

        Returns
        -------
        ndarray of int64, or int for one row

        Raises
        ------
        InputError
            Where a column is absent or unusable, or a value is missing and the card has no rule
            for that column's missing values.  (Where it has one, the column's other rules count
            nothing.)
        """
        if isinstance(X, Mapping) and _is_one_row(X, self.features):
            return sum(units for _, units in self._row_units(X)) // self._unit
        data, n_rows = _read_columns(X, self.features, self.feature_names)
        total = np.zeros(n_rows, dtype=np.int64)
        bound = 0  # of the units so far, as a Python int: it cannot overflow
        parts = []
        for plan in self._plan:
            column = as_column(plan.name, data[plan.name], plan.kind)
            if len(column.values) != n_rows:
                raise InputError(
                    f"column {plan.name!r} has {len(column.values)} rows, but "
                    f"{self.features[0]!r} has {n_rows}. Pass columns of equal length."
                )
            if column.missing is not None and not plan.missing_allowed:
                raise missing_error(plan.name, column.missing)
            for term, factor in plan.terms:
                codes = term.column_codes(column)
                largest = 1 if codes.dtype == np.bool_ else int(np.abs(codes).max(initial=0))
                bound += abs(factor) * largest
                if bound >= _INT64:
                    parts.append((codes, factor))
                else:
                    total += codes * np.int64(factor)
        return _add_large(total, parts) // self._unit if parts else total // self._unit

    def level(self, X: Any) -> Any:
        """Return the level of each row: how many cut-offs its score reaches."""
        return self.level_of_score(self.score(X))

    def risk(self, X: Any) -> Any:
        """Return the risk of each row (float, or float64 array)."""
        return self.risk_of_score(self.score(X))

    def decide(self, X: Any, threshold: float) -> Any:
        """Return whether each row's risk is at least ``threshold``."""
        if not (_is_finite(threshold) and 0 <= threshold <= 1):
            raise InputError(f"threshold={threshold!r} must be a risk between 0 and 1.")
        return self.risk(X) >= threshold

    def level_of_score(self, score: int | IntArray) -> Any:
        """Return the level of scores, read as on the printed table."""
        if isinstance(score, int):
            if self.score_range is not None:
                score = min(max(score, self.score_range[0]), self.score_range[1])
            return bisect_right(self.cutoffs, score)
        seen = score if self.score_range is None else np.clip(score, *self.score_range)
        return np.searchsorted(self._cutoff_array, seen, side="right")

    def risk_of_score(self, score: int | IntArray) -> Any:
        """Return the risk of scores, read as on the printed table."""
        level = self.level_of_score(score)
        return self.risks[level] if isinstance(level, int) else self._risk_array[level]

    def explain(self, row: Mapping[str, Any]) -> list[tuple[Rule, int | float]]:
        """Return the rules that brought or took points for one row, with those points.

        >>> card = Scorecard(
        ...     [Rule(PerUnit("bmi", decimals=1), 2), Rule(Condition("age", ">=", 40), 3)],
        ...     [50], [0.1, 0.9], Thresholds.of([0.5]))
        >>> [points for _, points in card.explain({"bmi": 25.25, "age": 30})]
        [50.6]
        """
        if not (isinstance(row, Mapping) and _is_one_row(row, self.features)):
            raise InputError("explain takes one row: a dict of plain values by column name.")
        unit, by_term = self._unit, {rule.term: rule for rule in self.rules}
        found = {term: units for term, units in self._row_units(row) if units}
        return [
            (rule, found[term] / unit if found[term] % unit else found[term] // unit)
            for term, rule in by_term.items()
            if term in found
        ]

    def _row_units(self, row: Mapping[str, Any]) -> list[tuple[Term, int]]:
        if not all(name in row for name in self.features):
            row = {str(name): value for name, value in row.items()}
            _check_present(self.features, list(row))
        units, total = [], 0
        for plan in self._plan:
            value = as_value(plan.name, row[plan.name], plan.kind)
            if value is None and not plan.missing_allowed:
                raise missing_error(plan.name)
            for term, factor in plan.terms:
                part = factor * term.value_code(value)
                total += part
                units.append((term, part))
        if not -_INT64 <= total < _INT64:
            raise _too_large(None)
        return units

    @cached_property
    def _plan(self) -> tuple[_ColumnPlan, ...]:
        """What to do with each raw column; rules worth 0 need no arithmetic."""
        plans = []
        for name in self.features:
            rules = [rule for rule in self.rules if rule.term.feature == name]
            kinds = {rule.term.kind for rule in rules} - {"any"}
            terms = [
                (rule.term, rule.points * 10 ** (self._decimals - rule.term.decimals))
                for rule in rules
                if rule.points
            ]
            holes = any(rule.term.kind == "any" for rule in rules)
            plans.append(_ColumnPlan(name, kinds.pop() if kinds else "any", holes, tuple(terms)))
        return tuple(plans)

    @cached_property
    def _decimals(self) -> int:
        return max((rule.term.decimals for rule in self.rules), default=0)

    @cached_property
    def _unit(self) -> int:
        return int(10**self._decimals)

    @cached_property
    def _cutoff_array(self) -> IntArray:
        return np.array(self.cutoffs, dtype=np.int64)

    @cached_property
    def _risk_array(self) -> FloatArray:
        return np.array([math.nan if q is None else q for q in self.risks])

    # -- in and out ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the card as JSON, with the version of its format."""
        from netbenefit import _card_json

        return _card_json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Scorecard:
        """Read what :meth:`to_json` wrote; anything else is an InputError that names the place."""
        from netbenefit import _card_json

        return _card_json.loads(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card as JSON; a file that is there is replaced at once or stays as it was."""
        target = Path(os.path.realpath(path))
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        text = self.to_json()
        try:
            with open(draft, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scorecard:
        """Read a card that :meth:`save` wrote."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a card file, since it is not UTF-8 text.") from None
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def __str__(self) -> str:
        from netbenefit import _card_text

        return _card_text.render(self)

    def _repr_html_(self) -> str:
        from netbenefit import _card_html

        return _card_html.render(self)


class _ColumnPlan(NamedTuple):
    name: str
    kind: Kind
    missing_allowed: bool
    terms: tuple[tuple[Term, int], ...]


# -- checks ----------------------------------------------------------------------------------------


def _is_finite(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not isinstance(value, bool) and abs(value) < math.inf


def _integer(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{what} must be an integer, not {value!r}.")
    if not -_INT64 <= value < _INT64:
        raise InputError(f"{what} = {value} does not fit into 64 bits.")
    return int(value)


def _checked_range(score_range: Any) -> tuple[int, int]:
    if not isinstance(score_range, tuple | list) or len(score_range) != 2:
        raise InputError(f"score_range={score_range!r} must be (lowest, highest), or None.")
    low, high = (_integer(s, f"score_range[{i}]") for i, s in enumerate(score_range))
    if low > high:
        raise InputError(f"score_range=({low}, {high}) must not decrease.")
    return low, high


def _checked_rules(rules: Any) -> tuple[Rule, ...]:
    seen: dict[Term, int] = {}
    kinds: dict[str, Kind] = {}
    for i, rule in enumerate(rules):
        if not isinstance(rule, Rule):
            raise InputError(f"rules[{i}] = {rule!r} is not a Rule.")
        term = rule.term
        if term in seen:
            raise InputError(
                f"rules[{i}] ({term.text()}) repeats rules[{seen[term]}]. Add up their points."
            )
        seen[term] = i
        if term.kind != "any" and kinds.setdefault(term.feature, term.kind) != term.kind:
            raise InputError(
                f"rules[{i}] ({term.text()}) reads column {term.feature!r} as {term.kind}, another "
                f"rule as {kinds[term.feature]}. A column holds numbers or text, not both."
            )
    return tuple(rules)


# -- limits and large numbers ----------------------------------------------------------------------


def _column_limits(kind: Kind, terms: Sequence[tuple[Term, int]], holes: bool) -> Any:
    """Return the fewest and most units that one column can bring, or None."""
    units = [term for term, _ in terms if isinstance(term, PerUnit) and not term.binary]
    if len(units) > 1:  # roundings may work against each other: bound each on its own
        parts = [_column_limits(kind, [pair], holes) for pair in terms]
        return None if None in parts else tuple(map(sum, zip(*parts, strict=True)))
    values: list[Any] = [None] if holes else []
    for term, _ in terms:
        if isinstance(term, Condition):
            mentioned = term.value if isinstance(term.value, tuple) else (term.value,)
            values += [value for value in mentioned if value is not None]
        elif term.binary:
            values += [0.0, 1.0]
        elif term.lower is None or term.upper is None:
            return None
        else:
            values += [term.lower, term.upper]
    if kind == "text":
        values.append("".join(filter(None, values)) + "…")  # equals none of them
    elif any(isinstance(term, PerUnit) and term.binary for term, _ in terms):
        values = [value for value in values if value in (None, 0, 1)]
    else:
        near = [v for v in values if v is not None] or [0.0]
        values += [math.nextafter(v, end) for v in near for end in (-math.inf, math.inf)]
    sums = [sum(factor * term.value_code(v) for term, factor in terms) for v in values]
    return min(sums), max(sums)


def _add_large(total: IntArray, parts: list[tuple[NDArray[Any], int]]) -> IntArray:
    """Add units that may leave 64 bits, with Python integers."""
    exact = total.astype(object)
    for codes, factor in parts:
        exact = exact + codes.astype(object) * factor
    for row, units in enumerate(exact):
        if not -_INT64 <= units < _INT64:
            raise _too_large(row)
    return exact.astype(np.int64)


def _too_large(row: int | None) -> InputError:
    where = "" if row is None else f" of row {row}"
    return InputError(
        f"the score{where} does not fit into 64 bits. Correct the values, or give the card's "
        "per-unit rules an upper and lower end."
    )


# -- reading rows ----------------------------------------------------------------------------------


def _check_present(wanted: Sequence[str], available: Sequence[str], row: int | None = None) -> None:
    absent = [name for name in wanted if name not in set(available)]
    if absent:
        where = "" if row is None else f" in row {row}"
        raise InputError(
            f"the card needs {shorten(absent, 10)}, absent{where}. Available are "
            f"{shorten(list(available), 10) or 'no columns'}. Add or rename the columns."
        )


def _is_scalar(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, str) or not hasattr(value, "__len__")


def _is_one_row(X: Mapping[Any, Any], features: Sequence[str]) -> bool:
    values = [X[name] for name in features if name in X] or list(X.values())
    scalars = sum(map(_is_scalar, values))
    if 0 < scalars < len(values):
        raise InputError(
            "some columns are plain values and some are sequences. Pass one row as plain values, "
            "or many as columns of equal length."
        )
    return scalars == len(values)


def _read_columns(
    X: Any, features: tuple[str, ...], feature_names: tuple[str, ...]
) -> tuple[dict[str, Any], int]:
    """Return the raw columns of ``features`` and the number of rows."""
    if isinstance(X, np.ndarray) and X.dtype.names is None:
        if X.ndim != 2 or X.shape[1] != len(feature_names):
            raise InputError(
                f"the array has shape {X.shape}, but the card reads {len(feature_names)} columns: "
                f"{shorten(feature_names, 10)}. Pass a data frame or a dict of columns by name."
            )
        return {f: X[:, feature_names.index(f)] for f in features}, len(X)
    if isinstance(X, np.ndarray):
        X = {name: X[name] for name in X.dtype.names}
    if isinstance(X, list | tuple):
        for row, record in enumerate(X):
            if not isinstance(record, Mapping):
                raise InputError(
                    f"row {row} is {type(record).__name__}, not a dict by column name."
                )
            if not all(f in record for f in features):
                _check_present(features, [str(name) for name in record], row)
        return {f: [record[f] for record in X] for f in features}, len(X)
    if isinstance(X, Mapping):
        columns = {str(name): column for name, column in X.items()}
        _check_present(features, list(columns))
        first = next((columns[f] for f in features), next(iter(columns.values()), ()))
        return {f: columns[f] for f in features}, len(first)
    return _read_frame(X, features)


def _read_frame(X: Any, features: tuple[str, ...]) -> tuple[dict[str, Any], int]:
    import narwhals as nw  # late: only data frames need it

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise InputError(
            f"cannot read rows from {type(X).__name__}. Pass a data frame in memory, a dict of "
            "columns, a list of dicts, or one dict."
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"duplicate column names: {error} Rename or drop them.") from None
    names = dict(zip(check_names(frame.columns), frame.columns, strict=True))
    _check_present(features, list(names))
    columns = {}
    for name in features:
        series = frame.get_column(names[name])
        numeric = series.dtype.is_numeric() or series.dtype == nw.Boolean
        columns[name] = series.cast(nw.Float64).to_numpy() if numeric else series.to_list()
    return columns, len(frame)

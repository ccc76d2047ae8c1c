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
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from netbenefit import _card_html, _card_json, _card_text
from netbenefit._atomic import write_text
from netbenefit._card_plan import Plan, check_readings, check_rules
from netbenefit._card_types import Provenance, RiskRow, Rule, check_integer, is_finite
from netbenefit._columns import is_one_row, read_columns
from netbenefit._validation import FloatArray, InputError, IntArray, check_names, shorten
from netbenefit.readings import Reading
from netbenefit.thresholds import Thresholds

__all__ = ["Provenance", "Reading", "RiskRow", "Rule", "Scorecard"]


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
    readings : sequence of Reading
        How raw columns are read before the rules look at them (see :mod:`netbenefit.readings`); a
        column without one is read as it stands.

    Examples
    --------
    >>> from netbenefit.conditions import Condition, PerUnit
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
    readings: tuple[Reading, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.thresholds, Thresholds):
            raise InputError(f"thresholds must be Thresholds, not {self.thresholds!r}.")
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise InputError(f"provenance must be a Provenance, not {self.provenance!r}.")
        put = object.__setattr__
        put(self, "rules", check_rules(self.rules))
        put(self, "readings", check_readings(self.readings, self.rules))
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
        cutoffs = tuple(check_integer(t, f"cutoffs[{i}]") for i, t in enumerate(self.cutoffs))
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
                is_finite(risk) and p[i] <= risk and (risk < p[i + 1] or (last and risk == 1))
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
        """Raw columns that the rules come to, in order of appearance."""
        return self._plan.features

    @property
    def text_features(self) -> tuple[str, ...]:
        """Raw columns that hold text to the rules, not numbers."""
        found = (rule.term.feature for rule in self.rules if rule.term.kind == "text")
        return tuple(dict.fromkeys(found))

    @property
    def size(self) -> int:
        """Number of rules whose points are not zero."""
        return sum(rule.points != 0 for rule in self.rules)

    @cached_property
    def score_limits(self) -> tuple[int, int] | None:
        """Lowest and highest score that any row can get, or None where there is no end.

        Conditions on one column are taken together ("≥ 40" and "< 30" never both hold).  Where one
        column has several per-unit rules the limits may be wider than what is attained.

        >>> from netbenefit.conditions import Condition
        >>> rules = [Rule(Condition("age", ">=", 40), 3), Rule(Condition("age", "<", 30), 2)]
        >>> Scorecard(rules, [1], [0.1, 0.9], Thresholds.of([0.5])).score_limits
        (0, 3)
        """
        limits, unit = self._plan.limits(), self._plan.unit
        return None if limits is None else (limits[0] // unit, limits[1] // unit)

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
            Where a column is absent or unusable, or a value is missing and the card has neither a
            rule for that column's missing values nor a reading that fills them.  (Where it has a
            rule, the column's other rules count nothing.)
        """
        if isinstance(X, Mapping) and is_one_row(X, self.features):
            return sum(units for _, units in self._plan.units_of_row(X)) // self._plan.unit
        data, n_rows = read_columns(X, self.features, self.feature_names)
        return self._plan.units_of_rows(data, n_rows) // self._plan.unit

    def level(self, X: Any) -> Any:
        """Return the level of each row: how many cut-offs its score reaches."""
        return self.level_of_score(self.score(X))

    def risk(self, X: Any) -> Any:
        """Return the risk of each row (float, or float64 array)."""
        return self.risk_of_score(self.score(X))

    def decide(self, X: Any, threshold: float) -> Any:
        """Return whether each row's risk is at least ``threshold``."""
        if not (is_finite(threshold) and 0 <= threshold <= 1):
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

        >>> from netbenefit.conditions import Condition, PerUnit
        >>> card = Scorecard(
        ...     [Rule(PerUnit("bmi", decimals=1), 2), Rule(Condition("age", ">=", 40), 3)],
        ...     [50], [0.1, 0.9], Thresholds.of([0.5]))
        >>> [points for _, points in card.explain({"bmi": 25.25, "age": 30})]
        [50.6]
        """
        if not (isinstance(row, Mapping) and is_one_row(row, self.features)):
            raise InputError("explain takes one row: a dict of plain values by column name.")
        unit, by_term = self._plan.unit, {rule.term: rule for rule in self.rules}
        found = {term: units for term, units in self._plan.units_of_row(row) if units}
        return [
            (rule, found[term] / unit if found[term] % unit else found[term] // unit)
            for term, rule in by_term.items()
            if term in found
        ]

    @cached_property
    def _plan(self) -> Plan:
        return Plan.of(self.rules, self.readings)

    @cached_property
    def _cutoff_array(self) -> IntArray:
        return np.array(self.cutoffs, dtype=np.int64)

    @cached_property
    def _risk_array(self) -> FloatArray:
        return np.array([math.nan if q is None else q for q in self.risks])

    # -- in and out ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the card as JSON, with the version of its format."""
        return _card_json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Scorecard:
        """Read what :meth:`to_json` wrote; anything else is an InputError that names the place."""
        return cls(**_card_json.loads(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card as JSON; a file that is there is replaced at once or stays as it was."""
        write_text(path, self.to_json())

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
        return _card_text.render(self)

    def _repr_html_(self) -> str:
        return _card_html.render(self)


def _checked_range(score_range: Any) -> tuple[int, int]:
    if not isinstance(score_range, tuple | list) or len(score_range) != 2:
        raise InputError(f"score_range={score_range!r} must be (lowest, highest), or None.")
    low, high = (check_integer(s, f"score_range[{i}]") for i, s in enumerate(score_range))
    if low > high:
        raise InputError(f"score_range=({low}, {high}) must not decrease.")
    return low, high

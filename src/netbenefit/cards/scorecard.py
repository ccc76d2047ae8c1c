"""The scorecard: rules with points, and how it turns rows into scores and risks.

1. Each rule turns its raw value into an integer code, in steps of ``10**-d``.
2. units = Σ base · ``10**D`` + Σ points · code · ``10**(D - d)`` with D the largest d of the card;
   the score is ``units // 10**D``.  No float takes part.
3. The risk is that of the last step that the score reaches; the first step holds for all lower
   scores, the last for all higher ones.
"""

from __future__ import annotations

import os
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from netbenefit.cards import json as _card_json, text as _card_text
from netbenefit.cards.labels import NO_LABELS, Labels
from netbenefit.cards.questions import Question, questions_of
from netbenefit.cards.readings import Reading, is_one_row, read_columns
from netbenefit.cards.rules import (
    CardLogic,
    Decision,
    HeldOut,
    Provenance,
    RiskRow,
    Rule,
    check_base,
    check_range,
    check_readings,
    check_rules,
    check_steps,
    is_finite,
    starting_points,
    steps_of_levels,
)
from netbenefit.common import (
    FloatArray,
    InputError,
    InputWarning,
    IntArray,
    Remedy,
    check_names,
    shorten,
    stdout_encoding,
    write_text,
)
from netbenefit.metrics import Thresholds


class Given(NamedTuple):
    """What one row answers to a question, and what that is worth."""

    question: str
    answer: str
    points: int | float


@dataclass(frozen=True)
class Scorecard:
    """Rules with integer points, and the risk of each score.

    Risks are steps, from one score on to the next, and never decrease.  So decisions agree: of the
    scores in training, those from :meth:`cutoff` (p) on have a risk of p or more, and no others.

    Parameters
    ----------
    rules : sequence of Rule
        Points of conditions and per unit; a rule for missing values may be worth 0.
    risks : sequence of (int, float)
        Pairs (score, risk): from this score on, this risk.  Scores increase, risks do not
        decrease.  The first risk also holds for lower scores.
    thresholds : Thresholds
        p_0 … p_M.
    score_range : (int, int), optional
        Lowest and highest score in training.  A score beyond has the risk of the nearest of them,
        as on the printed table, whose first row then says "≤" and whose last says "≥".
    feature_names : sequence of str, optional
        Raw columns in the order of an array to be scored; by default :attr:`features`.
    provenance : Provenance, optional
        Where the card comes from.
    readings : sequence of Reading
        How raw columns are read before the rules use them; a column without one is read as it
        stands.
    base : sequence of (str, int)
        Points that every row gets for a column, beside those of its rules: what a column starts
        from, so that its least answer is worth 0 (see :meth:`start_at_zero`).
    held_out : HeldOut, optional
        What the card did on rows that were held out when it was learnt.
    labels : Labels, optional
        What the card and its columns are called (see :meth:`with_labels`).
    decisions : sequence of Decision
        How the card was changed after it was learnt, the card as it was learnt first.

    Examples
    --------
    >>> from netbenefit.cards.terms import Condition, PerUnit
    >>> card = Scorecard(
    ...     rules=[Rule(Condition("age", ">=", 52), 2), Rule(PerUnit("falls"), 1)],
    ...     risks=[(0, 0.04), (2, 0.2), (3, 0.3), (4, 0.75)],
    ...     thresholds=Thresholds.of([0.1, 0.5]),
    ... )
    >>> card.score({"age": 60, "falls": 1}), card.risk({"age": 60, "falls": 1})
    (3, 0.3)
    >>> card.risk({"age": [40, 60, 80], "falls": [0, 1, 3]})
    array([0.04, 0.3 , 0.75])
    >>> card.cutoffs
    (2, 4)
    """

    rules: tuple[Rule, ...]
    risks: tuple[tuple[int, float], ...]
    thresholds: Thresholds
    score_range: tuple[int, int] | None = None
    feature_names: tuple[str, ...] = ()
    provenance: Provenance | None = None
    readings: tuple[Reading, ...] = ()
    base: tuple[tuple[str, int], ...] = ()
    held_out: HeldOut | None = None
    labels: Labels = NO_LABELS
    decisions: tuple[Decision, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.thresholds, Thresholds):
            raise InputError(f"thresholds must be Thresholds, not {self.thresholds!r}.")
        if self.provenance is not None and not isinstance(self.provenance, Provenance):
            raise InputError(f"provenance must be a Provenance, not {self.provenance!r}.")
        if self.held_out is not None and not isinstance(self.held_out, HeldOut):
            raise InputError(f"held_out must be a HeldOut, not {self.held_out!r}.")
        if not isinstance(self.labels, Labels):
            raise InputError(f"labels={self.labels!r}: use card.with_labels(…), which reads them.")
        strange = [one for one in self.decisions if not isinstance(one, Decision)]
        if strange:
            raise InputError(f"decisions must be Decisions, not {strange[0]!r}.")
        put = object.__setattr__
        put(self, "decisions", tuple(self.decisions))
        put(self, "rules", check_rules(self.rules))
        put(self, "readings", check_readings(self.readings, self.rules))
        put(self, "base", check_base(self.base, self.rules))
        names = check_names(self.feature_names) if self.feature_names else self.features
        absent = [name for name in self.features if name not in names]
        if absent:
            raise InputError(f"feature_names lack {shorten(absent)}, which rules use.")
        put(self, "feature_names", names)
        if self.score_range is not None:
            put(self, "score_range", check_range(self.score_range))
        put(self, "risks", check_steps(self.risks, self.score_range))

    @classmethod
    def from_levels(
        cls,
        rules: Sequence[Rule],
        cutoffs: Sequence[int],
        risks: Sequence[float | None],
        thresholds: Thresholds,
        score_range: tuple[int, int] | None = None,
        feature_names: Sequence[str] = (),
        provenance: Provenance | None = None,
        readings: Sequence[Reading] = (),
    ) -> Scorecard:
        """Make a card with one risk per level, as published.

        With thresholds 0 = p_0 < p_1 < … < p_M, a row with score s is on level i when s reaches
        exactly the first i cut-offs T_1 ≤ … ≤ T_M; its risk q_i lies in [p_i, p_{i+1}).

        Parameters
        ----------
        rules : sequence of Rule
        cutoffs : sequence of int
            T_1 … T_M, not decreasing.
        risks : sequence of float or None
            q_0 … q_M; None for a level that no score reaches.
        thresholds, score_range, feature_names, provenance, readings
            As for a :class:`Scorecard`.
        """
        if not isinstance(thresholds, Thresholds):
            raise InputError(f"thresholds must be Thresholds, not {thresholds!r}.")
        return cls(
            rules=tuple(rules),
            risks=steps_of_levels(cutoffs, risks, thresholds, score_range),
            thresholds=thresholds,
            score_range=score_range,
            feature_names=tuple(feature_names),
            provenance=provenance,
            readings=tuple(readings),
        )

    # -- where its questions start -----------------------------------------------------------------

    def start_at_zero(self) -> Scorecard:
        """Return the same card, with every question counted from the answer that is worth least.

        Nobody then has to subtract.  Scores, cut-offs and :attr:`score_range` all move by the same
        number of points, so that every row keeps its risk.  Points per unit stay as they are.

        Examples
        --------
        >>> from netbenefit.cards.terms import Condition
        >>> card = Scorecard([Rule(Condition("bmi", ">=", 25), -3)], [(-3, 0.1), (0, 0.6)],
        ...     Thresholds.of([0.5]))
        >>> new = card.start_at_zero()
        >>> new.base, new.risks, card.score({"bmi": 30}), new.score({"bmi": 30})
        ((('bmi', 3),), ((0, 0.1), (3, 0.6)), -3, 0)
        """
        return self._with_base(starting_points(self.rules, self.readings))

    def raw(self) -> Scorecard:
        """Return the same card as its rules alone have it, without :attr:`base`."""
        return self._with_base(())

    def _with_base(self, base: tuple[tuple[str, int], ...]) -> Scorecard:
        by = sum(points for _, points in base) - self.shift
        ends = self.score_range
        return replace(
            self,
            risks=tuple((score + by, risk) for score, risk in self.risks),
            score_range=None if ends is None else (ends[0] + by, ends[1] + by),
            base=base,
            held_out=None if self.held_out is None else self.held_out.moved(by),
        )

    def with_labels(self, labels: Labels | str | os.PathLike[str] | Mapping[str, Any]) -> Scorecard:
        """Return the same card with a data dictionary, which says what its columns are called.

        Scores and risks stay as they are.  The printed card, the calculator, the report and the
        workbook then show labels and units, list levels in their order, and refuse numbers outside
        of their plausible range where they are entered by hand.

        Parameters
        ----------
        labels : Labels, path of a CSV or JSON file, or mapping
            As :meth:`Labels.read` takes them.  Columns that the card does not use are left out.

        Examples
        --------
        >>> from netbenefit.cards.terms import Condition
        >>> card = Scorecard([Rule(Condition("lac", ">=", 2), 2)], [(0, 0.1), (1, 0.6)],
        ...     Thresholds.of([0.5]))
        >>> names = {"title": "Sepsis", "columns": {"lac": {"label": "Lactate", "unit": "mmol/l"}}}
        >>> card.with_labels(names).labels.of("lac").name
        'Lactate (mmol/l)'
        """
        known, all_labels = self.named_columns, Labels.read(labels)
        kept = all_labels.only(known)
        if all_labels.columns and not kept.columns:
            raise InputError(
                f"labels are about {shorten([one.feature for one in all_labels.columns])}, but the "
                f"card's columns are {shorten(known, 10) or 'none'}. Use these names."
            )
        readings = tuple(kept.order(reading) for reading in self.readings)
        return replace(self, labels=kept, readings=readings)

    @property
    def shift(self) -> int:
        """Points that every row gets: the sum of :attr:`base`."""
        return sum(points for _, points in self.base)

    # -- what it knows ---------------------------------------------------------------------------

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Raw columns that the rules use, in order of appearance."""
        return self._logic.features

    @property
    def named_columns(self) -> tuple[str, ...]:
        """Raw columns, and those that are made of several."""
        asked = [question.feature for question in self.questions]
        return tuple(dict.fromkeys([*self.features, *asked]))

    @property
    def text_features(self) -> tuple[str, ...]:
        """Raw columns that the rules read as text, not as numbers."""
        return tuple(column.name for column in self._logic.columns if column.kind == "text")

    @property
    def size(self) -> int:
        """Number of rules whose points are not zero."""
        return sum(rule.points != 0 for rule in self.rules)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """What has to be asked to fill in the card, with all answers and their points.

        The questions with the largest points come first.  A column whose answers are all worth 0
        is not asked for.

        Examples
        --------
        >>> from netbenefit.cards.terms import Condition
        >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
        >>> card = Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5]))
        >>> [(answer.text, answer.points) for answer in card.questions[0].answers]
        [('under 40', 0), ('40 to under 60', 1), ('60 or more', 3)]
        """
        return questions_of(self._logic)

    @cached_property
    def score_limits(self) -> tuple[int, int] | None:
        """Lowest and highest score that any row can get, or None where there is no end.

        Conditions on one column are taken together ("≥ 40" and "< 30" never both hold).  Where one
        column has several per-unit rules the limits may be wider than what is attained.
        """
        limits, unit = self._logic.limits(), self._logic.unit
        return None if limits is None else (limits[0] // unit, limits[1] // unit)

    @cached_property
    def cutoffs(self) -> tuple[int, ...]:
        """T_1 … T_M: the cut-off of each threshold above 0."""
        return tuple(self.cutoff(p) for p in self.thresholds.values[1:])

    def cutoff(self, threshold: float) -> int:
        """Return the first score whose risk reaches a threshold.

        Where none does, it is one more than the highest score in training (or than the last score
        of :attr:`risks`, where that is not known).
        """
        place = bisect_left(self.risks, threshold, key=lambda step: step[1])
        if place < len(self.risks):
            return self.risks[place][0]
        return 1 + (self.risks[-1][0] if self.score_range is None else self.score_range[1])

    def risk_table(self) -> tuple[RiskRow, ...]:
        """Return the SCORE → RISK table, lowest first; neighbours of equal risk are one row.

        It lists scores that some combination of answers can produce, each column on its own.  An
        end is open where there is no last score, or where scores beyond those of training can
        occur.
        """
        return self._risk_table

    @cached_property
    def _risk_table(self) -> tuple[RiskRow, ...]:
        rows = (self._listed(row) for row in self._risk_rows)
        return tuple(row for row in rows if row is not None)

    def _listed(self, row: RiskRow) -> RiskRow | None:
        """Return a row of scores that can occur, or None where none of its scores can."""
        scores = self._scores
        if scores is None:
            return row
        first = 0 if row.low is None else bisect_left(scores, row.low)
        last = len(scores) if row.high is None else bisect_right(scores, row.high)
        if first >= last:
            return None
        low, high = self.score_range or (scores[0], scores[-1])
        return RiskRow(
            None if first == 0 and scores[0] < low else scores[first],
            None if last == len(scores) and scores[-1] > high else scores[last - 1],
            row.risk,
        )

    @property
    def _one_risk_per_level(self) -> bool:
        """Whether scores on one level all have the same risk, as published."""
        levels = {self.level_of_score(score) for score, _ in self.risks}
        return len(levels) == len({risk for _, risk in self.risks})

    @cached_property
    def _scores(self) -> Sequence[int] | None:
        return self._logic.scores()

    @cached_property
    def _risk_rows(self) -> tuple[RiskRow, ...]:
        """The risk of every score, whether it can occur or not: the ends are open."""
        kept = [
            step for i, step in enumerate(self.risks) if i == 0 or step[1] > self.risks[i - 1][1]
        ]
        lows = [None, *(score for score, _ in kept[1:])]
        highs = [*(score - 1 for score, _ in kept[1:]), None]
        return tuple(
            RiskRow(low, high, risk) for low, high, (_, risk) in zip(lows, highs, kept, strict=True)
        )

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
            rule for that column's missing values nor a reading that fills them.
        """
        if isinstance(X, Mapping) and is_one_row(X, self.features):
            return self._logic.units_of_row(X) // self._logic.unit
        data, n_rows = read_columns(X, self.features, self.feature_names)
        return self._logic.units_of_rows(data, n_rows) // self._logic.unit

    def level(self, X: Any) -> Any:
        """Return the level of each row: how many thresholds above 0 its risk reaches."""
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
        """Return the level of scores: how many thresholds above 0 their risk reaches."""
        risk = self.risk_of_score(score)
        if isinstance(risk, float):
            return bisect_right(self.thresholds.values, risk) - 1
        return np.searchsorted(self.thresholds.values, risk, side="right") - 1

    def risk_of_score(self, score: int | IntArray) -> Any:
        """Return the risk of scores, read as on the printed table.

        Equation eq:risk prob of the paper; there, every level has one risk.
        """
        if isinstance(score, int):
            place = bisect_right(self.risks, score, key=lambda step: step[0])
            return self.risks[max(place - 1, 0)][1]
        starts, risks = self._step_arrays
        return risks[np.maximum(np.searchsorted(starts, score, side="right") - 1, 0)]

    def explain(self, row: Mapping[str, Any]) -> list[Given]:
        """Return the answers of one row to all questions, with their points.

        They add up to the score (rounded down, where points per unit have decimals).

        Examples
        --------
        >>> from netbenefit.cards.terms import Condition
        >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("sex", "==", "male"), 2)]
        >>> card = Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5]))
        >>> for question, answer, points in card.explain({"age": 52, "sex": "female"}):
        ...     print(question, "|", answer, "|", points)
        sex | any other | 0
        age | 40 or more | 1
        """
        if not (isinstance(row, Mapping) and is_one_row(row, self.features)):
            raise InputError("explain takes one row: a dict of plain values by column name.")
        columns, unit = self._logic.columns, self._logic.unit
        pairs = zip(columns, self._logic.values_of_row(row), strict=True)
        by_name = {column.name: (column, value) for column, value in pairs}
        found = []
        for question in self.questions:
            column, value = by_name[question.feature]
            units = column.units_of(value)
            points = units / unit if units % unit else units // unit
            found.append(Given(question.feature, question.given(value), points))
        return found

    @cached_property
    def _logic(self) -> CardLogic:
        return CardLogic.of(self.rules, self.readings, self.base)

    @cached_property
    def _step_arrays(self) -> tuple[IntArray, FloatArray]:
        scores, risks = zip(*self.risks, strict=True)
        return np.array(scores, dtype=np.int64), np.array(risks, dtype=np.float64)

    # -- in and out ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the card as JSON, with the version of its format and a digest of all it says."""
        return _card_json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Scorecard:
        """Read what :meth:`to_json` wrote; anything else is an InputError that names the place.

        A card that was changed after it was written is read with an InputWarning.
        """
        return cls._read(text, "the card")

    @classmethod
    def _read(cls, text: str, name: str) -> Scorecard:
        parts, changed = _card_json.loads(text)
        card = cls(**parts)
        if changed:
            warning = InputWarning(
                f"{name} was changed after it was saved: its digest does not match what it says, "
                "so scores and risks may be wrong. Get the file as it was or, if the change is "
                "meant, sign it anew: ",
                Remedy(
                    "load the card and save it.",
                    "netbenefit export CARD --to json --out NEW_CARD.",
                ),
            )
            warnings.warn(warning, stacklevel=3)
        return card

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card as JSON; a file that is there is replaced at once or stays as it was."""
        write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scorecard:
        """Read a card that :meth:`save` wrote; one that was changed since, with an InputWarning."""
        try:
            return cls._read(Path(path).read_text(encoding="utf-8-sig"), str(path))
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a card file, since it is not UTF-8 text.") from None
        except InputError as error:
            raise InputError(f"{path}: ", *error.args) from None

    def __repr__(self) -> str:
        asked = len(self.questions)
        return f"<Scorecard: {asked} question{'s' * (asked != 1)}; print(card) shows them>"

    def __str__(self) -> str:
        return _card_text.render(self, encoding=stdout_encoding())

    def _repr_html_(self) -> str:
        return _card_text.render_html(self)


def check_card(card: Any) -> Scorecard:
    """Return a card; anything else is an InputError."""
    if not isinstance(card, Scorecard):
        raise InputError(f"card must be a Scorecard, not {type(card).__name__}.")
    return card

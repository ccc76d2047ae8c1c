"""The problem of a certificate, set up from the data alone, and the value of point vectors in it.

Plain and exact: Python integers, fractions, and int64 where nothing can overflow.  Nothing here is
shared with a solver.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import Kind, PerUnit, Readings, Term, numeric_column
from netbenefit.certificates.certificate import pattern_order
from netbenefit.certificates.statement import MOST_CODES, Lesson, Statement
from netbenefit.common import InputError, IntArray, find_decimals, shorten
from netbenefit.data import PatternTable
from netbenefit.metrics import Thresholds
from netbenefit.problem import (
    Form,
    Limits,
    Questions,
    RateLimits,
    all_constraints,
    from_json,
    in_arrays,
)

# -- the data of a certificate, read again from a table --------------------------------------------


def rebuild_table(
    statement: Statement,
    columns: Mapping[str, NDArray[Any]],
    event: ArrayLike,
    sample_weight: ArrayLike | None = None,
) -> PatternTable:
    """Turn raw columns into the pattern table that a certificate describes."""
    readings = Readings(statement.readings, [term.feature for term in statement.terms])
    needed = (name for term in statement.terms for name in readings.sources(term.feature))
    absent = [name for name in needed if name not in columns]
    if absent:
        raise InputError(f"the table has no column {shorten(list(dict.fromkeys(absent)))}.")
    decimals = {
        name: term.decimals for name, term in zip(statement.names, statement.terms, strict=True)
    }
    if len(decimals) < len(statement.names):
        raise InputError("the certificate names a column twice.")
    if statement.readings:
        return _binned(statement, readings, columns, event, sample_weight)
    made = {
        name: _term_values(term, exact, columns[term.feature])
        for name, term, exact in zip(statement.names, statement.terms, statement.exact, strict=True)
    }
    return PatternTable.from_columns(made, event, sample_weight=sample_weight, decimals=decimals)


def _binned(
    statement: Statement,
    readings: Readings,
    columns: Mapping[str, NDArray[Any]],
    event: ArrayLike,
    sample_weight: ArrayLike | None,
) -> PatternTable:
    """Evaluate the conditions on raw columns, as a binner does."""
    kinds: dict[str, Kind] = {}
    for term in statement.terms:
        if kinds.get(term.feature, "any") == "any":
            kinds[term.feature] = term.kind
    read = {name: readings.column(name, columns, kind) for name, kind in kinds.items()}
    codes = [term.column_codes(read[term.feature]).astype(np.int64) for term in statement.terms]
    return PatternTable.from_codes(
        np.column_stack(codes),
        event,
        names=statement.names,
        decimals=[term.decimals for term in statement.terms],
        sample_weight=sample_weight,
    )


def _term_values(term: Term, exact: bool, column: NDArray[Any]) -> NDArray[Any]:
    if isinstance(term, PerUnit) and (term.lower, term.upper, term.log) == (None, None, False):
        values = numeric_column(term.feature, column)  # the table itself counts in steps
        decimals, fits = find_decimals(values)
        if exact and not (fits and decimals <= term.decimals):
            raise InputError(
                f"column {term.feature!r} holds values between the steps of 1e-{term.decimals} in "
                "which it was given."
            )
        return values
    if isinstance(term, PerUnit):
        return term.codes(column) / 10.0**term.decimals
    return term.holds(column)


# -- whether the limits of a certificate are those that its constraints give -----------------------


def limits_differ(statement: Statement, table: PatternTable, points: Sequence[int]) -> str | None:
    """Say where limits and constraints differ; None where they agree.

    The constraints are put into arrays again, and have to give the bounds and limits that are
    stated: the search space as a whole is then the stated one.  The points that were found must
    meet every constraint by itself, too.
    """
    try:
        constraints = [from_json(item) for item in statement.constraints]
        rows = sum(1 + len(getattr(one, "features", ())) for one in constraints)
        if rows * len(statement.names) > MOST_CODES:
            return "its constraints are too many to be put into arrays"
        for constraint in constraints:
            fits = len(points) == len(statement.names)
            if fits and not constraint.allows(points, statement.names):
                return f"the points break a constraint: {constraint}"
        grid = _grid(statement)
        named = all_constraints(table.names, None, None, None, constraints)
    except (InputError, TypeError, KeyError) as error:
        return f"its constraints or thresholds cannot be read: {error}"
    start = np.zeros(len(statement.names), dtype=np.int64)  # no need to look for one
    form = in_arrays(table, grid, statement.max_points, named, statement.questions, start)
    return None if _same(statement, form) else "the limits are not those of its constraints"


def _grid(statement: Statement) -> Thresholds:
    grid = Thresholds(
        tuple(float(p) for p in statement.thresholds), tuple(float(w) for w in statement.weights)
    )
    if grid.fractions != statement.thresholds or grid.weight_fractions != statement.weights:
        raise InputError("a card cannot have such thresholds.")
    return grid


def _same(statement: Statement, form: Form) -> bool:
    mine, yours = statement.limits, form.limits
    return (
        np.array_equal(statement.lower, form.lower)
        and np.array_equal(statement.upper, form.upper)
        and statement.max_features == form.size
        and all(
            np.array_equal(mine.values[k, :width], yours.values[k, :width])
            for k, width in enumerate((statement.upper - statement.lower + 1).tolist())
        )
        and _rows(mine) == _rows(yours)
        and mine.total == yours.total
        and mine.rates == yours.rates
        and mine.asked.most == yours.asked.most
        and np.array_equal(mine.asked.spread, yours.asked.spread)
    )


def _rows(limits: Limits) -> list[tuple[list[int], int]]:
    return sorted(zip(limits.support.tolist(), limits.support_limit.tolist(), strict=True))


# -- whether the questions of a certificate are those of its columns -------------------------------


def questions_differ(statement: Statement, table: PatternTable) -> str | None:
    """Say why questions or answers cannot be those of the columns; None where they can.

    1. Where the columns are conditions on raw columns, their terms tell the questions, and all
       answers to them.  Or each condition is a question of its own: the published objective.
       Where each column is a raw one, as it is, questions may be stated that group them.
    2. The codes of every row are among the answers to every question whose answers are listed.
    3. Answers limit points, so that stated ones have to be answers that rows give, or all zeros, to
       questions of several columns of zeros and ones: any other would hide cards from the claim.
    """
    per = Counter(term.feature for term in statement.terms)
    about = sum(2 * n + 3 for n in per.values() if n > 1)  # answers: at, and between, its limits
    if about * len(statement.terms) > MOST_CODES or 2 * max(per.values()) ** 2 > MOST_CODES:
        return "it has too many conditions for their answers to be listed"
    stated, told = statement.questions, Questions.of_terms(statement.terms)  # 1.
    known = told, Questions.single(statement.names)
    if (statement.readings or told.grouped) and not any(_alike(stated, one) for one in known):
        if stated.names != told.names or not np.array_equal(stated.of_column, told.of_column):
            return "its questions are not the raw columns that its columns are conditions on"
        return "the answers to its questions are not those that its conditions can give"
    tells = any(_alike(stated, one) for one in known)
    for q in np.unique(stated.of_answer):  # 2.
        own = stated.of_column == q
        listed = set(map(tuple, stated.answers[stated.of_answer == q][:, own].tolist()))
        given = set(map(tuple, np.unique(table.codes[:, own], axis=0).tolist()))
        for codes in sorted(given - listed):
            return (
                f"rows answer {stated.names[q]!r} by {list(codes)}, which is not among its answers"
            )
        if tells:
            continue
        flags = np.isin(table.codes[:, own], (0, 1)).all()
        if own.sum() < 2 or not flags or np.array(table.decimals)[own].any():
            return (
                f"answers to {stated.names[q]!r} may not be listed, which is not about several "
                "columns of zeros and ones"
            )
        for codes in sorted(listed - given - {(0,) * int(own.sum())}):
            return f"no row answers {stated.names[q]!r} by {list(codes)}, which would limit points"
    return None


def _alike(one: Questions, other: Questions) -> bool:
    return (
        one.names == other.names
        and np.array_equal(one.of_column, other.of_column)
        and np.array_equal(one.of_answer, other.of_answer)
        and np.array_equal(one.answers, other.answers)
    )


# -- the value of point vectors, exactly and in whole numbers --------------------------------------


#: Sums of int64 stay below this.
_ROOM = 2**62
#: Where a scale without rounding stays below this, there is no reason to round.
_EXACT = 2**40
#: Most numbers in the gains: thresholds times distinct rows.
_MOST_GAINS = 2**24
#: Vectors of a box that are counted at once.
_CHUNK = 2048


def floor_scores(codes: IntArray, decimals: Sequence[int], points: Sequence[int]) -> list[int]:
    """Floor of x·λ for each row of codes, where x = codes / 10 ** decimals."""
    digits = max(decimals, default=0)
    unit = 10**digits
    return [
        sum(
            int(v) * int(c) * 10 ** (digits - d)
            for v, c, d in zip(points, row, decimals, strict=True)
        )
        // unit
        for row in codes
    ]


@dataclass(frozen=True)
class ExactValue:
    """A point vector's exact value."""

    objective: Fraction  #: G
    net_benefit: Fraction
    cutoffs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RecountedProblem:
    """A certificate's problem on a pattern table."""

    statement: Statement
    table: PatternTable

    @cached_property
    def outcomes(self) -> tuple[list[Fraction], list[Fraction]]:
        """Rows of each pattern with the event, and without it, exactly."""
        table = self.table
        events, others = table.events.tolist(), table.others.tolist()
        return [Fraction(v) for v in events], [Fraction(v) for v in others]

    @cached_property
    def masses(self) -> tuple[list[Fraction], list[Fraction]]:
        """Mass of events and of non-events of each pattern: outcomes, or the blend of them."""
        lesson = self.statement.teacher
        return self.outcomes if lesson is None else self._blended(lesson)

    def _blended(self, lesson: Lesson) -> tuple[list[Fraction], list[Fraction]]:
        """The blend counted again from the outcomes and the teacher's expected events."""
        table, parts = self.table, lesson.denominator
        n_rows, n0 = Fraction(table.n_total), lesson.strength
        masses = [Fraction(0)] * len(table), [Fraction(0)] * len(table)
        for u, expected in zip(pattern_order(table), lesson.expected.tolist(), strict=True):
            events, rows = self.outcomes[0][u], self.outcomes[0][u] + self.outcomes[1][u]
            taught = Fraction(expected, parts)
            if not 0 <= taught <= rows + Fraction(1, parts):
                raise InputError(f"the teacher expects {float(taught):g} events of {rows} rows.")
            mass = min(taught, rows)
            if n0 is not None:
                mass = (n_rows * events + n0 * mass) / (n_rows + n0)
            if table.is_whole:
                positive = Fraction(math.floor(parts * mass + Fraction(1, 2)))
                masses[0][u], masses[1][u] = positive, parts * rows - positive
            else:
                positive = Fraction(float(mass))
                masses[0][u] = positive
                masses[1][u] = max(Fraction(0), Fraction(float(rows - positive)))
        return masses

    @cached_property
    def total(self) -> Fraction:
        """Mass of all rows (rounded once where weights are real, as the table does)."""
        if self.table.is_whole:
            return sum((a + b for a, b in zip(*self.masses, strict=True)), Fraction(0))
        events, others = (np.array([float(v) for v in part]) for part in self.masses)
        return Fraction(float(events.sum() + others.sum()))

    @property
    def odds(self) -> list[Fraction]:
        """Of each threshold, p / (1 − p)."""
        return [p / (1 - p) for p in self.statement.thresholds]

    def scores(self, points: Sequence[int]) -> list[int]:
        """Floor of each pattern's score."""
        return floor_scores(self.table.codes, self.table.decimals, points)

    def evaluate(self, points: Sequence[int]) -> ExactValue | None:
        """Count G of a vector with its best cut-offs; None where rates allow no cut-offs."""
        scores = self.scores(points)
        candidates, *masses = _at_or_above(scores, *self.masses)
        _, *rows = _at_or_above(scores, *self.outcomes)
        rates = self.statement.limits.rates
        benefit, cutoffs = Fraction(0), []
        for i, (weight, odds) in enumerate(zip(self.statement.weights, self.odds, strict=True)):
            best: tuple[Fraction, int] | None = None
            for t, a, b, found, alarms in zip(candidates, *masses, *rows, strict=True):
                allowed = rates is None or (found >= rates.found[i] and alarms <= rates.alarms[i])
                value = a - odds * b
                if allowed and (best is None or value > best[0]):
                    best = value, t
            if best is None:
                return None
            benefit += weight * best[0]
            cutoffs.append(best[1])
        net_benefit = benefit / self.total
        return ExactValue(
            net_benefit - self.statement.price(points), net_benefit, tuple(cutoffs[1:])
        )

    def net_benefit(self, points: Sequence[int], cutoffs: Sequence[int]) -> Fraction:
        """Count Σ_i ω_i NB_i of cut-offs T_1 … T_M by the outcomes; at p = 0 all are called."""
        scores, (events, others) = self.scores(points), self.outcomes
        benefit = self.statement.weights[0] * sum(events)
        for weight, odds, t in zip(self.statement.weights[1:], self.odds[1:], cutoffs, strict=True):
            rows = zip(scores, events, others, strict=True)
            benefit += weight * sum((a - odds * b for s, a, b in rows if s >= t), Fraction(0))
        return benefit / Fraction(self.table.n_total)

    def forbids(self, points: Sequence[int]) -> str | None:
        """Say why points are not allowed; None where they are."""
        statement, vector = self.statement, np.array(points, dtype=np.int64)
        outside = np.flatnonzero((vector < statement.lower) | (vector > statement.upper))
        if outside.size:
            k = int(outside[0])
            low, high = statement.lower[k], statement.upper[k]
            return f"{statement.names[k]!r} has {vector[k]}, outside {low} to {high}"
        values = statement.limits.values[np.arange(vector.size), vector - statement.lower]
        if not values.all():
            k = int(np.argmin(values))
            return f"{statement.names[k]!r} may not have {vector[k]}"
        size = int(np.count_nonzero(vector))
        if size > statement.max_features:
            return f"{size} columns have points, more than {statement.max_features}"
        for row, limit in zip(
            statement.limits.support, statement.limits.support_limit, strict=True
        ):
            if row @ (vector != 0) > limit:
                return f"which columns have points breaks the limit {row.tolist()} ≤ {limit}"
        if int(np.abs(vector).sum()) > statement.limits.total:
            return f"the points add up to more than {statement.limits.total}"
        asked, questions = statement.limits.asked, statement.questions
        count = len(set(questions.of_column[vector != 0].tolist()))
        if count > asked.most:
            plural = "s" * (count > 1)
            return f"the card asks {count} question{plural}, more than {asked.most}"
        worth = (questions.answers @ vector).tolist()
        for q, name in enumerate(questions.names):
            own = [v for v, of in zip(worth, questions.of_answer, strict=True) if of == q]
            apart = max(own, default=0) - min(own, default=0)
            if apart > asked.spread[q]:
                return f"answers to {name!r} lie {apart} points apart, more than {asked.spread[q]}"
        if self.evaluate(points) is None:
            return "no cut-offs keep to the limits on events found and false alarms"
        return None

    def check_room(self) -> None:
        """Refuse points whose scores would not fit in 64 bits."""
        digits = max(self.table.decimals)
        most = np.maximum(np.abs(self.statement.lower), np.abs(self.statement.upper)).tolist()
        codes = np.abs(self.table.codes).max(axis=0).tolist()
        reach = sum(
            m * c * 10 ** (digits - d)
            for m, c, d in zip(most, codes, self.table.decimals, strict=True)
        )
        if len(self.statement.thresholds) * len(self.table) > _MOST_GAINS:
            raise InputError(
                f"{len(self.statement.thresholds):,} thresholds for {len(self.table):,} distinct "
                f"rows are too many: the judge takes a product of up to {_MOST_GAINS:,}."
            )
        if 4 * reach >= 2**63:
            raise InputError("scores could exceed 64-bit integers.")
        answers = np.abs(self.statement.questions.answers).tolist()
        if any(4 * sum(m * c for m, c in zip(most, row, strict=True)) >= 2**63 for row in answers):
            raise InputError("points of answers could exceed 64-bit integers.")

    def in_integers(self, total: Fraction) -> IntegerRecount:
        """The problem in whole numbers, at a scale, rounded so that no value is too low."""
        if total <= 0:
            raise InputError("the scale of the boxes' values is not positive.")
        one = math.lcm(*(v.denominator for part in self.masses for v in part))
        events, others = ([int(v * one) for v in part] for part in self.masses)
        rule = total * self.statement.rule_penalty
        question = total * (self.statement.penalty - self.statement.rule_penalty)
        exact = rule.denominator == 1 and question.denominator == 1
        rows: list[Any] = []
        kept, constant, largest = [], Fraction(0), 0
        for i, (weight, odds) in enumerate(zip(self.statement.weights, self.odds, strict=True)):
            found = total * weight / (self.total * one)
            if weight * odds == 0:
                constant += found * sum(events)  # all are called positive, or nothing counts
                continue
            kept.append(i)
            row, whole = self._gains(events, others, found, odds)
            size = sum(map(abs, row))
            rows.append(_compact(row, size))
            exact, largest = exact and whole, largest + size
        if self.statement.limits.rates is not None and largest >= _ROOM:
            # Rates may force calls that lose more than there is room for: less of it is counted.
            cut, exact = _ROOM // (4 * sum(map(len, rows))), False
            for i, row in enumerate(rows):
                largest -= sum(abs(int(gain)) for gain in row)
                less = [max(int(gain), -cut) for gain in row]
                rows[i] = _compact(less, sum(map(abs, less)))
                largest += sum(map(abs, less))
        if largest + (rule + question) * len(self.statement.names) >= _ROOM:
            raise InputError("the values of boxes could exceed 64-bit integers.")
        return IntegerRecount(
            recount=self,
            gains=np.array(rows, dtype=np.int64).reshape(len(rows), len(self.table)),
            kept=tuple(kept),
            price=math.floor(rule),
            question_price=math.floor(question),
            constant=constant,
            total=total,
            exact=exact,
        )

    def _gains(
        self, events: list[int], others: list[int], found: Fraction, odds: Fraction
    ) -> tuple[list[int], bool]:
        """Gains of a threshold, rounded up, and whether none had to be.

        Without limits on rates, calling none is allowed, so that a loss beyond the sum of all gains
        counts as that sum: no set that holds such a pattern is worth calling, either way.
        """
        alarm = found * odds
        parts = math.lcm(found.denominator, alarm.denominator)
        a, b = int(found * parts), int(alarm * parts)
        exact = [a * u - b * v for u, v in zip(events, others, strict=True)]
        gains = [-(-gain // parts) for gain in exact]
        if self.statement.limits.rates is not None:
            return gains, all(gain % parts == 0 for gain in exact)
        most = sum(gain for gain in gains if gain > 0)
        whole = all(gain % parts == 0 or gain < -most * parts for gain in exact)
        return [max(gain, -most) for gain in gains], whole

    @property
    def whole_total(self) -> Fraction | None:
        """A scale at which nothing has to be rounded, if there is one within room."""
        if not self.table.is_whole:
            return None
        worth = [(w, w * r) for w, r in zip(self.statement.weights, self.odds, strict=True)]
        gains = self.total * math.lcm(*(v.denominator for pair in worth for v in pair))
        prices = self.statement.rule_penalty * gains, self.statement.penalty * gains
        total = gains * math.lcm(*(price.denominator for price in prices))
        largest = max([Fraction(1), *(b for _, b in worth)])
        return total if total * largest <= _EXACT else None


def _compact(row: list[int], size: int) -> list[int] | IntArray:
    """Whole numbers whose absolute sum is ``size``, in 64 bits if they fit: lists take far more."""
    return np.array(row, dtype=np.int64) if size < _ROOM else row


@dataclass(frozen=True, eq=False)
class IntegerRecount:
    """A problem in whole numbers: every value is at least the true one."""

    recount: RecountedProblem
    gains: IntArray  #: (m, n) what calling pattern u positive at a threshold adds
    kept: tuple[int, ...]  #: which thresholds those are
    price: int  #: of a column with points
    question_price: int  #: of a question with such columns, on top
    constant: Fraction
    total: Fraction  #: objective ≤ (value + constant) / total
    exact: bool  #: whether they are equal: nothing had to be rounded

    @cached_property
    def units(self) -> IntArray:
        """Features of the patterns in whole units."""
        table = self.recount.table
        digits = max(table.decimals)
        return table.codes * np.array([10 ** (digits - d) for d in table.decimals], dtype=np.int64)

    @property
    def unit(self) -> int:
        """Units in one point."""
        return int(10 ** max(self.recount.table.decimals))

    @property
    def rounding(self) -> Fraction:
        """How much higher than the true objective a value may seem."""
        if self.exact:
            return Fraction(0)
        prices = self.units.shape[1]
        asked = self.recount.statement.questions
        if asked.grouped:
            prices += len(asked)
        return Fraction(self.gains.size + prices) / self.total

    def paid(self, used: NDArray[np.bool_]) -> IntArray:
        """Price of the columns that are used, and of their questions, of each row of (K, P)."""
        of_column = self.recount.statement.questions.of_column
        asked = [used[:, of_column == q].any(axis=1) for q in set(of_column.tolist())]
        rules, questions = used.sum(axis=1), np.sum(asked, axis=0, dtype=np.int64)
        result: IntArray = self.price * rules + self.question_price * questions
        return result

    def to_objective(self, value: int) -> Fraction:
        """Objective that a value stands for."""
        return (int(value) + self.constant) / self.total

    def highest(self, vectors: IntArray) -> tuple[int, IntArray] | None:
        """Highest value of allowed vectors (rows), and one that has it; None where none can be."""
        rates = self.recount.statement.limits.rates
        values = (
            self._values(vectors).tolist()
            if rates is None
            else [self._rated_value(vector.tolist(), rates) for vector in vectors]
        )
        best: tuple[int, IntArray] | None = None
        for value, vector in zip(values, vectors, strict=True):
            if value is not None and (best is None or value > best[0]):
                best = value, vector
        return best

    def _values(self, vectors: IntArray) -> IntArray:
        """Value of each vector, by sorting the patterns by score."""
        scores = (self.units @ vectors.T) // self.unit  # (n, K)
        order = np.argsort(-scores, axis=0, kind="stable")
        falling = np.take_along_axis(scores, order, axis=0)
        last = np.ones(falling.shape, dtype=np.bool_)  # of the patterns with equal scores
        last[:-1] = falling[:-1] != falling[1:]
        values: IntArray = -self.paid(vectors != 0)
        for row in self.gains:
            called = np.cumsum(row[order], axis=0)
            values += np.where(last, called, 0).max(axis=0).clip(min=0)
        return values

    def _rated_value(self, points: list[int], rates: RateLimits) -> int | None:
        """Value with the best cut-offs that the rates allow; None where there are none."""
        recount = self.recount
        scores = recount.scores(points)
        _, found, alarms = _at_or_above(scores, *recount.outcomes)
        allowed = [
            [a >= least and b <= most for a, b in zip(found, alarms, strict=True)]
            for least, most in zip(rates.found, rates.alarms, strict=True)
        ]
        if not all(any(row) for row in allowed):
            return None
        total = 0
        for i, row in zip(self.kept, self.gains.tolist(), strict=True):
            _, gained, _ = _at_or_above(scores, row, row)
            total += max(int(g) for g, fine in zip(gained, allowed[i], strict=True) if fine)
        return total - int(self.paid(np.array([points]) != 0)[0])


def _at_or_above(
    scores: Sequence[int], first: Sequence[Fraction | int], second: Sequence[Fraction | int]
) -> tuple[list[int], list[Fraction], list[Fraction]]:
    """Candidate cut-offs, rising, the last one above all scores; and the sums from each on."""
    sums: dict[int, list[Fraction]] = {}
    for s, a, b in zip(scores, first, second, strict=True):
        entry = sums.setdefault(s, [Fraction(0), Fraction(0)])
        entry[0] += a
        entry[1] += b
    distinct = sorted(sums)
    columns = (
        [*list(accumulate(sums[s][side] for s in reversed(distinct)))[::-1], Fraction(0)]
        for side in (0, 1)
    )
    found, alarms = columns
    return [*distinct, distinct[-1] + 1], found, alarms


def vectors_of(allowed: Sequence[Sequence[int]]) -> Iterator[IntArray]:
    """Yield all vectors whose entries are taken from lists, some thousands at a time."""
    chunk: list[tuple[int, ...]] = []
    for vector in product(*allowed):
        chunk.append(vector)
        if len(chunk) == _CHUNK:
            yield np.array(chunk, dtype=np.int64)
            chunk = []
    if chunk:
        yield np.array(chunk, dtype=np.int64)

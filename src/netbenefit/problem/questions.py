"""Which columns of a problem belong to one question, and what can be answered to it.

A person who fills in a card does not count conditions but what has to be asked or measured: "age
≥ 40" and "age ≥ 60" are one question.  All conditions on one column of a card are a *question*; a
column that is used as it is, without a binner, is a question of its own.

The *answers* to a question are the different rows of its conditions that a raw value, or a missing
one, can produce: with x_a the codes of answer a, it is worth x_a·λ points.  A printed card counts
from the answer that is worth least, so the points of an answer as printed are
x_a·λ − min_b x_b·λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netbenefit.cards import Condition, Kind, PerUnit, Term, named, samples
from netbenefit.common import IntArray


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of a problem with P columns.

    Examples
    --------
    >>> from netbenefit.cards import Condition
    >>> asked = Questions.of_terms(
    ...     [Condition("age", ">=", 40), Condition("age", ">=", 60), Condition("sex", "==", "male")]
    ... )
    >>> asked.names, asked.of_column
    (('age', 'sex'), array([0, 0, 1]))
    >>> asked.answers  # under 40, 40 to 59, 60 or more
    array([[0, 0, 0],
           [1, 0, 0],
           [1, 1, 0]])
    """

    names: tuple[str, ...]
    of_column: IntArray  #: (P,) question of each column
    answers: IntArray  #: (A, P) codes of all answers to questions with several conditions
    of_answer: IntArray  #: (A,) the question of each answer, ascending

    @classmethod
    def single(cls, names: Sequence[str]) -> Questions:
        """Each column is a question of its own."""
        none = np.zeros(0, dtype=np.int64)
        return cls(tuple(names), np.arange(len(names)), np.zeros((0, len(names)), np.int64), none)

    @classmethod
    def of_terms(cls, terms: Sequence[Term]) -> Questions:
        """Columns that are conditions of the same raw (or combined) column are one question.

        Points per unit have no end that could count as an answer: a question with such a term has
        none here, and its points are limited one by one.
        """
        names = tuple(dict.fromkeys(term.feature for term in terms))
        of_column = np.array([names.index(term.feature) for term in terms], dtype=np.int64)
        answers, of_answer = [np.zeros((0, len(terms)), dtype=np.int64)], []
        for question in range(len(names)):
            own = np.flatnonzero(of_column == question)
            codes = _answer_codes([terms[k] for k in own.tolist()])
            if own.size > 1 and codes is not None:
                rows = np.zeros((len(codes), len(terms)), dtype=np.int64)
                rows[:, own] = codes
                answers.append(rows)
                of_answer += [question] * len(codes)
        return cls(names, of_column, np.concatenate(answers), np.array(of_answer, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def grouped(self) -> bool:
        """Whether some question has several columns."""
        return len(self.names) < self.of_column.size

    def used(self, points: Sequence[int] | IntArray) -> int:
        """How many questions a card with these (P,) points asks."""
        return int(np.unique(self.of_column[np.asarray(points) != 0]).size)

    def spreads(self, points: IntArray) -> IntArray:
        """(Q,) difference between the best and the worst answer; 0 where none are listed."""
        result = np.zeros(len(self), dtype=np.int64)
        worth = self.answers @ points
        for question in np.unique(self.of_answer):
            own = worth[self.of_answer == question]
            result[question] = own.max() - own.min()
        return result


def _answer_codes(terms: Sequence[Term]) -> IntArray | None:
    """The different codes that raw values give some terms of one column; None per unit."""
    if any(isinstance(term, PerUnit) and not term.binary for term in terms):
        return None
    kind: Kind = next((term.kind for term in terms if term.kind != "any"), "any")
    values = samples(named(terms), kind)
    if any(isinstance(term, PerUnit) for term in terms):
        values = [0.0, 1.0]
    missing = any(isinstance(term, Condition) and term.op == "missing" for term in terms)
    found = {tuple(term.value_code(value) for term in terms) for value in values}
    if missing:
        found.add(tuple(term.value_code(None) for term in terms))
    return np.array(sorted(found), dtype=np.int64)

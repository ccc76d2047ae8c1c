"""Along which columns a risk only rises, or only falls, by the teacher and by the outcomes.

A sign on the conditions "≥" of a column makes its points a monotone step function, at no price but
that of its rules.  The teacher knows the direction of most columns better than the outcomes of
few rows do:

1. Explain the teacher's log-odds by the conditions of all columns, by least squares: each question
   then has a step function f of its answers, all other questions being equal.
2. The best step function that only rises (or falls) has to keep :data:`LEAST_KEPT` of the variance
   of f.  Missing values have no place in the order, and are left out.
3. The outcomes have to bear it out: in a logistic regression of the outcomes on the f of all
   questions, that of this question is :data:`LEAST_ERRORS` standard errors above 0.
4. They may not contradict it: with what they add to the teacher's log-odds, no answer's f is
   :data:`CONTRARY_ERRORS` standard errors on the wrong side of another's.

Where every column is to be monotone, each takes the direction that keeps more in step 2, whatever
the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from netbenefit.cards import Condition, Term
from netbenefit.common import (
    FloatArray,
    InputError,
    Remedy,
    did_you_mean,
    minimise_by_newton,
    shorten,
)
from netbenefit.data import PatternTable
from netbenefit.estimators.training import TrainingData, terms_of
from netbenefit.problem import Bounds, Questions, Sign, Values, all_constraints
from netbenefit.teachers import Taught

#: Share of the variance of a step function that a monotone one has to keep.
LEAST_KEPT = 0.9
#: Standard errors by which the outcomes have to bear a step function out.
LEAST_ERRORS = 3.0
#: Standard errors from which on two answers contradict a direction.
CONTRARY_ERRORS = 2.0
_MOST_GROUPS = 5
#: Keeps both regressions solvable where columns repeat each other; relative to the rows.
_RIDGE = 1e-4
#: Risks nearer to 0 or 1 than this are taken for this.
_SURE = 1e-4


#: What stands for all columns that a mapping does not name.
_ALL = "*"


#: Ways that leave the direction to the teacher: where it is clear, or in any case.
AUTOMATIC = ("auto", "all")


def read_automatic(monotone: Any) -> dict[str, str]:
    """Return the columns whose direction the teacher is to give, and how; ``"*"`` for others."""
    given = {_ALL: monotone} if isinstance(monotone, str) else monotone or {}
    return {name: way for name, way in given.items() if way in AUTOMATIC}


def never_negative(names: Sequence[str], settings: Mapping[str, Any]) -> list[Sign]:
    """Constraints that keep all points at 0 or above; refused where another wants them below."""
    limits = all_constraints(
        tuple(names), settings.get("sign"), settings.get("bounds"), None, settings["constraints"]
    )
    for one in limits:
        if isinstance(one, Sign) and one.sign == "-":
            raise InputError(
                Remedy("nonnegative=True", "--nonnegative"),
                f" and a negative sign of {one.feature!r} contradict each other. Leave out one.",
            )
    return [Sign(name, "+") for name in names]


def directions_of(
    training: TrainingData, table: PatternTable, taught: Taught | None, asked: Mapping[str, str]
) -> tuple[dict[str, str], list[Sign]]:
    """Return the signs of columns that the teacher gives, and the constraints that keep to them.

    ``table`` holds outcomes and masses, ``asked`` names columns (see :func:`read_automatic`).
    Columns whose points are limited otherwise, by a sign or by bounds, are left alone.
    """
    if taught is None:
        raise InputError(
            Remedy('monotone="auto"', "--monotone auto")
            if "auto" in asked.values()
            else Remedy('monotone="all"', "--monotone all"),
            " takes directions from a teacher, but there is none. Choose one, or name directions: ",
            Remedy('monotone={"age": "+"}', "--monotone age+"),
            ".",
        )
    terms = terms_of(table) if training.bins is None else training.bins.terms
    columns = table.names if training.bins is None else training.bins.columns
    questions, settings = Questions.of_terms(terms), training.settings
    unknown = [name for name in asked if name not in {_ALL, *columns, *questions.names}]
    if unknown:
        raise InputError(
            Remedy("monotone", "--monotone"),
            f" names column {unknown[0]!r}, which is not in the table."
            f"{did_you_mean(unknown[0], columns)} Its columns are {shorten(columns, 10)}. Correct "
            "the name.",
        )
    limits = all_constraints(
        table.names, settings.get("sign"), settings.get("bounds"), None, settings["constraints"]
    )
    limited = {one.feature for one in limits if isinstance(one, Sign | Bounds | Values)}
    rows = table.events + table.others
    risks = taught.blend.expected / (taught.blend.denominator * rows.astype(np.float64))
    ways: dict[str, str] = {}
    made: list[Sign] = []
    clear, best = clear_directions(table, risks, terms, questions)
    for question, way in sorted(best.items()):
        name, sign = questions.names[question], "+" if way > 0 else "-"
        how = asked.get(name, asked.get(_ALL))
        if how is None or (how == "auto" and question not in clear):
            continue
        own = np.flatnonzero(questions.of_column == question).tolist()
        named = [table.names[k] for k in own if not is_missing(terms[k])]
        if not limited & {*named, name}:
            ways[name] = sign
            made += [Sign(one, sign) for one in named]
    return ways, made


def is_missing(term: Term) -> bool:
    """Whether a term is about missing values, which have no place in an order."""
    return isinstance(term, Condition) and term.op == "missing"


def clear_directions(
    table: PatternTable, risks: FloatArray, terms: Sequence[Term], questions: Questions
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the questions whose direction is clear: 1 where the risk rises, −1 where it falls.

    The second mapping holds the better direction of every question whose answers have an order.

    ``table`` holds the outcomes of patterns, and ``risks`` the teacher's mean risk of each.
    """
    events = table.events.astype(np.float64)
    rows = events + table.others
    codes = table.codes / 10.0 ** np.array(table.decimals)
    # 1.
    sure = np.clip(risks, _SURE, 1.0 - _SURE)
    points = _explain(codes, np.log(sure / (1.0 - sure)), rows)
    surprise, weight = events - rows * sure, rows * sure * (1.0 - sure)
    present = np.array([not is_missing(term) for term in terms])
    ranks = [_ranks(codes, terms, questions.of_column == q, present) for q in range(len(questions))]
    ordered = [q for q, rank in enumerate(ranks) if rank is not None]
    effects = np.array(
        [codes @ np.where((questions.of_column == q) & present, points, 0.0) for q in ordered]
    ).reshape(len(ordered), rows.size)
    # 2.
    ways, best = {}, {}
    for place, q in enumerate(ordered):
        rank = ranks[q]
        assert rank is not None
        kept = {way: _kept(effects[place], rank, rows, way) for way in (1, -1)}
        way = best[q] = max(kept, key=lambda one: kept[one])
        if kept[way] >= LEAST_KEPT:
            ways[place] = way
    # 3. and 4.
    borne_out = _errors(effects, events, rows)
    clear = {}
    for place, way in ways.items():
        rank = ranks[ordered[place]]
        assert rank is not None
        contrary = _contrary(way * effects[place], rank, way * surprise, weight)
        if borne_out[place] >= LEAST_ERRORS and contrary < CONTRARY_ERRORS:
            clear[ordered[place]] = way
    return clear, best


def _explain(codes: FloatArray, odds: FloatArray, rows: FloatArray) -> FloatArray:
    """Step 1: points of each column, by least squares with a small ridge."""
    share = rows / rows.sum()
    centred = codes - share @ codes
    spread = np.sqrt(share @ centred**2)
    spread[spread == 0] = 1.0
    scaled = centred / spread
    matrix = scaled.T @ (share[:, None] * scaled) + _RIDGE * np.eye(codes.shape[1])
    found: FloatArray = np.linalg.solve(matrix, scaled.T @ (share * (odds - share @ odds))) / spread
    return found


def _ranks(
    codes: FloatArray, terms: Sequence[Term], own: NDArray[np.bool_], present: NDArray[np.bool_]
) -> FloatArray | None:
    """Places of the patterns in the order of a question's answers; None where there is no order.

    The conditions of a column have an order where each answer adds some to those of the one before.
    A single condition on levels ("stage is IV") has none that a reader would expect.
    """
    columns = np.flatnonzero(own & present)
    if columns.size == 0:
        return None
    levels = [terms[k] for k in columns.tolist()]
    if columns.size == 1 and isinstance(levels[0], Condition):
        return codes[:, columns[0]] if levels[0].kind == "number" else None
    if columns.size == 1:
        return codes[:, columns[0]]
    if not all(isinstance(term, Condition) for term in levels):
        return None
    answers = np.unique(codes[:, columns], axis=0)
    rising = answers[np.argsort(answers.sum(axis=1), kind="stable")]
    if (np.diff(rising, axis=0) < 0).any():
        return None
    rank: FloatArray = codes[:, columns].sum(axis=1)
    return rank


def _kept(effect: FloatArray, rank: FloatArray, rows: FloatArray, way: int) -> float:
    """Step 2: the share of a step function's variance that a monotone one keeps."""
    _, place = np.unique(rank, return_inverse=True)
    mass = np.bincount(place, weights=rows)
    level = np.bincount(place, weights=rows * effect) / mass
    total = float(mass @ (level - mass @ level / mass.sum()) ** 2)
    if total <= 0:
        return 0.0
    best = isotonic_regression(level, sample_weight=mass, increasing=way > 0)
    return 1.0 - float(mass @ (level - best) ** 2) / total


def _errors(effects: FloatArray, events: FloatArray, rows: FloatArray) -> FloatArray:
    """Step 3: by how many standard errors each step function is above 0 in the outcomes."""
    share = rows / rows.sum()
    centred = effects - (effects @ share)[:, None]
    spread = np.sqrt(centred**2 @ share)
    flat = spread == 0
    design = np.vstack([np.ones(rows.size), centred / np.where(flat, 1.0, spread)[:, None]])
    pull = _RIDGE * rows.sum() * np.append(0.0, np.ones(len(effects)))

    def loss(w: FloatArray) -> float:
        odds = w @ design
        terms = rows * np.logaddexp(0.0, odds) - events * odds
        return float(terms.sum() + 0.5 * pull @ w**2)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        risk = 1.0 / (1.0 + np.exp(-(w @ design)))
        gradient = design @ (rows * risk - events) + pull * w
        curvature = (design * (rows * risk * (1.0 - risk))) @ design.T + np.diag(pull)
        return gradient, curvature

    start = np.zeros(design.shape[0])
    start[0] = np.log(events.sum() / (rows.sum() - events.sum()))
    found = minimise_by_newton(loss, derivatives, start, close=1e-8)
    _, curvature = derivatives(found)
    variance = np.diag(np.linalg.inv(curvature))
    result: FloatArray = np.where(flat, 0.0, found[1:] / np.sqrt(variance[1:]))
    return result


def _contrary(
    effect: FloatArray, rank: FloatArray, surprise: FloatArray, weight: FloatArray
) -> float:
    """Step 4: the most standard errors by which a later answer lies below an earlier one.

    ``surprise`` is what happened beyond the teacher's risks, and ``weight`` its variance: a Newton
    step of a logistic regression with the teacher's log-odds as an offset.  More than
    :data:`_MOST_GROUPS` answers are put together with their neighbours, in groups of like weight.
    """
    levels, place = np.unique(rank, return_inverse=True)
    mass = np.bincount(place, weights=weight)
    if levels.size > _MOST_GROUPS:
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        levels, group = np.unique((_MOST_GROUPS * middle).astype(np.int64), return_inverse=True)
        place = group[place]
    variance = 1.0 / np.bincount(place, weights=weight)
    level = np.bincount(place, weights=effect * weight) * variance
    level = level + np.bincount(place, weights=surprise) * variance
    falls = (level[:, None] - level) / np.sqrt(variance[:, None] + variance)
    return float(falls[np.triu_indices(levels.size)].max(initial=0.0))

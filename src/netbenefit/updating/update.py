"""A stored card and new data: how good it still is, what has drifted, and how to update it.

1. :func:`evaluate_card` holds a card against new rows.
2. :func:`card_drift` says how these differ from the rows that it was made for.
3. :func:`choose_update` tells, on held-out parts of the new rows, how much of the card to change.
4. :func:`update_card` changes risks, cut-offs or everything, and says what is different.

Smaller changes need fewer rows: risks first, then cut-offs, then a refit (Steyerberg 2019, Clinical
Prediction Models, chapter 20; Vergouwe et al. 2017, Statistics in Medicine).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import FloatArray, InputError, check_binary, check_weights
from netbenefit.common.table import Table
from netbenefit.common.text_table import lines_of, mass, number
from netbenefit.estimators.learn import warn_of_teaching
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics import net_benefit as metrics
from netbenefit.solvers.base import SolverResult
from netbenefit.updating.changes import CardUpdate, Scored, compare_cards
from netbenefit.updating.drift import Drift, card_drift, score_rows
from netbenefit.updating.evaluate import CardEvaluation, evaluate_card
from netbenefit.updating.updating_calibration import Recalibration, recalibration
from netbenefit.updating.updating_cards import (
    chosen_columns,
    default_estimator,
    gather,
    needed_columns,
    note_update,
    refit,
    with_new_cutoffs,
    with_new_risks,
)
from netbenefit.validation.choice import corrected_error, fold_ratio
from netbenefit.validation.folds import take_rows
from netbenefit.validation.size_checks import choose_folds

__all__ = [
    "CardEvaluation",
    "CardUpdate",
    "Drift",
    "Recalibration",
    "UpdateChoice",
    "card_drift",
    "choose_update",
    "evaluate_card",
    "recalibration",
    "update_card",
]

#: What can be changed, from the smallest change to the largest; "keep" changes nothing.
_ALL = ("keep", "risks", "cutoffs", "refit")


def update_card(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    what: str = "risks",
    *,
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 0.0,
    estimator: RiskScoreClassifier | None = None,
) -> CardUpdate:
    """Update a card on new rows, and say what has changed.

    Parameters
    ----------
    card : Scorecard
        It stays as it is.
    X : table
        New rows, in any form that ``card.score`` takes; to refit, with all columns that the card
        was learnt from (``card.feature_names``).
    y : (n_rows,) array of 0/1 or booleans
    what : {"risks", "cutoffs", "refit"}, default="risks"
        ``"risks"`` gives each group of scores its rate on the new rows; no group is divided, but
        neighbours join where a rate has crossed a threshold (one risk per level: SPEC Algorithm 2)
        or where rates are not in order (a risk for every score).  ``"cutoffs"`` keeps
        the points and chooses the cut-offs of the highest net benefit; risks are the rates between
        them.  ``"refit"`` learns all anew, from the old points on, with the old rules among the
        candidates.
    sample_weight : (n_rows,) array, optional
    prior_strength : float, default=0.0
        For risks and cut-offs: rows of belief in the old card's risks, added to the new rows.  Few
        rows move the card less that way.
    estimator : RiskScoreClassifier, optional
        Settings of a refit; by default the card's own thresholds, a teacher if it had one, and raw
        columns if it reads them.  Not fitted, not changed.

    Returns
    -------
    CardUpdate
        Its ``new`` is the card; print it to see what changed.

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(0, 0.1), (1, 0.3), (2, 0.6)],
    ...     Thresholds.of([0.2, 0.5]))
    >>> x, y = [0] * 10 + [1] * 10 + [2] * 10, [1] + [0] * 9 + [1, 0] * 5 + [1] * 8 + [0] * 2
    >>> update = update_card(card, {"x": x}, y)
    >>> update.new.cutoffs, update.new.risks
    ((1, 1), ((0, 0.1), (1, 0.65), (2, 0.65)))
    >>> update.decisions["to_positive"]
    array([ 0., 10.])
    >>> update.new.provenance.updated
    'risks on 30 rows (14 with the event)'
    """
    known = _ALL[1:]
    if what not in known:
        raise InputError(f"what={what!r} is not known. Use one of {', '.join(map(repr, known))}.")
    event = check_binary(y, name="y")
    weight = check_weights(sample_weight, event.size)
    _require_both(event, weight)
    score = score_rows(card, X, event.size)
    new, result = _updated(card, X, what, score, event, weight, prior_strength, estimator)
    now = Scored(new, score if result is None else score_rows(new, X, event.size))
    return compare_cards(what, Scored(card, score), now, event, weight, result)


def _require_both(event: NDArray[np.bool_], weight: FloatArray) -> None:
    metrics.require_both(weight[event].sum(), weight[~event].sum(), "an update is", "y")


def _updated(
    card: Scorecard,
    X: Any,
    what: str,
    score: NDArray[np.int64],
    event: NDArray[np.bool_],
    weight: FloatArray,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
) -> tuple[Scorecard, SolverResult | None]:
    n, events = float(weight.sum()), float(weight[event].sum())
    rows = f"on {mass(n)} rows ({mass(events)} with the event)"
    if what == "refit":
        if prior_strength:
            raise InputError(
                "prior_strength is about risks and cut-offs; for a refit, set it in the estimator."
            )
        return _refitted(card, X, event, weight, estimator, rows)
    if estimator is not None:
        raise InputError(f"an estimator is used by a refit only, not by what={what!r}.")
    evidence = gather(card, score, event, weight, prior_strength)
    made = (with_new_risks if what == "risks" else with_new_cutoffs)(card, evidence)
    held = f", with {mass(prior_strength)} rows of belief in the old risks" * bool(prior_strength)
    told = {"risks": "risks", "cutoffs": "cut-offs and risks"}[what]
    return replace(made, provenance=note_update(card, f"{told} {rows}{held}", n, events)), None


def _refitted(
    card: Scorecard,
    X: Any,
    event: NDArray[np.bool_],
    weight: FloatArray,
    estimator: RiskScoreClassifier | None,
    rows: str,
) -> tuple[Scorecard, SolverResult]:
    if estimator is None:
        own = default_estimator(card)
    elif isinstance(estimator, RiskScoreClassifier):
        own = type(estimator)(**estimator.get_params(deep=False))
    else:
        raise InputError(
            f"estimator is a {type(estimator).__name__}. Pass a RiskScoreClassifier, or leave it "
            "out."
        )
    origin = card.provenance
    outcome = (origin.outcome if origin else None) or "outcome"
    learned = refit(card, own, X, event, weight, outcome)
    warn_of_teaching(learned.taught, stacklevel=4)
    before = f" of {mass(origin.n_rows)} rows" if origin and origin.n_rows is not None else ""
    assert learned.card.provenance is not None
    told = replace(learned.card.provenance, updated=f"refit {rows} from a card{before}")
    return replace(learned.card, provenance=told), learned.result


# -- how much to change ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UpdateChoice:
    """What each way to update a card earns on held-out parts of the new rows.

    Attributes
    ----------
    ways : tuple of str
        From the smallest change to the largest; "keep" is the card as it is.
    fold_aunbc, fold_ece : (folds, ways) float
    ratio : float
        Held-out rows by training rows, mean over the folds: 1/4 for five folds, however often they
        are repeated.
    """

    ways: tuple[str, ...]
    fold_aunbc: FloatArray
    fold_ece: FloatArray
    ratio: float

    @property
    def best(self) -> str:
        """The way with the highest mean AUNBC; of equals the smallest change."""
        return self.ways[int(np.argmax(self.fold_aunbc.mean(axis=0)))]

    @property
    def suggested(self) -> str:
        """The smallest change that is less than one standard error of the difference below it.

        The error is that of Nadeau and Bengio, which allows for training rows that folds share.
        """
        gap, error = self._gaps()
        return self.ways[int(np.argmax(gap + error >= 0))]

    def _gaps(self) -> tuple[FloatArray, FloatArray]:
        gaps = self.fold_aunbc - self.fold_aunbc[:, [self.ways.index(self.best)]]
        errors = corrected_error(gaps, self.ratio)
        means: FloatArray = gaps.mean(axis=0)
        return means, errors

    def to_table(self) -> Table:
        """One row a way: held-out AUNBC, its difference to the best, both with errors, and ECE."""
        gaps, errors = self._gaps()
        return Table(
            {
                "what": np.array(self.ways, dtype=object),
                "aunbc": self.fold_aunbc.mean(axis=0),
                "aunbc_se": corrected_error(self.fold_aunbc, self.ratio),
                "difference": gaps,
                "difference_se": errors,
                "ece": self.fold_ece.mean(axis=0),
            }
        )

    def __str__(self) -> str:
        t = self.to_table()
        rows = []
        for i, way in enumerate(self.ways):
            marks = [
                w for w, at in (("best", self.best), ("suggested", self.suggested)) if at == way
            ]
            cells = [f"{number(t['aunbc'][i])} ± {number(t['aunbc_se'][i])}"]
            cells.append(f"{number(t['difference'][i])} ± {number(t['difference_se'][i])}")
            rows.append([way, *cells, number(t["ece"][i]), ", ".join(marks)])
        head = ["change", "held-out AUNBC", "to the best", "ECE", ""]
        note = f"± one standard error over {len(self.fold_aunbc)} folds of the new rows"
        return "\n".join([*lines_of(head, rows), note])


def choose_update(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    *,
    what: Sequence[str] = _ALL,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 0.0,
    estimator: RiskScoreClassifier | None = None,
    random_state: int | None = 0,
) -> UpdateChoice:
    """Compare ways to update a card by cross-validation on the new rows.

    Each way updates the old card on the training part of a fold and is measured on the rest.

    Parameters
    ----------
    card, X, y, sample_weight, prior_strength, estimator
        As in :func:`update_card`.
    what : sequence of {"keep", "risks", "cutoffs", "refit"}
        Ways to compare; ``"keep"`` leaves the card as it is.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, or any splitter of scikit-learn, or pairs of row numbers.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    UpdateChoice

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(0, 0.1), (1, 0.3), (2, 0.6)],
    ...     Thresholds.of([0.2, 0.5]))
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 3, 600)
    >>> y = rng.random(600) < np.array([0.1, 0.6, 0.8])[x]  # events are commoner than they were
    >>> choose_update(card, {"x": x}, y, what=["keep", "risks", "cutoffs"]).suggested
    'risks'
    """
    ways = tuple(way for way in _ALL if way in what)
    strange = [way for way in what if way not in _ALL]
    if strange or not ways:
        raise InputError(f"what={list(what)!r} must list some of {', '.join(map(repr, _ALL))}.")
    event = check_binary(y, name="y")
    weight = check_weights(sample_weight, event.size)
    names: tuple[str, ...] = card.features
    if "refit" in ways:
        names = card.feature_names if estimator is None else needed_columns(card, estimator)
    columns = chosen_columns(X, names, card.feature_names)
    areas, errors = [], []
    folds = choose_folds(cv, event, random_state)
    for train, test in folds:
        old, new = take_rows(columns, train), take_rows(columns, test)
        told = _Rows(old, score_rows(card, old, len(train)), event[train], weight[train])
        cards = [_changed(card, way, told, prior_strength, estimator) for way in ways]
        told_rows = event[test], card.thresholds, weight[test]
        risks = [one.risk_of_score(score_rows(one, new, len(test))) for one in cards]
        areas.append([_measured(metrics.aunbc, risk, *told_rows) for risk in risks])
        errors.append(
            [_measured(metrics.expected_calibration_error, risk, *told_rows) for risk in risks]
        )
    return UpdateChoice(ways, np.array(areas), np.array(errors), fold_ratio(folds))


class _Rows(NamedTuple):
    """Rows to update a card on, with the scores that the old card gives them."""

    X: Any
    score: NDArray[np.int64]
    event: NDArray[np.bool_]
    weight: FloatArray


def _changed(
    card: Scorecard,
    way: str,
    rows: _Rows,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
) -> Scorecard:
    """The card after one way to update it, without the tables that compare old and new."""
    if way == "keep":
        return card
    _require_both(rows.event, rows.weight)
    again = way == "refit"
    belief, own = (0.0, estimator) if again else (prior_strength, None)
    return _updated(card, rows.X, way, rows.score, rows.event, rows.weight, belief, own)[0]


def _measured(metric: Any, risk: Any, event: Any, grid: Any, weight: Any) -> float:
    return float(metric(event, risk, grid, sample_weight=weight))

"""Cards of every size from some rows, and what they earn on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.binning.bin_fitted import Fitted
from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import InputError
from netbenefit.common.parallel import WorkerDied, finished_tasks
from netbenefit.estimators import learn as assemble
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.problem import Problem
from netbenefit.solvers.base import Callback, SolverResult
from netbenefit.solvers.sizes import best_of_every_size
from netbenefit.validation.folds import take_rows

__all__ = [
    "Benefits",
    "Cards",
    "Fold",
    "Measured",
    "Plan",
    "Rows",
    "all_cards",
    "all_folds",
    "earned",
    "held_out",
    "make_problem",
]

#: Numbers of the training rows, and of the held-out ones.
Fold = tuple[NDArray[Any], NDArray[Any]]


class Rows(NamedTuple):
    """Rows as an estimator takes them, which of them are events, and their weights if any."""

    X: Any
    event: NDArray[np.bool_]
    weight: NDArray[Any] | None = None

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Some of the rows.

        >>> Rows({"x": np.array([5, 6])}, np.array([True, False])).take(np.array([1])).X
        {'x': array([6])}
        """
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), self.event[chosen], weight)


class Plan(NamedTuple):
    """All that a path is told but for its rows."""

    estimator: RiskScoreClassifier  #: a copy of its own, whose parameters are checked
    outcome: str
    n_jobs: int
    seed: int

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that cards are learnt for."""
        return self.estimator.thresholds_


class Posed(NamedTuple):
    """The problem that some rows pose, before sizes, and how it came about."""

    problem: Problem
    taught: assemble.Taught | None
    bins: Fitted | None


class Cards(NamedTuple):
    """The cards of a path by size, and how they were found."""

    cards: dict[int, Scorecard]
    results: dict[int, SolverResult]


class Benefits(NamedTuple):
    """What each card earns on some rows, by size."""

    net_benefit: dict[int, float]
    aunbc: dict[int, float]


def make_problem(rows: Rows, plan: Plan) -> Posed:
    """Everything is learnt from these rows alone: conditions, the teacher's risks, constants."""
    model = plan.estimator
    training = model._training(rows.X, rows.event, rows.weight)
    table, taught = assemble.teach_masses(
        training,
        plan.thresholds,
        model.teacher,
        model.prior_strength,
        seed=plan.seed,
        n_jobs=plan.n_jobs,
    )
    # Within a size, rules have no price: see limit_size.
    settings = {**training.settings, "penalty": 0}
    problem = assemble.make_problem(table, plan.thresholds, **settings)
    return Posed(problem, taught, training.bins)


def all_cards(
    posed: Posed, sizes: tuple[int, ...], plan: Plan, callback: Callback | None = None
) -> Cards:
    """The best card of every size."""
    found = best_of_every_size(
        posed.problem,
        sizes,
        time_limit=plan.estimator.time_limit,
        n_jobs=plan.n_jobs,
        seed=plan.seed,
        callback=callback,
    )
    if any(result.status == "interrupted" for result in found.values()):
        raise KeyboardInterrupt  # cards of a broken-off search compare with no others
    return Cards({size: _card(posed, result, plan) for size, result in found.items()}, found)


def _card(posed: Posed, result: SolverResult, plan: Plan) -> Scorecard:
    origin = assemble.make_provenance(posed.problem, result, plan.outcome, plan.seed, posed.taught)
    return assemble.assemble_card(
        posed.problem, result, origin, bins=posed.bins, calibrate=plan.estimator.calibrate
    )


def earned(cards: Mapping[int, Scorecard], rows: Rows, thresholds: Thresholds) -> Benefits:
    """Weighted net benefit and AUNBC of cards on some rows."""
    benefit, area = {}, {}
    for size, card in cards.items():
        told = rows.event, card.risk(rows.X), thresholds
        benefit[size] = metrics.weighted_net_benefit(*told, sample_weight=rows.weight)
        area[size] = metrics.aunbc(*told, sample_weight=rows.weight)
    return Benefits(benefit, area)


class Measured(NamedTuple):
    """The cards of a fold, and what they earn on its held-out rows."""

    cards: dict[int, Scorecard]
    benefits: Benefits


def held_out(
    rows: Rows,
    fold: Fold,
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None = None,
) -> Measured:
    """One fold: cards from its training rows alone, measured on the others."""
    train, test = fold
    found = all_cards(make_problem(rows.take(train), plan), sizes, plan, callback)
    return Measured(found.cards, earned(found.cards, rows.take(test), plan.thresholds))


def all_folds(
    rows: Rows,
    folds: Sequence[Fold],
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None,
    n_jobs: int | None,
) -> list[Measured]:
    """All folds, one after the other (``n_jobs=1``) or some at a time; those are quiet."""
    listener = callback if n_jobs == 1 else None  # it cannot be called from another process
    work = partial(_named, rows, sizes, plan, listener)
    found: dict[int, Measured] = {}
    tasks = list(enumerate(folds, start=1))
    with closing(finished_tasks(work, tasks, n_jobs)) as finished:
        for (number, _), measured in finished:
            if isinstance(measured, WorkerDied):
                raise WorkerDied(f"fold {number}: {measured}")
            if isinstance(measured, Exception):
                raise measured
            found[number] = measured
    return [found[number] for number, _ in tasks]


def _named(
    rows: Rows,
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None,
    task: tuple[int, Fold],
) -> Measured:
    """One fold, whose errors say which one it was."""
    number, fold = task
    try:
        return held_out(rows, fold, sizes, plan, callback)
    except InputError as error:
        raise InputError(f"fold {number}: {error}") from None

"""SLIM, the scoring system with the fewest errors, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from netbenefit.binning import Binner
from netbenefit.cards import steps_of_levels
from netbenefit.common import InputError, IntArray, exact_number
from netbenefit.estimators.cautions import find_cautions
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.slim.task import HALF, SlimExact, SlimTask
from netbenefit.estimators.training import (
    Learned,
    TrainingData,
    assemble_card,
    check_not_constant,
    check_small_weights,
    count_threads,
    make_provenance,
)
from netbenefit.problem import (
    Constraint,
    IntegerProblem,
    SolverResult,
    floor_scores,
    level_risks,
)
from netbenefit.solvers import Callback, ceiling, round_up

#: Parameters of the general estimator that SLIM has no use for.
_NOT_FOR_SLIM = (
    *("thresholds", "weights", "teacher", "prior_strength", "max_questions", "solver"),
    "start_at_zero",
)


class SLIMClassifier(RiskScoreClassifier):
    """Learn a scorecard that makes the fewest errors: SLIM (Ustun and Rudin, 2016).

    With N rows, P columns, points λ and an intercept b, all of them whole numbers, minimise

        (false alarms + events missed) / N + C0 · ‖λ‖₀ + ε · ‖λ‖₁ ,

    where a row is called positive when x·λ + b ≥ 0.  (The authors count a row with x·λ + b = 0 as
    an error of either class.)  Columns with decimals are read in steps, and scores are rounded
    down, as for all our cards.

    SLIM gives a class, not a risk.  ``predict_proba`` has two values: with ``calibrate=True`` the
    event rates of the training rows below and above the cut-off, else 0 and 1, the class itself.

    Parameters
    ----------
    penalty : "paper" or float, default="paper"
        C0; ``"paper"`` is 0.9 / (N P), less than one error for all columns together.
    point_penalty : "paper" or float, default="paper"
        ε; ``"paper"`` is C0 / 10: ten points cost as much as one column.
    max_points : int, default=10
    max_intercept : int, default=100
        The intercept lies between −max_intercept and max_intercept.
    time_limit : float, default=600.0
        Seconds, or None.
    calibrate : bool, default=True
        See above.
    binner, max_features, sign, bounds, constraints
        As for :class:`RiskScoreClassifier`, but without constraints on rates.
    random_state, pos_label, n_jobs, verbose, decimals, callback
        As for :class:`RiskScoreClassifier`.

    Attributes
    ----------
    scorecard_ : Scorecard
        Two levels, below and above a risk of 0.5.
    result_ : SolverResult
        Its objective is net benefit at 0.5 less both prices, that is, the prevalence less the loss.
        Its bound is the ceiling: no card makes fewer errors than equal rows force.
    loss_, loss_bound_ : float
        What is minimised, and a lower bound of it by the word of the search: it is no list of boxes
        that could be recounted, so nothing is called optimal for it.
    gap_ : float
        (loss − bound) / loss for that bound, as integer programs report it; 0 if the search ended.
    intercept_ : int
        b, minus the cut-off.
    coef_, cutoffs_, binner_, thresholds_, classes_, event_, n_features_in_, feature_names_in_
        As for :class:`RiskScoreClassifier`.

    References
    ----------
    Ustun B, Rudin C (2016). Supersparse linear integer models for optimized medical scoring
    systems. Machine Learning 102, 349–391.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (500, 3))
    >>> y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> model = SLIMClassifier().fit(X, y)
    >>> model.coef_, model.intercept_, model.gap_
    (array([1, 0, 1]), -2, 0.0)
    >>> model.predict(X[:3])
    array([ True, False, False])
    """

    _asks_questions = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: checks
            for name, checks in RiskScoreClassifier._parameter_constraints.items()
            if name not in _NOT_FOR_SLIM
        },
        "point_penalty": [str, Real],
        "max_intercept": [Interval(Integral, 0, 10**9, closed="both")],
    }

    def __init__(
        self,
        *,
        penalty: str | float = "paper",
        point_penalty: str | float = "paper",
        max_points: int = 10,
        max_intercept: int = 100,
        max_features: int | None = None,
        sign: Mapping[Any, Any] | None = None,
        bounds: Mapping[Any, Any] | None = None,
        constraints: Sequence[Constraint] | None = None,
        binner: str | Binner | None = None,
        time_limit: float | None = 600.0,
        random_state: Any = 0,
        pos_label: Any = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
        calibrate: bool = True,
        decimals: Mapping[str, int] | None = None,
        callback: Callback | None = None,
    ) -> None:
        super().__init__(
            binner=binner,
            max_points=max_points,
            penalty=penalty,
            teacher=None,
            prior_strength=0,
            max_features=max_features,
            max_questions=None,
            sign=sign,
            bounds=bounds,
            constraints=constraints,
            solver="exact",
            time_limit=time_limit,
            random_state=random_state,
            pos_label=pos_label,
            n_jobs=n_jobs,
            verbose=verbose,
            calibrate=calibrate,
            start_at_zero=False,
            decimals=decimals,
            callback=callback,
        )
        self.point_penalty = point_penalty
        self.max_intercept = max_intercept

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a card; return the estimator.

        Parameters
        ----------
        X, y
            As for :meth:`RiskScoreClassifier.fit`.
        sample_weight : (n_rows,) array, optional
            Errors count by weight, and N is the sum of the weights.
        """
        outcome = self._outcome(y)
        self.thresholds_ = HALF
        training = self._training(X, outcome.event, sample_weight)
        self._keep(self._learn(training, outcome.text), training, proven=False)
        self.cutoffs_ = np.array(self.result_.cutoffs, dtype=np.int64)
        return self

    @property
    def near_optimal(self) -> Any:
        """Not for SLIM: lists of near-optimal cards are about net benefit."""
        raise AttributeError("SLIMClassifier has no near_optimal: use RiskScoreClassifier.")

    @property
    def other_sizes(self) -> Any:
        """Not for SLIM: these are about net benefit."""
        raise AttributeError("SLIMClassifier has no other_sizes: use RiskScoreClassifier.")

    @property
    def fit_table(self) -> Any:
        """Not for SLIM: samples of large tables are made for net benefit."""
        raise AttributeError("SLIMClassifier has no fit_table: use fit.")

    # -- steps of fit ----------------------------------------------------------------------------

    def _task(self, training: TrainingData) -> SlimTask:
        table = training.table
        check_not_constant(table)
        if "paper" in (self.penalty, self.point_penalty):
            check_small_weights(
                table, "SLIM's usual prices count weights as rows", "set penalty and point_penalty"
            )
        settings = dict(training.settings)
        usual = Fraction(9, 10) / (Fraction(table.n_total) * table.n_features)
        price = _price(settings.pop("penalty"), "penalty", usual)
        return SlimTask.build(
            table,
            penalty=price,
            point_price=_price(self.point_penalty, "point_penalty", price / 10),
            max_intercept=int(self.max_intercept),
            **settings,
        )

    def _learn(
        self, training: TrainingData, outcome: str, start: IntArray | None = None
    ) -> Learned:
        """The engine's card, with SLIM's own cut-off and risks."""
        task, table = self._task(training), training.table
        seed = self._seed()  # drawn once: the card records the one that the search had
        solver = SlimExact(self.time_limit, n_jobs=count_threads(self.n_jobs), seed=seed)
        with self._progress() as callback:
            found = solver.solve(task, callback=callback)
        self._losses(task, found)
        result = _claimed(task, found)
        self.intercept_ = -result.cutoffs[0]
        cautions = find_cautions(training, result.size)
        made = make_provenance(
            table, result, task.problem.penalty, outcome, seed, cautions=cautions
        )
        provenance = replace(made, net_benefit=result.net_benefit)
        card = assemble_card(task.problem, result, provenance, bins=training.bins)
        scores = floor_scores(table.codes, table.decimals, result.points)
        # At the end of its range a cut-off need not be the best of all: "rated" then keeps each
        # risk on its side of 0.5.
        rates = level_risks(table, HALF, scores, result.cutoffs, rated=True)
        if not self.calibrate:
            rates = tuple(None if q is None else float(level) for level, q in enumerate(rates))
        steps = steps_of_levels(result.cutoffs, rates, HALF, card.score_range)
        card = replace(card, risks=steps, provenance=provenance)
        return Learned(card, result, task.problem, cautions=cautions)

    def _losses(self, task: SlimTask, result: SolverResult) -> None:
        """Loss, bound and gap as integer programs report them."""
        assert result.proof is not None
        loss = task.prevalence - task.evaluate(result.points).objective
        bound = loss if result.status == "optimal" else task.prevalence - result.proof.bound
        self.loss_, self.loss_bound_ = float(loss), float(bound)
        self.gap_ = float((loss - bound) / loss) if loss > bound else 0.0


def _claimed(task: SlimTask, found: SolverResult) -> SolverResult:
    """The result under the ceiling, whose box anybody can recount, and the search's own word."""
    limit = ceiling(task.problem, IntegerProblem.of(task.problem))
    objective, status = task.evaluate(found.points).objective, found.status
    details = {"solver": found.solver, "solver_bound": found.bound}
    if limit.settles(objective):
        return replace(found, proof=limit, bound=found.objective, status="optimal")
    if status == "optimal":
        status = "finished"
    return replace(
        found, proof=replace(limit, details=details), bound=round_up(limit.bound), status=status
    )


def _price(price: str | float, name: str, usual: Fraction) -> Fraction:
    """A price as the decimal that was written."""
    if isinstance(price, str):
        if price != "paper":
            raise InputError(f'{name}={price!r} is not known. Use "paper" or a number.')
        return usual
    return exact_number(price, name, '"paper"')

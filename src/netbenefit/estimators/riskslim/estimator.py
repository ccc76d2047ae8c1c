"""RISKSLIM as an estimator: small integer points by logistic loss, with a proven gap."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from netbenefit.binning import Binner, FittedBins
from netbenefit.cards import Scorecard, read_columns
from netbenefit.common import FloatArray, IntArray
from netbenefit.data import PatternTable
from netbenefit.estimators.cautions import find_cautions, warn_of_cautions
from netbenefit.estimators.riskslim.problem import TOLERANCE, Lattice
from netbenefit.estimators.riskslim.solve import solve_lattice
from netbenefit.estimators.training import (
    CardClassifier,
    check_not_constant,
    make_provenance,
    rules_of,
)
from netbenefit.metrics import Thresholds, weighted_net_benefit
from netbenefit.problem import Proof, SolverResult, check_two_classes, floor_scores
from netbenefit.solvers import Callback, check_time_limit

# -- from RISKSLIM's coefficients to a card: one risk per score, the intercept in the table of risks
# The risk of a score s is 1 / (1 + exp(−(s + w_0))).  A card has no place for an intercept, and
# needs none: it moves the table of risks along the scores.  Each whole score is a level of its own;
# the card's thresholds lie halfway, in log odds, between the risks of neighbouring scores. Log odds
# beyond ±15 (risks below 0.00003% or above 99.99997%) are cut back to there, which keeps the table
# short.  Where columns have decimals, a card counts whole scores only: a level then holds all
# scores from s to just below s + 1, its threshold is the risk at s, and its risk is the mean risk
# of the training rows there.


#: Log odds beyond this are cut back.
MOST_LOG_ODDS = 15


def risk_of_log_odds(t: FloatArray) -> FloatArray:
    """Risk at log odds, cut back to ±15."""
    held = np.clip(np.asarray(t, dtype=np.float64), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    result: FloatArray = 1.0 / (1.0 + np.exp(-held))
    return result


def make_card(
    table: PatternTable,
    intercept: int,
    points: IntArray,
    bins: FittedBins | None = None,
) -> tuple[Scorecard, float]:
    """Put rules, scores and risks together; return the card and its net benefit on the rows."""
    rules, names, readings = rules_of(table, points, bins)
    bare = Scorecard(rules, ((0, 0.5),), Thresholds.of([0.5]), readings=readings)
    low, high = _ends(bare.score_limits, intercept)
    # a card has at least two levels; where one score is all there is, the other stays out of reach
    levels = np.arange(low, max(high, low + 1) + 1)
    back = 0.5 if table.is_integer else 0.0
    starts = risk_of_log_odds((levels + intercept).astype(np.float64) - back)
    scale = np.array([10 ** (max(table.decimals) - d) for d in table.decimals], dtype=np.int64)
    score = (table.codes @ (points * scale)) / float(10 ** max(table.decimals))
    risks = _level_risks(table, score, levels, intercept, starts)
    count = levels.size - 1
    grid = Thresholds((0.0, *starts[1:].tolist()), (0.0, *[1.0 / count] * count))
    of_pattern = risks[_level(score, levels)]
    benefit = weighted_net_benefit(
        np.repeat([1, 0], len(table)),
        np.concatenate([of_pattern, of_pattern]),
        grid,
        sample_weight=np.concatenate([table.positives, table.negatives]).astype(np.float64),
    )
    card = Scorecard.from_levels(
        rules=rules,
        cutoffs=tuple(int(s) for s in levels[1:]),
        risks=tuple(float(q) for q in risks),
        thresholds=grid,
        score_range=(low, low) if low == high else None,
        feature_names=names,
        readings=readings,
    )
    return card, float(benefit)


def _ends(limits: tuple[int, int] | None, intercept: int) -> tuple[int, int]:
    """First and last score with a row of its own in the table of risks."""
    low, high = -MOST_LOG_ODDS - intercept, MOST_LOG_ODDS - intercept
    if limits is None:
        return low, high
    # where even the nearest score that can occur lies beyond, one row is left
    return min(max(low, limits[0]), high), max(min(high, limits[1]), low)


def _level(score: FloatArray, levels: IntArray) -> IntArray:
    place = np.clip(np.floor(score), levels[0], levels[-1]) - levels[0]
    result: IntArray = place.astype(np.int64)
    return result


def _level_risks(
    table: PatternTable, score: FloatArray, levels: IntArray, intercept: int, starts: FloatArray
) -> FloatArray:
    """Risk of each level: that of its score, or the mean risk there where scores have decimals."""
    if table.is_integer:
        return risk_of_log_odds((levels + intercept).astype(np.float64))
    place, mass = _level(score, levels), table.positives + table.negatives
    seen = np.bincount(place, weights=mass, minlength=levels.size)
    worth = np.bincount(
        place, weights=mass * risk_of_log_odds(score + intercept), minlength=levels.size
    )
    middle = risk_of_log_odds(levels.astype(np.float64) + intercept + 0.5)
    risks = np.where(seen > 0, worth / np.where(seen > 0, seen, 1.0), middle)
    # means of rounded numbers may leave the level by a hair
    tops = np.append(np.nextafter(starts[1:], 0.0), 1.0)
    bottoms = np.append(0.0, starts[1:])
    result: FloatArray = np.clip(risks, bottoms, tops)
    return result


class RiskSLIMClassifier(CardClassifier):
    """Learn a scorecard with small integer points by logistic loss: RISKSLIM.

    With labels y_j ∈ {0, 1} and weights v_j, integer points λ and an integer intercept λ_0 minimise

        (1/N) Σ_j v_j ln(1 + exp(−(2 y_j − 1)(λ_0 + x_j·λ))) + C0 · ‖λ‖₀ ,

    and the risk of a row is 1 / (1 + exp(−(λ_0 + x·λ))).  The optimisation problem is that of Ustun
    and Rudin (2019, Journal of Machine Learning Research 20); it is solved by branch and bound,
    with tangent planes of the loss as lower bounds.

    Parameters
    ----------
    max_points : int, default=10
        Largest absolute value of a column's points.
    max_intercept : int, default=100
        Largest absolute value of the intercept.
    penalty : float, default=1e-6
        Price C0 of a column, in mean loss.
    time_limit : float, default=600.0
        Seconds for search and proof, or None.
    max_nodes : int, default=None
        Most boxes to split: unlike a time limit, a limit that does not depend on the machine.
    random_state : int, RandomState or None, default=0
        Seed of the random changes by which first cards are improved.
    pos_label, max_features, binner, decimals, callback
        As for :class:`RiskScoreClassifier`.

    Attributes
    ----------
    scorecard_ : Scorecard
        One risk per whole score; the intercept is where in the table of risks a score stands.
    result_ : SolverResult
        ``objective`` is the negative of loss plus penalty; ``bound`` is 0, as no loss is negative.
        The search's own bound, which nobody can recount, is the ``solver_bound`` in
        ``proof.details``; where it ends it leaves 1e-9 open.  ``cutoffs`` and ``net_benefit`` are
        those of the card at its own thresholds.
    coef_ : (n_features,) int64
        Points; with a binner, of each condition.
    intercept_ : int
    loss_ : float
        Mean logistic loss on the training rows, without the penalty.
    binner_, classes_, event_, n_features_in_, feature_names_in_
        As for :class:`RiskScoreClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (500, 3))
    >>> y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> model = RiskSLIMClassifier(max_points=3).fit(X, y)
    >>> model.intercept_, model.coef_, model.result_.status
    (-2, array([1, 0, 2]), 'finished')
    >>> model.predict_proba([[1, 0, 1]]).round(3)
    array([[0.269, 0.731]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_points": [Interval(Integral, 1, None, closed="left")],
        "max_intercept": [Interval(Integral, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "binner": [object, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "pos_label": [object, None],
        "decimals": [Mapping, None],
        "callback": [callable, None],
    }

    def __init__(
        self,
        *,
        max_points: int = 10,
        max_intercept: int = 100,
        penalty: float = 1e-6,
        max_features: int | None = None,
        binner: str | Binner | None = None,
        time_limit: float | None = 600.0,
        max_nodes: int | None = None,
        random_state: Any = 0,
        pos_label: Any = None,
        decimals: Mapping[str, int] | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.max_points = max_points
        self.max_intercept = max_intercept
        self.penalty = penalty
        self.max_features = max_features
        self.binner = binner
        self.time_limit = time_limit
        self.max_nodes = max_nodes
        self.random_state = random_state
        self.pos_label = pos_label
        self.decimals = decimals
        self.callback = callback

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn a card; return the estimator.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`RiskScoreClassifier.fit`.
        """
        outcome = self._outcome(y)
        training = self._training(X, outcome.event, sample_weight)
        table = training.table
        check_not_constant(table)
        check_two_classes(table)
        lattice = Lattice.of(
            table,
            max_points=int(self.max_points),
            max_intercept=int(self.max_intercept),
            penalty=float(self.penalty),
            max_features=self.max_features,
        )
        seed = self._seed()
        search, status = solve_lattice(
            lattice,
            time_limit=check_time_limit(self.time_limit),
            max_nodes=math.inf if self.max_nodes is None else int(self.max_nodes),
            seed=seed,
            callback=self.callback,
        )
        if status == "interrupted":
            warnings.warn("the search was interrupted; the card is the best so far", stacklevel=3)
        self.intercept_, self.coef_ = int(search.best[0]), search.best[1:].copy()
        self.loss_ = search.value - float(lattice.price[search.best != 0].sum())
        card, benefit = make_card(table, self.intercept_, self.coef_, training.bins)
        scores = floor_scores(table.codes, table.decimals, self.coef_)
        self.result_ = SolverResult(
            points=self.coef_.copy(),
            cutoffs=card.cutoffs,
            objective=-search.value,
            net_benefit=benefit,
            questions=int(np.count_nonzero(self.coef_)),
            score_range=(int(scores.min()), int(scores.max())),
            bound=0.0,
            status="finished" if status == "optimal" else status,
            seconds=search.seconds,
            evaluations=search.evaluations,
            trace=tuple(search.trace),
            solver="riskslim branch",
            proof=Proof(
                "no loss is negative",
                Fraction(0),
                details={
                    "solver": "riskslim branch",
                    "solver_bound": -search.bound,
                    "tolerance": TOLERANCE,
                },
            ),
        )
        cautions = find_cautions(training, self.result_.size)
        warn_of_cautions(cautions, stacklevel=3)
        origin = make_provenance(
            table, self.result_, self.penalty, outcome.text, seed, cautions=cautions
        )
        self.scorecard_ = replace(card, provenance=replace(origin, net_benefit=benefit))
        return self

    def _risk(self, X: Any) -> FloatArray:
        """The card's risk, except that scores with decimals are not rounded down."""
        return risk_of_log_odds(self._log_odds(X)[0])

    def decision_function(self, X: Any) -> FloatArray:
        """Log odds of ``classes_[1]``, plus half of the smallest step of a score: (n_rows,).

        The half step makes its sign agree with ``predict``, for which even odds are enough.
        """
        log_odds, step = self._log_odds(X)
        return (log_odds + step / 2) * (1 if self._place else -1)

    # -- steps ---------------------------------------------------------------------------------

    def _log_odds(self, X: Any) -> tuple[FloatArray, float]:
        """Log odds of each row, and the smallest step that they can differ by."""
        rows, card = self._rows(X), self.scorecard_
        data, n_rows = read_columns(rows, card.features, card.feature_names)
        logic = card._logic  # the card's own exact sums, before it rounds them down
        scores: FloatArray = logic.units_of_rows(data, n_rows) / logic.unit
        if logic.unit == 1:  # as the card reads them: beyond the ends of its table, as at the ends
            low, high = card.score_range or (card.cutoffs[0] - 1, card.cutoffs[-1])
            scores = np.clip(scores, low, high)
        return scores + self.intercept_, 1.0 / logic.unit

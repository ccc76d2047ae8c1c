"""The published method by its name: a preset of the same engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from netbenefit.binning import Binner
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics import ThresholdsLike, Weights
from netbenefit.problem import Constraint
from netbenefit.solvers import Callback, Solver


class RSSDNBClassifier(RiskScoreClassifier):
    """Learn a scorecard as published: RSS-DNB.

    :class:`RiskScoreClassifier` with ``teacher=None``, that is, maximise

        Σ_i ω_i max_T (TP_i(T) − r_i FP_i(T)) / N − C0 · ‖λ‖₀ ,

    with C0 = 0.1 · prevalence / columns, and give every level the event rate of its training rows.
    On small data its cards tend to fit noise; see ``docs/generalisation.md``.

    Parameters
    ----------
    solver : {"milp", "anneal", "auto", "exact", "local"} or solver object, default="milp"
        ``"milp"`` is the published integer program, solved by HiGHS; ``"anneal"`` the published
        annealing, RSS-DNB-SA, of 10,000 steps.  The others maximise the same objective faster;
        ``"auto"`` and ``"exact"`` also prove how good the card is, which HiGHS cannot.
    time_limit : float, default=600.0
        Seconds, or None.  The authors gave their integer programs ten minutes.
    penalty : "paper", "auto" or float, default="paper"
    thresholds, weights, binner, max_points, max_features, sign, bounds, constraints, \
random_state, pos_label, n_jobs, verbose, calibrate, decimals, callback
        As for :class:`RiskScoreClassifier`, and so are its attributes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (500, 3))
    >>> y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> RSSDNBClassifier(solver="anneal", max_points=3).fit(X, y).coef_
    array([1, 0, 2])
    """

    _asks_questions = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: checks
        for name, checks in RiskScoreClassifier._parameter_constraints.items()
        if name not in ("teacher", "prior_strength", "max_questions", "monotone", "start_at_zero")
    }

    def __init__(
        self,
        *,
        thresholds: ThresholdsLike = None,
        weights: Weights | None = None,
        binner: str | Binner | None = None,
        max_points: int = 10,
        penalty: str | float = "paper",
        max_features: int | None = None,
        sign: Mapping[Any, Any] | None = None,
        bounds: Mapping[Any, Any] | None = None,
        constraints: Sequence[Constraint] | None = None,
        solver: str | Solver = "milp",
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
            thresholds=thresholds,
            weights=weights,
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
            solver=solver,
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

"""Estimators inside scikit-learn's meta-estimators: each is fitted, and predicts sensible risks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from netbenefit import (
    NetBenefitCalibrator,
    RiskScoreClassifier,
    RiskSLIMClassifier,
    RSSDNBClassifier,
    SLIMClassifier,
)

SMALL: dict[str, Any] = {"max_features": 1, "max_points": 1, "time_limit": None}
SEARCHED: dict[str, Any] = {**SMALL, "solver": "local", "n_jobs": 1, "thresholds": [0.2, 0.4]}

MODELS = {
    "columns as they are": RiskScoreClassifier(binner=None, teacher=None, **SEARCHED),
    "binned": RiskScoreClassifier(binner="auto", teacher=None, **SEARCHED),
    "published": RSSDNBClassifier(**SEARCHED),
    "SLIM": SLIMClassifier(**SMALL),
    "RiskSLIM": RiskSLIMClassifier(**SMALL),
}

WRAPPERS: dict[str, Any] = {
    "sigmoid": lambda model: CalibratedClassifierCV(model, cv=2),
    "isotonic": lambda model: CalibratedClassifierCV(model, method="isotonic", cv=2),
    "one calibrator": lambda model: CalibratedClassifierCV(model, ensemble=False, cv=2),
    "by net benefit": lambda model: NetBenefitCalibrator(model, cv=2),
    "stacking": lambda model: StackingClassifier([("card", model)], cv=2),
    "voting": lambda model: VotingClassifier([("card", model)], voting="soft"),
    "bagging": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
    "tuned threshold": lambda model: TunedThresholdClassifierCV(model, cv=2, random_state=0),
    "fixed threshold": lambda model: FixedThresholdClassifier(model, threshold=0.3),
    "grid search": lambda model: GridSearchCV(model, {"max_points": [1, 2]}, cv=2),
    "random search": lambda model: RandomizedSearchCV(
        model, {"max_points": [1, 2]}, n_iter=2, cv=2, scoring="roc_auc"
    ),
    "one against the rest": OneVsRestClassifier,
    "pipeline": lambda model: make_pipeline("passthrough", model),
    "columns": lambda model: make_pipeline(
        make_column_transformer(("passthrough", ["fever", "cough"])), model
    ),
}


def rows(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns of 0 and 1; fever matters."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (n, 2)), columns=["fever", "cough"])
    return X, rng.random(n) < 0.1 + 0.6 * X["fever"].to_numpy()


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_works_inside(wrap: Any, model: Any) -> None:
    X, event = rows()
    labels = np.where(event, "yes", "no")
    fitted = wrap(clone(model)).fit(X, labels)
    risk = fitted.predict_proba(X)[:, 1]
    assert roc_auc_score(event, risk) > 0.7
    # Fever alone tells risks apart; averages over folds may know cough, too.
    fever = X["fever"].to_numpy() == 1
    assert risk[fever].min() > risk[~fever].max()
    assert set(fitted.predict(X)) <= {"no", "yes"}


def test_raw_text_and_missing_values_inside() -> None:
    X, event = rows()
    X["ward"] = np.resize(["a", "b", None], len(X))
    model = clone(MODELS["binned"])
    for wrap in (CalibratedClassifierCV, GridSearchCV, TunedThresholdClassifierCV):
        more = {"param_grid": {"max_points": [1, 2]}} if wrap is GridSearchCV else {}
        fitted = wrap(model, cv=2, **more).fit(X, event)
        assert roc_auc_score(event, fitted.predict_proba(X)[:, 1]) > 0.7


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_decision_functions_are_floats(model: Any) -> None:
    X, event = rows()
    assert clone(model).fit(X, event).decision_function(X).dtype == np.float64

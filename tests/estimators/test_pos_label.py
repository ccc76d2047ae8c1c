"""Which of two labels is the event: asked for, clear by itself, or as scikit-learn has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from netbenefit import (
    DecisionCurveDisplay,
    NetBenefitCalibrator,
    RiskScoreClassifier,
    RiskSLIMClassifier,
    RSSDNBClassifier,
    SLIMClassifier,
    compare,
    cross_validate,
    evaluate_card,
)
from netbenefit.common import InputError


@pytest.mark.parametrize(
    "model",
    [
        RiskScoreClassifier(time_limit=60, teacher=None, max_points=2),
        RSSDNBClassifier(solver="local", max_points=2, time_limit=60),
        SLIMClassifier(max_points=2, time_limit=60),
        RiskSLIMClassifier(max_points=2, time_limit=60),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_event_is_the_one_that_was_asked_for(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 2))
    died = rng.random(300) < 0.2 + 0.6 * X[:, 0]
    y = np.where(died, "died", "survived")
    model = clone(model)
    plain = clone(model).fit(X, died)
    asked = clone(model).set_params(pos_label="died").fit(X, y)
    assert asked.classes_.tolist() == ["died", "survived"]
    assert asked.event_ == "died"
    assert asked.scorecard_.rules == plain.scorecard_.rules
    np.testing.assert_array_equal(asked.predict_proba(X), plain.predict_proba(X)[:, ::-1])
    np.testing.assert_array_equal(asked.predict(X) == "died", plain.predict(X))
    # scikit-learn's scorers take classes_[1] for the event, and measure the same.
    score = asked.decision_function(X)
    np.testing.assert_array_equal(asked.classes_[(score > 0).astype(int)], asked.predict(X))
    for scorer in ("roc_auc", "neg_log_loss", "accuracy"):
        assert get_scorer(scorer)(asked, X, y) == pytest.approx(get_scorer(scorer)(plain, X, died))
    assert "died" in str(asked.scorecard_).splitlines()[1]
    # Without a word, scikit-learn's own convention.
    assert clone(model).fit(X, y).event_ == "survived"
    assert model.fit(X, np.where(died, "Yes", "no")).event_ == "Yes"


def test_the_event_that_was_asked_for_is_measured() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 2))
    died = rng.random(300) < 0.1 + 0.3 * X[:, 0]
    y = np.where(died, "died", "survived")
    plain = RiskScoreClassifier(teacher=None, max_points=2, time_limit=60)
    asked = clone(plain).set_params(pos_label="died")
    one, other = (
        cross_validate(model, X, labels, folds=3, n_jobs=1)
        for model, labels in ((plain, died), (make_pipeline(FunctionTransformer(), asked), y))
    )
    assert repr(one.to_table()) == repr(other.to_table())
    both = [
        compare({"a": model, "b": "logistic"}, X, labels, folds=3).means("aunbc")
        for model, labels in ((plain, died), (asked, y))
    ]
    assert both[0] == both[1]
    drawn = [
        DecisionCurveDisplay.from_estimator(model.fit(X, labels), X, labels)
        for model, labels in ((plain, died), (asked, y))
    ]
    np.testing.assert_array_equal(*(d.curve["net_benefit"] for d in drawn))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    table = clone(asked).fit_table(frame, "y")
    assert table.event_ == "died"
    np.testing.assert_array_equal(table.coef_, asked.coef_)
    calibrated = NetBenefitCalibrator(asked).fit(X, y)
    assert calibrated.event_ == "died"
    same = NetBenefitCalibrator(plain).fit(X, died)
    risks = same.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(calibrated.predict_proba(X)[:, 0], risks)


def test_evaluate_card_takes_labels() -> None:
    card = RiskScoreClassifier(teacher=None, max_points=2, time_limit=60)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 2))
    died = rng.random(300) < 0.1 + 0.3 * X[:, 0]
    known = card.fit(X, died).scorecard_
    expected = evaluate_card(known, X, died).measures
    for yes, no in (("Yes", "No"), ("yes", "NO"), ("1", "0"), ("T", "f")):
        assert evaluate_card(known, X, np.where(died, yes, no)).measures == expected
    with pytest.raises(InputError, match="must hold 0 and 1, or yes and no"):
        evaluate_card(known, X, np.where(died, "died", "alive"))
    asked = card.set_params(pos_label="No").fit(X, np.where(died, "No", "Yes")).scorecard_
    assert evaluate_card(asked, X, np.where(died, "No", "Yes")).measures == expected
    with pytest.raises(InputError, match="but the card's event is 'outcome = No'"):
        evaluate_card(asked, X, np.where(died, "f", "t"))

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from netbenefit.common.checks import InputError
from netbenefit.estimators.calibrator import NetBenefitCalibrator
from netbenefit.metrics.benefit import aunbc, expected_calibration_error
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.theory.calibration import calibrate_levels, improve_levels


@pytest.fixture(scope="module")
def data():
    """Two informative columns, one of them four times: naive Bayes is too sure of itself."""
    rng = np.random.default_rng(7)
    y = (rng.random(600) < 0.3).astype(int)
    first, second = (y[:, None] + rng.normal(size=(600, 2))).T
    return np.column_stack([first] * 4 + [second]), y


@pytest.mark.parametrize(
    "model",
    [
        NetBenefitCalibrator(LogisticRegression()),
        NetBenefitCalibrator(
            GaussianNB(), thresholds="0.05:0.5:0.05", method="improve", order_keeping=True, cv=3
        ),
    ],
)
def test_check_estimator(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(model, on_skip=None)


def test_area_and_calibration_improve_on_new_data(data):
    X, y = data
    risk = {
        model: cross_val_predict(estimator, X, y, cv=5, method="predict_proba")[:, 1]
        for model, estimator in {
            "plain": GaussianNB(),
            "calibrated": NetBenefitCalibrator(GaussianNB()),
        }.items()
    }
    assert aunbc(y, risk["calibrated"]) > aunbc(y, risk["plain"]) + 0.01
    errors = {model: expected_calibration_error(y, c) for model, c in risk.items()}
    assert errors["calibrated"] < errors["plain"] / 2


def test_area_improves_on_a_real_table(data_folder):
    table = pd.read_csv(data_folder / "mammo.csv")
    X, y = table.drop(columns="Malignant"), table["Malignant"]
    plain, calibrated = (
        cross_val_predict(estimator, X, y, cv=5, method="predict_proba")[:, 1]
        for estimator in (GaussianNB(), NetBenefitCalibrator(GaussianNB()))
    )
    assert aunbc(y, calibrated) > aunbc(y, plain)


@pytest.mark.parametrize("order_keeping", [False, True])
@pytest.mark.parametrize(
    ("method", "learn"), [("calibrate", calibrate_levels), ("improve", improve_levels)]
)
def test_one_map_is_learnt_from_all_out_of_fold_predictions(data, method, learn, order_keeping):
    X, y = data
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    folds = KFold(4, shuffle=True, random_state=0)
    model = NetBenefitCalibrator(
        GaussianNB(), thresholds=[0.2, 0.5], method=method, order_keeping=order_keeping, cv=folds
    ).fit(X, y, sample_weight=weights)
    risk = cross_val_predict(
        GaussianNB(), X, y, cv=folds, method="predict_proba", params={"sample_weight": weights}
    )[:, 1]
    assert model.level_map_ == learn(
        y, risk, [0.2, 0.5], sample_weight=weights, order_keeping=order_keeping
    )
    refitted = GaussianNB().fit(X, y, sample_weight=weights)
    expected = model.level_map_.apply(refitted.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], expected)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.thresholds_ == Thresholds.of([0.2, 0.5])


def test_a_frozen_classifier_is_calibrated_on_the_rows_given(data):
    X, y = data
    fitted = GaussianNB().fit(X[:300], y[:300])
    model = NetBenefitCalibrator(FrozenEstimator(fitted)).fit(X[300:], y[300:])
    risk = fitted.predict_proba(X[300:])[:, 1]
    assert model.level_map_ == calibrate_levels(y[300:], risk)
    new = model.predict_proba(X[300:])[:, 1]
    assert expected_calibration_error(y[300:], new) < 1e-12
    assert aunbc(y[300:], new) >= aunbc(y[300:], risk)
    again = clone(model).fit(X[300:], y[300:])  # a clone keeps the fitted classifier
    assert again.level_map_ == model.level_map_


def test_a_frozen_classifier_takes_weights_without_complaint(data):
    X, y = data
    weights = np.arange(len(y)) % 3
    fitted = GaussianNB().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NetBenefitCalibrator(FrozenEstimator(fitted)).fit(X, y, sample_weight=weights)
    risk = fitted.predict_proba(X)[:, 1]
    assert model.level_map_ == calibrate_levels(y, risk, sample_weight=weights)


def test_an_unfitted_frozen_classifier_is_refused(data):
    with pytest.raises(NotFittedError):
        NetBenefitCalibrator(FrozenEstimator(GaussianNB())).fit(*data)


def test_a_frozen_classifier_with_other_labels_is_refused(data):
    X, y = data
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    with pytest.raises(InputError, match="knows the classes 0, 1, but y holds 1, 2"):
        NetBenefitCalibrator(frozen).fit(X, y + 1)


@pytest.mark.parametrize("labels", [("ill", "well"), (False, True), (-1, 1), (1, 2)])
def test_labels_of_any_kind(data, labels):
    X, y = data
    model = NetBenefitCalibrator(GaussianNB()).fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X)) == set(labels)
    zero_one = NetBenefitCalibrator(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), zero_one.predict_proba(X))


def test_predict_is_the_more_probable_class(data):
    X, y = data
    model = NetBenefitCalibrator(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] > 0.5)


def test_tables_and_names(data):
    X, y = data
    names = list("abcde")
    frame = pd.DataFrame(X, columns=names)
    model = NetBenefitCalibrator(LogisticRegression()).fit(frame, pd.Series(y, index=range(5, 605)))
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="feature names"):
        model.predict_proba(frame.rename(columns={"a": "z"}))
    other = NetBenefitCalibrator(LogisticRegression()).fit(pl.DataFrame(X, schema=names), y)
    np.testing.assert_allclose(
        other.predict_proba(pl.DataFrame(X, schema=names)), model.predict_proba(frame)
    )


def test_in_pipeline_and_grid_search(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), NetBenefitCalibrator(LogisticRegression(), cv=3))
    search = GridSearchCV(
        pipeline,
        {
            "netbenefitcalibrator__estimator__C": [0.01, 1.0],
            "netbenefitcalibrator__thresholds": [[0.2, 0.4], Thresholds.tenths()],
        },
        cv=2,
        error_score="raise",
        scoring="neg_log_loss",
    ).fit(X, y)
    assert search.best_params_["netbenefitcalibrator__estimator__C"] in (0.01, 1.0)
    around = NetBenefitCalibrator(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, y)
    assert around.predict_proba(X).shape == (600, 2)


def test_clone_and_pickle(data):
    X, y = data
    model = NetBenefitCalibrator(GaussianNB(), thresholds=Thresholds.of([0.3]), cv=3).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "level_map_")
    assert copy.get_params()["thresholds"] == Thresholds.of([0.3])
    np.testing.assert_array_equal(copy.fit(X, y).predict_proba(X), model.predict_proba(X))
    read = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


def test_fit_changes_no_argument(data):
    X, y = data
    inner = GaussianNB()
    model = NetBenefitCalibrator(inner, thresholds=[0.3])
    model.fit(X, y)
    assert model.estimator is inner
    assert not hasattr(inner, "classes_")
    assert model.thresholds == [0.3]


# -- weights and other metadata -------------------------------------------------------------------


def test_weights_that_the_classifier_cannot_take_are_used_for_the_map_with_a_warning(data):
    X, y = data
    weights = 1 + y
    with pytest.warns(UserWarning, match=r"KNeighborsClassifier\.fit takes no sample_weight"):
        model = NetBenefitCalibrator(KNeighborsClassifier()).fit(X, y, sample_weight=weights)
    risk = cross_val_predict(KNeighborsClassifier(), X, y, method="predict_proba")[:, 1]
    assert model.level_map_ == calibrate_levels(y, risk, sample_weight=weights)


def test_weights_and_groups_are_routed(data):
    X, y = data
    groups, weights = np.arange(len(y)) % 7, 1.0 + np.arange(len(y)) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        model = NetBenefitCalibrator(
            GaussianNB().set_fit_request(sample_weight=True), cv=GroupKFold(3)
        ).fit(X, y, sample_weight=weights, groups=groups)
    risk = cross_val_predict(
        GaussianNB(),
        X,
        y,
        cv=list(GroupKFold(3).split(X, y, groups)),
        method="predict_proba",
        params={"sample_weight": weights},
    )[:, 1]
    assert model.level_map_ == calibrate_levels(y, risk, sample_weight=weights)


class Saturated(ClassifierMixin, BaseEstimator):
    """Its probabilities leave [0, 1] by a rounding error, or by more."""

    def __init__(self, excess=1e-12):
        self.excess = excess

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        risk = np.where(np.asarray(X)[:, 0] > 0.5, 1.0 + self.excess, -self.excess)
        return np.column_stack([1 - risk, risk])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def test_probabilities_outside_by_rounding_are_taken_and_others_refused(data):
    X, y = data
    model = NetBenefitCalibrator(Saturated()).fit(X, y)
    assert np.all((model.predict_proba(X) >= 0) & (model.predict_proba(X) <= 1))
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        NetBenefitCalibrator(Saturated(excess=0.1)).fit(X, y)


# -- bad input ------------------------------------------------------------------------------------


def test_a_classifier_without_probabilities_is_refused_with_a_remedy(data):
    with pytest.raises(InputError, match=r"LinearSVC has no predict_proba.*CalibratedClassifierCV"):
        NetBenefitCalibrator(LinearSVC()).fit(*data)
    remedy = NetBenefitCalibrator(CalibratedClassifierCV(LinearSVC(), cv=3), cv=3)
    assert remedy.fit(*data).predict_proba(data[0]).shape == (600, 2)


def test_prefit_is_refused_with_a_remedy(data):
    with pytest.raises(InputError, match=r"NetBenefitCalibrator\(FrozenEstimator\("):
        NetBenefitCalibrator(GaussianNB(), cv="prefit").fit(*data)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "isotonic"}, "'method' parameter"),
        ({"order_keeping": "yes"}, "'order_keeping' parameter"),
        ({"cv": "five"}, "'cv' parameter"),
        ({"thresholds": [0.5, 0.2]}, "thresholds must increase"),
        ({"thresholds": [20.0]}, "write 0.2 for 20%"),
        ({"cv": ShuffleSplit(3)}, "partitions"),
    ],
)
def test_bad_settings_are_named(data, settings, message):
    with pytest.raises(ValueError, match=message):
        NetBenefitCalibrator(GaussianNB(), **settings).fit(*data)


def test_bad_targets_are_named(data):
    X, y = data
    model = NetBenefitCalibrator(GaussianNB())
    with pytest.raises(InputError, match=r"binary classification is supported.* 3 labels"):
        model.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(InputError, match="y holds one class only"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, y + 0.5 * np.arange(len(y)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    with pytest.raises(InputError, match="sample_weight must be finite and not negative"):
        model.fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(NotFittedError):
        model.predict_proba(X)


def test_a_rare_class_lowers_the_number_of_folds_with_a_warning(data):
    X, _ = data
    y = np.zeros(len(X), dtype=int)
    y[:3] = 1
    with pytest.warns(UserWarning, match="class 1 has 3 rows, too few for cv=5: 3 folds"):
        NetBenefitCalibrator(GaussianNB()).fit(X, y)
    y[:2] = 0
    with pytest.raises(InputError, match="class 1 has a single row"):
        NetBenefitCalibrator(GaussianNB()).fit(X, y)

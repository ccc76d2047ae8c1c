"""A scikit-learn wrapper that raises the net benefit of any classifier by calibrating its risks."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, _fit_context, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils import Bunch, column_or_1d, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from netbenefit.common import FloatArray, InputError, check_weights, shorten
from netbenefit.data import asked_label, learner_of_codes, read_outcome, sorted_labels
from netbenefit.metrics import ThresholdsLike, as_thresholds
from netbenefit.theory import calibrate_levels, improve_levels


class NetBenefitCalibrator(
    ClassifierMixin,  # type: ignore[misc]  # scikit-learn has no types
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Calibrate a binary classifier so that its risks serve decisions at given thresholds.

    One :class:`LevelMap` is learnt from the out-of-fold risks of all training rows, and the
    classifier is then fitted again on all rows, as by scikit-learn's ``CalibratedClassifierCV``
    with ``ensemble=False``.  A new row gets the refitted classifier's risk, passed through the map.
    On the out-of-fold risks the area under the net benefit curve never falls; on new data most is
    gained where the classifier is badly calibrated.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        It is cloned.  One that is already fitted goes into a
        :class:`sklearn.frozen.FrozenEstimator`; :meth:`fit` then needs rows that it has not seen.
    thresholds : Thresholds, list, text or None, default=None
        Decision thresholds; None is the grid 0, 0.1, …, 0.9.
    method : {"calibrate", "improve"}, default="calibrate"
        ``"calibrate"`` gives every level its observed event rate, ``"improve"`` only moves the
        levels that lose net benefit.
    order_keeping : bool, default=False
        Whether risks that share a level keep their order, by a small share of the original risk.
    cv : int, splitter, iterable or None, default=5
        Folds of the out-of-fold predictions; each row must be predicted exactly once.  A number
        means that many stratified folds, None five.  Not used for a frozen classifier.
    n_jobs : int or None, default=None
        Number of folds to fit at the same time.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels, sorted.
    event_ : label
        The one of them that is the event.
    estimator_ : classifier
        The classifier, fitted on all rows (or the frozen one).
    level_map_ : LevelMap
        What was learnt about its risks.
    thresholds_ : Thresholds
        The thresholds in use.
    n_features_in_, feature_names_in_
        As seen by the classifier; defined where it defines them.

    Examples
    --------
    Naive Bayes takes four copies of a column for independent evidence, and is far too certain:

    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> y = np.arange(2000) % 4 == 0
    >>> column = y + np.random.default_rng(0).normal(size=2000)
    >>> X = np.column_stack([column] * 4)
    >>> model = NetBenefitCalibrator(GaussianNB(), thresholds=[0.2, 0.4, 0.6]).fit(X, y)
    >>> [round(risk, 2) for risk in model.level_map_.values]
    [0.13, 0.27, 0.47, 0.47]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any] | str]] = {
        "estimator": [HasMethods(["fit"])],
        "thresholds": "no_validation",  # as_thresholds has the better errors
        "method": [StrOptions({"calibrate", "improve"})],
        "order_keeping": ["boolean"],
        "cv": ["cv_object", StrOptions({"prefit"})],  # "prefit" is refused with a remedy
        "n_jobs": [Integral, None],
    }

    classes_: NDArray[Any]

    def __init__(
        self,
        estimator: Any,
        *,
        thresholds: ThresholdsLike = None,
        method: str = "calibrate",
        order_keeping: bool = False,
        cv: Any = 5,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.method = method
        self.order_keeping = order_keeping
        self.cv = cv
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit the classifier and learn the map of its risks; return the calibrator.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Anything that the classifier takes.
        y : array-like of shape (n_rows,)
            Labels of two classes; the event is the classifier's ``pos_label`` if it has one, else
            1, True or "yes", else the label that sorts last.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows, for the map and, if it takes them, for the classifier.
        **fit_params : dict
            Passed to the classifier's ``fit``.
        """
        thresholds = as_thresholds(self.thresholds)
        outcome = read_outcome(y, positive=asked_label(self.estimator))
        event, classes = outcome.event, sorted_labels(outcome.labels)
        X, y = indexable(X, y)
        labels = column_or_1d(y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(labels))
        self._check_estimator()
        routed = self._route(sample_weight, fit_params)

        estimator = clone(self.estimator)
        if isinstance(estimator, FrozenEstimator):
            estimator.fit(X, labels)  # only checks that it is fitted
            known = np.asarray(estimator.classes_)
            if not np.array_equal(known, classes):
                raise InputError(
                    f"the fitted classifier knows the classes {shorten(known.tolist())}, but y "
                    f"holds {shorten(classes.tolist())}. Use the same labels."
                )
            risks = estimator.predict_proba(X)[:, int(classes[1] == outcome.labels[1])]
        else:
            cv = self._splits(X, labels, routed.splitter.split)
            params = routed.estimator.fit
            # scikit-learn hands out codes anyway, which a pos_label would not know.
            risks = cross_val_predict(
                learner_of_codes(estimator),
                X,
                event.astype(np.intp),
                cv=cv,
                n_jobs=self.n_jobs,
                params=params,
                method="predict_proba",
            )[:, 1]
            estimator.fit(X, labels, **params)
        learn = calibrate_levels if self.method == "calibrate" else improve_levels
        self.level_map_ = learn(
            event,
            _inside(risks),
            thresholds,
            sample_weight=sample_weight,
            order_keeping=bool(self.order_keeping),
        )
        self.classes_, self.event_ = classes, outcome.labels[1]
        self.thresholds_ = thresholds
        self.estimator_ = estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(estimator, name):
                setattr(self, name, getattr(estimator, name))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the calibrated risks of both classes: (n_rows, 2)."""
        check_is_fitted(self)
        place = int(self.classes_[1] == self.event_)
        risk = self.level_map_.apply(_inside(self.estimator_.predict_proba(X)[:, place]))
        return np.column_stack([1.0 - risk, risk] if place else [risk, 1.0 - risk])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class, ``classes_[0]`` if both are equally probable.

        For a decision at a threshold, compare the event's column of ``predict_proba`` with it.
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return labels

    def get_metadata_routing(self) -> Any:
        """Return where ``fit`` passes its metadata: to the classifier and the splitter."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags

    def _check_estimator(self) -> None:
        name = type(self.estimator).__name__
        if isinstance(self.cv, str):
            raise InputError(
                f"cv={self.cv!r} is not supported. Wrap the fitted classifier instead: "
                f"NetBenefitCalibrator(FrozenEstimator({name.lower()}))."
            )
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"{name} has no predict_proba, but net benefit needs risks between 0 and 1. Wrap "
                f"it in sklearn.calibration.CalibratedClassifierCV first, or choose a classifier "
                "with predict_proba."
            )

    def _route(self, sample_weight: FloatArray | None, fit_params: Mapping[str, Any]) -> Any:
        """Return what goes to the classifier's ``fit`` and to the splitter's ``split``."""
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
        params = dict(fit_params)
        if sample_weight is not None and not isinstance(self.estimator, FrozenEstimator):
            if has_fit_parameter(self.estimator, "sample_weight"):
                params["sample_weight"] = sample_weight
            else:
                warnings.warn(
                    f"{type(self.estimator).__name__}.fit takes no sample_weight: the weights are "
                    "used for the calibration only.",
                    stacklevel=3,
                )
        return Bunch(splitter=Bunch(split={}), estimator=Bunch(fit=params))

    def _splits(self, X: Any, y: NDArray[Any], params: Mapping[str, Any]) -> list[Any]:
        """Return the folds: of a number of folds, no more than the rarest class has rows."""
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, Integral):
            labels, counts = np.unique(y, return_counts=True)
            fewest, rarest = int(counts.min()), labels.tolist()[counts.argmin()]
            if fewest < 2:
                raise InputError(
                    f"class {rarest!r} has a single row: no part of the data can be held out. "
                    "Pass more rows, or a fitted classifier in a FrozenEstimator."
                )
            if fewest < int(cv):
                warnings.warn(
                    f"class {rarest!r} has {fewest} rows, too few for cv={cv}: "
                    f"{fewest} folds are used.",
                    stacklevel=3,
                )
                cv = fewest
        return list(check_cv(cv, y, classifier=True).split(X, y, **params))


def _inside(risk: NDArray[Any]) -> FloatArray:
    """Undo the rounding by which averaged or normalised probabilities may leave [0, 1]."""
    risks = np.asarray(risk, dtype=np.float64)
    tiny = 1e-9
    near = (risks >= -tiny) & (risks <= 1.0 + tiny)
    return np.where(near, np.clip(risks, 0.0, 1.0), risks)

"""An estimator that chooses its own setting by net benefit before it learns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from netbenefit.common.checks import FloatArray, InputError
from netbenefit.metrics.thresholds import ThresholdsLike
from netbenefit.validation.choice import Settings, choose_setting
from netbenefit.validation.folds import Sample, fit_model, prepared, seed_of

__all__ = ["BenefitSearch", "tune"]


class BenefitSearch(
    MetaEstimatorMixin,  # type: ignore[misc]  # scikit-learn has no types
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Choose a setting as :func:`choose_setting` does, then learn from all rows with it.

    Parameters
    ----------
    estimator : classifier
        Such as ``RiskScoreClassifier(binner="auto")``.
    settings, folds, repeats, measure, rule, thresholds, n_jobs, random_state, journal, verbose
        As in :func:`choose_setting`.

    Attributes
    ----------
    choice_ : SettingChoice
        All settings, and the chosen one.
    estimator_ : classifier
        Fitted on all rows with the chosen setting.
    classes_ : (2,) array

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 4))
    >>> y = rng.random(400) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 1]
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10)
    >>> search = BenefitSearch(tree, {"max_depth": [1, 2, 3, 4]}).fit(X, y)
    >>> search.choice_.setting, search.estimator_.get_depth()
    ({'max_depth': 2}, 2)
    """

    def __init__(
        self,
        estimator: Any,
        settings: Settings = None,
        *,
        folds: Any = 5,
        repeats: int = 1,
        measure: str | float = "net_benefit",
        rule: str = "one_se",
        thresholds: ThresholdsLike = None,
        n_jobs: int | None = None,
        random_state: int = 0,
        journal: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.settings = settings
        self.folds = folds
        self.repeats = repeats
        self.measure = measure
        self.rule = rule
        self.thresholds = thresholds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.journal = journal
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose a setting, then learn from all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for the estimator's ``fit``.

        Returns
        -------
        BenefitSearch
        """
        self.choice_ = choose_setting(
            self.estimator,
            X,
            y,
            settings=self.settings,
            folds=self.folds,
            repeats=self.repeats,
            measure=self.measure,
            rule=self.rule,
            thresholds=self.thresholds,
            sample_weight=sample_weight,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            journal=self.journal,
            verbose=self.verbose,
        )
        sample = Sample.of(X, y, sample_weight)
        model = prepared(self.estimator, self.choice_.setting, seed_of(self.random_state, 9))
        self.estimator_ = fit_model(model, sample, np.arange(sample.event.size), whole=True)
        self.classes_ = self.estimator_.classes_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Risk of each row, as probabilities of both classes."""
        check_is_fitted(self)
        risks: FloatArray = self.estimator_.predict_proba(X)
        return risks

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row, as the chosen model decides."""
        check_is_fitted(self)
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = False
        return tags


def tune(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    settings: Settings = None,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> Any:
    """Choose a setting by net benefit, and return the estimator fitted on all rows with it.

    Parameters
    ----------
    estimator, X, y, settings, sample_weight
        As in :func:`choose_setting`.
    **options
        The other parameters of :class:`BenefitSearch`: ``folds``, ``rule``, ``journal``, …

    Returns
    -------
    classifier
        Of the same kind as ``estimator``, which is left as it is.  Its ``choice_`` tells how the
        setting was chosen.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 4))
    >>> y = rng.random(400) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 1]
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10)
    >>> tune(tree, X, y, settings={"max_depth": [1, 2, 3, 4]}).get_depth()
    2
    """
    known = set(BenefitSearch._get_param_names()) - {"estimator", "settings"}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(f"tune has no {unknown[0]!r}. It has {', '.join(sorted(known))}.")
    search = BenefitSearch(estimator, settings, **options).fit(X, y, sample_weight)
    model = search.estimator_
    model.choice_ = search.choice_
    return model

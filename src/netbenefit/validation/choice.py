"""Which setting is best on held-out rows, and which smaller card is about as good."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    Tabular,
    check_option,
    check_seed,
    shorten,
    shown_on_stdout,
)
from netbenefit.metrics import ThresholdsLike, name_at
from netbenefit.validation.errors import (
    ComparesFolds,
    FoldMeans,
    corrected_error,
    fold_means,
    fold_ratio,
    near_best,
)
from netbenefit.validation.folds import (
    Sample,
    check_repeats,
    fit_model,
    is_count,
    make_folds,
    prepared,
    random_of,
    seed_of,
)
from netbenefit.validation.runner import Runner, Task, make_work

#: What is tried for cards where the user names no settings.
CARD_SETTINGS: dict[str, tuple[Any, ...]] = {
    "penalty": ("auto", "paper"),
    "max_questions": (3, 5, 8),
    "max_points": (3, 10),
}

Settings = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None

_RULES = ("one_se", "classic", "best")


@dataclass(frozen=True, eq=False, repr=False)
class SettingChoice(ComparesFolds, Tabular):
    """Settings, the value of each on held-out rows, and the one that was chosen.

    Attributes
    ----------
    settings : tuple of dict
    values : (K, S) float
        The measure of each of K models of each setting on the rows that it had not seen.
    sizes : (K, S) float
        Sizes of these models.
    ratio : float
        Mean of held-out rows / training rows.
    measure, rule : str
    """

    settings: tuple[dict[str, Any], ...]
    values: FloatArray
    sizes: FloatArray
    ratio: float
    measure: str = "net_benefit"
    rule: str = "one_se"

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of each setting over the models."""
        result: FloatArray = self.values.mean(axis=0)
        return result

    @cached_property
    def size(self) -> FloatArray:
        """Mean size of the models of each setting."""
        result: FloatArray = self.sizes.mean(axis=0)
        return result

    @cached_property
    def best(self) -> int:
        """Number of the setting with the highest mean; of equals the smaller, then the first."""
        return int(np.lexsort((np.nan_to_num(self.size), -self.mean))[0])

    @cached_property
    def _means(self) -> FoldMeans:
        return fold_means(self.values, self.ratio, self.best)

    @cached_property
    def near(self) -> NDArray[np.bool_]:
        """Which settings count as good as the best one by the rule."""
        if self.rule == "best":
            return np.asarray(np.arange(self.mean.size) == self.best)
        if self.rule == "classic":
            own = self.values[:, self.best]
            return near_best(self.mean, corrected_error(own, 0.0), self.best)
        return self._means.near

    @cached_property
    def chosen(self) -> int:
        """Number of the chosen setting: of those near the best the one with the smallest models.

        Of equally small ones the one with the highest mean, then the first.
        """
        if self.rule == "best":
            return self.best
        return int(np.lexsort((-self.mean, self.size, ~self.near))[0])

    @property
    def setting(self) -> dict[str, Any]:
        """The chosen setting, for ``set_params``."""
        return dict(self.settings[self.chosen])

    def to_table(self) -> Table:
        """One row per setting."""
        names = dict.fromkeys(name for setting in self.settings for name in setting)
        numbers = np.arange(len(self.settings))
        columns: dict[str, Any] = {}
        for name in names:
            columns[name] = np.empty(numbers.size, dtype=object)
            columns[name][:] = [setting.get(name, "–") for setting in self.settings]
        return Table(
            {
                **columns,
                self.measure: self.mean,
                "se": self._means.error,
                "difference": self.difference,
                "difference_se": self.difference_se,
                "size": self.size,
                "near_best": self.near,
                "best": numbers == self.best,
                "chosen": numbers == self.chosen,
            }
        )

    @shown_on_stdout
    def __str__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.setting.items())
        return f"{self.to_table()}\n\nchosen ({self.rule}): {chosen}"


def check_settings(estimator: Any, settings: Settings) -> tuple[dict[str, Any], ...]:
    """All settings to try, each known to the estimator; of a mapping all combinations."""
    known = estimator.get_params(deep=True)
    if settings is None:
        if not all(name in known for name in CARD_SETTINGS):
            raise InputError(
                f"settings=None is for cards. Say what to try for {type(estimator).__name__}, as in"
                ' settings={"C": [0.1, 1, 10]}.'
            )
        settings = CARD_SETTINGS
    if isinstance(settings, Mapping):
        for name, values in settings.items():
            if isinstance(values, str) or not np.iterable(values):
                raise InputError(f"settings[{name!r}] is {values!r}. Pass a list: [{values!r}].")
        names = list(settings)
        found = [dict(zip(names, row, strict=True)) for row in product(*settings.values())]
    else:
        found = [dict(setting) for setting in settings]
    if not found:
        raise InputError("settings are empty: there is nothing to choose from. Name at least one.")
    unknown = dict.fromkeys(name for setting in found for name in setting if name not in known)
    if unknown:
        raise InputError(
            f"settings name {shorten(list(unknown))}, which {type(estimator).__name__} does not "
            f"have; it has {shorten(sorted(known), 20)}."
        )
    return tuple(found)


class SettingSearch(NamedTuple):
    """How a setting is chosen."""

    settings: tuple[dict[str, Any], ...]
    folds: Any
    repeats: int
    measure: str
    rule: str

    def tasks(
        self, sample: Sample, rows: NDArray[np.intp], seed: int, *place: int
    ) -> dict[str, Task]:
        """All models to fit for the choice on some rows, the settings of a fold in a row."""
        inside = sample.outcomes(rows)
        tasks = {}
        for repeat in range(self.repeats):
            folds = make_folds(self.folds, inside, random_of(seed, *place, repeat))
            for number, (train, test) in enumerate(folds):
                own = seed_of(seed, *place, repeat, number)
                for s, setting in enumerate(self.settings):
                    name = f"repeat {repeat + 1} fold {number + 1} setting {s + 1}"
                    tasks[name] = Task(rows[train], {"test": rows[test]}, own, setting)
        return tasks

    def choose(
        self, tasks: Mapping[str, Task], results: Sequence[Mapping[str, Any]]
    ) -> SettingChoice:
        """Put the results of :meth:`tasks` together."""
        many = len(self.settings)
        values = np.array([result["measures"]["test"][self.measure] for result in results])
        sizes = np.array([result["size"] for result in results], dtype=np.float64)
        if self.rule != "best" and np.isnan(sizes).any():
            raise InputError(
                "the size of these models is not known, so that none is the smallest. Choose "
                'rule="best".'
            )
        ratio = fold_ratio([(task.train, task.parts["test"]) for task in tasks.values()])
        shaped = values.reshape(-1, many), sizes.reshape(-1, many)
        return SettingChoice(self.settings, *shaped, ratio, self.measure, self.rule)


def make_search(
    estimator: Any, settings: Settings, folds: Any, repeats: int, measure: str | float, rule: str
) -> tuple[SettingSearch, tuple[float, ...]]:
    """Check how to choose; returns that, and thresholds that have to be measured for it."""
    check_option("rule", rule, _RULES)
    at: tuple[float, ...] = ()
    if isinstance(measure, float):
        at, measure = (measure,), name_at(measure)
    elif measure not in ("net_benefit", "aunbc"):
        raise InputError(
            f'measure={measure!r} is not known. Use "net_benefit" (by the thresholds\' weights), '
            '"aunbc", or one threshold, such as 0.2.'
        )
    check_repeats(folds, repeats)
    return SettingSearch(
        check_settings(estimator, settings), folds, int(repeats), measure, rule
    ), at


def folds_in_journal(folds: Any) -> Any:
    """Folds in a fingerprint; given ones are part of each task's name instead."""
    return int(folds) if is_count(folds) else "given"


def choose_setting(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    settings: Settings = None,
    folds: Any = 5,
    repeats: int = 1,
    measure: str | float = "net_benefit",
    rule: str = "one_se",
    thresholds: ThresholdsLike = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    journal: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> SettingChoice:
    """Choose settings such as penalty, number of rules and points by net benefit.

    Every setting is fitted without each fold in turn, and measured on that fold.  By the rule
    ``"one_se"`` the chosen setting is the one with the smallest models among those whose mean is
    less than one standard error below the best: that of the *difference* to the best within the
    same folds, corrected for shared training rows (Nadeau and Bengio 2003).  ``"classic"`` uses the
    standard error of the best mean itself (Breiman et al. 1984), ``"best"`` takes the best mean.

    Parameters
    ----------
    estimator, X, y, folds, repeats, thresholds, sample_weight, n_jobs, random_state, journal, \
verbose
        As in :func:`cross_validate`.
    settings : mapping of lists, or list of mappings, optional
        What to try: all combinations of a mapping.  By default, for cards, penalties "auto" and
        "paper", at most 3, 5 or 8 rules, points up to 3 or 10.
    measure : {"net_benefit", "aunbc"} or float, default="net_benefit"
        Net benefit by the thresholds' weights, the area under the curve, or net benefit at one
        threshold.
    rule : {"one_se", "classic", "best"}, default="one_se"

    Returns
    -------
    SettingChoice
        Its ``setting`` is the chosen one, its ``to_table()`` has all of them.  The mean of the
        chosen one is too good to be true for new rows: it was chosen for being high
        (:func:`nested_cross_validate` has honest numbers).

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 4))
    >>> y = rng.random(400) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 1]
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10)
    >>> choice = choose_setting(tree, X, y, settings={"max_depth": [1, 2, 3, 4]})
    >>> choice.setting, choice.size.tolist()
    ({'max_depth': 2}, [3.0, 7.0, 15.0, 31.0])
    """
    search, at = make_search(estimator, settings, folds, repeats, measure, rule)
    work = make_work(estimator, X, y, sample_weight, thresholds, at, n_jobs)
    seed = check_seed(random_state)
    rows = np.arange(work.sample.event.size)
    tasks = search.tasks(work.sample, rows, seed, 4)
    with Runner(
        work,
        "choosing a setting",
        work.identity(folds=folds_in_journal(folds), seed=seed, settings=search.settings),
        total=len(tasks),
        given=not is_count(folds),
        journal=journal,
        n_jobs=n_jobs,
        verbose=verbose,
    ) as runner:
        found = runner.run(tasks)
    return search.choose(tasks, list(found.values()))


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
        """Choose a setting, then learn from all rows, given as for the estimator's ``fit``."""
        options = self.get_params(deep=False)
        estimator = options.pop("estimator")
        self.choice_ = choose_setting(estimator, X, y, sample_weight=sample_weight, **options)
        sample = Sample.of(X, y, sample_weight, estimator)
        model = prepared(estimator, self.choice_.setting, seed_of(self.random_state, 9))
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
        Of the same kind as ``estimator``, which is left as it is.  Its ``choice_`` says how the
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

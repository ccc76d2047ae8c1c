"""Models side by side on the same folds: discrimination, calibration, net benefit, size."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from netbenefit.cards import strip_control
from netbenefit.common import (
    FloatArray,
    InputError,
    InputWarning,
    IntArray,
    Table,
    Tabular,
    check_seed,
    display_width,
    format_number,
    format_p_value,
    format_table,
    install_command,
    one_by_one,
    read_parts,
    shorten,
    shown_on_stdout,
)
from netbenefit.estimators import count_threads, pop_column
from netbenefit.metrics import (
    Thresholds,
    ThresholdsLike,
    as_thresholds,
    aunbc,
    curve_bands,
    decision_curve,
)
from netbenefit.plots import ComparisonDisplay, CriticalDifferenceDisplay
from netbenefit.validation.errors import corrected_error, with_error
from netbenefit.validation.folds import Fold, Sample, check_repeats, make_folds
from netbenefit.validation.models import (
    FixedCard,
    ModelOptions,
    check_weighted,
    read_models,
    teacher_column,
)
from netbenefit.validation.prepare import PreparedClassifier, read_plain
from netbenefit.validation.runner import Runner, Task, Work
from netbenefit.validation.stability import label

# -- models over several data sets: average ranks, and the tests of Friedman and Nemenyi -----------


@dataclass(frozen=True, eq=False, repr=False)
class RankTest(Tabular):
    """Average ranks of models over data sets, and which of them differ.

    Made by :func:`rank_models`.

    Attributes
    ----------
    models, datasets : tuple of str
    ranks : (n_datasets, n_models) float
        Rank of each model on each data set: 1 is best, equals share the mean of their ranks.
    chi2, p : float
        Friedman's statistic (corrected for ties), and its p-value.
    nemenyi : (n_models, n_models) float
        Nemenyi's p-value of each pair, adjusted for the number of pairs.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    ranks: FloatArray
    chi2: float
    p: float
    nemenyi: FloatArray

    @cached_property
    def average(self) -> FloatArray:
        """Mean rank of each model."""
        result: FloatArray = self.ranks.mean(axis=0)
        return result

    @property
    def df(self) -> int:
        """Degrees of freedom of Friedman's test."""
        return len(self.models) - 1

    @property
    def f(self) -> float:
        """Iman and Davenport's less cautious statistic (N − 1) χ² / (N (k − 1) − χ²)."""
        n = len(self.datasets)
        rest = n * self.df - self.chi2
        return (n - 1) * self.chi2 / rest if rest > 1e-9 else float("inf")

    @property
    def f_p(self) -> float:
        """P-value of :attr:`f`, with k − 1 and (k − 1)(N − 1) degrees of freedom."""
        return float(stats.f.sf(self.f, self.df, self.df * (len(self.datasets) - 1)))

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Difference of average ranks from which Nemenyi's test calls two models different."""
        return critical_difference(len(self.models), len(self.datasets), alpha)

    def groups(self, alpha: float = 0.05) -> list[tuple[str, ...]]:
        """Groups of models, as large as can be, in which no two differ; best ranks first."""
        found = rank_groups(self.average, self.critical_difference(alpha))
        return [tuple(self.models[place] for place in group) for group in found]

    def to_table(self) -> Table:
        """One row per pair of models: average ranks, their difference, Nemenyi's p-value."""
        first, second = np.triu_indices(len(self.models), 1)
        names = np.array(self.models, dtype=object)
        return Table(
            {
                "model_a": names[first],
                "model_b": names[second],
                "rank_a": self.average[first],
                "rank_b": self.average[second],
                "difference": self.average[first] - self.average[second],
                "p": self.nemenyi[first, second],
            }
        )

    def plot(self, ax: Any = None, *, alpha: float = 0.05) -> CriticalDifferenceDisplay:
        """Draw the average ranks, and join models that do not differ at the level ``alpha``."""
        return self.display(alpha).plot(ax=ax)

    def display(self, alpha: float = 0.05) -> CriticalDifferenceDisplay:
        """What :meth:`plot` draws; its ``save`` writes a file."""
        return CriticalDifferenceDisplay(
            self.models,
            self.average,
            self.critical_difference(alpha),
            groups=self.groups(alpha),
            n_datasets=len(self.datasets),
        )

    @shown_on_stdout
    def __str__(self) -> str:
        width = max(map(len, self.models))
        order = np.argsort(self.average, kind="stable")
        lines = [f"{self.models[i]:<{width}}  {self.average[i]:.4f}" for i in order]
        p = format_p_value(self.p)
        relation = "" if p.startswith("<") else "= "
        return "\n".join(
            [
                f"Average rank over {len(self.datasets)} data sets, 1 is best:",
                *lines,
                f"Friedman: χ² = {self.chi2:.2f}, df = {self.df}, p {relation}{p}",
                f"Nemenyi: ranks that differ by {self.critical_difference():.3f} or more differ "
                "at the 5% level",
            ]
        )


def rank_models(
    scores: Mapping[str, Mapping[str, float]] | ArrayLike,
    *,
    higher_is_better: bool = True,
    models: Any = None,
) -> RankTest:
    """Rank models on each data set, and test whether they differ.

    Friedman's test asks whether all models could be alike; Nemenyi's test says which pairs are
    not (Demšar 2006).  Data sets must be independent of each other: folds of one data set are not.

    Tables tab:friedman, tab:ranks and tab:nemenyi_auroc to tab:nemenyi_size of the paper.

    Parameters
    ----------
    scores : mapping of data set to mapping of model to number, or (n_datasets, n_models) array
        One number per model and data set, such as ``{name: comparison.means("aunbc"), …}``.
    higher_is_better : bool, default=True
        False for calibration errors and sizes.
    models : sequence of str, optional
        Names of an array's columns.

    Returns
    -------
    RankTest
        Ranks, p-values, ``critical_difference()`` and ``plot()``.

    Examples
    --------
    >>> test = rank_models([[0.91, 0.85, 0.80], [0.78, 0.75, 0.71], [0.66, 0.67, 0.60]],
    ...                    models=["card", "tree", "coin"])
    >>> test.average.round(2), round(test.critical_difference(), 2)
    (array([1.33, 1.67, 3.  ]), 1.91)
    """
    names, datasets, matrix = _read(scores, models)
    ranks = stats.rankdata(-matrix if higher_is_better else matrix, axis=1)
    if np.ptp(ranks, axis=1).any():
        friedman = stats.friedmanchisquare(*ranks.T)
        chi2, p = float(friedman.statistic), float(friedman.pvalue)
    else:  # all alike everywhere: the correction for ties would divide by nothing
        chi2, p = 0.0, 1.0
    return RankTest(names, datasets, ranks, chi2, p, _nemenyi(ranks))


def critical_difference(n_models: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Difference of average ranks from which two models differ by Nemenyi's test.

    q √(k (k + 1) / (6 N)), with q the upper ``alpha`` quantile of the studentised range of k
    models / √2.
    """
    if not (isinstance(alpha, float | int) and 0 < alpha < 1):
        raise InputError(f"alpha={alpha!r} must lie strictly between 0 and 1, such as 0.05.")
    q = stats.studentized_range.isf(alpha, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_datasets)))


def rank_groups(average: ArrayLike, difference: float) -> list[tuple[int, ...]]:
    """Places of the models in each group whose ranks differ by less; none inside another."""
    ranks = np.asarray(average, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    found: list[tuple[int, ...]] = []
    last = 0
    for start, rank in enumerate(ordered):
        end = int(np.searchsorted(ordered, rank + difference, side="left"))
        if end - start > 1 and end > last:
            found.append(tuple(int(place) for place in order[start:end]))
        last = max(last, end)
    return found


def _read(scores: Any, models: Any) -> tuple[tuple[str, ...], tuple[str, ...], FloatArray]:
    """Names of models and data sets, and a full matrix of finite numbers."""
    if isinstance(scores, Mapping):
        datasets = tuple(str(name) for name in scores)
        names = tuple(next(iter(scores.values()), {})) if models is None else tuple(models)
        for dataset, row in scores.items():
            if set(row) != set(names):
                raise InputError(
                    f"data set {dataset!r} has numbers of {shorten(list(row), 9)}, but ranks need "
                    f"the same models everywhere: {shorten(list(names), 9)}. Complete it."
                )
        matrix = np.array([[row[name] for name in names] for row in scores.values()], dtype=float)
        matrix = matrix.reshape(len(datasets), len(names))
    else:
        matrix = np.asarray(scores, dtype=np.float64)
        if matrix.ndim != 2:
            raise InputError(
                f"scores have shape {matrix.shape}. Pass one row per data set, "
                "one column per model."
            )
        datasets = tuple(f"data set {i + 1}" for i in range(len(matrix)))
        if models is None:
            models = [f"model {i + 1}" for i in range(matrix.shape[1])]
        names = tuple(str(name) for name in models)
    if len(set(names)) != matrix.shape[1]:
        raise InputError(f"{matrix.shape[1]} models need as many different names, not {names!r}.")
    if len(names) < 3 or len(datasets) < 2:
        raise InputError(
            f"{len(names)} models on {len(datasets)} data sets. Friedman's test needs at least "
            "three models and two data sets; compare two models by a paired test."
        )
    missing = np.argwhere(~np.isfinite(matrix))
    if missing.size:
        row, column = missing[0]
        raise InputError(
            f"{names[column]!r} has no finite number on {datasets[row]!r}. Leave out that model or "
            "that data set."
        )
    return names, datasets, matrix


def _nemenyi(ranks: FloatArray) -> FloatArray:
    """P-values of all pairs, by scikit-posthocs."""
    try:
        import scikit_posthocs  # type: ignore[import-untyped]  # late: an extra
    except ImportError as error:
        raise ImportError(
            "Nemenyi's test needs scikit-posthocs, which is not installed. Install it with "
            f"`{install_command('stats')}`."
        ) from error
    result: FloatArray = scikit_posthocs.posthoc_nemenyi_friedman(ranks).to_numpy(dtype=np.float64)
    return result


# -- differences between models over the same folds ------------------------------------------------


class Difference(NamedTuple):
    """A mean difference over folds, its corrected standard error, 95% interval and p-value."""

    mean: float
    se: float
    low: float
    high: float
    p: float


def corrected_difference(differences: FloatArray, test_share: float) -> Difference:
    """Mean of (J,) differences over folds, by the corrected resampled t test (Nadeau and Bengio).

    ``test_share`` is n_test / n_train; the test has J − 1 degrees of freedom.  P is NaN where all
    folds show the same difference, other than 0.
    """
    d = differences
    if d.size < 2:
        raise InputError(f"{d.size} fold: a standard error needs at least 2.")
    mean, se = float(d.mean()), float(corrected_error(d, test_share))
    reach = float(stats.t.ppf(0.975, d.size - 1)) * se
    if se > 0:
        p = float(2 * stats.t.sf(abs(mean) / se, d.size - 1))
    else:
        p = 1.0 if mean == 0 else float("nan")
    return Difference(mean, se, mean - reach, mean + reach, p)


def comparison_text(found: Comparison) -> str:
    """Write three tables: held-out rows, training rows, differences."""
    mark = {name: strip_control(name) + "*" * (name in found.not_refitted) for name in found.models}
    parts = [
        f"Held-out rows: mean ± sd over {found.n_folds} folds",
        _measures(found, mark, "test"),
        f"AUNBC of acting on everyone: {found.treat_all:.3f}, on no one: 0".replace("-", "−"),
        "",
        "The rows that were learnt from, for comparison",
        _measures(found, mark, "train"),
    ]
    if len(found.models) > 1:
        parts += [
            "",
            f"AUNBC on held-out rows, less that of {mark[found.models[0]]}",
            _differences(found, mark),
        ]
    if found.not_refitted:
        parts += [
            "",
            "* A card as it stands, not learnt anew in each fold. If it was learnt from these rows,"
            "\n  its numbers flatter it.",
        ]
    return "\n".join(parts)


def _measures(found: Comparison, mark: Mapping[str, str], split: Split) -> str:
    metrics: list[Metric] = [*METRICS, "size"] if split == "test" else [*METRICS]
    means = {metric: found.means(metric, split) for metric in metrics}
    sds = {metric: found.sds(metric, split) for metric in metrics}

    def cell(name: str, metric: Metric) -> str:
        mean, sd = means[metric][name], sds[metric][name]
        return "–" if math.isnan(mean) else with_error(mean, sd, 1 if metric == "size" else 3)

    rows = [[shown, *(cell(name, metric) for metric in metrics)] for name, shown in mark.items()]
    return _ruled(["model", *(label(metric) for metric in metrics)], rows)


def _differences(found: Comparison, mark: Mapping[str, str]) -> str:
    rows = []
    for name, gap in found.differences("aunbc").items():
        sign = "+" if round(gap.mean, 4) > 0 else ""
        ends = f"{format_number(gap.low, 4)} to {format_number(gap.high, 4)}"
        rows.append(
            [mark[name], f"{sign}{format_number(gap.mean, 4)}", ends, format_p_value(gap.p)]
        )
    return _ruled(["model", "difference", "95% interval", "p"], rows)


def _ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line below its head."""
    lines = format_table(head, rows)
    return "\n".join([lines[0], "─" * max(map(display_width, lines)), *lines[1:]])


#: What is measured on training and on held-out rows.
METRICS: tuple[Literal["auroc", "ece", "aunbc"], ...] = ("auroc", "ece", "aunbc")
Metric = Literal["auroc", "ece", "aunbc", "size"]
Split = Literal["test", "train"]

_HEADS = (
    *("model", "refitted", "split", "metric", "mean", "sd", "min", "max"),
    *("difference", "difference_se", "difference_low", "difference_high", "p"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Tabular):
    """How models did on the same folds.

    Made by :func:`compare`.  Arrays of measures have one row per fold (of all repeats) and one
    column per model.

    Attributes
    ----------
    models : tuple of str
        The first is the one that the others are compared with.
    not_refitted : tuple of str
        Cards, which were scored as they stand: nothing was learnt from the training rows.
    thresholds : Thresholds
    test, train : dict of str to (n_folds, n_models) float
        AUROC, ECE and AUNBC (``"auroc"``, ``"ece"``, ``"aunbc"``) on held-out and training rows.
    size : (n_folds, n_models) float
        Rules, non-zero coefficients or nodes; NaN for models that have no such number.
    seconds : (n_folds, n_models) float
    event : (n_rows,) bool
    weight : (n_rows,) float or None
    rows : (n_predictions,) int
        Which row each out-of-fold prediction is about; with repeats, rows come more than once.
    risks : dict of str to (n_predictions,) float
        Out-of-fold risks of each model.
    n_train, n_test : (n_folds,) int
    notes : tuple of str
        Warnings from the models, each once, after the names of the models.
    """

    models: tuple[str, ...]
    not_refitted: tuple[str, ...]
    thresholds: Thresholds
    test: dict[str, FloatArray]
    train: dict[str, FloatArray]
    size: FloatArray
    seconds: FloatArray
    event: NDArray[np.bool_]
    weight: FloatArray | None
    rows: IntArray
    risks: dict[str, FloatArray]
    n_train: IntArray
    n_test: IntArray
    notes: tuple[str, ...] = ()

    @property
    def treat_all(self) -> float:
        """AUNBC of acting on everyone."""
        everyone = np.ones(self.event.size)
        return aunbc(self.event, everyone, self.thresholds, sample_weight=self.weight)

    @property
    def n_folds(self) -> int:
        """Number of folds, of all repeats."""
        return len(self.n_test)

    def values(self, metric: Metric, split: Split = "test") -> FloatArray:
        """One measure: one row per fold, one column per model."""
        if metric == "size":
            return self.size
        if metric not in METRICS or split not in ("test", "train"):
            raise InputError(
                f"metric={metric!r}, split={split!r} is not known. Use one of "
                f"{', '.join(METRICS)}, size; and test or train."
            )
        return (self.test if split == "test" else self.train)[metric]

    def means(self, metric: Metric = "aunbc", split: Split = "test") -> dict[str, float]:
        """Mean of a measure over the folds, by model: what :func:`rank_models` takes."""
        return dict(zip(self.models, self.values(metric, split).mean(axis=0).tolist(), strict=True))

    def sds(self, metric: Metric = "aunbc", split: Split = "test") -> dict[str, float]:
        """Standard deviation of a measure over the folds, by model."""
        found = self.values(metric, split).std(axis=0, ddof=1)
        return dict(zip(self.models, found.tolist(), strict=True))

    def differences(self, metric: Metric = "aunbc") -> dict[str, Difference]:
        """Each model less the first one, on held-out rows: mean, error, interval, p-value.

        The standard error (Nadeau and Bengio 2003) allows for training rows that folds share.
        P-values are not adjusted for the number of models.
        """
        values = self.values(metric)
        share = float((self.n_test / self.n_train).mean())
        return {
            name: corrected_difference(values[:, place] - values[:, 0], share)
            for place, name in enumerate(self.models)
            if place > 0
        }

    def to_table(self) -> Table:
        """One row per model, split and measure; differences to the first model where held out."""
        parts: list[tuple[str, Metric]] = [(s, m) for s in ("test", "train") for m in METRICS]
        parts.append(("all", "size"))
        rows = []
        for split, metric in parts:
            values = self.values(metric, "train" if split == "train" else "test")
            gaps = self.differences(metric) if split == "test" else {}
            for name, own in zip(self.models, values.T, strict=True):
                spread = own.mean(), own.std(ddof=1), own.min(), own.max()
                gap = gaps.get(name, [math.nan] * len(Difference._fields))
                rows.append((name, name not in self.not_refitted, split, metric, *spread, *gap))
        columns = dict(zip(_HEADS, zip(*rows, strict=True), strict=True))
        kinds = dict.fromkeys(("model", "split", "metric"), object)
        return Table({head: np.array(columns[head], dtype=kinds.get(head)) for head in _HEADS})

    def decision_curve(self, thresholds: ThresholdsLike = None) -> Table:
        """Decision curves of the out-of-fold risks, at these thresholds or the comparison's own."""
        grid = self.thresholds if thresholds is None else as_thresholds(thresholds)
        weight = None if self.weight is None else self.weight[self.rows]
        return decision_curve(self.event[self.rows], self.risks, grid, sample_weight=weight)

    def bands(
        self,
        thresholds: ThresholdsLike = None,
        *,
        level: float = 0.95,
        n_resamples: int = 500,
        random_state: int = 0,
    ) -> Table:
        """Pointwise bands of the decision curves, by a bootstrap of rows.

        Models are not learnt anew: a band shows how much a curve depends on the held-out rows, not
        on the training rows.
        """
        grid = self.thresholds if thresholds is None else as_thresholds(thresholds)
        return curve_bands(
            self.event,
            self.rows,
            self.risks,
            grid,
            weight=self.weight,
            level=level,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the out-of-fold decision curves with bands, and differences in AUNBC.

        ``ax`` is where to draw the curves; by default a new figure, with the differences beside.
        """
        return self.display().plot(ax=ax)

    def display(self) -> ComparisonDisplay:
        """What :meth:`plot` draws; its ``save`` writes a file."""
        fine = ComparisonDisplay.fine_grid(self.thresholds)
        mark = {name: name + "*" * (name in self.not_refitted) for name in self.models}
        gaps = {
            mark[name]: (gap.mean, gap.low, gap.high)
            for name, gap in self.differences("aunbc").items()
        }
        curve, bands = self.decision_curve(fine), self.bands(fine)
        for table in (curve, bands):  # what was not learnt anew is marked, as it is in print
            models = [mark.get(name, name) for name in table["model"]]
            table["model"] = np.array(models, dtype=object)
        return ComparisonDisplay(curve, bands, self.thresholds, differences=gaps)

    @shown_on_stdout
    def __str__(self) -> str:
        return comparison_text(self)


def compare(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    thresholds: ThresholdsLike = None,
    folds: Any = 5,
    repeats: int = 1,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = 10.0,
    max_features: int | None = None,
    max_questions: int | None = None,
    teacher: Any = "auto",
    prior_strength: str | float = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> Comparison:
    """Compare models by cross-validation, all on the same folds.

    Everything that learns from the outcome or from other rows is inside the loop: binning, the
    teacher of a card, search, imputation, scaling, the choice of penalties, and Platt scaling.

    Parameters
    ----------
    models : sequence, or mapping of str to model
        A model is one of these.

        - A name: ``"scorecard"`` (:class:`RiskScoreClassifier` with ``binner="auto"``),
          ``"rss-dnb"``, ``"rss-dnb-sa"``, ``"logistic"``, ``"lasso"``, ``"tree"``, ``"forest"``,
          ``"xgboost"``.
        - A :class:`Scorecard`, or the name of its file.  It is scored as it stands.  Where these
          rows were used to learn it, its numbers flatter it.
        - Any scikit-learn classifier with ``predict_proba``.  It gets standardised numbers: missing
          ones are the median and have a column of their own, text has one column per level.  A
          Pipeline, and a classifier of this package, gets the rows as they are.
    X : data frame, mapping of columns, list of dicts, or array
        Raw rows: numbers, text, missing values.
    y : (n_rows,) array
        Two labels; the event is 1, True or "yes", or the ``pos_label`` of a model.
    thresholds : Thresholds, str or sequence of float, optional
        At which all models are measured, and scorecards are learnt.  By default those of the first
        card among the models, else 0, 0.1, …, 0.9.
    folds : int, splitter or iterable, default=5
    repeats, sample_weight, random_state, n_jobs, journal, verbose
        As in :func:`cross_validate`.
    time_limit : float, default=10.0
        Seconds for each search of a model that is called by name.
    max_features : int, optional
        Largest number of rules of scorecards that are called by name.
    max_questions : int, optional
        Largest number of questions of ``"scorecard"``; by default as in
        :class:`RiskScoreClassifier`.
    teacher, prior_strength
        Of ``"scorecard"``, as in :class:`RiskScoreClassifier`.  A column of given risks is not a
        feature of the other models.

    Returns
    -------
    Comparison
        Prints as tables; has ``to_table()``, ``differences()``, ``decision_curve()``, ``plot()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = {"age": rng.integers(20, 90, 400), "sex": rng.choice(["f", "m"], 400)}
    >>> y = rng.random(400) < 0.1 + 0.5 * (X["age"] > 60)
    >>> found = compare(["logistic", "tree"], X, y, folds=4)
    >>> found.means("auroc")["logistic"] > 0.7, found.size.shape
    (True, (4, 2))
    """
    sample = Sample.of(X, y, sample_weight, *_listed(models))
    event, weight = sample.event, sample.weight
    sample = sample._replace(labels=event.astype(np.int64))
    random_state = check_seed(random_state)
    single = not one_by_one(n_jobs)
    options = partial(
        ModelOptions,
        time_limit=time_limit,
        max_features=max_features,
        max_questions=max_questions,
        seed=random_state,
        threads=1 if single else count_threads(-1),
        teacher=teacher,
        prior_strength=prior_strength,
    )
    candidates, grid = read_models(models, options, thresholds)
    if weight is not None:
        check_weighted(candidates)
    columns = read_plain(X)
    repeats = check_repeats(folds, repeats)
    folds = make_folds(folds, sample, random_state, repeats=repeats)
    works = {
        name: Work(
            model,
            sample._replace(X=_columns_for(model, candidates.values(), X, columns)),
            grid,
            single=single,
        )
        for name, model in candidates.items()
    }
    tasks = {
        f"fold {number}, {name}": (
            name,
            Task(train, {"train": train, "test": test}, random_state, keep="test"),
        )
        for number, (train, test) in enumerate(folds, start=1)
        for name in candidates
    }
    identity = {
        "models": list(candidates.items()),
        "thresholds": grid,
        "seed": random_state,
        "folds": folds,
        "X": X,
        "event": event,
        "weight": weight,
    }
    with Runner(
        partial(_run, works),
        "comparison",
        identity,
        total=len(tasks),
        journal=journal,
        n_jobs=n_jobs,
        verbose=verbose,
        warn=False,
    ) as runner:
        results = list(runner.run(tasks).values())
    return _gathered(candidates, sample, grid, folds, results)


def _listed(models: Any) -> list[Any]:
    if isinstance(models, Mapping):
        return list(models.values())
    return list(models) if isinstance(models, list | tuple) else [models]


def _columns_for(
    model: Any, models: Iterable[Any], X: Any, columns: Mapping[str, NDArray[Any]]
) -> Any:
    """Columns as a model takes them, without risks that teach other models; cards read by name."""
    hidden: list[Any] = []
    if not isinstance(model, FixedCard) and not isinstance(X, np.ndarray):
        taught = dict.fromkeys(map(teacher_column, models))
        hidden = [column for column in taught if column not in (None, teacher_column(model))]
    if isinstance(model, PreparedClassifier):
        return {name: column for name, column in columns.items() if name not in hidden}
    for column in hidden:
        X = pop_column(X, column, "teacher")[1]
    return X


def _run(works: Mapping[str, Work], task: tuple[str, Task]) -> dict[str, Any]:
    """One model on one fold."""
    name, fold = task
    return works[name](fold)


def _gathered(
    candidates: Mapping[str, Any],
    sample: Sample,
    grid: Thresholds,
    folds: Sequence[Fold],
    results: Sequence[dict[str, Any]],
) -> Comparison:
    """Put results together, which are in the order of folds, then of models."""
    names, many = tuple(candidates), len(candidates)

    def table(read: Callable[[dict[str, Any]], float]) -> FloatArray:
        return np.array([read(result) for result in results], dtype=float).reshape(-1, many)

    def measures(split: str) -> dict[str, FloatArray]:
        return {m: table(lambda one, m=m: one["measures"][split][m]) for m in METRICS}  # type: ignore[misc]

    notes: dict[str, dict[str, None]] = {}
    for name, result in zip(cycle(names), results, strict=False):
        for _, parts, about_data in result["warnings"]:
            if about_data:
                notes.setdefault(str(InputWarning(*read_parts(parts))), {})[name] = None
    return Comparison(
        models=names,
        not_refitted=tuple(n for n in names if isinstance(candidates[n], FixedCard)),
        thresholds=grid,
        test=measures("test"),
        train=measures("train"),
        size=table(lambda result: result["size"]),
        seconds=table(lambda result: result["seconds"]),
        event=sample.event,
        weight=sample.weight,
        rows=np.concatenate([test for _, test in folds]).astype(np.int64),
        risks={
            name: np.concatenate([result["risk"] for result in results[place::many]])
            for place, name in enumerate(names)
        },
        n_train=np.array([train.size for train, _ in folds], dtype=np.int64),
        n_test=np.array([test.size for _, test in folds], dtype=np.int64),
        notes=tuple(f"{', '.join(of)}: {note}" for note, of in notes.items()),
    )

"""Models side by side on the same folds: discrimination, calibration, net benefit, size."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.model_selection import RepeatedStratifiedKFold

from netbenefit.cards.text import strip_control
from netbenefit.common.checks import FloatArray, InputError, IntArray, check_seed, check_weights
from netbenefit.common.journal import run_tasks
from netbenefit.common.parallel import one_by_one
from netbenefit.common.table import (
    Table,
    display_width,
    format_number,
    format_p_value,
    format_table,
)
from netbenefit.data.labels import encode_labels
from netbenefit.estimators.learn import count_threads
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.bands import curve_bands
from netbenefit.metrics.decision_curve import decision_curve
from netbenefit.metrics.thresholds import Thresholds, ThresholdsLike, as_thresholds
from netbenefit.plots import ComparisonDisplay
from netbenefit.validation.comparison_folds import METRICS, Runner, fingerprint
from netbenefit.validation.models import NAMES, Settings, read_models
from netbenefit.validation.prepare import read_plain
from netbenefit.validation.ranks import RankTest, critical_difference, rank_models
from netbenefit.validation.sizes import choose_folds

__all__ = [
    "METRICS",
    "NAMES",
    "Comparison",
    "Difference",
    "RankTest",
    "compare",
    "comparison_text",
    "corrected_difference",
    "critical_difference",
    "rank_models",
]


# -- differences between models over the same folds, with an error that knows folds overlap --------


class Difference(NamedTuple):
    """A mean difference over folds, its corrected standard error, 95% interval and p-value."""

    mean: float
    se: float
    low: float
    high: float
    p: float


def corrected_difference(
    differences: FloatArray, test_share: float, *, level: float = 0.95
) -> Difference:
    """Mean of differences over folds, by the corrected resampled t test (Nadeau and Bengio 2003).

    Training rows of different folds overlap, so that the usual s / √J is too small.  The corrected
    standard error is s √(1/J + n_test/n_train), with J − 1 degrees of freedom.

    Parameters
    ----------
    differences : (J,) float
        One difference a fold, of all repeats.
    test_share : float
        Held-out rows / training rows of a fold.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    Difference
        P is missing (NaN) where all folds show the same difference, other than 0.

    Examples
    --------
    >>> found = corrected_difference(np.array([0.01, 0.03, 0.02, 0.02, 0.02]), 0.25)
    >>> round(found.mean, 3), round(found.se, 5), round(found.p, 3)
    (0.02, 0.00474, 0.014)
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.size < 2:
        raise InputError(f"{d.size} fold: a standard error needs at least 2.")
    mean, spread = float(d.mean()), float(d.std(ddof=1))
    se = spread * float(np.sqrt(1 / d.size + test_share))
    reach = float(stats.t.ppf((1 + level) / 2, d.size - 1)) * se
    if se > 0:
        p = float(2 * stats.t.sf(abs(mean) / se, d.size - 1))
    else:
        p = 1.0 if mean == 0 else float("nan")
    return Difference(mean, se, mean - reach, mean + reach, p)


# -- a comparison as plain text: measures, and differences to the first model ----------------------


_METRIC_HEADS = {"auroc": "AUROC", "ece": "ECE", "aunbc": "AUNBC", "size": "size"}


class _Compared(Protocol):
    """What is printed of a :class:`netbenefit.validation.comparison.Comparison`."""

    @property
    def models(self) -> tuple[str, ...]: ...

    @property
    def not_refitted(self) -> tuple[str, ...]: ...

    @property
    def n_folds(self) -> int: ...

    @property
    def treat_all(self) -> float: ...

    @property
    def size(self) -> FloatArray: ...

    def means(self, metric: Any, split: Any = "test") -> dict[str, float]: ...

    def sds(self, metric: Any, split: Any = "test") -> dict[str, float]: ...

    def differences(self, metric: Any) -> dict[str, Difference]: ...


def comparison_text(found: _Compared) -> str:
    """Write three tables: held-out rows, training rows, differences."""
    mark = {name: strip_control(name) + "*" * (name in found.not_refitted) for name in found.models}
    parts = [
        f"Held-out rows: mean ± sd over {found.n_folds} folds",
        _measures(found, mark, "test"),
        f"AUNBC of acting on everybody: {found.treat_all:.3f}, on nobody: 0".replace("-", "−"),
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


def _measures(found: _Compared, mark: Mapping[str, str], split: str) -> str:
    metrics = ["auroc", "ece", "aunbc", *(["size"] if split == "test" else [])]
    means = {metric: found.means(metric, split) for metric in metrics}
    sds = {metric: found.sds(metric, split) for metric in metrics}
    rows = [["model", *(_METRIC_HEADS[metric] for metric in metrics)]]
    for name, shown in mark.items():
        cells = [_spread(means[m][name], sds[m][name], 1 if m == "size" else 3) for m in metrics]
        rows.append([shown, *cells])
    return _ruled(rows[0], rows[1:])


def _differences(found: _Compared, mark: Mapping[str, str]) -> str:
    rows = [["model", "difference", "95% interval", "p"]]
    for name, gap in found.differences("aunbc").items():
        sign = "+" if round(gap.mean, 4) > 0 else ""
        ends = f"{format_number(gap.low, 4)} to {format_number(gap.high, 4)}"
        rows.append(
            [mark[name], f"{sign}{format_number(gap.mean, 4)}", ends, format_p_value(gap.p)]
        )
    return _ruled(rows[0], rows[1:])


def _spread(mean: float, sd: float, decimals: int) -> str:
    return (
        "–"
        if math.isnan(mean)
        else f"{format_number(mean, decimals)} ± {format_number(sd, decimals)}"
    )


def _ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line below its head.

    >>> _ruled(["model", "size"], [["tree", "12"]]).splitlines()
    ['model  size', '───────────', 'tree     12']
    """
    lines = format_table(head, rows)
    return "\n".join([lines[0], "─" * max(map(display_width, lines)), *lines[1:]])


# --------------------------------------------------------------------------------------------------


Metric = Literal["auroc", "ece", "aunbc", "size"]
Split = Literal["test", "train"]

#: How the parts of a difference are called in a table.
_HEADS = {
    "mean": "difference",
    "se": "difference_se",
    "low": "difference_low",
    "high": "difference_high",
    "p": "p",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """How models did on the same folds.

    Made by :func:`compare`.  Arrays of measures have one row a fold (of all repeats), one column a
    model.

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
        """AUNBC of acting on everybody."""
        everybody = np.ones(self.event.size)
        return metrics.aunbc(self.event, everybody, self.thresholds, sample_weight=self.weight)

    @property
    def n_folds(self) -> int:
        """Number of folds, of all repeats."""
        return len(self.n_test)

    def values(self, metric: Metric, split: Split = "test") -> FloatArray:
        """One measure: a row a fold, a column a model."""
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
        found = self.values(metric, split).mean(axis=0)
        return dict(zip(self.models, found.tolist(), strict=True))

    def sds(self, metric: Metric = "aunbc", split: Split = "test") -> dict[str, float]:
        """Standard deviation of a measure over the folds, by model."""
        found = self.values(metric, split).std(axis=0, ddof=1)
        return dict(zip(self.models, found.tolist(), strict=True))

    def differences(self, metric: Metric = "aunbc") -> dict[str, Difference]:
        """Each model less the first one, on held-out rows: mean, error, interval, p-value.

        The standard error is that of Nadeau and Bengio (2003), which knows that folds share
        training rows.  No p-value here is adjusted for the number of models.
        """
        values = self.values(metric)
        share = float(self.n_test.mean() / self.n_train.mean())
        return {
            name: corrected_difference(values[:, place] - values[:, 0], share)
            for place, name in enumerate(self.models)
            if place > 0
        }

    def to_table(self) -> Table:
        """One row a model, split and measure; differences to the first model where held out."""
        wanted: list[tuple[str, Metric]] = [(s, m) for s in ("test", "train") for m in METRICS]
        lines = [
            line
            for split, metric in [*wanted, ("all", "size")]
            for line in self._lines(split, metric)
        ]
        kinds = dict.fromkeys(("model", "split", "metric"), object)
        return Table(
            {
                name: np.array([line[name] for line in lines], dtype=kinds.get(name))
                for name in lines[0]
            }
        )

    def _lines(self, split: str, metric: Metric) -> list[dict[str, Any]]:
        """Rows of the table: one measure of every model."""
        values = self.values(metric, "train" if split == "train" else "test")
        gaps = self.differences(metric) if split == "test" else {}
        none = Difference(*[float("nan")] * 5)
        return [
            {
                "model": name,
                "refitted": name not in self.not_refitted,
                "split": split,
                "metric": metric,
                "mean": values[:, place].mean(),
                "sd": values[:, place].std(ddof=1),
                "min": values[:, place].min(),
                "max": values[:, place].max(),
                **{_HEADS[key]: x for key, x in gaps.get(name, none)._asdict().items()},
            }
            for place, name in enumerate(self.models)
        ]

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

        Models are not learnt anew: a band tells how far a curve depends on which rows were held
        out, not how far other training rows would have made another model.
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

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw the curves; by default a new figure, with the differences beside them.

        Returns
        -------
        ComparisonDisplay
        """
        return self.display().plot(ax=ax)

    def display(self) -> ComparisonDisplay:
        """Return what :meth:`plot` draws, without drawing it; its ``save`` writes a file."""
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

    def __str__(self) -> str:
        return comparison_text(self)


def compare(
    models: Any,
    X: Any,
    y: ArrayLike,
    *,
    thresholds: ThresholdsLike = None,
    cv: Any = 5,
    repeats: int = 1,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = 10.0,
    max_features: int | None = None,
    teacher: Any = "auto",
    prior_strength: str | float = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
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
        - Any scikit-learn classifier with ``predict_proba``.  It gets columns of numbers: medians
          and a column that says so for missing ones, a column a level for text, all standardised.
          A Pipeline, and a classifier of this package, gets the rows as they are.
    X : data frame, mapping of columns, list of dicts, or array
        Raw rows: numbers, text, missing values.
    y : (n_rows,) array
        Two labels; the one that sorts last is the event.
    thresholds : Thresholds, str or sequence of float, optional
        At which all models are measured, and scorecards are learnt.  By default those of the first
        card among the models, else 0, 0.1, …, 0.9.
    cv : int or splitter, default=5
        Folds, each class spread alike over them.
    repeats : int, default=1
        How often to draw folds anew, where ``cv`` is a number.
    sample_weight : (n_rows,) array, optional
        Used in learning and in measuring.
    time_limit : float, default=10.0
        Seconds for each search of a model that is called by name.
    max_features : int, optional
        Largest number of rules of scorecards that are called by name.
    teacher, prior_strength
        Of ``"scorecard"``, as of :class:`RiskScoreClassifier`.  A column of given risks is no
        feature of the other models either.
    random_state : int, default=0
    n_jobs : int, optional
        Folds and models at a time, by joblib.
    journal : path, optional
        File that keeps finished folds, so that a run that was ended goes on from there.
    progress : callable, optional
        Called with the numbers of finished and of all fits.

    Returns
    -------
    Comparison
        Prints as tables; has ``to_table()``, ``differences()``, ``decision_curve()``, ``plot()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = {"age": rng.integers(20, 90, 400), "sex": rng.choice(["f", "m"], 400)}
    >>> y = rng.random(400) < 0.1 + 0.5 * (X["age"] > 60)
    >>> found = compare(["logistic", "tree"], X, y, cv=4)
    >>> found.means("auroc")["logistic"] > 0.7, found.size.shape
    (True, (4, 2))
    >>> gap = found.differences("aunbc")["tree"]
    >>> gap.low < gap.mean < gap.high
    True
    """
    event, _ = encode_labels(y)
    weight = None if sample_weight is None else check_weights(sample_weight, event.size)
    random_state = check_seed(random_state)
    single = not one_by_one(n_jobs)
    threads = 1 if single else count_threads(-1)

    def settings(grid: Thresholds) -> Settings:
        return Settings(
            grid, time_limit, max_features, random_state, threads, teacher, prior_strength
        )

    contestants, grid = read_models(models, settings, thresholds)
    columns = read_plain(X)
    lengths = {len(column) for column in columns.values()}
    if lengths != {event.size}:
        raise InputError(f"X has {lengths.pop()} rows, but y has {event.size}.")
    runner = Runner(
        X,
        columns,
        event,
        weight,
        _folds(cv, repeats, event, random_state),
        contestants,
        grid,
        random_state,
        single=single,
    )
    tasks = {
        f"fold {number + 1}, {name}": (number, name)
        for number in range(len(runner.folds))
        for name in contestants
    }
    results = run_tasks(
        runner,
        tasks,
        journal=journal,
        fingerprint="" if journal is None else fingerprint(runner),
        n_jobs=n_jobs,
        progress=progress,
    )
    return _gathered(runner, {tasks[key]: result for key, result in results.items()})


def _folds(cv: Any, repeats: int, event: NDArray[np.bool_], seed: int) -> list[Any]:
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise InputError(f"repeats={repeats!r} must be a whole number of at least 1.")
    if repeats == 1:
        return choose_folds(cv, event, seed)
    if not isinstance(cv, int):
        raise InputError("repeats go with a number of folds; a splitter repeats by itself.")
    choose_folds(cv, event, seed)  # says what is wrong with the number
    drawn = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=seed)
    return choose_folds(drawn, event, seed)


def _gathered(runner: Runner, results: Mapping[tuple[int, str], dict[str, Any]]) -> Comparison:
    names, numbers = tuple(runner.models), range(len(runner.folds))

    def table(read: Callable[[dict[str, Any]], float]) -> FloatArray:
        return np.array([[read(results[i, name]) for name in names] for i in numbers], dtype=float)

    def measures(split: str) -> dict[str, FloatArray]:
        return {m: table(lambda result, m=m: result[split][m]) for m in METRICS}  # type: ignore[misc]

    told: dict[str, dict[str, None]] = {}
    for (_, name), result in results.items():
        for note in result["notes"]:
            told.setdefault(note, {})[name] = None
    return Comparison(
        models=names,
        not_refitted=tuple(name for name in names if not runner.models[name].refitted),
        thresholds=runner.thresholds,
        test=measures("test"),
        train=measures("train"),
        size=table(lambda result: result["size"]),
        seconds=table(lambda result: result["seconds"]),
        event=runner.event,
        weight=runner.weight,
        rows=np.concatenate([test for _, test in runner.folds]).astype(np.int64),
        risks={name: np.concatenate([results[i, name]["risk"] for i in numbers]) for name in names},
        n_train=np.array([train.size for train, _ in runner.folds], dtype=np.int64),
        n_test=np.array([test.size for _, test in runner.folds], dtype=np.int64),
        notes=tuple(f"{', '.join(of)}: {note}" for note, of in told.items()),
    )

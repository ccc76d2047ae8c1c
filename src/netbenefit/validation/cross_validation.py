"""Internal validation: what a model would be worth on rows that it has not seen.

Whatever looks at outcomes (cut points, columns, penalty, search) is done again in every fold.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    Tabular,
    check_level,
    check_seed,
    format_number,
    format_table,
    shown_on_stdout,
)
from netbenefit.metrics import ThresholdsLike, check_thresholds_at
from netbenefit.validation.choice import SettingChoice, Settings, folds_in_journal, make_search
from netbenefit.validation.errors import corrected_error
from netbenefit.validation.folds import (
    Fold,
    check_repeats,
    is_count,
    make_folds,
    random_of,
    seed_of,
)
from netbenefit.validation.runner import Runner, Task, Work, make_work, measures_by_name
from netbenefit.validation.stability import CardStability, label, stability_of


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Tabular):
    """Measures of models on the folds that they have not seen.

    Arrays are over all folds, repeat by repeat.

    Attributes
    ----------
    held_out, training : dict of str to (K,) float
        Measures of each fold's model on its held-out rows and on its training rows; ``size`` is
        among the first.
    n_training, n_held_out : (K,) int
        Numbers of rows.
    predictions : (repeats, n_rows) float
        Predicted risk of each row by the model that had not seen it; NaN for a row that no fold
        holds out.  (Where a fold holds out a row twice, the later prediction.)
    rules : tuple
        What each fold's model consists of; see :meth:`stability`.
    choices : tuple of SettingChoice
        How each fold's setting was chosen, in a nested cross-validation.
    """

    held_out: dict[str, FloatArray]
    training: dict[str, FloatArray]
    n_training: FloatArray
    n_held_out: FloatArray
    predictions: FloatArray
    rules: tuple[Any, ...]
    choices: tuple[SettingChoice, ...] = ()

    @property
    def n_models(self) -> int:
        """Number of models: folds times repeats."""
        return int(self.n_training.size)

    @cached_property
    def mean(self) -> dict[str, float]:
        """Mean of each measure over the folds."""
        return {m: float(values.mean()) for m, values in self.held_out.items()}

    @cached_property
    def sd(self) -> dict[str, float]:
        """Standard deviation over the folds."""
        return {m: float(values.std(ddof=1)) for m, values in self.held_out.items()}

    @cached_property
    def se(self) -> dict[str, float]:
        """Sd / √folds, which is too small: folds share training rows (and repeats all rows)."""
        return {m: float(sd / np.sqrt(self.n_models)) for m, sd in self.sd.items()}

    @cached_property
    def se_corrected(self) -> dict[str, float]:
        """Sd · √(1/folds + held-out rows / training rows), after Nadeau and Bengio.

        A rule of thumb, and larger: no estimate of this error from the folds alone is unbiased.
        """
        ratio = float((self.n_held_out / self.n_training).mean())
        return {m: float(corrected_error(values, ratio)) for m, values in self.held_out.items()}

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Mean ± t · corrected standard error, t with folds - 1 degrees of freedom.

        ``measure`` is one of the names in ``held_out``.
        """
        from scipy.stats import t  # late: takes its time to import

        if measure not in self.held_out:
            raise InputError(f"no measure {measure!r}. There are {', '.join(self.held_out)}.")
        check_level(level)
        half = float(t.ppf((1.0 + level) / 2.0, self.n_models - 1)) * self.se_corrected[measure]
        return self.mean[measure] - half, self.mean[measure] + half

    def to_table(self, level: float = 0.95) -> Table:
        """One row per measure: mean, sd, both standard errors, interval, and mean in training."""
        names = list(self.held_out)
        ends = np.array([self.interval(name, level) for name in names])
        columns: dict[str, Any] = {"measure": np.array(names, dtype=object)}
        for key in ("mean", "sd", "se", "se_corrected"):
            columns[key] = [getattr(self, key)[m] for m in names]
        columns |= {"low": ends[:, 0], "high": ends[:, 1]}
        columns["training"] = [self._in_training(m) for m in names]
        return Table(columns)

    def _in_training(self, measure: str) -> float:
        return float(self.training[measure].mean()) if measure in self.training else float("nan")

    def stability(self) -> CardStability:
        """Which rules and columns come back in the cards of all folds."""
        return stability_of(self.rules)

    @property
    def settings(self) -> tuple[dict[str, Any], ...]:
        """The setting that each fold chose, in a nested cross-validation."""
        return tuple(choice.setting for choice in self.choices)

    @shown_on_stdout
    def __str__(self) -> str:
        head = ("", "held-out rows", "sd", "se", "corrected se", "training rows")
        rows = []
        for m in self.held_out:
            values = (self.mean[m], self.sd[m], self.se[m], self.se_corrected[m])
            numbers = [format_number(value) for value in (*values, self._in_training(m))]
            rows.append((label(m), *numbers))
        kind = "Nested cross-validation" if self.choices else "Cross-validation"
        repeats = len(self.predictions)
        times = f" in {repeats} repeats" if repeats > 1 else ""
        chosen = [f"\nchosen: {text}" for text in _counted(self.settings)]
        return (
            f"{kind}, {self.n_models} folds{times}\n\n"
            + "\n".join(format_table(head, rows))
            + "\n\nse is sd / √folds and too small, as folds share training rows; the corrected "
            "one (Nadeau and Bengio) is a rule of thumb." + "".join(chosen)
        )


def _counted(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    texts = [", ".join(f"{name}={value!r}" for name, value in one.items()) for one in settings]
    counts = Counter(texts).most_common()
    return [f"{text} ({count} of {len(texts)} folds)" for text, count in counts]


def cross_validate(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    folds: Any = 10,
    repeats: int = 1,
    thresholds: ThresholdsLike = None,
    net_benefit_at: Sequence[float] | float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    journal: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Measure a classifier on folds that it has not seen.

    The estimator is fitted anew for every fold, on the other rows alone: pass raw columns and an
    estimator that does everything (a card with a binner, a pipeline), so that cut points and
    choices of columns are learnt inside the folds, too.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn with ``predict_proba``; left as it is.
    X, y, sample_weight
        As for its ``fit``; y has two labels; the event is the estimator's
        ``pos_label``, else 1, True or "yes".  Weights serve
        to fit and to measure.  (In a pipeline only the last step gets them.)
    folds : int, splitter or iterable, default=10
        Number of stratified folds, or a splitter of scikit-learn, or pairs of row numbers (for
        rows that belong together, such as visits of one patient).
    repeats : int, default=1
        How many times folds are drawn.  More can be added later with the same journal.
    thresholds : Thresholds, str or sequence, optional
        By default the estimator's own, or 0, 0.1, …, 0.9.
    net_benefit_at : sequence of float, optional
        More thresholds at which net benefit is measured.
    n_jobs : int, optional
        Folds at a time, by joblib; its backend is that of ``joblib.parallel_config``.  With more
        than one, each model has one thread.
    random_state : int, default=0
        Seed of the folds, and of models that have none: the same seed gives the same numbers,
        whatever ``n_jobs`` is (as long as a model does not stop by the clock).
    journal : path, optional
        File that keeps each finished fold; a later call with the same data and settings goes on
        from there.  A journal of other data or settings is refused.
    verbose : int, default=0
        1 shows a bar with the time left on a terminal.

    Returns
    -------
    CrossValidation
        Print it; ``mean``, ``sd``, ``se_corrected`` and ``interval`` are by measure:
        ``aunbc``, ``net_benefit`` (by the thresholds' weights), ``auroc``, ``ece``,
        ``net_benefit_at_…`` and ``size``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = rng.random(200) < 1 / (1 + np.exp(1 - X[:, 0]))
    >>> found = cross_validate(LogisticRegression(), X, y, folds=5)
    >>> round(found.mean["auroc"], 2), round(found.sd["auroc"], 2)
    (0.7, 0.05)
    """
    repeats = check_repeats(folds, repeats)
    work = make_work(estimator, X, y, sample_weight, thresholds, net_benefit_at, n_jobs)
    seed = check_seed(random_state)
    all_folds = _draw(work, folds, repeats, seed)
    tasks = {_name(r, f): _task(fold, seed_of(seed, 1, r, f)) for r, f, fold in all_folds}
    with Runner(
        work,
        "cross-validation",
        work.identity(folds=folds_in_journal(folds), seed=seed),
        total=len(tasks),
        given=not is_count(folds),
        journal=journal,
        n_jobs=n_jobs,
        verbose=verbose,
    ) as runner:
        found = runner.run(tasks)
    return _gather(work, all_folds, repeats, list(found.values()))


def nested_cross_validate(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    settings: Settings = None,
    folds: Any = 5,
    repeats: int = 1,
    inner_folds: Any = 5,
    inner_repeats: int = 1,
    measure: str | float = "net_benefit",
    rule: str = "one_se",
    thresholds: ThresholdsLike = None,
    net_benefit_at: Sequence[float] | float | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    journal: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> CrossValidation:
    """Measure a classifier whose setting is chosen anew inside every fold.

    1. For each fold, every setting is fitted on parts of the training rows and measured on the
       others of them (``inner_folds``), and one is chosen as in :func:`choose_setting`.
    2. A model with the chosen setting is fitted on all training rows of the fold, and measured on
       its held-out rows, which took no part in the choice.

    Parameters
    ----------
    estimator, X, y, folds, repeats, thresholds, net_benefit_at, sample_weight, n_jobs, \
random_state, verbose
        As in :func:`cross_validate`.
    settings, measure, rule
        As in :func:`choose_setting`.
    inner_folds : int or splitter, default=5
    inner_repeats : int, default=1
        As ``folds`` and ``repeats``, for the choice.
    journal : path, optional
        As in :func:`cross_validate`; it keeps every single model of the inner folds, too.

    Returns
    -------
    CrossValidation
        Its ``choices`` say how each fold chose.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (400, 4))
    >>> y = rng.random(400) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 1]
    >>> tree = DecisionTreeClassifier(min_samples_leaf=10)
    >>> nested = nested_cross_validate(tree, X, y, settings={"max_depth": [1, 2, 3]}, folds=3)
    >>> nested.settings
    ({'max_depth': 2}, {'max_depth': 2}, {'max_depth': 2})
    """
    repeats = check_repeats(folds, repeats)
    if not is_count(inner_folds) and not hasattr(inner_folds, "split"):
        raise InputError("inner_folds must be a number or a splitter: rows differ by outer fold.")
    search, at = make_search(estimator, settings, inner_folds, inner_repeats, measure, rule)
    at = (*check_thresholds_at(net_benefit_at), *at)
    work = make_work(estimator, X, y, sample_weight, thresholds, at, n_jobs)
    seed = check_seed(random_state)
    all_folds = _draw(work, folds, repeats, seed)
    inner = {
        _name(r, f): search.tasks(work.sample, fold[0], seed, 2, r, f) for r, f, fold in all_folds
    }
    first = {
        f"{name}, inner {own}": task for name, tasks in inner.items() for own, task in tasks.items()
    }
    counts = folds_in_journal(folds), folds_in_journal(inner_folds), search.repeats
    choice = search.settings, search.measure, search.rule
    with Runner(
        work,
        "nested cross-validation",
        work.identity(folds=counts, seed=seed, choice=choice),
        total=len(first) + len(all_folds),
        given=not (is_count(folds) and is_count(inner_folds)),
        journal=journal,
        n_jobs=n_jobs,
        verbose=verbose,
    ) as runner:
        tried = runner.run(first)
        choices = {
            name: search.choose(tasks, [tried[f"{name}, inner {own}"] for own in tasks])
            for name, tasks in inner.items()
        }
        second = {
            _name(r, f): _task(fold, seed_of(seed, 1, r, f), choices[_name(r, f)].setting)
            for r, f, fold in all_folds
        }
        found = runner.run(second)
    return _gather(work, all_folds, repeats, list(found.values()), tuple(choices.values()))


def _draw(work: Work, folds: Any, repeats: int, seed: int) -> list[tuple[int, int, Fold]]:
    """All folds of all repeats, with their numbers."""
    return [
        (repeat, number, fold)
        for repeat in range(repeats)
        for number, fold in enumerate(make_folds(folds, work.sample, random_of(seed, 0, repeat)))
    ]


def _name(repeat: int, fold: int) -> str:
    return f"repeat {repeat + 1} fold {fold + 1}"


def _task(fold: Fold, seed: int, setting: Mapping[str, Any] | None = None) -> Task:
    train, test = fold
    return Task(train, {"train": train, "test": test}, seed, setting or {}, keep="test")


def _gather(
    work: Work,
    all_folds: Sequence[tuple[int, int, Fold]],
    repeats: int,
    results: Sequence[Mapping[str, Any]],
    choices: tuple[SettingChoice, ...] = (),
) -> CrossValidation:
    predictions = np.full((repeats, work.sample.event.size), np.nan)
    for (repeat, _, (_, test)), result in zip(all_folds, results, strict=True):
        predictions[repeat, test] = result["risk"]
    held_out = measures_by_name(results, "test")
    sizes = np.array([one["size"] for one in results], dtype=np.float64)
    if not np.isnan(sizes).any():
        held_out["size"] = sizes
    return CrossValidation(
        held_out=held_out,
        training=measures_by_name(results, "train"),
        n_training=np.array([train.size for _, _, (train, _) in all_folds], dtype=np.float64),
        n_held_out=np.array([test.size for _, _, (_, test) in all_folds], dtype=np.float64),
        predictions=predictions,
        rules=tuple(one["rules"] for one in results),
        choices=choices,
    )

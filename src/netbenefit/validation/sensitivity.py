"""How card, net benefit and decisions depend on the thresholds; thresholds from the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import Scorecard, numeric_column
from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    Tabular,
    check_count,
    check_weights,
    format_number,
    format_percent,
    format_table,
    shown_on_stdout,
)
from netbenefit.data import RawTable
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.metrics import Thresholds, ThresholdsLike, Weights, as_thresholds
from netbenefit.plots import SensitivityDisplay
from netbenefit.validation.errors import (
    ComparesFolds,
    FoldMeans,
    fold_means,
    fold_ratio,
    with_error,
)
from netbenefit.validation.folds import Fold, Sample, copy_with, make_folds, take_rows
from netbenefit.validation.prepare import PreparedClassifier, read_plain
from netbenefit.validation.runner import Runner, Task, make_work


def suggest_thresholds(
    X: Any,
    y: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    size: int = 10,
    weights: Weights = "equal",
    model: Any = None,
    folds: Any = 5,
    sample_weight: ArrayLike | None = None,
    decimals: int = 2,
    random_state: int | None = 0,
) -> Thresholds:
    """Propose thresholds where the risks of these rows lie, inside the range that matters.

    1. A preliminary model predicts each row's risk from folds that do not hold it.
    2. Of the risks inside [low, high), take the middles of ``size`` − 1 equal parts, rounded.
    3. Put ``low`` in front; the area ends at ``high``.

    Do not expect better cards than from a uniform grid: on six data sets they were no better, and
    some were worse (``docs/evaluation.md``).  Compare, by :func:`threshold_sensitivity`, on rows
    that were not used to choose the grid.

    Parameters
    ----------
    X : data frame, mapping of columns, or array
        Raw rows: numbers, text, missing values; numbers alone for a ``model`` of your own.
    y : (n_rows,) array
        Two labels; the event is 1, True or "yes", else the one that sorts last.
    low, high : float, default=0.0 and 1.0
        Lowest and highest risk at which anyone would act.
    size : int, default=10
        Most thresholds; fewer where rounding makes some equal.
    weights : {"equal", "length"}, sequence of float or callable, default="equal"
        As in :meth:`Thresholds.of`.
    model : classifier, optional
        Preliminary model with ``fit(X, y, sample_weight)`` and ``predict_proba``; by default
        logistic regression of standardised columns, as in :func:`compare`.
    folds : int, splitter or iterable, default=5
        Folds of the preliminary risks.
    sample_weight : (n_rows,) array, optional
    decimals : int, default=2
        Decimals that thresholds are rounded to.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    Thresholds

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(3 - X[:, 0]))
    >>> suggest_thresholds(X, y, low=0.02, high=0.5, size=6).values
    (0.0, 0.02, 0.03, 0.04, 0.06, 0.09, 0.16)
    """
    if not 0.0 <= low < high <= 1.0:
        raise InputError(f"low={low!r} and high={high!r} must satisfy 0 <= low < high <= 1.")
    check_count(size, "size", 2)
    sample = Sample.of(X, y, sample_weight)
    weight = check_weights(sample.weight, sample.event.size)
    folds = make_folds(folds, sample, random_state, both=False)
    risk = _cross_fitted(sample, weight, model, folds)
    inside = (risk >= low) & (risk < high) & (weight > 0)
    if not inside.any():
        raise InputError(
            f"no predicted risk lies between {low:g} and {high:g}. Widen the range, or choose the "
            "thresholds by hand."
        )
    steps = (np.arange(1, size) - 0.5) / (size - 1)
    found = _quantiles(risk[inside], weight[inside], steps)
    rounded = {round(q, decimals) for q in found.tolist()}
    chosen = sorted({low, *(q for q in rounded if low < q < high)})
    if chosen == [0.0]:
        raise InputError(
            f"all risks round to 0 with decimals={decimals}. Allow more decimals, or choose the "
            "thresholds by hand."
        )
    return Thresholds.of(chosen, weights, end=high)


def _quantiles(values: FloatArray, weight: FloatArray, steps: FloatArray) -> FloatArray:
    """Smallest value with at least a share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    # An exact share must find its own value, whatever the sums of weights round to.
    at = np.searchsorted(mass, steps * mass[-1] * (1 - 1e-12))
    found: FloatArray = values[order][at]
    return found


def _cross_fitted(
    sample: Sample, weight: FloatArray, model: Any, folds: Sequence[Fold]
) -> FloatArray:
    """Risk of each row by a model that has not seen it; the mean where it was held out twice."""
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    event, rows = sample.event, sample.X
    if model is None:
        rows = read_plain(rows)
        model = PreparedClassifier(LogisticRegression(max_iter=1000))
    else:
        table = RawTable(rows)
        numbers = [numeric_column(name, table.column(name).values) for name in table.names]
        rows = np.column_stack(numbers).astype(np.float64)
    total, times = np.zeros(event.size), np.zeros(event.size)
    for train, test in folds:
        fitted = clone(model).fit(take_rows(rows, train), event[train], sample_weight=weight[train])
        total[test] += fitted.predict_proba(take_rows(rows, test))[:, 1]
        times[test] += 1
    with np.errstate(invalid="ignore"):
        return np.where(times > 0, total / np.where(times > 0, times, 1), math.nan)


#: Chooses thresholds from rows, outcomes and weights.
Choice = Callable[..., Thresholds]

#: The paper's "random" thresholds.
_RANDOM = (0.0, 0.0857, 0.1102, 0.1325, 0.2292, 0.4491, 0.5409, 0.5727, 0.5778, 0.6975)


def paper_grids() -> dict[str, Thresholds]:
    """Return the five settings of the paper's sensitivity analysis, by name.

    Table tab:sensitivity_settings of the paper.

    Returns
    -------
    dict of str to Thresholds
        Tenths (the published setting), twentieths, fifths, and a fixed random grid with equal
        weights and with weights by length.

    Examples
    --------
    >>> {name: len(grid) for name, grid in paper_grids().items()}
    {'i/10': 10, 'i/20': 20, 'i/5': 5, 'random, equal': 10, 'random, length': 10}
    """
    return {
        "i/10": Thresholds.tenths(),
        "i/20": Thresholds.of([i / 20 for i in range(20)]),
        "i/5": Thresholds.of([i / 5 for i in range(5)]),
        "random, equal": Thresholds.of(_RANDOM),
        "random, length": Thresholds.of(_RANDOM, "length"),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(ComparesFolds, Tabular):
    """Cards for several sets of thresholds, all measured on the same ones.

    Arrays are in the order of ``settings``; the first setting is the one to compare with.

    Attributes
    ----------
    settings : dict of str to Thresholds
        Where a grid was chosen from the data, that of all rows; folds had their own.
    evaluated : Thresholds
        Where all cards are measured.
    cards : dict of str to Scorecard
        Learnt from all rows.
    fold_aunbc, fold_ece, fold_size : (folds, K) float
        AUNBC, ECE and number of rules of the cards of each fold, on its held-out rows.
    fold_changed : (folds, K, T) float
        Share of held-out rows that are decided otherwise than by the first setting's card, at each
        threshold of ``evaluated.given``.
    ratio : float
        Held-out rows by training rows, mean over the folds: 1/4 for five folds.
    """

    settings: dict[str, Thresholds]
    evaluated: Thresholds
    cards: dict[str, Scorecard]
    fold_aunbc: FloatArray
    fold_ece: FloatArray
    fold_size: FloatArray
    fold_changed: FloatArray
    ratio: float

    @cached_property
    def aunbc(self) -> FloatArray:
        """Mean AUNBC on held-out rows."""
        return self._means.mean

    @cached_property
    def aunbc_se(self) -> FloatArray:
        """Its standard error, corrected for shared training rows (Nadeau and Bengio)."""
        return self._means.error

    @cached_property
    def changed(self) -> FloatArray:
        """(K, T) mean share of held-out rows whose decision differs from the first setting's."""
        result: FloatArray = self.fold_changed.mean(axis=0)
        return result

    @cached_property
    def _means(self) -> FoldMeans:
        return fold_means(self.fold_aunbc, self.ratio, reference=0)

    def to_table(self) -> Table:
        """One row per setting: grid, AUNBC and ECE on held-out rows, rules, changed decisions.

        ``changed`` is the mean over the thresholds, ``most_changed`` the largest share, ``at`` its
        threshold.
        """
        worst = self.changed.argmax(axis=1)
        names = list(self.settings)
        return Table(
            {
                "setting": np.array(names, dtype=object),
                "thresholds": np.array([len(self.settings[n].given) for n in names]),
                "aunbc": self.aunbc,
                "aunbc_se": self.aunbc_se,
                "difference": self.difference,
                "difference_se": self.difference_se,
                "ece": self.fold_ece.mean(axis=0),
                "rules": self.fold_size.mean(axis=0),
                "changed": self.changed.mean(axis=1),
                "most_changed": self.changed.max(axis=1),
                "at": self.evaluated.given[worst],
                "columns": np.array([", ".join(self.cards[n].features) for n in names], object),
            }
        )

    def decisions(self) -> Table:
        """One row per setting and threshold: share of held-out rows that are decided otherwise."""
        names, p = list(self.settings), self.evaluated.given
        return Table(
            {
                "setting": np.repeat(np.array(names, dtype=object), p.size),
                "threshold": np.tile(p, len(names)),
                "changed": self.changed.ravel(),
            }
        )

    def points(self) -> Table:
        """One row per rule that any card has: its points for every setting, 0 where absent."""
        by_name = {
            name: {rule.term.text(): rule.points for rule in card.rules}
            for name, card in self.cards.items()
        }
        rules = list(dict.fromkeys(text for points in by_name.values() for text in points))
        columns: dict[str, Any] = {"rule": np.array(rules, dtype=object)}
        for name, points in by_name.items():
            columns[name] = np.array([points.get(text, 0) for text in rules], dtype=np.int64)
        return Table(columns)

    @shown_on_stdout
    def __str__(self) -> str:
        t = self.to_table()
        rows = []
        for i in range(t.n_rows):
            gap = changed = most = ""
            if i > 0:
                gap = with_error(t["difference"][i], t["difference_se"][i])
                changed = format_percent(t["changed"][i])
                most = f"{format_percent(t['most_changed'][i])} at {format_percent(t['at'][i])}"
            area = with_error(t["aunbc"][i], t["aunbc_se"][i])
            ece, rules = format_number(t["ece"][i]), format_number(t["rules"][i], 1)
            rows.append([str(t["setting"][i]), area, gap, ece, rules, changed, most])
        head = ["thresholds", "AUNBC", "difference", "ECE", "rules", "decided otherwise", "most"]
        return "\n".join(
            [
                *format_table(head, rows),
                f"Held-out rows of {len(self.fold_aunbc)} folds, ± one standard error; all measured"
                f" at the same {len(self.evaluated.given)} thresholds.",
            ]
        )

    def plot(self, ax: Any = None, *, kind: str = "aunbc") -> SensitivityDisplay:
        """Draw AUNBC or decisions (``kind="decisions"``); see :class:`SensitivityDisplay`."""
        return SensitivityDisplay.from_sensitivity(self, ax=ax, kind=kind)


def threshold_sensitivity(
    estimator: RiskScoreClassifier,
    X: Any,
    y: ArrayLike,
    settings: Mapping[str, ThresholdsLike | Choice] | None = None,
    *,
    evaluate_on: ThresholdsLike = None,
    folds: Any = 5,
    sample_weight: ArrayLike | None = None,
    random_state: int | None = 0,
) -> Sensitivity:
    """Learn a card for each of several sets of thresholds, and measure all of them alike.

    Parameters
    ----------
    estimator : RiskScoreClassifier
        Settings of all cards except thresholds and weights.  It is left as it is.
    X, y, sample_weight
        As for its ``fit``.
    settings : mapping of str to Thresholds, str, sequence or callable, optional
        Grids, ranges and weights to compare, by name; the first is what the others are compared
        with.  By default :func:`paper_grids`.  A callable, such as :func:`suggest_thresholds`, is
        called as ``f(X, y, sample_weight=…)`` with the training rows of each fold, so that rows
        that were used to choose a grid never judge it.
    evaluate_on : Thresholds, str or sequence of float, optional
        Where all cards are measured; by default at 0, 0.1, …, 0.9.
    folds : int, splitter or iterable, default=5
        As in :func:`cross_validate`.
    random_state : int or None, default=0
        Seed of the folds; that of the search is the estimator's.

    Returns
    -------
    Sensitivity
        Print it, or look at ``plot()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (300, 3))
    >>> y = rng.random(300) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> model = RiskScoreClassifier(solver="local", time_limit=1, n_jobs=1)
    >>> ranges = {"all": "0.1:0.9:0.1", "low": "0.05:0.2:0.05"}
    >>> found = threshold_sensitivity(model, X, y, ranges, folds=3)
    >>> list(found.cards), found.changed.shape
    (['all', 'low'], (2, 10))
    """
    if not isinstance(estimator, RiskScoreClassifier):
        raise InputError(
            f"estimator is a {type(estimator).__name__}. Pass a RiskScoreClassifier: only cards "
            "are learnt for thresholds."
        )
    named = paper_grids() if settings is None else settings
    if not named:
        raise InputError("settings are empty. Name at least one set of thresholds.")
    choices = {
        str(name): given if callable(given) else as_thresholds(given)
        for name, given in named.items()
    }
    work = make_work(estimator, X, y, sample_weight, as_thresholds(evaluate_on), None, n_jobs=1)
    sample = work.sample
    weight = check_weights(sample.weight, sample.event.size)
    cards, grids = {}, {}
    for name, choice in choices.items():
        model = copy_with(estimator, thresholds=_grid(choice, X, y, weight), weights=None)
        model.fit(X, y, sample_weight=sample_weight)
        cards[name], grids[name] = model.scorecard_, model.thresholds_
    folds = make_folds(folds, sample, random_state, both=False)
    tasks = {}
    for k, (train, test) in enumerate(folds, start=1):
        rows = take_rows(X, train), sample.event[train], weight[train]
        for name, choice in choices.items():
            setting = {"thresholds": _grid(choice, *rows), "weights": None}
            tasks[f"fold {k}, {name}"] = Task(train, {"test": test}, 0, setting, keep="test")
    with Runner(work, "sensitivity", {}, total=len(tasks), n_jobs=1) as runner:
        results = list(runner.run(tasks).values())

    def by_fold(values: Iterable[float]) -> FloatArray:
        return np.array(list(values), dtype=np.float64).reshape(len(folds), -1)

    measured = [result["measures"]["test"] for result in results]
    many = len(choices)
    risks = [one["risk"] for one in results]
    return Sensitivity(
        grids,
        work.grid,
        cards,
        fold_aunbc=by_fold(one["aunbc"] for one in measured),
        fold_ece=by_fold(one["ece"] for one in measured),
        fold_size=by_fold(result["size"] for result in results),
        fold_changed=np.array(
            [
                _changed(risks[k * many :][:many], weight[test], work.grid)
                for k, (_, test) in enumerate(folds)
            ]
        ),
        ratio=fold_ratio(folds),
    )


def _grid(choice: Thresholds | Choice, X: Any, y: Any, weight: Any) -> Thresholds:
    """Thresholds as they are, or as some rows make them."""
    return choice(X, y, sample_weight=weight) if callable(choice) else choice


def _changed(risks: Sequence[ArrayLike], weight: FloatArray, grid: Thresholds) -> list[list[float]]:
    """Share of rows that each setting decides otherwise than the first one, by threshold."""
    called = [np.asarray(risk)[None, :] >= grid.given[:, None] for risk in risks]
    return [((one != called[0]) @ weight / weight.sum()).tolist() for one in called]

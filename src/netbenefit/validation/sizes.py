"""How many rules a card should have: the best card of every size, and what it earns elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

from netbenefit.binning.fitted import FittedBins
from netbenefit.cards.scorecard import Scorecard
from netbenefit.common.checks import FloatArray, InputError, check_weights
from netbenefit.common.parallel import WorkerDied, finished_tasks, one_by_one
from netbenefit.common.table import Table, format_number
from netbenefit.data.labels import encode_labels
from netbenefit.estimators import learn as assemble
from netbenefit.estimators.learn import count_threads, warn_of_teaching
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.thresholds import Thresholds, as_thresholds
from netbenefit.plots import SizePathDisplay
from netbenefit.problem.constraints import MaxFeatures
from netbenefit.problem.problem import Problem
from netbenefit.problem.result import SolverResult
from netbenefit.solvers.base import Callback, check_time_limit
from netbenefit.solvers.sizes import best_of_every_size, check_sizes, limit_size
from netbenefit.teachers.blend import Taught
from netbenefit.validation.folds import Fold, given_folds, take_rows

__all__ = [
    "MOST_RULES",
    "CardMeasures",
    "Cards",
    "Measured",
    "Plan",
    "Rows",
    "SizePath",
    "TwoParts",
    "all_cards",
    "all_folds",
    "check_estimator",
    "choose_folds",
    "choose_sizes",
    "fold_error",
    "fold_mean",
    "held_out",
    "make_problem",
    "measure_cards",
    "size_path",
    "size_path_of_events",
]


# -- cards of every size from some rows, and what they earn on others ------------------------------


#: Numbers of the training rows, and of the held-out ones.
TwoParts = tuple[NDArray[Any], NDArray[Any]]


class Rows(NamedTuple):
    """Rows as an estimator takes them, which of them are events, and their weights if any."""

    X: Any
    event: NDArray[np.bool_]
    weight: NDArray[Any] | None = None

    def take(self, chosen: NDArray[Any]) -> Rows:
        """Some of the rows.

        >>> Rows({"x": np.array([5, 6])}, np.array([True, False])).take(np.array([1])).X
        {'x': array([6])}
        """
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), self.event[chosen], weight)


class Plan(NamedTuple):
    """All that a path is told but for its rows."""

    estimator: RiskScoreClassifier  #: a copy of its own, whose parameters are checked
    outcome: str
    n_jobs: int
    seed: int

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds that cards are learnt for."""
        return self.estimator.thresholds_


class Posed(NamedTuple):
    """The problem that some rows pose, before sizes, and how it came about."""

    problem: Problem
    taught: Taught | None
    bins: FittedBins | None


class Cards(NamedTuple):
    """The cards of a path by size, and how they were found."""

    cards: dict[int, Scorecard]
    results: dict[int, SolverResult]


class CardMeasures(NamedTuple):
    """What each card earns on some rows, by size."""

    net_benefit: dict[int, float]
    aunbc: dict[int, float]


def make_problem(rows: Rows, plan: Plan) -> Posed:
    """Everything is learnt from these rows alone: conditions, the teacher's risks, constants."""
    model = plan.estimator
    training = model._training(rows.X, rows.event, rows.weight)
    table, taught = assemble.teach_masses(
        training,
        plan.thresholds,
        model.teacher,
        model.prior_strength,
        seed=plan.seed,
        n_jobs=plan.n_jobs,
    )
    # Within a size, rules have no price: see limit_size.
    settings = {**training.settings, "penalty": 0}
    problem = assemble.make_problem(table, plan.thresholds, **settings)
    return Posed(problem, taught, training.bins)


def all_cards(
    posed: Posed, sizes: tuple[int, ...], plan: Plan, callback: Callback | None = None
) -> Cards:
    """The best card of every size."""
    found = best_of_every_size(
        posed.problem,
        sizes,
        time_limit=plan.estimator.time_limit,
        n_jobs=plan.n_jobs,
        seed=plan.seed,
        callback=callback,
    )
    if any(result.status == "interrupted" for result in found.values()):
        raise KeyboardInterrupt  # cards of a broken-off search compare with no others
    return Cards({size: _card(posed, result, plan) for size, result in found.items()}, found)


def _card(posed: Posed, result: SolverResult, plan: Plan) -> Scorecard:
    origin = assemble.make_provenance(posed.problem, result, plan.outcome, plan.seed, posed.taught)
    return assemble.assemble_card(
        posed.problem, result, origin, bins=posed.bins, calibrate=plan.estimator.calibrate
    )


def measure_cards(
    cards: Mapping[int, Scorecard], rows: Rows, thresholds: Thresholds
) -> CardMeasures:
    """Weighted net benefit and AUNBC of cards on some rows."""
    benefit, area = {}, {}
    for size, card in cards.items():
        told = rows.event, card.risk(rows.X), thresholds
        benefit[size] = metrics.weighted_net_benefit(*told, sample_weight=rows.weight)
        area[size] = metrics.aunbc(*told, sample_weight=rows.weight)
    return CardMeasures(benefit, area)


class Measured(NamedTuple):
    """The cards of a fold, and what they earn on its held-out rows."""

    cards: dict[int, Scorecard]
    benefits: CardMeasures


def held_out(
    rows: Rows,
    fold: TwoParts,
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None = None,
) -> Measured:
    """One fold: cards from its training rows alone, measured on the others."""
    train, test = fold
    found = all_cards(make_problem(rows.take(train), plan), sizes, plan, callback)
    return Measured(found.cards, measure_cards(found.cards, rows.take(test), plan.thresholds))


def all_folds(
    rows: Rows,
    folds: Sequence[TwoParts],
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None,
    n_jobs: int | None,
) -> list[Measured]:
    """All folds, one after the other (``n_jobs=1``) or some at a time; those are quiet."""
    listener = callback if n_jobs == 1 else None  # it cannot be called from another process
    work = partial(_named, rows, sizes, plan, listener)
    found: dict[int, Measured] = {}
    tasks = list(enumerate(folds, start=1))
    with closing(finished_tasks(work, tasks, n_jobs)) as finished:
        for (number, _), measured in finished:
            if isinstance(measured, WorkerDied):
                raise WorkerDied(f"fold {number}: {measured}")
            if isinstance(measured, Exception):
                raise measured
            found[number] = measured
    return [found[number] for number, _ in tasks]


def _named(
    rows: Rows,
    sizes: tuple[int, ...],
    plan: Plan,
    callback: Callback | None,
    task: tuple[int, TwoParts],
) -> Measured:
    """One fold, whose errors say which one it was."""
    number, fold = task
    try:
        return held_out(rows, fold, sizes, plan, callback)
    except InputError as error:
        raise InputError(f"fold {number}: {error}") from None


# -- what a path of sizes is asked for: estimator, sizes and folds, checked ------------------------


#: The largest size of a path about which nothing is said.
MOST_RULES = 15


def check_estimator(estimator: Any) -> RiskScoreClassifier:
    """A copy whose parameters are checked as ``fit`` does."""
    if not isinstance(estimator, RiskScoreClassifier):
        what = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        kind = "the class" if isinstance(estimator, type) else "a"
        raise InputError(
            f"estimator is {kind} {what}. Pass a RiskScoreClassifier() or RSSDNBClassifier(): only "
            "these have cards of every size."
        )
    # Not a clone, which would copy a callback, too: it has to reach the one that was given.
    copy: RiskScoreClassifier = type(estimator)(**estimator.get_params(deep=False))
    try:
        copy._validate_params()
    except ValueError as error:  # scikit-learn's own kind
        raise InputError(str(error)) from None
    return copy


def choose_sizes(problem: Problem, sizes: Sequence[int] | None) -> tuple[int, ...]:
    """Sizes that were asked for, or the default ones, within what the problem allows."""
    usable = int(((problem.lower != 0) | (problem.upper != 0)).sum())
    most = min(usable, problem.max_features)
    if sizes is not None:
        wanted = check_sizes(sizes)
        if wanted[-1] > most:
            limit = (
                f"the estimator's max_features is {most}"
                if problem.max_features < usable
                else f"only {most} columns can have points"
            )
            raise InputError(
                f"sizes go up to {wanted[-1]}, but {limit}. Use sizes of at most {most}."
            )
        limit_size(problem, wanted[0])  # refuses, naming the constraints, where it is too small
        return wanted
    if most == 0:
        raise InputError("no column may have points, so there are no sizes. Allow some columns.")
    limited = any(isinstance(constraint, MaxFeatures) for constraint in problem.constraints)
    least = next((k for k in range(1, most + 1) if _possible(problem, k)), most)
    return tuple(range(least, (most if limited else max(least, min(most, MOST_RULES))) + 1))


def _possible(problem: Problem, size: int) -> bool:
    try:
        limit_size(problem, size)
    except InputError:
        return False
    return True


def choose_folds(cv: Any, event: NDArray[np.bool_], random_state: int | None) -> list[Fold]:
    """Row numbers of training and of held-out rows, a pair a fold."""
    if isinstance(cv, int | np.integer | float | bool | None):
        if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
            raise InputError(f"cv={cv!r} must be a number of folds of at least 2, or a splitter.")
        n_events, n_others = int(event.sum()), int((~event).sum())
        few, name = min((n_events, "events"), (n_others, "rows without the event"))
        if cv > few:
            raise InputError(
                f"cv={cv} folds need as many {name}, one each, but there are {few}. Use at most "
                f"{max(few, 2)} folds{'' if few > 1 else ', and more rows'}."
            )
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    return given_folds(cv, event)


def fold_mean(values: FloatArray) -> FloatArray:
    """Mean over the folds, which are the first axis.

    >>> fold_mean(np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([2., 2.])
    """
    result: FloatArray = values.mean(axis=0)
    return result


def fold_error(values: FloatArray) -> FloatArray:
    """Standard deviation over the folds / √folds: too small, as folds share training rows.

    >>> fold_error(np.array([[1.0, 2.0], [3.0, 2.0]]))
    array([1., 0.])
    """
    result: FloatArray = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return result


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SizePath:
    """Cards of every size, and their net benefit in training and on held-out rows.

    Arrays are in the order of ``sizes``.  A card of size k has *at most* k rules.

    Attributes
    ----------
    sizes : tuple of int
    cards : dict of int to Scorecard
        The card of each size, learnt from all rows.
    results : dict of int to SolverResult
        How these cards were found; the penalty is 0 in their objectives.
    training_net_benefit : (K,) float
        Weighted net benefit of these cards on the rows that they were learnt from.
    fold_net_benefit, fold_aunbc : (folds, K) float
        Weighted net benefit and AUNBC of the cards of each fold on its held-out rows.
    fold_cards : tuple of dict of int to Scorecard
        The cards of each fold, learnt without its held-out rows.
    """

    sizes: tuple[int, ...]
    cards: dict[int, Scorecard]
    results: dict[int, SolverResult]
    training_net_benefit: FloatArray
    fold_net_benefit: FloatArray
    fold_aunbc: FloatArray
    fold_cards: tuple[dict[int, Scorecard], ...]

    @cached_property
    def objective(self) -> FloatArray:
        """What the search maximised, on all rows: never lower for a larger size."""
        return np.array([self.results[size].objective for size in self.sizes])

    @cached_property
    def held_out(self) -> FloatArray:
        """Mean over the folds of the weighted net benefit on held-out rows."""
        return fold_mean(self.fold_net_benefit)

    @cached_property
    def held_out_se(self) -> FloatArray:
        """Its standard error: standard deviation over the folds / √folds.

        Folds share most of their training rows, so that the true error is somewhat larger.
        """
        return fold_error(self.fold_net_benefit)

    @cached_property
    def aunbc(self) -> FloatArray:
        """Mean over the folds of the area under the net benefit curve on held-out rows."""
        return fold_mean(self.fold_aunbc)

    @cached_property
    def aunbc_se(self) -> FloatArray:
        """Its standard error, as :attr:`held_out_se`."""
        return fold_error(self.fold_aunbc)

    @cached_property
    def difference(self) -> FloatArray:
        """Mean net benefit on held-out rows less that of the best size: 0 or below."""
        return fold_mean(self._to_best)

    @cached_property
    def difference_se(self) -> FloatArray:
        """Its standard error, from the differences within each fold.

        These vary much less from fold to fold than net benefit does, because easy held-out rows are
        easy for every size.
        """
        return fold_error(self._to_best)

    @property
    def best(self) -> int:
        """The size with the highest mean net benefit on held-out rows; of equals the smallest."""
        return self.sizes[int(np.argmax(self.held_out))]

    @property
    def suggested(self) -> int:
        """The smallest size that is less than one standard error of the difference below the best.

        Smaller cards are easier to use and to check; this is as small as the held-out rows give no
        clear reason against.
        """
        near = self.difference + self.difference_se >= 0.0
        return self.sizes[int(np.argmax(near))]

    @property
    def _to_best(self) -> FloatArray:
        reference = self.fold_net_benefit[:, [self.sizes.index(self.best)]]
        result: FloatArray = self.fold_net_benefit - reference
        return result

    def to_table(self) -> Table:
        """One row a size: how many rules, training, held-out rows, and the columns with points."""
        cards = [self.cards[size] for size in self.sizes]
        return Table(
            {
                "size": np.array(self.sizes, dtype=np.int64),
                "rules": np.array([card.size for card in cards], dtype=np.int64),
                "objective": self.objective,
                "training_net_benefit": self.training_net_benefit,
                "held_out_net_benefit": self.held_out,
                "held_out_se": self.held_out_se,
                "difference": self.difference,
                "difference_se": self.difference_se,
                "held_out_aunbc": self.aunbc,
                "held_out_aunbc_se": self.aunbc_se,
                "best": np.array([size == self.best for size in self.sizes]),
                "suggested": np.array([size == self.suggested for size in self.sizes]),
                "features": np.array([", ".join(card.features) for card in cards], dtype=object),
            }
        )

    def __str__(self) -> str:
        head = ("rules", "held-out rows", "below the best", "training rows", "")
        rows = [head, *(self._row(i) for i in range(len(self.sizes)))]
        widths = [max(len(row[c]) for row in rows) for c in range(len(head))]
        lines = ["   ".join(t.rjust(w) for t, w in zip(r[:4], widths, strict=False)) for r in rows]
        marked = [f"{line}   {row[4]}".rstrip() for line, row in zip(lines, rows, strict=True)]
        n_folds = len(self.fold_net_benefit)
        return "\n".join(
            [
                "Net benefit by the number of rules",
                "",
                *marked,
                "",
                f"± one standard error over {n_folds} folds; differences are taken within folds.",
            ]
        )

    def _row(self, i: int) -> tuple[str, str, str, str, str]:
        size = self.sizes[i]
        below = "" if size == self.best else _with_error(-self.difference[i], self.difference_se[i])
        marks = [
            *(["best"] if size == self.best else []),
            *(["suggested"] if size == self.suggested else []),
        ]
        rules = self.cards[size].size
        fewer = f"({rules} suffice{'s' * (rules == 1)})" if rules < size else ""
        return (
            str(size),
            _with_error(self.held_out[i], self.held_out_se[i]),
            below,
            format_number(self.training_net_benefit[i]),
            " ".join([*(["←", ", ".join(marks)] if marks else []), *([fewer] if fewer else [])]),
        )

    def plot(self, ax: Any = None) -> SizePathDisplay:
        """Draw net benefit against size; see :class:`netbenefit.plots.SizePathDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        """
        return SizePathDisplay.from_size_path(self, ax=ax)


def size_path(
    estimator: RiskScoreClassifier,
    X: Any,
    y: ArrayLike,
    *,
    sizes: Sequence[int] | None = None,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
) -> SizePath:
    """Search the best card of every size, and measure each on held-out rows.

    The estimator's settings apply, with these differences: its ``penalty`` plays no role, as a
    size is the other way to keep cards small; its ``solver`` neither, as one search serves all
    sizes; its ``time_limit`` is for one path, of which there is one for all rows and one a fold.
    Everything that a fold learns, conditions and teacher included, comes from its training rows.

    Parameters
    ----------
    estimator : RiskScoreClassifier or RSSDNBClassifier
        It need not be fitted, and is left as it is.
    X, y, sample_weight
        As for its ``fit``.
    sizes : sequence of int, optional
        Numbers of rules; by default from the fewest that the constraints allow to the estimator's
        ``max_features``, or to 15, or to the number of columns.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, or any splitter of scikit-learn, or pairs of row numbers.
    n_jobs : int, optional
        Folds at a time.  With more than one, each search has one thread; otherwise as many as the
        estimator's ``n_jobs`` says.
    random_state : int or None, default=0
        Seed of the folds; that of the search is the estimator's.

    Returns
    -------
    SizePath
        Print it, or look at ``plot()``; ``best`` and ``suggested`` are sizes, ``cards`` the cards.
        The highest of several held-out means is a little too high for what it would be on new rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (500, 4))
    >>> y = rng.random(500) < 0.1 + 0.3 * X[:, 0] + 0.4 * X[:, 2]
    >>> path = size_path(RiskScoreClassifier(thresholds="0.1:0.6:0.1"), X, y, cv=3)
    >>> path.sizes, path.cards[2].features
    ((1, 2, 3, 4), ('x0', 'x2'))
    >>> path.held_out[1] > path.held_out[0]
    np.True_
    """
    event, classes = encode_labels(y)
    outcome = f"{getattr(y, 'name', None) or 'outcome'} = {classes[1]}"
    return size_path_of_events(
        estimator,
        X,
        event,
        sizes=sizes,
        cv=cv,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
        random_state=random_state,
        outcome=outcome,
    )


def size_path_of_events(
    estimator: RiskScoreClassifier,
    X: Any,
    event: NDArray[np.bool_],
    *,
    sizes: Sequence[int] | None = None,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
    outcome: str = "outcome",
) -> SizePath:
    """As :func:`size_path`, for an outcome that is read already.

    1. Cards of every size from all rows.
    2. For each fold: cards of every size from its training rows, measured on the others.
    """
    reader = check_estimator(estimator)
    reader.thresholds_ = as_thresholds(reader.thresholds, reader.weights)
    weight = None if sample_weight is None else check_weights(sample_weight, event.size)
    rows, alone = Rows(X, event, weight), one_by_one(n_jobs)
    plan = Plan(reader, outcome, count_threads(reader.n_jobs) if alone else 1, reader._seed())
    check_time_limit(reader.time_limit)
    posed = make_problem(rows, plan)
    warn_of_teaching(posed.taught, stacklevel=3)
    problem = posed.problem
    wanted = choose_sizes(problem, sizes)
    folds = choose_folds(cv, event, random_state)
    with _progress(reader) as callback:
        found = all_cards(posed, wanted, plan, callback)  # first: it compiles for all folds
        tested = all_folds(rows, folds, wanted, plan, callback, 1 if alone else n_jobs)
    common = [size for size in found.cards if all(size in cards for cards, _ in tested)]
    if not common:
        raise problem.nothing_found()
    training = measure_cards(found.cards, rows, plan.thresholds)
    return SizePath(
        sizes=tuple(common),
        cards={size: found.cards[size] for size in common},
        results={size: found.results[size] for size in common},
        training_net_benefit=np.array([training.net_benefit[size] for size in common]),
        fold_net_benefit=np.array([[b.net_benefit[size] for size in common] for _, b in tested]),
        fold_aunbc=np.array([[b.aunbc[size] for size in common] for _, b in tested]),
        fold_cards=tuple({size: cards[size] for size in common} for cards, _ in tested),
    )


@contextmanager
def _progress(estimator: RiskScoreClassifier) -> Iterator[Callback | None]:
    """The estimator's own callback, or a line on a terminal where it is verbose."""
    if not estimator.verbose or estimator.callback is not None:
        yield estimator.callback
        return
    from netbenefit.solvers.progress import LiveLine  # late: rich takes its time to import

    with LiveLine() as line:
        yield line


# -- numbers ---------------------------------------------------------------------------------------


def _with_error(value: float, error: float) -> str:
    return f"{format_number(value)} ± {format_number(error)}"

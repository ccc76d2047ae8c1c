"""How much a card should ask: the best card of every size, and its held-out net benefit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.binning import FittedBins
from netbenefit.cards import Provenance, Scorecard, share_text
from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    Tabular,
    check_weights,
    format_number,
    one_by_one,
    shown_on_stdout,
)
from netbenefit.data import asked_label, read_outcome
from netbenefit.estimators import (
    RiskScoreClassifier,
    count_threads,
    is_possible,
    warn_of_teaching,
)
from netbenefit.metrics import Thresholds, as_thresholds, measures_of
from netbenefit.plots import SizePathDisplay
from netbenefit.problem import MaxFeatures, MaxQuestions, Problem, SolverResult
from netbenefit.solvers import (
    Callback,
    best_of_every_size,
    check_sizes,
    check_time_limit,
    limit_size,
)
from netbenefit.teachers import Taught
from netbenefit.validation.errors import (
    ComparesFolds,
    FoldMeans,
    fold_means,
    fold_ratio,
    with_error,
)
from netbenefit.validation.folds import Fold, Sample, copy_with, make_folds
from netbenefit.validation.runner import Runner

#: The problem of some rows, what a teacher made of it, and the conditions.
_Posed = tuple[Problem, Taught | None, FittedBins | None]


@dataclass(frozen=True)
class _SizeSearch:
    """Cards of every size; called with a fold, learns from its training rows alone."""

    estimator: RiskScoreClassifier  #: a copy of its own, whose parameters are checked
    sample: Sample
    groups: NDArray[Any] | None
    thresholds: Thresholds
    outcome: str
    n_jobs: int
    seed: int
    sizes: tuple[int, ...] = ()
    callback: Callback | None = None

    def __call__(self, fold: Fold) -> dict[str, Any]:
        """Cards of a fold as JSON, and their measures on its held-out rows."""
        train, test = fold
        cards, _ = self.find(self.pose(train))
        return {
            "cards": {str(size): card.to_json() for size, card in cards.items()},
            "measures": {str(size): found for size, found in self.measure(cards, test).items()},
        }

    def pose(self, rows: NDArray[np.intp] | None = None) -> _Posed:
        """Learn conditions, the teacher's risks and constants from these rows alone."""
        model, groups = copy_with(self.estimator, n_jobs=self.n_jobs), self.groups
        model.thresholds_ = self.thresholds
        X, _, event, weight = self.sample.take(rows)
        if groups is not None and rows is not None:
            groups = groups[rows]
        training = model._training(X, event, weight, groups)
        return *model._pose(training, self.seed), training.bins

    def find(self, posed: _Posed) -> tuple[dict[int, Scorecard], dict[int, SolverResult]]:
        """The best card of every size, and how it was found."""
        problem, taught, bins = posed
        found = best_of_every_size(
            problem,
            self.sizes,
            time_limit=self.estimator.time_limit,
            n_jobs=self.n_jobs,
            seed=self.seed,
            callback=self.callback,
        )
        if any(result.status == "interrupted" for result in found.values()):
            raise KeyboardInterrupt  # cards of a broken-off search compare with no others
        made = {
            size: self.estimator._assemble(problem, result, self.outcome, self.seed, taught, bins)
            for size, result in found.items()
        }
        return made, found

    def measure(
        self, cards: Mapping[int, Scorecard], rows: NDArray[np.intp] | None = None
    ) -> dict[int, dict[str, float]]:
        """Measures of cards on some rows, by size."""
        X, _, event, weight = self.sample.take(rows)
        return {
            size: measures_of(event, card.risk(X), weight, self.thresholds)
            for size, card in cards.items()
        }


#: The largest size of a path without other limits.
MOST_QUESTIONS = 15


def check_estimator(estimator: Any) -> RiskScoreClassifier:
    """A copy whose parameters are checked as ``fit`` does."""
    if not isinstance(estimator, RiskScoreClassifier):
        what = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        kind = "the class" if isinstance(estimator, type) else "a"
        raise InputError(
            f"estimator is {kind} {what}. Pass a RiskScoreClassifier() or RSSDNBClassifier(): only "
            "these have cards of every size."
        )
    copy: RiskScoreClassifier = copy_with(estimator)
    if copy.max_questions == "auto":
        copy.max_questions = None  # all sizes are to be compared
    try:
        copy._validate_params()
    except ValueError as error:  # scikit-learn's own kind
        raise InputError(str(error)) from None
    return copy


def choose_sizes(problem: Problem, sizes: Sequence[int] | None) -> tuple[int, ...]:
    """The given sizes, or the default ones, within what the problem allows."""
    asked = problem.questions
    usable = asked.used((problem.lower != 0) | (problem.upper != 0))
    named = {
        "max_features": problem.max_features,
        "max_questions": problem.limits.asked.most,
    }
    strictest = min(named, key=lambda name: named[name])
    most = min(usable, named[strictest])
    limited = any(isinstance(one, MaxFeatures | MaxQuestions) for one in problem.constraints)
    if sizes is not None:
        chosen = check_sizes(sizes)
        if chosen[-1] > most:
            what = "questions" if asked.grouped else "columns"
            limit = (
                f"the estimator's {strictest} is {most}"
                if most < usable
                else f"only {most} {what} can have points"
            )
            raise InputError(
                f"sizes go up to {chosen[-1]}, but {limit}. Use sizes of at most {most}."
            )
        limit_size(problem, chosen[0])  # refuses, naming the constraints, where it is too small
        return chosen
    if most == 0:
        raise InputError("no column may have points, so there are no sizes. Allow some columns.")
    least = next((k for k in range(1, most + 1) if is_possible(problem, k)), most)
    return tuple(range(least, (most if limited else max(least, min(most, MOST_QUESTIONS))) + 1))


@dataclass(frozen=True, eq=False, repr=False)
class SizePath(ComparesFolds, Tabular):
    """Cards of every size, and their net benefit in training and on held-out rows.

    Arrays are in the order of ``sizes``.  A card of size k asks *at most* k questions: raw (or
    combined) columns, with any number of rules on each.  Where every column is a question of its
    own, these are its rules.

    Attributes
    ----------
    sizes : tuple of int
    cards : dict of int to Scorecard
        The card of each size, learnt from all rows.
    results : dict of int to SolverResult
        How these cards were found.
    training_net_benefit : (K,) float
        Weighted net benefit of these cards on the rows that they were learnt from.
    fold_net_benefit, fold_aunbc : (folds, K) float
        Weighted net benefit and AUNBC of the cards of each fold on its held-out rows.
    fold_cards : tuple of dict of int to Scorecard
        The cards of each fold, learnt without its held-out rows.
    ratio : float
        Held-out rows by training rows, mean over the folds: 1/4 for five folds.
    """

    sizes: tuple[int, ...]
    cards: dict[int, Scorecard]
    results: dict[int, SolverResult]
    training_net_benefit: FloatArray
    fold_net_benefit: FloatArray
    fold_aunbc: FloatArray
    fold_cards: tuple[dict[int, Scorecard], ...]
    ratio: float

    @cached_property
    def objective(self) -> FloatArray:
        """What the search maximised, on all rows: never lower for a larger size."""
        return np.array([self.results[size].objective for size in self.sizes])

    @cached_property
    def held_out(self) -> FloatArray:
        """Mean over the folds of the weighted net benefit on held-out rows."""
        return self._means.mean

    @cached_property
    def held_out_se(self) -> FloatArray:
        """Its standard error, corrected for shared training rows (Nadeau and Bengio)."""
        return self._means.error

    @cached_property
    def kept(self) -> FloatArray | None:
        """Share of the teacher's net benefit that each card keeps in training; None without one."""
        shares = [origin.share_kept for origin in self._origins]
        return None if None in shares else np.array(shares, dtype=np.float64)

    @property
    def _origins(self) -> list[Provenance]:
        origins = [self.cards[size].provenance for size in self.sizes]
        return [origin for origin in origins if origin is not None]

    @cached_property
    def aunbc(self) -> FloatArray:
        """Mean over the folds of the area under the net benefit curve on held-out rows."""
        return fold_means(self.fold_aunbc, self.ratio).mean

    @cached_property
    def aunbc_se(self) -> FloatArray:
        """Its standard error, as :attr:`held_out_se`."""
        return fold_means(self.fold_aunbc, self.ratio).error

    @property
    def best(self) -> int:
        """The size with the highest mean net benefit on held-out rows; of equals the smallest."""
        return self.sizes[self._means.to]

    @property
    def suggested(self) -> int:
        """The smallest size that is at most one standard error of the difference below the best."""
        return self.sizes[int(np.argmax(self._means.near))]

    @cached_property
    def _means(self) -> FoldMeans:
        return fold_means(self.fold_net_benefit, self.ratio)

    def to_table(self) -> Table:
        """One row per size: questions and rules, training, held-out rows, columns with points.

        ``share_kept``, of the teacher's net benefit, is there where a teacher was.
        """
        cards = [self.cards[size] for size in self.sizes]
        return Table(
            {
                "size": np.array(self.sizes, dtype=np.int64),
                "questions": np.array([self.results[k].questions for k in self.sizes], np.int64),
                "rules": np.array([card.size for card in cards], dtype=np.int64),
                **({} if self.kept is None else {"share_kept": self.kept}),
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

    @shown_on_stdout
    def __str__(self) -> str:
        training = "training rows" if self.kept is None else "keeps"
        head = ["questions", "rules", "held-out rows", "below the best", training]
        rows = [[*head, ""], *(self._row(i) for i in range(len(self.sizes)))]
        widths = [max(len(row[c]) for row in rows) for c in range(len(head))]
        lines = ["  ".join(t.rjust(w) for t, w in zip(r, widths, strict=False)) for r in rows]
        marked = [f"{line}   {row[-1]}".rstrip() for line, row in zip(lines, rows, strict=True)]
        n_folds = len(self.fold_net_benefit)
        kept = [] if self.kept is None else ["keeps: of the teacher's net benefit, in training."]
        return "\n".join(
            [
                "Net benefit by the number of questions",
                "",
                *marked,
                "",
                *kept,
                f"± one standard error over {n_folds} folds; differences are taken within folds.",
            ]
        )

    def _row(self, i: int) -> list[str]:
        size = self.sizes[i]
        below = "" if size == self.best else with_error(-self.difference[i], self.difference_se[i])
        marks = [w for w, at in (("best", self.best), ("suggested", self.suggested)) if at == size]
        notes = ["←", ", ".join(marks)] if marks else []
        asked = self.results[size].questions
        if asked < size:
            notes.append(f"({asked} suffice{'s' * (asked == 1)})")
        return [
            str(size),
            str(self.cards[size].size),
            with_error(self.held_out[i], self.held_out_se[i]),
            below,
            format_number(self.training_net_benefit[i])
            if self.kept is None
            else share_text(float(self.kept[i])),
            " ".join(notes),
        ]

    def plot(self, ax: Any = None) -> SizePathDisplay:
        """Draw net benefit against size; see :class:`netbenefit.plots.SizePathDisplay`."""
        return SizePathDisplay.from_size_path(self, ax=ax)


def size_path(
    estimator: RiskScoreClassifier,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | None = None,
    folds: Any = 5,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: int | None = 0,
    journal: str | os.PathLike[str] | None = None,
) -> SizePath:
    """Search the best card of every size, and measure each on held-out rows.

    The card of size k is the one that the estimator learns with ``max_questions=k``; its
    settings apply, with two differences: its ``solver`` plays no role, as one search serves all
    sizes, and its ``time_limit`` is for one path, of which there is one for all rows and one per
    fold.  Everything that a fold learns, conditions and teacher included, comes from its training
    rows.

    Parameters
    ----------
    estimator : RiskScoreClassifier or RSSDNBClassifier
        It need not be fitted, and is left as it is.
    X, y, sample_weight, groups
        As for its ``fit``.  Folds that are drawn keep rows of one group together.
    sizes : sequence of int, optional
        Numbers of questions; by default from the fewest that the constraints allow to the
        estimator's ``max_questions`` or ``max_features``, or to 15, or to the number of columns.
    folds : int, splitter or iterable, default=5
        As in :func:`cross_validate`.
    n_jobs : int, optional
        Folds at a time, by joblib.  With more than one, each search has one thread; otherwise as
        many as the estimator's ``n_jobs`` says.
    random_state : int or None, default=0
        Seed of the folds; that of the search is the estimator's.
    journal : path, optional
        As in :func:`cross_validate`.

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
    >>> path = size_path(RiskScoreClassifier(thresholds="0.1:0.6:0.1"), X, y, folds=3)
    >>> path.sizes, path.cards[2].features
    ((1, 2, 3, 4), ('x0', 'x2'))
    """
    outcome = read_outcome(y, positive=asked_label(estimator))
    event = outcome.event
    reader = check_estimator(estimator)
    check_time_limit(reader.time_limit)
    weight = None if sample_weight is None else check_weights(sample_weight, event.size)
    labels = None if groups is None else np.asarray(groups)
    sample, alone = Sample(X, event, event, weight), one_by_one(n_jobs)
    search = _SizeSearch(
        reader,
        sample,
        labels,
        as_thresholds(reader.thresholds, reader.weights),
        outcome.text,
        n_jobs=count_threads(reader.n_jobs) if alone else 1,
        seed=reader._seed(),
    )
    posed = search.pose()
    problem, taught, _ = posed
    warn_of_teaching(taught, stacklevel=3)
    search = replace(search, sizes=choose_sizes(problem, sizes))
    folds = make_folds(folds, sample, random_state, groups=labels, both=False)
    identity = {
        "estimator": reader,
        "X": X,
        "event": event,
        "weight": weight,
        "groups": labels,
        "sizes": search.sizes,
        "folds": folds,
        "seed": search.seed,
        "outcome": outcome,
    }
    with (
        reader._progress() as callback,
        Runner(
            replace(search, callback=callback if alone else None),  # no process can call another's
            "sizes",
            identity,
            total=len(folds),
            journal=journal,
            n_jobs=1 if alone else n_jobs,
        ) as runner,
    ):
        # First: it compiles for all folds.
        cards, results = replace(search, callback=callback).find(posed)
        tested = list(runner.run({f"fold {k}": fold for k, fold in enumerate(folds, 1)}).values())
    common = [size for size in cards if all(str(size) in one["cards"] for one in tested)]
    if not common:
        raise problem.nothing_found()
    training = search.measure(cards)

    def held_out(measure: str) -> FloatArray:
        return np.array([[one["measures"][str(k)][measure] for k in common] for one in tested])

    return SizePath(
        sizes=tuple(common),
        cards={size: cards[size] for size in common},
        results={size: results[size] for size in common},
        training_net_benefit=np.array([training[size]["net_benefit"] for size in common]),
        fold_net_benefit=held_out("net_benefit"),
        fold_aunbc=held_out("aunbc"),
        fold_cards=tuple(
            {size: Scorecard.from_json(one["cards"][str(size)]) for size in common}
            for one in tested
        ),
        ratio=fold_ratio(folds),
    )

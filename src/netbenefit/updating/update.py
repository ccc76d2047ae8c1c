"""A stored card and new data: how good it still is, what has drifted, and how to update it.

1. :func:`evaluate_card` holds a card against new rows.
2. :func:`card_drift` shows how these differ from the rows that it was made for.
3. :func:`choose_update` tells, on held-out parts of the new rows, how much of the card to change.
4. :func:`update_card` changes risks, cut-offs or everything, and reports what is different.

Smaller changes need fewer rows: risks first, then cut-offs, then a refit (Steyerberg 2019, Clinical
Prediction Models, chapter 20; Vergouwe et al. 2017, Statistics in Medicine).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._version import __version__
from netbenefit.binning.fitted import FittedBins
from netbenefit.cards.columns import Frame, check_present, numeric_column, read_columns
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import PerUnit, Term
from netbenefit.common.checks import FloatArray, InputError, IntArray, check_binary, check_weights
from netbenefit.common.table import Table, format_count, format_number, format_table
from netbenefit.data.patterns import PatternTable
from netbenefit.data.raw_table import raw_rows
from netbenefit.estimators.learn import Learned, choose_solver, learn, terms_of, warn_of_teaching
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.training import Rows, Training
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.thresholds import as_thresholds
from netbenefit.problem.constraints import Sign
from netbenefit.problem.levels import fit_levels, pooled_rates
from netbenefit.problem.problem import Problem
from netbenefit.problem.raw_constraints import RawNames, by_condition
from netbenefit.problem.result import SolverResult
from netbenefit.theory.calibration import calibrate_levels
from netbenefit.updating.changes import CardUpdate, Scored, compare_cards
from netbenefit.updating.drift import Drift, card_drift, score_rows
from netbenefit.updating.evaluate import CardEvaluation, Recalibration, evaluate_card, recalibration
from netbenefit.validation.choice import corrected_error, fold_ratio
from netbenefit.validation.folds import take_rows
from netbenefit.validation.sizes import choose_folds

__all__ = [
    "CardEvaluation",
    "CardUpdate",
    "Drift",
    "Evidence",
    "Recalibration",
    "UpdateChoice",
    "card_drift",
    "choose_update",
    "chosen_columns",
    "default_estimator",
    "evaluate_card",
    "gather",
    "needed_columns",
    "note_update",
    "recalibration",
    "refit",
    "update_card",
    "with_new_cutoffs",
    "with_new_risks",
]


# -- new cards from an old one and new rows: other risks, other cut-offs, or other points ----------


class Evidence(NamedTuple):
    """Scores, outcomes and weights; belief in the old risks counts as more rows."""

    score: IntArray
    event: NDArray[np.bool_]
    weight: FloatArray


def gather(
    card: Scorecard,
    score: IntArray,
    event: NDArray[np.bool_],
    weight: FloatArray,
    prior_strength: float,
) -> Evidence:
    """Add n0 rows of belief in the card's own risks, spread over the scores of the new rows.

    A row of weight v and risk q brings v · n0/N · q events and v · n0/N · (1 − q) others.
    """
    if not (np.isfinite(prior_strength) and prior_strength >= 0):
        raise InputError(f"prior_strength={prior_strength!r} must be a number of rows, 0 or more.")
    if prior_strength == 0:
        return Evidence(score, event, weight)
    risk = np.asarray(card.risk_of_score(score), dtype=np.float64)
    part = weight * (prior_strength / float(weight.sum()))
    return Evidence(
        np.concatenate([score, score, score]),
        np.concatenate([event, np.ones_like(event), np.zeros_like(event)]),
        np.concatenate([weight, part * risk, part * (1.0 - risk)]),
    )


def note_update(card: Scorecard, what: str, n: float, events: float) -> Provenance:
    """Where the card comes from, and what was changed; claims about its old shape are dropped.

    Rows and prevalence are those that the risks are now from.
    """
    origin = card.provenance or Provenance(version=__version__)
    before = f"{origin.updated}; " if origin.updated else ""
    if not before and origin.n_rows is not None:
        before = f"points from {format_count(origin.n_rows)} rows; "
    whole = float(n).is_integer() and float(events).is_integer()
    return replace(
        origin,
        version=__version__,
        n_rows=int(n) if whole else n,
        n_events=int(events) if whole else events,
        n_patterns=None,
        prevalence=events / n,
        prior_strength=None,
        objective=None,
        bound=None,
        net_benefit=None,
        teacher_net_benefit=None,
        share_kept=None,
        share_bound=None,
        status=None,
        updated=before + what,
    )


# -- risks -----------------------------------------------------------------------------------------


def with_new_risks(card: Scorecard, rows: Evidence) -> Scorecard:
    """Give scores the event rates of new rows; groups of scores stay, or join.

    Where each level of the thresholds has one risk, the levels are recalibrated (Algorithm 2).
    Where scores have risks of their own, each gets its rate, and neighbours whose rates are not in
    order are pooled.  What has no rows keeps its risk, within those of its neighbours.
    """
    if not card._one_risk_per_level:
        return replace(card, risks=_pooled(card, rows))
    risk = np.asarray(card.risk_of_score(rows.score), dtype=np.float64)
    found = calibrate_levels(rows.event, risk, card.thresholds, sample_weight=rows.weight)
    steps = []
    for score, old in card.risks:
        new = found.values[card.level_of_score(score)]
        steps.append((score, old if new is None else new))
    return replace(card, risks=tuple(steps))


def _pooled(card: Scorecard, rows: Evidence) -> tuple[tuple[int, float], ...]:
    """Rates of a card's steps, made monotone by pooling neighbours (isotonic regression)."""
    starts = np.array([score for score, _ in card.risks])
    place = np.maximum(np.searchsorted(starts, rows.score, side="right") - 1, 0)
    n = np.bincount(place, weights=rows.weight, minlength=starts.size)
    events = np.bincount(place, weights=rows.weight * rows.event, minlength=starts.size)
    seen = np.flatnonzero(n > 0)
    shares = pooled_rates(
        seen,
        [Fraction(v) for v in events[seen].tolist()],
        [Fraction(v) for v in (n - events)[seen].tolist()],
    )
    rates = {step: float(rate) for step, rate in shares}
    found, low = [], 0.0
    for step, (score, old) in enumerate(card.risks):
        if step in rates:
            low = rates[step]
        else:  # between the rates below and above
            above = [rates[later] for later in rates if later > step]
            low = min(max(low, old), min(above, default=1.0))
        found.append((score, low))
    return tuple(found)


# -- cut-offs --------------------------------------------------------------------------------------


def with_new_cutoffs(card: Scorecard, rows: Evidence) -> Scorecard:
    """Choose the cut-offs of the highest net benefit; risks are the event rates between them."""
    table = PatternTable.from_codes(
        rows.score[:, None], rows.event, names=["score"], sample_weight=rows.weight
    )
    problem = Problem.build(table, card.thresholds, penalty=0, max_points=1)
    levels = fit_levels(problem, [1])
    ends = int(table.codes.min()), int(table.codes.max())
    return replace(card, risks=levels.risks, score_range=ends)


# -- points ----------------------------------------------------------------------------------------


def default_estimator(card: Scorecard) -> RiskScoreClassifier:
    """The settings that a card tells of: thresholds, whether it was taught, or columns binned."""
    origin = card.provenance
    prior = None if origin is None else origin.prior_strength
    plain = all(
        rule.term == PerUnit(rule.term.feature, rule.term.decimals) for rule in _bare_rules(card)
    )
    most = max((abs(rule.points) for rule in card.rules), default=0)
    return RiskScoreClassifier(
        thresholds=card.thresholds,
        binner=None if plain and not card.readings else "auto",
        max_points=max(10, most),
        teacher=None if prior == 0 else "auto",
    )


def refit(
    card: Scorecard,
    estimator: RiskScoreClassifier,
    X: Any,
    event: NDArray[np.bool_],
    sample_weight: FloatArray,
    outcome: str,
) -> Learned:
    """Learn anew, with the old card's rules among the candidates and its points as the start.

    ``estimator`` is the caller's own copy.  Columns are those that the card was learnt from.
    """
    grid = as_thresholds(
        card.thresholds if estimator.thresholds is None else estimator.thresholds, estimator.weights
    )
    estimator.thresholds_ = grid
    if estimator.binner is None:
        training = _of_numbers(card, estimator, X, event, sample_weight)
        terms: Sequence[Term] = terms_of(training.table)
    else:
        training = _of_raw(card, estimator, X, event, sample_weight)
        assert training.bins is not None
        terms = training.bins.terms
    seed = estimator._seed()
    solver = choose_solver(
        estimator.solver, time_limit=estimator.time_limit, seed=seed, n_jobs=estimator.n_jobs
    )
    return learn(
        training,
        grid,
        solver,
        outcome=outcome,
        teacher=estimator.teacher,
        prior_strength=estimator.prior_strength,
        seed=seed,
        n_jobs=estimator.n_jobs,
        calibrate=estimator.calibrate,
        start=_start(card, terms),
        callback=estimator.callback,
    )


def _start(card: Scorecard, terms: Sequence[Term]) -> IntArray:
    """The old points, by term; what the new columns cannot express is left out."""
    old = {rule.term: rule.points for rule in _bare_rules(card)}
    return np.array([old.get(_bare(term), 0) for term in terms], dtype=np.int64)


def _bare_rules(card: Scorecard) -> list[Rule]:
    return [Rule(_bare(rule.term), rule.points) for rule in card.rules]


def _bare(term: Term) -> Term:
    """A term without what only matters in print."""
    return replace(term, binary=False) if isinstance(term, PerUnit) else term


def _of_numbers(
    card: Scorecard,
    estimator: RiskScoreClassifier,
    X: Any,
    event: NDArray[np.bool_],
    weight: FloatArray,
) -> Training:
    """Columns as they are, those of rules in the card's own steps."""
    risks, X = estimator._given_risks(X)
    X = chosen_columns(X, card.feature_names, card.feature_names)
    data, _ = read_columns(X, card.feature_names, card.feature_names)
    columns = {name: numeric_column(name, values) for name, values in data.items()}
    steps = {rule.term.feature: rule.term.decimals for rule in card.rules}
    table = PatternTable.from_columns(
        columns, event, sample_weight=weight, decimals={**steps, **(estimator.decimals or {})}
    )
    rows = Rows(X, columns, event, weight, risks=risks)
    return Training(table, estimator._settings(), rows)


def _of_raw(
    card: Scorecard,
    estimator: RiskScoreClassifier,
    X: Any,
    event: NDArray[np.bool_],
    weight: FloatArray,
) -> Training:
    """Conditions that the binner finds on the new rows, and those of the old card."""
    rows = chosen_columns(X, needed_columns(card, estimator), card.feature_names)
    training = estimator._training(rows, event, weight)
    assert training.bins is not None
    settings = estimator._settings()
    bins = _joined(card, training.bins, settings)
    if bins is training.bins:
        return training
    data, n_rows = read_columns(raw_rows(rows, bins.sources), bins.sources, bins.columns)
    table = PatternTable.from_codes(
        bins.codes(data, n_rows),
        event,
        names=bins.names,
        decimals=[term.decimals for term in bins.terms],
        sample_weight=weight,
    )
    known = RawNames(bins.names, bins.terms, bins.columns)
    constraints = by_condition(known, settings["sign"], settings["bounds"], settings["constraints"])
    own = {**settings, "sign": None, "bounds": None, "constraints": constraints}
    return Training(table, own, training.rows, bins)


def needed_columns(card: Scorecard, estimator: RiskScoreClassifier) -> tuple[str, ...]:
    """Columns that a refit needs: those of the card, and one of given risks where there is any."""
    given = estimator._teacher_column()
    own = () if given is None or given in card.feature_names else (given,)
    return (*card.feature_names, *own)


def chosen_columns(X: Any, names: tuple[str, ...], all_names: tuple[str, ...]) -> Any:
    """Some columns of a table; those of a data frame keep their types, an array has all names."""
    import narwhals as nw

    if not nw.dependencies.is_into_dataframe(X):
        return read_columns(X, names, all_names)[0]
    check_present(names, Frame(X).names)
    return nw.from_native(X, eager_only=True).select(list(names)).to_native()


def _joined(card: Scorecard, bins: FittedBins, settings: Mapping[str, Any]) -> FittedBins:
    """Add the old card's conditions on columns that the binner reads as the same kind.

    How a column is read (fill, special codes) is learnt from the new rows.  Where a column has a
    required sign its conditions have to add up, so only "≥" joins.
    """
    signed = {*(settings["sign"] or {})}
    signed |= {one.feature for one in settings["constraints"] if isinstance(one, Sign)}
    more = [
        rule.term
        for rule in card.rules
        if rule.points
        and rule.term not in bins.terms
        and rule.term.kind == bins.kinds.get(rule.term.feature)
        and (rule.term.feature not in signed or getattr(rule.term, "op", "") == ">=")
    ]
    if not more:
        return bins
    names = [*bins.names]
    for term in more:
        text = term.text()
        names.append(text if text not in names else f"{text} (old card)")
    return replace(bins, terms=(*bins.terms, *more), names=tuple(names))


#: What can be changed, from the smallest change to the largest; "keep" changes nothing.
_ALL = ("keep", "risks", "cutoffs", "refit")


def update_card(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    what: str = "risks",
    *,
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 0.0,
    estimator: RiskScoreClassifier | None = None,
) -> CardUpdate:
    """Update a card on new rows, and report what has changed.

    Parameters
    ----------
    card : Scorecard
        It stays as it is.
    X : table
        New rows, in any form that ``card.score`` takes; to refit, with all columns that the card
        was learnt from (``card.feature_names``).
    y : (n_rows,) array of 0/1 or booleans
    what : {"risks", "cutoffs", "refit"}, default="risks"
        ``"risks"`` gives each group of scores its rate on the new rows; no group is divided, but
        neighbours join where a rate has crossed a threshold (one risk per level: Algorithm 2)
        or where rates are not in order (a risk for every score).  ``"cutoffs"`` keeps
        the points and chooses the cut-offs of the highest net benefit; risks are the rates between
        them.  ``"refit"`` learns all anew, from the old points on, with the old rules among the
        candidates.
    sample_weight : (n_rows,) array, optional
    prior_strength : float, default=0.0
        For risks and cut-offs: rows of belief in the old card's risks, added to the new rows.  Few
        rows move the card less that way.
    estimator : RiskScoreClassifier, optional
        Settings of a refit; by default the card's own thresholds, a teacher if it had one, and raw
        columns if it reads them.  Not fitted, not changed.

    Returns
    -------
    CardUpdate
        Its ``new`` is the card; print it to see what changed.

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(0, 0.1), (1, 0.3), (2, 0.6)],
    ...     Thresholds.of([0.2, 0.5]))
    >>> x, y = [0] * 10 + [1] * 10 + [2] * 10, [1] + [0] * 9 + [1, 0] * 5 + [1] * 8 + [0] * 2
    >>> update = update_card(card, {"x": x}, y)
    >>> update.new.cutoffs, update.new.risks
    ((1, 1), ((0, 0.1), (1, 0.65), (2, 0.65)))
    >>> update.decisions["to_positive"]
    array([ 0., 10.])
    >>> update.new.provenance.updated
    'risks on 30 rows (14 with the event)'
    """
    known = _ALL[1:]
    if what not in known:
        raise InputError(f"what={what!r} is not known. Use one of {', '.join(map(repr, known))}.")
    event = check_binary(y, name="y")
    weight = check_weights(sample_weight, event.size)
    _require_both(event, weight)
    score = score_rows(card, X, event.size)
    new, result = _updated(card, X, what, score, event, weight, prior_strength, estimator)
    now = Scored(new, score if result is None else score_rows(new, X, event.size))
    return compare_cards(what, Scored(card, score), now, event, weight, result)


def _require_both(event: NDArray[np.bool_], weight: FloatArray) -> None:
    metrics.require_both(weight[event].sum(), weight[~event].sum(), "an update is", "y")


def _updated(
    card: Scorecard,
    X: Any,
    what: str,
    score: NDArray[np.int64],
    event: NDArray[np.bool_],
    weight: FloatArray,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
) -> tuple[Scorecard, SolverResult | None]:
    n, events = float(weight.sum()), float(weight[event].sum())
    rows = f"on {format_count(n)} rows ({format_count(events)} with the event)"
    if what == "refit":
        if prior_strength:
            raise InputError(
                "prior_strength is about risks and cut-offs; for a refit, set it in the estimator."
            )
        return _refitted(card, X, event, weight, estimator, rows)
    if estimator is not None:
        raise InputError(f"an estimator is used by a refit only, not by what={what!r}.")
    evidence = gather(card, score, event, weight, prior_strength)
    made = (with_new_risks if what == "risks" else with_new_cutoffs)(card, evidence)
    held = f", with {format_count(prior_strength)} rows of belief in the old risks" * bool(
        prior_strength
    )
    changed = {"risks": "risks", "cutoffs": "cut-offs and risks"}[what]
    return replace(made, provenance=note_update(card, f"{changed} {rows}{held}", n, events)), None


def _refitted(
    card: Scorecard,
    X: Any,
    event: NDArray[np.bool_],
    weight: FloatArray,
    estimator: RiskScoreClassifier | None,
    rows: str,
) -> tuple[Scorecard, SolverResult]:
    if estimator is None:
        own = default_estimator(card)
    elif isinstance(estimator, RiskScoreClassifier):
        own = type(estimator)(**estimator.get_params(deep=False))
    else:
        raise InputError(
            f"estimator is a {type(estimator).__name__}. Pass a RiskScoreClassifier, or leave it "
            "out."
        )
    origin = card.provenance
    outcome = (origin.outcome if origin else None) or "outcome"
    learned = refit(card, own, X, event, weight, outcome)
    warn_of_teaching(learned.taught, stacklevel=4)
    before = (
        f" of {format_count(origin.n_rows)} rows" if origin and origin.n_rows is not None else ""
    )
    assert learned.card.provenance is not None
    origin = replace(learned.card.provenance, updated=f"refit {rows} from a card{before}")
    return replace(learned.card, provenance=origin), learned.result


# -- how much to change ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class UpdateChoice:
    """Net benefit of each way to update a card on held-out parts of the new rows.

    Attributes
    ----------
    ways : tuple of str
        From the smallest change to the largest; "keep" is the card as it is.
    fold_aunbc, fold_ece : (folds, ways) float
    ratio : float
        Held-out rows by training rows, mean over the folds: 1/4 for five folds, however often they
        are repeated.
    """

    ways: tuple[str, ...]
    fold_aunbc: FloatArray
    fold_ece: FloatArray
    ratio: float

    @property
    def best(self) -> str:
        """The way with the highest mean AUNBC; of equals the smallest change."""
        return self.ways[int(np.argmax(self.fold_aunbc.mean(axis=0)))]

    @property
    def suggested(self) -> str:
        """The smallest change that is less than one standard error of the difference below it.

        The error is that of Nadeau and Bengio, which allows for training rows that folds share.
        """
        gap, error = self._gaps()
        return self.ways[int(np.argmax(gap + error >= 0))]

    def _gaps(self) -> tuple[FloatArray, FloatArray]:
        gaps = self.fold_aunbc - self.fold_aunbc[:, [self.ways.index(self.best)]]
        errors = corrected_error(gaps, self.ratio)
        means: FloatArray = gaps.mean(axis=0)
        return means, errors

    def to_table(self) -> Table:
        """One row per way: held-out AUNBC, difference to the best, both with errors, and ECE."""
        gaps, errors = self._gaps()
        return Table(
            {
                "what": np.array(self.ways, dtype=object),
                "aunbc": self.fold_aunbc.mean(axis=0),
                "aunbc_se": corrected_error(self.fold_aunbc, self.ratio),
                "difference": gaps,
                "difference_se": errors,
                "ece": self.fold_ece.mean(axis=0),
            }
        )

    def __str__(self) -> str:
        t = self.to_table()
        rows = []
        for i, way in enumerate(self.ways):
            marks = [
                w for w, at in (("best", self.best), ("suggested", self.suggested)) if at == way
            ]
            cells = [f"{format_number(t['aunbc'][i])} ± {format_number(t['aunbc_se'][i])}"]
            cells.append(
                f"{format_number(t['difference'][i])} ± {format_number(t['difference_se'][i])}"
            )
            rows.append([way, *cells, format_number(t["ece"][i]), ", ".join(marks)])
        head = ["change", "held-out AUNBC", "to the best", "ECE", ""]
        note = f"± one standard error over {len(self.fold_aunbc)} folds of the new rows"
        return "\n".join([*format_table(head, rows), note])


def choose_update(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    *,
    what: Sequence[str] = _ALL,
    cv: Any = 5,
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 0.0,
    estimator: RiskScoreClassifier | None = None,
    random_state: int | None = 0,
) -> UpdateChoice:
    """Compare ways to update a card by cross-validation on the new rows.

    Each way updates the old card on the training part of a fold and is measured on the rest.

    Parameters
    ----------
    card, X, y, sample_weight, prior_strength, estimator
        As in :func:`update_card`.
    what : sequence of {"keep", "risks", "cutoffs", "refit"}
        Ways to compare; ``"keep"`` leaves the card as it is.
    cv : int, splitter or iterable, default=5
        Number of stratified folds, or any splitter of scikit-learn, or pairs of row numbers.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    UpdateChoice

    Examples
    --------
    >>> from netbenefit.cards.terms import PerUnit
    >>> from netbenefit.cards.scorecard import Rule
    >>> from netbenefit.metrics.thresholds import Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(0, 0.1), (1, 0.3), (2, 0.6)],
    ...     Thresholds.of([0.2, 0.5]))
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 3, 600)
    >>> y = rng.random(600) < np.array([0.1, 0.6, 0.8])[x]  # events are commoner than they were
    >>> choose_update(card, {"x": x}, y, what=["keep", "risks", "cutoffs"]).suggested
    'risks'
    """
    ways = tuple(way for way in _ALL if way in what)
    strange = [way for way in what if way not in _ALL]
    if strange or not ways:
        raise InputError(f"what={list(what)!r} must list some of {', '.join(map(repr, _ALL))}.")
    event = check_binary(y, name="y")
    weight = check_weights(sample_weight, event.size)
    names: tuple[str, ...] = card.features
    if "refit" in ways:
        names = card.feature_names if estimator is None else needed_columns(card, estimator)
    columns = chosen_columns(X, names, card.feature_names)
    areas, errors = [], []
    folds = choose_folds(cv, event, random_state)
    for train, test in folds:
        old, new = take_rows(columns, train), take_rows(columns, test)
        told = _Rows(old, score_rows(card, old, len(train)), event[train], weight[train])
        cards = [_changed(card, way, told, prior_strength, estimator) for way in ways]
        told_rows = event[test], card.thresholds, weight[test]
        risks = [one.risk_of_score(score_rows(one, new, len(test))) for one in cards]
        areas.append([_measured(metrics.aunbc, risk, *told_rows) for risk in risks])
        errors.append(
            [_measured(metrics.expected_calibration_error, risk, *told_rows) for risk in risks]
        )
    return UpdateChoice(ways, np.array(areas), np.array(errors), fold_ratio(folds))


class _Rows(NamedTuple):
    """Rows to update a card on, with the scores that the old card gives them."""

    X: Any
    score: NDArray[np.int64]
    event: NDArray[np.bool_]
    weight: FloatArray


def _changed(
    card: Scorecard,
    way: str,
    rows: _Rows,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
) -> Scorecard:
    """The card after one way to update it, without the tables that compare old and new."""
    if way == "keep":
        return card
    _require_both(rows.event, rows.weight)
    again = way == "refit"
    belief, own = (0.0, estimator) if again else (prior_strength, None)
    return _updated(card, rows.X, way, rows.score, rows.event, rows.weight, belief, own)[0]


def _measured(metric: Any, risk: Any, event: Any, grid: Any, weight: Any) -> float:
    return float(metric(event, risk, grid, sample_weight=weight))

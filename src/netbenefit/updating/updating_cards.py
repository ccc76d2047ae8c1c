"""New cards from an old one and new rows: other risks, other cut-offs, or other points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit._version import __version__
from netbenefit.binning.bin_fitted import Fitted
from netbenefit.cards.columns import Frame, check_present, numeric_column, read_columns
from netbenefit.cards.scorecard import Provenance, Rule, Scorecard
from netbenefit.cards.terms import PerUnit, Term
from netbenefit.common.checks import FloatArray, InputError, IntArray
from netbenefit.common.text_table import mass
from netbenefit.data.patterns import PatternTable
from netbenefit.data.raw_table import raw_rows
from netbenefit.estimators.estimator_input import Rows, Training
from netbenefit.estimators.learn import Learned, choose_solver, learn, terms_of
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.metrics.thresholds import as_thresholds
from netbenefit.problem.constraints import Sign
from netbenefit.problem.levels import find_levels, pooled_rates
from netbenefit.problem.problem import Problem
from netbenefit.problem.raw_constraints import RawNames, by_condition
from netbenefit.theory.calibration import calibrate_levels

__all__ = [
    "Evidence",
    "chosen_columns",
    "default_estimator",
    "gather",
    "needed_columns",
    "note_update",
    "refit",
    "with_new_cutoffs",
    "with_new_risks",
]


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
        before = f"points from {mass(origin.n_rows)} rows; "
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

    Where each level of the thresholds has one risk, the levels are recalibrated (SPEC Algorithm 2).
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
    levels = find_levels(problem, [1])
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
    """The old points, by term; what the new columns cannot say is left out."""
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
    asked = by_condition(known, settings["sign"], settings["bounds"], settings["constraints"])
    own = {**settings, "sign": None, "bounds": None, "constraints": asked}
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


def _joined(card: Scorecard, bins: Fitted, settings: Mapping[str, Any]) -> Fitted:
    """Add the old card's conditions on columns that the binner reads as the same kind.

    How a column is read (what fills holes, which codes are special) is learnt from the new rows.
    Where a sign is asked of a column its conditions have to add up, so only "≥" joins.
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

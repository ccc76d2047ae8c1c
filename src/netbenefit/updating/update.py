"""How much of a stored card to change on new data, and the changed card.

Smaller changes need fewer rows: risks first, then cut-offs, then a refit (Steyerberg 2019, Clinical
Prediction Models, chapter 20; Vergouwe et al. 2017, Statistics in Medicine).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit._version import __version__
from netbenefit.binning import FittedBins
from netbenefit.cards import (
    Frame,
    PerUnit,
    Provenance,
    RiskRow,
    Scorecard,
    Term,
    check_present,
    integer_text,
    numeric_column,
    percent,
    read_columns,
    scores_text,
    strip_control,
)
from netbenefit.common import (
    FloatArray,
    InputError,
    IntArray,
    Table,
    Tabular,
    check_option,
    check_weights,
    format_count,
    format_number,
    format_percent,
    format_table,
    setting,
    shown_on_stdout,
)
from netbenefit.data import PatternTable, raw_rows, read_event
from netbenefit.estimators import (
    Learned,
    RiskScoreClassifier,
    Rows,
    TrainingData,
    settings_by_condition,
    terms_of,
    warn_of_teaching,
)
from netbenefit.metrics import (
    Measures,
    as_thresholds,
    measure,
    measures_of,
    net_benefit,
    require_both,
)
from netbenefit.problem import Problem, Sign, SolverResult, fit_levels, pooled_rates
from netbenefit.theory import calibrate_levels
from netbenefit.updating.drift import score_rows
from netbenefit.updating.observed import Cells, table_lines
from netbenefit.validation import (
    Fold,
    FoldMeans,
    Runner,
    Sample,
    copy_with,
    fold_means,
    fold_ratio,
    make_folds,
    take_rows,
    with_error,
)


class _Rows(NamedTuple):
    """Rows to update a card on, with the scores that the old card gives them."""

    X: Any
    score: IntArray
    event: NDArray[np.bool_]
    weight: FloatArray


class _Scored(NamedTuple):
    """A card on the rows of an update."""

    card: Scorecard
    score: IntArray

    @property
    def risk(self) -> FloatArray:
        """Risk of each row."""
        return np.asarray(self.card.risk_of_score(self.score), dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class CardUpdate(Tabular):
    """A card, its successor, and what is different.

    Attributes
    ----------
    old, new : Scorecard
    what : {"risks", "cutoffs", "refit"}
    points : Table
        ``rule, old, new``: points of each rule, 0 where a card does not have it.
    cutoffs : Table
        ``threshold, old, new``; NaN where a card does not have the threshold.
    risks : Table
        Where the points have stayed: each group of scores with ``n, events, observed`` on the new
        rows and its ``old`` and ``new`` risk.  After a refit: the levels ``from`` one threshold
        ``to`` the next, with rows and risks of both cards.
    decisions : Table
        At each threshold: mass of rows called positive by the old and the new card, of those that
        change ``to_positive`` and ``to_negative``, and the net benefit of both.
    before, after : Measures
        Of both cards on the rows of the update, which the new one has seen.
    result : SolverResult or None
        Of the search, after a refit.
    """

    old: Scorecard
    new: Scorecard
    what: str
    points: Table
    cutoffs: Table
    risks: Table
    decisions: Table
    before: Measures
    after: Measures
    result: SolverResult | None = None

    def to_table(self) -> Table:
        """What both cards decide at each threshold."""
        return self.decisions

    @shown_on_stdout
    def __str__(self) -> str:
        return "\n".join(_text(self))


def _compared(
    what: str, old: _Scored, new: _Scored, rows: _Rows, result: SolverResult | None
) -> CardUpdate:
    """Put two cards side by side on the same rows."""
    event, weight, grid = rows.event, rows.weight, new.card.thresholds
    same = (old.card.rules, old.card.base) == (new.card.rules, new.card.base)
    return CardUpdate(
        old=old.card,
        new=new.card,
        what=what,
        points=_points(old.card, new.card),
        cutoffs=_cutoffs(old.card, new.card),
        risks=_groups(old, new, event, weight) if same else _levels(old, new, weight),
        decisions=_decisions(old, new, event, weight),
        before=measure(event, old.risk, grid, score=old.score, sample_weight=weight),
        after=measure(event, new.risk, grid, score=new.score, sample_weight=weight),
        result=result,
    )


def _points(old: Scorecard, new: Scorecard) -> Table:
    before, after = _points_by_rule(old), _points_by_rule(new)
    rules = list(dict.fromkeys([*before, *after]))
    return Table(
        {
            "rule": np.array([strip_control(_rule_text(rule)) for rule in rules], dtype=object),
            "old": np.array([before.get(rule, 0) for rule in rules], dtype=np.int64),
            "new": np.array([after.get(rule, 0) for rule in rules], dtype=np.int64),
        }
    )


def _points_by_rule(card: Scorecard) -> dict[Term | str, int]:
    """Points of each rule, and what each column starts from, by its name."""
    return {**{rule.term: rule.points for rule in card.rules}, **dict(card.base)}


def _rule_text(rule: Term | str) -> str:
    return f"{rule}: every answer" if isinstance(rule, str) else rule.text()


def _cutoffs(old: Scorecard, new: Scorecard) -> Table:
    before, after = (
        dict(zip(card.thresholds.values[1:], card.cutoffs, strict=True)) for card in (old, new)
    )
    values = sorted({*before, *after})
    return Table(
        {
            "threshold": values,
            "old": np.array([before.get(p, math.nan) for p in values], dtype=np.float64),
            "new": np.array([after.get(p, math.nan) for p in values], dtype=np.float64),
        }
    )


def _groups(old: _Scored, new: _Scored, event: NDArray[np.bool_], weight: FloatArray) -> Table:
    """Groups of scores that neither card tells apart."""
    edges = sorted(
        {row.low for one in (old, new) for row in one.card._risk_rows if row.low is not None}
    )
    starts = [None, *edges]
    ends = [*(edge - 1 for edge in edges), None]
    rows = [RiskRow(low, high, 0.0) for low, high in zip(starts, ends, strict=True)]
    firsts = [edges[0] - 1 if edges else 0, *edges]
    place = np.searchsorted(np.array(edges, dtype=np.int64), old.score, side="right")
    n, events = _mass(place, weight, len(rows)), _mass(place, weight * event, len(rows))
    listed = [old.card._listed(row) for row in rows]
    kept = np.array([row is not None or n[i] > 0 for i, row in enumerate(listed)])
    texts = [scores_text(own or row) for own, row in zip(listed, rows, strict=True)]
    return Table(
        {
            "scores": np.array(texts, dtype=object)[kept],
            "n": n[kept],
            "events": events[kept],
            "observed": _shares(events, n)[kept],
            "old": np.array([old.card.risk_of_score(first) for first in firsts])[kept],
            "new": np.array([new.card.risk_of_score(first) for first in firsts])[kept],
        }
    )


def _mass(place: NDArray[Any], weight: FloatArray, size: int) -> FloatArray:
    result: FloatArray = np.bincount(place, weights=weight, minlength=size).astype(np.float64)
    return result


def _shares(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Part / whole; NaN where the whole is 0."""
    shares = np.full(whole.size, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def _levels(old: _Scored, new: _Scored, weight: FloatArray) -> Table:
    """Levels by threshold, of two cards whose scores mean different things."""
    grid = new.card.thresholds
    columns: dict[str, Any] = {
        "from": np.array(grid.values),
        "to": np.array([*grid.values[1:], 1.0]),
    }
    for name, one in (("old", old), ("new", new)):
        level = grid.level_of(one.risk)
        mass = _mass(level, weight, len(grid))
        total = _mass(level, weight * one.risk, len(grid))
        columns |= {f"{name}_n": mass, name: _shares(total, mass)}
    return Table(columns)


def _decisions(old: _Scored, new: _Scored, event: NDArray[np.bool_], weight: FloatArray) -> Table:
    grid = new.card.thresholds
    p = grid.given
    called_old, called_new = (one.risk[None, :] >= p[:, None] for one in (old, new))
    benefits = [net_benefit(event, one.risk, grid, sample_weight=weight) for one in (old, new)]
    return Table(
        {
            "threshold": p.copy(),
            "old": called_old @ weight,
            "new": called_new @ weight,
            "to_positive": (called_new & ~called_old) @ weight,
            "to_negative": (called_old & ~called_new) @ weight,
            "old_net_benefit": benefits[0],
            "new_net_benefit": benefits[1],
        }
    )


_WORDS = {
    "risks": "risks recalibrated",
    "cutoffs": "cut-offs chosen anew, risks with them",
    "refit": "points, cut-offs and risks learnt anew from the old card",
}


def _text(update: CardUpdate) -> list[str]:
    m = update.after
    lines = [
        f"{_WORDS[update.what]}, on {format_count(m.n)} rows "
        f"({format_count(m.events)} with the event)",
        "",
        *_point_lines(update),
        "",
        *table_lines(update.cutoffs, _CUTOFF_CELLS),
        "",
        *_risk_lines(update),
        *_joined_lines(update),
        "",
        *table_lines(update.decisions, _DECISION_CELLS, left=0),
        "",
    ]
    rows = [
        [name, format_number(getattr(update.before, key)), format_number(getattr(m, key))]
        for name, key in (
            ("AUNBC", "aunbc"),
            ("net benefit", "weighted_net_benefit"),
            ("AUROC", "auroc"),
            ("ECE", "expected_calibration_error"),
        )
    ]
    lines += format_table(["on these rows", "old", "new"], rows)
    lines.append("The new card has seen these rows: expect less of it on others.")
    return lines


def _joined_lines(update: CardUpdate) -> list[str]:
    """Say where groups of scores have been merged."""
    before, after = (len(card.risk_table()) for card in (update.old, update.new))
    if update.what != "risks" or after >= before:
        return []
    joined = f"{before} groups of scores have become {after}"
    if not update.old._one_risk_per_level:
        return [f"{joined}: neighbours whose rates were not in order are pooled."]
    return [
        f"{joined}: Algorithm 2 joins neighbours whose rates have crossed a threshold.",
        'New cut-offs (what="cutoffs") keep apart what the scores still tell apart.',
    ]


def _point_lines(update: CardUpdate) -> list[str]:
    old, new = update.old, update.new
    if (old.rules, old.base) == (new.rules, new.base):
        return ["points: as they were"]
    columns = [(name, name, integer_text) for name in ("old", "new")]
    return table_lines(update.points, [("points of", "rule", str), *columns])


def _at_least(cutoff: float) -> str:
    return "–" if math.isnan(cutoff) else f"≥ {integer_text(int(cutoff))}"


def _risk_lines(update: CardUpdate) -> list[str]:
    def risk(value: float) -> str:
        return "–" if math.isnan(value) else percent(float(value), update.new.thresholds)

    if "scores" in update.risks:
        return table_lines(
            update.risks,
            [
                ("score", "scores", str),
                ("rows", "n", format_count),
                ("events", "events", format_count),
                ("observed", "observed", format_percent),
                ("old risk", "old", risk),
                ("new risk", "new", risk),
            ],
        )
    pairs = zip(update.risks["from"], update.risks["to"], strict=True)
    ranges = [f"{format_percent(low)} to {format_percent(high)}" for low, high in pairs]
    return table_lines(
        Table({**update.risks, "range": ranges}),
        [
            ("risk", "range", str),
            ("old rows", "old_n", format_count),
            ("mean", "old", risk),
            ("new rows", "new_n", format_count),
            ("mean", "new", risk),
        ],
    )


_CUTOFF_CELLS: Cells = [
    ("cut-off of", "threshold", format_percent),
    ("old", "old", _at_least),
    ("new", "new", _at_least),
]
_DECISION_CELLS: Cells = [
    ("acting at", "threshold", format_percent),
    ("old", "old", format_count),
    ("new", "new", format_count),
    ("now yes", "to_positive", format_count),
    ("now no", "to_negative", format_count),
    ("net benefit, old", "old_net_benefit", format_number),
    ("new", "new_net_benefit", format_number),
]


# -- new cards from an old one and new rows: other risks, other cut-offs, or other points ----------


def _with_belief(card: Scorecard, rows: _Rows, prior_strength: float) -> _Rows:
    """Add n0 rows of belief in the card's own risks, spread over the scores of the new rows.

    A row of weight v and risk q brings v · n0/N · q events and v · n0/N · (1 − q) others.
    """
    if not (np.isfinite(prior_strength) and prior_strength >= 0):
        given = setting("prior_strength", prior_strength)
        raise InputError(given, " must be a number of rows, 0 or more.")
    if prior_strength == 0:
        return rows
    _, score, event, weight = rows
    risk = np.asarray(card.risk_of_score(score), dtype=np.float64)
    part = weight * (prior_strength / float(weight.sum()))
    return _Rows(
        None,
        np.concatenate([score, score, score]),
        np.concatenate([event, np.ones_like(event), np.zeros_like(event)]),
        np.concatenate([weight, part * risk, part * (1.0 - risk)]),
    )


#: What a card's provenance says of a search that an update makes void.
_OF_THE_OLD_CARD = (
    *("n_patterns", "prior_strength", "objective", "bound", "status", "net_benefit"),
    *("teacher_net_benefit", "share_kept", "share_bound"),
)


def _note_update(card: Scorecard, what: str, n: float, events: float) -> Provenance:
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
        prevalence=events / n,
        updated=before + what,
        **dict.fromkeys(_OF_THE_OLD_CARD),
    )


def _with_new_risks(card: Scorecard, rows: _Rows) -> Scorecard:
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


def _pooled(card: Scorecard, rows: _Rows) -> tuple[tuple[int, float], ...]:
    """Rates of a card's steps, made monotone by pooling neighbours (isotonic regression)."""
    starts = np.array([score for score, _ in card.risks])
    place = np.maximum(np.searchsorted(starts, rows.score, side="right") - 1, 0)
    n = _mass(place, rows.weight, starts.size)
    events = _mass(place, rows.weight * rows.event, starts.size)
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


def _with_new_cutoffs(card: Scorecard, rows: _Rows) -> Scorecard:
    """Choose the cut-offs of the highest net benefit; risks are the event rates between them."""
    table = PatternTable.from_codes(
        rows.score[:, None], rows.event, names=["score"], sample_weight=rows.weight
    )
    problem = Problem.build(table, card.thresholds, penalty=0, max_points=1)
    levels = fit_levels(problem, [1])
    ends = int(table.codes.min()), int(table.codes.max())
    return replace(card, risks=levels.risks, score_range=ends)


def default_estimator(card: Scorecard) -> RiskScoreClassifier:
    """The settings that a card shows: thresholds, questions, points, a teacher, columns binned.

    A refit asks no more questions than the card, and no answer is worth more than its largest (or
    10 points).
    """
    origin = card.provenance
    prior = None if origin is None else origin.prior_strength
    terms = [_bare(rule.term) for rule in card.rules]
    plain = all(term == PerUnit(term.feature, term.decimals) for term in terms)
    most = max((question.most for question in card.start_at_zero().questions), default=0)
    return RiskScoreClassifier(
        thresholds=card.thresholds,
        binner=None if plain and not card.readings else "auto",
        max_points=max(10, most),
        max_questions=len(card.questions) or None,
        start_at_zero=card.start_at_zero() == card,
        teacher=None if prior == 0 else "auto",
    )


def _learn_anew(
    card: Scorecard, estimator: RiskScoreClassifier, rows: _Rows, outcome: str
) -> Learned:
    """Learn anew, with the old card's rules among the candidates and its points as the start.

    ``estimator`` is the caller's own copy.  Columns are those that the card was learnt from.
    """
    given = card.thresholds if estimator.thresholds is None else estimator.thresholds
    estimator.thresholds_ = as_thresholds(given, estimator.weights)
    if estimator.binner is None:
        training = _of_numbers(card, estimator, rows)
        terms: Sequence[Term] = terms_of(training.table)
    else:
        training = _of_raw(card, estimator, rows)
        assert training.bins is not None
        terms = training.bins.terms
    old = {_bare(rule.term): rule.points for rule in card.rules}
    start = np.array([old.get(_bare(term), 0) for term in terms], dtype=np.int64)
    return estimator._learn(training, outcome, start)


def _bare(term: Term) -> Term:
    """A term without what only matters in print."""
    return replace(term, binary=False) if isinstance(term, PerUnit) else term


def _of_numbers(card: Scorecard, estimator: RiskScoreClassifier, rows: _Rows) -> TrainingData:
    """Columns as they are, those of rules in the card's own steps."""
    risks, X = estimator._given_risks(rows.X)
    X = _chosen_columns(X, card.feature_names, card.feature_names)
    data, _ = read_columns(X, card.feature_names, card.feature_names)
    columns = {name: numeric_column(name, values) for name, values in data.items()}
    steps = {rule.term.feature: rule.term.decimals for rule in card.rules}
    table = PatternTable.from_columns(
        columns,
        rows.event,
        sample_weight=rows.weight,
        decimals={**steps, **(estimator.decimals or {})},
    )
    training_rows = Rows(X, columns, rows.event, rows.weight, risks=risks)
    return TrainingData(table, estimator._settings(), training_rows)


def _of_raw(card: Scorecard, estimator: RiskScoreClassifier, rows: _Rows) -> TrainingData:
    """Conditions that the binner finds on the new rows, and those of the old card."""
    X = _chosen_columns(rows.X, needed_columns(card, estimator), card.feature_names)
    training = estimator._training(X, rows.event, rows.weight)
    assert training.bins is not None
    settings = estimator._settings()
    bins = _joined(card, training.bins, settings)
    if bins is training.bins:
        return training
    data, n_rows = read_columns(raw_rows(X, bins.sources), bins.sources, bins.columns)
    table = PatternTable.from_codes(
        bins.codes(data, n_rows),
        rows.event,
        names=bins.names,
        decimals=[term.decimals for term in bins.terms],
        sample_weight=rows.weight,
    )
    return TrainingData(table, settings_by_condition(bins, settings), training.rows, bins)


def needed_columns(card: Scorecard, estimator: RiskScoreClassifier) -> tuple[str, ...]:
    """Columns that a refit needs: those of the card, and one of given risks where there is any."""
    given = estimator._teacher_column()
    own = () if given is None or given in card.feature_names else (given,)
    return (*card.feature_names, *own)


def _chosen_columns(X: Any, names: tuple[str, ...], all_names: tuple[str, ...]) -> Any:
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
    y : (n_rows,) array
        As for :func:`evaluate_card`.
    what : {"risks", "cutoffs", "refit"}, default="risks"
        ``"risks"`` gives each group of scores its rate on the new rows; neighbours join where a
        rate has crossed a threshold (one risk per level: Algorithm 2) or where rates are not in
        order (a risk for every score).  ``"cutoffs"`` keeps the points and chooses the cut-offs of
        the highest net benefit; risks are the rates between them.  ``"refit"`` learns everything
        anew, from the old points on, with the old rules among the candidates.
    sample_weight : (n_rows,) array, optional
    prior_strength : float, default=0.0
        For risks and cut-offs: rows of belief in the old card's risks, added to the new rows.
    estimator : RiskScoreClassifier, optional
        Settings of a refit; by default the card's own thresholds, a teacher if it had one, and raw
        columns if it reads them.  Not fitted, not changed.

    Returns
    -------
    CardUpdate
        Its ``new`` is the card; print it to see what changed.

    Examples
    --------
    >>> from netbenefit import PerUnit, Rule, Thresholds
    >>> card = Scorecard([Rule(PerUnit("x"), 1)], [(0, 0.1), (1, 0.3), (2, 0.6)],
    ...     Thresholds.of([0.2, 0.5]))
    >>> x, y = [0] * 10 + [1] * 10 + [2] * 10, [1] + [0] * 9 + [1, 0] * 5 + [1] * 8 + [0] * 2
    >>> update = update_card(card, {"x": x}, y)
    >>> update.new.cutoffs, update.new.risks
    ((1, 1), ((0, 0.1), (1, 0.65), (2, 0.65)))
    """
    check_option("what", what, _ALL[1:])
    event = read_event(y, card)
    weight = check_weights(sample_weight, event.size)
    rows = _Rows(X, score_rows(card, X, event.size), event, weight)
    new, result = _updated(card, rows, what, prior_strength, estimator)
    now = _Scored(new, rows.score if result is None else score_rows(new, X, event.size))
    return _compared(what, _Scored(card, rows.score), now, rows, result)


def _updated(
    card: Scorecard,
    rows: _Rows,
    what: str,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
) -> tuple[Scorecard, SolverResult | None]:
    event, weight = rows.event, rows.weight
    require_both(weight[event].sum(), weight[~event].sum(), "an update is", "y")
    n, events = float(weight.sum()), float(weight[event].sum())
    source = f"on {format_count(n)} rows ({format_count(events)} with the event)"
    if what == "refit":
        if prior_strength:
            raise InputError(
                "prior_strength is about risks and cut-offs; for a refit, set it in the estimator."
            )
        return _refitted(card, rows, estimator, source)
    if estimator is not None:
        raise InputError(f"an estimator is used by a refit only, not by what={what!r}.")
    evidence = _with_belief(card, rows, prior_strength)
    if what == "risks":
        new, changed = _with_new_risks(card, evidence), "risks"
    else:
        new, changed = _with_new_cutoffs(card, evidence), "cut-offs and risks"
    note = f"{changed} {source}"
    if prior_strength:
        note += f", with {format_count(prior_strength)} rows of belief in the old risks"
    return replace(new, provenance=_note_update(card, note, n, events), held_out=None), None


def _refitted(
    card: Scorecard, rows: _Rows, estimator: RiskScoreClassifier | None, source: str
) -> tuple[Scorecard, SolverResult]:
    if estimator is None:
        own = default_estimator(card)
    elif isinstance(estimator, RiskScoreClassifier):
        own = copy_with(estimator)
    else:
        raise InputError(
            f"estimator is a {type(estimator).__name__}. Pass a RiskScoreClassifier, or leave it "
            "out."
        )
    origin = card.provenance
    outcome = (origin.outcome if origin else None) or "outcome"
    learned = _learn_anew(card, own, rows, outcome)
    warn_of_teaching(learned.taught, stacklevel=4)
    before = (
        f" of {format_count(origin.n_rows)} rows" if origin and origin.n_rows is not None else ""
    )
    assert learned.card.provenance is not None
    origin = replace(learned.card.provenance, updated=f"refit {source} from a card{before}")
    new = replace(learned.card, provenance=origin)
    return new.with_labels(card.labels.only(new.named_columns)), learned.result


@dataclass(frozen=True, eq=False, repr=False)
class UpdateChoice(Tabular):
    """Net benefit of each way to update a card, on held-out parts of the new rows.

    Attributes
    ----------
    ways : tuple of str
        From the smallest change to the largest; "keep" is the card as it is.
    fold_aunbc, fold_ece : (folds, ways) float
    ratio : float
        Held-out rows by training rows, mean over the folds: 1/4 for five folds.
    """

    ways: tuple[str, ...]
    fold_aunbc: FloatArray
    fold_ece: FloatArray
    ratio: float

    @property
    def best(self) -> str:
        """The way with the highest mean AUNBC; of equals the smallest change."""
        return self.ways[self._means.to]

    @property
    def suggested(self) -> str:
        """The smallest change that is at most one (corrected) standard error below the best."""
        return self.ways[int(np.argmax(self._means.near))]

    @cached_property
    def _means(self) -> FoldMeans:
        return fold_means(self.fold_aunbc, self.ratio)

    def to_table(self) -> Table:
        """One row per way: held-out AUNBC, its difference to the best, their errors, and ECE."""
        means = self._means
        return Table(
            {
                "what": np.array(self.ways, dtype=object),
                "aunbc": means.mean,
                "aunbc_se": means.error,
                "difference": means.difference,
                "difference_se": means.difference_error,
                "ece": self.fold_ece.mean(axis=0),
            }
        )

    @shown_on_stdout
    def __str__(self) -> str:
        t = self.to_table()
        rows = []
        for i, way in enumerate(self.ways):
            marks = [
                w for w, at in (("best", self.best), ("suggested", self.suggested)) if at == way
            ]
            area = with_error(t["aunbc"][i], t["aunbc_se"][i])
            gap = with_error(t["difference"][i], t["difference_se"][i])
            rows.append([way, area, gap, format_number(t["ece"][i]), ", ".join(marks)])
        head = ["change", "held-out AUNBC", "to the best", "ECE", ""]
        note = f"± one standard error over {len(self.fold_aunbc)} folds of the new rows"
        return "\n".join([*format_table(head, rows), note])


def choose_update(
    card: Scorecard,
    X: Any,
    y: ArrayLike,
    *,
    what: Sequence[str] = _ALL,
    folds: Any = 5,
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
    folds : int, splitter or iterable, default=5
        As in :func:`cross_validate`.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    UpdateChoice

    Examples
    --------
    >>> from netbenefit import PerUnit, Rule, Thresholds
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
    event = read_event(y, card)
    weight = check_weights(sample_weight, event.size)
    names: tuple[str, ...] = card.features
    if "refit" in ways:
        names = card.feature_names if estimator is None else needed_columns(card, estimator)
    columns = _chosen_columns(X, names, card.feature_names)
    sample = Sample(columns, event, event, weight)
    folds = make_folds(folds, sample, random_state, both=False)
    work = partial(_measure_ways, card, ways, sample, prior_strength, estimator)
    with Runner(work, "update", {}, total=len(folds), n_jobs=1) as runner:
        found = runner.run({f"fold {number}": fold for number, fold in enumerate(folds, 1)})
    areas, errors = (
        np.array([[one[measure] for one in fold["ways"]] for fold in found.values()])
        for measure in ("aunbc", "ece")
    )
    return UpdateChoice(ways, areas, errors, fold_ratio(folds))


def _measure_ways(
    card: Scorecard,
    ways: Sequence[str],
    sample: Sample,
    prior_strength: float,
    estimator: RiskScoreClassifier | None,
    fold: Fold,
) -> dict[str, Any]:
    """One fold: measures of the card after each way to update it, on the held-out rows."""
    train, test = fold
    old, new = take_rows(sample.X, train), take_rows(sample.X, test)
    weight = check_weights(sample.weight, sample.event.size)
    rows = _Rows(old, score_rows(card, old, len(train)), sample.event[train], weight[train])
    cards = []
    for way in ways:
        belief, own = (0.0, estimator) if way == "refit" else (prior_strength, None)
        cards.append(card if way == "keep" else _updated(card, rows, way, belief, own)[0])
    risks = [np.asarray(one.risk_of_score(score_rows(one, new, len(test)))) for one in cards]
    grid = card.thresholds
    return {"ways": [measures_of(sample.event[test], risk, weight[test], grid) for risk in risks]}

"""What an update has changed: points, cut-offs, risks and decisions, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cards.rules import RiskRow
from netbenefit.cards.scorecard import Scorecard
from netbenefit.cards.text import integer_text, percent, scores_text, strip_control
from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.common.table import Table, format_count, format_number, format_percent, format_table
from netbenefit.metrics import net_benefit as metrics
from netbenefit.metrics.measures import Measures, measure
from netbenefit.problem.result import SolverResult

__all__ = ["CardUpdate", "Scored", "compare_cards"]


class Scored(NamedTuple):
    """A card on the rows of an update."""

    card: Scorecard
    score: IntArray

    @property
    def risk(self) -> FloatArray:
        """Risk of each row."""
        return np.asarray(self.card.risk_of_score(self.score), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CardUpdate:
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

    def __str__(self) -> str:
        return "\n".join(_text(self))


def compare_cards(
    what: str,
    old: Scored,
    new: Scored,
    event: NDArray[np.bool_],
    weight: FloatArray,
    result: SolverResult | None = None,
) -> CardUpdate:
    """Put two cards side by side on the same rows."""
    same = old.card.rules == new.card.rules
    grid = new.card.thresholds
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


# -- tables ----------------------------------------------------------------------------------------


def _points(old: Scorecard, new: Scorecard) -> Table:
    before = {rule.term: rule.points for rule in old.rules}
    after = {rule.term: rule.points for rule in new.rules}
    terms = list(dict.fromkeys([*before, *after]))
    return Table(
        {
            "rule": np.array([strip_control(term.text()) for term in terms], dtype=object),
            "old": np.array([before.get(term, 0) for term in terms], dtype=np.int64),
            "new": np.array([after.get(term, 0) for term in terms], dtype=np.int64),
        }
    )


def _cutoffs(old: Scorecard, new: Scorecard) -> Table:
    before = dict(zip(old.thresholds.values[1:], old.cutoffs, strict=True))
    after = dict(zip(new.thresholds.values[1:], new.cutoffs, strict=True))
    values = sorted({*before, *after})
    return Table(
        {
            "threshold": np.array(values),
            "old": np.array([before.get(p, math.nan) for p in values], dtype=np.float64),
            "new": np.array([after.get(p, math.nan) for p in values], dtype=np.float64),
        }
    )


def _groups(old: Scored, new: Scored, event: NDArray[np.bool_], weight: FloatArray) -> Table:
    """Groups of scores that neither card tells apart."""
    edges = sorted(
        {row.low for one in (old, new) for row in one.card._risk_rows if row.low is not None}
    )
    if not edges:
        firsts, rows = [0], [RiskRow(None, None, 0.0)]
    else:
        firsts = [edges[0] - 1, *edges]
        ends = [*(edge - 1 for edge in edges), None]
        rows = [RiskRow(a, b, 0.0) for a, b in zip([None, *edges], ends, strict=True)]
    place = np.searchsorted(np.array(edges, dtype=np.int64), old.score, side="right")
    n = np.bincount(place, weights=weight, minlength=len(rows)).astype(np.float64)
    events = np.bincount(place, weights=weight * event, minlength=len(rows)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        observed = np.where(n > 0, events / np.where(n > 0, n, 1.0), np.nan)
    listed = [old.card._listed(row) for row in rows]
    kept = np.array([row is not None or n[i] > 0 for i, row in enumerate(listed)])
    texts = [scores_text(own or row) for own, row in zip(listed, rows, strict=True)]
    return Table(
        {
            "scores": np.array(texts, dtype=object)[kept],
            "n": n[kept],
            "events": events[kept],
            "observed": observed[kept],
            "old": np.array([old.card.risk_of_score(first) for first in firsts])[kept],
            "new": np.array([new.card.risk_of_score(first) for first in firsts])[kept],
        }
    )


def _levels(old: Scored, new: Scored, weight: FloatArray) -> Table:
    """Levels by threshold, of two cards whose scores mean different things."""
    grid = new.card.thresholds
    columns: dict[str, Any] = {
        "from": np.array(grid.values),
        "to": np.array([*grid.values[1:], 1.0]),
    }
    for name, one in (("old", old), ("new", new)):
        level = grid.level_of(one.risk)
        mass = np.bincount(level, weights=weight, minlength=len(grid)).astype(np.float64)
        total = np.bincount(level, weights=weight * one.risk, minlength=len(grid))
        mean = np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), np.nan)
        columns |= {f"{name}_n": mass, name: mean}
    return Table(columns)


def _decisions(old: Scored, new: Scored, event: NDArray[np.bool_], weight: FloatArray) -> Table:
    grid = new.card.thresholds
    p = grid.asked
    called_old, called_new = (one.risk[None, :] >= p[:, None] for one in (old, new))
    benefits = [
        metrics.net_benefit(event, one.risk, grid, sample_weight=weight) for one in (old, new)
    ]
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


# -- words -----------------------------------------------------------------------------------------

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
        *_cutoff_lines(update),
        "",
        *_risk_lines(update),
        *_joined_lines(update),
        "",
        *_decision_lines(update),
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
    """Warn that groups of scores are merged, which may be more than was meant."""
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
    if update.old.rules == update.new.rules:
        return ["points: as they were"]
    p = update.points
    rows = [
        [str(p["rule"][i]), integer_text(int(p["old"][i])), integer_text(int(p["new"][i]))]
        for i in range(p.n_rows)
    ]
    return format_table(["points of", "old", "new"], rows)


def _cutoff_lines(update: CardUpdate) -> list[str]:
    c = update.cutoffs
    rows = [
        [format_percent(c["threshold"][i]), _at_least(c["old"][i]), _at_least(c["new"][i])]
        for i in range(c.n_rows)
    ]
    return format_table(["cut-off of", "old", "new"], rows)


def _at_least(cutoff: float) -> str:
    return "–" if math.isnan(cutoff) else f"≥ {integer_text(int(cutoff))}"


def _risk_lines(update: CardUpdate) -> list[str]:
    r, grid = update.risks, update.new.thresholds

    def risk(value: float) -> str:
        return "–" if math.isnan(value) else percent(float(value), grid)

    if "scores" in r:
        rows = [
            [
                str(r["scores"][i]),
                format_count(r["n"][i]),
                format_count(r["events"][i]),
                format_percent(r["observed"][i]),
                risk(r["old"][i]),
                risk(r["new"][i]),
            ]
            for i in range(r.n_rows)
        ]
        return format_table(["score", "rows", "events", "observed", "old risk", "new risk"], rows)
    rows = [
        [
            f"{format_percent(r['from'][i])} to {format_percent(r['to'][i])}",
            format_count(r["old_n"][i]),
            risk(r["old"][i]),
            format_count(r["new_n"][i]),
            risk(r["new"][i]),
        ]
        for i in range(r.n_rows)
    ]
    return format_table(["risk", "old rows", "mean", "new rows", "mean"], rows)


def _decision_lines(update: CardUpdate) -> list[str]:
    d = update.decisions
    keys = ("old", "new", "to_positive", "to_negative")
    rows = [
        [
            format_percent(d["threshold"][i]),
            *(format_count(d[key][i]) for key in keys),
            format_number(d["old_net_benefit"][i]),
            format_number(d["new_net_benefit"][i]),
        ]
        for i in range(d.n_rows)
    ]
    head = ["acting at", "old", "new", "now yes", "now no", "net benefit, old", "new"]
    return format_table(head, rows, left=0)

"""Drift, in words."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from netbenefit.cards.text import clean
from netbenefit.common.table import Table
from netbenefit.common.text_table import lines_of, mass, number, share

__all__ = ["Prevalence", "drift_lines"]


class Prevalence(NamedTuple):
    """Share of events then and now; None where it is not known."""

    reference: float | None  #: in the reference table, or by the card's own record
    new: float | None
    low: float | None  #: 95% interval of the new one (Wilson)
    high: float | None
    expected: float  #: mean risk of the new rows: what the card says their prevalence is


class Tables(Protocol):
    """What is told of a :class:`netbenefit.updating.update.Drift`."""

    @property
    def columns(self) -> Table: ...

    @property
    def rules(self) -> Table: ...

    @property
    def score_psi(self) -> float: ...

    @property
    def score_chance(self) -> float: ...

    @property
    def beyond(self) -> float: ...

    @property
    def prevalence(self) -> Prevalence: ...

    @property
    def n_reference(self) -> float: ...

    @property
    def n_new(self) -> float: ...


def drift_lines(drift: Tables) -> list[str]:
    """Put drift into words, one line each."""
    known = drift.n_reference > 0
    against = f"against {mass(drift.n_reference)} of reference" if known else "no reference table"
    lines = [f"Drift: {mass(drift.n_new)} rows, {against}", "", *_prevalence_text(drift), ""]
    if drift.columns.n_rows:
        lines += [*_column_lines(drift.columns), "", *_rule_lines(drift.rules), ""]
    if known:
        lines.append(
            f"score levels: PSI {number(drift.score_psi, 3)}, by chance up to "
            f"{number(drift.score_chance, 3)}"
        )
    if not math.isnan(drift.beyond):
        lines.append(f"scores beyond those of training: {share(drift.beyond)} of the rows")
    if known or drift.columns.n_rows:
        lines.append("By chance: what the index exceeds in 5% of cases where nothing has changed.")
    return lines


def _column_lines(c: Table) -> list[str]:
    head = ["column", "PSI", "by chance", "std. diff.", "missing then", "now", "unseen", ""]
    rows = [
        [
            clean(str(c["column"][i])),
            number(c["psi"][i], 3),
            number(c["chance"][i], 3),
            number(c["difference"][i], 2),
            share(c["missing_reference"][i]),
            share(c["missing"][i]),
            share(c["unseen"][i]),
            clean(str(c["unseen_values"][i])),
        ]
        for i in range(c.n_rows)
    ]
    return lines_of(head, rows)


def _rule_lines(r: Table) -> list[str]:
    head = ["rule", "points", "mean then", "now", "PSI", "std. diff.", "moves the score by"]
    rows = [
        [
            str(r["rule"][i]),
            number(r["points"][i], 0),
            number(r["reference"][i], 3),
            number(r["new"][i], 3),
            number(r["psi"][i], 3),
            number(r["difference"][i], 2),
            number(r["shift"][i], 2),
        ]
        for i in range(r.n_rows)
    ]
    return lines_of(head, rows)


def _prevalence_text(drift: Tables) -> list[str]:
    p = drift.prevalence
    then = "not recorded" if p.reference is None else f"{share(p.reference)} then"
    now = ""
    if p.new is not None:
        now = f", {share(p.new)} now (95% interval {share(p.low)} to {share(p.high)})"
    return [f"prevalence: {then}{now}; the card expects {share(p.expected)}"]

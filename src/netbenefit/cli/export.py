"""``netbenefit export``: a card in the formats of other programs."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import option

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard
    from netbenefit.export import Scaling


#: What a card can be exported to.
Format = StrEnum("Format", "json html sql python js xlsx pmml md latex")
#: What suffixes of files stand for.
_SUFFIXES = {
    ".json": Format.json,
    ".html": Format.html,
    ".htm": Format.html,
    ".sql": Format.sql,
    ".py": Format.python,
    ".js": Format.js,
    ".mjs": Format.js,
    ".xlsx": Format.xlsx,
    ".pmml": Format.pmml,
    ".md": Format.md,
    ".tex": Format.latex,
}
#: Databases that a query can be written for.
Dialect = StrEnum("Dialect", "ansi duckdb postgresql spark")


@terminal.report_user_errors
def export(
    card: options.Card,
    to: Annotated[Format, typer.Option(help="The format.")],
    out: Annotated[
        Path | None, option("FILE", "Where to write it; on the screen by default.")
    ] = None,
    threshold: Annotated[
        float | None, option("RISK", "Of html: the risk from which one would act, to begin with.")
    ] = None,
    scale: Annotated[
        str | None,
        option(
            "PDO,SCORE,ODDS",
            "Add a scaled score: points that double the odds, and a base score with its odds, "
            "such as 20,600,50.",
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="A lower scaled score means a lower risk.")
    ] = False,
    dialect: Annotated[Dialect, typer.Option(help="Of sql: the database.")] = Dialect.ansi,
    table: Annotated[
        str | None,
        option("NAME", "Of sql: write a query of this table (schema.table), not two expressions."),
    ] = None,
    labels: options.Labels = None,
    debug: options.Debug = False,
) -> None:
    """Write a card as a calculator page, SQL, Python, JavaScript, Excel, PMML, Markdown or LaTeX.

    Every export gives every row the score and the risk that the card gives it.
    """
    from netbenefit import export as formats
    from netbenefit.common import InputError, write_text

    terminal.check_writable([card], out)
    if out is not None and (named := _SUFFIXES.get(out.suffix.lower(), to)) is not to:
        raise InputError(
            f"--out {out}: files of that suffix hold {named.value}, but --to {to.value} was asked "
            f"for. Write --to {named.value}, or choose another name."
        )
    scorecard = terminal.load_card(card)
    if labels is not None:
        scorecard = scorecard.with_labels(labels)
    scaling = None if scale is None else _scaling(scorecard, scale, lower_is_better)
    if scaling is not None:
        if to is Format.json:
            raise InputError("a card's own file holds no scaled score: leave --scale out.")
        terminal.print_note("bold", "scaled", scaling.text())
    if lower_is_better and scaling is None:
        raise InputError("--lower-is-better says how to scale: give --scale, too.")
    for name, given, of in (
        ("threshold", threshold is not None, Format.html),
        ("dialect", dialect is not Dialect.ansi, Format.sql),
        ("table", table is not None, Format.sql),
    ):
        if given and to is not of:
            raise InputError(f"--{name} is for --to {of.value}: leave it out.")
    if to is Format.xlsx:
        if out is None:
            raise InputError("a workbook is not text: name a file with --out card.xlsx.")
        formats.to_xlsx(scorecard, out, scaling=scaling)
        terminal.print_saved(out)
        return
    if to is Format.json:
        text = scorecard.to_json()
    elif to is Format.sql:
        place = None if table is None else table.split(".")
        text = formats.to_sql(scorecard, dialect=dialect.value, table=place, scaling=scaling)
    elif to is Format.html:
        text = formats.to_calculator(
            scorecard,
            threshold=threshold,
            scaling=scaling,
        )
    else:
        writers: dict[Format, Callable[..., str]] = {
            Format.python: formats.to_python,
            Format.js: formats.to_javascript,
            Format.pmml: formats.to_pmml,
            Format.md: formats.to_markdown,
            Format.latex: formats.to_latex,
        }
        text = writers[to](scorecard, scaling=scaling)
    if out is None:
        terminal.print_for_programs(text if text.endswith("\n") else f"{text}\n")
        return
    write_text(out, text)
    terminal.print_saved(out)


def _scaling(card: Scorecard, text: str, lower_is_better: bool) -> Scaling:
    from netbenefit.common import InputError
    from netbenefit.export import scale

    try:
        double, score, odds = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"--scale {text} must be three numbers, such as 20,600,50: points that double the "
            "odds, a base score, and the odds there."
        ) from None
    return scale(
        card,
        points_to_double=double,
        base_score=score,
        base_odds=odds,
        higher_is_better=not lower_is_better,
    )

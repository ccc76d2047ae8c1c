"""The command ``netbenefit export``: a card where people work."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netbenefit._cli_options import Card, Debug, option
from netbenefit._terminal import check_writable, friendly, load_card, tell

if TYPE_CHECKING:
    from netbenefit.scorecard import Scorecard

__all__ = ["export"]


class Format(StrEnum):
    """What a card can be exported to."""

    json = "json"
    html = "html"
    js = "js"
    xlsx = "xlsx"
    pmml = "pmml"
    md = "md"
    latex = "latex"


@friendly
def export(
    card: Card,
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
            "Say how a scaled score is read: points that double the odds, and a base score with "
            "its odds, such as 20,600,50.",
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="A lower scaled score means a lower risk.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Write a card as a calculator page, JavaScript, Excel, PMML, Markdown or LaTeX.

    Every export gives every row the score and the risk that the card gives it.
    """
    from netbenefit._atomic import write_text
    from netbenefit._validation import InputError

    check_writable(out, card)
    scorecard = load_card(card)
    if scale is not None:
        tell("bold", "scaled", _scaled(scorecard, scale, lower_is_better))
    if to is Format.xlsx:
        from netbenefit.export.xlsx import to_xlsx

        if out is None:
            raise InputError("a workbook is no text: name a file with --out card.xlsx.")
        to_xlsx(scorecard, out)
    else:
        text = _text(scorecard, to, threshold)
        if out is None:
            typer.echo(text, nl=not text.endswith("\n"))
            return
        write_text(out, text)
    tell("bold", "saved", out)


def _text(card: Scorecard, to: Format, threshold: float | None) -> str:
    if to is Format.json:
        return card.to_json()
    if to is Format.html:
        from netbenefit.export.calculator import to_calculator

        return to_calculator(card, threshold=threshold)
    if to is Format.js:
        from netbenefit.export.javascript import to_javascript

        return to_javascript(card)
    if to is Format.pmml:
        from netbenefit.export.pmml import to_pmml

        return to_pmml(card)
    from netbenefit.export import tables

    return tables.to_markdown(card) if to is Format.md else tables.to_latex(card)


def _scaled(card: Scorecard, wanted: str, lower_is_better: bool) -> str:
    from netbenefit._validation import InputError
    from netbenefit.export.scaling import scale

    parts = wanted.split(",")
    try:
        double, score, odds = (float(part) for part in parts)
    except ValueError:
        raise InputError(
            f"--scale {wanted} must be three numbers, such as 20,600,50: points that double the "
            "odds, a base score, and the odds there."
        ) from None
    return scale(
        card,
        points_to_double=double,
        base_score=score,
        base_odds=odds,
        higher_is_better=not lower_is_better,
    ).text()

"""``netbenefit verify``: a card and its certificate, checked against the data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import option


@terminal.report_user_errors
def verify(
    card: options.Card,
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERTIFICATE", help="What `fit --certificate` has written."),
    ],
    data: options.Sources,
    *,
    named: options.OutcomeOptions,
    full: Annotated[
        bool, typer.Option("--full", help="Check every box; refuse what cannot be checked.")
    ] = False,
    sample: Annotated[int, option("N", "Boxes to check, drawn at random.")] = 200,
    seed: Annotated[int | None, option("N", "Seed of the draw.", "a new one")] = None,
    debug: options.Debug = False,
) -> None:
    """Check a card and its certificate against the data they were made from.

    Everything is counted anew, without the solver: the value of the card, that the boxes of the
    proof leave out no card, and their bounds.  Exit code 1 if anything does not hold.
    """
    from netbenefit.certificates import Certificate, verify
    from netbenefit.cli.rows import open_data, read_for_card
    from netbenefit.common import InputError
    from netbenefit.data import RawFile, find_source

    scorecard = terminal.load_card(card)
    if not certificate.is_file():
        raise InputError(f"{certificate}: no such file. Name a certificate that `fit` has written.")
    record = Certificate.load(certificate)
    texts = {term.feature for term in record.problem.terms if term.kind == "text"}
    file = open_data(find_source(data), stream=False, as_text=texts)
    assert isinstance(file, RawFile)
    outcome, weight = read_for_card(scorecard, file.columns, named)
    with terminal.warnings_as_notes():
        verdict = verify(
            scorecard,
            record,
            file.columns,
            outcome.event,
            sample_weight=weight,
            full=full,
            sample=sample,
            seed=seed,
        )
    console = terminal.make_console()
    signs = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("?", "yellow")}
    width = max(len(check.name) for check in verdict.checks)
    for check in verdict.checks:
        sign, style = signs[check.ok]
        console.print(f"{sign} {check.name:<{width}}  {check.text}", style=style)
    console.print(verdict.summary, style="bold" if verdict.accepted else "bold red")
    if not verdict.accepted:
        raise typer.Exit(1)

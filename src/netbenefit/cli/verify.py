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
    sample: Annotated[
        int | None,
        option("N", "A quick look: recount only N boxes, drawn at random.", "all boxes"),
    ] = None,
    seed: Annotated[int | None, option("N", "Seed of the draw.", "a new one")] = None,
    allow_unchecked: Annotated[
        bool, typer.Option("--allow-unchecked", help="Exit code 0 instead of 3.")
    ] = False,
    files: options.FileOptions,
    debug: options.Debug = False,
) -> None:
    """Check a card and its certificate against the data they were made from.

    Everything is counted anew, without the solver: the value of the card, that the boxes of the
    proof leave out no card, and their bounds.  Exit code 0 if everything that the certificate
    claims was recounted and holds, 1 if anything does not hold, 3 if nothing was found to be wrong
    but not everything was recounted (with --sample).  What the rows do not show is listed as
    stated, not recounted: a teacher's net benefit, figures of other rows, labels of the card.
    """
    from netbenefit.cli.rows import format_of, open_data, outcome_column, read_for_card
    from netbenefit.common import InputError
    from netbenefit.data import RawFile, find_source

    scorecard = terminal.load_card(card)
    if not certificate.is_file():
        raise InputError(f"{certificate}: no such file. Name a certificate that `fit` has written.")
    from netbenefit.certificates import Certificate, verify  # late: they take seconds

    record = Certificate.load(certificate)
    texts = {term.feature for term in record.problem.terms if term.kind == "text"}
    file = open_data(find_source(data, format_of(files)), stream=False, as_text=texts)
    assert isinstance(file, RawFile)
    rows = read_for_card(scorecard, file, named)
    outcome, weight = rows.outcome, rows.weight
    target, _ = outcome_column(scorecard, file.columns, named)
    with terminal.warnings_as_notes(place=rows.place):
        verdict = verify(
            scorecard,
            record,
            rows.columns(),
            outcome.event,
            sample_weight=weight,
            sample=sample,
            seed=seed,
            outcome=(target, outcome.labels[1]),
        )
    console = terminal.make_console()
    signs = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("?", "yellow")}
    width = max(len(check.name) for check in verdict.checks)
    for check in verdict.checks:
        sign, style = signs[check.ok]
        console.print(terminal.plain(f"{sign} {check.name:<{width}}  {check.text}"), style=style)
    for text in verdict.stated:
        line = f"· {'stated':<{width}}  not recounted: {text}"
        console.print(terminal.plain(line), style="yellow")
    style = "bold red" if not verdict.consistent else "bold" if verdict.accepted else "bold yellow"
    console.print(terminal.plain(verdict.summary), style=style)
    if not verdict.consistent:
        raise typer.Exit(1)
    if not verdict.accepted and not allow_unchecked:
        raise typer.Exit(3)

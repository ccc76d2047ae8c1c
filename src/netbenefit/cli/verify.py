"""The body of ``netbenefit verify``: read three files, let the judge look at them, print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from netbenefit.cli.terminal import load_card, make_console, warnings_as_notes


def verify_command(
    card: Path,
    certificate: Path,
    data: Sequence[str],
    target: str | None = None,
    *,
    positive: str | None = None,
    sample_weight: str | None = None,
    full: bool = False,
    sample: int = 200,
    seed: int | None = None,
) -> None:
    """Check a card and its certificate against the data, and say what was found.

    Ends with exit code 0 where they are accepted and 1 where they are refused; files that cannot
    be read are errors (exit code 2), as elsewhere.

    Parameters
    ----------
    card, certificate : Path
    data : sequence of str
        Files, or a table in a database; read into memory.
    target : str, optional
        The column with the outcome; the card's own by default.
    positive, sample_weight : str, optional
        The event's label; the column of row weights.
    full : bool, default=False
        Check every box, and refuse what cannot be rechecked.
    sample, seed : int
        How many boxes are checked otherwise, and the seed that draws them.
    """
    from netbenefit.certificates import Certificate, verify
    from netbenefit.cli.rows import read_data, read_for_card
    from netbenefit.common import InputError
    from netbenefit.data import find_source

    scorecard = load_card(card)
    if not certificate.is_file():
        raise InputError(f"{certificate}: no such file. Name a certificate that `fit` has written.")
    record = Certificate.load(certificate)
    texts = {term.feature for term in record.problem.terms if term.kind == "text"}
    columns = read_data(find_source(data), as_text=texts).columns
    outcome, weight = read_for_card(scorecard, columns, target, positive, sample_weight)
    with warnings_as_notes():
        verdict = verify(
            scorecard,
            record,
            columns,
            outcome.event,
            sample_weight=weight,
            full=full,
            sample=sample,
            seed=seed,
        )
    console = make_console()
    width = max(len(check.name) for check in verdict.checks)
    for check in verdict.checks:
        sign, style = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("?", "yellow")}[
            check.ok
        ]
        console.print(f"{sign} {check.name:<{width}}  {check.text}", style=style)
    console.print(verdict.summary, style="bold" if verdict.accepted else "bold red")
    if not verdict.accepted:
        raise typer.Exit(1)

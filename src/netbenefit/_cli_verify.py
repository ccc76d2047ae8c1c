"""The body of ``netbenefit verify``: read three files, let the judge look at them, print."""

from __future__ import annotations

from pathlib import Path

import typer

from netbenefit._terminal import load_card, make_console, pick_column

__all__ = ["verify_command"]


def verify_command(
    card: Path,
    certificate: Path,
    data: Path,
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
    card, certificate, data : Path
    target : str, optional
        The column with the outcome; the card's own by default.
    positive, sample_weight : str, optional
        The event's label; the column of row weights.
    full : bool, default=False
        Check every box, and refuse what cannot be rechecked.
    sample, seed : int
        How many boxes are checked otherwise, and the seed that draws them.
    """
    from netbenefit import _outcome
    from netbenefit._fit_notes import check_features
    from netbenefit._io import read_table
    from netbenefit._validation import InputError
    from netbenefit.certificate import Certificate
    from netbenefit.verify import verify

    scorecard = load_card(card)
    if not certificate.is_file():
        raise InputError(f"{certificate}: no such file. Name a certificate that `fit` has written.")
    record = Certificate.load(certificate)
    columns = read_table(data)
    says = scorecard.provenance.outcome if scorecard.provenance else None
    label: str | None
    if target is None:
        target, label = _outcome.find_target(columns, says, scorecard.features)
    else:
        label = _outcome.label_in(says, target)
    outcome = _outcome.read_outcome(
        target,
        pick_column(columns, target, "--target"),
        positive if positive is not None else label,
    )
    weight = None
    if sample_weight is not None:
        weight = pick_column(columns, sample_weight, "--sample-weight")
        check_features({sample_weight: weight})
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

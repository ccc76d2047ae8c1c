"""``netbenefit report``: a card evaluated on rows, as one offline page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from netbenefit.cli import options, terminal
from netbenefit.cli.options import option


@terminal.report_user_errors
def report(
    card: options.Card,
    data: options.Data,
    out: Annotated[Path, option("FILE", "Where to write the page.")] = Path("report.html"),
    *,
    named: options.OutcomeOptions,
    certificate: Annotated[
        Path | None,
        option("FILE", "What `fit --certificate` wrote for this card: checked against the rows."),
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Write a report: card, levels, decision curve, calibration, columns, proof, checklist.

    One HTML file that works offline and prints well.  Values that are missing, unknown or new in
    the rows are reported as the card reports them.
    """
    from netbenefit.cli.rows import outcome_column, read_for_card
    from netbenefit.common import write_text
    from netbenefit.data import read_table

    terminal.check_writable([card, data, certificate], out)
    scorecard = terminal.load_card(card)
    columns = read_table(data, text=scorecard.text_features)
    outcome, weight = read_for_card(scorecard, columns, named)
    from netbenefit.report import validation_page  # late: it takes seconds

    record, verdict = None, None
    if certificate is not None:
        from netbenefit.certificates import Certificate, verify

        record = Certificate.load(certificate)
        with terminal.warnings_as_notes(quiet=True):
            verdict = verify(
                scorecard,
                record,
                columns,
                outcome.event,
                sample_weight=weight,
                outcome=(outcome_column(scorecard, columns, named)[0], outcome.labels[1]),
            )
    with terminal.warnings_as_notes():
        page = validation_page(
            scorecard,
            columns,
            outcome.event,
            sample_weight=weight,
            data=data.name,
            certificate=record,
            verdict=verdict,
        )
    write_text(out, page)
    terminal.print_saved(out)

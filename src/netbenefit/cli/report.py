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
    files: options.FileOptions,
    debug: options.Debug = False,
) -> None:
    """Write a report: card, levels, decision curve, calibration, columns, proof, checklist.

    One HTML file that works offline and prints well.  Values that are missing, unknown or new in
    the rows are reported as the card reports them.
    """
    from netbenefit.cli.rows import format_of, outcome_column, read_file, read_for_card
    from netbenefit.common import write_text

    terminal.check_writable([card, data, certificate], out)
    scorecard = terminal.load_card(card)
    file = read_file(data, scorecard.text_features, format_of(files))
    rows = read_for_card(scorecard, file, named)
    columns, outcome, weight = rows.columns(), rows.outcome, rows.weight
    from netbenefit.report import validation_page  # late: it takes seconds

    record, verdict = None, None
    if certificate is not None:
        from netbenefit.certificates import Certificate, verify

        record = Certificate.load(certificate)
        with terminal.warnings_as_notes(quiet=True, place=rows.place):
            verdict = verify(
                scorecard,
                record,
                columns,
                outcome.event,
                sample_weight=weight,
                outcome=(outcome_column(scorecard, columns, named)[0], outcome.labels[1]),
            )
    with terminal.warnings_as_notes(place=rows.place):
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

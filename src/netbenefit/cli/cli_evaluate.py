"""``netbenefit evaluate``: a stored card on a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from netbenefit.cli.terminal import check_writable, load_card, make_console, tell, warnings_as_notes

if TYPE_CHECKING:
    from netbenefit.cards.scorecard import Scorecard

__all__ = ["evaluate_command"]


def evaluate_command(
    card: Path,
    data: Sequence[str],
    target: str | None,
    *,
    positive: str | None,
    sample_weight: str | None,
    thresholds: str | None,
    as_json: bool,
    csv: Path | None,
    reference: Path | None,
    stream: bool | None = None,
    quiet: bool = False,
) -> None:
    """Measure a card, and print or save what was found."""
    from netbenefit.cli.cli_source import open_data
    from netbenefit.cli.evaluate import evaluate_open
    from netbenefit.cli.fit_notes import read_for_card
    from netbenefit.common.table import format_table
    from netbenefit.data.files import RawFile, write_csv
    from netbenefit.data.sources import find_source
    from netbenefit.metrics.thresholds import as_thresholds
    from netbenefit.report import text
    from netbenefit.updating.evaluate import calibration_lines, level_lines
    from netbenefit.updating.update import evaluate_card

    source = find_source(data)
    check_writable(csv, card, *source.files, *([reference] if reference else []))
    scorecard = load_card(card)
    grid = scorecard.thresholds if thresholds is None else as_thresholds(thresholds)
    given = open_data(source, stream=stream, as_text=scorecard.text_features, quiet=quiet)
    if isinstance(given, RawFile):
        columns = given.columns
        outcome, weight = read_for_card(scorecard, columns, target, positive, sample_weight)
        called = outcome.text
        compared = {}
        if reference is not None:
            compared = _reference(scorecard, reference, target, positive, sample_weight)
        with warnings_as_notes():
            found = evaluate_card(
                scorecard,
                columns,
                outcome.event,
                thresholds=grid,
                sample_weight=weight,
                **compared,
            )
    else:
        with given:
            found, called = evaluate_open(
                scorecard,
                given,
                target,
                positive,
                sample_weight,
                thresholds=grid,
                reference=reference,
                quiet=quiet,
            )
    if csv is not None:
        write_csv(found.curve, csv)
    if as_json:
        extra = _extra(found, drifted=reference is not None)
        typer.echo(text.to_json(found.measures, found.curve, called, grid, extra))
        return
    console = make_console()
    console.print(f"{card} on {source.shown}, {called}:")
    console.print(text.measure_table(found.measures))
    console.print("\n".join(format_table(["", ""], calibration_lines(found.calibration))[1:]))
    console.print("\n" + "\n".join(level_lines(found.levels)))
    console.print(text.curve_table(found.curve))
    if reference is not None and found.drift is not None:
        console.print(str(found.drift))
    if csv is not None:
        tell("bold", "saved", csv)


def _reference(
    card: Scorecard,
    reference: Path,
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
) -> dict[str, Any]:
    """Rows to compare with; their outcomes and weights where the file has them."""
    from netbenefit.cli.fit_notes import read_for_card
    from netbenefit.common.checks import InputError
    from netbenefit.data.files import read_table

    columns = read_table(reference, text=card.text_features)
    compared: dict[str, Any] = {"reference": columns}
    weight_there = sample_weight if sample_weight in columns else None
    try:
        outcome, weight = read_for_card(card, columns, target, positive, weight_there)
    except InputError:
        tell("yellow", "note", f"{reference} has no outcome that can be read: prevalence left out.")
        return compared
    return {**compared, "reference_y": outcome.event, "reference_weight": weight}


def _extra(found: Any, drifted: bool) -> dict[str, Any]:
    """What else the JSON tells: calibration, levels, and drift where it was asked for."""
    told: dict[str, Any] = {
        "calibration": {**found.calibration._asdict(), "ratio": found.calibration.ratio},
        "levels": _records(found.to_table()),
    }
    if drifted and found.drift is not None:
        drift = found.drift
        told["drift"] = {
            "prevalence": drift.prevalence._asdict(),
            "score_psi": drift.score_psi,
            "score_chance": drift.score_chance,
            "beyond": drift.beyond,
            **{k: _records(getattr(drift, k)) for k in ("columns", "bins", "rules", "levels")},
        }
    return told


def _records(table: Any) -> list[dict[str, Any]]:
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]

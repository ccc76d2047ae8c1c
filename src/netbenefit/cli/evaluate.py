"""``netbenefit evaluate``: a stored card on a table, in memory or where it is."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import GRID, option

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard
    from netbenefit.data import OpenTable
    from netbenefit.metrics import Thresholds
    from netbenefit.updating import CardEvaluation, Drift


@terminal.report_user_errors
def evaluate(
    card: options.Card,
    data: options.Sources,
    *,
    named: options.OutcomeOptions,
    thresholds: Annotated[str | None, option("GRID", GRID, "the card's own")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    csv: Annotated[Path | None, option("FILE", "Save the decision curve.")] = None,
    reference: Annotated[
        Path | None,
        option("DATA", "A table to compare with, such as the training rows: what has drifted?"),
    ] = None,
    stream: options.Stream = None,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Measure a card on a table: net benefit, discrimination, calibration, drift.

    The thresholds are the card's own unless others are given.  A card that was learnt from a raw
    table reads raw tables: text, missing values, special codes.
    """
    from netbenefit.cli.model import refuse_suggest
    from netbenefit.cli.rows import format_of, open_data, read_for_card
    from netbenefit.common import format_table
    from netbenefit.data import RawFile, find_source, write_csv
    from netbenefit.metrics import as_thresholds

    refuse_suggest(thresholds)
    source = find_source(data, format_of(files))
    terminal.check_writable([card, *source.files, reference], csv)
    scorecard = terminal.load_card(card)
    grid = scorecard.thresholds if thresholds is None else as_thresholds(thresholds)
    given = open_data(source, stream=stream, as_text=scorecard.text_features, quiet=quiet)
    if isinstance(given, RawFile):
        rows = read_for_card(scorecard, given, named, quiet)
        text = rows.outcome.text
        compared = {} if reference is None else _reference(scorecard, reference, named, files)
        from netbenefit.updating import evaluate_card  # late: it takes seconds

        with terminal.warnings_as_notes(place=rows.place):
            found = evaluate_card(
                scorecard,
                rows.columns(),
                rows.outcome.event,
                thresholds=grid,
                sample_weight=rows.weight,
                **compared,
            )
    else:
        with given:
            found, text = _evaluate_open(scorecard, given, named, grid, reference, files, quiet)
    from netbenefit.report import curve_table, evaluation_json, measure_table, training_note
    from netbenefit.updating import beside_lines, calibration_lines, level_lines

    drift = None if reference is None else found.drift
    if csv is not None:
        write_csv(found.curve, csv)
    if as_json:
        extra = _extra(found, drift)
        terminal.print_for_programs(
            evaluation_json(found.measures, found.curve, text, grid, extra) + "\n"
        )
        return
    if not quiet and (seen := training_note(scorecard, found.measures)):
        terminal.note(seen)
    console = terminal.make_console()
    console.print(f"{card} on {source.shown}, {text}:")
    console.print(measure_table(found.measures))
    console.print("\n".join(format_table(["", ""], calibration_lines(found.calibration))[1:]))
    console.print("\n" + "\n".join(level_lines(found.levels)))
    console.print(curve_table(found.curve))
    console.print("\n".join(beside_lines(found.beside)))
    if drift is not None:
        console.print(str(drift))
    terminal.print_saved(csv)


def _evaluate_open(
    card: Scorecard,
    table: OpenTable,
    named: options.OutcomeOptions,
    thresholds: Thresholds,
    reference: Path | None,
    files: options.FileOptions,
    quiet: bool,
) -> tuple[CardEvaluation, str]:
    """Measure a card on an open table; return also what the outcome is called."""
    from netbenefit.cards import check_present
    from netbenefit.cli.rows import format_of, open_table, outcome_column, outcome_of_table
    from netbenefit.data import duckdb_errors, find_source

    (target, label), weight = outcome_column(card, table.columns, named), named.sample_weight
    terminal.check_column(table.columns, target, "--target")
    terminal.check_column(table.columns, weight, "--sample-weight")
    check_present(card.features, table.columns)
    used = list(dict.fromkeys([*card.features, target, *([weight] if weight else [])]))
    table.check_columns(used)
    with duckdb_errors(table.source):
        table, outcome, _ = outcome_of_table(table, target, label, quiet)
    with ExitStack() as stack:
        compared = None
        if reference is not None:
            other = stack.enter_context(
                open_table(
                    find_source([str(reference)], format_of(files)), card.text_features, quiet=quiet
                )
            )
            check_present(card.features, other.columns)
            there = [name for name in used if name in other.columns]
            if target not in there:
                _tell_no_outcome(other.source.shown)
            compared = other.relation(there)
        found = evaluate_relation(
            card,
            table,
            table.relation(used),
            target,
            quiet,
            positive=outcome.labels[1],
            sample_weight=weight,
            thresholds=thresholds,
            reference=compared,
        )
    return found, outcome.text


def evaluate_relation(
    card: Scorecard, table: OpenTable, relation: Any, target: str, quiet: bool, **settings: Any
) -> CardEvaluation:
    """Measure a card on rows of a table that DuckDB scores and counts by score and outcome."""
    from netbenefit.data import QueryBar, duckdb_errors
    from netbenefit.updating import evaluate_table

    with (
        terminal.warnings_as_notes(quiet),
        duckdb_errors(table.source),
        QueryBar(table.connection, "scoring and counting rows", shown=not quiet) as bar,
    ):
        return evaluate_table(card, relation, target, tell=bar.say, **settings)


def _tell_no_outcome(place: object) -> None:
    terminal.note(f"{place} has no outcome that can be read: prevalence left out.")


def _reference(
    card: Scorecard,
    reference: Path,
    named: options.OutcomeOptions,
    files: options.FileOptions,
) -> dict[str, Any]:
    """Rows to compare with; their outcomes and weights where the file has them."""
    from netbenefit.cli.rows import format_of, read_file, read_for_card
    from netbenefit.common import InputError

    file = read_file(reference, card.text_features, format_of(files))
    if named.sample_weight not in file.columns:
        named = replace(named, sample_weight=None)
    try:
        rows = read_for_card(card, file, named)
    except InputError:
        _tell_no_outcome(reference)
        return {"reference": file.columns}
    return {
        "reference": rows.columns(),
        "reference_y": rows.outcome.event,
        "reference_weight": rows.weight,
    }


def _extra(found: CardEvaluation, drift: Drift | None) -> dict[str, Any]:
    """What else the JSON holds: calibration, levels, and drift where it was measured."""
    from netbenefit.report import records

    extra: dict[str, Any] = {
        "beside": [one._asdict() for one in found.beside],
        "calibration": {**found.calibration._asdict(), "ratio": found.calibration.ratio},
        "levels": records(found.to_table()),
    }
    if drift is not None:
        extra["drift"] = {
            "prevalence": drift.prevalence._asdict(),
            "score_psi": drift.score_psi,
            "score_chance": drift.score_chance,
            "beyond": drift.beyond,
            **{k: records(getattr(drift, k)) for k in ("columns", "bins", "answers", "levels")},
        }
    return extra

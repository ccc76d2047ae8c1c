"""``netbenefit evaluate``: a stored card on a table, in memory or where it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from netbenefit.cli.terminal import check_writable, load_card, make_console, tell, warnings_as_notes

if TYPE_CHECKING:
    from netbenefit.cards import Scorecard
    from netbenefit.data import OpenTable
    from netbenefit.metrics import Thresholds
    from netbenefit.updating import CardEvaluation


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
    from netbenefit.cli.rows import open_data, read_for_card
    from netbenefit.common import format_table
    from netbenefit.data import RawFile, find_source, write_csv
    from netbenefit.metrics import as_thresholds
    from netbenefit.report import curve_table, evaluation_json, measure_table
    from netbenefit.updating import calibration_lines, evaluate_card, level_lines

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
            found, called = _evaluate_open(
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
        typer.echo(evaluation_json(found.measures, found.curve, called, grid, extra))
        return
    console = make_console()
    console.print(f"{card} on {source.shown}, {called}:")
    console.print(measure_table(found.measures))
    console.print("\n".join(format_table(["", ""], calibration_lines(found.calibration))[1:]))
    console.print("\n" + "\n".join(level_lines(found.levels)))
    console.print(curve_table(found.curve))
    if reference is not None and found.drift is not None:
        console.print(str(found.drift))
    if csv is not None:
        tell("bold", "saved", csv)


def _evaluate_open(
    card: Scorecard,
    table: OpenTable,
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
    *,
    thresholds: Thresholds,
    reference: Path | None = None,
    quiet: bool = False,
) -> tuple[CardEvaluation, str]:
    """Measure a card on an open table; return also what the outcome is called."""
    from contextlib import ExitStack

    from netbenefit.cards import check_present
    from netbenefit.cli.rows import check_column, open_table, outcome_of_table
    from netbenefit.data import duckdb_errors, find_source, find_target, label_in

    says = card.provenance.outcome if card.provenance else None
    target = find_target(table.columns, says, card.features)[0] if target is None else target
    check_column(table, target, "--target")
    check_column(table, sample_weight, "--sample-weight")
    check_present(card.features, table.columns)
    weights = [sample_weight] if sample_weight else []
    used = list(dict.fromkeys([*card.features, target, *weights]))
    table.check_columns(used)
    label = positive if positive is not None else label_in(says, target)
    with duckdb_errors(table.source):
        outcome, _ = outcome_of_table(table, target, label)
    with ExitStack() as stack:
        compared = None
        if reference is not None:
            other = stack.enter_context(
                open_table(find_source([str(reference)]), card.text_features, quiet=quiet)
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
            outcome.labels[1],
            sample_weight,
            thresholds,
            quiet,
            reference=compared,
        )
    return found, outcome.text


def evaluate_relation(
    card: Scorecard,
    table: OpenTable,
    relation: Any,
    target: str,
    label: Any,
    weight: str | None,
    thresholds: Thresholds,
    quiet: bool,
    *,
    reference: Any = None,
) -> CardEvaluation:
    """Measure a card on rows that DuckDB scores and counts by score and outcome."""
    from netbenefit.data import QueryBar, duckdb_errors
    from netbenefit.updating import evaluate_table

    with (
        warnings_as_notes(quiet),
        duckdb_errors(table.source),
        QueryBar(table.connection, "scoring and counting rows", shown=not quiet) as bar,
    ):
        return evaluate_table(
            card,
            relation,
            target,
            positive=label,
            thresholds=thresholds,
            sample_weight=weight,
            reference=reference,
            tell=bar.say,
        )


def _tell_no_outcome(place: object) -> None:
    tell("yellow", "note", f"{place} has no outcome that can be read: prevalence left out.")


def _reference(
    card: Scorecard,
    reference: Path,
    target: str | None,
    positive: str | None,
    sample_weight: str | None,
) -> dict[str, Any]:
    """Rows to compare with; their outcomes and weights where the file has them."""
    from netbenefit.cli.rows import read_for_card
    from netbenefit.common import InputError
    from netbenefit.data import read_table

    columns = read_table(reference, text=card.text_features)
    compared: dict[str, Any] = {"reference": columns}
    weight_there = sample_weight if sample_weight in columns else None
    try:
        outcome, weight = read_for_card(card, columns, target, positive, weight_there)
    except InputError:
        _tell_no_outcome(reference)
        return compared
    return {**compared, "reference_y": outcome.event, "reference_weight": weight}


def _extra(found: Any, drifted: bool) -> dict[str, Any]:
    """What else the JSON holds: calibration, levels, and drift where it was measured."""
    extra: dict[str, Any] = {
        "calibration": {**found.calibration._asdict(), "ratio": found.calibration.ratio},
        "levels": _records(found.to_table()),
    }
    if drifted and found.drift is not None:
        drift = found.drift
        extra["drift"] = {
            "prevalence": drift.prevalence._asdict(),
            "score_psi": drift.score_psi,
            "score_chance": drift.score_chance,
            "beyond": drift.beyond,
            **{k: _records(getattr(drift, k)) for k in ("columns", "bins", "rules", "levels")},
        }
    return extra


def _records(table: Any) -> list[dict[str, Any]]:
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]

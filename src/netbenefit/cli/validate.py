"""``netbenefit validate``: what a card learnt this way is worth on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import LIMITS, SEEDS, option

if TYPE_CHECKING:
    from netbenefit.cli.rows import Rows
    from netbenefit.validation import BootstrapValidation, CrossValidation

_SEVERAL = " Several, with commas, for --nested."


@terminal.report_user_errors
def validate(
    data: options.Data,
    target: options.Target,
    folds: Annotated[int, option("N", "Folds, each held out once.", min=2)] = 10,
    repeats: Annotated[int, option("N", "How often folds are drawn anew.", min=1)] = 1,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="Choose penalty, number of rules and points anew inside every fold, by net "
            "benefit; of settings about as good, the one with the smallest cards.",
        ),
    ] = False,
    inner_folds: Annotated[int, option("N", "With --nested: folds to choose by.", min=2)] = 5,
    bootstrap: Annotated[
        int | None,
        option("N", "Instead of folds: N bootstrap samples, to correct for optimism.", min=2),
    ] = None,
    at: Annotated[
        str | None, option("LIST", "Thresholds to show one by one, like 0.1,0.2.")
    ] = None,
    *,
    grid: options.ThresholdOptions,
    positive: options.Positive = None,
    sample_weight: options.RowWeights = None,
    columns: options.ColumnsInFolds,
    max_features: Annotated[
        str | None, option("K", "Largest number of rules." + _SEVERAL, **LIMITS)
    ] = None,
    max_questions: Annotated[
        str | None, option("K", "Largest number of questions." + _SEVERAL, **LIMITS)
    ] = None,
    max_points: Annotated[
        str | None, option("N", "Points of an answer: at most N." + _SEVERAL, "10", **LIMITS)
    ] = None,
    max_per_column: options.MaxPerColumn = None,
    limits: options.LimitsInFolds,
    penalty: Annotated[
        str | None, option("C0", "Price of a question, in net benefit." + _SEVERAL, "auto")
    ] = None,
    teacher: options.TeacherOptions,
    solver: Annotated[options.Solver, typer.Option(help="As in `fit`.")] = options.Solver.auto,
    time_limit: Annotated[float, option("SECONDS", "Time to search each card.")] = 10.0,
    seed: Annotated[int, option("N", "Seed of folds, resamples and search.", **SEEDS)] = 0,
    jobs: Annotated[
        int, option("N", "Cards at a time; −1 for one per core. With 1, a card has all cores.")
    ] = -1,
    journal: Annotated[
        Path | None,
        option("FILE", "Keep each finished card; the same command goes on from there."),
    ] = None,
    csv: Annotated[Path | None, option("FILE", "Save the table.")] = None,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Measure what cards learnt this way are worth on rows that they have not seen.

    Cut points, choice of rules and search are done again for every fold (or bootstrap sample), on
    its own rows.  Options about columns and cards mean what they mean for `fit`.
    """
    from netbenefit.cli.model import ColumnFlags, binner_of, read_card_flags, tell_thresholds
    from netbenefit.cli.rows import read_rows
    from netbenefit.common import InputError, check_threads
    from netbenefit.data import write_csv

    check_threads(jobs)
    if nested and bootstrap is not None:
        raise InputError("--nested goes with folds, not with --bootstrap. Choose one.")
    terminal.check_writable([data], journal, csv)
    given = {
        "penalty": penalty,
        "max_features": max_features,
        "max_questions": max_questions,
        "max_points": max_points,
    }
    settings, shown = _read_settings(given, nested), _numbers(at)
    flags = ColumnFlags.of(columns)
    params = read_card_flags(
        grid,
        teacher,
        limits,
        max_per_column,
        solver=solver.value,
        time_limit=time_limit,
        random_state=seed,
    )
    rows = read_rows(data, target, positive, sample_weight, flags, files, quiet)
    single = {name: values[0] for name, values in settings.items()} if not nested else {}
    binner = binner_of(flags, rows.columns(), params)
    X, event = rows.X(binner is not None), rows.outcome.event
    from netbenefit.estimators import RiskScoreClassifier  # late: these take seconds
    from netbenefit.validation import bootstrap_validate, cross_validate, nested_cross_validate

    if nested:
        settings = _with_defaults(settings)
    model = RiskScoreClassifier(binner=binner, **{**params, **single})
    how: dict[str, Any] = {
        "net_benefit_at": shown,
        "sample_weight": rows.weight,
        "n_jobs": jobs,
        "random_state": seed,
        "journal": journal,
        "verbose": not quiet,
    }
    if not quiet:
        inner = inner_folds * prod(len(values) for values in settings.values()) if nested else 0
        cards = folds * repeats * (1 + inner) if bootstrap is None else bootstrap + 1
        work = f"{cards:,} cards of up to {time_limit:g} s each"
        terminal.print_note("bold", data.name, f"{rows.counts()}; {work}")
        tell_thresholds(grid, event.mean())
    with terminal.warnings_as_notes(quiet, rows.place), _stoppable(journal):
        found: CrossValidation | BootstrapValidation
        if bootstrap is not None:
            found = bootstrap_validate(model, X, event, resamples=bootstrap, **how)
        elif nested:
            how |= {"settings": settings, "inner_folds": inner_folds}
            found = nested_cross_validate(model, X, event, folds=folds, repeats=repeats, **how)
        else:
            found = cross_validate(model, X, event, folds=folds, repeats=repeats, **how)
    if csv is not None:
        write_csv(found.to_table(), csv)
    _show(found, rows, params["thresholds"])
    if not quiet:
        terminal.print_saved(csv, journal)


@contextmanager
def _stoppable(journal: Path | None) -> Iterator[None]:
    """Say on Ctrl-C what is kept, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if journal is None:
            raise
        text = f"finished cards are kept in {journal}: the same command goes on from there."
        terminal.print_note("bold red", "stopped", text)
        raise typer.Exit(130) from None


def _read_settings(given: Mapping[str, str | None], nested: bool) -> dict[str, list[Any]]:
    """Return the values to choose from that were given, by parameter."""
    from netbenefit.common import InputError

    found: dict[str, list[Any]] = {}
    for name, text in given.items():
        if text is None:
            continue
        flag = f"--{name.replace('_', '-')}"
        items = [item.strip() for item in text.split(",")]
        if len(items) > 1 and not nested:
            raise InputError(
                f"{flag} {text}: only --nested chooses among several values. Add it, or give one."
            )
        if name == "penalty":
            found[name] = [terminal.read_penalty(item) for item in items]
            continue
        if not all(item.isdecimal() for item in items):
            raise InputError(f"{flag} {text}: write whole numbers, as in {flag} 5")
        found[name] = [int(item) for item in items]
    return found


def _with_defaults(settings: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Add what ``--nested`` chooses from where nothing was given."""
    from netbenefit.validation import CARD_SETTINGS

    found = {**CARD_SETTINGS, **settings}
    if "max_features" in settings and "max_questions" not in settings:
        del found["max_questions"]  # rules are limited instead
    order = ("penalty", "max_features", "max_questions", "max_points")
    return {name: list(found[name]) for name in order if name in found}


def _numbers(text: str | None) -> list[float]:
    from netbenefit.common import InputError

    try:
        return [] if text is None else [float(item) for item in text.split(",")]
    except ValueError:
        raise InputError(f"--at {text}: write thresholds, as in --at 0.1,0.2") from None


def _show(found: CrossValidation | BootstrapValidation, rows: Rows, grid: Any) -> None:
    from netbenefit.common import format_number
    from netbenefit.metrics import compare

    console = terminal.make_console()
    console.print(str(found))
    everyone, no_one = compare(rows.outcome.event, {}, grid, sample_weight=rows.weight)
    console.print(
        f"For comparison: acting on everyone has AUNBC {format_number(everyone.aunbc)}, on no one "
        f"{format_number(no_one.aunbc)}."
    )
    console.print(f"\n{found.stability()}")

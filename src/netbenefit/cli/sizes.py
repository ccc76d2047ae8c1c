"""``netbenefit sizes``: cards of every size side by side, so that a person can choose one."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from netbenefit.cli import options, terminal
from netbenefit.cli.options import LIMITS, SEEDS, option

if TYPE_CHECKING:
    from netbenefit.validation import SizePath


@terminal.report_user_errors
def sizes(
    data: options.Data,
    target: options.Target,
    max_size: Annotated[
        int | None, option("K", "Questions of the largest card.", "15, or fewer columns", min=1)
    ] = None,
    folds: Annotated[int, option("N", "Folds, each held out once.", min=2)] = 5,
    *,
    grid: options.ThresholdOptions,
    max_points: options.MaxPoints = 10,
    max_per_column: Annotated[int | None, option("K", "As in `fit`.", **LIMITS)] = None,
    limits: options.LimitsInFolds,
    teacher: options.TeacherOptions,
    columns: options.ColumnsInFolds,
    sample_weight: options.RowWeights = None,
    positive: options.Positive = None,
    time_limit: Annotated[
        float,
        option("SECONDS", "Time for all sizes together, once for all rows and once per fold."),
    ] = 10.0,
    seed: Annotated[int, option("N", "Seed of folds and search.", **SEEDS)] = 0,
    jobs: options.Jobs = -1,
    plot: Annotated[Path | None, option("FILE", "Save a picture: .svg, .png or .pdf.")] = None,
    csv: Annotated[Path | None, option("FILE", "Save the table.")] = None,
    journal: Annotated[
        Path | None, option("FILE", "Keep finished folds, to continue after an interruption.")
    ] = None,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Compare cards of every size on held-out rows, to choose how many questions to ask.

    A question is a column that rules are about.  For each number of questions the best card is
    searched, on all rows and without each fold in turn; the net benefit on held-out rows is that of
    the cards without a fold on that fold.  Cut points and the teacher's risks are found anew in
    every fold.  Options about columns and cards mean what they mean for `fit`.
    """
    from netbenefit.cli.model import ColumnFlags, binner_of, read_card_flags, tell_thresholds
    from netbenefit.cli.rows import read_rows
    from netbenefit.data import write_csv
    from netbenefit.plots import check_picture, save_picture

    terminal.check_writable([data], plot, csv, journal)
    if plot is not None:
        check_picture(plot)
    flags = ColumnFlags.of(columns)
    params = read_card_flags(
        grid,
        teacher,
        limits,
        max_per_column,
        max_points=max_points,
        max_questions=max_size,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
    )
    rows = read_rows(data, target, positive, sample_weight, flags, files, quiet)
    binner = binner_of(flags, rows.columns(), params)
    X = rows.X(binner is not None)
    from netbenefit.estimators import RiskScoreClassifier  # late: these take seconds
    from netbenefit.validation import size_path

    model = RiskScoreClassifier(binner=binner, **params)
    if not quiet:
        work = f"{folds + 1} searches of up to {time_limit:g} s each"
        terminal.print_note("bold", data.name, f"{rows.counts()}; {work}")
        tell_thresholds(grid, rows.outcome.event.mean())
    with terminal.warnings_as_notes(quiet, rows.place), terminal.progress(quiet) as callback:
        path = size_path(
            model.set_params(callback=callback),
            X,
            rows.outcome,
            folds=folds,
            sample_weight=rows.weight,
            random_state=seed,
            journal=journal,
        )
    if csv is not None:
        write_csv(path.to_table(), csv)
    if plot is not None:
        save_picture(path, plot)
    same = {
        "target": target,
        **_changed(columns),
        **_changed(grid),
        "max_points": None if max_points == 10 else max_points,
        **_changed(teacher),
        "max_per_column": max_per_column,
        **_changed(limits),
        **_changed(files),
    }
    same |= {"drop": same.pop("drop", None), "sample_weight": sample_weight, "positive": positive}
    terminal.make_console().print(f"{path}\n\n{_advice(path, _fit_command(data, same))}")
    if not quiet:
        terminal.print_saved(csv, plot)


def _changed(group: Any) -> dict[str, Any]:
    """Options of a group that are not at their default."""
    values = {one.name: (getattr(group, one.name), one.default) for one in fields(group)}
    return {name: value for name, (value, default) in values.items() if value != default}


def _fit_command(data: Path, chosen: dict[str, Any]) -> str:
    """The call of ``fit`` with the same options, as one would type it."""
    words = [str(data)]
    for name, value in chosen.items():
        flag = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list) else [value]:
            words += [] if item is None else [flag] if item is True else [flag, str(item)]
    return f"{terminal.program_name()} fit {shlex.join(words)}"


def _advice(path: SizePath, command: str) -> str:
    """How to choose, and how to learn the card that was chosen."""
    best, small = path.best, path.suggested
    questions = f"{best} question{'s' * (best != 1)}"
    highest = f"The card with {questions} has the highest net benefit on held-out rows"
    if small == best:
        less = "; smaller ones have less" if best > path.sizes[0] else ""
        choice = f"{highest}{less}."
    else:
        choice = (
            f"{highest}. With {small} it is about as high (less than one standard error below), "
            "and the card is easier to use and check."
        )
    return (
        f"{choice} Choose the size beyond which more questions bring nothing that matters to you. "
        f"To learn that card:\n  {command} --max-questions {small} --out card.json"
    )

"""``netbenefit studio``: a card is learnt, and then edited on a page of this machine."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import LIMITS, SEEDS, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from netbenefit.cli.classifier import CommandClassifier
    from netbenefit.data import Outcome

#: What ``--demo`` sets where nothing else is said: see ``netbenefit demo``.
_THRESHOLDS, _MAX_QUESTIONS, _MAX_POINTS = "0.05:0.5:0.05", 5, 5


class _Side(NamedTuple):
    """Rows to learn from, or rows held out."""

    X: Any
    outcome: Outcome
    weight: Any = None


@terminal.report_user_errors
def studio(
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A .csv, .csv.gz, .tsv, .xlsx or .parquet."),
    ] = None,
    target: Annotated[str | None, option("COLUMN", "The column with the outcome.")] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Without DATA: breast tumours that scikit-learn ships."),
    ] = False,
    *,
    grid: options.ThresholdOptions,
    positive: options.Positive = None,
    sample_weight: options.RowWeights = None,
    holdout: Annotated[
        float, option("SHARE", "Share of the rows that nothing is learnt from; 0 for none.")
    ] = 0.25,
    columns: options.ReadingOptions,
    max_questions: Annotated[
        int | None, option("K", "Largest number of questions, by default 8.", **LIMITS)
    ] = None,
    max_per_column: options.MaxPerColumn = None,
    max_points: options.MaxPoints = 10,
    limits: options.LimitOptions,
    teacher: options.TeacherOptions,
    time_limit: options.Seconds = 10.0,
    seed: Annotated[int, option("N", "Seed of the search, and of the rows held out.", **SEEDS)] = 0,
    jobs: options.Jobs = -1,
    journal: Annotated[
        Path | None,
        option(
            "FILE",
            "Keeps every edit, so that the same command goes on from it.",
            "DATA.studio.jsonl here",
        ),
    ] = None,
    port: Annotated[
        int, option("N", "Port of this machine; 0 is any that is free.", min=0, max=65535)
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Work on a card: change it on a page, and see at once what each change costs.

    A card is learnt as by `fit`; then a page opens on which its points, cut points, rules and names
    can be changed, by hand or by the solver within limits.  It is served to this machine only, and
    no rows leave the program.  Card, report, calculator and Python code are saved from the page.
    Ctrl-C ends the studio; every edit is kept in the journal.
    """
    from netbenefit.cli.model import ColumnFlags, read_card_flags, tell_thresholds
    from netbenefit.cli.rows import check_share
    from netbenefit.common import InputError
    from netbenefit.studio import check_installed

    check_installed()
    if holdout:
        check_share(holdout, None)
    if demo == (data is not None) or (target is None and not demo):
        raise InputError(
            "name a table and its outcome, as in `netbenefit studio patients.csv --target died`, "
            "or add --demo and no table."
        )
    if demo:
        grid = replace(grid, thresholds=grid.thresholds or _THRESHOLDS)
        max_questions = max_questions or _MAX_QUESTIONS
        max_points = min(max_points, _MAX_POINTS)
    if journal is None and data is not None:
        journal = Path(f"{data.name.split('.')[0]}.studio.jsonl")
    flags = ColumnFlags.of(columns)
    params = read_card_flags(
        grid,
        teacher,
        limits,
        max_per_column,
        max_points=max_points,
        max_questions=max_questions,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
    )
    if data is None:
        train, test = _tumours(holdout, seed)
        place: Callable[[int], str] | None = None
        binner: Any = "auto"
        if not quiet:
            terminal.print_note("bold", "tumours", "which of them are malignant?")
    else:
        from netbenefit.cli.model import binner_of
        from netbenefit.cli.rows import read_rows, split_rows

        terminal.check_writable([data], journal)
        rows = read_rows(data, str(target), positive, sample_weight, flags, files, quiet)
        learnt, held = split_rows(rows, holdout or None, seed)
        if not quiet:
            terminal.print_note("bold", data.name, rows.counts(held))
            tell_thresholds(grid, learnt.outcome.event.mean())
        binner = binner_of(flags, learnt.columns(), params)
        binned = binner is not None
        train = _Side(learnt.X(binned), learnt.outcome, learnt.weight)
        test = None if held is None else _Side(held.X(binned), held.outcome, held.weight)
        place = learnt.place
    from netbenefit.cli.classifier import CommandClassifier  # late: these take seconds

    model = CommandClassifier(binner=binner, **params).follow(quiet, columns=not demo)
    with terminal.warnings_as_notes(quiet, place):
        model.fit(train.X, train.outcome, train.weight)
    _serve(model, train, test, journal, port, browser)


def _tumours(holdout: float, seed: int) -> tuple[_Side, _Side | None]:
    """Breast tumours to learn from, and those held out."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from netbenefit.data import Outcome

    raw = load_breast_cancer()
    names = [str(name) for name in raw.feature_names]
    columns = {n: raw.data[:, k] for k, n in enumerate(names) if n.startswith("worst ")}
    event = raw.target == 0  # malignant
    labels = np.array([False, True])

    def side(rows: Any) -> _Side:
        X = {name: values[rows] for name, values in columns.items()}
        return _Side(X, Outcome(event[rows], labels, "malignancy"))

    every = np.arange(event.size)
    if not holdout:
        return side(every), None
    first, second = train_test_split(every, test_size=holdout, random_state=seed, stratify=event)
    return side(first), side(second)


def _serve(
    model: CommandClassifier,
    train: _Side,
    test: _Side | None,
    journal: Path | None,
    port: int,
    browser: bool,
) -> None:
    """Serve the page until Ctrl-C."""
    from netbenefit.studio import Server, Session

    with (
        Session(
            model, train.X, train.outcome, train.weight, held_out=test, journal=journal
        ) as session,
        Server(session, port) as server,
    ):
        if len(session.history) > 1:
            edits = len(session.history) - 1
            terminal.note(f"going on from {journal}: {edits} edit{'s' * (edits != 1)}.")
        terminal.print_for_programs(f"The studio is at {server.url}\n")
        terminal.note("Ctrl-C ends it.")
        if browser:
            webbrowser.open(server.url)
        with suppress(KeyboardInterrupt):
            server.wait()
    kept = f" Every edit is in {journal}: the same command goes on." if journal else ""
    terminal.note(f"the studio has ended.{kept}")

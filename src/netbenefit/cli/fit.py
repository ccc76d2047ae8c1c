"""``netbenefit fit``: from a file to a card."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.options import LIMITS, SEEDS, option

if TYPE_CHECKING:
    from netbenefit.cli.classifier import CommandClassifier
    from netbenefit.cli.model import ColumnFlags
    from netbenefit.cli.rows import Rows
    from netbenefit.data import OpenTable
    from netbenefit.metrics import Thresholds
    from netbenefit.updating import CardEvaluation

    #: The card on rows that it was not learnt from, and which rows these are.
    HeldOut = tuple[CardEvaluation, str]


@terminal.report_user_errors
def fit(
    data: options.Sources,
    target: options.Target,
    grid: options.ThresholdOptions,
    positive: options.Positive = None,
    sample_weight: options.RowWeights = None,
    holdout: Annotated[
        float | None,
        option("SHARE", "Learn without this share of the rows, and measure the card on them."),
    ] = None,
    labels: options.Labels = None,
    *,
    columns: options.ReadingOptions,
    max_features: Annotated[int | None, option("K", "Largest number of rules.", **LIMITS)] = None,
    max_questions: Annotated[
        int | None,
        option(
            "K",
            "Largest number of questions: columns that rules are about; by default 8, so that a "
            "person can add the points up, or no limit with --max-features.",
            **LIMITS,
        ),
    ] = None,
    max_per_column: options.MaxPerColumn = None,
    max_points: options.MaxPoints = 10,
    raw_points: Annotated[
        bool,
        typer.Option(
            "--raw-points",
            help="Keep the points of single rules, some of them negative; otherwise every question "
            "counts from the answer that is worth least.",
        ),
    ] = False,
    limits: options.LimitOptions,
    penalty: Annotated[
        str,
        option(
            "PRICE",
            "What a question must bring, in net benefit, and after a slash each further rule on it "
            "(default: a quarter); auto is prevalence / rows, and less below 4,000 rows; paper is "
            "0.1 · prevalence / columns.",
        ),
    ] = "auto",
    teacher: options.TeacherOptions,
    solver: Annotated[
        options.Solver,
        typer.Option(
            help="auto searches, then proves; exact proves longer; milp is the published integer "
            "program; local, and anneal as published, only search."
        ),
    ] = options.Solver.auto,
    time_limit: options.Seconds = 10.0,
    seed: Annotated[int, option("N", "Seed of the search, and of the rows held out.", **SEEDS)] = 0,
    jobs: options.Jobs = -1,
    stream: options.Stream = None,
    out: Annotated[Path | None, option("FILE", "Where to save the card, as JSON.")] = None,
    certificate: Annotated[
        Path | None,
        option("FILE", "Where to save the proof, for `verify`: .json or .json.gz."),
    ] = None,
    files: options.FileOptions,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Learn a scorecard from a raw table and print it.

    All columns except the outcome are used: numbers, text, true/false, missing values.  What each
    column was taken for is printed, with the options that change it.  Ctrl-C ends search and proof
    and keeps the best card so far.
    """
    from netbenefit.cards import Labels
    from netbenefit.cli.model import SUGGEST, ColumnFlags, read_card_flags
    from netbenefit.cli.rows import check_share, format_of, open_data, rows_of
    from netbenefit.common import InputError
    from netbenefit.data import RawFile, find_source

    dictionary = None if labels is None else Labels.read(labels)
    source = find_source(data, format_of(files))
    terminal.check_writable(source.files, out, certificate)
    check_share(holdout, certificate)
    flags = ColumnFlags.of(columns)
    suggest = grid.thresholds == SUGGEST
    params = read_card_flags(
        replace(grid, thresholds=None) if suggest else grid,
        teacher,
        limits,
        max_per_column,
        penalty=terminal.read_penalty(penalty),
        max_points=max_points,
        start_at_zero=not raw_points,
        max_features=max_features,
        max_questions=max_questions,
        solver=solver.value,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
    )
    given = open_data(
        source, stream=stream, as_text=flags.levels, drop=flags.drop, jobs=jobs, quiet=quiet
    )
    if dictionary is not None:
        combined = (flags.params or {}).get("combine") or ()
        assert labels is not None
        dictionary = Labels.read(labels, [*given.columns, *flags.drop, *combined])
    if isinstance(given, RawFile):
        rows = rows_of(given, source.shown, target, positive, sample_weight, flags, quiet)
        model, held_out = _fit_file(rows, source.label, flags, grid, params, holdout, quiet)
    else:
        with given:
            if suggest:
                raise InputError(
                    "--thresholds suggest needs all rows in memory, but DuckDB streams them. Add "
                    "--no-stream, or name thresholds."
                )
            model, held_out = _fit_table(
                given,
                target,
                positive,
                sample_weight,
                flags,
                grid,
                params,
                holdout,
                quiet,
                proof=certificate is not None,
            )
    if dictionary is not None:
        card = model.scorecard_
        model.scorecard_ = card.with_labels(dictionary.only(card.named_columns))
    if out is not None:
        model.scorecard_.save(out)
    if certificate is not None:
        model.certificate_.save(certificate)
    _show(model, held_out)
    if not quiet:
        from netbenefit.cli.classifier import notes_on

        _show_choices(model)
        for note in notes_on(model):
            terminal.note(note)
        remind = "add --out card.json to keep the card."
        terminal.print_note("bold", "saved" if out else "not saved", out or remind)
        terminal.print_saved(certificate)


def _fit_file(
    rows: Rows,
    label: str,
    flags: ColumnFlags,
    grid: options.ThresholdOptions,
    params: dict[str, Any],
    holdout: float | None,
    quiet: bool,
) -> tuple[CommandClassifier, HeldOut | None]:
    """Learn from rows in memory, and measure the card on those held out."""
    from netbenefit.cli.model import SUGGEST, binner_of, tell_thresholds
    from netbenefit.cli.rows import split_rows
    from netbenefit.common import check_weights

    seed = params["random_state"]
    train, test = split_rows(rows, holdout, seed)
    if not quiet:
        terminal.print_note("bold", label, rows.counts(test))
        tell_thresholds(grid, train.outcome.event.mean())
    binner = binner_of(flags, train.columns(), params)
    from netbenefit.cli.classifier import CommandClassifier  # late: it takes seconds

    if grid.thresholds == SUGGEST:
        params = {**params, "thresholds": _suggest(train, grid, seed, quiet)}

    model = CommandClassifier(binner=binner, **params)
    with terminal.warnings_as_notes(quiet, train.place), ExitStack() as reading:
        reading.enter_context(terminal.status(quiet, "looking at the columns"))
        model.follow(quiet, reading.close)
        model.fit(train.X(binner is not None), train.outcome, train.weight)
    if test is None:
        return model, None
    from netbenefit.updating import evaluate_scores, with_held_out

    card = model.scorecard_
    with terminal.warnings_as_notes(quiet, test.place):
        score = card.score(test.columns())
        event, weight = test.outcome.event, check_weights(test.weight, test.outcome.event.size)
        found = evaluate_scores(card, score, event, weight, card.thresholds)
    model.scorecard_ = with_held_out(card, found.levels, found.measures.weighted_net_benefit)
    return model, (
        found,
        f"On {test.outcome.event.size:,} rows of {rows.outcome.event.size:,} that were held out "
        f"(drawn with seed {seed}, each class alike; the card is learnt from the rest):",
    )


def _suggest(rows: Rows, grid: options.ThresholdOptions, seed: int, quiet: bool) -> Thresholds:
    """Propose thresholds for the rows to learn from, and say how to name them."""
    from netbenefit.validation import suggest_thresholds

    with (
        terminal.status(quiet, "choosing thresholds"),
        terminal.warnings_as_notes(quiet, rows.place),
    ):
        found = suggest_thresholds(
            rows.columns(),
            rows.outcome.event,
            low=0.01,  # at a risk of 0 one acts on everyone, whatever the card says
            weights=grid.weights.value,
            sample_weight=rows.weight,
            random_state=seed,
        )
    if not quiet:
        text = ",".join(f"{p:g}" for p in found.given)
        terminal.print_note(
            "bold",
            "thresholds",
            f"{text}, where the risks of these rows lie, by a logistic regression. Where people "
            "would act is for people to say: keep those that matter, and add "
            f"--thresholds {text}",
        )
    return found


def _fit_table(
    table: OpenTable,
    target: str,
    positive: str | None,
    weight: str | None,
    flags: ColumnFlags,
    grid: options.ThresholdOptions,
    params: dict[str, Any],
    holdout: float | None,
    quiet: bool,
    *,
    proof: bool,
) -> tuple[CommandClassifier, HeldOut | None]:
    """Learn from rows that stay where they are, and measure the card on those held out."""
    from netbenefit.cli.evaluate import evaluate_relation
    from netbenefit.cli.model import binner_of, tell_thresholds
    from netbenefit.cli.rows import count_columns, features_of, outcome_of_table
    from netbenefit.common import InputError
    from netbenefit.data import QueryBar, duckdb_errors

    source, seed = table.source, params["random_state"]
    terminal.check_column(table.columns, target, "--target")
    terminal.check_column(table.columns, weight, "--sample-weight")
    names = features_of(table.columns, source.shown, target, weight, flags)
    columns = [*names, target, *([weight] if weight else [])]
    table.check_columns(set(columns))
    with duckdb_errors(source):
        with QueryBar(table.connection, "looking at the outcome", shown=not quiet):
            table, outcome, n_events = outcome_of_table(table, target, positive, quiet)
        train, test = table.relation(columns), None
        if holdout is not None:
            train, test = table.split(holdout, seed, columns)
        sample = table.read(names, n_rows=2000).columns
    if not quiet:
        counts = f"{n_events:,} rows with {outcome.text}{outcome.remark}"
        terminal.print_note("bold", source.label, f"{counts}; {count_columns(names)} to learn from")
        tell_thresholds(grid, n_events / table.n_rows)
    binner = binner_of(flags, sample, params)
    from netbenefit.cli.classifier import CommandClassifier  # late: it takes seconds

    model = CommandClassifier(binner=binner, pos_label=outcome.labels[1], **params)
    with terminal.warnings_as_notes(quiet), duckdb_errors(source), ExitStack() as reading:
        bar = reading.enter_context(QueryBar(table.connection, "counting values", shown=not quiet))

        def before() -> None:
            reading.close()
            if not quiet:
                terminal.print_note("bold", "merged", str(model.merging_))
            if proof and model.merging_.search_sampled:
                raise InputError(
                    "--certificate: there are so many patterns that points are searched on a "
                    "sample, and a proof for that says nothing about all rows. Leave it out, or "
                    'bin the columns more coarsely ("max_bins" in a --binner FILE.json).'
                )

        model.follow(quiet, before).fit_table(
            train,
            target,
            features=names,
            sample_weight=weight,
            tell=bar.say,
        )
    if test is None:
        return model, None
    from netbenefit.updating import with_held_out

    card = model.scorecard_
    settings = {"positive": outcome.labels[1], "sample_weight": weight}
    found = evaluate_relation(card, table, test, target, quiet, **settings)
    model.scorecard_ = with_held_out(card, found.levels, found.measures.weighted_net_benefit)
    with duckdb_errors(source):
        n_rows = test.count("*").fetchall()[0][0]
    return model, (
        found,
        f"On {n_rows:,} rows of {table.n_rows:,} that were held out (each drawn by itself with "
        f"seed {seed}; the card is learnt from the rest):",
    )


def _show(model: CommandClassifier, held_out: HeldOut | None) -> None:
    from netbenefit.report import measure_table

    card, result = model.scorecard_, model.result_
    terminal.print_card(card)
    origin = card.provenance
    assert origin is not None
    asked = f"{result.questions} question{'s' * (result.questions != 1)}"
    if result.size != result.questions:
        asked += f" ({result.size} rules)"
    console = terminal.make_console()
    console.print(
        f"objective {result.objective:.6f} · net benefit {origin.net_benefit:.6f} on the "
        f"training rows · {asked} · {result.status.replace('_', ' ')} · {result.seconds:.1f} s"
    )
    terminal.print_teacher(origin, result)
    if held_out is not None:
        from netbenefit.updating import beside_lines

        found, rows = held_out
        console.print(f"\n{rows}")
        console.print(measure_table(found.measures))
        console.print("\n".join(beside_lines(found.beside)))


def _show_choices(model: CommandClassifier) -> None:
    """What cards with fewer and more questions keep, and how to get them."""
    merging = getattr(model, "merging_", None)
    if model.result_.status == "interrupted" or (merging is not None and merging.search_sampled):
        return
    if lines := model.other_sizes().lines(options=True):
        terminal.make_console().print(lines)

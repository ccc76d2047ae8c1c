"""``netbenefit fit``: from a file to a card."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netbenefit.cli.options import (
    LIMITS,
    RAW,
    Constraints,
    Debug,
    Drop,
    Jobs,
    MaxPoints,
    Positive,
    PriorStrength,
    Quiet,
    RowWeights,
    Seconds,
    Signs,
    Solver,
    Sources,
    Stream,
    Target,
    Teacher,
    Thresholds,
    WeightNames,
    Weights,
    option,
)
from netbenefit.cli.terminal import (
    check_writable,
    friendly,
    make_console,
    print_card,
    print_teacher,
    progress,
    read_setting,
    read_teacher,
    tell,
)

if TYPE_CHECKING:
    from netbenefit.cli.cli_training import HeldOut, Material
    from netbenefit.estimators.learn import Learned

__all__ = ["fit"]


@friendly
def fit(
    data: Sources,
    target: Target,
    thresholds: Thresholds = None,
    weights: Weights = WeightNames.equal,
    positive: Positive = None,
    sample_weight: RowWeights = None,
    holdout: Annotated[
        float | None,
        option("SHARE", "Learn without this share of the rows, and measure the card on them."),
    ] = None,
    binner: Annotated[
        str,
        option(
            "HOW",
            "Raw columns become conditions such as age ≥ 52: auto, net_benefit, tree, quantile, "
            "optbinning, or a FILE.json with settings (docs/command_line.md); none: columns are "
            "numbers, with points per unit.",
            **RAW,
        ),
    ] = "auto",
    categorical: Annotated[
        list[str] | None, option("NAME", "Numbers of a column that are levels.", **RAW)
    ] = None,
    numeric: Annotated[
        list[str] | None, option("NAME", "A column that is numbers after all.", **RAW)
    ] = None,
    missing: Annotated[
        list[str] | None,
        option(
            "[NAME=]POLICY",
            "Missing values: auto, condition (with points of their own), impute or refuse; of one "
            "column, or of all.",
            **RAW,
        ),
    ] = None,
    special: Annotated[
        list[str] | None, option("NAME=96,98", "Codes that mean missing.", **RAW)
    ] = None,
    cuts: Annotated[
        list[str] | None, option("NAME=40,60", "Your own cut points of a column.", **RAW)
    ] = None,
    drop: Drop = None,
    max_features: Annotated[int | None, option("K", "Largest number of rules.", **LIMITS)] = None,
    max_per_column: Annotated[
        int | None, option("K", "Largest number of rules on one column.", **LIMITS)
    ] = None,
    max_points: MaxPoints = 10,
    monotone: Annotated[
        list[str] | None,
        option(
            "NAME+", "Points never fall (NAME+) or never rise (NAME-) along a column.", **LIMITS
        ),
    ] = None,
    sign: Signs = None,
    constraints: Constraints = None,
    penalty: Annotated[
        str,
        option(
            "PRICE",
            "What a rule must bring, in net benefit; auto is prevalence / rows, and less below "
            "4,000 rows; paper is 0.1 · prevalence / columns.",
        ),
    ] = "auto",
    teacher: Teacher = "auto",
    prior_strength: PriorStrength = "auto",
    solver: Annotated[
        Solver,
        typer.Option(
            help="auto searches, then proves; exact proves longer; milp is the published integer "
            "program; local, and anneal as published, only search."
        ),
    ] = Solver.auto,
    time_limit: Seconds = 10.0,
    seed: Annotated[int, option("N", "Seed of the search, and of the rows held out.", min=0)] = 0,
    jobs: Jobs = -1,
    stream: Stream = None,
    out: Annotated[Path | None, option("FILE", "Where to save the card, as JSON.")] = None,
    certificate: Annotated[
        Path | None,
        option("FILE", "Where to save the proof, for `verify`: .json or .json.gz."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn a scorecard from a raw table and print it.

    All columns but the outcome are used: numbers, text, true/false, missing values.  What each
    column was taken for is printed, with the options that change it.  Ctrl-C ends search and proof
    and keeps the best card so far.
    """
    from netbenefit.certificates.certificate import make_certificate
    from netbenefit.cli.cli_source import open_data
    from netbenefit.cli.cli_stream import stream_of
    from netbenefit.cli.cli_training import InMemory, Wanted
    from netbenefit.cli.columns import read_asked, read_monotone
    from netbenefit.cli.fit_notes import read_constraints
    from netbenefit.cli.rows import check_share, rows_of, split_rows
    from netbenefit.common.checks import InputError
    from netbenefit.data.files import RawFile
    from netbenefit.data.sources import find_source
    from netbenefit.estimators.learn import choose_solver
    from netbenefit.metrics.thresholds import as_thresholds
    from netbenefit.problem.constraints import MaxPerColumn

    source = find_source(data)
    check_writable(out, *source.files)
    check_writable(certificate, *source.files, *([out] if out else []))
    check_share(holdout, certificate)
    asked = read_asked(
        binner,
        categorical=categorical,
        numeric=numeric,
        missing=missing,
        special=special,
        cuts=cuts,
        drop=drop,
    )
    signs, steady = read_monotone(monotone or [], sign or [])
    extra = [] if max_per_column is None else [MaxPerColumn(max_per_column)]
    params = {
        "thresholds": as_thresholds(thresholds, weights.value),
        "penalty": read_setting(penalty, "--penalty", "auto", "paper"),
        "teacher": read_teacher(teacher),
        "prior_strength": read_setting(prior_strength, "--prior-strength", "auto"),
        "max_points": max_points,
        "max_features": max_features,
        "sign": signs,
        "constraints": [*read_constraints(constraints), *extra],
        "solver": solver.value,
        "time_limit": time_limit,
        "random_state": seed,
        "n_jobs": jobs,
    }
    choose_solver(solver.value, time_limit=time_limit, seed=seed, n_jobs=jobs)  # refuses early
    wanted = Wanted(asked, params, steady, quiet)
    with ExitStack() as stack:
        given = open_data(
            source, stream=stream, as_text=asked.levels, drop=asked.drop, jobs=jobs, quiet=quiet
        )
        rows: Material
        if isinstance(given, RawFile):
            read = rows_of(given, source.shown, target, positive, sample_weight, asked)
            rows = InMemory(read, *split_rows(read, holdout, seed), seed)
        else:
            stack.enter_context(given)
            rows = stream_of(
                given,
                target,
                positive,
                sample_weight,
                asked,
                holdout=holdout,
                seed=seed,
                quiet=quiet,
            )
        if not quiet:
            tell("bold", source.label, rows.counts())
        model, training, finish, sampled = rows.training(wanted)
        if sampled and certificate is not None:
            raise InputError(
                "--certificate: there are so many patterns that points are searched on a sample, of"
                " which a proof would say nothing about all rows. Leave it out, or bin the columns "
                'more coarsely ("max_bins" in a --binner FILE.json).'
            )
        with progress(quiet) as callback:
            model.set_params(callback=callback)
            learned = model._learn(training, rows.outcome_text)
        learned = finish(learned)
        if out is not None:
            learned.card.save(out)
        if certificate is not None:
            proof = make_certificate(
                learned.problem,
                learned.result,
                learned.card,
                bins=training.bins,
                taught=learned.taught,
            )
            proof.save(certificate)
        _show(learned)
        _show_held_out(rows.measure(learned.card, quiet))
    if not quiet:
        _tell_rest(learned, training.bins is not None, out, certificate)


# -- what is printed -------------------------------------------------------------------------------


def _show(learned: Learned) -> None:
    card, result = learned.card, learned.result
    print_card(card)
    origin = card.provenance
    assert origin is not None
    rules = f"{result.size} rule{'s' * (result.size != 1)}"
    console = make_console()
    console.print(
        f"objective {result.objective:.6f} · net benefit {origin.net_benefit:.6f} · {rules} · "
        f"{result.status.replace('_', ' ')} · {result.seconds:.1f} s"
    )
    print_teacher(origin, result)


def _show_held_out(found: HeldOut | None) -> None:
    from netbenefit.report import text

    if found is not None:
        console = make_console()
        console.print(f"\n{found.words}")
        console.print(text.measure_table(found.measures))


def _tell_rest(learned: Learned, binned: bool, out: Path | None, certificate: Path | None) -> None:
    from netbenefit.cli.fit_notes import notes_on

    taught = () if learned.taught is None else learned.taught.teaching.notes
    for note in (*taught, *notes_on(learned.problem, learned.result, binned=binned)):
        tell("yellow", "note", note)
    tell("bold", "saved" if out else "not saved", out or "add --out card.json to keep the card.")
    if certificate is not None:
        tell("bold", "saved", certificate)

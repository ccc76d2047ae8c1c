"""``netbenefit sizes``: cards of every size side by side, so that a person can choose one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netbenefit.cli.options import (
    LIMITS,
    BinnerAgain,
    Constraints,
    CutsAgain,
    Data,
    Debug,
    Drop,
    Jobs,
    MaxPoints,
    MissingAgain,
    NamesAgain,
    Positive,
    PriorStrength,
    Quiet,
    RowWeights,
    Signs,
    SpecialAgain,
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
    program_name,
    progress,
    tell,
    warnings_as_notes,
)

if TYPE_CHECKING:
    from netbenefit.validation import SizePath


@friendly
def sizes(
    data: Data,
    target: Target,
    max_size: Annotated[
        int | None, option("K", "Rules of the largest card.", "15, or fewer columns", min=1)
    ] = None,
    folds: Annotated[int, option("N", "Folds, each held out once.", min=2)] = 5,
    thresholds: Thresholds = None,
    weights: Weights = WeightNames.equal,
    max_points: MaxPoints = 10,
    max_per_column: Annotated[int | None, option("K", "As in `fit`.", **LIMITS)] = None,
    monotone: Annotated[list[str] | None, option("NAME+", "As in `fit`.", **LIMITS)] = None,
    teacher: Teacher = "auto",
    prior_strength: PriorStrength = "auto",
    binner: BinnerAgain = "auto",
    categorical: NamesAgain = None,
    numeric: NamesAgain = None,
    missing: MissingAgain = None,
    special: SpecialAgain = None,
    cuts: CutsAgain = None,
    drop: Drop = None,
    sign: Signs = None,
    constraints: Constraints = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    time_limit: Annotated[
        float,
        option("SECONDS", "Time for all sizes together, once for all rows and once per fold."),
    ] = 10.0,
    seed: Annotated[int, option("N", "Seed of folds and search.", min=0)] = 0,
    jobs: Jobs = -1,
    plot: Annotated[Path | None, option("FILE", "Save a picture: .svg, .png or .pdf.")] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Save the table.")
    ] = None,
    journal: Annotated[
        Path | None, option("FILE", "Keep finished folds in a file, to go on after a kill.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare cards of every size on held-out rows, to choose how many rules a card should have.

    For each number of rules the best card is searched, on all rows and without each fold in turn;
    the net benefit on held-out rows is that of the cards without a fold on that fold.  Cut points
    and the teacher's risks are found anew in every fold.  Options about columns and cards mean what
    they mean for `fit`.
    """
    from netbenefit.cli.model import binner_of, read_card_flags, read_column_flags
    from netbenefit.cli.rows import read_rows
    from netbenefit.data import write_csv
    from netbenefit.estimators import RiskScoreClassifier
    from netbenefit.plots import check_picture, save_picture
    from netbenefit.validation import size_path

    check_writable(plot, data)
    check_writable(csv, data, *([plot] if plot else []))
    check_writable(journal, data, *(file for file in (plot, csv) if file))
    if plot is not None:
        check_picture(plot)
    flags = read_column_flags(
        binner,
        categorical=categorical,
        numeric=numeric,
        missing=missing,
        special=special,
        cuts=cuts,
        drop=drop,
    )
    params = read_card_flags(
        thresholds=thresholds,
        weights=weights.value,
        teacher=teacher,
        prior_strength=prior_strength,
        sign=sign,
        monotone=monotone,
        constraints=constraints,
        max_per_column=max_per_column,
        max_points=max_points,
        max_features=max_size,
        time_limit=time_limit,
        random_state=seed,
        n_jobs=jobs,
    )
    rows = read_rows(data, target, positive, sample_weight, flags)
    binner_used = binner_of(flags, rows.columns(), params)
    model = RiskScoreClassifier(binner=binner_used, **params)
    X = rows.X(binner_used is not None)
    if not quiet:
        work = f"{folds + 1} searches of up to {time_limit:g} s each"
        tell("bold", data.name, f"{rows.counts()}; {work}")
    with warnings_as_notes(quiet), progress(quiet) as callback:
        path = size_path(
            model.set_params(callback=callback),
            X,
            rows.outcome,
            cv=folds,
            sample_weight=rows.weight,
            random_state=seed,
            journal=journal,
        )
    if csv is not None:
        write_csv(path.to_table(), csv)
    if plot is not None:
        save_picture(path, plot)
    again = {
        "--target": target,
        "--binner": None if binner == "auto" else binner,
        "--categorical": categorical,
        "--numeric": numeric,
        "--missing": missing,
        "--special": special,
        "--cuts": cuts,
        "--thresholds": thresholds,
        "--weights": None if weights is WeightNames.equal else weights.value,
        "--max-points": None if max_points == 10 else max_points,
        "--teacher": None if teacher == "auto" else teacher,
        "--prior-strength": None if prior_strength == "auto" else prior_strength,
        "--max-per-column": max_per_column,
        "--monotone": monotone,
        "--sign": sign,
        "--constraints": constraints,
        "--drop": drop,
        "--sample-weight": sample_weight,
        "--positive": positive,
    }
    make_console().print(f"{path}\n\n{_advice(path, _command(data, again))}")
    for file in (csv, plot):
        if file is not None and not quiet:
            tell("bold", "saved", file)


def _command(data: Path, options: dict[str, Any]) -> str:
    """The call of ``fit`` with the same options, as one would type it."""
    words = [str(data)]
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            words += [] if item is None else [name, str(item)]
    return f"{program_name()} fit {shlex.join(words)}"


def _advice(path: SizePath, command: str) -> str:
    """How to choose, and how to learn the card that was chosen."""
    best, small = path.best, path.suggested
    if small == best:
        less = "; smaller ones earn less" if best > path.sizes[0] else ""
        choice = f"The card with {_rules(best)} earns most on held-out rows{less}."
    else:
        choice = (
            f"The card with {_rules(best)} earns most on held-out rows. With {small} it earns "
            "about as much (less than one standard error below), and is easier to use and check."
        )
    return (
        f"{choice} Choose the size beyond which more rules bring nothing that matters to you. To "
        f"learn that card:\n  {command} --max-features {small} --penalty 0 --out card.json"
    )


def _rules(size: int) -> str:
    return f"{size} rule{'s' * (size != 1)}"

"""``netbenefit sizes``: cards of every size side by side, so that a person can choose one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netbenefit._cli_options import (
    Constraints,
    Data,
    Debug,
    Jobs,
    MaxPoints,
    Positive,
    Quiet,
    RowWeights,
    Signs,
    Target,
    Thresholds,
    WeightNames,
    Weights,
    option,
)
from netbenefit._terminal import (
    check_writable,
    friendly,
    make_console,
    pick_column,
    program_name,
    progress,
    read_setting,
    read_signs,
    tell,
)

if TYPE_CHECKING:
    from netbenefit._size_cards import Rows
    from netbenefit.sizing import SizePath

__all__ = ["sizes"]

_NUMBERS = "`sizes` takes numbers only (`fit` takes raw tables)"


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
    prior_strength: Annotated[
        str, option("ROWS", "Rows of belief that the risk is logistic in the score.")
    ] = "auto",
    sign: Signs = None,
    constraints: Constraints = None,
    drop: Annotated[list[str] | None, option("COLUMN", "A column to leave out.")] = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    time_limit: Annotated[
        float, option("SECONDS", "Time for all sizes together, once for all rows and once a fold.")
    ] = 10.0,
    seed: Annotated[int, option("N", "Seed of folds and search.", min=0)] = 0,
    jobs: Jobs = -1,
    plot: Annotated[Path | None, option("FILE", "Save a picture: .svg, .png or .pdf.")] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Save the table.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Compare cards of every size on held-out rows, to choose how many rules a card should have.

    For each number of rules the best card is searched, on all rows and without each fold in turn;
    what the cards without a fold earn on that fold is the net benefit on held-out rows.  Columns
    have to be numbers or true/false, with nothing missing.
    """
    from netbenefit._fit_notes import read_constraints
    from netbenefit._io import write_csv
    from netbenefit.estimator import RiskScoreClassifier
    from netbenefit.plots import check_picture, save_picture
    from netbenefit.sizing import size_path_of_columns
    from netbenefit.thresholds import as_thresholds

    check_writable(plot, data)
    check_writable(csv, data, *([plot] if plot else []))
    if plot is not None:
        check_picture(plot)
    grid = as_thresholds(thresholds, weights.value)
    asked, signs = read_constraints(constraints), read_signs(sign or [])
    prior = read_setting(prior_strength, "--prior-strength", "auto")
    rows, outcome = _read(data, target, positive, sample_weight, drop or [])
    if not quiet:
        told = f"{rows.event.size:,} rows, {rows.event.sum():,} with {outcome}"
        tell("bold", data.name, f"{told}; {folds + 1} searches of up to {time_limit:g} s each")
    with progress(quiet) as callback:
        path = size_path_of_columns(
            RiskScoreClassifier(
                thresholds=grid,
                max_points=max_points,
                prior_strength=prior,
                max_features=max_size,
                sign=signs,
                constraints=asked,
                time_limit=time_limit,
                random_state=seed,
                n_jobs=jobs,
                callback=callback,
            ),
            rows.columns,
            rows.event,
            cv=folds,
            sample_weight=rows.weight,
            random_state=seed,
            outcome=outcome,
        )
    if csv is not None:
        write_csv(path.to_table(), csv)
    if plot is not None:
        save_picture(path, plot)
    again = {
        "--target": target,
        "--binner": "none",
        "--thresholds": thresholds,
        "--weights": None if weights is WeightNames.equal else weights.value,
        "--max-points": None if max_points == 10 else max_points,
        "--prior-strength": None if prior_strength == "auto" else prior_strength,
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


def _read(
    data: Path, target: str, positive: str | None, sample_weight: str | None, drop: list[str]
) -> tuple[Rows, str]:
    """Columns, events and weights of a file, and what the event is called."""
    from netbenefit._fit_notes import check_features, check_weight
    from netbenefit._io import read_table
    from netbenefit._outcome import read_outcome
    from netbenefit._size_cards import Rows

    columns = read_table(data)
    outcome = read_outcome(target, pick_column(columns, target, "--target"), positive)
    weight = None
    if sample_weight is not None:
        weight = pick_column(columns, sample_weight, "--sample-weight")
        check_weight(sample_weight, weight)
    for name in drop:
        pick_column(columns, name, "--drop")
    unused = {target, sample_weight, *drop}
    features = {name: column for name, column in columns.items() if name not in unused}
    check_features(features, _NUMBERS)
    return Rows(features, outcome.event, weight), outcome.text


def _command(data: Path, options: dict[str, Any]) -> str:
    """The call of ``fit`` with the same options, as one would type it.

    >>> _command(Path("my data.csv"), {"--target": "ill", "--drop": ["a", "b"], "--sign": None})
    "netbenefit fit 'my data.csv' --target ill --drop a --drop b"
    """
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

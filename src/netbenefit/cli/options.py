"""Options that several commands share: types that typer reads, with their help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class WeightNames(StrEnum):
    """How thresholds can be weighted."""

    equal = "equal"
    length = "length"


class Solver(StrEnum):
    """Solvers by name."""

    auto = "auto"
    exact = "exact"
    milp = "milp"
    local = "local"
    anneal = "anneal"


def option(metavar: str, text: str, default: str | bool = True, **more: Any) -> Any:
    """Return an option whose flag is the parameter's own name."""
    return typer.Option(metavar=metavar, help=text, show_default=default, **more)


#: Options about the card stand together in the help.
LIMITS = {"rich_help_panel": "What is asked of the card"}
RAW = {"rich_help_panel": "How columns are read"}

GRID = "Risks from which one might act: low:high:step, or a list like 0.1,0.2,0.5."

Data = Annotated[Path, typer.Argument(metavar="DATA", help="A .csv, .csv.gz, .tsv or .parquet.")]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files (.csv, .csv.gz, .tsv, .parquet), a pattern in quotes ('data/*.parquet'), a "
        "folder, duckdb:///file.db?table=t or postgresql://user@host/base?table=t.",
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help="Let DuckDB read the rows where they are, or read them into memory.",
        show_default="by size",
    ),
]
Card = Annotated[Path, typer.Argument(metavar="CARD", help="A card that `fit --out` has written.")]
Target = Annotated[str, option("COLUMN", "The column with the outcome.")]
CardTarget = Annotated[
    str | None, option("COLUMN", "The column with the outcome.", "the card's own")
]
Positive = Annotated[
    str | None, option("LABEL", "The event's label in the outcome column.", "the last in order")
]
RowWeights = Annotated[str | None, option("COLUMN", "A column of row weights.")]
Thresholds = Annotated[str | None, option("GRID", GRID, "0,0.1,…,0.9")]
Weights = Annotated[
    WeightNames, typer.Option(help="Every threshold alike, or each by the interval it opens.")
]
MaxPoints = Annotated[int, option("N", "Points of a rule: from −N to N.", **LIMITS)]
Signs = Annotated[
    list[str] | None,
    option("NAME=+", "Points of a column may only be + or only be −.", **LIMITS),
]
Constraints = Annotated[
    Path | None,
    option("FILE", "More than that: a JSON list, see docs/constraints.md.", **LIMITS),
]
Teacher = Annotated[
    str,
    option(
        "WHO",
        "The model whose risks the card learns from, beside the outcomes: auto (a stack), "
        "logistic, boosting, none, or a COLUMN of risks that somebody else computed.",
    ),
]
PriorStrength = Annotated[
    str,
    option(
        "ROWS",
        "Rows of belief in the teacher; auto is ten for every row of the table, 0 the published "
        "method, inf the teacher alone.",
    ),
]
# How columns are read, for commands that do in every fold what `fit` does once.
BinnerAgain = Annotated[str, option("HOW", "As in `fit`; cut points are found anew.", **RAW)]
NamesAgain = Annotated[list[str] | None, option("NAME", "As in `fit`.", **RAW)]
MissingAgain = Annotated[list[str] | None, option("[NAME=]POLICY", "As in `fit`.", **RAW)]
SpecialAgain = Annotated[list[str] | None, option("NAME=96,98", "As in `fit`.", **RAW)]
CutsAgain = Annotated[list[str] | None, option("NAME=40,60", "As in `fit`.", **RAW)]
Drop = Annotated[list[str] | None, option("NAME", "A column to leave out.", **RAW)]
Seconds = Annotated[float, option("SECONDS", "Time to search and prove.")]
Jobs = Annotated[int, option("N", "Threads; −1 for all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Debug = Annotated[
    bool, typer.Option("--debug", envvar="NETBENEFIT_DEBUG", help="Show where an error arose.")
]

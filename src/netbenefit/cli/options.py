"""Options that several commands share: types that typer reads, with their help.

A dataclass here is a group of options: ``terminal.report_user_errors`` gives a command that takes
one the options of its fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

#: How thresholds can be weighted.
WeightNames = StrEnum("WeightNames", "equal length")
Solver = StrEnum("Solver", "auto exact milp local anneal")


def option(metavar: str, text: str, default: str | bool = True, **more: Any) -> Any:
    """Return an option whose flag is the parameter's own name."""
    return typer.Option(metavar=metavar, help=text, show_default=default, **more)


#: What scikit-learn takes for a seed.
SEEDS: dict[str, Any] = {"min": 0, "max": 2**32 - 1}
#: Options about the card stand together in the help.
LIMITS = {"rich_help_panel": "Limits on the card"}
RAW = {"rich_help_panel": "How columns are read"}
FILES = {"rich_help_panel": "How files are read"}

GRID = "Risks from which one might act: low:high:step, or a list like 0.1,0.2,0.5."

Names = list[str] | None
Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="A .csv, .csv.gz, .tsv, .xlsx or .parquet.")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files (.csv, .csv.gz, .tsv, .xlsx, .parquet), a pattern in quotes "
        "('data/*.parquet'), a folder, duckdb:///file.db?table=t or postgresql://user@host/base?table=t.",
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
Positive = Annotated[
    str | None, option("LABEL", "The event's label in the outcome column.", "1, true, yes")
]
RowWeights = Annotated[str | None, option("COLUMN", "A column of row weights.")]
Weights = Annotated[
    WeightNames,
    typer.Option(help="All thresholds alike, or by the width of the interval above each."),
]
MaxPoints = Annotated[int, option("N", "Largest points of an answer to a question.", **LIMITS)]
MaxPerColumn = Annotated[
    int | None, option("K", "Largest number of rules on one column.", **LIMITS)
]
Labels = Annotated[
    Path | None,
    option(
        "FILE",
        "Names, units, plausible ranges and levels of columns: .csv or .json "
        "(docs/command_line.md).",
    ),
]
Seconds = Annotated[float, option("SECONDS", "Time to search and prove.")]
Jobs = Annotated[int, option("N", "Threads; −1 for all cores.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Debug = Annotated[
    bool, typer.Option("--debug", envvar="NETBENEFIT_DEBUG", help="Show where an error arose.")
]


@dataclass(frozen=True)
class FileOptions:
    """How files of text and workbooks are read, where that is not clear by itself."""

    sheet: Annotated[
        str | None, option("NAME", "The sheet of an Excel workbook.", "the only one", **FILES)
    ] = None
    delimiter: Annotated[
        str | None, option("SIGN", "What separates cells, such as ';' or tab.", "found", **FILES)
    ] = None
    decimal: Annotated[str | None, option("SIGN", "The decimal sign: . or ,", "found", **FILES)] = (
        None
    )
    encoding: Annotated[
        str | None, option("NAME", "Such as cp1250.", "UTF-8, UTF-16 or cp1252", **FILES)
    ] = None


@dataclass(frozen=True)
class OutcomeOptions:
    """Columns of a table that a card is evaluated on."""

    target: Annotated[
        str | None, option("COLUMN", "The column with the outcome.", "the card's own")
    ] = None
    sample_weight: RowWeights = None
    positive: Positive = None


@dataclass(frozen=True)
class ThresholdOptions:
    """Risks from which one might act."""

    thresholds: Annotated[
        str | None,
        option("GRID", GRID + " `fit` also takes suggest: where the risks lie.", "0,0.1,…,0.9"),
    ] = None
    weights: Weights = WeightNames.equal


@dataclass(frozen=True)
class TeacherOptions:
    """The model behind a card."""

    teacher: Annotated[
        str,
        option(
            "WHO",
            "The model whose risks the card learns from, beside the outcomes: auto (a stack), "
            "logistic, boosting, none, or a COLUMN of risks computed elsewhere.",
        ),
    ] = "auto"
    prior_strength: Annotated[
        str,
        option(
            "ROWS",
            "Rows of belief in the teacher; auto is ten for every row of the table, 0 the "
            "published method, inf the teacher alone.",
        ),
    ] = "auto"


@dataclass(frozen=True)
class LimitOptions:
    """Directions and constraints of a card."""

    monotone: Annotated[
        Names,
        option(
            "NAME+",
            "Points never fall (NAME+) or never rise (NAME-) along a column; auto: the teacher's "
            "directions of all others, where they are clear; all: in any case.",
            **LIMITS,
        ),
    ] = None
    nonnegative: Annotated[
        bool,
        typer.Option("--nonnegative", help="Every rule may only add points.", **LIMITS),
    ] = False
    sign: Annotated[
        Names, option("NAME=+", "Points of a column may only be + or only be −.", **LIMITS)
    ] = None
    constraints: Annotated[
        Path | None,
        option("FILE", "More than that: a JSON list, see docs/constraints.md.", **LIMITS),
    ] = None


@dataclass(frozen=True)
class ReadingOptions:
    """How columns are read."""

    binner: Annotated[
        str,
        option(
            "HOW",
            "Raw columns become conditions such as age ≥ 52: auto, net_benefit, tree, quantile, "
            "optbinning, or a FILE.json with settings (docs/command_line.md); none: columns are "
            "numbers, with points per unit.",
            **RAW,
        ),
    ] = "auto"
    categorical: Annotated[Names, option("NAME", "Numbers of a column that are levels.", **RAW)] = (
        None
    )
    numeric: Annotated[Names, option("NAME", "A column to read as numbers.", **RAW)] = None
    missing: Annotated[
        Names,
        option(
            "[NAME=]POLICY",
            "Missing values: auto, condition (with points of their own), impute or refuse; of one "
            "column, or of all.",
            **RAW,
        ),
    ] = None
    special: Annotated[Names, option("NAME=96,98", "Codes that mean missing.", **RAW)] = None
    cuts: Annotated[Names, option("NAME=40,60", "Your own cut points of a column.", **RAW)] = None
    drop: Annotated[Names, option("NAME", "A column to leave out.", **RAW)] = None


# For commands that do in every fold what `fit` does once.


@dataclass(frozen=True)
class LimitsInFolds(LimitOptions):
    """Directions and constraints of a card, as `fit` has them."""

    monotone: Annotated[Names, option("NAME+", "As in `fit`.", **LIMITS)] = None


@dataclass(frozen=True)
class ColumnsInFolds(ReadingOptions):
    """How columns are read, as `fit` reads them."""

    binner: Annotated[str, option("HOW", "As in `fit`; cut points are found anew.", **RAW)] = "auto"
    categorical: Annotated[Names, option("NAME", "As in `fit`.", **RAW)] = None
    numeric: Annotated[Names, option("NAME", "As in `fit`.", **RAW)] = None
    missing: Annotated[Names, option("[NAME=]POLICY", "As in `fit`.", **RAW)] = None
    special: Annotated[Names, option("NAME=96,98", "As in `fit`.", **RAW)] = None
    cuts: Annotated[Names, option("NAME=40,60", "As in `fit`.", **RAW)] = None

"""``netbenefit reproduce``: the paper's experiments, run again, beside the published numbers."""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli.options import Debug, Quiet, option
from netbenefit.cli.terminal import friendly
from netbenefit.common.checks import InputError

__all__ = ["reproduce"]

#: Where the experiments are in a clone: beside src, not in the installed package.
_CLONE = Path(__file__).resolve().parents[3]


class BudgetNames(StrEnum):
    """How much time is spent."""

    quick = "quick"
    standard = "standard"
    paper = "paper"


@friendly
def reproduce(
    budget: Annotated[
        BudgetNames,
        typer.Option(
            help="quick: 2 folds of small data, in minutes. standard: everything, in 3 hours at "
            "most on 2 cores. paper: 10 minutes for every integer program, which takes days."
        ),
    ] = BudgetNames.standard,
    only: Annotated[
        list[str] | None,
        option(
            "NAME",
            "Only this output: performance, ablation, sensitivity, ranks, computational, "
            "objective, curves, region or credit. May be repeated.",
        ),
    ] = None,
    datasets: Annotated[str | None, option("LIST", "Data sets, separated by commas.")] = None,
    methods: Annotated[str | None, option("LIST", "Methods, separated by commas.")] = None,
    out: Annotated[
        Path | None,
        option(
            "FOLDER",
            "Where results go, and where finished fits are kept.",
            "docs/reproduction; docs/reproduction-quick for quick, and so on",
        ),
    ] = None,
    jobs: Annotated[int, option("N", "Fits at a time; −1 for one a core.", min=-1)] = -1,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Run the paper's experiments again: tables and figures, with the published numbers beside.

    Reads the data of the folder `NETBENEFIT_DATA`, or `../shared/data`.  Every finished fit is
    kept: after an interruption the same command goes on where it stopped, and makes the outputs
    anew from all that is there.
    """
    if not (_CLONE / "reproduction" / "__init__.py").is_file():
        raise InputError(
            "the paper's experiments are not part of the installed package. Clone the repository, "
            "run `pip install -e '.[reproduce]'` in it, and try again."
        )
    if str(_CLONE) not in sys.path:
        sys.path.append(str(_CLONE))
    experiments = import_module("reproduction.command")
    folder = out or Path("docs", "reproduction" + ("" if budget == "standard" else f"-{budget}"))
    failed = experiments.reproduce(
        str(budget), folder, only or [], _words(datasets), _words(methods), jobs=jobs, quiet=quiet
    )
    if failed:
        raise typer.Exit(1)


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]

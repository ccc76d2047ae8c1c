"""The command line: ``netbenefit demo | fit | sizes | validate | compare | update | report | …``.

This module reads options and prints; what it prints is computed elsewhere.  Imports that take time
stand inside the commands, so that help comes at once.  Results go to stdout; progress, notes and
errors go to stderr.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli.compare import compare
from netbenefit.cli.export import export
from netbenefit.cli.fit import fit
from netbenefit.cli.options import (
    GRID,
    Card,
    CardTarget,
    Debug,
    Positive,
    Quiet,
    RowWeights,
    Seconds,
    Sources,
    Stream,
    option,
)
from netbenefit.cli.report import report
from netbenefit.cli.score import score
from netbenefit.cli.sizes import sizes
from netbenefit.cli.terminal import (
    check_writable,
    friendly,
    load_card,
    make_console,
    print_card,
    program_name,
    tell,
    warnings_as_notes,
    working,
)
from netbenefit.cli.update import update
from netbenefit.cli.validate import validate

# -- ``netbenefit reproduce``: the paper's experiments, run again, beside the published numbers ----


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
    from netbenefit.common import InputError

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


# --------------------------------------------------------------------------------------------------


app = typer.Typer(
    help="Risk scorecards that maximise decision net benefit.",
    epilog="Start with: netbenefit demo",
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without box characters shows "?" instead
            stream.reconfigure(errors="replace")
    app()


# -- options ---------------------------------------------------------------------------------------


def _version(wanted: bool) -> None:
    if wanted:
        from netbenefit._version import __version__

        make_console().print(f"netbenefit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Risk scorecards that maximise decision net benefit."""


# -- demo ------------------------------------------------------------------------------------------


@app.command(epilog="Example: netbenefit demo --out /tmp/demo")
@friendly
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the card and the report.")] = Path(
        "netbenefit-demo"
    ),
    time_limit: Seconds = 5.0,
    debug: Debug = False,
) -> None:
    """Learn a card that tells malignant breast tumours from benign ones.

    Uses the measurements that scikit-learn ships.  Prints the card and how it does on tumours that
    were held out, and writes a report.
    """
    from netbenefit.cli.model import notes_on
    from netbenefit.common import InputError
    from netbenefit.report import comparison_table, thresholds_text

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file. Name a folder: --out FOLDER.")
    console = make_console()
    console.print("Which breast tumours are malignant? Learning a card that tells them apart.\n")
    with working(False, "getting ready"):
        from netbenefit.cli import demo as demonstration

        data = demonstration.demo_data()
    with warnings_as_notes():
        result = demonstration.run_demo(data, time_limit=time_limit, quiet=False)
    files = demonstration.save_demo(data, result, out)
    print_card(result.learned.card)
    for note in notes_on(result.learned):
        tell("yellow", "note", note)
    grid = thresholds_text(result.learned.card.thresholds)
    console.print(f"\nOn {data.test_event.size} other tumours, at {grid}:")
    console.print(comparison_table(result.rows))
    console.print(
        "AUNBC is the mean net benefit: more is better. ECE is the calibration error.\n"
        "One split of a small table: other splits give other numbers.\n"
    )
    console.print("Wrote " + "\n      ".join(str(file) for file in files.values()))
    program = program_name()
    console.print(
        "\nNext: open the report and the calculator in a browser, then try\n"
        f"  {program} evaluate {files['card']} {files['held-out rows']} --target malignant\n"
        f"  {program} compare {files['all rows']} --target malignant "
        "--models scorecard,logistic,tree\n"
        f"  {program} fit YOUR.csv --target OUTCOME --out card.json"
    )


# -- fit -------------------------------------------------------------------------------------------

app.command(
    epilog="Example: netbenefit fit patients.csv --target died --thresholds 0.05:0.5:0.05 "
    "--max-features 6 --out card.json"
)(fit)


# -- sizes -----------------------------------------------------------------------------------------

app.command(epilog="Example: netbenefit sizes patients.csv --target died --plot sizes.svg")(sizes)


# -- validate --------------------------------------------------------------------------------------

app.command(
    epilog="Example: netbenefit validate patients.csv --target died --folds 5 --nested "
    "--journal folds.jsonl"
)(validate)


# -- evaluate --------------------------------------------------------------------------------------


@app.command(epilog="Example: netbenefit evaluate card.json new_patients.csv --csv curve.csv")
@friendly
def evaluate(
    card: Card,
    data: Sources,
    target: CardTarget = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    thresholds: Annotated[str | None, option("GRID", GRID, "the card's own")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Save the decision curve.")
    ] = None,
    reference: Annotated[
        Path | None,
        option("DATA", "A table to compare with, such as the training rows: what has drifted?"),
    ] = None,
    stream: Stream = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure a card on a table: net benefit, discrimination, calibration, drift.

    The thresholds are the card's own unless others are given.  A card that was learnt from a raw
    table reads raw tables: text, missing values, special codes.
    """
    from netbenefit.cli.evaluate import evaluate_command

    evaluate_command(
        card,
        data,
        target,
        positive=positive,
        sample_weight=sample_weight,
        thresholds=thresholds,
        as_json=as_json,
        csv=csv,
        reference=reference,
        stream=stream,
        quiet=quiet,
    )


# -- score -----------------------------------------------------------------------------------------

app.command(
    epilog="Example: netbenefit score card.json 'data/*.parquet' --out scored.parquet --keep id"
)(score)


# -- update ----------------------------------------------------------------------------------------

app.command(
    epilog="Example: netbenefit update card.json new_patients.csv --what risks --out new.json"
)(update)


# -- compare ---------------------------------------------------------------------------------------

app.command(
    epilog="Example: netbenefit compare patients.csv --target died "
    "--models card.json,scorecard,logistic,lasso --plot curves.svg"
)(compare)


# -- report ----------------------------------------------------------------------------------------

app.command(epilog="Example: netbenefit report card.json new_patients.csv --out report.html")(
    report
)


# -- export ----------------------------------------------------------------------------------------

app.command(epilog="Example: netbenefit export card.json --to html --out calculator.html")(export)


# -- show ------------------------------------------------------------------------------------------


@app.command(epilog="Example: netbenefit show card.json --html card.html")
@friendly
def show(
    card: Card,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page to print.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Print a saved card, and write it as a page that works offline."""
    from netbenefit.common import write_text
    from netbenefit.report import card_page

    check_writable(html, card)
    scorecard = load_card(card)
    print_card(scorecard)
    if html is not None:
        write_text(html, card_page(scorecard))
        tell("bold", "saved", html)


# -- verify ----------------------------------------------------------------------------------------


@app.command(epilog="Example: netbenefit verify card.json certificate.json patients.csv --full")
@friendly
def verify(
    card: Card,
    certificate: Annotated[
        Path,
        typer.Argument(metavar="CERTIFICATE", help="What `fit --certificate` has written."),
    ],
    data: Sources,
    target: CardTarget = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    full: Annotated[
        bool, typer.Option("--full", help="Check every box; refuse what cannot be checked.")
    ] = False,
    sample: Annotated[int, option("N", "Boxes to check, drawn at random.")] = 200,
    seed: Annotated[int | None, option("N", "Seed of the draw.", "a new one")] = None,
    debug: Debug = False,
) -> None:
    """Check a card and its certificate against the data they were made from.

    Everything is counted anew, without the solver: the value of the card, that the boxes of the
    proof leave out no card, and their bounds.  Exit code 1 if anything does not hold.
    """
    from netbenefit.cli.verify import verify_command

    verify_command(
        card,
        certificate,
        data,
        target,
        positive=positive,
        sample_weight=sample_weight,
        full=full,
        sample=sample,
        seed=seed,
    )


# -- reproduce -------------------------------------------------------------------------------------

app.command(epilog="Example: netbenefit reproduce --budget quick --only performance")(reproduce)

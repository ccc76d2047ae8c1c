"""The command line: ``netbenefit demo | fit | sizes | evaluate | show | verify``.

This module reads options and prints; what it prints is computed elsewhere.  Imports that take time
stand inside the commands, so that help comes at once.  Results go to stdout; progress, notes and
errors go to stderr.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from netbenefit._cli_sizes import sizes
from netbenefit._terminal import (
    check_writable,
    friendly,
    load_card,
    make_console,
    pick_column,
    print_card,
    program_name,
    progress,
    read_setting,
    read_signs,
    tell,
)

__all__ = ["app", "main"]

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


class _Weights(StrEnum):
    equal = "equal"
    length = "length"


class _Solver(StrEnum):
    auto = "auto"
    exact = "exact"
    milp = "milp"
    local = "local"
    anneal = "anneal"


def _option(metavar: str, text: str, default: str | bool = True) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=default)


Data = Annotated[Path, typer.Argument(metavar="DATA", help="A .csv, .csv.gz, .tsv or .parquet.")]
Card = Annotated[Path, typer.Argument(metavar="CARD", help="A card that `fit --out` has written.")]
Positive = Annotated[
    str | None, _option("LABEL", "The event's label in the outcome column.", "the last in order")
]
RowWeights = Annotated[str | None, _option("COLUMN", "A column of row weights.")]
Seconds = Annotated[float, _option("SECONDS", "Time to search and prove.")]
Debug = Annotated[
    bool, typer.Option("--debug", envvar="NETBENEFIT_DEBUG", help="Show where an error arose.")
]
_GRID = "Risks from which one might act: low:high:step, or a list like 0.1,0.2,0.5."


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
    from netbenefit._fit_notes import notes_on
    from netbenefit._validation import InputError
    from netbenefit.report.html import thresholds_text
    from netbenefit.report.text import comparison_table

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file. Name a folder: --out FOLDER.")
    console = make_console()
    console.print("Which breast tumours are malignant? Learning a card that tells them apart.\n")
    with progress(quiet=False) as callback:
        from netbenefit import demo as demonstration

        data = demonstration.demo_data()
        result = demonstration.run_demo(data, time_limit=time_limit, callback=callback)
    files = demonstration.save_demo(data, result, out)
    print_card(result.learned.card)
    for note in notes_on(result.learned.problem, result.learned.result):
        tell("yellow", "note", note)
    grid = thresholds_text(result.learned.card.thresholds)
    console.print(f"\nOn {data.test_event.size} other tumours, at {grid}:")
    console.print(comparison_table(result.rows))
    console.print(
        "AUNBC is the mean net benefit: more is better. ECE is the calibration error.\n"
        "One split of a small table: other splits give other numbers.\n"
    )
    console.print(f"Wrote {files['card']}\n      {files['report']}\n      {files['held-out rows']}")
    program = program_name()
    console.print(
        "\nNext: open the report in a browser, then try\n"
        f"  {program} evaluate {files['card']} {files['held-out rows']} --target malignant\n"
        f"  {program} fit YOUR.csv --target OUTCOME --out card.json"
    )


# -- fit -------------------------------------------------------------------------------------------


@app.command(
    epilog="Example: netbenefit fit patients.csv --target died --thresholds 0.05:0.5:0.05 "
    "--max-features 6 --out card.json"
)
@friendly
def fit(
    data: Data,
    target: Annotated[str, _option("COLUMN", "The column with the outcome.")],
    thresholds: Annotated[str | None, _option("GRID", _GRID, "0,0.1,…,0.9")] = None,
    weights: Annotated[
        _Weights, typer.Option(help="Every threshold alike, or each by the interval it opens.")
    ] = _Weights.equal,
    max_features: Annotated[int | None, _option("K", "Largest number of rules.")] = None,
    max_points: Annotated[int, _option("N", "Points of a rule: from −N to N.")] = 10,
    penalty: Annotated[
        str,
        _option(
            "PRICE",
            "What a rule must bring, in net benefit; auto is 2 · prevalence / rows, paper is 0.1 · "
            "prevalence / columns.",
        ),
    ] = "auto",
    prior_strength: Annotated[
        str,
        _option(
            "ROWS",
            "Rows of belief that the risk is logistic in the score; auto is 3000, 0 is the "
            "published method.",
        ),
    ] = "auto",
    any_sign: Annotated[
        bool,
        typer.Option(
            "--any-sign",
            help="With a prior: let points contradict a column's own association with the outcome.",
        ),
    ] = False,
    sign: Annotated[
        list[str] | None,
        _option("NAME=+", "Points of a column may only be + or only be −."),
    ] = None,
    constraints: Annotated[
        Path | None,
        _option("FILE", "More that is asked of the card: a JSON list, see docs/constraints.md."),
    ] = None,
    drop: Annotated[list[str] | None, _option("COLUMN", "A column to leave out.")] = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    solver: Annotated[
        _Solver,
        typer.Option(
            help="auto searches, and without a prior then proves; exact proves longer; milp is the "
            "integer program (--prior-strength 0); local, and anneal as published, only search."
        ),
    ] = _Solver.auto,
    time_limit: Seconds = 10.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the search.")] = 0,
    jobs: Annotated[int, _option("N", "Threads; −1 for all cores.")] = -1,
    out: Annotated[Path | None, _option("FILE", "Where to save the card, as JSON.")] = None,
    certificate: Annotated[
        Path | None,
        _option("FILE", "Where to save the proof, for `verify`: .json or .json.gz."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")] = False,
    debug: Debug = False,
) -> None:
    """Learn a scorecard from a table and print it.

    All columns but the outcome are used; they have to be numbers or true/false, with nothing
    missing.  Ctrl-C ends search and proof and keeps the best card so far.
    """
    from netbenefit._fit_notes import check_features, notes_on, read_constraints
    from netbenefit._io import read_table
    from netbenefit._outcome import read_outcome
    from netbenefit.assemble import choose_solver, learn
    from netbenefit.certificate import make_certificate
    from netbenefit.patterns import PatternTable
    from netbenefit.solvers.progress import conclude
    from netbenefit.thresholds import as_thresholds

    check_writable(out, data)
    check_writable(certificate, data, *([out] if out else []))
    asked = read_constraints(constraints)
    grid = as_thresholds(thresholds, weights.value)
    price = read_setting(penalty, "--penalty", "auto", "paper")
    prior = read_setting(prior_strength, "--prior-strength", "auto")
    signs = read_signs(sign or [])
    columns = read_table(data)
    outcome = read_outcome(target, pick_column(columns, target, "--target"), positive)
    weight = (
        None if sample_weight is None else pick_column(columns, sample_weight, "--sample-weight")
    )
    for name in drop or []:
        pick_column(columns, name, "--drop")
    unused = {target, sample_weight, *(drop or [])}
    features = {name: column for name, column in columns.items() if name not in unused}
    if weight is not None:
        check_features({str(sample_weight): weight})
    check_features(features)
    if not quiet:
        rows = f"{outcome.event.size:,} rows, {outcome.event.sum():,} with {outcome.text}"
        plural = "s" * (len(features) != 1)
        tell("bold", data.name, f"{rows}; {len(features)} column{plural} to learn from")
    table = PatternTable.from_columns(features, outcome.event, sample_weight=weight)
    engine = choose_solver(solver.value, time_limit=time_limit, seed=seed, n_jobs=jobs)
    with progress(quiet) as callback:
        card, result, problem = learn(
            table,
            grid,
            engine,
            outcome=outcome.text,
            seed=seed,
            callback=callback,
            penalty=price,
            prior_strength=prior,
            keep_signs=False if any_sign else "auto",
            max_points=max_points,
            max_features=max_features,
            sign=signs,
            constraints=asked,
        )
    if out is not None:
        card.save(out)
    if certificate is not None:
        make_certificate(problem, result, card).save(certificate)
    print_card(card)
    origin = card.provenance
    assert origin is not None
    rules = f"{result.size} rule{'s' * (result.size != 1)}"
    make_console().print(
        f"objective {result.objective:.6f} · net benefit {origin.net_benefit:.6f} · {rules} · "
        f"{result.status.replace('_', ' ')} · {result.seconds:.1f} s"
    )
    make_console().print(conclude(result))
    if not quiet:
        for note in notes_on(problem, result):
            tell("yellow", "note", note)
        tell(
            "bold", "saved" if out else "not saved", out or "add --out card.json to keep the card."
        )
        if certificate is not None:
            tell("bold", "saved", certificate)


# -- sizes -----------------------------------------------------------------------------------------

app.command(epilog="Example: netbenefit sizes patients.csv --target died --plot sizes.svg")(sizes)


# -- evaluate --------------------------------------------------------------------------------------


@app.command(epilog="Example: netbenefit evaluate card.json new_patients.csv --csv curve.csv")
@friendly
def evaluate(
    card: Card,
    data: Data,
    target: Annotated[
        str | None,
        _option("COLUMN", "The column with the outcome.", "the card's own"),
    ] = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    thresholds: Annotated[str | None, _option("GRID", _GRID, "the card's own")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Save the decision curve.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Measure a card on a table: net benefit, discrimination, calibration.

    The thresholds are the card's own unless others are given.
    """
    from netbenefit._fit_notes import read_for_card
    from netbenefit._io import read_table, write_csv
    from netbenefit.decision import decision_curve
    from netbenefit.report import measure, text
    from netbenefit.thresholds import as_thresholds

    check_writable(csv, card, data)
    scorecard = load_card(card)
    columns = read_table(data)
    outcome, weight = read_for_card(scorecard, columns, target, positive, sample_weight)
    risk = scorecard.risk(columns)
    grid = scorecard.thresholds if thresholds is None else as_thresholds(thresholds)
    measures = measure(outcome.event, risk, grid, sample_weight=weight)
    curve = decision_curve(outcome.event, {"Card": risk}, grid, sample_weight=weight)
    if csv is not None:
        write_csv(curve, csv)
    if as_json:
        typer.echo(text.to_json(measures, curve, outcome.text, grid))
        return
    console = make_console()
    console.print(f"{card} on {data}, {outcome.text}:")
    console.print(text.measure_table(measures))
    console.print(text.curve_table(curve))
    if csv is not None:
        tell("bold", "saved", csv)


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
    from netbenefit.report.html import card_page

    check_writable(html, card)
    scorecard = load_card(card)
    print_card(scorecard)
    if html is not None:
        html.write_text(card_page(scorecard), encoding="utf-8")
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
    data: Data,
    target: Annotated[
        str | None,
        _option("COLUMN", "The column with the outcome.", "the card's own"),
    ] = None,
    sample_weight: RowWeights = None,
    positive: Positive = None,
    full: Annotated[
        bool, typer.Option("--full", help="Check every box; refuse what cannot be checked.")
    ] = False,
    sample: Annotated[int, _option("N", "Boxes to check, drawn at random.")] = 200,
    seed: Annotated[int | None, _option("N", "Seed of the draw.", "a new one")] = None,
    debug: Debug = False,
) -> None:
    """Check a card and its certificate against the data they were made from.

    Everything is counted anew, without the solver: the value of the card, that the boxes of the
    proof leave out no card, and their bounds.  Exit code 1 if anything does not hold.
    """
    from netbenefit._cli_verify import verify_command

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

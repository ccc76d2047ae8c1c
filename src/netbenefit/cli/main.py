"""The command line: ``netbenefit demo | fit | sizes | validate | compare | update | report | …``.

Commands read options and print; what they print is computed elsewhere.  Imports that take time
stand inside the commands, so that help comes at once.  Results go to stdout; progress, notes and
errors go to stderr.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from netbenefit.cli import options, terminal
from netbenefit.cli.compare import compare
from netbenefit.cli.demo import demo
from netbenefit.cli.evaluate import evaluate
from netbenefit.cli.export import export
from netbenefit.cli.fit import fit
from netbenefit.cli.helping import Command, Group
from netbenefit.cli.options import option
from netbenefit.cli.report import report
from netbenefit.cli.score import score
from netbenefit.cli.sizes import sizes
from netbenefit.cli.studio import studio
from netbenefit.cli.update import update
from netbenefit.cli.validate import validate
from netbenefit.cli.verify import verify

app = typer.Typer(
    help="Risk scorecards that maximise decision net benefit.",
    epilog="Start with: netbenefit demo",
    rich_markup_mode="markdown",
    no_args_is_help=True,
    cls=Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    from netbenefit.common import SPELL_OUT

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELL_OUT)
    app()


def _version(shown: bool) -> None:
    if shown:
        from netbenefit._version import __version__

        terminal.make_console().print(f"netbenefit {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Risk scorecards that maximise decision net benefit."""


@terminal.report_user_errors
def show(
    card: options.Card,
    html: Annotated[Path | None, option("FILE", "Write a page to print.")] = None,
    debug: options.Debug = False,
) -> None:
    """Print a saved card, and write it as a page that works offline."""
    from netbenefit.common import write_text
    from netbenefit.report import card_page

    terminal.check_writable([card], html)
    scorecard = terminal.load_card(card)
    terminal.print_card(scorecard)
    if html is not None:
        write_text(html, card_page(scorecard))
        terminal.print_saved(html)


#: Where the paper's experiments are in a clone: beside src, not in the installed package.
_CLONE = Path(__file__).resolve().parents[3]


@terminal.report_user_errors
def reproduce(context: typer.Context) -> None:
    """Run the paper's experiments again: tables and figures, with the published numbers beside."""
    from netbenefit.common import InputError

    if not (_CLONE / "reproduction" / "__init__.py").is_file():
        raise InputError(
            "the paper's experiments are not part of the installed package. Clone the repository, "
            "run `pip install -e '.[reproduce]'` in it, and try again."
        )
    if str(_CLONE) not in sys.path:
        sys.path.append(str(_CLONE))
    experiments = import_module("reproduction.command").app
    name = f"{terminal.program_name()} reproduce"
    raise typer.Exit(experiments(context.args, prog_name=name, standalone_mode=False) or 0)


_START, _LEARN, _JUDGE, _USE = "Start here", "Learn a card", "Judge it", "Use it"
for _panel, _command, _example in (
    (_START, demo, "demo --out /tmp/demo"),
    (
        _LEARN,
        fit,
        "fit patients.csv --target died --thresholds 0.05:0.5:0.05 --max-questions 6 "
        "--out card.json",
    ),
    (_LEARN, studio, "studio patients.csv --target died --thresholds 0.05:0.5:0.05"),
    (_LEARN, sizes, "sizes patients.csv --target died --plot sizes.svg"),
    (_LEARN, update, "update card.json new_patients.csv --what risks --out new.json"),
    (
        _JUDGE,
        validate,
        "validate patients.csv --target died --folds 5 --nested --journal folds.jsonl",
    ),
    (_JUDGE, evaluate, "evaluate card.json new_patients.csv --csv curve.csv"),
    (
        _JUDGE,
        compare,
        "compare patients.csv --target died --models card.json,scorecard,logistic,lasso "
        "--plot curves.svg",
    ),
    (_JUDGE, report, "report card.json new_patients.csv --out report.html"),
    (_JUDGE, verify, "verify card.json certificate.json patients.csv"),
    (_USE, show, "show card.json --html card.html"),
    (_USE, score, "score card.json 'data/*.parquet' --out scored.parquet --keep id"),
    (_USE, export, "export card.json --to html --out calculator.html"),
):
    app.command(cls=Command, epilog=f"Example: netbenefit {_example}", rich_help_panel=_panel)(
        _command
    )
# Its options, --help included, are those of the experiments.
app.command(
    add_help_option=False,
    rich_help_panel="The paper",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(reproduce)

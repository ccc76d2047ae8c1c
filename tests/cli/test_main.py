"""The command line as people use it: in a terminal, in a pipe, with bad input, with Ctrl-C."""

from __future__ import annotations

import contextlib
import csv
import gzip
import inspect
import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import netbenefit
from netbenefit import Scorecard, __version__, aunbc, auroc
from netbenefit.cards import render
from netbenefit.cli.helping import PANELS
from netbenefit.cli.main import app
from netbenefit.cli.terminal import print_for_programs
from netbenefit.data.duckdb import read_table

# Ctrl-C reaches a child that was started in the background, too, once it asks for it.
PROGRAM = [
    sys.executable,
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.argv[0] = 'netbenefit'; from netbenefit.cli.main import main; main()",
]
COLOUR = re.compile(r"\x1b\[")
PATIENCE = 120  # seconds; compiling on a busy machine takes its time


def run(*args: object, code: int = 0) -> str:
    """Run a command in this process; return what it printed, on stdout and stderr."""
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def error(*args: object) -> str:
    """Run a command that has to fail; return its message, which is one line."""
    output = run(*args, code=2)
    lines = [line for line in output.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, output
    assert "Traceback" not in output
    return lines[0]


def people(n: int = 400, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    fever, cough, age = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(20, 80, n)
    ill = rng.random(n) < 0.05 + 0.4 * fever + 0.4 * (age >= 60)
    return {
        "ill": np.where(ill, "yes", "no"),
        "fever": fever,
        "cough": cough == 1,
        "old": (age >= 60).astype(int),
        "town": np.where(age % 2, "Bonn", "Köln"),
        "weight": age % 3 + 1,
    }


def save(columns: dict[str, np.ndarray], path: Path) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(people(), tmp_path_factory.mktemp("data") / "people.csv")


GRID = ["--thresholds", "0.1:0.5:0.1", "--penalty", "0.005"]
#: The published objective on numbers: these tests are about the command line, not about what a
#: prior does, nor about what a binner does (tests/cli/test_fit.py).
PUBLISHED = ["--prior-strength", "0"]
NUMBERS = ["--binner", "none"]
TIME = ["--time-limit", "300"]  # a first run may have to compile
FIT = ["--target", "ill", "--drop", "town", "--drop", "weight", *GRID, *PUBLISHED, *NUMBERS, *TIME]


@pytest.fixture(scope="module")
def card_file(table: Path) -> Path:
    out = table.with_name("card.json")
    run("fit", table, *FIT, "--out", out)
    return out


# -- fit, show, evaluate ---------------------------------------------------------------------------


def test_fit_prints_and_saves_the_card(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    printed = run("fit", table, *FIT, "--out", out)
    card = Scorecard.load(out)
    assert str(card) in printed
    assert card.provenance is not None
    assert card.provenance.outcome == "ill = yes"
    assert {rule.term.feature for rule in card.rules} == {"fever", "old"}
    assert re.search(
        r"objective 0\.\d{6} · net benefit 0\.\d{6} on the training rows · "
        r"2 questions · optimal · \d+\.\d s",
        printed,
    )
    assert f"saved: {out}" in printed
    assert "people.csv: 400 rows, " in printed
    assert list(tmp_path.iterdir()) == [out]  # no drafts are left behind


def test_fit_without_out_says_how_to_keep_the_card(table: Path) -> None:
    assert "not saved: add --out card.json" in run("fit", table, *FIT)


def test_quiet_prints_the_card_alone(table: Path) -> None:
    printed = run("fit", table, *FIT, "--quiet")
    assert printed.startswith("┌")
    assert "saved" not in printed
    assert "people.csv" not in printed


def test_fit_options_reach_the_search(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = ["--max-features", 1, "--max-points", 3, "--penalty", "0.001", "--weights", "length"]
    run("fit", table, *FIT, *options, "--seed", 7, "--jobs", 1, "--out", out)
    card = Scorecard.load(out)
    assert card.size == 1
    assert all(abs(rule.points) <= 3 for rule in card.rules)
    assert card.thresholds.weights == (0.0, 0.25, 0.25, 0.25, 0.25, 0.0)
    assert card.provenance is not None
    assert card.provenance.penalty == 0.001
    assert card.provenance.random_state == 7
    assert card.provenance.solver == "auto"


def test_fit_signs_solver_and_event(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = ["--sign", "fever=-", "--sign", "old=+", "--solver", "anneal", "--positive", "yes"]
    run("fit", table, *FIT, *options, "--out", out)
    card = Scorecard.load(out)
    assert [rule.term.feature for rule in card.rules] == ["old"]
    assert card.provenance is not None
    assert card.provenance.solver == "anneal"
    run("fit", table, *FIT, "--positive", "no", "--out", out)
    assert "Risk of ill = no" in str(Scorecard.load(out))


def test_fit_with_row_weights(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    weights = ["--target", "ill", "--drop", "town", "--sample-weight", "weight", "--out", out]
    run("fit", table, *weights, *NUMBERS)
    card = Scorecard.load(out)
    assert card.provenance is not None
    assert "weight" not in card.feature_names
    rows = read_table(table)
    assert card.provenance.n_rows == rows["weight"].sum()
    evaluation = json.loads(run("evaluate", out, table, "--sample-weight", "weight", "--json"))
    assert evaluation["n"] == rows["weight"].sum()
    assert evaluation["prevalence"] == pytest.approx(card.provenance.prevalence)


def test_round_trip_through_parquet(table: Path, card_file: Path, tmp_path: Path) -> None:
    parquet = tmp_path / "people.parquet"
    pq.write_table(pa.table({k: pa.array(v.tolist()) for k, v in people().items()}), parquet)
    out = tmp_path / "card.json"
    run("fit", parquet, *FIT, "--out", out)
    first, second = Scorecard.load(card_file), Scorecard.load(out)
    assert (first.rules, first.cutoffs, first.risks) == (
        second.rules,
        second.cutoffs,
        second.risks,
    )
    assert run("evaluate", out, parquet, "--json") == run("evaluate", out, table, "--json")


def test_show(card_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "card.html"
    printed = run("show", card_file, "--html", page)
    assert str(Scorecard.load(card_file)) in printed
    assert f"saved: {page}" in printed
    assert Scorecard.load(card_file)._repr_html_() in page.read_text(encoding="utf-8")


def test_evaluate_finds_the_outcome_in_the_card(card_file: Path, table: Path) -> None:
    evaluation = json.loads(run("evaluate", card_file, table, "--json"))
    rows = read_table(table)
    card, event = Scorecard.load(card_file), rows["ill"] == "yes"
    risk = card.risk(rows)
    assert evaluation["outcome"] == "ill = yes"
    assert evaluation["n"] == 400
    assert evaluation["auroc"] == auroc(event, risk)
    assert evaluation["aunbc"] == aunbc(event, risk, card.thresholds)
    assert evaluation["thresholds"] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert card.provenance is not None
    assert card.provenance.objective is not None
    assert evaluation["weighted_net_benefit"] >= card.provenance.objective
    assert evaluation["expected_calibration_error"] < 1e-12


def test_evaluate_prints_tables_and_saves_the_curve(
    card_file: Path, table: Path, tmp_path: Path
) -> None:
    curve = tmp_path / "curve.csv"
    printed = run("evaluate", card_file, table, "--target", "ill", "--csv", curve, "--quiet")
    for word in ("AUROC", "AUNBC", "ECE", "HL", "Treat All", "Treat None", "10%", "50%"):
        assert word in printed
    named = (str(table), str(curve))  # paths are as long as they are
    assert all(
        len(line) <= 80 for line in printed.splitlines() if not any(n in line for n in named)
    )
    saved = read_table(curve)
    assert list(saved)[:3] == ["model", "threshold", "n"]
    assert saved["model"].tolist()[::5] == ["Card", "Treat All", "Treat None"]


def test_evaluate_at_other_thresholds(card_file: Path, table: Path) -> None:
    evaluation = json.loads(run("evaluate", card_file, table, "--json", "--thresholds", "0.2,0.3"))
    assert evaluation["thresholds"] == [0.2, 0.3]


def test_evaluate_keeps_the_event_of_the_card(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    run("fit", table, *FIT, "--positive", "no", "--out", out)
    for target in ([], ["--target", "ill"]):
        assert json.loads(run("evaluate", out, table, "--json", *target))["outcome"] == "ill = no"


def test_notes_about_what_happened_to_the_data(tmp_path: Path) -> None:
    columns = people()
    columns["same"] = np.ones(400, dtype=int)
    columns["lab"] = np.random.default_rng(1).random(400)
    path = save({k: columns[k] for k in ("ill", "fever", "same", "lab")}, tmp_path / "t.csv")
    options = ["--target", "ill", "--max-features", 1, "--max-points", 2]
    printed = run("fit", path, *options, *NUMBERS)
    assert "note: constant columns get no points: 'same'." in printed
    assert "note: rounded: lab to 0.0001." in printed or "note: rounded: lab to 0.001." in printed


def test_a_card_without_rules_says_what_to_try(table: Path) -> None:
    printed = run("fit", table, *FIT, "--penalty", "1")
    assert "no questions: every row scores 0" in printed
    assert "try --penalty 0" in printed


def test_evaluate_on_rows_that_the_card_has_seen_says_so(
    card_file: Path, table: Path, tmp_path: Path
) -> None:
    seen = "as many rows and events here as the card was learnt from"
    assert seen in " ".join(run("evaluate", card_file, table).split())
    assert seen not in " ".join(run("evaluate", card_file, table, "--quiet").split())
    fewer = save({name: values[1:] for name, values in people().items()}, tmp_path / "fewer.csv")
    assert seen not in " ".join(run("evaluate", card_file, fewer).split())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--solver", "locl"), "'--solver': 'locl' is not one of"),
        (("--max-questions", "three"), "'--max-questions': write a whole number."),
        (("--time-limit", "long"), "'--time-limit': write a number."),
    ],
)
def test_errors_of_options_are_in_plain_words(
    table: Path, option: tuple[str, str], message: str
) -> None:
    assert message in run("fit", table, *FIT, *option, code=2)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "sick"], "--target names column 'sick', which the table does not have"),
        (
            ["--target", "ill", *NUMBERS],
            "column 'town' holds text, such as 'Bonn' in line 2. With --binner",
        ),
        (["--target", "ill", *NUMBERS], "--binner auto takes both. Or: encode text as numbers"),
        (["--target", "ill", *NUMBERS], "or leave out columns: --drop town"),
        ([*FIT, "--drop", "x"], "--drop names column 'x'"),
        ([*FIT, "--sample-weight", "w"], "--sample-weight names column 'w'"),
        ([*FIT, "--sample-weight", "town"], "text in column 'town'"),
        ([*FIT, "--positive", "maybe"], "column 'ill' is never 'maybe'; it holds no, yes"),
        (
            ["--target", "weight", "--drop", "town", "--drop", "ill"],
            "the others, a code for not known among them, then count as no event",
        ),
        ([*FIT, "--thresholds", "1:2"], "cannot read thresholds '1:2'"),
        ([*FIT, "--thresholds", "5,10"], "threshold 5.0 (number 1) is not a risk"),
        ([*FIT, "--thresholds", "0.5,0.1"], "thresholds must increase"),
        ([*FIT, "--sign", "fever"], "write NAME=+ or NAME=-"),
        (
            [*FIT, "--sign", "fewer=+"],
            "--sign names column 'fewer', which is not among the columns",
        ),
        ([*FIT, "--penalty", "much"], "--penalty must be auto, paper or a number, not 'much'"),
        ([*FIT, "--penalty", "-1"], "penalty must not be negative"),
        ([*FIT, "--max-points", "0"], "--max-points must be a whole number of at least 1"),
        ([*FIT, "--time-limit", "0"], "--time-limit must be positive"),
        ([*FIT, "--jobs", "0"], "0 threads cannot search (--jobs 0)"),
        ([*FIT, "--drop", "fever", "--drop", "cough", "--drop", "old"], "no feature columns"),
        ([*FIT, "--out", "nowhere/card.json"], "there is no folder nowhere"),
        ([*FIT, "--out", "."], "is a folder. Name the file to write"),
    ],
)
def test_fit_refusals(table: Path, options: list[str], message: str) -> None:
    assert message in error("fit", table, *options)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_are_those_of_scikit_learn(table: Path, seed: int) -> None:
    assert "Invalid value for '--seed'" in run("fit", table, *FIT, f"--seed={seed}", code=2)


@pytest.mark.parametrize(
    ("command", "option", "parameter"),
    [
        (["validate", "--folds", "390"], "--folds 390 must be", "folds="),
        (["compare", "--folds", "390"], "--folds 390 must be", "folds="),
        (["fit", "--jobs", "0"], "(--jobs 0)", "n_jobs"),
        (["fit", "--time-limit", "-1"], "--time-limit must be", "time_limit"),
        (["fit", "--teacher", "foo"], "--teacher foo is neither", "array"),
        (
            ["fit", "--prior-strength", "-3"],
            "--prior-strength must not be negative",
            "prior_strength",
        ),
    ],
)
def test_errors_speak_of_options(
    table: Path, command: list[str], option: str, parameter: str
) -> None:
    message = error(command[0], table, "--target", "ill", *command[1:])
    assert option in message
    assert parameter not in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,x,z\n0,1,2\n1,,3\n1,NA,4\n", "column 'x' has 2 missing values, the first in line 3"),
        ("y,x,z\n0,,2\n1,2,\n", "--drop x --drop z"),
        ("y,a b\n0,\n1,2\n", "--drop 'a b'"),
        ("y,x\n0,1\n1,inf\n", "column 'x' has 1 infinite values (inf), the first in line 3"),
        ("y,x\n0,1\n,2\n", "column 'y' holds one class only: every row is 0"),
        ("y,x\n1,1\n1,2\n", "column 'y' holds one class only: every row is 1"),
        ("y,x\n0,1\n1,1\n", "every column is constant ('x')"),
        ("y,x\n", "no rows below the header"),
        ("y\n0\n1\n", "no feature columns"),
        ("y,x,x\n0,1,1\n", "duplicate column names: 'x'"),
        ("", "the file is empty"),
    ],
)
def test_fit_refuses_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert message in error("fit", path, "--target", "y", *NUMBERS)


def test_negative_row_weights(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("y,x,w\n0,1,1\n1,2,-1\n")
    message = error("fit", path, "--target", "y", "--sample-weight", "w", *NUMBERS)
    assert "sample_weight must be finite and not negative, but line 3 has -1.0" in message


def test_files_that_are_not_there(tmp_path: Path, table: Path, card_file: Path) -> None:
    assert "no such file" in error("fit", tmp_path / "t.csv", "--target", "y")
    assert "no such file. Name a card" in error("show", tmp_path / "card.json")
    assert "is a folder" in error("show", tmp_path)
    assert "no such file" in error("evaluate", card_file, tmp_path / "t.csv")
    assert "is a file. Name a folder" in error("demo", "--out", table)


def test_files_that_are_no_cards(table: Path, card_file: Path, tmp_path: Path) -> None:
    assert f"{table}: not JSON" in error("show", table)
    content = json.loads(card_file.read_text(encoding="utf-8"))
    bad = tmp_path / "bad.json"
    for key in content:
        bad.write_text(json.dumps({k: v for k, v in content.items() if k != key}))
        assert str(bad) in error("evaluate", bad, table)


def test_evaluate_refusals(card_file: Path, table: Path, tmp_path: Path) -> None:
    columns = people()
    lacking = save({k: columns[k] for k in ("ill", "fever")}, tmp_path / "a.csv")
    assert "the card needs 'old', absent" in error("evaluate", card_file, lacking)
    renamed = save({"sick": columns["ill"], **columns}, tmp_path / "b.csv")
    assert "--target names column 'x'" in error("evaluate", card_file, renamed, "--target", "x")
    del columns["ill"]
    unknown = save(columns, tmp_path / "c.csv")
    message = error("evaluate", card_file, unknown)
    assert "predicts 'ill = yes', and no column matches that" in message
    gap = people()
    gap["fever"] = np.where(gap["cough"], "", gap["fever"].astype(str))
    gaps = save(gap, tmp_path / "d.csv")
    assert "column 'fever' is missing in line" in error("evaluate", card_file, gaps)
    assert "column 'fever' holds" in error(
        "evaluate", card_file, save({**gap, "fever": gap["town"]}, tmp_path / "e.csv")
    )


def test_brackets_in_names_are_no_markup(tmp_path: Path) -> None:
    columns = people()
    odd = {"[bold]ill[/]": columns["ill"], "fever [°C]": columns["fever"]}
    path = save(odd, tmp_path / "[red]t.csv")
    printed = run(
        "fit", path, "--target", "[bold]ill[/]", "--penalty", 0, "--out", tmp_path / "[c].json"
    )
    assert "[bold]ill[/] = yes" in printed
    assert "fever [°C]" in printed
    assert "[bold]ill[/] = yes" in run("evaluate", tmp_path / "[c].json", path)
    assert "names column '[x]'" in error("fit", path, "--target", "[x]")


def test_debug_shows_where_an_error_arose(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'sick'"):
        run("fit", table, "--target", "sick", "--debug")
    monkeypatch.setenv("NETBENEFIT_DEBUG", "1")
    with pytest.raises(ValueError, match="'sick'"):
        run("fit", table, "--target", "sick")


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["demo", "fit", "evaluate", "show"])
def test_help_has_an_example(command: str) -> None:
    printed = " ".join(run(command, "--help").split())
    assert f"Example: netbenefit {command}" in printed


#: What has one name for scikit-learn, and another in a command.
OTHER_NAMES = {"n_jobs": "jobs", "random_state": "seed", "net_benefit_at": "at"}
#: What only Python has, or a command says with its other options and arguments.
PYTHON_ONLY = {"X", "y", "estimator", "models", "settings", "measure", "rule", "groups", "verbose"}
PYTHON_ONLY |= {"sizes", "inner_repeats"}


@pytest.mark.parametrize(
    ("command", "function"),
    [
        ("validate", netbenefit.cross_validate),
        ("validate", netbenefit.nested_cross_validate),
        ("compare", netbenefit.compare),
        ("sizes", netbenefit.size_path),
    ],
)
def test_options_are_called_like_parameters(command: str, function: Callable[..., Any]) -> None:
    options = {one.name for one in typer.main.get_command(app).commands[command].params}
    for name in set(inspect.signature(function).parameters) - PYTHON_ONLY:
        assert OTHER_NAMES.get(name, name) in options, name


def test_tables_are_saved_by_the_same_option() -> None:
    for command in ("evaluate", "validate", "compare", "sizes"):
        options = {one.name for one in typer.main.get_command(app).commands[command].params}
        assert "csv" in options
        assert "out" not in options


COMMANDS = list(typer.main.get_command(app).commands)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "reproduce"])
def test_help_is_in_groups_without_empty_types(command: str) -> None:
    printed = run(command, "--help")
    assert "bool" not in printed
    assert "list[" not in printed
    grouped = command != "export"  # whose options are all its own
    assert ("─ Options ─" in printed) != grouped
    assert "─ Output ─" in printed


def test_groups_of_help_name_options_that_exist() -> None:
    commands = typer.main.get_command(app).commands.values()
    known = {one.name for command in commands for one in command.params}
    assert {name for names in PANELS.values() for name in names} <= {*known, "help"}


def test_fit_shows_its_groups_in_order() -> None:
    printed = run("fit", "--help")
    heads = ["Rows and outcome", "Decisions", "How columns are read", "Limits on the card"]
    places = [printed.index(f"─ {head} ─") for head in [*heads, "Search", "Output"]]
    assert places == sorted(places)


def test_the_shell_can_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run("--help")
    assert "--install-completion" in printed
    environment = {
        **os.environ,
        "_NETBENEFIT_COMPLETE": "complete_bash",
        "COMP_WORDS": "netbenefit fit --thr",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(PROGRAM, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["--thresholds"]


def test_names_that_are_nearly_right(table: Path, card_file: Path, tmp_path: Path) -> None:
    assert "--thresholds" in run("fit", table, "--tresholds", "0.1", code=2)
    assert "fit" in run("fitt", table, code=2)
    assert "Did you mean 'ill'?" in error("fit", table, "--target", "Ill")
    assert "Did you mean 'fever'?" in error("fit", table, "--target", "ill", "--drop", "fewer")
    message = error("fit", table, "--target", "ill", "--categorical", "tonw")
    assert "Did you mean 'town'?" in message
    message = error("fit", table, *FIT, "--sign", "Fever=+")
    assert "Did you mean 'fever'?" in message
    message = error("fit", table, "--target", "ill", "--teacher", "logisitc")
    assert "Did you mean 'logistic'?" in message
    message = error("compare", table, "--target", "ill", "--models", "score-card")
    assert "Did you mean 'scorecard'?" in message
    renamed = {("Fever" if k == "fever" else k): v for k, v in people().items()}
    other = save(renamed, tmp_path / "renamed.csv")
    assert "Did you mean 'Fever'?" in error("evaluate", card_file, other)
    assert "Did you mean" not in error("fit", table, "--target", "xyz")


def test_version_and_help() -> None:
    assert run("--version").strip() == f"netbenefit {__version__}"
    printed = run("--help")
    assert "netbenefit demo" in printed
    assert all(command in printed for command in ("fit", "evaluate", "show"))


def test_help_does_not_wait_for_the_compiler() -> None:
    code = (
        "import sys\nfrom netbenefit.cli.main import app\n"
        "try:\n    app(['fit', '--help'])\nexcept SystemExit:\n    pass\n"
        "slow = {'numpy', 'numba', 'sklearn', 'scipy', 'narwhals'} & set(sys.modules)\n"
        "sys.exit(f'help imports {slow}' if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MISTAKES = """
fit {absent} --target ill
fit {table} --target sick
fit {table} --target ill --drop nope
fit {table} --target ill --categorical nope
fit {table} --target ill --cuts nope=3
fit {table} --target ill --monotone nope+
fit {table} --target ill --thresholds abc
fit {table} --target ill --penalty abc
fit {table} --target ill --penalty -1
fit {table} --target ill --max-points 0
fit {table} --target ill --time-limit 0
fit {table} --target ill --jobs 0
fit {table} --target ill --sign nope
fit {table} --target ill --teacher nope
fit {table} --target ill --binner nope
fit {table} --target ill --holdout 3
fit {table} --target ill --constraints {absent}
fit {table} --target ill --out {folder}/nowhere/card.json
fit {table} --target ill --out {table}
fit {table} --target ill --sample-weight town
fit {table} {table} --target sick --stream
validate {absent} --target ill
validate {table} --target sick
validate {table} --target ill --max-points x
validate {table} --target ill --jobs 0
validate {table} --target ill --at x
validate {table} --target ill --nested --bootstrap 3
validate {table} --target sick --nested
compare {absent} --target ill
compare {table} --target sick
compare {table} --target ill --models nope
compare {table} --target ill --teacher nope
compare {table} --target ill --plot x.nope
sizes {absent} --target ill
sizes {table} --target sick
sizes {table} --target ill --drop nope
evaluate {absent} {table}
evaluate {card} {absent}
evaluate {card} {table} --target sick
evaluate {card} {table} --thresholds abc
score {card} {absent} --out {folder}/x.csv
score {card} {table} --out {folder}/x.nope
score {card} {table} --out {folder}/x.csv --keep nope
update {absent} {table}
update {card} {absent}
update {card} {table} --target sick
update {card} {table} --prior-strength nope
report {absent} {table}
report {card} {absent}
report {card} {table} --target sick
export {absent} --to sql
export {card} --to sql --scale 3
export {card} --to html --labels {absent}
show {absent}
verify {absent} {absent} {table}
verify {card} {absent} {table}
demo --out {table}
"""


def test_mistakes_do_not_wait_for_slow_packages(table: Path, card_file: Path) -> None:
    code = (
        "import sys\nfrom netbenefit.cli.main import app\n"
        "slow = {'sklearn', 'scipy', 'pandas', 'numba', 'joblib', 'matplotlib', 'highspy'}\n"
        "for line in sys.stdin:\n"
        "    try:\n        app(line.split())\n"
        "    except SystemExit as end:\n        assert end.code == 2, line\n"
        "    assert not slow & set(sys.modules), (line, slow & set(sys.modules))\n"
    )
    places = {"table": table, "card": card_file, "folder": table.parent}
    lines = MISTAKES.format(absent=table.with_name("absent.csv"), **places).strip()
    done = subprocess.run([sys.executable, "-c", code], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("error: ") == len(lines.splitlines())


# -- terminals and pipes ---------------------------------------------------------------------------


def piped(*args: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *map(str, args)],
        capture_output=True,
        text=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=PATIENCE,
        check=False,
    )


def test_a_pipe_gets_neither_colours_nor_progress(table: Path) -> None:
    done = piped("fit", table, *FIT)
    assert done.returncode == 0
    assert done.stdout.startswith("┌")
    assert not COLOUR.search(done.stdout + done.stderr)
    assert "cards tried" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr


def test_errors_go_to_stderr_with_code_2(table: Path) -> None:
    done = piped("fit", table, "--target", "sick")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_streams_that_hold_few_signs(table: Path, card_file: Path, encoding: str) -> None:
    card = Scorecard.load(card_file)
    done = piped("show", card_file, PYTHONIOENCODING=encoding)
    assert done.returncode == 0
    assert done.stdout.splitlines() == render(card, 80, encoding).splitlines()
    assert done.stdout.startswith("+--")
    at = ["--thresholds", "0.1,0.9"]
    done = piped("evaluate", card_file, table, *at, PYTHONIOENCODING=encoding)
    assert re.search(r"90% .* -\d\.\d{4} ", done.stdout)  # treat all
    assert "?" not in done.stdout


def test_what_programs_read_is_utf_8_unless_it_is_shown(
    tmp_path: Path, card_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Scorecard.load(card_file)
    odd = replace(card, provenance=replace(card.provenance, outcome="größe ≤ 3 = да"))
    odd.save(tmp_path / "odd.json")
    done = subprocess.run(
        [*PROGRAM, "export", str(tmp_path / "odd.json"), "--to", "json"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        check=True,
    )
    assert Scorecard.from_json(done.stdout.decode("utf-8")) == odd
    screen = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdout", screen)
    with pytest.raises(ValueError, match="cannot show '≤'"):
        print_for_programs(odd.to_json())


def test_a_reader_that_leaves_early(card_file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, "show", str(card_file)], stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert "Traceback" not in done.stderr


class Terminal:
    """A command whose stdout and stderr are a terminal of 80 columns."""

    def __init__(self, *args: object) -> None:
        self.master, slave = pty.openpty()
        env = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color"}
        env.pop("NO_COLOR", None)
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, args)], stdin=slave, stdout=slave, stderr=slave, env=env
        )
        os.close(slave)
        self.shown = ""

    def read(self, until: str | None = None) -> str:
        """Read until a text appears, or until the command has ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(self.master, 65_536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                return self.shown
            self.shown += piece.decode("utf-8", errors="replace")
            if until is not None and until in self.shown:
                return self.shown
        raise AssertionError(f"waited in vain for {until!r}: {self.shown}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):
            os.close(self.master)


def test_ctrl_c_keeps_the_best_card_so_far(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (3000, 60))
    y = rng.random(3000) < 1 / (1 + np.exp(2 - X @ rng.normal(0, 0.7, 60)))
    columns = {"y": y.astype(int), **{f"x{k}": X[:, k] for k in range(60)}}
    path = save(columns, tmp_path / "hard.csv")
    out = tmp_path / "card.json"
    terminal = Terminal("fit", path, "--target", "y", "--time-limit", "600", "--out", out)
    try:
        terminal.read(until="cards tried")
        assert COLOUR.search(terminal.shown)  # a terminal does get the live line
        assert "objective 0." in terminal.shown
        terminal.process.send_signal(signal.SIGINT)
        shown = terminal.read()
        assert terminal.process.wait(PATIENCE) == 0, shown
    finally:
        terminal.close()
    assert "Traceback" not in shown
    assert "the search was interrupted; the card is the best so far" in shown
    assert "Risk of y " in shown
    card = Scorecard.load(out)
    assert card.provenance is not None
    assert card.provenance.status == "interrupted"
    assert card.size > 0


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.4, 0.8, 1.5, 3.0])
def test_ctrl_c_leaves_no_traceback_while_modules_are_imported(table: Path, delay: float) -> None:
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from netbenefit.cli.stopping import handle_interrupts; handle_interrupts(); "
        "print('ready', flush=True); sys.argv[0] = 'netbenefit'; "
        "from netbenefit.__main__ import main; main()"
    )
    done = subprocess.Popen(
        [sys.executable, "-c", start, "fit", str(table), *map(str, FIT)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.stdout is not None
    done.stdout.readline()
    time.sleep(delay)  # wherever it is then
    done.send_signal(signal.SIGINT)
    _, told = done.communicate(timeout=PATIENCE)
    assert "Traceback" not in told
    assert "Exception" not in told
    # 0 where the search was interrupted, which keeps its card; the signal's own on the way out.
    assert done.returncode in (0, 130, -signal.SIGINT)


def test_a_truncated_file_is_an_error_of_one_line(table: Path, tmp_path: Path) -> None:
    whole, file = gzip.compress(table.read_bytes()), tmp_path / "t.csv.gz"
    for size in (1, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert "not a whole gzip file" in error("fit", file, *FIT)


def test_errors_are_red_on_a_terminal(table: Path) -> None:
    terminal = Terminal("fit", table, "--target", "sick")
    try:
        shown = terminal.read()
        assert terminal.process.wait(PATIENCE) == 2
    finally:
        terminal.close()
    assert "\x1b[1;31merror: \x1b[0m" in shown


# -- demo ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return run("demo", "--out", folder, "--time-limit", "3"), folder


def test_demo_prints_the_card_and_names_its_files(demo: tuple[str, Path]) -> None:
    printed, folder = demo
    card = Scorecard.load(folder / "card.json")
    assert str(card) in printed
    assert 1 <= card.size <= 5
    assert all(rule.term.text().startswith("worst ") for rule in card.rules)
    assert " or more " in printed
    for name in ("card.json", "report.html", "held_out.csv"):
        assert str(folder / name) in printed
        assert (folder / name).is_file()
    for word in (
        "AUROC",
        "AUNBC",
        "ECE",
        "Treat All",
        "Treat None",
        "Logistic regression",
        "Next:",
    ):
        assert word in printed


def test_demo_report_is_self_contained(demo: tuple[str, Path]) -> None:
    _, folder = demo
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<script|<link|<img|@import|\bsrc=|\bhref=|url\((?!#)", page)
    assert Scorecard.load(folder / "card.json")._repr_html_() in page
    assert "<polyline" in page


def test_demo_card_scores_raw_rows_as_the_report_says(demo: tuple[str, Path]) -> None:
    printed, folder = demo
    card = Scorecard.load(folder / "card.json")
    rows = read_table(folder / "held_out.csv")
    risk, event = card.risk(rows), rows["malignant"] == 1
    page = (folder / "report.html").read_text(encoding="utf-8")
    shown = [f"{auroc(event, risk):.3f}", f"{aunbc(event, risk, card.thresholds):.3f}"]
    for number in shown:
        assert f">{number}</td>" in page
    assert re.search(r"Card, \d questions\s+" + r"\s+".join(map(re.escape, shown)), printed)
    evaluation = json.loads(
        run(
            "evaluate",
            folder / "card.json",
            folder / "held_out.csv",
            "--target",
            "malignant",
            "--json",
        )
    )
    assert evaluation["auroc"] == auroc(event, risk)
    one = {name: column[0] for name, column in rows.items()}
    assert card.risk(one) == risk[0]


def test_demo_beats_treating_all(demo: tuple[str, Path]) -> None:
    printed, _ = demo
    areas = {
        line.split("  ")[0].strip(): float(line.split()[-2])
        for line in printed.splitlines()
        if re.search(r"^ (Card|Logistic|Treat)", line)
    }
    assert len(areas) == 4
    assert (
        areas["Treat None"]
        < areas["Treat All"]
        < min(area for name, area in areas.items() if not name.startswith("Treat"))
    )


def test_inputs_are_never_overwritten(table: Path, card_file: Path) -> None:
    before = table.read_bytes(), card_file.read_bytes()
    assert "would be overwritten" in error("fit", table, *FIT, "--out", table)
    assert "would be overwritten" in error("evaluate", card_file, table, "--csv", table)
    assert "would be overwritten" in error("show", card_file, "--html", card_file)
    assert (table.read_bytes(), card_file.read_bytes()) == before


def test_several_labels_that_are_no_event_are_told(tmp_path: Path):
    path = tmp_path / "codes.csv"
    path.write_text("y,x\n" + "1,1\n0,0\n0,1\n1,0\n" * 10 + "9,0\n")
    fit = ["fit", path, "--target", "y", "--teacher", "none", "--max-points", 1]
    told = "41 rows, 20 with y = 1 (all of its other labels count as no event)"
    assert told in run(*fit, "--positive", 1)
    path.write_text(path.read_text().replace("9,0\n", ""))
    assert "20 with y = 1;" in run(*fit, "--positive", 1)


def test_fit_warns_of_more_columns_than_events(tmp_path: Path):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (40, 12))
    y = (np.arange(40) < 8).astype(int)
    header = ",".join(["y", *(f"c{k}" for k in range(12))])
    lines = [",".join(map(str, [y[i], *rows[i]])) for i in range(40)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join([header, *lines]))
    options = ["--target", "y", "--time-limit", 1]
    assert "40 rows for 12 candidate columns" in run("fit", path, *options)
    options += NUMBERS
    assert "40 rows for 12 candidate columns" in run("fit", path, *options)

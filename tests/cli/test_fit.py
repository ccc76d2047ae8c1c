"""The command line on raw tables: text, missing cells, codes, odd names; fit to verify."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from netbenefit import Scorecard
from netbenefit.cards.rules import starting_points
from netbenefit.cards.terms import Condition, PerUnit
from netbenefit.cli.classifier import guess_table
from netbenefit.data.duckdb import read_raw, read_table
from netbenefit.metrics.measures import measure
from tests.cli.test_main import error, piped, run

GRID = ["--thresholds", "0.1:0.5:0.1"]
QUICK = [*GRID, "--time-limit", 600, "--solver", "local"]  # it ends by itself
FIT = ["--target", "died", *QUICK]


def patients(n: int = 600, seed: int = 0) -> dict[str, list[Any]]:
    """A raw table with everything that raw tables have."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n)
    smoker = rng.choice(["never", "former", "current"], n)
    lactate = np.round(rng.lognormal(0.5, 0.5, n), 1)
    visits = np.where(rng.random(n) < 0.06, 96, rng.poisson(2, n))
    odd = rng.integers(0, 3, n)
    logit = -3 + 2.5 * (age >= 60) + 1.5 * (smoker == "current") + (lactate >= 2) + 0.5 * odd
    died = rng.random(n) < 1 / (1 + np.exp(-logit))
    gaps = rng.random(n) < 0.1
    return {
        "patient_id": [f"P{k:05d}" for k in rng.permutation(n)],
        "admitted": [f"2024-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in range(n)],
        "age": age.tolist(),
        "Raucher – früher?": smoker.tolist(),
        "lactate": ["" if h else x for h, x in zip(gaps, lactate.tolist(), strict=True)],
        "visits": visits.tolist(),
        "x=y": odd.tolist(),
        "a,b": rng.integers(0, 2, n).tolist(),
        "died": np.where(died, "yes", "no").tolist(),
    }


def save(columns: Mapping[str, Sequence[Any]], path: Path, delimiter: str = ",") -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(patients(), tmp_path_factory.mktemp("raw") / "patients.csv")


OPTIONS = ["--special", "visits=96", "--monotone", "age+", "--categorical", "x=y"]


@pytest.fixture(scope="module")
def fitted(table: Path) -> tuple[str, Path, Path]:
    card, proof = table.with_name("card.json"), table.with_name("proof.json")
    printed = run("fit", table, *FIT, *OPTIONS, "--out", card, "--certificate", proof)
    return printed, card, proof


def features(path: Path) -> set[str]:
    return {rule.term.feature for rule in Scorecard.load(path).rules}


def terms(path: Path) -> list[Condition | PerUnit]:
    return [rule.term for rule in Scorecard.load(path).rules]


# -- one command -----------------------------------------------------------------------------------


def test_a_raw_table_becomes_a_card(fitted: tuple[str, Path, Path]) -> None:
    printed, path, _ = fitted
    card = Scorecard.load(path)
    assert str(card) in printed
    assert {"age", "Raucher – früher?"} <= features(path)
    assert not {"patient_id", "admitted"} & features(path)
    assert any(term == Condition("Raucher – früher?", "==", "current") for term in terms(path))
    assert card.feature_names == tuple(list(patients())[:-1])


def test_guesses_are_shown_with_the_way_to_change_them(fitted: tuple[str, Path, Path]) -> None:
    printed, _, _ = fitted
    assert "patients.csv: 600 rows, " in printed
    assert "; 8 columns to learn from" in printed
    lines = printed.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("  column "))
    assert lines[start].split() == ["column", "taken", "for", "conditions", "missing"]
    found = {line[2:22].strip().split("  ")[0]: line for line in lines[start + 1 : start + 9]}
    assert re.search(r"^  age +whole numbers +≥ \d\d.* –$", found["age"])
    assert re.search(r"3 levels +is \w+, is \w+, is \w+ +–$", found["Raucher – früher?"])
    assert re.search(r"^  lactate +numbers +missing, ≥ .* +\d\d$", found["lactate"])
    assert re.search(r"^  visits +whole numbers +missing, .*\d\d$", found["visits"])
    assert re.search(r"^  x=y +3 levels", found["x=y"])
    assert re.search(r"^  a,b +yes or no.* yes +–$", found["a,b"])
    assert "left out" in found["patient_id"]
    assert re.search(r"^  admitted +left out +it holds dates$", found["admitted"])
    change = lines[start + 9]
    assert change.startswith("to change: ")
    for option in ("--categorical", "--numeric", "--cuts", "--drop", "--missing", "--special"):
        assert f"{option} NAME" in change


def test_warnings_are_notes_in_the_words_of_the_command_line(
    fitted: tuple[str, Path, Path],
) -> None:
    printed, _, _ = fitted
    assert "Warning" not in printed
    assert ".py:" not in printed
    assert "note: column 'patient_id' left out: " in printed
    assert "note: column 'admitted' left out: it holds dates." in printed
    assert "or drop it (--drop admitted)." in printed


def test_quiet_says_nothing_of_it(table: Path) -> None:
    printed = run("fit", table, *FIT, "--quiet")
    assert printed.startswith("┌")
    for word in ("note", "to change", "taken for", "left out"):
        assert word not in printed


def test_results_and_notes_go_to_different_streams(table: Path) -> None:
    done = piped("fit", table, *FIT, "--drop", "x=y", "--drop", "a,b")
    assert done.returncode == 0
    assert done.stdout.startswith("┌")
    assert "taken for" not in done.stdout
    assert "taken for" in done.stderr
    counts = next(line for line in done.stderr.splitlines() if line.startswith("patients.csv"))
    assert counts.endswith("; 6 columns to learn from")
    assert all(len(line) <= 80 for line in done.stderr.splitlines() if line.startswith("  "))


def test_evaluate_show_and_verify_take_the_raw_table(
    fitted: tuple[str, Path, Path], table: Path, tmp_path: Path
) -> None:
    _, card, proof = fitted
    evaluation = json.loads(run("evaluate", card, table, "--json"))
    rows = read_table(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is new in the rows of training
        risk = Scorecard.load(card).risk(rows)
    expected = measure(rows["died"] == "yes", risk, Scorecard.load(card).thresholds)
    assert evaluation["auroc"] == expected.auroc
    assert evaluation["n"] == 600
    page = tmp_path / "card.html"
    shown = run("show", card, "--html", page)
    assert str(Scorecard.load(card)) in shown
    assert "age" in page.read_text(encoding="utf-8")
    printed = run("verify", card, proof, table)
    assert "✗" not in printed
    assert "accepted" in printed


def test_a_proof_about_conditions_is_checked_in_full(table: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json.gz"
    printed = run(
        "fit", table, "--target", "died", *GRID, "--prior-strength", 0, "--penalty", "paper",
        "--drop", "x=y", "--max-per-column", 2, "--time-limit", 30, "--max-points", 3,
        "--cuts", "age=55", "--cuts", "lactate=2", "--cuts", "visits=3",
        "--out", card, "--certificate", proof,
    )  # fmt: skip
    assert "Proven optimal" in printed
    assert "accepted" in run("verify", card, proof, table)


def test_show_prints_how_codes_and_holes_are_read(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    constraints = tmp_path / "constraints.json"
    constraints.write_text('[{"kind": "include", "features": ["visits"]}]')
    run(
        "fit", table, *FIT, "--special", "visits=96", "--missing", "visits=impute",
        "--cuts", "visits=2", "--constraints", constraints, "--out", out,
    )  # fmt: skip
    assert "visits" in features(out)
    shown = run("show", out)
    assert "visits: 96 means not known" in shown
    assert re.search(r"│ visits +│ under \d.*(\n.*){1,3}│ not known ", shown)


def test_raw_points_are_those_of_the_rules(table: Path, tmp_path: Path) -> None:
    cards = []
    for k, more in enumerate([[], ["--raw-points"]]):
        out = tmp_path / f"{k}.json"
        options = ["--prior-strength", 0, "--max-features", 4, "--out", out]
        run("fit", table, *FIT, *options, *more)
        cards.append(Scorecard.load(out))
    card, raw = cards
    assert raw.base == ()
    assert card.start_at_zero() == card
    assert raw.start_at_zero().base == starting_points(raw.rules, raw.readings)
    if card.rules == raw.rules:  # the same search, unless a slow machine ended one of them early
        assert card.raw().risks == raw.risks


def test_verify_refuses_other_rows(fitted: tuple[str, Path, Path], tmp_path: Path) -> None:
    _, card, proof = fitted
    other = save(patients(seed=1), tmp_path / "other.csv")
    assert "✗ data" in run("verify", card, proof, other, code=1)


def test_new_levels_and_new_holes_are_notes(fitted: tuple[str, Path, Path], tmp_path: Path) -> None:
    _, card, _ = fitted
    rows = patients(seed=2)
    rows["Raucher – früher?"][7] = "vaper"
    rows["age"][3] = ""
    printed = run("evaluate", card, save(rows, tmp_path / "new.csv"))
    assert printed.count("note: column 'Raucher – früher?' holds 'vaper' (line 9") == 1
    assert printed.count("note: column 'age' is missing in line 5") == 1
    assert "Warning" not in printed
    assert "AUROC" in printed


# -- options reach the binner ----------------------------------------------------------------------


def test_own_cuts_and_names_with_equals_signs(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = ["--cuts", "age=40,60", "--cuts", "x=y=2", "--missing", "x=y=refuse"]
    printed = run("fit", table, *FIT, *options, "--penalty", 0, "--out", out)
    assert re.search(r"^  age .*≥ 40, ≥ 60 ", printed, re.MULTILINE)
    assert re.search(r"^  x=y .*≥ 2 ", printed, re.MULTILINE)
    cuts = {term.value for term in terms(out) if term.feature == "age"}
    assert cuts <= {40, 60}


@pytest.mark.parametrize("method", ["net_benefit", "tree", "quantile"])
def test_methods_by_name(table: Path, method: str) -> None:
    printed = run("fit", table, *FIT, "--binner", method)
    assert "taken for" in printed


def test_missing_policies(table: Path) -> None:
    printed = run("fit", table, *FIT, "--missing", "impute")
    assert not re.search(r"^  lactate .*missing", printed, re.MULTILINE)
    printed = run("fit", table, *FIT, "--missing", "impute", "--missing", "lactate=condition")
    assert re.search(r"^  lactate .*missing", printed, re.MULTILINE)
    message = error("fit", table, *FIT, "--missing", "lactate=refuse")
    assert "column 'lactate' is missing in line" in message
    assert "--missing lactate=condition or --missing lactate=impute" in message


def test_max_per_column_and_monotone(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = ["--binner", "quantile", "--penalty", 0, "--out", out]
    run("fit", table, *FIT, *options, "--max-per-column", 1, "--monotone", "age-")
    card = Scorecard.load(out)
    used = [rule.term.feature for rule in card.rules if rule.points]
    assert len(used) == len(set(used))
    assert all(rule.points <= 0 for rule in card.rules if rule.term.feature == "age")
    run("fit", table, *FIT, *options, "--monotone", "age+", "--monotone", "x=y−")
    card = Scorecard.load(out)
    assert all(rule.points >= 0 for rule in card.rules if rule.term.feature == "age")
    assert all(rule.points <= 0 for rule in card.rules if rule.term.feature == "x=y")


def test_codes_among_words_and_among_numbers(tmp_path: Path) -> None:
    rows = patients()
    rows["income"] = ["unknown" if v == 96 else 1000 * v for v in rows["visits"]]
    rows["ward"] = ["9" if v == 96 else "AB"[v % 2] for v in rows["visits"]]
    path = save(rows, tmp_path / "t.csv")
    message = error("fit", path, *FIT)
    assert "column 'income' mixes numbers with text" in message
    assert "(--special income=unknown)" in message
    assert "(--categorical income)" in message
    assert "(--drop income)" in message
    printed = run("fit", path, *FIT, "--special", "income=unknown", "--special", "ward=9")
    gone = rows["visits"].count(96)
    assert re.search(rf"^  income +whole numbers as text .* {gone}$", printed, re.MULTILINE)
    assert re.search(rf"^  ward +2 levels .* {gone}$", printed, re.MULTILINE)
    assert re.search(r"^  income +\d+ levels", run("fit", path, *FIT, "--categorical", "income"),
                     re.MULTILINE)  # fmt: skip


def test_an_identifier_that_means_something(tmp_path: Path) -> None:
    rows = patients()
    rows["rank"] = list(range(1, 601))
    path = save(rows, tmp_path / "t.csv")
    printed = run("fit", path, *FIT)
    assert re.search(r"^  rank +left out", printed, re.MULTILINE)
    assert "say so by --numeric rank" in printed
    printed = run("fit", path, *FIT, "--numeric", "rank")
    assert re.search(r"^  rank +whole numbers", printed, re.MULTILINE)


# -- a file of settings ----------------------------------------------------------------------------

SETTINGS = {
    "cuts": {"age": [52]},
    "per_unit": {"lactate": {"decimals": 1, "upper": 4}, "x=y": None},
    "special": {"visits": [96]},
    "combine": {"worst": ["max", ["visits", "a,b"]]},
    "missing": {"*": "impute"},
    "drop": ["patient_id", "admitted"],
    "bins": "interval",
}


def test_settings_from_a_file(table: Path, tmp_path: Path) -> None:
    settings, out = tmp_path / "binner.json", tmp_path / "card.json"
    settings.write_text(json.dumps(SETTINGS))
    printed = run("fit", table, *FIT, "--binner", settings, "--penalty", 0, "--out", out)
    assert "; 6 columns to learn from" in printed
    assert "left out" not in printed
    assert re.search(r"^  age +whole numbers +≥ 52 ", printed, re.MULTILINE)
    assert re.search(r"^  lactate +points per unit", printed, re.MULTILINE)
    assert re.search(r"^  worst +max of 2 columns", printed, re.MULTILINE)
    assert PerUnit("lactate", decimals=1, upper=4) in terms(out)
    assert "AUROC" in run("evaluate", out, table)


def test_options_add_to_the_file(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    settings = tmp_path / "binner.json"
    settings.write_text(json.dumps({**SETTINGS, "categorical": []}))
    options = ["--cuts", "age=30", "--cuts", "worst=2", "--missing", "lactate=condition"]
    printed = run("fit", table, *FIT, "--binner", settings, *options, "--drop", "x=y")
    assert re.search(r"^  age +whole numbers +≥ 30 ", printed, re.MULTILINE)
    assert re.search(r"^  worst .*≥ 2 ", printed, re.MULTILINE)
    assert re.search(r"^  lactate .*missing", printed, re.MULTILINE)
    assert not re.search(r"^  x=y ", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "does not hold an object"),
        ('{"cut": {}}', "'cut' not known. The binner's parameters are bins, categorical, "),
        ('{"cuts": {}, "cuts": {}}', "appears twice"),
        ('{"cuts": {"nobody": [1]}}', "cuts names unknown columns: 'nobody'"),
        ('{"cuts": {"age": ["old"]}}', "cuts of column 'age' must be numbers"),
        ('{"drop": ["nobody"]}', "drop names column 'nobody'"),
        ('{"drop": "age"}', "must be a list of column names"),
        ('{"max_bins": 0}', "max_bins=0 must be a whole number of at least 2"),
        ('{"method": "magic"}', "method='magic' is not known"),
        ('{"missing": "guess"}', "missing='guess'"),
        ('{"per_unit": {"age": {"digits": 1}}}', "per_unit of column 'age' must be null or"),
        ('{"per_unit": {"age": {"decimals": 99}}}', "decimals=99"),
        ('{"combine": {"sum": ["add", ["age"]]}}', "how one of sum, max, min"),
        ('{"cuts": {"age": [50]}, "categorical": ["age"]}', "named by --cuts and by --categorical"),
    ],
)
def test_bad_settings(table: Path, tmp_path: Path, text: str, message: str) -> None:
    settings = tmp_path / "binner.json"
    settings.write_text(text)
    assert message in error("fit", table, *FIT, "--binner", settings)


# -- thresholds ------------------------------------------------------------------------------------


def test_without_thresholds_the_grid_is_said(table: Path) -> None:
    options = ["--target", "died", "--time-limit", 300]
    share = 100 * patients()["died"].count("yes") / 600
    printed = run("fit", table, *options, "--solver", "local")
    said = f"thresholds: none given, so 0%, 10%, …, 90% are taken; {share:.3g}% of the rows have"
    assert said in printed
    assert "--thresholds 0.05:0.5:0.05 (from, to, step)" in printed
    named = run("fit", table, *options, "--thresholds", "0.1,0.2", "--solver", "local")
    assert "thresholds: none given" not in named


def test_suggested_thresholds_are_said_and_used(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = [
        "--target",
        "died",
        "--solver",
        "local",
        "--time-limit",
        300,
        "--holdout",
        0.5,
        "--out",
        out,
    ]
    printed = run("fit", table, *options, "--thresholds", "suggest", "--weights", "length")
    proposed = re.search(r"thresholds: (0\.01,\S+), where the risks of these rows lie", printed)[1]
    card = Scorecard.load(out)
    assert card.thresholds.given.tolist() == [float(p) for p in proposed.split(",")]
    assert len(set(card.thresholds.weights[1:])) > 1
    assert "keep those that matter" in printed
    message = error("fit", table, *options, "--thresholds", "suggest", "--stream")
    assert "needs all rows in memory" in message
    for command in ("validate", "sizes", "compare"):
        message = error(command, table, "--target", "died", "--thresholds", "suggest")
        assert "cannot be judged on the same rows" in message


# -- labels ----------------------------------------------------------------------------------------


def test_labels_are_kept_in_the_card(table: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "labels.csv", tmp_path / "card.json"
    names = [name for name in patients() if name != "died"]
    lines = [f'"{name}",Column {k},units' for k, name in enumerate(names)]
    title = "*title,Who dies"
    file.write_text("\n".join(["column,label,unit", title, *lines]), encoding="utf-8")
    printed = run("fit", table, *FIT, *OPTIONS, "--labels", file, "--out", out)
    card = Scorecard.load(out)
    assert card.labels.title == "Who dies"
    assert "│ Who dies " in printed
    for question in card.questions:
        assert card.labels.of(question.feature).name in printed
    file.write_text("column,label\naage,Age\n", encoding="utf-8")
    message = error("fit", table, *FIT, "--labels", file)
    assert "the table has no column 'aage'. Did you mean 'age'?" in message


# -- held-out rows ---------------------------------------------------------------------------------


def test_held_out_rows(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    options = ["--holdout", 0.25, "--seed", 3, "--out", out]
    printed = run("fit", table, *FIT, *options)
    assert "; 150 rows held out" in printed
    assert "On 150 rows of 600 that were held out (drawn with seed 3" in printed
    card = Scorecard.load(out)
    assert card.provenance is not None
    assert card.provenance.n_rows == 450
    died = patients()["died"].count("yes")
    assert card.provenance.n_events == died - round(0.25 * died)
    assert card.held_out is not None
    assert (card.held_out.n_rows, sum(row.events for row in card.held_out.levels)) == (
        *(150, round(0.25 * died)),
    )
    benefit = f"{card.held_out.net_benefit:.4f}"
    assert f"net benefit {benefit} on 150 held-out rows" in " ".join(printed.split())
    assert re.search(rf"net benefit +{benefit} +mean by the thresholds' weights", printed)
    found = re.search(r"AUROC +(0\.\d+)", printed)
    assert found is not None
    assert 0.6 < float(found[1]) < 1
    for words in (r"better than treating all", r"better than treating none"):
        beside = re.search(rf"  {words}: difference (\S+), 95% interval (\S+) to (\S+)", printed)
        difference, low, high = (float(text.replace("−", "-")) for text in beside.groups())
        assert 0 < low < difference < high
    assert difference == pytest.approx(card.held_out.net_benefit, abs=1e-4)
    assert run("fit", table, *FIT, *options, "--quiet").count("AUROC") == 1
    assert re.search(r"AUROC +(0\.\d+)", run("fit", table, *FIT, *options))[1] == found[1]


def test_the_binner_does_not_see_held_out_rows(tmp_path: Path) -> None:
    rows = patients(200)
    rows["flag"] = ["seen"] * 200
    rows["flag"][5] = "only here"
    path = save(rows, tmp_path / "t.csv")
    seeds = [s for s in range(30) if _is_held_out(path, 5, s)][:1]
    printed = run("fit", path, *FIT, "--holdout", 0.5, "--seed", seeds[0])
    assert "one level only" in printed


def _is_held_out(path: Path, row: int, seed: int) -> bool:
    event = read_table(path)["died"] == "yes"
    random = np.random.default_rng(seed)
    held: list[int] = []
    for label in (False, True):
        places = np.flatnonzero(event == label)
        held += random.permutation(places)[: round(0.5 * places.size)].tolist()
    return row in held


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--holdout", 0], "--holdout 0 is not a share of the rows. Write 0.25"),
        (["--holdout", 25], "--holdout 25 is not a share"),
        (["--holdout", "nan"], "is not a share"),
        (["--holdout", 0.0001], "leaves one side without any"),
        (["--holdout", 0.2, "--certificate", "p.json"], "do not go together"),
    ],
)
def test_bad_shares(table: Path, options: list[object], message: str) -> None:
    assert message in error("fit", table, *FIT, *options)


# -- other files -----------------------------------------------------------------------------------


def test_semicolons(table: Path, fitted: tuple[str, Path, Path], tmp_path: Path) -> None:
    other = save(patients(), tmp_path / "t.csv", delimiter=";")
    out = tmp_path / "card.json"
    run("fit", other, *FIT, *OPTIONS, "--out", out)
    one, two = Scorecard.load(fitted[1]), Scorecard.load(out)
    assert (one.rules, one.cutoffs, one.readings) == (two.rules, two.cutoffs, two.readings)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    frame = pd.DataFrame(patients())
    frame["lactate"] = pd.to_numeric(frame["lactate"])
    frame["x=y"] = frame["x=y"].astype(str).astype("category")  # levels, though they look like 1
    frame["admitted"] = pd.to_datetime(frame["admitted"])
    stage = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    frame["stage"] = pd.cut(frame["age"], [0, 40, 60, 99], labels=stage.categories).astype(stage)
    path = tmp_path_factory.mktemp("parquet") / "patients.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def test_parquet_with_categories(parquet: Path, tmp_path: Path) -> None:
    card, proof = tmp_path / "card.json", tmp_path / "proof.json"
    printed = run(
        "fit", parquet, *FIT, "--drop", "age", "--monotone", "stage+", "--penalty", 0, "--out",
        card, "--certificate", proof,
    )  # fmt: skip
    assert re.search(r"^  x=y +3 levels", printed, re.MULTILINE)
    assert re.search(r"^  stage +3 ordered levels", printed, re.MULTILINE)
    assert re.search(r"^  admitted +left out +it holds dates", printed, re.MULTILINE)
    assert "stage" in features(card)
    assert "AUROC" in run("evaluate", card, parquet)
    assert "accepted" in run("verify", card, proof, parquet)
    assert "held out" in run("fit", parquet, *FIT, "--holdout", 0.3)


def test_some_rows_of_parquet_keep_their_types(parquet: Path) -> None:
    file = read_raw(parquet)
    some = file.rows(["stage", "x=y"], np.array([3, 1]))
    assert some.column_names == ["stage", "x=y"]
    assert some["stage"].type.ordered
    assert some["stage"].to_pylist() == [file.columns["stage"][k] for k in (3, 1)]


def test_a_table_of_numbers_still_goes_per_unit(tmp_path: Path) -> None:
    rows = {name: column for name, column in patients().items() if name in ("visits", "a,b", "age")}
    path = save({**rows, "died": patients()["died"]}, tmp_path / "t.csv")
    out = tmp_path / "card.json"
    printed = run("fit", path, *FIT, "--binner", "none", "--penalty", 0, "--out", out)
    assert "taken for" not in printed
    assert all(isinstance(term, PerUnit) for term in terms(out))
    run("fit", path, *FIT, "--binner", "none", "--monotone", "age-", "--penalty", 0, "--out", out)
    assert all(r.points <= 0 for r in Scorecard.load(out).rules if r.term.feature == "age")
    assert "AUROC" in run("fit", path, *FIT, "--binner", "none", "--holdout", 0.5)


def test_what_nonnegative_bars_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    albumin, lactate = rng.integers(0, 5, 400), rng.integers(0, 5, 400)
    died = rng.random(400) < 1 / (1 + np.exp(1.5 * (albumin - lactate)))
    columns = {"albumin": albumin, "lactate": lactate, "died": died.astype(int)}
    path = save({name: column.tolist() for name, column in columns.items()}, tmp_path / "t.csv")
    options = ["--target", "died", "--monotone", "all", "--nonnegative", *QUICK]
    said = " ".join(run("fit", path, *options).split())
    assert "--nonnegative bars the column along which the risk falls: 'albumin'" in said


def test_evaluate_lets_no_rows_choose_their_thresholds(table: Path) -> None:
    said = error("evaluate", table, table, "--thresholds", "suggest")
    assert "--thresholds suggest is for `fit`" in said


def test_row_names_are_left_out_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"P{k},{k % 2},{k % 3 + k % 2}" for k in range(60)]
    path.write_text("\n".join([",y,x", *rows]) + "\n")
    said = " ".join(run("fit", path, "--target", "y", *QUICK).split())
    assert "the first column has no name. It is taken for row names and left out" in said


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--categorical", "nobody"], "--categorical names column 'nobody', which is not among"),
        (["--numeric", "nobody"], "--numeric names column 'nobody'"),
        (["--missing", "nobody=impute"], "--missing names column 'nobody'"),
        (["--special", "nobody=9"], "--special names column 'nobody'"),
        (["--cuts", "nobody=9"], "--cuts names column 'nobody'"),
        (["--drop", "nobody"], "--drop names column 'nobody'"),
        (["--monotone", "nobody+"], "--monotone names column 'nobody'"),
        (["--sign", "nobody=+"], "--sign names column 'nobody', which is not among"),
        (["--teacher", "patient_id"], "--teacher patient_id names a column of risks, but column"),
        (["--categorical", "died"], "--categorical names column 'died'"),
        (["--missing", "guess"], "--missing 'guess': write one of auto, condition, impute, refuse"),
        (["--missing", "age=guess"], "NAME=POLICY"),
        (["--special", "visits"], "--special 'visits': write NAME=VALUES"),
        (["--special", "visits=9,"], "has an empty value"),
        (["--cuts", "age=forty"], "--cuts age=forty: 'forty' is not a number"),
        (["--cuts", "age="], "write NAME=VALUES, as in --cuts age=40,60"),
        (["--cuts", "Raucher – früher?=1"], "holds words, such as"),
        (["--monotone", "age"], "--monotone 'age': write NAME+"),
        (["--monotone", "age+", "--sign", "age=-"], "column 'age' cannot be both + and −"),
        (["--monotone", "Raucher – früher?+"], 'have no order. Give one, as {"ordered"'),
        (["--max-per-column", "0"], "the limit of MaxPerColumn"),
        (["--binner", "magic"], "--binner 'magic' is not known. Use auto, none, net_benefit"),
        (["--binner", "nothing.json"], "--binner nothing.json: no such file"),
        (["--binner", "none"], "column 'patient_id' holds text, such as 'P"),
        (["--binner", "none"], "--binner auto takes both"),
        (["--binner", "none", "--cuts", "age=9"], "--cuts: --binner none takes columns as they"),
        (["--binner", "none", "--numeric", "age", "--missing", "impute"], "--numeric, --missing: "),
    ],
)
def test_refusals(table: Path, options: list[object], message: str) -> None:
    assert message in error("fit", table, *FIT, *options)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1", "2", "3", "x"] * 10, "column 'c' mixes numbers with text, such as 'x' in line 5"),
        (["1,5", "2,5", "3", "4"] * 10, "a thousand or a decimal, a share or a hundred"),
        (["1,5", "2,5", "3", "4"] * 10, "or drop it (--drop c)."),
        ([""] * 40, "no column could be turned into a condition: 'c': every value is missing"),
        (["2024-01-02"] * 40, "no column could be turned into a condition: 'c': it holds dates"),
        ([7] * 40, "no column could be turned into a condition"),
        (["inf", "1"] * 20, "column 'c' holds inf in line 2"),
    ],
)
def test_bad_columns(tmp_path: Path, column: list[object], message: str) -> None:
    path = save({"y": [0, 1] * 20, "c": column}, tmp_path / "t.csv")
    assert message in error("fit", path, "--target", "y", *QUICK)


def test_numbers_alone_point_to_the_binner(tmp_path: Path) -> None:
    path = save({"y": [0, 1] * 20, "c": ["", 1, 2, 3] * 10}, tmp_path / "t.csv")
    message = error("fit", path, "--target", "y", "--binner", "none")
    assert "column 'c' has 10 missing values, the first in line 2. With --binner none" in message
    assert "--binner auto takes both" in message
    assert "With --binner none" in error("sizes", path, "--target", "y", "--binner", "none")


# -- words and tables ------------------------------------------------------------------------------


def test_long_tables_are_cut(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = {f"column number {k} with a long name": rng.integers(0, 90, 300) for k in range(20)}
    y = (rows["column number 0 with a long name"] > 50).astype(int)
    summary = {
        "column": list(rows),
        "taken for": ["whole numbers"] * 20,
        "conditions": ["≥ 10, ≥ 20, ≥ 30, ≥ 40, ≥ 50, ≥ 60"] * 20,
        "missing": [1234] * 20,
    }
    for width in (60, 80, 120):
        lines = str(guess_table(summary, width)).splitlines()
        assert len(lines) == 17
        assert lines[-1] == "  … and 5 more columns"
        assert all(len(line) <= width for line in lines)
        assert all("1,234" in line for line in lines[1:-1])
    path = save({**{k: v.tolist() for k, v in rows.items()}, "y": y.tolist()}, tmp_path / "t.csv")
    assert "… and 5 more columns" in run("fit", path, "--target", "y", *QUICK)


def test_wide_characters_and_control_characters() -> None:
    summary = {
        "column": ["年齢", "a\x1b[31m"],
        "taken for": ["numbers", "left out"],
        "conditions": ["≥ 1", "it holds dates"],
        "missing": [0, 0],
    }
    lines = str(guess_table(summary, 80)).splitlines()
    assert lines[1].index("numbers") == lines[0].index("taken") - 2  # two characters, four cells
    assert "\x1b" not in "".join(lines)


def test_levels_that_look_like_numbers_stay_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["1", "2", "A"], 300)
    ill = rng.choice(["true", "false", "unknown"], 300, p=[0.45, 0.45, 0.1])
    y = (rng.random(300) < np.where(group == "A", 0.7, 0.2)).astype(int)
    train, part = tmp_path / "train.csv", tmp_path / "part.csv"
    rows = [f"{g},{i},{k}" for g, i, k in zip(group, ill, y, strict=True)]
    train.write_text("\n".join(["grp,ill,y", *rows]))
    some = [row for row in rows if "A" not in row and "unknown" not in row]
    part.write_text("\n".join(["grp,ill,y", *some]))
    card, constraints = tmp_path / "card.json", tmp_path / "constraints.json"
    constraints.write_text('[{"kind": "include", "features": ["ill", "grp"]}]')
    run(
        "fit", train, "--target", "y", "--out", card, "--constraints", constraints,
        "--categorical", "grp", "--time-limit", 1,
    )  # fmt: skip
    assert "AUNBC" in run("evaluate", card, part)
    only = ["--drop", "ill", "--categorical", "grp", "--time-limit", 1]
    run("fit", part, "--target", "y", "--out", card, *only)
    assert "AUNBC" in run("evaluate", card, train)

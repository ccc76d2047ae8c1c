"""``netbenefit compare``: one command from a table to numbers and a picture."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from netbenefit import RiskScoreClassifier
from netbenefit.data.duckdb import read_table
from tests.cli.test_fit import patients, save
from tests.cli.test_main import error, piped, run
from tests.helpers.cards import SHORT_SEARCH

FAST = ["--time-limit", 0.5, "--max-features", 3, "--folds", 2]


@pytest.fixture(scope="module")
def breast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = load_breast_cancer()
    columns: dict[str, Any] = {name: data.data[:, k] for k, name in enumerate(data.feature_names)}
    columns["diagnosis"] = np.where(data.target == 0, "malignant", "benign")
    return save(columns, tmp_path_factory.mktemp("compare") / "breast.csv")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(patients(240), tmp_path_factory.mktemp("compare") / "patients.csv")


@pytest.fixture(scope="module")
def card(breast: Path) -> Path:
    rows = read_table(breast)
    event = rows.pop("diagnosis") == "malignant"
    model = RiskScoreClassifier(binner="auto", max_features=2, solver=SHORT_SEARCH)
    file = breast.with_name("card.json")
    model.fit(rows, event).scorecard_.save(file)
    return file


def test_breast_cancer_from_one_command(breast: Path, card: Path, tmp_path: Path) -> None:
    picture, out = tmp_path / "curves.svg", tmp_path / "numbers.csv"
    models = f"scorecard,{card},logistic,lasso,tree,xgboost"
    printed = run(
        "compare",
        breast,
        "--target",
        "diagnosis",
        "--positive",
        "malignant",
        "--models",
        models,
        *FAST,
        "--plot",
        picture,
        "--csv",
        out,
    )
    names = ["scorecard", "card.json", "logistic", "lasso", "tree", "xgboost"]
    lines = printed.splitlines()
    head = lines.index("Held-out rows: mean ± sd over 2 folds")
    assert lines[head + 1].split() == ["model", "AUROC", "ECE", "AUNBC", "size"]
    rows = {line.split()[0]: line.split() for line in lines[head + 3 : head + 3 + len(names)]}
    assert list(rows) == ["scorecard", "card.json*", *names[2:]]
    assert "569 rows, 212 with diagnosis = malignant; 30 columns" in printed
    assert "AUNBC on held-out rows, less that of scorecard" in printed
    assert "was learnt from 569 rows" in printed
    assert f"saved: {picture}" in printed
    text = picture.read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    for name in [*names, "Treat All", "Threshold Probability", "AUNBC less that of scorecard"]:
        assert name in text
    with open(out, encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 7 * len(names)
    (auroc,) = [
        row
        for row in table
        if (row["model"], row["split"], row["metric"]) == ("logistic", "test", "auroc")
    ]
    assert rows["logistic"][1] == f"{float(auroc['mean']):.3f}"
    assert float(auroc["mean"]) > 0.97
    assert {row["model"] for row in table if row["refitted"] == "False"} == {"card.json"}


def test_raw_tables_and_repeatable_numbers(raw: Path, tmp_path: Path) -> None:
    words = [
        "compare",
        raw,
        "--target",
        "died",
        "--models",
        "rss-dnb-sa,logistic",
        *FAST,
        "--time-limit",
        60,  # the annealing ends by itself: the clock must not
        "--thresholds",
        "0.1:0.5:0.1",
        "--seed",
        4,
        "--repeats",
        2,
    ]
    journal = tmp_path / "journal"
    first = run(*words, "--journal", journal, "--quiet")
    assert first.startswith("Held-out rows: mean ± sd over 4 folds")
    assert run(*words, "--journal", journal, "-q") == first
    assert run(*words, "-q", "--jobs", 1) == first
    assert run(*words, "-q", "--drop", "age") != first
    noisy = run(*words)
    assert "'admitted' left out: it holds dates" in noisy
    assert noisy.count("'admitted' left out") == 1


def test_a_card_says_what_the_event_is(breast: Path, tmp_path: Path) -> None:
    file = tmp_path / "benign.json"
    run(
        "fit",
        breast,
        "--target",
        "diagnosis",
        "--positive",
        "benign",
        "--time-limit",
        0.5,
        "--max-features",
        1,
        "--out",
        file,
        "-q",
    )
    printed = run("compare", breast, "--target", "diagnosis", "--models", file, *FAST)
    assert "357 with diagnosis = benign" in printed
    other = run(
        "compare",
        breast,
        "--target",
        "diagnosis",
        "--models",
        file,
        "--positive",
        "malignant",
        *FAST,
    )
    assert "benign.json predicts 'diagnosis = benign', not 'diagnosis = malignant'" in other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--models", "magic"], "no model is called 'magic'. Known are scorecard, rss-dnb"),
        (["--models", "lasso,lasso"], "names 'lasso' twice"),
        (["--models", " , "], "names no model"),
        (["--models", "gone.json"], "gone.json: no such file"),
        (["--plot", "curves.txt"], "It has to end in one of .svg"),
        (["--plot", "nowhere/curves.svg"], "there is no folder nowhere"),
        (["--target", "age"], "holds"),
        (["--drop", "nothing"], "--drop names column 'nothing'"),
        (["--sample-weight", "died"], "died"),
        (["--folds", "200"], "--folds 200 must be at least 2, and at most"),
    ],
)
def test_errors_are_one_line(raw: Path, options: list[str], message: str) -> None:
    given = ["--target", "died", "--models", "logistic"]
    words = [] if "--target" in options else given[:2]
    words += [] if "--models" in options else given[2:]
    assert message in error("compare", raw, *words, *options)


def test_a_pipe_gets_no_progress(raw: Path) -> None:
    done = piped("compare", raw, "--target", "died", "--models", "logistic", "--folds", 2)
    assert done.returncode == 0
    assert done.stdout.startswith("Held-out rows")
    assert "left:" not in done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr

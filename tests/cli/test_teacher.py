"""``--teacher`` and ``--prior-strength`` on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netbenefit import Scorecard
from netbenefit.cards.text import share_text
from tests.cli.test_main import error, run, save

QUICK = ["--solver", "local", "--time-limit", 600, "--jobs", 1]  # it ends by itself
CARD = ["--target", "died", "--thresholds", "0.1:0.5:0.1", "--max-points", 2]
FIT = [*CARD, *QUICK]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    n = 240
    age, ward = rng.integers(30, 90, n), rng.choice(["A", "B", ""], n)
    risk = 0.05 + 0.4 * (age > 65) + 0.3 * (ward == "A")
    columns: dict[str, Any] = {
        "died": np.where(rng.random(n) < risk, "yes", "no"),
        "age": np.where(rng.random(n) < 0.05, "", age.astype(str)),
        "ward": ward,
        "risk": risk.round(3),
    }
    return save(columns, tmp_path_factory.mktemp("teacher") / "patients.csv")


@pytest.fixture(scope="module")
def card(table: Path) -> Path:
    file = table.with_name("card.json")
    run("fit", table, *FIT, "--drop", "risk", "--teacher", "logistic", "--out", file)
    return file


def test_fit_names_the_teacher_and_ends_with_a_sentence(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "card.json"
    printed = run("fit", table, *FIT, "--drop", "risk", "--out", out)  # the default teacher
    origin = Scorecard.load(out).provenance
    assert origin is not None
    assert f"teacher: {origin.teacher}, net benefit {origin.teacher_net_benefit:.6f} on rows" in (
        printed
    )
    assert f"the card keeps {share_text(origin.share_kept)}" in printed
    assert re.search(r"This card of .*\d+ rules? keeps \d+\.\d% of the net benefit of the", printed)
    assert "taught by" in " ".join(run("show", out).split())


def test_a_proven_card_says_what_others_could_keep(table: Path) -> None:
    few = ["--max-features", 1, "--time-limit", 600, "--jobs", 1]
    printed = run("fit", table, *CARD, *few, "--drop", "risk", "--teacher", "logistic")
    assert re.search(r"(no card of at most|can keep more)", printed)


def test_no_teacher(table: Path, tmp_path: Path) -> None:
    cards = []
    for name, options in (("a", ["--teacher", "none"]), ("b", ["--prior-strength", "0"])):
        out = tmp_path / f"{name}.json"
        printed = run("fit", table, *FIT, "--drop", "risk", *options, "--out", out)
        assert "teacher: " not in printed
        assert "Nothing is proven" in printed
        cards.append(Scorecard.load(out))
    assert cards[0].rules == cards[1].rules
    assert cards[0].risks == cards[1].risks


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize("binner", ["auto", "none"])
def test_a_column_teaches_and_is_no_feature(
    table: Path, tmp_path: Path, stream: list[str], binner: str
) -> None:
    out = tmp_path / "card.json"
    numbers = []
    if binner == "none":  # columns of numbers beside the risks
        rows = {"died": ["yes", "no", "no", "yes"] * 30, "x": [0, 1, 2, 3] * 30}
        rows["risk"] = [0.6, 0.1, 0.2, 0.7] * 30
        table = save({k: np.array(v) for k, v in rows.items()}, tmp_path / "numbers.csv")
        numbers = ["--binner", "none"]
    strength = ["--prior-strength", "inf"]
    printed = run(
        "fit", table, *FIT, *numbers, "--teacher", "risk", *strength, *stream, "--out", out
    )
    assert "teacher: the given risks, net benefit" in printed
    made = Scorecard.load(out)
    assert "risk" not in made.feature_names
    assert made.provenance is not None
    assert made.provenance.prior_strength == float("inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--teacher", "nobody"], "--teacher nobody is neither"),
        (["--teacher", "ward"], "'ward' holds text"),
        (["--teacher", "age"], "'age'"),
        (["--prior-strength", "-1"], "--prior-strength must not be negative, but is -1"),
        (["--prior-strength", "nan"], "--prior-strength must be auto or a number, not 'nan'"),
        (["--prior-strength", "much"], "--prior-strength must be auto or a number"),
    ],
)
def test_bad_teachers(table: Path, options: list[str], message: str) -> None:
    assert message in error("fit", table, *FIT, *options)


def test_a_single_event_is_taught_by_the_prevalence(tmp_path: Path) -> None:
    rows = {"y": np.array(["no"] * 39 + ["yes"]), "x": np.arange(40) % 4}
    file = save(rows, tmp_path / "rare.csv")
    printed = run("fit", file, "--target", "y", "--binner", "none", *QUICK)
    assert "teacher: the prevalence" in printed
    assert "note: Only 1 events, fewer than 5: every row is given the share of events" in printed


def test_validate_with_a_teacher(table: Path) -> None:
    few = ["--folds", 2, "--max-features", 2]
    by_model = run("validate", table, *FIT, *few, "--drop", "risk", "--teacher", "logistic")
    by_column = run("validate", table, *FIT, *few, "--teacher", "risk")
    for printed in (by_model, by_column):
        assert "AUNBC" in printed
    assert by_model != by_column
    assert "risk" not in by_column.split("For comparison")[1].split("\n\n")[1]
    message = error("validate", table, *FIT, *few, "--teacher", "nobody")
    assert "--teacher nobody" in message


def test_sizes_with_a_teacher(table: Path) -> None:
    few = [*CARD, "--time-limit", 1, "--jobs", 1, "--folds", 2, "--max-size", 2]
    printed = run("sizes", table, *few, "--teacher", "risk", "--prior-strength", "500")
    assert "--teacher risk --prior-strength 500" in printed


def test_compare_with_a_teacher(table: Path) -> None:
    ask = ["--target", "died", "--time-limit", 1, "--max-features", 2, "--folds", 2]
    printed = run("compare", table, *ask, "--models", "scorecard,tree", "--teacher", "risk")
    assert "scorecard" in printed
    none = run("compare", table, *ask, "--models", "scorecard", "--teacher", "none")
    half = ["--teacher", "logistic", "--prior-strength", "100"]
    taught = run("compare", table, *ask, "--models", "scorecard", "--drop", "risk", *half)
    assert none != taught
    message = error("compare", table, *ask, "--models", "tree", "--teacher", "risk")
    assert "about the model scorecard" in message
    assert "--teacher nobody" in error("compare", table, *ask, "--teacher", "nobody")


def test_update_with_a_teacher(table: Path, card: Path, tmp_path: Path) -> None:
    out = tmp_path / "new.json"
    ask = ["update", card, table, "--time-limit", 1, "--jobs", 1, "--out", out]
    for teacher, name in (("logistic", "logistic regression"), ("risk", "the given risks")):
        printed = run(*ask, "--what", "refit", "--teacher", teacher, "--prior-strength", "300")
        assert f"teacher: {name}, net benefit" in printed
        assert re.search(r"This card of .*\d+ rules? keeps", printed)
        origin = Scorecard.load(out).provenance
        assert origin is not None
        assert origin.teacher == name
        assert origin.prior_strength == 300
    run(*ask, "--what", "refit", "--teacher", "none")
    assert Scorecard.load(out).provenance.teacher is None  # type: ignore[union-attr]
    # For risks and cut-offs it means belief in the old card.
    run(*ask, "--what", "risks", "--prior-strength", "50")
    updated = Scorecard.load(out).provenance.updated  # type: ignore[union-attr]
    assert updated is not None
    assert updated.endswith("with 50 rows of belief in the old risks")
    compared = run(*ask, "--what", "risks", "--compare", "2", "--teacher", "risk")
    assert "refit" in compared
    assert "--teacher is about a refit" in error(*ask, "--what", "risks", "--teacher", "risk")
    assert "must be a number" in error(*ask, "--prior-strength", "auto")
    assert "--prior-strength must not be negative, but is -1" in error(
        *ask, "--prior-strength", "-1"
    )
    assert "'nobody'" in error(*ask, "--what", "refit", "--teacher", "nobody")

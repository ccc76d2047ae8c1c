"""``netbenefit update`` and what ``evaluate`` says of drift: files in, card and tables out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from netbenefit import Scorecard, update_card
from netbenefit.cli.main import app
from netbenefit.data.duckdb import read_table


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def write(path: Path, seed: int, shift: float) -> Path:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, 300)
    sex = rng.choice(["f", "m", ""] if not shift else ["f", "m", "d"], 300)
    ill = rng.random(300) < 1 / (1 + np.exp(-((age - 60) / 10 + shift)))
    weight = rng.integers(1, 4, 300)
    lines = [
        f"{a},{s},{'yes' if i else 'no'},{w}"
        for a, s, i, w in zip(age, sex, ill, weight, strict=True)
    ]
    path.write_text("\n".join(["age,sex,ill,weight", *lines]))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("update")
    old, new = write(folder / "old.csv", 0, 0.0), write(folder / "new.csv", 1, 1.5)
    card = folder / "card.json"
    run(
        "fit", old, "--target", "ill", "--out", card, "--drop", "weight", "--solver", "local",
        "--time-limit", 600, "--jobs", 1, "--quiet",
    )  # fmt: skip
    return card, old, new


@pytest.mark.filterwarnings("ignore:column 'sex'")
@pytest.mark.parametrize("what", ["risks", "cutoffs"])
def test_update_is_what_python_does(files: tuple[Path, Path, Path], what: str) -> None:
    card, _, new = files
    out = card.with_name(f"{what}.json")
    printed = run("update", card, new, "--what", what, "--sample-weight", "weight", "--out", out)
    for words in ("points: as they were", "acting at", "new risk", "saved"):
        assert words in printed
    rows = read_table(new)
    twin = update_card(
        Scorecard.load(card), rows, rows["ill"] == "yes", what, sample_weight=rows["weight"]
    )
    assert Scorecard.load(out) == twin.new
    assert str(twin) in printed


def test_update_refits_and_compares(files: tuple[Path, Path, Path]) -> None:
    card, _, new = files
    out = card.with_name("refit.json")
    printed = run(
        "update", card, new, "--what", "refit", "--compare", 2, "--time-limit", 0.3, "--jobs", 1,
        "--out", out, "--quiet",
    )  # fmt: skip
    assert "held-out AUNBC" in printed
    assert "suggested" in printed
    made = Scorecard.load(out)
    assert made.provenance is not None
    assert made.provenance.updated == (
        f"refit on 300 rows ({(read_table(new)['ill'] == 'yes').sum()} with the event) from a card "
        "of 300 rows"
    )
    assert made.provenance.n_rows == 300


def test_update_refuses_to_overwrite_and_the_unknown(files: tuple[Path, Path, Path]) -> None:
    card, _, new = files
    assert "would be overwritten" in run("update", card, new, "--out", card, code=2)
    assert "not saved" in run("update", card, new)
    assert "Invalid value" in run("update", card, new, "--what", "points", code=2)
    assert "--target names column" in run("update", card, new, "--target", "x", code=2)


def test_evaluate_shows_drift_beside_a_reference(files: tuple[Path, Path, Path]) -> None:
    card, old, new = files
    plain = run("evaluate", card, new)
    for words in ("calibration in the large", "calibration slope", "95% interval", "AUNBC"):
        assert words in plain
    assert "PSI" not in plain
    drifted = run("evaluate", card, new, "--reference", old)
    for words in ("against 300 of reference", "PSI", "by chance", "prevalence:"):
        assert words in drifted
    arguments = ["evaluate", card, new, "--reference", old, "--json"]
    evaluation = json.loads(CliRunner().invoke(app, [str(a) for a in arguments]).stdout)
    assert evaluation["drift"]["prevalence"]["reference"] == pytest.approx(
        (read_table(old)["ill"] == "yes").mean()
    )
    assert {row["column"] for row in evaluation["drift"]["columns"]} <= {"age", "sex"}
    assert sum(row["n"] for row in evaluation["levels"]) == 300
    assert evaluation["calibration"]["ratio"] > 1
    bare = new.with_name("bare.csv")
    text = [",".join(line.split(",")[:2]) for line in old.read_text().splitlines()]
    bare.write_text("\n".join(text))
    assert "no outcome that can be read" in run("evaluate", card, new, "--reference", bare)


def test_help_has_examples() -> None:
    assert "Example: netbenefit update" in " ".join(run("update", "--help").split())

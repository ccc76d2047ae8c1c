"""``netbenefit validate`` as people use it."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netbenefit import Binner, RiskScoreClassifier, cross_validate
from netbenefit.data.duckdb import read_table
from tests.cli.test_main import error, run

QUICK = ["--solver", "local", "--time-limit", "60", "--jobs", "1"]  # it ends by itself
ASK = ["--target", "died", "--thresholds", "0.1:0.5:0.1", *QUICK]
NUMBERS = [*ASK, "--binner", "none", "--drop", "ward"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    n = 240
    age, frail = rng.integers(30, 90, n), rng.integers(0, 2, n)
    died = rng.random(n) < 0.05 + 0.4 * (age > 65) + 0.3 * frail
    columns = {
        "died": np.where(died, "yes", "no"),
        "age": age,
        "frail": frail,
        "noise": rng.integers(0, 9, n),
        "ward": rng.choice(["A", "B", ""], n),
        "times": rng.integers(1, 4, n),
    }
    path = tmp_path_factory.mktemp("validate") / "patients.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return path


def numbers(line: str, printed: str) -> list[float]:
    found = re.search(rf"^{line}  +(.*)$", printed, re.MULTILINE)
    assert found, printed
    return [float(text.replace("−", "-")) for text in found[1].split() if text != "–"]


def test_folds_are_those_of_python(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    options = ["--folds", 3, "--repeats", 2, "--sample-weight", "times", "--at", "0.15,0.3"]
    printed = run("validate", table, *ASK, *options, "--max-features", 2, "--csv", out)
    columns = read_table(table)
    X = {name: columns[name] for name in ("age", "frail", "noise", "ward")}
    model = RiskScoreClassifier(
        thresholds="0.1:0.5:0.1", binner=Binner(), max_features=2, solver="local", time_limit=60
    )
    found = cross_validate(
        model,
        X,
        columns["died"],
        folds=3,
        repeats=2,
        sample_weight=columns["times"],
        net_benefit_at=[0.15, 0.3],
    )
    assert numbers("AUNBC", printed)[0] == pytest.approx(found.mean["aunbc"], abs=6e-5)
    assert numbers("net benefit at 15%", printed)[1] == pytest.approx(
        found.sd["net_benefit_at_0.15"], abs=6e-5
    )
    assert numbers("AUROC", printed)[3] == pytest.approx(found.se_corrected["auroc"], abs=6e-5)
    assert "240 rows" in printed
    assert "6 cards of up to 60 s each" in printed
    assert "For comparison: acting on everyone has AUNBC" in printed
    assert "Stability over 6 cards" in printed
    saved = read_table(out)
    np.testing.assert_allclose(saved["mean"], found.to_table()["mean"], rtol=1e-9)


def test_acting_on_no_one_is_worth_nothing(table: Path) -> None:
    options = ["--target", "died", *QUICK, "--folds", 2, "--teacher", "none"]
    options += ["--drop", "ward", "--max-features", 1]
    printed = run("validate", table, *options)  # the default thresholds start at 0
    assert re.search(r"acting on everyone has AUNBC −\d\.\d{4}, on no one 0\.0000\.", printed)


def test_nested_with_a_journal_goes_on(table: Path, tmp_path: Path) -> None:
    journal = tmp_path / "folds.jsonl"
    options = ["--folds", 2, "--nested", "--inner-folds", 2, "--journal", journal]
    choice = ["--max-features", "1,2", "--max-points", 3, "--penalty", "auto"]
    first = run("validate", table, *NUMBERS, *options, *choice)
    assert "10 cards of up to" in first
    assert "Nested cross-validation, 2 folds" in first
    assert re.search(r"chosen: penalty='auto', max_features=[12], max_points=3 \(", first)
    lines = journal.read_text().splitlines()
    assert len(lines) == 11
    journal.write_text("\n".join(lines[:5]) + "\n" + lines[5][:20])  # torn
    again = run("validate", table, *NUMBERS, *options, *choice, "--quiet")
    assert numbers("AUNBC", again) == numbers("AUNBC", first)
    assert len(journal.read_text().splitlines()) == 11
    message = error("validate", table, *NUMBERS, *options, "--max-features", "1,3")
    assert "belongs to other data or other settings" in message


def test_bootstrap(table: Path) -> None:
    printed = run("validate", table, *NUMBERS, "--bootstrap", 4, "--max-features", 2)
    assert "Bootstrap validation, 4 resamples" in printed
    assert "5 cards of up to" in printed
    apparent, optimism, corrected = numbers("AUROC", printed.replace(" to ", " "))[:3]
    assert corrected == pytest.approx(apparent - optimism, abs=2e-4)
    assert "age (whole number)" in printed  # columns keep their names without a binner


def test_ctrl_c_tells_what_is_kept(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("netbenefit.validation.cross_validate", stop)
    journal = tmp_path / "j"
    printed = run("validate", table, *NUMBERS, "--journal", journal, code=130)
    assert f"stopped: finished cards are kept in {journal}: the same command goes on" in printed
    assert "nothing was saved" in run("validate", table, *NUMBERS, code=130)


def test_errors(table: Path, tmp_path: Path) -> None:
    assert "only --nested chooses among several values" in error(
        "validate", table, *ASK, "--max-features", "1,2"
    )
    assert "not with --bootstrap" in error("validate", table, *ASK, "--nested", "--bootstrap", 9)
    assert "write thresholds, as in --at" in error("validate", table, *ASK, "--at", "x")
    assert "write whole numbers" in error("validate", table, *ASK, "--max-points", "many")
    assert "would be overwritten" in error("validate", table, *ASK, "--journal", table)
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    assert "is not a journal" in error("validate", table, *ASK, "--journal", other)
    assert other.read_text() == "a,b\n1,2\n"
    assert "column 'ward' holds text, such as 'B' in line 2" in error(
        "validate", table, *ASK, "--binner", "none"
    )
    assert "--folds 200 must be at least 2" in error("validate", table, *NUMBERS, "--folds", 200)
    assert "Example: netbenefit validate" in " ".join(run("validate", "--help").split())


def test_errors_and_notes_are_those_of_fit(table: Path, tmp_path: Path) -> None:
    """In the words of the command line, although they come from a fold."""
    path = tmp_path / "with_ids.csv"
    lines = table.read_text().splitlines()
    path.write_text(
        "\n".join(f"{line},{'id' if k == 0 else f'p{k}'}" for k, line in enumerate(lines))
    )
    limits = ["--target", "died", "--monotone", "ward+", "--solver", "local", "--time-limit", 1]
    for command in (["fit"], ["validate", "--folds", 2]):
        found = error(*command, path, *limits)
        assert "have no order" in found
        assert "--sign 'ward=+'" in found
        assert "sign={" not in found
    plain = ["--target", "died", "--teacher", "logistic", "--time-limit", 0.5]
    for command in (["fit"], ["validate", "--folds", 2], ["sizes", "--folds", 2, "--max-size", 1]):
        found = " ".join(run(*command, path, *plain).split())
        assert "drop it (--drop id)" in found
        assert "InputWarning" not in found

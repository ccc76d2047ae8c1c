"""``netbenefit report``: files in, one page out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from netbenefit.cli.main import app


def run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    age = rng.integers(20, 90, 300)
    sex = rng.choice(["f", "m", ""], 300)
    ill = (rng.random(300) < 1 / (1 + np.exp(-(age - 60) / 10))).astype(int)
    data, card, proof = folder / "rows.csv", folder / "card.json", folder / "proof.json"
    rows = [f"{a},{s},{i}" for a, s, i in zip(age, sex, ill, strict=True)]
    data.write_text("\n".join(["age,sex,ill", *rows]))
    run(
        "fit", data, "--target", "ill", "--out", card, "--certificate", proof,
        "--time-limit", 2, "--prior-strength", 0,
    )  # fmt: skip
    return data, card, proof


def test_a_report_is_written(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    data, card, proof = files
    out = tmp_path / "report.html"
    assert "saved" in run("report", card, data, "--out", out, "--certificate", proof)
    text = out.read_text(encoding="utf-8")
    for words in ("The card", "Levels", "Decision curve", "Calibration", "Columns", "TRIPOD+AI"):
        assert words in text
    assert "The certificate was checked against these rows and holds" in text
    assert "rows.csv: 300 rows" in text
    plain = tmp_path / "plain.html"
    run("report", card, data, "--out", plain)
    assert "By its own record" in plain.read_text(encoding="utf-8")


def test_inputs_are_not_overwritten(files: tuple[Path, Path, Path]) -> None:
    data, card, _ = files
    before = data.read_bytes()
    assert "error" in run("report", card, data, "--out", data, code=2)
    assert data.read_bytes() == before
    assert "no such file" in run("report", card, "nothing.csv", code=2).lower()

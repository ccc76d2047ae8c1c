"""Scaled scores in every engine: offset + multiplier · score, nothing where there is no score."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netbenefit.export import xlsx
from netbenefit.export.calculator import to_calculator
from netbenefit.export.javascript import to_javascript
from netbenefit.export.pmml import to_pmml
from netbenefit.export.python import to_python
from netbenefit.export.scaling import Scaling, scale
from netbenefit.export.sql import to_sql
from tests.export.pages import fill_in, needs_browser
from tests.export.test_javascript import js_row
from tests.export.test_sql import table_of
from tests.export.test_xlsx import recalculated
from tests.export.truth import Truth, truths
from tests.helpers.browser import Watched
from tests.helpers.databases import Run

#: Rows of which the first have a score, and the last two have none; none is next to a cut.
ROWS = (0, 1, 2, 3, 5, -1, -2)


def given(way: bool = True) -> tuple[Truth, Scaling, list[int | None]]:
    truth = truths()["conditions"]
    rows = tuple({**truth.rows[k], "bmi": 22, "dose": truth.rows[k]["dose"] and 0} for k in ROWS)
    scaling = scale(truth.card, points_to_double=20, higher_is_better=way)
    scores = []
    for row in rows:
        refused = row["code"] is None or row["dose"] is None
        scores.append(None if refused else truth.card.score(row))
    assert scores.count(None) == 2
    assert len(set(scores)) > 3
    scaled = [None if s is None else scaling.offset + scaling.multiplier * s for s in scores]
    return truth._replace(rows=rows), scaling, scaled


@pytest.mark.parametrize("way", [True, False])
def test_python(way: bool) -> None:
    truth, scaling, scaled = given(way)
    module: dict[str, Any] = {}
    exec(to_python(truth.card, scaling=scaling), module)
    assert [module["risk_score"](row)[2] for row in truth.rows] == scaled
    assert module["risk_score"](truth.rows[-1]) == (None, None, None)


def test_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    truth, scaling, scaled = given()
    (tmp_path / "card.mjs").write_text(to_javascript(truth.card, scaling=scaling))
    rows = ", ".join(js_row(row) for row in truth.rows)
    script = 'import { scaledScore } from "./card.mjs";\n'
    script += f"console.log(JSON.stringify([{rows}].map(scaledScore)));"
    (tmp_path / "main.mjs").write_text(script)
    done = subprocess.run([node, "main.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert json.loads(done.stdout) == scaled, done.stderr


@needs_browser
def test_calculator(show: Callable[..., Watched]) -> None:
    truth, scaling, scaled = given()
    page = show(to_calculator(truth.card, scaling=scaling)).page
    seen = 0
    for row, expected in zip(truth.rows, scaled, strict=True):
        if expected is not None and fill_in(page, truth.card, row):
            assert page.inner_text("#scaled").replace("−", "-") == str(expected)
            seen += 1
    assert seen >= 3
    assert "points double the odds" in page.inner_text(".notes")


@pytest.mark.parametrize("dialect", ["duckdb", "postgresql"])
@pytest.mark.parametrize("table", ["t", None])
def test_sql(dialect: str, table: str | None, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(f"{dialect}_run")
    truth, scaling, scaled = given()
    query = to_sql(truth.card, dialect=dialect, table=table, scaling=scaling, scaled_as='s"x')
    query = query if table else f"SELECT t.*, {query} FROM t"
    found = run(*table_of(truth), f'SELECT "row id", "s""x" FROM ({query}) AS q')
    assert [value for _, value in sorted(found)] == scaled


def test_workbook(tmp_path: Path) -> None:
    truth, scaling, scaled = given()
    book = xlsx.workbook_bytes(truth.card, len(truth.rows) + 1, truth.rows, scaling)
    sheets = recalculated(tmp_path, {"card": book})["card"]
    found = [float(row[-1]) if row[-1] else None for row in sheets["Rows"][1:]]
    assert found == [*scaled, None]
    found = {row[0]: row[1] for row in sheets["Calculator"] if row}
    assert float(found["SCALED SCORE"]) == scaled[0]


def test_pmml() -> None:
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    pypmml = pytest.importorskip("pypmml", reason="pypmml is not installed")
    truth, scaling, scaled = given()
    model = pypmml.Model.fromString(to_pmml(truth.card, scaling=scaling))
    found = [model.predict(dict(row))["scaled score"] for row in truth.rows]
    pypmml.PMMLContext.shutdown()
    assert [None if v is None or math.isnan(v) else v for v in found] == scaled

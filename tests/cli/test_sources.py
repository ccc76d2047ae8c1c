"""The command line on data that is not one small file: patterns, databases, streams, scores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from netbenefit import RiskScoreClassifier, Scorecard, Thresholds
from netbenefit.cards import PerUnit, Rule
from netbenefit.data.duckdb import read_table
from tests.cli.test_fit import FIT, patients, save
from tests.cli.test_main import error, run
from tests.helpers.databases import postgresql_socket  # noqa: F401

#: Columns that a card learns from alike in memory and in a database.
OPTIONS = [*FIT, "--special", "visits=96", "--drop", "patient_id", "--drop", "admitted"]
# Small cards, so that the search ends by itself: then its end does not depend on the clock.
OPTIONS += ["--max-features", 3, "--max-points", 3, "--time-limit", 60, "-q"]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One CSV file, the same in four Parquet files, and the same in a DuckDB database."""
    folder = tmp_path_factory.mktemp("clinic")
    file = save(patients(), folder / "patients.csv")
    with duckdb.connect(folder / "clinic.db") as base:
        base.execute(
            f"CREATE TABLE visits AS FROM read_csv('{file}', nullstr = '', "
            "types = {'died': 'VARCHAR'})"
        )
        base.execute("CREATE TABLE rooms AS SELECT 1 AS bed")
        (folder / "parts").mkdir()
        for k in range(4):
            part = folder / "parts" / f"{k}.parquet"
            base.execute(f"COPY (FROM visits WHERE rowid % 4 = {k}) TO '{part}' (FORMAT parquet)")
    return folder


@pytest.fixture(scope="module")
def card(clinic: Path) -> Path:
    out = clinic / "card.json"
    run("fit", clinic / "patients.csv", *OPTIONS, "--out", out)
    return out


def same(first: Path, second: Path) -> bool:
    one, other = Scorecard.load(first), Scorecard.load(second)
    return (one.rules, one.cutoffs, one.risks) == (other.rules, other.cutoffs, other.risks)


def measured(card: Path, *data: object) -> dict[str, float]:
    """The numbers that `evaluate` prints."""
    evaluation = json.loads(run("evaluate", card, *data, "--json", "-q"))
    numbers = {**evaluation, **evaluation["calibration"]}
    for row in evaluation["levels"]:
        numbers |= {f"{name} of {row['scores']}": value for name, value in row.items()}
    return {name: value for name, value in numbers.items() if isinstance(value, int | float)}


def cut_seconds(printed: str) -> str:
    return re.sub(r"\d+\.\d s", "", printed)


def sources(clinic: Path) -> Iterator[list[object]]:
    yield [clinic / "parts" / "*.parquet"]
    yield sorted((clinic / "parts").iterdir())
    yield [clinic / "parts"]
    yield [f"duckdb:///{clinic}/clinic.db?table=visits"]


# -- small tables, read into memory ----------------------------------------------------------------


def test_fit_and_evaluate_take_all_kinds_of_sources(
    clinic: Path, card: Path, tmp_path: Path
) -> None:
    expected = measured(card, clinic / "patients.csv")
    for number, data in enumerate(sources(clinic)):
        assert measured(card, *data) == pytest.approx(expected)
        if number in (0, 3):
            out = tmp_path / f"{number}.json"
            run("fit", *data, *OPTIONS, "--out", out)
            assert same(out, card)


def test_errors_name_what_is_wrong(clinic: Path, tmp_path: Path) -> None:
    data = clinic / "parts" / "*.parquet"
    assert "--target names column 'dead'" in error("fit", data, "--target", "dead")
    assert "no file matches" in error("fit", clinic / "*.pq", *FIT)
    base = f"duckdb:///{clinic}/clinic.db"
    assert "has no table 'x'; it has 'rooms', 'visits'" in error("fit", f"{base}?table=x", *FIT)
    assert "would be overwritten" in error(
        "fit", data, *FIT, "--out", clinic / "parts" / "0.parquet"
    )


def test_postgresql_from_table_to_card(
    clinic: Path,
    card: Path,
    tmp_path: Path,
    postgresql_socket: str,  # noqa: F811
) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    limit = "-c statement_timeout=20000"
    columns = read_table(clinic / "patients.csv")
    kinds = {"O": "text", "i": "int8", "f": "float8"}
    defined = ", ".join(f'"{name}" {kinds[values.dtype.kind]}' for name, values in columns.items())
    with psycopg.connect(
        host=postgresql_socket, user="tester", dbname="postgres", options=limit
    ) as base:
        base.execute("DROP TABLE IF EXISTS patients")
        base.execute(f"CREATE TABLE patients ({defined})")
        rows = [
            [None if cell != cell else cell for cell in row]
            for row in zip(*(values.tolist() for values in columns.values()), strict=True)
        ]
        marks = ", ".join(["%s"] * len(columns))
        base.cursor().executemany(f"INSERT INTO patients VALUES ({marks})", rows)
    options = limit.replace(" ", "%20").replace("=", "%3D")
    data = f"postgresql://tester:secret@/postgres?host={postgresql_socket}&options={options}"
    out = tmp_path / "card.json"
    printed = run("fit", f"{data}&table=patients", *OPTIONS[:-1], "--out", out)
    assert "postgresql://tester@/postgres?table=patients: 600 rows" in printed
    assert same(out, card)
    evaluated = run("evaluate", out, f"{data}&table=patients")
    wrong = error("fit", f"{data}&table=patient", *FIT)
    assert "has no table 'patient'" in wrong
    for words in (printed, evaluated, wrong, out.read_text()):
        assert "secret" not in words


# -- rows that stay where they are -----------------------------------------------------------------


def test_streamed_and_read_tables_give_the_same_card(
    clinic: Path, card: Path, tmp_path: Path
) -> None:
    expected = measured(card, clinic / "patients.csv")
    base = f"duckdb:///{clinic}/clinic.db?table=visits"
    for k, data in enumerate([[clinic / "parts"], [base], [clinic / "patients.csv"]]):
        out = tmp_path / f"{k}.json"
        printed = run("fit", *data, *OPTIONS[:-1], "--stream", "--out", out)
        assert "streamed by DuckDB, never all in memory" in printed
        assert "241 rows with died = yes; 6 columns to learn from" in printed
        assert same(out, card)
        assert measured(card, *data, "--stream") == pytest.approx(expected)
    weights = ["--sample-weight", "x=y"]
    weighted = measured(card, clinic / "patients.csv", *weights)
    assert weighted["n"] != expected["n"]
    assert measured(card, base, *weights, "--stream") == pytest.approx(weighted)
    read, streamed = tmp_path / "read.json", tmp_path / "streamed.json"
    run("fit", clinic / "patients.csv", *OPTIONS, *weights, "--out", read)
    run("fit", base, *OPTIONS, *weights, "--stream", "--out", streamed)
    assert same(read, streamed)
    assert not same(read, card)


def test_options_mean_the_same_on_a_stream(clinic: Path, tmp_path: Path) -> None:
    read, streamed = tmp_path / "read.json", tmp_path / "streamed.json"
    settings = tmp_path / "binner.json"
    settings.write_text('{"max_bins": 3, "combine": {"both": ["sum", ["a,b", "x=y"]]}}')
    smoking = "Raucher – früher?"
    for options in (
        ["--monotone", "age+", "--categorical", "x=y", "--cuts", "lactate=1,2"],
        ["--binner", settings, "--missing", "impute", "--positive", "no"],
        ["--binner", "none", "--drop", smoking, "--drop", "lactate", "--sign", "age=+"],
    ):
        numbers = "none" in options  # then nothing is read as a code
        more = [one for one in OPTIONS if not numbers or one not in ("--special", "visits=96")]
        run("fit", clinic / "patients.csv", *more, *options, "--out", read)
        run("fit", clinic / "parts", *more, *options, "--stream", "--out", streamed)
        assert same(read, streamed), options


def test_a_proof_from_a_stream_is_verified(clinic: Path, tmp_path: Path) -> None:
    out, proof = tmp_path / "card.json", tmp_path / "proof.json"
    data = [clinic / "parts" / "*.parquet", *OPTIONS, "--stream", "--prior-strength", 0]
    run("fit", *data, "--out", out, "--certificate", proof)
    assert "✗" not in run("verify", out, proof, clinic / "patients.csv")
    assert "✗" not in run("verify", out, proof, *sorted((clinic / "parts").iterdir()))


def test_large_tables_are_streamed_unless_told_otherwise(
    clinic: Path, card: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netbenefit.data.duckdb.STREAM_ROWS", 599)
    data = [clinic / "parts" / "*.parquet", *OPTIONS[:-1]]
    printed = run("fit", *data)
    assert "*.parquet: 600 rows in 4 files (" in printed
    assert "streamed by DuckDB" in printed
    assert "streamed by DuckDB" not in run("fit", *data, "--no-stream")
    assert "streamed by DuckDB" not in run("evaluate", card, clinic / "parts" / "0.parquet")


def test_tables_with_too_many_distinct_rows_are_sampled(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = RiskScoreClassifier.fit_table.__wrapped__.__kwdefaults__
    monkeypatch.setitem(defaults, "sample_rows", 300)
    out = tmp_path / "card.json"
    data = [clinic / "parts", *OPTIONS[:-1], "--stream"]
    assert re.search(r"columns cut on \d+ distinct rows of a sample", run("fit", *data))
    monkeypatch.setitem(defaults, "max_patterns", 20)
    printed = run("fit", *data, "--out", out)
    assert "points were searched on" in printed
    assert "binning_choices" not in printed
    origin = Scorecard.load(out).provenance
    assert origin is not None
    assert (origin.n_rows, origin.n_events) == (600, 241)
    proof = tmp_path / "proof.json"
    assert "searched on a sample" in error("fit", *data, "--certificate", proof)


def test_scores_of_a_stream_are_compared_with_other_rows(
    clinic: Path, card: Path, tmp_path: Path
) -> None:
    other = save(patients(400, seed=5), tmp_path / "other.csv")
    data = ["evaluate", card, clinic / "patients.csv", "--reference", other, "--json", "-q"]
    expected = json.loads(run(*data))["drift"]
    found = json.loads(run(*data, "--stream"))["drift"]
    assert found["score_psi"] == pytest.approx(expected["score_psi"])
    assert found["prevalence"] == pytest.approx(expected["prevalence"])
    printed = run(*data[:-2], "--stream")
    assert "PSI" in printed
    columns = patients(400, seed=5)
    del columns["died"]
    data[4] = save(columns, tmp_path / "other.csv")
    assert "has no outcome that can be read" in run(*data[:-2], "--stream")


def test_rows_held_out_of_a_stream(clinic: Path, tmp_path: Path) -> None:
    data = [f"duckdb:///{clinic}/clinic.db?table=visits", *OPTIONS, "--stream"]
    out = tmp_path / "card.json"
    printed = run("fit", *data, "--holdout", 0.3, "--seed", 3, "--out", out)
    found = re.search(r"On (\d+) rows of 600 that were held out \(each drawn by itself", printed)
    assert found
    assert int(found[1]) == pytest.approx(180, abs=45)
    held_out = Scorecard.load(out).held_out
    assert held_out is not None
    assert held_out.n_rows == int(found[1])
    assert "AUNBC" in printed
    again = run("fit", *data, "--holdout", 0.3, "--seed", 3, "--out", out)
    assert cut_seconds(again) == cut_seconds(printed)


def test_what_a_stream_refuses(clinic: Path, card: Path, tmp_path: Path) -> None:
    parts = clinic / "parts"
    stream = [parts, "--stream"]
    assert "--target names column 'x'" in error("fit", *stream, "--target", "x")
    assert "--drop names column 'x'" in error("fit", *stream, *FIT, "--drop", "x")
    assert "holds 9 labels" in error("fit", *stream, "--target", "visits", "--drop", "x=y")
    assert "is never 'maybe'" in error("fit", *stream, *FIT, "--positive", "maybe")
    assert "'admitted', the weights, holds no numbers" in error(
        "fit", *stream, *FIT, "--sample-weight", "admitted"
    )
    assert "'lactate', the weights, is missing, negative or infinite in 63 rows" in error(
        "fit", *stream, *FIT, "--sample-weight", "lactate"
    )
    columns = patients()
    columns["age"][:5] = ["inf"] * 5
    data = save(columns, tmp_path / "gaps.csv")
    assert "refuses 5 of 600 rows" in error("evaluate", card, data, "--stream")


# -- score -----------------------------------------------------------------------------------------


def test_scores_are_those_of_the_card(clinic: Path, card: Path, tmp_path: Path) -> None:
    scorecard, columns = Scorecard.load(card), read_table(clinic / "patients.csv")
    expected = dict(
        zip(columns["patient_id"].tolist(), np.asarray(scorecard.score(columns)), strict=True)
    )
    for k, data in enumerate([*sources(clinic), [clinic / "patients.csv"]]):
        out = tmp_path / f"{k}.parquet"
        printed = run("score", card, *data, "--out", out, "--keep", "patient_id")
        assert "scored: 600 rows" in printed
        found = pq.read_table(out).to_pydict()
        assert list(found) == ["patient_id", "card_score", "card_risk"]
        assert dict(zip(found["patient_id"], found["card_score"], strict=True)) == expected
        assert found["card_risk"] == scorecard.risk_of_score(found["card_score"]).tolist()
    assert list(tmp_path.glob(".*")) == []
    out = tmp_path / "scored.csv"
    assert run("score", card, clinic / "parts", "--out", out, "-q") == ""
    names = list(read_table(out))
    assert names == [*columns, "card_score", "card_risk"]


def test_scoring_keeps_every_column_as_it_was_written(tmp_path: Path) -> None:
    card, file, out = tmp_path / "card.json", tmp_path / "t.csv", tmp_path / "scored.csv"
    Scorecard([Rule(PerUnit("age"), 1)], [(0, 0.1), (50, 0.9)], Thresholds.of([0.5])).save(card)
    rows = [("007", "41", "12345678901234567890"), ("012", "62", "15")]
    for ward, name in (("ward", "row_name"), ("Row_Name", "row_name2")):
        file.write_text("\n".join([f",age,{ward}", *map(",".join, rows)]) + "\n")
        run("score", card, file, "--out", out)
        head, *lines = out.read_text().splitlines()
        assert head == f"{name},age,{ward},card_score,card_risk"
        assert [tuple(line.split(",")[:3]) for line in lines] == rows
    run("score", card, file, "--out", out, "--keep", "row_name2")
    assert out.read_text().splitlines()[1] == "007,41,0.1"


def test_rows_that_the_card_refuses_have_no_score(clinic: Path, card: Path, tmp_path: Path) -> None:
    columns = patients()
    columns["age"][:5] = ["inf"] * 5
    data, out = save(columns, tmp_path / "gaps.csv"), tmp_path / "scored.csv"
    assert "age" in Scorecard.load(card).features
    assert "5 of 600 rows have no score" in run("score", card, data, "--out", out)
    assert np.isnan(read_table(out)["card_score"]).sum() == 5


def test_score_refuses(clinic: Path, card: Path, tmp_path: Path) -> None:
    data = clinic / "parts" / "*.parquet"
    assert "cannot tell the format" in error("score", card, data, "--out", tmp_path / "a.xlsx")
    assert "--keep names column 'x'" in error(
        "score", card, data, "--out", tmp_path / "a.csv", "--keep", "x"
    )
    rooms = f"duckdb:///{clinic}/clinic.db?table=rooms"
    out = tmp_path / "a.parquet"
    assert "the card needs" in error("score", card, rooms, "--out", out)
    run("score", card, data, "--out", out)
    again = tmp_path / "b.parquet"
    assert "has a column 'card_score' already" in error("score", card, out, "--out", again)
    assert not again.exists()


# -- files as offices write them -------------------------------------------------------------------


def office_files(folder: Path) -> dict[str, list[object]]:
    """The same patients as CSV, as German CSV and as a workbook; some without an outcome."""
    columns = patients()
    columns["died"][:3] = ["", "NA", ""]
    plain = save(columns, folder / "plain.csv")
    commas = {n: [str(v).replace(".", ",") for v in column] for n, column in columns.items()}
    german = save(commas, folder / "german.csv", delimiter=";")
    german.write_bytes(german.read_text(encoding="utf-8").encode("cp1252"))
    book = xlsxwriter.Workbook(str(folder / "book.xlsx"))
    for name in ("Notes", "Patients"):
        sheet = book.add_worksheet(name)
        sheet.write_row(0, 0, list(columns))
        for k, row in enumerate(zip(*columns.values(), strict=True), 1):
            sheet.write_row(k, 0, [None if cell == "" else cell for cell in row])
    book.close()
    return {
        "plain": [plain],
        "german": [german, "--decimal", ",", "--encoding", "cp1252"],
        "found": [german],
        "book": [folder / "book.xlsx", "--sheet", "Patients"],
        "stream": [german, "--stream"],
    }


def test_files_of_offices_give_the_same_card(tmp_path: Path) -> None:
    files = office_files(tmp_path)
    options = [one for one in OPTIONS if one != "-q"]
    for name, data in files.items():
        printed = run("fit", *data, *options, "--out", tmp_path / f"{name}.json")
        assert "note: 3 rows have no 'died': left out." in printed
        assert ("read with decimal commas" in printed) == (name in ("found", "stream"))
        assert same(tmp_path / "plain.json", tmp_path / f"{name}.json"), name
    card = tmp_path / "plain.json"
    measured_on = [measured(card, *data) for data in files.values()]
    assert all(one == measured_on[0] for one in measured_on[:-1])
    out = tmp_path / "scored.csv"
    run("score", card, files["book"][0], "--sheet", "Patients", "--out", out)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 601


def test_errors_name_the_line_of_the_file_or_the_row_of_the_sheet(tmp_path: Path) -> None:
    columns = patients()
    columns["lactate"][10] = "high"
    columns["visits"][20] = "many"
    file = save(columns, tmp_path / "t.csv")
    lines = file.read_text(encoding="utf-8").splitlines()
    file.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    message = error("fit", file, *FIT)
    assert "2 columns cannot be used as they are: (1) column 'lactate' mixes" in message
    assert "such as 'high' in line 23" in message
    assert "such as 'many' in line 43" in message
    for command in ("validate", "sizes", "compare"):
        ask = ["--target", "died", "--thresholds", "0.1:0.5:0.1", "--time-limit", 1, "--folds", 2]
        models = ["--models", "scorecard"] if command == "compare" else []
        assert "such as 'high' in line 23" in error(command, file, *ask, *models)
    book = xlsxwriter.Workbook(str(tmp_path / "t.xlsx"))
    sheet = book.add_worksheet()
    for k, row in enumerate([list(columns), *zip(*columns.values(), strict=True)]):
        sheet.write_row(k + 2, 1, [None if cell == "" else cell for cell in row])
    book.close()
    assert "such as 'high' in row 14" in error("fit", tmp_path / "t.xlsx", *FIT)


def test_labels_that_are_not_clear_are_asked_for(clinic: Path, tmp_path: Path) -> None:
    columns = patients()
    columns["died"] = ["died" if one == "yes" else "survived" for one in columns["died"]]
    file = save(columns, tmp_path / "t.csv")
    said = "holds died and survived. Say which of them is the event: --positive died or --positive"
    for more in ([], ["--stream"]):
        assert said in error("fit", file, *FIT, *more)
        out, plain = tmp_path / "card.json", tmp_path / "yes.json"
        printed = run("fit", file, *OPTIONS, *more, "--positive", "died", "--out", out)
        assert "Risk of died" in printed
        run("fit", clinic / "patients.csv", *OPTIONS, *more, "--out", plain)
        assert same(out, plain)
        assert measured(out, file) == measured(plain, clinic / "patients.csv")

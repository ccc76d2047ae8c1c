"""What DATA may be: files, patterns, folders, tables of DuckDB and of PostgreSQL."""

from __future__ import annotations

import gzip
import io
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from rich.console import Console

from netbenefit.common.checks import InputError
from netbenefit.data.duckdb import (
    QueryBar,
    Size,
    open_source,
    read_table,
    size_of_file,
    size_of_table,
)
from netbenefit.data.sources import Engine, find_source, scrub
from tests.helpers.databases import postgresql_socket  # noqa: F401

ODD = "odd '\"name; DROP"


def write_parquet(file: Path, query: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as base:
        place = str(file).replace("'", "''")
        base.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet)")
    return file


def rows_of(*data: object, **settings: Any) -> list[tuple[Any, ...]]:
    with open_source(find_source([str(one) for one in data]), **settings) as table:
        found: list[tuple[Any, ...]] = table.relation().order("ALL").fetchall()
        assert len(found) == table.n_rows
        return found


def refusal(*data: object, **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        rows_of(*data, **settings)
    assert caught.value.__cause__ is None
    return str(caught.value)


# -- files -----------------------------------------------------------------------------------------


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    for k in range(3):
        write_parquet(tmp_path / f"data/part {k}.parquet", f"SELECT {k} AS a, 'x{k}' AS s")
    return tmp_path / "data"


def test_parquet_by_pattern_list_and_folder(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [(0, "x0"), (1, "x1"), (2, "x2")]
    assert rows_of(parts / "*.parquet") == expected
    assert rows_of(f"{parts}/**/part ?.parquet") == expected
    assert rows_of(parts) == expected
    assert rows_of(*sorted(parts.iterdir())) == expected
    monkeypatch.chdir(parts.parent)
    assert rows_of("data/part [01].parquet", "data/part 1.parquet") == expected[:2]
    assert find_source(["data"]).shown == "data"
    assert find_source(["data/part 0.parquet", "data/part 1.parquet"]).shown.endswith("and 1 more")


def test_partitions_become_columns_and_unfinished_files_are_left_out(tmp_path: Path) -> None:
    for year in (2023, 2024):
        write_parquet(tmp_path / f"data/year={year}/a.parquet", f"SELECT {year % 7} AS a")
    write_parquet(tmp_path / "data/_temporary/b.parquet", "SELECT 'unfinished' AS a")
    assert rows_of(tmp_path / "data") == [(0, 2023), (1, 2024)]
    assert rows_of(tmp_path / "data/*/a.parquet") == [(0, 2023), (1, 2024)]


def test_names_that_look_like_patterns(tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "it's [1]*?.parquet", "SELECT 1 AS a")
    write_parquet(tmp_path / "it's 1.parquet", "SELECT 2 AS a")
    assert rows_of(file) == [(1,)]


CSV = (
    "id, age ,sex,code,when,ok,empty,big\n"
    '1,51,f,007,2020-01-01,true,,1e3\n2,NA,"m, ""x""",1_000,,FALSE,NaN,-.5\n'
    "\n3, 60 ,N/A,x,2020-01-03,null,,inf\n"
)


def test_csv_is_read_as_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("\ufeff" + CSV, encoding="utf-8")
    alone = read_table(file)
    with open_source(find_source([str(file)])) as table:
        found = table.read().columns
    assert list(found) == list(alone)
    for name, column in alone.items():
        expected = [None if v != v else v for v in column.tolist()]
        got = [None if v is None or v != v else v for v in found[name].tolist()]
        assert got == expected, name
    with open_source(find_source([str(file)]), as_text=["age"]) as table:
        assert table.read().columns["age"].tolist() == ["51", None, "60"]


def test_csv_files_in_several_formats_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")
    (tmp_path / "b.csv").write_text("b;a\ny;2\n")
    with gzip.open(tmp_path / "c.csv.gz", "wt") as file:
        file.write(",a,b\n0,2.5,\n")
    assert rows_of(tmp_path / "*.csv*") == [(1.0, "x"), (2.0, "y"), (2.5, None)]


def test_a_single_word_makes_a_column_text(tmp_path: Path) -> None:
    lines = [str(k) for k in range(60_000)]
    (tmp_path / "a.csv").write_text("\n".join(["a", *lines, "word", ""]))
    with open_source(find_source([str(tmp_path / "a.csv")])) as table:
        assert str(table.relation().types[0]) == "VARCHAR"
        assert table.n_rows == 60_001


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", "SELECT 1 AS x, 1 AS y, 1::SMALLINT AS z")
    write_parquet(tmp_path / "b.parquet", "SELECT 'one' AS x, 2.5 AS z, true AS new")
    with open_source(find_source([str(tmp_path / "*.parquet")])) as table:
        table.check_columns(["z"])
        for column, words in (
            ("x", "holds numbers in .*a.parquet, but text in .*b.parquet"),
            ("y", "is in .*a.parquet, but not in .*b.parquet"),
            ("new", "is in .*b.parquet, but not in .*a.parquet"),
        ):
            with pytest.raises(InputError, match=words):
                table.check_columns(["z", column])
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    with (
        open_source(find_source([str(tmp_path / "*.csv")])) as table,
        pytest.raises(InputError, match=r"column 'y' is in .*a.csv, but not in .*b.csv"),
    ):
        table.check_columns(["x", "y"])
    assert "files of several formats do not go together" in refusal(tmp_path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "no file matches" in refusal(tmp_path / "*.parquet")
    assert "no such file" in refusal(tmp_path / "a.parquet")
    assert "is a folder without files that end in" in refusal(tmp_path)
    (tmp_path / "a.txt").write_text("a\n1\n")
    assert "cannot tell the format" in refusal(tmp_path / "*.txt")
    (tmp_path / "bad.parquet").write_text("no parquet at all")
    assert "bad.parquet: DuckDB cannot read it" in refusal(tmp_path / "bad.parquet")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert "bad.csv, line 3: 3 cells" in refusal(tmp_path / "bad.csv")
    (tmp_path / "none.csv").write_text("a,b\n")
    assert "no rows" in refusal(tmp_path / "none.csv")
    (tmp_path / "case.csv").write_text("a,A\n1,2\n")
    assert "'a' and 'A' differ in case alone" in refusal(tmp_path / "case.csv")
    assert "s3:// is not supported" in refusal("s3://bucket/a.parquet")


def test_rows_held_out_are_the_same_in_every_pass(tmp_path: Path) -> None:
    query = "SELECT i % 3 AS a, i AS b FROM range(40000) t(i)"
    write_parquet(tmp_path / "a.parquet", query)
    with duckdb.connect(tmp_path / "a.db") as base:
        base.execute(f"CREATE TABLE t AS {query}")
        base.execute("CREATE VIEW v AS SELECT * FROM t")
        base.execute(f"COPY ({query}) TO '{tmp_path}/a.csv'")
    drawn = {}
    for data in ("a.parquet", "a.csv", "a.db"):
        address = f"duckdb:///{tmp_path}/a.db?table=t" if data == "a.db" else str(tmp_path / data)
        with open_source(find_source([address])) as table:
            train, test = table.split(0.25, 7, ["b", "a"])
            first, second = (sorted(test.fetchall()) for _ in range(2))
            assert first == second
            assert test.columns == ["b", "a"]
            assert sorted(train.fetchall() + first) == [(i, i % 3) for i in range(40000)]
            assert len(first) == pytest.approx(10000, abs=400)
            with open_source(find_source([address])) as again:
                assert sorted(again.split(0.25, 7, ["b", "a"])[1].fetchall()) == first
            other = sorted(table.split(0.25, 8, ["b", "a"])[1].fetchall())
            assert other != first
            drawn[data] = len(first)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = (tmp_path / "a.parquet").rename(elsewhere / "a.parquet")
    with open_source(find_source([str(moved)])) as table:
        assert len(table.split(0.25, 7, ["b", "a"])[1].fetchall()) == drawn["a.parquet"]
    with (
        open_source(find_source([f"duckdb:///{tmp_path}/a.db?table=v"])) as table,
        pytest.raises(InputError, match="a split needs rows that can be told apart"),
    ):
        table.split(0.25, 7, ["a"])


# -- DuckDB ----------------------------------------------------------------------------------------


@pytest.fixture
def base(tmp_path: Path) -> Path:
    with duckdb.connect(tmp_path / "clinic.duckdb") as made:
        quoted = ODD.replace('"', '""')
        made.execute("CREATE TABLE visits AS SELECT 1 AS a, 'x' AS s")
        made.execute('CREATE SCHEMA "s x"')
        made.execute(f'CREATE TABLE "s x"."{quoted}" AS SELECT 2 AS "{quoted}"')
        made.execute("CREATE VIEW seen AS SELECT a + 1 AS a FROM visits")
    return tmp_path / "clinic.duckdb"


def test_tables_of_duckdb(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows_of(f"duckdb:///{base}?table=visits") == [(1, "x")]
    assert rows_of(f"duckdb:///{base}?table=main.VISITS") == [(1, "x")]
    assert rows_of(f"duckdb:///{base}?table=seen") == [(2,)]
    monkeypatch.chdir(base.parent)
    odd = ODD.replace(" ", "%20").replace("'", "%27").replace(";", "%3B")
    with open_source(find_source([f"duckdb:///clinic.duckdb?table=s%20x.{odd}"])) as table:
        assert table.columns == (ODD,)
        assert table.relation().fetchall() == [(2,)]
        with pytest.raises(duckdb.Error, match="read-only"):
            table.connection.execute("CREATE TABLE source.main.more (a INT)")


def test_wrong_duckdb_addresses(base: Path, tmp_path: Path) -> None:
    there = "it has 'seen', 'visits', 's x."
    assert there in refusal(f"duckdb:///{base}?table=rooms")
    assert "the address names no table" in refusal(base)
    assert there in refusal(f"duckdb:///{base}?table=visits; DROP TABLE visits")
    assert rows_of(f"duckdb:///{base}?table=visits") == [(1, "x")]
    assert "no such file" in refusal(f"duckdb:///{tmp_path}/none.db?table=t")
    assert "three slashes" in refusal("duckdb://clinic.duckdb?table=t")
    assert "only table= is known" in refusal(f"duckdb:///{base}?query=SELECT 1")
    assert "name one table" in refusal(f"duckdb:///{base}?table=")
    assert "Name one database" in refusal(f"duckdb:///{base}?table=visits", str(base))
    (tmp_path / "not.duckdb").write_text("no database" * 100)
    assert "not a valid DuckDB database" in refusal(tmp_path / "not.duckdb")


def test_a_view_reaches_nothing_outside_its_database(tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.csv", tmp_path / "written.csv"
    secret.write_text("a\n1\n")
    file = tmp_path / "foreign.db"
    with duckdb.connect(file) as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS a")
        base.execute("CREATE VIEW honest AS FROM t")
        base.execute(f"CREATE VIEW reader AS FROM read_csv('{secret}')")
        base.execute(f"CREATE MACRO look() AS (SELECT count(*) FROM read_text('{secret}'))")
        base.execute("CREATE VIEW hidden AS SELECT look() AS n")
    assert rows_of(f"duckdb:///{file}?table=honest") == [(1,)]
    for view in ("reader", "hidden"):
        assert "Cannot access file" in refusal(f"duckdb:///{file}?table={view}")
    source = find_source([f"duckdb:///{file}?table=honest"])
    with open_source(source, engine=Engine(output=target)) as table:
        with pytest.raises(duckdb.PermissionException):
            table.relation().write_csv(str(tmp_path / "other.csv"))
        table.relation().write_csv(str(target))
    assert target.read_text() == "a\n1\n"


def test_a_file_with_one_table_needs_no_name(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "one.duckdb") as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert rows_of(tmp_path / "one.duckdb") == [(1,)]


def test_memory_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_parquet(tmp_path / "a.parquet", "SELECT 1 AS a")
    monkeypatch.setenv("NETBENEFIT_MEMORY", "1GiB")
    monkeypatch.setenv("NETBENEFIT_TEMP", str(tmp_path))
    with open_source(find_source([str(file)]), engine=Engine(threads=1)) as table:
        settings = "SELECT current_setting('memory_limit'), current_setting('threads')"
        assert table.connection.sql(settings).fetchall() == [("1.0 GiB", 1)]
        assert table.engine.folder.parent == tmp_path
    assert not table.engine.folder.exists()
    monkeypatch.setenv("NETBENEFIT_MEMORY", "lots")
    assert "not an amount of memory" in refusal(file)
    monkeypatch.setenv("NETBENEFIT_MEMORY", "1GB")
    monkeypatch.setenv("NETBENEFIT_TEMP", str(tmp_path / "none"))
    assert "cannot be written to" in refusal(file)


# -- PostgreSQL ------------------------------------------------------------------------------------

SECRET = "p%40ss/w:rd"


@pytest.fixture
def server(postgresql_socket: str) -> str:  # noqa: F811
    """An address of a server with tables; no query of it runs for longer than 20 seconds."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    limit = "-c statement_timeout=20000"
    with psycopg.connect(
        host=postgresql_socket, user="tester", dbname="postgres", options=limit
    ) as base:
        base.execute("DROP SCHEMA IF EXISTS ward CASCADE; CREATE SCHEMA ward")
        base.execute(
            'CREATE TABLE ward."the visits" (id int8, age numeric, ok bool, note text, '
            "seen date, kind char(3), y int2)"
        )
        base.cursor().executemany(
            'INSERT INTO ward."the visits" VALUES (%s, %s, %s, %s, %s, %s, %s)',
            [
                (1, 51.5, True, 'a "quoted", one\nof two lines', "2020-01-01", "abc", 1),
                (2, None, None, "", None, "de", 0),
                (3, 60, False, None, "2021-02-03", None, 1),
            ],
        )
        base.execute('CREATE VIEW ward.seen AS SELECT y FROM ward."the visits"')
    host = postgresql_socket.replace("/", "%2F")
    options = limit.replace(" ", "%20").replace("=", "%3D")
    return (
        f"postgresql://tester:{SECRET.replace('/', '%2F')}@/postgres?host={host}&options={options}"
    )


def test_a_table_of_postgresql(server: str) -> None:
    source = find_source([f"{server}&table=ward.the%20visits"])
    assert source.shown == "postgresql://tester@/postgres?table=ward.the visits"
    assert "p%40ss" not in repr(source)
    with open_source(source) as table:
        rows = table.relation().order("id").fetchall()
        columns = table.read().columns
    assert [row[0] for row in rows] == [1, 2, 3]
    assert [row[2] for row in rows] == [True, None, False]
    assert [row[3] for row in rows] == ['a "quoted", one\nof two lines', "", None]
    assert [row[5] and row[5].strip() for row in rows] == ["abc", "de", None]
    np.testing.assert_array_equal(columns["age"].astype(float), [51.5, np.nan, 60])
    assert columns["y"].tolist() == [1, 0, 1]
    assert rows_of(f"{server}&table=ward.seen") == [(0,), (1,), (1,)]


def test_errors_of_postgresql_hold_no_password(server: str) -> None:
    messages = [
        refusal(f"{server}&table=rooms"),
        refusal(f"{server}&table=ward.seen;%20DROP%20TABLE%20x"),
        refusal(f"postgresql://tester:{SECRET.replace('/', '%2F')}@127.0.0.1:9/x?table=t"),
        refusal("postgresql://tester:secret@host:port/x?table=t"),
    ]
    assert "'ward.seen', 'ward.the visits'" in messages[0]
    assert "127.0.0.1" in messages[2]
    for message in messages:
        assert not any(word in message for word in ("p%40ss", "p@ss", "secret"))


def test_secrets_are_taken_out_of_messages() -> None:
    source = find_source([f"postgresql://ann:{SECRET.replace('/', '%2F')}@h/db?table=t"])
    for words in (source.address, "p%40ss%2Fw:rd", "p@ss/w:rd", "p%40ss%2Fw%3Ard"):
        assert "ss" not in scrub(f"<{words}>", source).replace("postgresql", "")


# -- size and progress -----------------------------------------------------------------------------


def test_size_is_known_without_reading(tmp_path: Path) -> None:
    rows = "SELECT i, 'some words' AS s FROM range(20000) t(i)"
    parquet = write_parquet(tmp_path / "a.parquet", rows)
    size = size_of_file(find_source([str(parquet)]))
    assert (size.rows, size.exact, size.is_large) == (20_000, True, False)
    for name, packed in (("a.csv", open), ("a.csv.gz", gzip.open)):
        with packed(tmp_path / name, "wt") as file:
            file.write("i,s\n" + "".join(f"{k},some words {k}\n" for k in range(20_000)))
        guess = size_of_file(find_source([str(tmp_path / name)]))
        assert not guess.exact
        assert guess.rows == pytest.approx(20_000, rel=0.3)
    write_parquet(tmp_path / "b.parquet", "SELECT 1 AS i, 'x' AS s")
    with open_source(find_source([str(tmp_path / "*.parquet")])) as table:
        assert str(size_of_table(table)).startswith("20,001 rows in 2 files (")
    assert str(Size(5000, False, 3_400_000_000)) == "about 5,000 rows (3.4 GB)"
    assert str(Size(5000, True, 25_000)) == "5,000 rows (25 kB)"
    assert Size(1_000_001, True).is_large
    assert Size(10, True, 500_000_001).is_large
    assert size_of_file(find_source([str(write_bad(tmp_path))])).rows == 0


def write_bad(folder: Path) -> Path:
    (folder / "bad.parquet").write_text("no parquet at all")
    return folder / "bad.parquet"


def test_a_bar_shows_how_far_duckdb_is() -> None:
    shown, query = io.StringIO(), "SELECT sum(hash(i)) FROM range(60_000_000) t(i)"
    console = Console(file=shown, force_terminal=True, width=80)
    with duckdb.connect() as base:
        with QueryBar(base, "counting values", console=console) as bar:
            base.sql(query).fetchall()
            bar.say("merging rows")
            base.sql(query).fetchall()
        assert not any("_watch" in thread.name for thread in threading.enumerate())
    assert "counting values" in shown.getvalue()
    assert "merging rows" in shown.getvalue()
    quiet = io.StringIO()
    with duckdb.connect() as base:
        for console in (Console(file=quiet), Console(file=quiet, force_terminal=True)):
            with QueryBar(base, "x", shown=not console.is_terminal, console=console):
                base.sql("SELECT 1").fetchall()
    assert quiet.getvalue() == ""

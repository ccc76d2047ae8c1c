"""Exported SQL in real databases, against the card itself."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from netbenefit import Condition, InputError, PerUnit, Reading, Rule
from netbenefit.export.sql import to_sql
from tests.export.test_python import all_truths, more_truths, small_card
from tests.export.truth import HOSTILE_COLUMN, Truth, truth_of, truths
from tests.helpers.databases import Run
from tests.helpers.full import FULL, more_cases

NAMES = sorted(all_truths())
#: Blank text is spaces only, and type functions are absent: see to_sql.
ANSI_NAMES = [name for name in NAMES if name != "missing"]
DIALECTS = ["ansi", "duckdb", "postgresql", "spark"]


# -- databases -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark_session() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for end in ("bindAddress", "host"):
        builder = builder.config(f"spark.driver.{end}", "127.0.0.1")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def columns_of(truth: Truth) -> dict[str, bool]:
    """Columns of a truth, and whether they hold text."""
    text = set(truth.card.text_features)
    return {
        name: name in text or any(isinstance(row[name], str) for row in truth.rows)
        for name in truth.rows[0]
    }


def table_of(truth: Truth) -> tuple[str, list[tuple[Any, ...]]]:
    """Return the statement that makes the table t, and its rows, numbered in "row id"."""
    columns = columns_of(truth)
    typed = [
        f'"{name.replace(chr(34), 2 * chr(34))}" {"TEXT" if text else "DOUBLE PRECISION"}'
        for name, text in columns.items()
    ]
    rows = []
    for k, row in enumerate(truth.rows):
        values = [
            value if text or value is None else float(value)
            for value, text in zip(row.values(), columns.values(), strict=True)
        ]
        rows.append((k, *values))
    return f'CREATE TABLE t ("row id" INTEGER, {", ".join(typed)})', rows


def results(truth: Truth, dialect: str, run: Run, table: str | None = "t") -> list[Any]:
    query = to_sql(truth.card, dialect=dialect, table=table, score_as="s;'", risk_as='r"')
    if table is None:
        query = f"SELECT t.*, {query} FROM t"
    found = run(*table_of(truth), f'SELECT "row id", "s;\'", "r""" FROM ({query}) AS q')
    return [(score, risk) for _, score, risk in sorted(found)]


def expected(truth: Truth) -> list[Any]:
    return list(zip(truth.scores, truth.risks, strict=True))


def check(found: list[Any], truth: Truth) -> None:
    wrong = [pair for pair in zip(truth.rows, found, expected(truth), strict=True)
             if pair[1] != pair[2]]  # fmt: skip
    assert not wrong, wrong[:3]
    assert all(type(score) is int and type(risk) is float for score, risk in found if score)


# -- every row of every truth ----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_duckdb(name, duckdb_run):
    truth = all_truths()[name]
    check(results(truth, "duckdb", duckdb_run), truth)
    check(results(truth, "duckdb", duckdb_run, table=None), truth)


@pytest.mark.parametrize("name", NAMES)
def test_postgresql(name, postgresql_run):
    truth = all_truths()[name]
    check(results(truth, "postgresql", postgresql_run), truth)
    check(results(truth, "postgresql", postgresql_run, table=None), truth)


@pytest.mark.parametrize("name", ANSI_NAMES)
def test_ansi_runs_in_both(name, duckdb_run, postgresql_run):
    truth = all_truths()[name]
    terms = [rule.term for rule in truth.card.rules]
    logs = any(isinstance(term, PerUnit) and term.log for term in terms)
    # PostgreSQL plans logarithms of this dialect for minutes; its own has a function for them.
    for run in (duckdb_run,) if logs else (duckdb_run, postgresql_run):
        # NaN equals itself in both, so that only the dialects of their own know it for a hole; the
        # same goes for blank text that is not made of spaces.
        kept = [
            k
            for k, row in enumerate(truth.rows)
            if not any(isinstance(v, str) and v.strip(" ") and not v.strip() for v in row.values())
        ]
        rows = [{k: None if v != v else v for k, v in truth.rows[i].items()} for i in kept]
        part = [tuple(values[i] for i in kept) for values in (truth.scores, truth.risks)]
        shown = Truth(truth.card, tuple(rows), *part)
        check(results(shown, "ansi", run), shown)


@more_cases
@pytest.mark.parametrize("name", NAMES)
def test_spark(name, spark_session):
    if name not in truths() and not FULL:
        pytest.skip("Spark takes long: NETBENEFIT_FULL=1 runs all cards")
    if name == "lines":
        pytest.skip("Spark's variables can stand in no name; see test_spark_refuses_variables")
    truth = all_truths()[name]
    columns = columns_of(truth)
    _, rows = table_of(truth)
    typed = [f"`{n.replace('`', '``')}` {'STRING' if text else 'DOUBLE'}"
             for n, text in columns.items()]  # fmt: skip
    frame = spark_session.createDataFrame(rows, ", ".join(["`row id` INT", *typed]))
    frame.createOrReplaceTempView("t")
    for table in ("t", None):
        query = to_sql(truth.card, dialect="spark", table=table)
        query = query if table else f"SELECT t.*, {query} FROM t"
        found = sorted((r["row id"], r["card_score"], r["card_risk"]) for r in
                       spark_session.sql(query).collect())  # fmt: skip
        check([(score, risk) for _, score, risk in found], truth)


def test_tables_of_whole_numbers_decimals_and_reals(duckdb_run, postgresql_run):
    rules = [Rule(Condition("a", ">=", 2.5), 1), Rule(PerUnit("b", decimals=1, upper=9), 2)]
    card = small_card([*rules, Rule(Condition("c", "missing"), 4)],
                      [Reading(feature="c", special=(-9,))])  # fmt: skip
    rows = [(0, 2, "0.25", -9), (1, 3, "0.15", 1), (2, 2**31 - 1, "12.10", None)]
    create = 'CREATE TABLE t ("row id" INTEGER, "a" INTEGER, "b" DECIMAL(9, 2), "c" SMALLINT)'
    expected = [card.score({"a": a, "b": float(b), "c": c}) for _, a, b, c in rows]
    for dialect, run in (("duckdb", duckdb_run), ("postgresql", postgresql_run)):
        query = to_sql(card, dialect=dialect, table="t")
        assert [row[-2] for row in sorted(run(create, rows, query))] == expected


BOTH = ("duckdb", "postgresql")


def typed(run: Run, dialect: str, card: Any, kind: str, values: list[Any]) -> list[Any]:
    """Scores of a table with one column x of some type."""
    rows = list(enumerate(values))
    query = to_sql(card, dialect=dialect, table="t")
    found = run(f'CREATE TABLE t ("row id" INTEGER, "x" {kind})', rows, query)
    return [row[-2] for row in sorted(found, key=lambda row: row[0])]


@pytest.mark.parametrize("dialect", BOTH)
def test_numbers_that_may_be_words_in_columns_of_any_type(dialect, request):
    run: Run = request.getfixturevalue(f"{dialect}_run")
    reading = Reading(feature="x", special=(-9, "NA"), fill=5, text=True)
    card = small_card([Rule(PerUnit("x", decimals=1, lower=0, upper=50), 1)], [reading])
    numbers = [float("nan"), -9, 7.25, None, 0.1]
    expected = [card.score({"x": v}) for v in numbers]
    assert typed(run, dialect, card, "DOUBLE PRECISION", numbers) == expected
    flags = [True, False, None]
    assert typed(run, dialect, card, "BOOLEAN", flags) == [card.score({"x": v}) for v in flags]
    texts = ["7.25", "nan", "NA", "1e400", "-1e400", "1e-400", "1e99999", "4e-320", "true"]
    answers = [truth_of(card, [{"x": v}]).scores[0] for v in texts]
    assert answers.count(None) == 5
    assert typed(run, dialect, card, "VARCHAR(20)", texts) == answers


@pytest.mark.parametrize("dialect", BOTH)
@pytest.mark.parametrize("text", [False, True])
def test_codes_given_as_text_in_columns_of_any_type(dialect, text, request):
    run: Run = request.getfixturevalue(f"{dialect}_run")
    rules = [Rule(Condition("x", ">=", 50), 1), Rule(Condition("x", "missing"), 5)]
    card = small_card(rules, [Reading(feature="x", special=("96", "n/a"), text=text)])
    for kind, values in (
        ("DOUBLE PRECISION", [96.0, 97.0, None]),
        ("INTEGER", [96, 97, None]),
        ("VARCHAR(20)", ["96", " 96 ", "n/a", "", None]),
    ):
        assert typed(run, dialect, card, kind, values) == [card.score({"x": v}) for v in values]


@pytest.mark.parametrize("dialect", BOTH)
def test_levels_in_columns_of_other_types(dialect, request):
    run: Run = request.getfixturevalue(f"{dialect}_run")
    rules = [Rule(Condition("x", "==", "7"), 1), Rule(Condition("x", "not in", ("7", "8")), 4)]
    card = small_card(rules, [Reading(feature="x", levels=("7", "8"), fill="8")])
    whole = [7, 8, 9, None]
    assert typed(run, dialect, card, "INTEGER", whole) == [card.score({"x": v}) for v in whole]
    # 'true' is no level that anybody has seen, and 7.0 is written in many ways: no score at all.
    assert typed(run, dialect, card, "BOOLEAN", [True, False]) == [None, None]
    assert typed(run, dialect, card, "DOUBLE PRECISION", [7.0]) == [None]


def test_a_sum_beyond_doubles_does_not_end_the_query(postgresql_run):
    reading = Reading(feature="s", sources=("a", "b"), combine="sum")
    card = small_card([Rule(Condition("s", ">=", 3), 2)], [reading])
    rows = [(0, 1e308, 1e308), (1, 1.0, 2.0)]
    create = 'CREATE TABLE t ("row id" INTEGER, "a" DOUBLE PRECISION, "b" DOUBLE PRECISION)'
    for table in ("t", None):
        query = to_sql(card, dialect="postgresql", table=table)
        query = query if table else f"SELECT t.*, {query} FROM t"
        found = [row[-2] for row in sorted(postgresql_run(create, rows, query))]
        assert found == [None, 2]


def test_a_table_with_scores_of_its_own(duckdb_run):
    card = small_card([Rule(Condition("x", ">=", 1), 2)])
    query = to_sql(card, dialect="duckdb", table="t")
    create = 'CREATE TABLE t ("row id" INTEGER, "x" INTEGER, "score" INTEGER, "risk" INTEGER)'
    found = duckdb_run(create, [(0, 1, 99, 98)], f"SELECT card_score, card_risk FROM ({query})")
    assert found == [(2, card.risk({"x": 1}))]
    with pytest.raises(InputError, match="'x' is a column that the card reads"):
        to_sql(card, score_as="X")


def test_names_that_postgresql_would_cut():
    card = small_card([Rule(Condition("ü" * 32, ">=", 1), 2)])
    assert "ü" * 32 in to_sql(card, dialect="duckdb")
    with pytest.raises(InputError, match="63 bytes"):
        to_sql(card, dialect="postgresql")


def test_a_table_with_columns_of_our_names(duckdb_run, postgresql_run):
    names = ["nb", "nb_1", "nb_raw1", "nb_score", "score", "netbenefit", "netbenefit_row"]
    card = small_card([Rule(Condition(name, ">=", 1), 2**k) for k, name in enumerate(names)])
    rows = tuple({name: (n >> k) & 1 for k, name in enumerate(names)} for n in range(128))
    truth = Truth(card, rows, tuple(map(card.score, rows)), tuple(map(card.risk, rows)))
    for dialect, run in (("duckdb", duckdb_run), ("postgresql", postgresql_run)):
        for table in ("t", None):
            query = to_sql(card, dialect=dialect, table=table)
            query = query if table else f"SELECT t.*, {query} FROM t"
            found = sorted(run(*table_of(truth), query))
            check([row[-2:] for row in found], truth)


# -- hostile names ---------------------------------------------------------------------------------


def bare(query: str, dialect: str) -> str:
    """Return what is outside of quotes."""
    escape = r"(?:[^'\\]|\\.)*" if dialect == "spark" else r"(?:[^']|'')*"
    quoted = rf"E'(?:[^'\\]|''|\\.)*'|'{escape}'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`"
    if dialect == "spark":
        quoted = rf"'{escape}'|`(?:[^`]|``)*`"
    return re.sub(quoted, " ", query, flags=re.DOTALL)


def test_bare_text_would_show_a_leak():
    leaky = f'SELECT "{HOSTILE_COLUMN}" FROM t'
    assert "DROP TABLE" in bare(leaky, "ansi")
    assert "leak" in bare(r"SELECT '\'leak", "ansi")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("table", [None, 'x"; DROP TABLE t;--`'])
def test_nothing_leaks_out_of_quotes(dialect, table):
    cards = [truths()["hostile"].card]
    if dialect != "spark":
        cards.append(more_truths()["lines"].card)
    for card in cards:
        query = to_sql(card, dialect=dialect, table=table, score_as="a\"b`';--", risk_as="c;")
        rest = bare(query.partition("\n")[2], dialect)
        for word in (
            ";",
            "--",
            "DROP",
            "script",
            "HYPERLINK",
            "http",
            "naïve",
            "'",
            '"',
            "`",
            "\\",
        ):
            assert word not in rest, word
        words = set(re.findall(r"[A-Za-z_]\w*", rest))
        assert {w for w in words if not w.isupper()} <= {
            *re.findall(r"nb_?\w*", rest), "netbenefit", "netbenefit_row", "e0", "e0D", "e", "D",
        }  # fmt: skip


def test_spark_literals_and_names():
    level = "it's \\ $x ${env:HOME}"
    query = to_sql(small_card([Rule(Condition("a`b", "==", level), 1)]), dialect="spark")
    assert r"'it\'s \\ \u0024x \u0024{env:HOME}'" in query
    assert "`a``b`" in query
    assert "${" not in query


def test_spark_refuses_variables():
    with pytest.raises(InputError, match=r"cannot stand in Spark SQL"):
        to_sql(small_card([Rule(Condition("${x}", ">=", 1), 1)]), dialect="spark")


def test_postgresql_backslashes_do_not_depend_on_a_setting(postgresql_socket):
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    truth = truths()["hostile"]
    create, rows = table_of(truth)
    query = to_sql(truth.card, dialect="postgresql", table="t")
    with psycopg.connect(host=postgresql_socket, user="tester", dbname="postgres") as base:
        base.execute("DROP TABLE IF EXISTS t")
        base.execute(create)
        marks = ", ".join(["%s"] * len(rows[0]))
        base.cursor().executemany(f"INSERT INTO t VALUES ({marks})", rows)
        base.execute("SET standard_conforming_strings = off")
        found = sorted(base.execute(query).fetchall(), key=lambda row: row[0])
    check([row[-2:] for row in found], truth)


@pytest.mark.parametrize("table", [None, "t"])
def test_the_first_line_says_which_engines_it_is_for(table, duckdb_run):
    card = small_card([Rule(Condition("x", ">=", 1), 2)])
    for dialect, words in (
        ("ansi", "Tested in DuckDB and PostgreSQL. Not for MySQL, SQL Server, BigQuery, Spark"),
        ("duckdb", "For DuckDB."),
        ("postgresql", "For PostgreSQL."),
        ("spark", "For Spark SQL, 3.4 or later."),
    ):
        first = to_sql(card, dialect=dialect, table=table).splitlines()[0]
        assert re.fullmatch(r"/\* For [^*;'`-]*\. \*/", first)
        assert words in first


# -- arguments and size ----------------------------------------------------------------------------


def test_a_path_to_the_table():
    card = truths()["no rules"].card
    assert 'FROM "my.clinic"."a""b" AS' in to_sql(card, table=("my.clinic", 'a"b'))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "mysql"}, "dialect='mysql' is not known"),
        ({"table": ""}, "cannot stand in SQL"),
        ({"table": "a\0b"}, "cannot stand in SQL"),
        ({"table": ()}, "table is empty. Name"),
        ({"score_as": ""}, "cannot stand in SQL"),
        ({"score_as": "Card_Risk"}, "need different names"),
        ({"score_as": 3}, "cannot stand in SQL"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        to_sql(truths()["no rules"].card, **options)


def test_nul_is_refused():
    for term in (Condition("a\0", ">=", 1), Condition("a", "==", "\0")):
        with pytest.raises(InputError, match="NUL"):
            to_sql(small_card([Rule(term, 1)]))


def test_only_ends_within_the_clip_are_listed():
    term = PerUnit("x", decimals=2, log=True, lower=10, upper=100)
    query = to_sql(small_card([Rule(term, 1)]), table="t")
    assert query.count("nb_1 >=") < 230

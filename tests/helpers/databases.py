"""Real databases: DuckDB in this process, and a PostgreSQL server started for the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

#: Makes a table, fills it, then returns the rows of a query.
Run = Callable[[str, list[tuple[Any, ...]], str], list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def duckdb_run() -> Run:
    import duckdb

    def run(create: str, rows: list[tuple[Any, ...]], query: str) -> list[tuple[Any, ...]]:
        with duckdb.connect() as base:
            base.execute(create)
            base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
            found = base.execute(query).fetchall()
            assert base.execute("SELECT COUNT(*) FROM t").fetchall() == [(len(rows),)]
            return found

    return run


@pytest.fixture(scope="session")
def postgresql_socket() -> Iterator[str]:
    """A PostgreSQL server that is reached through a socket in its own directory."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    if not programs:
        pytest.skip("no PostgreSQL server below /usr/lib/postgresql")
    home = tempfile.mkdtemp(prefix="nbpg")
    user: list[str] = []
    if os.geteuid() == 0:  # the server refuses to be root
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("root cannot run PostgreSQL without a user named postgres")
        if shutil.which("runuser") is None:
            pytest.skip("root cannot run PostgreSQL without runuser")
        shutil.chown(home, "postgres")
        user = ["runuser", "-u", "postgres", "--"]

    def call(program: str, *options: str) -> None:
        command = [*user, str(programs[-1].with_name(program)), "-D", f"{home}/data", *options]
        with open(f"{home}.log", "a") as log:  # a pipe would stay open with the server
            subprocess.run(command, check=True, cwd="/", stdout=log, stderr=log, timeout=120)

    try:
        call("initdb", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "--no-sync")
        call("pg_ctl", "-w", "-o", f"-c listen_addresses='' -k {home} -c fsync=off", "start")
        try:
            yield home
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
        Path(f"{home}.log").unlink(missing_ok=True)


def _version(program: Path) -> float:
    return float(program.parts[-3])


@pytest.fixture(scope="session")
def postgresql_run(postgresql_socket: str) -> Run:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

    def run(create: str, rows: list[tuple[Any, ...]], query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(host=postgresql_socket, user="tester", dbname="postgres") as base:
            base.execute("DROP TABLE IF EXISTS t")
            base.execute(create)
            marks = ", ".join(["%s"] * len(rows[0]))
            base.cursor().executemany(f"INSERT INTO t VALUES ({marks})", rows)
            found = base.execute(query).fetchall()
            assert base.execute("SELECT COUNT(*) FROM t").fetchall() == [(len(rows),)]
            return found

    return run

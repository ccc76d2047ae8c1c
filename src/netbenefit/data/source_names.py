"""Tables of a database by name: what an address calls a table, among those that there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netbenefit.common.checks import InputError, shorten
from netbenefit.data.sources import Source

__all__ = ["Listed", "pick_table"]


class Listed(NamedTuple):
    """A table in a database."""

    schema: str
    table: str
    kind: str


def pick_table(source: Source, listed: Sequence[Listed], schema: str) -> Listed:
    """Find the table that an address names among those that there are.

    A name is only ever compared with names that the database lists: nothing of it becomes SQL.

    Parameters
    ----------
    source : Source
    listed : sequence of Listed
    schema : str
        The schema whose tables go without its name.

    Examples
    --------
    >>> tables = [Listed("main", "visits", ""), Listed("main", "rooms", "")]
    >>> pick_table(Source("duckdb", "a.db", table="Visits"), tables, "main").table
    'visits'
    """
    names = {
        found: (found.table,) * (found.schema == schema) + (f"{found.schema}.{found.table}",)
        for found in listed
    }
    if source.table is None:
        matches = list(listed) if len(listed) == 1 else []
    else:
        wanted = source.table
        matches = [found for found, known in names.items() if wanted in known]
        matches = matches or [
            found
            for found, known in names.items()
            if wanted.casefold() in [one.casefold() for one in known]
        ]
    if len(matches) == 1:
        return matches[0]
    there = shorten([known[0] for known in names.values()], 10) or "none"
    what = "has no table" if not matches else "has more than one table"
    asked = "name the table: ?table=NAME" if source.table is None else "correct ?table="
    called = f" {source.table!r}" if source.table else " of its own choice"
    raise InputError(f"{source.shown}: the database {what}{called}; it has {there}. {asked}.")

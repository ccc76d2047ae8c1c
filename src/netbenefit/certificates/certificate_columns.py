"""The columns of a certificate as JSON: what each stands for, and how raw columns are read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from netbenefit.cards.json import read_reading, read_term, term_data
from netbenefit.cards.readings import Reading
from netbenefit.cards.terms import Term
from netbenefit.certificates.certificate_types import Statement
from netbenefit.common.strict_json import read_boolean, read_list, read_text

__all__ = ["StatedColumn", "read_columns", "read_readings", "write_columns", "write_readings"]


class StatedColumn(NamedTuple):
    """One column of the pattern table."""

    name: str
    exact: bool
    term: Term


def write_columns(said: Statement) -> list[dict[str, Any]]:
    """Return the columns of a problem as JSON."""
    return [
        {"name": name, "exact": exact, **term_data(term)}
        for name, exact, term in zip(said.names, said.exact, said.terms, strict=True)
    ]


def read_columns(data: Any, path: str) -> list[StatedColumn]:
    """Read what :func:`write_columns` wrote."""
    return read_list(data, path, _column)


def _column(data: Any, path: str) -> StatedColumn:
    term = read_term(data, path, extra=("name", "exact"))
    exact = read_boolean(data["exact"], f"{path}.exact")
    return StatedColumn(read_text(data["name"], f"{path}.name"), exact, term)


def write_readings(said: Statement) -> list[dict[str, Any]]:
    """Return how raw columns are read, as JSON."""
    return [asdict(reading) for reading in said.readings]


def read_readings(data: Any, path: str) -> tuple[Reading, ...]:
    """Read what :func:`write_readings` wrote."""
    return tuple(read_list(data, path, read_reading))

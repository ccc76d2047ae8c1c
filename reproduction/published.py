"""The numbers printed in the paper, for comparison with ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from netbenefit.common.checks import InputError

#: Names that the printed tables spell differently.
_DATASETS = {"heartdisease": "heart"}


class Printed(NamedTuple):
    """A number as it was printed; for ``"<0.1"`` the number that it lies below."""

    text: str
    value: float
    below: bool  #: whether only that is known
    half_unit: float  #: half a unit of the last digit

    @classmethod
    def read(cls, text: str) -> Printed:
        """Read a printed number."""
        digits = text.removeprefix("<")
        try:
            value = float(digits)
        except ValueError:
            raise InputError(
                f"a published table holds {text!r} where a number is due. Install the package anew."
            ) from None
        return cls(text, value, text.startswith("<"), 0.5 * 10.0 ** -len(digits.partition(".")[2]))


@dataclass(frozen=True)
class PublishedCell:
    """Mean over the folds, with a standard deviation (measures) or smallest and largest (sizes).

    ``half_unit`` is half a unit of the last digit of the mean and of the standard deviation.
    """

    mean: float
    sd: float | None
    min: float | None
    max: float | None
    half_unit: float


class PublishedFriedman(NamedTuple):
    """Friedman's test of one metric."""

    chi2: float
    df: int
    p: Printed


class PublishedSolve(NamedTuple):
    """How a solver did on the folds of a data set."""

    seconds: Printed
    gap_percent: float
    status: str
    solved: int
    folds: int


@dataclass(frozen=True)
class Published:
    """All printed tables; what a table leaves empty is not in its mapping."""

    cells: Mapping[tuple[str, str, str, str], PublishedCell]  #: data set, method, setting, measure
    friedman: Mapping[str, PublishedFriedman]
    ranks: Mapping[tuple[str, str], float]  #: metric, method
    nemenyi: Mapping[tuple[str, frozenset[str]], float]  #: metric, pair of methods
    computational: Mapping[tuple[str, str], PublishedSolve]  #: data set, method
    credit: Mapping[tuple[str, str], PublishedCell]  #: method, metric; one split, no spread


@cache
def load_published() -> Published:
    """Return the printed tables, which come with the package."""
    return Published(
        cells=MappingProxyType(_cells()),
        friedman=MappingProxyType(
            {
                row["metric"]: PublishedFriedman(
                    float(row["chi2"]), int(row["df"]), Printed.read(row["p"])
                )
                for row in _rows("friedman")
            }
        ),
        ranks=MappingProxyType(
            {
                (metric, row["method"]): float(text)
                for row in _rows("ranks")
                for metric, text in row.items()
                if metric != "method" and text
            }
        ),
        nemenyi=MappingProxyType(
            {
                (row["metric"], frozenset((row["method_a"], row["method_b"]))): float(row["p"])
                for row in _rows("nemenyi")
            }
        ),
        computational=MappingProxyType(
            {(_dataset(row), row["method"]): _solve(row) for row in _rows("computational")}
        ),
        credit=MappingProxyType(_credit()),
    )


def _cells() -> dict[tuple[str, str, str, str], PublishedCell]:
    """Gather the tables of means; what stands in several of them is the same in all."""
    found = {}
    for row in _rows("performance"):
        found[_dataset(row), row["method"], "original", _measure(row)] = _cell(row)
    for row in _rows("ablation"):
        method, _, setting = row["variant"].partition(" ")
        found[_dataset(row), method, setting or "original", _measure(row)] = _cell(row)
    for method in ("rss-dnb", "rss-dnb-sa"):
        for row in _rows(f"sensitivity_{method}"):
            found[_dataset(row), method, row["setting"], _measure(row)] = _cell(row)
    return found


def _credit() -> dict[tuple[str, str], PublishedCell]:
    found = {}
    for row in _rows("credit"):
        for metric in ("auroc", "ece", "aunbc", "size"):
            if row[metric]:
                printed = Printed.read(row[metric])
                # A size is a count, not a rounded mean.
                half = 0.0 if metric == "size" else printed.half_unit
                cell = PublishedCell(printed.value, None, None, None, half)
                found[row["method"], metric] = cell
    return found


def _cell(row: Mapping[str, str]) -> PublishedCell:
    printed = Printed.read(row["mean"])
    sd, low, high = (float(row[key]) if row[key] else None for key in ("sd", "min", "max"))
    return PublishedCell(printed.value, sd, low, high, printed.half_unit)


def _solve(row: Mapping[str, str]) -> PublishedSolve:
    solved, _, folds = row["solved_folds"].partition("/")
    return PublishedSolve(
        Printed.read(row["runtime_s"]),
        float(row["gap_percent"]),
        row["status"],
        int(solved),
        int(folds),
    )


def _dataset(row: Mapping[str, str]) -> str:
    return _DATASETS.get(row["dataset"], row["dataset"])


def _measure(row: Mapping[str, str]) -> str:
    return "size" if row["metric"] == "size" else f"{row['split']}_{row['metric']}"


def _rows(name: str) -> list[dict[str, str]]:
    table = files("reproduction") / "published" / f"{name}.csv"
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))

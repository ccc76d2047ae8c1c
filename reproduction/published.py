"""The numbers that the method's paper prints, to stand beside ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple

from netbenefit.common.checks import InputError

__all__ = [
    "Printed",
    "Published",
    "PublishedCell",
    "PublishedFriedman",
    "PublishedSolve",
    "load_published",
]

#: Names that the printed tables spell differently.
_DATASETS = {"heartdisease": "heart"}


class Printed(NamedTuple):
    """A number as it was printed.

    Attributes
    ----------
    text : str
    value : float
        For ``"<0.1"`` the number that it lies below.
    below : bool
        Whether only that is known.
    half_unit : float
        Half a unit of the last digit: how far the number before rounding may be away.

    Examples
    --------
    >>> Printed.read("<0.1")
    Printed(text='<0.1', value=0.1, below=True, half_unit=0.05)
    """

    text: str
    value: float
    below: bool
    half_unit: float

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
    """All printed tables; what a table leaves empty is not in its mapping, so ``get`` gives None.

    Attributes
    ----------
    cells : mapping of (dataset, method, setting, measure) to PublishedCell
        Performance, ablations and both sensitivity tables.  Measures are named as in the rows of
        a run (``"test_auroc"``, …, ``"size"``).
    friedman : mapping of metric to PublishedFriedman
    ranks : mapping of (metric, method) to float
    nemenyi : mapping of (metric, pair of methods) to float
        The pair is a frozenset.
    computational : mapping of (dataset, method) to PublishedSolve
    credit : mapping of (method, metric) to PublishedCell
        The case study has one split, hence no spread.
    """

    cells: Mapping[tuple[str, str, str, str], PublishedCell]
    friedman: Mapping[str, PublishedFriedman]
    ranks: Mapping[tuple[str, str], float]
    nemenyi: Mapping[tuple[str, frozenset[str]], float]
    computational: Mapping[tuple[str, str], PublishedSolve]
    credit: Mapping[tuple[str, str], PublishedCell]


@cache
def load_published() -> Published:
    """Return the printed tables, which come with the package.

    Returns
    -------
    Published

    Examples
    --------
    >>> found = load_published()
    >>> found.cells["heart", "rss-dnb", "original", "size"]
    PublishedCell(mean=16.3, sd=None, min=12.0, max=22.0, half_unit=0.05)
    >>> found.cells.get(("heart", "xgboost", "original", "size")) is None
    True
    """
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

"""From results to tables: net benefit on held-out rows, regret on simulated ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.generalisation.data import Case
from benchmarks.generalisation.methods import Method
from benchmarks.generalisation.store import Result, Store
from netbenefit.validation.errors import corrected_error

Pairing = Callable[[str, str, str], "Difference | None"]


class Difference(NamedTuple):
    """A mean difference between two methods, and its standard error (NaN for a single value)."""

    mean: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the first is above the second, or within one standard error of it."""
        return self.mean >= -self.error if self.error >= 0 else self.mean >= 0


@dataclass(frozen=True)
class Book:
    """Results by group (data set or family) and method; those without any are left out."""

    groups: tuple[str, ...]
    methods: tuple[Method, ...]
    results: dict[tuple[str, str], dict[int, Result]]
    expected: dict[str, int]
    _cases: dict[tuple[str, int], Case]
    _store: Store

    @classmethod
    def read(cls, cases: Iterable[Case], methods: Sequence[Method], store: Store) -> Book:
        """Read what there is."""
        by_place = {(case.group, case.replicate): case for case in cases}
        results: dict[tuple[str, str], dict[int, Result]] = {}
        expected: dict[str, int] = {}
        for (group, replicate), case in by_place.items():
            expected[group] = expected.get(group, 0) + 1
            for method in methods:
                if (result := store.load(case, method)) is not None:
                    results.setdefault((group, method.name), {})[replicate] = result
        groups = tuple(g for g in expected if any(g == key[0] for key in results))
        present = tuple(m for m in methods if any(m.name == key[1] for key in results))
        return cls(groups, present, results, expected, by_place, store)

    @property
    def names(self) -> list[str]:
        """Names of the methods."""
        return [method.name for method in self.methods]

    @property
    def interpretable(self) -> list[str]:
        """Names of the methods that a person can read, on the columns that all get."""
        return [m.name for m in self.methods if m.interpretable and not m.raw]

    def of(self, group: str, name: str) -> dict[int, Result]:
        """Results by replicate; empty where there are none."""
        return self.results.get((group, name), {})

    def mean(self, group: str, name: str, field: str) -> float:
        """Mean of a field over the replicates; NaN where there is none."""
        values = [getattr(result, field) for result in self.of(group, name).values()]
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if known else math.nan

    def aunbc(self, group: str, name: str) -> float:
        """AUNBC over all held-out rows."""
        replicates = sorted(self.of(group, name))
        return float(np.mean(self._rows(group, name, replicates))) if replicates else math.nan

    def by_row(self, group: str, first: str, second: str) -> Difference | None:
        """Difference of AUNBC, paired by held-out row, over the folds that both have."""
        common = sorted(set(self.of(group, first)) & set(self.of(group, second)))
        if not common:
            return None
        rows = self._rows(group, first, common) - self._rows(group, second, common)
        return _difference(rows)

    def by_fold(self, group: str, first: str, second: str) -> Difference | None:
        """Difference of AUNBC, paired by fold; its error is corrected for shared training rows."""
        one, other = self.of(group, first), self.of(group, second)
        common = sorted(set(one) & set(other))
        if not common:
            return None
        gaps = np.array([one[r].aunbc - other[r].aunbc for r in common])
        if len(common) == 1:
            return Difference(float(gaps[0]), math.nan)
        tests = [self._rows(group, first, [r]).size for r in common]
        ratio = np.mean([n / one[r].n_train for n, r in zip(tests, common, strict=True)])
        return Difference(float(gaps.mean()), float(corrected_error(gaps, float(ratio))))

    def by_replicate(self, group: str, first: str, second: str) -> Difference | None:
        """Difference of regret, paired by replicate, over the replicates that both have."""
        one, other = self.of(group, first), self.of(group, second)
        common = sorted(set(one) & set(other))
        if not common:
            return None
        return _difference(np.array([_regret(one[r]) - _regret(other[r]) for r in common]))

    def complete_groups(self) -> list[str]:
        """Groups for which every method has results: means over groups are comparable there."""
        shared = [m.name for m in self.methods if not m.raw]
        return [g for g in self.groups if all(self.of(g, name) for name in shared)]

    def warnings(self) -> list[str]:
        """Say what is not finished, and what was made by different versions of the code."""
        lines = []
        for method in self.methods:
            here = [(len(self.of(g, method.name)), self.expected[g]) for g in self.groups]
            done, planned = (sum(part) for part in zip(*here, strict=True))
            if done < planned:
                lines.append(f"Not finished: {method.name} has {done} of {planned} fits.")
            found = [self.of(g, method.name).values() for g in self.groups]
            if len({result.code for results in found for result in results}) > 1:
                lines.append(f"Results of {method.name} come from different versions of the code.")
        return lines

    def _rows(self, group: str, name: str, replicates: Sequence[int]) -> np.ndarray:
        method = next(m for m in self.methods if m.name == name)
        cases = (self._cases[group, replicate] for replicate in replicates)
        return np.concatenate([self._store.contributions(case, method) for case in cases])


def mean_difference(differences: Iterable[Difference | None]) -> Difference | None:
    """Mean over independent groups, each of the same weight."""
    known = [d for d in differences if d is not None]
    if not known:
        return None
    error = math.sqrt(math.fsum(d.error**2 for d in known)) / len(known)
    return Difference(math.fsum(d.mean for d in known) / len(known), error)


def _difference(values: np.ndarray) -> Difference:
    error = values.std(ddof=1) / math.sqrt(values.size) if values.size > 1 else math.nan
    return Difference(float(values.mean()), float(error))


def _regret(result: Result) -> float:
    assert result.regret is not None
    return result.regret

"""Results on disk: one file for each fit, so that a run that was stopped goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from benchmarks.generalisation.data import Case
from benchmarks.generalisation.methods import Method


@dataclass(frozen=True)
class Result:
    """Measures of one method on the test rows of one case."""

    kind: str
    data: str
    replicate: int
    method: str
    n_train: int
    aunbc: float  # expected, where the true risk is known
    regret: float | None  # only where the true risk is known
    auroc: float
    ece: float
    size: float | None
    seconds: float
    code: str  # digest of the package's code that made it; empty for the methods of others
    slope: float | None = None  # of calibration on the test rows, where there is one
    gap: float | None = None  # of a card's proof
    questions: int | None = None  # that one has to answer, where they are known


@dataclass(frozen=True)
class Store:
    """A folder of results.

    A file is named by a digest of all settings of its case and method: with other settings it is
    not found, and the fit is run again.
    """

    folder: Path

    def path(self, case: Case, method: Method) -> Path:
        """File of a result."""
        settings = json.dumps([case.settings(), method.settings()], sort_keys=True)
        digest = hashlib.sha256(settings.encode()).hexdigest()[:12]
        name = f"{case.replicate:02d}-{method.name}-{digest}.json"
        return self.folder / case.kind / case.group / name

    def has(self, case: Case, method: Method) -> bool:
        """Whether a result is there."""
        return self.path(case, method).is_file()

    def load(self, case: Case, method: Method) -> Result | None:
        """Read a result, or None where there is none."""
        try:
            record = json.loads(self.path(case, method).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Result(**{f.name: record[f.name] for f in fields(Result) if f.name in record})

    def contributions(self, case: Case, method: Method) -> NDArray[np.float64]:
        """What each test row added to the AUNBC, in the order of the test rows."""
        rows = np.load(self.path(case, method).with_suffix(".npy"))
        return np.asarray(rows, dtype=np.float64)

    def save(
        self,
        case: Case,
        method: Method,
        result: Result,
        contributions: NDArray[Any] | None = None,
    ) -> None:
        """Write a result; its file appears last and at once, so that it is never half there."""
        path = self.path(case, method)
        path.parent.mkdir(parents=True, exist_ok=True)
        if contributions is not None:
            rows = contributions.astype(np.float32)
            _write(path.with_suffix(".npy"), lambda file: np.save(file, rows))
        settings = {"case": case.settings(), "method": method.settings()}
        text = json.dumps({**asdict(result), "settings": settings}, indent=1)
        _write(path, lambda file: file.write(text.encode()))


def _write(path: Path, content: Callable[[BinaryIO], object]) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    with draft.open("wb") as file:
        content(file)
    os.replace(draft, path)

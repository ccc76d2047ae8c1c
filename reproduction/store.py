"""Rows on disk: one Parquet file a data set and method, rewritten at once whenever a row comes.

A run that is killed leaves every file as it was before or after a row, never in between.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from netbenefit.common.checks import InputError
from netbenefit.common.files import write_bytes
from netbenefit.common.journal import lock_file
from reproduction.plan import Job
from reproduction.run import Row

__all__ = ["Store", "read_rows", "write_rows"]

Key = tuple[str, int]


class Store(AbstractContextManager["Store"]):
    """The rows of a run, in a folder that no other run may write to at the same time.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> job = Job("heart", "tree", "original", 0, "quick")
    >>> row = {"dataset": "heart", "method": "tree", "setting": "original", "fold": 0, "recipe": ""}
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Store(folder) as store:
    ...     store.add([row])
    ...     store.has(job, ""), store.has(job, "another recipe")
    (True, False)
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, dict[Key, Row]] = {}
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Store:
        _pyarrow()  # better to learn now that it is absent than after the first fit
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = open(self._folder / ".lock", "ab")  # held until the end
        lock_file(self._lock, f"the folder {self._folder}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._lock is not None:
            self._lock.close()

    def has(self, job: Job, recipe: str) -> bool:
        """Whether all rows of a job are there, made by this recipe."""
        rows = self._rows(self._path(job.dataset, job.method))
        found = [rows.get((setting, job.fold)) for setting in job.settings]
        return all(row is not None and row["recipe"] == recipe for row in found)

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows of one data set and method; those of the same setting and fold are replaced."""
        rows = list(rows)
        path = self._path(rows[0]["dataset"], rows[0]["method"])
        known = self._rows(path)
        known.update({(row["setting"], row["fold"]): row for row in rows})
        write_rows([known[key] for key in sorted(known)], path)

    def rows(self) -> list[Row]:
        """All rows, also those of earlier runs with other methods or data sets."""
        for path in sorted(self._folder.glob("*--*.parquet")):
            self._rows(path)
        return [file[key] for file in self._files.values() for key in sorted(file)]

    def _path(self, dataset: str, method: str) -> Path:
        return self._folder / f"{dataset}--{method}.parquet"

    def _rows(self, path: Path) -> dict[Key, Row]:
        if path not in self._files:
            rows = read_rows(path) if path.exists() else []
            self._files[path] = {(row["setting"], row["fold"]): row for row in rows}
        return self._files[path]


def write_rows(rows: list[Row], path: Path) -> None:
    """Write rows to a Parquet file, at once or not at all."""
    import pyarrow.parquet as parquet  # type: ignore[import-untyped]

    names = list(dict.fromkeys(name for row in rows for name in row))
    whole = [{name: row.get(name) for name in names} for row in rows]  # arrow asks the first alone
    buffer = io.BytesIO()
    parquet.write_table(_pyarrow().Table.from_pylist(whole), buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def read_rows(path: Path) -> list[Row]:
    """Read the rows of a Parquet file."""
    arrow = _pyarrow()
    import pyarrow.parquet as parquet

    try:
        rows: list[Row] = parquet.read_table(path).to_pylist()
    except (OSError, arrow.ArrowInvalid) as error:
        raise InputError(
            f"{path} is damaged ({error}). Delete it: its rows are made again."
        ) from None
    return rows


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            "results are kept as Parquet, which needs the package pyarrow. Install it with "
            "`pip install 'netbenefit[reproduce]'`."
        ) from None
    return pyarrow

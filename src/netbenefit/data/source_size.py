"""How large a source is, without reading it; and from what size on it is not read into memory."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
from pathlib import Path
from typing import NamedTuple

from netbenefit.data.duckdb import OpenTable
from netbenefit.data.files import format_of
from netbenefit.data.sources import Source

__all__ = ["STREAM_BYTES", "STREAM_ROWS", "Size", "size_of_file", "size_of_table"]

#: Tables that are larger than this, in rows or on disk, stay where they are.
STREAM_ROWS, STREAM_BYTES = 1_000_000, 500_000_000
_LOOK = 2**16
_PACKED = 5  #: how much a gzipped table grows, about


class Size(NamedTuple):
    """Rows (exact or about), bytes on disk (0 where unknown), and in how many files."""

    rows: int
    exact: bool
    n_bytes: int = 0
    n_files: int = 1

    @property
    def is_large(self) -> bool:
        """Whether the table is too large to be read into memory without being asked to."""
        return self.rows > STREAM_ROWS or self.n_bytes > STREAM_BYTES

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        files = f" in {self.n_files:,} files" if self.n_files > 1 else ""
        return f"{about}{self.rows:,} rows{files}" + (
            f" ({_bytes(self.n_bytes)})" if self.n_bytes else ""
        )


def size_of_table(table: OpenTable) -> Size:
    """Return the size of an open table."""
    source = table.source
    if source.kind in ("duckdb", "postgresql"):  # the file holds other tables, too
        return Size(table.n_rows, True)
    return Size(table.n_rows, True, source.n_bytes, len(source.files))


def size_of_file(source: Source) -> Size:
    r"""Guess the size of one CSV or Parquet file from its first lines, or from what it says.

    Examples
    --------
    >>> import tempfile
    >>> from netbenefit.data.sources import find_source
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_bytes(b"age,ill" + b"\n51,1" * 5000)
    >>> print(size_of_file(find_source([str(file)])))
    about 5,000 rows (25 kB)
    """
    file = source.files[0]
    n_bytes = source.n_bytes
    if format_of(file) == "parquet":
        return Size(_rows_of_parquet(file), True, n_bytes)
    packed = file.name.lower().endswith(".gz")
    whole = n_bytes * (_PACKED if packed else 1)
    try:
        with gzip.open(file, "rb") if packed else open(file, "rb") as opened:
            look = opened.read(_LOOK)
    except OSError:  # said in full when the file is read
        return Size(0, False, n_bytes)
    # Sizes are compared unpacked, for that is what memory has to hold.
    return Size(int(look.count(b"\n") / max(len(look), 1) * whole), False, whole)


def _rows_of_parquet(file: Path) -> int:
    """Read how many rows a file says it has; 0 where nobody can tell without reading it."""
    if importlib.util.find_spec("pyarrow") is None:
        return 0
    try:
        return int(importlib.import_module("pyarrow.parquet").read_metadata(file).num_rows)
    except Exception:  # a broken file: said in full when it is read
        return 0


def _bytes(number: int) -> str:
    """Say how many bytes.

    >>> _bytes(25_000), _bytes(3_400_000_000)
    ('25 kB', '3.4 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            value = number / size
            return f"{value:.1f} {unit}" if value < 10 and unit == "GB" else f"{value:,.0f} {unit}"
    return f"{number} bytes"

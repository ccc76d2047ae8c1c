"""Hostile files: every reader answers with one clear error, or reads what is there.

A CSV file that is read holds what the slow reader of ``tests/helpers/slow_csv.py`` finds in it.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from netbenefit.cards.labels import Labels
from netbenefit.certificates.certificate import Certificate
from netbenefit.cli.main import app
from netbenefit.cli.model import read_binner
from netbenefit.common.checks import InputError
from netbenefit.common.journal import run_tasks
from netbenefit.data.duckdb import read_table
from tests.certificates.test_verify import learnt
from tests.data.test_files import CELLS, quoted
from tests.helpers.slow_csv import slow_read

SHARE = 0.06
BATCH = 100

_READERS = (
    ("csv", 50), ("csv.gz", 8), ("parquet", 6), ("xlsx", 6), ("card", 6), ("certificate", 4),
    ("labels.json", 4), ("labels.csv", 4), ("binner", 2), ("journal", 4), ("score", 4), ("show", 2),
)  # fmt: skip
#: Bytes that readers take for something.
_TOKENS = (
    b"\0", b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\n\n", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xfe\xff", b"\xff", b"\xc3", b"\xe9", b"\x1a", b"'", b"\\", b"#", b" ",
    b"\xc2\xa0", b"1e999", b"-0", b"NaN", b"null", b"true", b"{", b"}", b"[", b"]", b":",
    b"\x1b[2J", b"9" * 400, b"x" * 70_000, b"[" * 3000, "é\u2028\u202e".encode(), b"\xed\xa0\x80",
)  # fmt: skip


# -- good files ------------------------------------------------------------------------------------


@cache
def _good(reader: str) -> bytes:
    """A file that is as it should be."""
    from tests.export.truth import truths

    if reader in ("card", "show", "score"):
        return truths()["conditions"].card.to_json().encode()
    if reader == "certificate":
        return learnt().certificate.to_json().encode()
    if reader == "labels.json":
        columns = {"age": {"label": "Age", "unit": "years", "low": 18, "high": 99}, "b": {}}
        return json.dumps({"title": "A card", "outcome": "death", "columns": columns}).encode()
    if reader == "labels.csv":
        return b"column,label,unit,low,high\nage,Age,years,18,99\nb,Blood,,0.5,\n"
    if reader == "binner":
        return b'{"method": "tree", "cuts": {"age": [52, 60.5]}, "special": {"age": [-9]}}'
    if reader == "journal":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "journal"
            run_tasks(_square, {str(k): k for k in range(5)}, journal=path, fingerprint="soak")
            return path.read_bytes()
    table = {"a": [1, 2, None, 4], "b": ["x", "é", "", "long text"], "c": [0.5, 1e9, -2.0, 0.0]}
    import pandas as pd

    stream = io.BytesIO()
    if reader == "parquet":
        pd.DataFrame(table).to_parquet(stream)
    else:
        import xlsxwriter

        book = xlsxwriter.Workbook(stream, {"in_memory": True})
        sheet = book.add_worksheet()
        for k, (name, column) in enumerate(table.items()):
            sheet.write_column(0, k, [name, *(v for v in column)])
        book.close()
    return stream.getvalue()


def _square(k: int) -> int:
    return k * k


def _csv(rng: random.Random) -> bytes:
    """Cells that readers interpret differently, in one of many layouts."""
    width, n = rng.randint(1, 5), rng.randint(0, 15)
    pools = [rng.choices(CELLS, k=rng.choice([1, 2, 4, 30])) for _ in range(width)]
    separator, end = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\r\n", "\r"])
    names = ["a", "b c", "d", "é", "A" if rng.random() < 0.9 else ""]
    rng.shuffle(names)
    lines = [names[:width]] + [[rng.choice(pool) for pool in pools] for _ in range(n)]
    every = rng.random() < 0.2
    text = ""
    for line in lines:
        cells = [f'"{c.replace(chr(34), 2 * chr(34))}"' if every else quoted(c) for c in line]
        text += separator.join(cells) + (rng.choice(["\n", "\r\n", "\r"]) if n % 7 == 0 else end)
    encodings = ["utf-8"] * 12 + ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"]
    return text.encode(rng.choice(encodings), errors="replace")


def _mutated(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 5])):
        a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        b = min(b, a + rng.choice([1, 2, 8, 100, 10**6]))
        kind = rng.randrange(7)
        if kind == 0:
            data = data[:a] + data[b:]
        elif kind == 1:
            data = data[:b] + data[a:]
        elif kind == 2:
            data = data[:a]
        elif kind == 3 and data:
            k = rng.randrange(len(data))
            data = data[:k] + bytes([data[k] ^ (1 << rng.randrange(8))]) + data[k + 1 :]
        elif kind == 4:
            data = data[:a] + rng.randbytes(rng.choice([1, 4, 40])) + data[b:]
        else:
            data = data[:a] + rng.choice(_TOKENS) + data[rng.choice([a, b]) :]
    return data


def draw(seed: int) -> Iterator[dict[str, str]]:
    """Files of one batch: bytes as text of the same codes."""
    rng = random.Random(seed)
    names, weights = zip(*_READERS, strict=True)
    for _ in range(BATCH):
        reader = rng.choices(names, weights)[0]
        data = _csv(rng) if reader.startswith("csv") else _good(reader)
        if reader == "csv.gz":
            data = gzip.compress(data if rng.random() < 0.5 else _mutated(rng, data), mtime=0)
            if rng.random() < 0.2:
                data += gzip.compress(b"1,2\n", mtime=0)
        yield {"reader": reader, "bytes": _mutated(rng, data).decode("latin-1")}


# -- readers ---------------------------------------------------------------------------------------


def check(case: dict[str, str]) -> Counter[str]:
    """Read the file: what comes is an error of ours that names it, or its contents."""
    reader = case["reader"]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suffix = reader if reader.startswith(("csv", "parquet", "xlsx")) else ""
        suffix = suffix or ("csv" if reader == "labels.csv" else "json")
        path = Path(folder) / f"t.{suffix}"
        path.write_bytes(case["bytes"].encode("latin-1"))
        before = path.read_bytes()
        read = _USE[reader](path)
        if reader != "journal":
            assert path.read_bytes() == before, "the reader has changed its file"
        left = {file.name for file in path.parent.iterdir()} - {path.name, "data.csv"}
        assert not left, f"left behind: {left}"
    return Counter({"hostile files": 1, f"{reader}: read": read, f"{reader}: refused": not read})


def _refuses(path: Path, error: InputError) -> bool:
    text = str(error)
    assert text, "an error without words"
    assert str(path) in text, f"the error does not name its file: {text}"
    return False


def _table(path: Path) -> bool:
    try:
        found = read_table(path, decimal=".")
    except InputError as error:
        return _refuses(path, error)
    assert len({len(column) for column in found.values()}) == 1
    if path.name.startswith("t.csv"):
        expected = slow_read(path)
        assert list(found) == list(expected)
        for name, column in expected.items():
            assert found[name].dtype == column.dtype, name
            np.testing.assert_array_equal(found[name], column)
    return True


def _loads(load: Callable[[Path], Any]) -> Callable[[Path], bool]:
    def use(path: Path) -> bool:
        try:
            load(path)
        except InputError:
            return False
        return True

    return use


def _journal(path: Path) -> bool:
    tasks = {str(k): k for k in range(5)}
    try:
        found = run_tasks(_square, tasks, journal=path, fingerprint="soak")
    except InputError as error:
        return _refuses(path, error)
    assert found == {key: k * k for key, k in tasks.items()}, "a changed result was taken"
    assert run_tasks(_square, tasks, journal=path, fingerprint="soak") == found
    return True


def _command(*words: str) -> Callable[[Path], bool]:
    """A command of the program on the file: it ends well, or with one line that says why not."""

    def use(path: Path) -> bool:
        table = path.parent / "data.csv"
        if "DATA" in words:
            names = ["age", "bmi", "stage", "code", "dose", "smoker"]
            rows = [["50", "22", "II", "1", "0", "0"], ["", "17", "V", "2", "1", "1"]]
            table.write_text("\n".join(",".join(line) for line in [names, *rows]) + "\n")
        out = path.parent / "out.csv"
        given = {"FILE": str(path), "DATA": str(table), "OUT": str(out)}
        result = CliRunner().invoke(app, [given.get(word, word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert "Traceback" not in result.output
        assert result.exit_code in (0, 2), (result.exit_code, result.output)
        errors = [line for line in result.output.splitlines() if line.startswith("error: ")]
        assert len(errors) == (result.exit_code == 2), result.output
        assert out.exists() == (result.exit_code == 0 and "OUT" in words)
        out.unlink(missing_ok=True)
        return not result.exit_code

    return use


_USE: dict[str, Callable[[Path], bool]] = {
    **dict.fromkeys(("csv", "csv.gz", "parquet", "xlsx"), _table),
    "card": _loads(lambda path: _load_card(path)),
    "certificate": _loads(Certificate.load),
    "labels.json": _loads(Labels.read),
    "labels.csv": _loads(Labels.read),
    "binner": _loads(lambda path: read_binner(str(path))),
    "journal": _journal,
    "show": _command("show", "FILE"),
    "score": _command("score", "FILE", "DATA", "--out", "OUT", "--quiet"),
}


def _load_card(path: Path) -> None:
    """Load a card: it is what was saved, or there is a warning; it can be printed and saved."""
    from netbenefit import Scorecard

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        card = Scorecard.load(path)
    assert warned or card == Scorecard.from_json(_good("card").decode()), "a changed card was taken"
    str(card)
    assert Scorecard.from_json(card.to_json()) == card

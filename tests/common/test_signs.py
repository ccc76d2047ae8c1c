"""What is written where a stream does not hold a sign."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

from netbenefit.common import SPELL_OUT, Table, spell_out


def test_signs_are_spelled_out_where_they_are_missing() -> None:
    text = "−3 ≤ x – “ü” · ±0.1"
    assert spell_out(text, "utf-8") == text
    assert spell_out(text, "cp1252") == "-3 <= x – “ü” · ±0.1"
    assert spell_out(text, "ascii") == '-3 <= x - "\\xfc" * +-0.1'
    assert spell_out("a\ud800", "utf-8") == "a\\ud800"
    assert spell_out(text, None) == text


def test_tables_stay_aligned_where_signs_get_longer() -> None:
    table = "rule          share\nage ≥ 43        50%\nx ≤ 3 or ≥ 10     7%\n"
    aligned = "rule          share\nage >= 43       50%\nx <= 3 or >= 10   7%\n"
    assert spell_out(table, "cp1252") == aligned


def test_a_stream_spells_out_by_itself() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252", errors=SPELL_OUT)
    stream.write("≥ −1 ─ Ж")
    stream.flush()
    assert stream.buffer.getvalue() == b">= -1 - \\u0416"  # type: ignore[attr-defined]


def test_what_python_prints_fits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table({"rule": ["age ≥ 52"], "points": np.array([1.0])})
    assert "age ≥ 52" in repr(table)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
    print(table)  # noqa: T201
    assert "age >= 52" in repr(table)


def test_a_program_without_stdout() -> None:
    code = (
        "import sys\nsys.stdout = None\nfrom netbenefit.common import stdout_encoding\n"
        "sys.exit(stdout_encoding() != 'utf-8')"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""Messages in the words of the command line: options instead of Python's parameters."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from netbenefit.cli.terminal import warnings_as_notes

__all__ = ["by_options", "option_words"]

_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_NAMED = re.compile(rf"\b(drop|numeric|categorical)=\[({_TEXT}|…)\]")
_SPECIAL = re.compile(rf"\bspecial=\{{({_TEXT}): (\[{_TEXT}(?:, {_TEXT})*\])\}}")
_TWICE = re.compile(r"is named by (\w+) and by (\w+)\. Choose one")
#: Sentences about tables that stay where they are.
_TABLES = {
    "Name the columns to use (features) to silence this.": "Leave them out (--drop NAME) to "
    "silence this.",
    '(binner="auto"), or raise max_patterns': "(--binner auto)",
    "binning_choices() shows what they cost": '"max_bins" in a --binner FILE.json makes them',
    "Raise max_patterns, or bin": "Bin",
    "score_table() gives those rows no score": "`netbenefit score` writes which",
}
_OPTIONS = ("categorical", "numeric", "cuts", "missing", "special", "drop")


def by_options(text: str) -> str:
    """Say by options what a message says by Python's parameters.

    Examples
    --------
    >>> by_options("column 'x y' equals the outcome: drop it (drop=['x y']).")
    "column 'x y' equals the outcome: drop it (--drop 'x y')."
    >>> by_options("columns 'a', 'b' left out: dates. To do: turn it into a number, or drop it.")
    "columns 'a', 'b' left out: dates. To do: turn it into a number, or drop it (--drop NAME)."
    """
    found = re.match(rf"column ({_TEXT})", text)
    own = shlex.quote(_value(found[1])) if found else "NAME"
    text = _NAMED.sub(lambda m: f"--{m[1]} {_quoted(m[2])}", text)
    text = _SPECIAL.sub(_special, text)
    text = _TWICE.sub(lambda m: f"is named by {_flag(m[1])} and by {_flag(m[2])}. Choose one", text)
    text = re.sub(r"\bdrop (it|the column)(?=[.;,]|$)", rf"drop \1 (--drop {_safe(own)})", text)
    text = text.replace(
        "call the column categorical;", f"call the column categorical (--categorical {own});"
    )
    text = text.replace(
        'choose missing="condition" or "impute" for this column',
        f"choose --missing {own}=condition or --missing {own}=impute",
    )
    for python, options in _TABLES.items():
        text = text.replace(python, options)
    return text.replace("raise max_columns", 'raise "max_columns" in a --binner FILE.json')


@contextmanager
def option_words(quiet: bool) -> Iterator[None]:
    """Put warnings (as notes) and errors of the Python side into the words of the command line."""
    from netbenefit.common.checks import InputError

    try:
        with warnings_as_notes(quiet, by_options):
            yield
    except InputError as error:
        raise InputError(by_options(str(error))) from error


def _value(literal: str) -> str:
    return str(ast.literal_eval(literal))


def _quoted(literal: str) -> str:
    return "NAME" if literal == "…" else shlex.quote(_value(literal))


def _safe(text: str) -> str:
    return text.replace("\\", "\\\\")


def _special(found: re.Match[str]) -> str:
    codes = ",".join(ast.literal_eval(found[2]))
    return f"--special {shlex.quote(f'{_value(found[1])}={codes}')}"


def _flag(parameter: str) -> str:
    return f"--{parameter}" if parameter in _OPTIONS else f'"{parameter}"'

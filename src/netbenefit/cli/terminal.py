"""What all commands share: how they print, fail and show progress."""

from __future__ import annotations

import functools
import inspect
import math
import os
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from netbenefit.cli.stopping import COMMANDS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray
    from rich.console import Console

    from netbenefit.cards import Provenance, Scorecard
    from netbenefit.problem import SolverResult
    from netbenefit.solvers import Callback


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that colours on a terminal only, and never breaks lines."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)


#: Characters that turn the direction of what follows.
_TURNS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def plain(text: str) -> str:
    """Return text in which control characters, which could steer a terminal, are written out."""
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _TURNS
        else char
        for char in text
    )


def print_note(style: str, label: str, message: object) -> None:
    """Say something about the work, on stderr and in one line."""
    from rich.text import Text

    line = plain(" ".join(str(message).split()))
    make_console(stderr=True).print(Text.assemble((f"{label}: ", style), line))


def note(message: object) -> None:
    """Say what the user should know, besides the result."""
    print_note("yellow", "note", message)


def report_user_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Expand groups of options; turn errors that a user can mend into one line and exit code 2."""
    parameters, groups = _expand(inspect.signature(command, eval_str=True))

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> None:
        from netbenefit.common import InputError

        for name, group in groups.items():
            options = {one.name for one in fields(group)} & set(given)
            given[name] = group(**{option: given.pop(option) for option in options})
        try:
            command(*args, **given)
        except (InputError, OSError, EOFError, KeyboardInterrupt, MemoryError) as error:
            if given.get("debug") or isinstance(error, BrokenPipeError):  # as of "… | head"
                raise
            if isinstance(error, KeyboardInterrupt):
                print_note("bold red", "stopped", "nothing was saved.")
                raise typer.Exit(130) from None
            text = error.in_options() if isinstance(error, InputError) else str(error)
            if isinstance(error, MemoryError):
                text = "there is not enough memory for this. Use smaller files, or more memory."
            if isinstance(error, OSError) and error.filename:
                text = f"{error.filename}: {error.strerror}."
            print_note("bold red", "error", text)
            raise typer.Exit(2) from None

    wrapped: Any = run
    COMMANDS.add(wrapped.__code__)
    wrapped.__signature__ = inspect.Signature(parameters)
    return run


def _expand(
    signature: inspect.Signature,
) -> tuple[list[inspect.Parameter], dict[str, type[DataclassInstance]]]:
    """Return the parameters that typer sees, and the groups of options among a command's own."""
    found: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        group = parameter.annotation
        if not is_dataclass(group):
            found.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            continue
        groups[parameter.name] = group
        types = get_type_hints(group, include_extras=True)
        found += [
            inspect.Parameter(
                one.name, parameter.KEYWORD_ONLY, default=one.default, annotation=types[one.name]
            )
            for one in fields(group)
        ]
    return found, groups


@contextmanager
def progress(quiet: bool) -> Iterator[Callback | None]:
    """Show a live line while searching, on a terminal."""
    from netbenefit.solvers import LiveLine

    if quiet:
        yield None
        return
    with LiveLine(make_console(stderr=True)) as line:
        yield line


@contextmanager
def status(quiet: bool, text: str) -> Iterator[None]:
    """Say what is being done while it is done, on a terminal."""
    console = make_console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


@contextmanager
def warnings_as_notes(
    quiet: bool = False, place: Callable[[int], str] | None = None, label: str = "note"
) -> Iterator[None]:
    """Turn warnings for the user into notes, each shown once; pass those for programmers on.

    ``place`` says where a row stands, for these notes and for errors.
    """
    from netbenefit.common import InputWarning, rows_named

    name = place or (lambda row: f"row {row + 1}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        with rows_named(name):
            yield
    notes = []
    for one in caught:
        if isinstance(one.message, InputWarning):
            one.message.name_rows(name)
            notes.append(one.message.in_options())
        elif one.category is UserWarning:
            notes.append(str(one.message))
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)
    for text in [] if quiet else dict.fromkeys(notes):
        print_note("yellow", label, text)


def program_name() -> str:
    """How this program can be called again from here: by name, else by the path to it."""
    if shutil.which("netbenefit") or Path(sys.argv[0]).stem != "netbenefit":
        return "netbenefit"
    return os.path.relpath(sys.argv[0])


def print_card(card: Scorecard) -> None:
    """Print a card, as wide as the terminal allows."""
    from netbenefit.cards import render

    console = make_console()
    console.print(render(card, max(60, min(console.width, 100)), console.encoding))


def print_for_programs(text: str) -> None:
    """Write JSON, SQL and the like to stdout: unchanged, and as UTF-8 except on a terminal."""
    from netbenefit.common import InputError

    if not sys.stdout.isatty():
        typer.echo(text.encode(), nl=False)
        return
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError as error:
        raise InputError(
            f"this terminal cannot show {text[error.start]!r} (its encoding is "
            f"{sys.stdout.encoding}). Write to a file: add > FILE."
        ) from None
    typer.echo(text, nl=False)


def load_card(path: Path) -> Scorecard:
    """Read a card that an argument names."""
    from netbenefit.cards import Scorecard
    from netbenefit.common import InputError

    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}. Name a card that `netbenefit fit --out` has written.")
    with warnings_as_notes(label="warning"):
        return Scorecard.load(path)


def check_writable(inputs: Iterable[Path | None], *outputs: Path | None) -> None:
    """Refuse places that cannot be written, or would overwrite an input, before the work."""
    from netbenefit.common import InputError, check_target

    used = [path for path in inputs if path is not None]
    for path in outputs:
        if path is None:
            continue
        if check_target(path) is not None and not path.is_file():
            continue  # a pipe or a device, which nothing replaces
        if any(path.exists() and file.exists() and path.samefile(file) for file in used):
            raise InputError(f"{path} is read here and would be overwritten. Name another file.")
        folder = path.parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder}. Make it first: mkdir -p {folder}")
        if not os.access(folder, os.W_OK):
            raise InputError(f"the folder {folder} cannot be written to. Choose another place.")
        used.append(path)


def print_saved(*files: Path | None) -> None:
    """Name the files that were written."""
    for file in files:
        if file is not None:
            print_note("bold", "saved", file)


def check_column(columns: Collection[str], name: str | None, option: str) -> None:
    """Refuse a column that an option names and the table does not have."""
    from netbenefit.common import InputError, did_you_mean, shorten

    if name is not None and name not in columns:
        raise InputError(
            f"{option} names column {name!r}, which the table does not have."
            f"{did_you_mean(name, columns)} Its columns are {shorten(list(columns), 10)}. Correct "
            "the name."
        )


def pick_column(columns: Mapping[str, NDArray[Any]], name: str, option: str) -> NDArray[Any]:
    """Return a column that an option names."""
    check_column(columns, name, option)
    return columns[name]


def read_setting(text: str, option: str, *words: str) -> str | float:
    """Read a number, or one of the words that stand for one."""
    from netbenefit.common import InputError

    if text in words:
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        known = f"{', '.join(words)} or a number" if words else "a number"
        raise InputError(f"{option} must be {known}, not {text!r}.")
    if not number >= 0:
        raise InputError(f"{option} must not be negative, but is {text}.")
    return number


def read_penalty(text: str) -> Any:
    """Read the price of a question, or with a slash also that of a further rule on it."""
    parts = [read_setting(part.strip(), "--penalty", "auto", "paper") for part in text.split("/")]
    return parts[0] if len(parts) == 1 else tuple(parts)


def print_teacher(origin: Provenance | None, result: SolverResult) -> None:
    """Print who taught a card, what the teacher is worth, and what the card makes of it."""
    from netbenefit.cards import share_text
    from netbenefit.solvers import conclude
    from netbenefit.teachers import GIVEN

    console = make_console()
    if origin is not None and origin.teacher is not None:
        text = f"teacher: {origin.teacher}"
        if origin.teacher_net_benefit is not None:
            where = "" if origin.teacher.startswith(GIVEN) else " on rows that it had not seen"
            text += f", net benefit {origin.teacher_net_benefit:.6f}{where}"
        if origin.share_kept is not None:
            kept = share_text(origin.share_kept)
            text += f"; the card keeps {kept} (counted on outcomes and the teacher's risks)"
        console.print(text)
    console.print(conclude(result, origin))

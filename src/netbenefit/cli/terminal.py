"""What all commands share: how they print, fail and show progress."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

    from netbenefit.cards import Provenance, Scorecard
    from netbenefit.problem import SolverResult
    from netbenefit.solvers import Callback

P = ParamSpec("P")


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that colours on a terminal only, and never breaks lines."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=True)


def tell(style: str, label: str, message: object) -> None:
    """Say something about the work, on stderr and in one line."""
    from rich.text import Text

    line = " ".join(str(message).split())
    make_console(stderr=True).print(Text.assemble((f"{label}: ", style), line))


def friendly(command: Callable[P, None]) -> Callable[P, None]:
    """Turn errors that a user can mend into one line and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from netbenefit.common import InputError

        try:
            command(*args, **kwargs)
        except (InputError, OSError, KeyboardInterrupt) as error:
            if kwargs.get("debug") or isinstance(error, BrokenPipeError):  # as of "… | head"
                raise
            if isinstance(error, KeyboardInterrupt):
                tell("bold red", "stopped", "nothing was saved.")
                raise typer.Exit(130) from None
            text = error.in_options() if isinstance(error, InputError) else str(error)
            if isinstance(error, OSError) and error.filename:
                text = f"{error.filename}: {error.strerror}."
            tell("bold red", "error", text)
            raise typer.Exit(2) from None

    return run


@contextmanager
def progress(quiet: bool) -> Iterator[Callback | None]:
    """Show a live line while searching, where somebody can see it."""
    from netbenefit.solvers import LiveLine

    if quiet:
        yield None
        return
    with LiveLine(make_console(stderr=True)) as line:
        yield line


@contextmanager
def working(quiet: bool, text: str) -> Iterator[None]:
    """Say what is being done while it is done, where somebody can see it."""
    console = make_console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


@contextmanager
def warnings_as_notes(quiet: bool = False) -> Iterator[None]:
    """Turn warnings to the user into notes, each said once; leave those to programmers alone."""
    from netbenefit.common import InputWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    notes = []
    for one in caught:
        if isinstance(one.message, InputWarning):
            notes.append(one.message.in_options())
        elif one.category is UserWarning:
            notes.append(str(one.message))
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)
    for note in [] if quiet else dict.fromkeys(notes):
        tell("yellow", "note", note)


def program_name() -> str:
    """How this program can be called again from here: by name, else by the path to it."""
    if shutil.which("netbenefit") or Path(sys.argv[0]).stem != "netbenefit":
        return "netbenefit"
    return os.path.relpath(sys.argv[0])


def print_card(card: Scorecard) -> None:
    """Print a card, as wide as the terminal allows."""
    from netbenefit.cards import render

    console = make_console()
    console.print(render(card, max(60, min(console.width, 100))))


def load_card(path: Path) -> Scorecard:
    """Read a card that an argument names."""
    from netbenefit.cards import Scorecard
    from netbenefit.common import InputError

    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}. Name a card that `netbenefit fit --out` has written.")
    return Scorecard.load(path)


def check_writable(path: Path | None, *inputs: Path) -> None:
    """Refuse a place that cannot be written, or would overwrite an input, before the work."""
    from netbenefit.common import InputError

    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name the file to write, such as {path}/card.json.")
    if any(path.exists() and file.exists() and path.samefile(file) for file in inputs):
        raise InputError(f"{path} is read here and would be overwritten. Name another file.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}. Make it first: mkdir -p {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"the folder {path.parent} cannot be written to. Choose another place.")


def pick_column(columns: Mapping[str, NDArray[Any]], name: str, option: str) -> NDArray[Any]:
    """Return a column that an option names."""
    from netbenefit.common import InputError, shorten

    if name not in columns:
        raise InputError(
            f"{option} names column {name!r}, which the table does not have; its columns are "
            f"{shorten(list(columns), 10)}. Correct the name."
        )
    return columns[name]


def read_setting(text: str, option: str, *words: str) -> str | float:
    """Read a number, or one of the words that stand for one."""
    from netbenefit.common import InputError

    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        known = f"{', '.join(words)} or a number" if words else "a number"
        raise InputError(f"{option} must be {known}, not {text!r}.") from None


def print_teacher(origin: Provenance | None, result: SolverResult) -> None:
    """Print who taught a card, what the teacher is worth, and what the card makes of it."""
    from netbenefit.cards import share_text
    from netbenefit.solvers import conclude
    from netbenefit.teachers import GIVEN

    console = make_console()
    if origin is not None and origin.teacher is not None:
        worth = origin.teacher_net_benefit
        where = "" if origin.teacher.startswith(GIVEN) else " on rows that it had not seen"
        told = "" if worth is None else f", net benefit {worth:.6f}{where}"
        kept = origin.share_kept
        share = (
            ""
            if kept is None
            else (
                f"; the card keeps {share_text(kept)} (counted on outcomes and the teacher's risks)"
            )
        )
        console.print(f"teacher: {origin.teacher}{told}{share}")
    console.print(conclude(result, origin))


def read_signs(texts: list[str]) -> dict[str, str]:
    """Read NAME=+ and NAME=-."""
    from netbenefit.common import InputError

    signs = {}
    for text in texts:
        name, equals, direction = text.rpartition("=")
        direction = direction.replace("−", "-")
        if not (name and equals and direction in ("+", "-")):
            raise InputError(f"--sign {text!r}: write NAME=+ or NAME=-, as in --sign age=+")
        signs[name] = direction
    return signs

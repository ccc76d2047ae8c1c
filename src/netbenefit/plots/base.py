"""What all displays share: axes, colours that print well, names as plain text, files.

matplotlib is imported when something is drawn; ``pip install 'netbenefit[plots]'`` brings it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

from netbenefit.cards.text import clean, wrap
from netbenefit.common.checks import InputError

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "LIGHT",
    "ORANGE",
    "PALE_BLUE",
    "PLAIN",
    "Display",
    "Style",
    "check_option",
    "check_picture",
    "draw_key",
    "name_lines",
    "pyplot",
    "style_of",
    "tidy",
    "write_figure",
]

#: Colours that people with any colour vision tell apart (Okabe and Ito), and greys for print.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, PALE_BLUE = "#56B4E9", "#E69F00", "#6FAED1"
INK, GREY, LIGHT = "#222222", "#8A8A8A", "#E8E8E8"

#: For texts with names in them: a "$" is a "$", and no foreign program sets it.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}

#: How the name of a picture may end, and the date that would make two files differ.
_SUFFIXES = {".svg": "Date", ".png": None, ".pdf": "CreationDate"}
#: Text stays text; the same picture gives the same file.
_FILES: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "netbenefit"}
#: Columns of a name in a key, before it goes on in the next line.
_KEY_WIDTH = 60


class Style(NamedTuple):
    """How one model is drawn: told apart by colour, and without it."""

    colour: str
    line: Any
    marker: str


_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
_LINES = ("-", (0, (6, 2)), (0, (6, 2, 1.2, 2)), (0, (2, 1.5)), (0, (8, 2, 1.2, 2, 1.2, 2)))
_MARKERS = "os^Dv*P"


def style_of(place: int) -> Style:
    """Return the style of the first, second, … model; line and marker of the first 35 differ.

    >>> len({style_of(i)[1:] for i in range(35)})  # without colour
    35
    """
    colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)]
    return Style(colour, line, _MARKERS[place % len(_MARKERS)])


def check_option(name: str, value: Any, known: Sequence[str]) -> Any:
    """Return an option that is one of some words.

    >>> check_option("kind", "curve", ("curve", "table"))
    'curve'
    """
    if value not in known:
        raise InputError(
            f"{name}={value!r} is not known. Use one of {', '.join(map(repr, known))}."
        )
    return value


class Display(ABC):
    """A picture that is computed when made, drawn by ``plot``, and shown by nobody.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where it was drawn last.
    """

    #: Width and height in inches.
    _size: ClassVar[tuple[float, float]] = (6.4, 4.4)
    ax_: Any
    figure_: Any

    @abstractmethod
    def plot(self, ax: Any = None) -> Self:
        """Draw, on given axes or in a new figure."""

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the figure to a file: ``.svg``, ``.pdf`` or ``.png``.

        Text stays text in SVG and PDF, and the same display, drawn anew, gives the same file.
        What was drawn is written as it stands, with all that was added to it; where nothing was
        drawn yet, it is.

        Parameters
        ----------
        file : path
        """
        path = Path(file)
        check_picture(path)
        if not hasattr(self, "ax_"):
            from matplotlib.figure import Figure  # no window, no trace in pyplot

            self.plot(ax=self._fill(Figure(figsize=self._figure_size())))
        write_figure(self.figure_, path)

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    def _axes(self, ax: Any) -> Any:
        """Remember where to draw; a new figure where nothing was given."""
        if ax is None:
            ax = self._fill(pyplot().figure(figsize=self._figure_size()))
        self.ax_ = _checked(ax)
        self.figure_ = ax.figure
        return ax

    def _fill(self, figure: Any) -> Any:
        """Put axes into an empty figure."""
        figure.set_layout_engine("constrained")
        return figure.subplots()


def pyplot() -> Any:
    """Import matplotlib's pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed. Install it with `pip install "
            "'netbenefit[plots]'`."
        ) from error
    return plt


def _checked(ax: Any) -> Any:
    if not (hasattr(ax, "transAxes") and hasattr(ax, "figure")):
        raise InputError(
            f"ax must be one set of matplotlib axes, not a {type(ax).__name__}. Pass what "
            "plt.subplots() returns second, or leave it out."
        )
    return ax


def tidy(ax: Any, grid: str = "y") -> None:
    """Take away what says nothing, and put a pale grid behind the rest."""
    ax.grid(axis=grid, color=LIGHT, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def draw_key(ax: Any, entries: Sequence[tuple[Any, str]], **options: Any) -> Any:
    """Draw a key in which names stand as they are.

    matplotlib would leave out a name that starts with "_", and set one with two "$" as formulas.
    """
    key = ax.legend(
        [handle for handle, _ in entries],
        [str(i) for i in range(len(entries))],
        **{"fontsize": "small", "handlelength": 3.0, "loc": "best", **options},
    )
    # Where there is no room beside the lines, words stay readable on top of them.
    key.get_frame().set(facecolor="white", alpha=0.85, linewidth=0)
    for text, (_, name) in zip(key.get_texts(), entries, strict=True):
        text.update({**PLAIN, "text": name_lines(name)})
    return key


def name_lines(name: str, width: int = _KEY_WIDTH) -> str:
    r"""Clean a name and break it where it is long.

    >>> name_lines("a name\x07 that goes on", 12)
    'a name� that\ngoes on'
    """
    return "\n".join(wrap(clean(name), width))


# -- files -----------------------------------------------------------------------------------------


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, before the work that it shows.

    >>> check_picture(Path("sizes.svg"))
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"{path}: cannot tell the format from the name. It has to end in one of "
            f"{', '.join(_SUFFIXES)}."
        )
    try:
        pyplot()
    except ImportError as error:
        raise InputError(str(error)) from None


def write_figure(figure: Any, file: Path) -> None:
    """Write a figure; the same one gives the same file."""
    from matplotlib import rc_context

    root = getattr(figure, "figure", None) or figure  # a part of a figure cannot be saved alone
    date = _SUFFIXES[file.suffix.lower()]
    with rc_context(_FILES):
        root.savefig(file, dpi=200, metadata={date: None} if date else None)

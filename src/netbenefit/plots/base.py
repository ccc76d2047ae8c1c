"""What all displays share: axes, colours that print well, names as plain text, files.

matplotlib is imported when something is drawn; ``pip install 'netbenefit[plots]'`` brings it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from netbenefit.cards import Scorecard, strip_control, wrap
from netbenefit.common import (
    FloatArray,
    InputError,
    Table,
    check_binary,
    check_risks,
    check_weights,
    install_command,
    replacing,
)
from netbenefit.data import event_place, match_labels
from netbenefit.metrics import Thresholds, ThresholdsLike, TimeToEvent, as_thresholds

# -- what displays are given: fitted models and cards, or risks by name ----------------------------


def named(models: Any, name: str | None = None) -> dict[str, Any]:
    """Models by name: a mapping as it is, one model under its own name."""
    if not isinstance(models, Mapping):
        return {type(models).__name__ if name is None else name: models}
    if name is not None:
        raise InputError("name goes with one model, but several were passed, which have names.")
    if not models:
        raise InputError("no model was passed. Pass at least one, as in {'card': model}.")
    for key in models:
        if not isinstance(key, str):
            raise InputError(f"model name {key!r} is not text. Name models by strings.")
    return dict(models)


def predict(
    models: Mapping[str, Any], X: Any, y: ArrayLike | TimeToEvent
) -> tuple[Any, dict[str, FloatArray]]:
    """Outcomes, and risks by fitted classifiers (whose second label is the event) and cards."""
    outcome: Any = None
    for name, model in models.items():
        found = _outcome(name, model, y)
        differs = not isinstance(y, TimeToEvent) and not np.array_equal(outcome, found)
        if outcome is not None and differs:
            raise InputError(
                f"{name!r} takes another label for the event than the models before it. Fit all "
                "models to the same labels."
            )
        outcome = found
    return outcome, {name: _risk(name, model, X, len(outcome)) for name, model in models.items()}


def _risk(name: str, model: Any, X: Any, n_rows: int) -> FloatArray:
    if isinstance(model, Scorecard):
        risk = model.risk(X)
    else:
        risk = model.predict_proba(X)[:, event_place(np.asarray(model.classes_).tolist(), model)]
    return check_risks(risk, n_rows, name=f"the risk by {name!r}")


def _outcome(name: str, model: Any, y: ArrayLike | TimeToEvent) -> Any:
    """Which rows have the event, by the labels that a model knows; times and events as they are."""
    card = isinstance(model, Scorecard)
    if not card and not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name!r} is a {type(model).__name__}, which predicts no risks. Pass a classifier "
            "with predict_proba, or a Scorecard."
        )
    classes = (0, 1) if card else getattr(model, "classes_", None)
    if classes is None:
        raise InputError(f"{name!r} is not fitted. Call fit first.")
    if len(classes) != 2:
        raise InputError(f"{name!r} knows {len(classes)} classes. Pass a model of two classes.")
    if isinstance(y, TimeToEvent):
        return y
    if card:
        return check_binary(y, name="y")
    listed = np.asarray(classes).tolist()
    place = event_place(listed, model)
    return match_labels(y, [listed[1 - place], listed[place]], name)


def check_rows(
    y_true: ArrayLike, risks: Any, sample_weight: ArrayLike | None
) -> tuple[NDArray[np.bool_], dict[str, FloatArray], FloatArray]:
    """Check outcomes, risks (of one model, or of several by name) and weights."""
    outcome = check_binary(y_true)
    several = isinstance(risks, Mapping)
    checked = {
        model: check_risks(risk, outcome.size, name=f"risks[{model!r}]" if several else "risks")
        for model, risk in named(risks, None if several else "model").items()
    }
    return outcome, checked, check_weights(sample_weight, outcome.size)


def own_thresholds(models: Mapping[str, Any], thresholds: ThresholdsLike) -> Thresholds | None:
    """The thresholds that were given, else those of the first model that has some."""
    if thresholds is not None:
        return as_thresholds(thresholds)
    for model in models.values():
        name = "thresholds" if isinstance(model, Scorecard) else "thresholds_"
        own = getattr(model, name, None)
        if isinstance(own, Thresholds):
            return own
    return None


def card_of(model: Any) -> Scorecard:
    """The card of a fitted estimator, or the card itself."""
    card = model if isinstance(model, Scorecard) else getattr(model, "scorecard_", None)
    if not isinstance(card, Scorecard):
        raise InputError(
            f"{type(model).__name__} holds no card. Pass a Scorecard, or an estimator that has "
            "learnt one (call fit first)."
        )
    return card


#: Colours that people with any colour vision tell apart (Okabe and Ito), and greys for print.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER, PALE_BLUE = "#56B4E9", "#E69F00", "#6FAED1"
INK, GREY, LIGHT = "#222222", "#8A8A8A", "#E8E8E8"

#: For texts that contain names: a "$" is printed as it is, without mathematics or LaTeX.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}

#: Endings of a picture's file name, and the metadata whose date would make two files differ.
_SUFFIXES = {".svg": "Date", ".png": None, ".pdf": "CreationDate"}
#: Text stays text; the same picture gives the same file.
_FILES: dict[Any, Any] = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "netbenefit"}
#: Characters per line of a name in a key.
_KEY_WIDTH = 60


class Style(NamedTuple):
    """How one model is drawn: distinct by colour, and without it."""

    colour: str
    line: Any
    marker: str


_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)
_LINES = ("-", (0, (6, 2)), (0, (6, 2, 1.2, 2)), (0, (2, 1.5)), (0, (8, 2, 1.2, 2, 1.2, 2)))
_MARKERS = "os^Dv*P"


def style_of(place: int) -> Style:
    """Return the style of the first, second, … model; line and marker of the first 35 differ."""
    colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place % len(_LINES)]
    return Style(colour, line, _MARKERS[place % len(_MARKERS)])


def check_columns(
    name: str, table: Mapping[str, Any], columns: Sequence[str], remedy: str = ""
) -> Table:
    """Return a table that has certain columns."""
    lacking = [column for column in columns if column not in table]
    if lacking:
        raise InputError(f"{name} lacks the column {lacking[0]!r}. {remedy}".rstrip())
    return Table(table)


class Display:
    """A picture that is computed when made, and drawn by ``plot``.

    ``ax_`` and ``figure_`` are the matplotlib axes and figure that it was drawn into.
    """

    #: Width and height in inches.
    _size: ClassVar[tuple[float, float]] = (6.4, 4.4)
    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw, unless it is on the screen already.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default a new figure, of a size that suits the picture, or the one
            that it was drawn into, as long as that is open.
        """
        if not self._is_shown(ax):
            self._draw(self._axes(ax))
        return self

    def _is_shown(self, ax: Any, view: Any = None) -> bool:
        """Whether there is nothing to do: no place is given; this view stands in an open figure.

        A figure that pyplot made has a number until it is closed.
        """
        number = getattr(getattr(self, "figure_", None), "number", None)
        if ax is not None or number is None or self._view != view:
            return False
        return bool(pyplot().fignum_exists(number))

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the figure to a file (``.svg``, ``.pdf`` or ``.png``); draw it first if need be.

        Text stays text in SVG and PDF, and the same display, drawn anew, gives the same file.
        """
        path = Path(file)
        check_picture(path)
        if not hasattr(self, "ax_"):
            from matplotlib.figure import Figure  # no window, no trace in pyplot

            self.plot(ax=self._fill(Figure(figsize=self._figure_size())))
        write_figure(self.figure_, path)

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    def _axes(self, ax: Any, view: Any = None) -> Any:
        """Remember where to draw, and which view; a new figure where nothing was given."""
        self._view = view
        if ax is None:
            ax = self._fill(pyplot().figure(figsize=self._figure_size()))
        if not (hasattr(ax, "transAxes") and hasattr(ax, "figure")):
            raise InputError(
                f"ax must be one set of matplotlib axes, not a {type(ax).__name__}. Pass what "
                "plt.subplots() returns second, or leave it out."
            )
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _fill(self, figure: Any) -> Any:
        """Put axes into an empty figure."""
        figure.set_layout_engine("constrained")
        return figure.subplots()


class ModelDisplay(Display):
    """A picture of risks, by fitted models or as they are."""

    from_predictions: ClassVar[Any]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | TimeToEvent,
        thresholds: ThresholdsLike = None,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Let models predict, and draw what :meth:`from_predictions` makes of their risks.

        Parameters
        ----------
        estimator : fitted classifier, Scorecard, or mapping of str to these
            One model, or several by name.
        X, y
            Rows, and their labels (0 and 1 for a Scorecard).  For decision curves also times and
            events with a horizon, where models were trained to predict the risk by it.
        thresholds : Thresholds, str or sequence of float, optional
            Those that matter; by default those of the first model that has thresholds of its own.
        name : str, optional
            Of a single model; by default the name of its class.
        **options
            As in :meth:`from_predictions`.
        """
        models = named(estimator, name)
        grid = own_thresholds(models, thresholds)
        display: Self = cls.from_predictions(*predict(models, X, y), grid, **options)
        return display


def pyplot() -> Any:
    """Import matplotlib's pyplot, or raise an error with the remedy."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed. Install it with "
            f"`{install_command('plots')}`."
        ) from error
    return plt


def in_percent(*axes: Any) -> None:
    """Label shares as percentages."""
    from matplotlib.ticker import PercentFormatter

    for axis in axes:
        axis.set_major_formatter(PercentFormatter(xmax=1.0))


def tidy(ax: Any, grid: str = "y") -> None:
    """Leave out the frame at the top and right, and put a pale grid behind the rest."""
    ax.grid(axis=grid, color=LIGHT, linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def draw_key(ax: Any, entries: Sequence[tuple[Any, str]], **options: Any) -> Any:
    """Draw a key with literal names: matplotlib would drop a leading "_" and typeset "$…$"."""
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
    """Clean a name and break it where it is long."""
    return "\n".join(wrap(strip_control(name), width))


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be drawn, before the work that it shows."""
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
    kind = file.suffix.lower().removeprefix(".")
    with rc_context(_FILES), replacing(file) as draft:
        root.savefig(draft, format=kind, dpi=200, metadata={date: None} if date else None)

"""The card itself as a figure: questions, points, SCORE → RISK, in the printed card's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

from netbenefit.cards import (
    Answer,
    Asked,
    Contents,
    Scorecard,
    contents,
    count_text,
    integer_text,
    wrap,
)
from netbenefit.plots.base import BLUE, GREY, INK, ORANGE, PLAIN, Display, card_of, name_lines, tidy

# -- the points of a card as bars ------------------------------------------------------------------


_BAR = 0.72
#: Room between two columns of the table, in bars.
_GAP = 0.4
#: Characters per line of a label.
_WIDTH = 38
#: Inches per bar.
_HEIGHT = 0.27


class _CardDisplay(Display):
    """A picture of one card."""

    def __init__(self, card: Scorecard) -> None:
        self.card = card_of(card)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the card of an estimator.

        Parameters
        ----------
        estimator : fitted estimator with a card, or Scorecard
        ax : matplotlib axes, optional
            As in :meth:`plot`.
        """
        return cls(estimator).plot(ax=ax)


class PointsDisplay(_CardDisplay):
    """Points of the answers to a card's questions as horizontal bars, question by question.

    The answers are those of the printed card.  Points that are taken away are hatched.  A bar that
    is only an outline is worth its points for every unit of the value, so that its length does not
    compare with that of the others.

    Parameters
    ----------
    card : Scorecard

    Attributes
    ----------
    bars_ : list of matplotlib patch
        From top to bottom, as on the card.
    labels_ : list of str
        What stands beside each bar: the answer.
    names_ : list of str
        What stands above the bars of each question.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> rules = [Rule(Condition("age", ">=", 40), 1), Rule(Condition("age", ">=", 60), 2)]
    >>> card = Scorecard(rules, [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]))
    >>> display = PointsDisplay.from_estimator(card)
    >>> display.labels_, [int(bar.get_width()) for bar in display.bars_]
    (['under 40', '40 to under 60', '60 or more'], [0, 1, 3])
    """

    _size: ClassVar[tuple[float, float]] = (6.4, 0.95)

    def __init__(self, card: Scorecard) -> None:
        super().__init__(card)
        self.questions = self.card.questions
        self.answers = [answer for one in self.questions for answer in one.listed()]

    def _draw(self, ax: Any) -> None:
        heads, places, end = self._places()
        self.labels_ = [name_lines(answer.text, _WIDTH) for answer in self.answers]
        self.names_ = [name_lines(one.feature, _WIDTH) for one in self.questions]
        self.bars_ = [
            self._bar(ax, place, answer) for place, answer in zip(places, self.answers, strict=True)
        ]
        ax.set_yticks([*heads, *places], labels=[*self.names_, *self.labels_], **PLAIN)
        for label in ax.get_yticklabels()[: len(heads)]:
            label.set_fontweight("bold")
        ax.tick_params(axis="y", length=0)
        if self.answers:
            ax.axvline(0, color=INK, linewidth=1.0, zorder=4)
        self._frame(ax, end)

    def _places(self) -> tuple[list[float], list[float], float]:
        """Middle of each name and of each bar, from the top down, and where the last one ends."""
        heads: list[float] = []
        places: list[float] = []
        at = 0.0

        def put(found: list[float], text: str) -> None:
            nonlocal at
            room = 0.5 + 0.3 * name_lines(text, _WIDTH).count("\n")
            found.append(at + room)
            at += 2 * room

        for question in self.questions:
            at += _GAP if heads else 0.0
            put(heads, question.feature)
            for answer in question.listed():
                put(places, answer.text)
        return heads, places, at

    def _bar(self, ax: Any, place: float, row: Answer) -> Any:
        per_unit = row.per_unit
        colour = BLUE if row.points > 0 else ORANGE
        (bar,) = ax.barh(
            [place],
            [row.points],
            height=_BAR,
            facecolor="white" if per_unit else colour,
            edgecolor=colour if per_unit else "white",
            hatch="///" if row.points < 0 and not per_unit else None,
            linestyle=(0, (3, 2)) if per_unit else "-",
            linewidth=1.4 if per_unit else 0.0,
            zorder=3,
        )
        ax.annotate(
            _worth(row),
            (row.points, place),
            xytext=(-4 if row.points < 0 else 4, 0),
            textcoords="offset points",
            ha="right" if row.points < 0 else "left",
            va="center",
            fontsize="small",
            color=INK,
            **PLAIN,
        )
        return bar

    def _frame(self, ax: Any, end: float) -> None:
        from matplotlib.ticker import MaxNLocator

        if not self.answers:
            ax.text(0.5, 0.5, count_text(0), ha="center", transform=ax.transAxes)
        ax.set_xlim(*self._limits())
        ax.set_ylim(max(end, 1.0), 0.0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.xaxis.set_major_formatter(lambda x, _: integer_text(round(x)))
        ax.set_xlabel("Points")
        tidy(ax, "x")
        ax.spines["left"].set_visible(False)

    def _limits(self) -> tuple[float, float]:
        """Ends of the axis, with room for what stands beside the bars."""
        low = min([0, *(row.points for row in self.answers)])
        high = max([0, *(row.points for row in self.answers)])
        if low == high:
            return -1.0, 1.0
        left = max((_share(row) for row in self.answers if row.points < 0), default=0.0)
        right = max((_share(row) for row in self.answers if row.points >= 0), default=0.0)
        whole = (high - low) / (1.0 - left - right)
        return low - left * whole, high + right * whole

    def _figure_size(self) -> tuple[float, float]:
        width, height = self._size
        return width, height + _HEIGHT * max(self._places()[2], 2.0)


def _worth(row: Answer) -> str:
    return f"{integer_text(row.points)}{' per unit' if row.per_unit else ''}"


def _share(row: Answer) -> float:
    """Rough share of the axis that a bar's label takes, at the figure's usual width."""
    return min(0.04 + 0.022 * len(_worth(row)), 0.3)


#: All lengths below are points (1/72 inch).
_SIZE, _SMALL = 10.0, 8.0
_LINE, _SMALL_LINE = 13.0, 10.5
_PAD, _CELL_PAD = 12.0, 5.0
_BLANK = 44.0  #: room to write a number
#: Characters per line of a name, an answer and the title; those of a note per point of width.
_NAME_WIDTH, _ANSWER_WIDTH, _TITLE_WIDTH, _NOTE_SHARE = 24, 34, 52, 0.3
_NARROWEST, _WIDEST_TABLE = 300.0, 500.0
#: Behind low and high risks; dark text reads well on both, also without colour.
_LOW, _HIGH = (0.97, 0.97, 0.97), (0.98, 0.76, 0.55)


class _Word(NamedTuple):
    """A text at a place: x to the right, y downwards."""

    x: float
    y: float
    text: str
    align: str = "left"
    size: float = _SIZE
    weight: str = "normal"
    colour: str = INK


class _Line(NamedTuple):
    x: tuple[float, float]
    y: tuple[float, float]
    width: float = 0.6
    colour: str = INK


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float
    colour: tuple[float, ...]


class _Page:
    """What is to be drawn, and how far down it has got."""

    def __init__(self, width: float) -> None:
        self.width, self.y = width, _PAD
        self.words: list[_Word] = []
        self.lines: list[_Line] = []
        self.boxes: list[_Box] = []

    @property
    def right(self) -> float:
        return self.width - _PAD

    def rule(self, width: float = 0.6, colour: str = INK) -> None:
        self.lines.append(_Line((_PAD, self.right), (self.y, self.y), width, colour))


class ScorecardDisplay(_CardDisplay):
    """A card as a figure for paper: questions, answers, room to add up, and the risk of each score.

    The words are those of the printed card.  A new figure is as large as the card needs, in type
    of 10 points; on given axes everything is scaled to fit.

    Parameters
    ----------
    card : Scorecard

    Attributes
    ----------
    texts_ : list of matplotlib text
        From top to bottom.

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> rules = [Rule(Condition("age", ">=", 40), 2)]
    >>> card = Scorecard(rules, [(0, 0.1), (1, 0.9)], Thresholds.of([0.5]))
    >>> display = ScorecardDisplay.from_estimator(card)
    >>> [text.get_text() for text in display.texts_][2:6]
    ['age', 'under 40', '0', '40 or more']
    """

    def _fill(self, figure: Any) -> Any:
        """The page is the figure."""
        return figure.add_axes((0.0, 0.0, 1.0, 1.0))

    def _lay_out(self) -> _Page:
        return _lay_out(contents(self.card))

    def _draw(self, ax: Any) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        page = self._lay_out()
        ax.set_axis_off()
        ax.set(xlim=(0, page.width), ylim=(page.y, 0))
        ax.set_aspect("equal", adjustable="box")
        scale = _scale(ax, page)
        for box in page.boxes:
            at, width, height = (box.x, box.y), box.width, box.height
            ax.add_patch(Rectangle(at, width, height, facecolor=box.colour, linewidth=0, zorder=1))
        for line in page.lines:
            ax.add_line(
                Line2D(line.x, line.y, color=line.colour, linewidth=scale * line.width, zorder=2)
            )
        self.texts_ = [
            ax.text(
                word.x,
                word.y,
                word.text,
                fontsize=scale * word.size,
                fontweight=word.weight,
                color=word.colour,
                ha=word.align,
                va="baseline",
                zorder=3,
                **PLAIN,
            )
            for word in page.words
        ]

    def _figure_size(self) -> tuple[float, float]:
        page = self._lay_out()
        return page.width / 72, page.y / 72


def _scale(ax: Any, page: _Page) -> float:
    """How much smaller or larger than life the page is on given axes."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return float(min(72 * box.width / page.width, 72 * box.height / page.y))


# -- layout ----------------------------------------------------------------------------------------


def _lay_out(shown: Contents) -> _Page:
    """Place title, questions, score, risks (in as many blocks as they need), notes and footer."""
    asked = [_wrapped(one) for one in shown.questions]
    answers = [answer for one in asked for answer in one.answers]
    name = max((_width(line, weight="bold") for one in asked for line in one.name), default=0.0)
    label = max((_width(line) for lines, _ in answers for line in lines), default=0.0)
    points = max((_width(text) for _, text in answers), default=0.0)
    heading = _width("SCORE", weight="bold") + 2 * _CELL_PAD
    cell = max(_width(text, weight="bold") for pair in shown.table for text in pair) + 2 * _CELL_PAD
    in_block = _in_block(len(shown.table), cell, heading)
    inner = max(name + label + points + _BLANK + 7 * _CELL_PAD, heading + in_block * cell)
    title = wrap(shown.title, _TITLE_WIDTH)
    count = wrap(shown.asked, _TITLE_WIDTH)
    inner = max(inner, _NARROWEST, *(_width(line, weight="bold") for line in title))
    page = _Page(inner + 2 * _PAD)
    for line in title:
        page.y += _LINE
        page.words.append(_Word(_PAD, page.y - 3, line, size=_SIZE + 1, weight="bold"))
    for line in count:
        page.y += _SMALL_LINE
        page.words.append(_Word(_PAD, page.y, line, size=_SMALL, colour="#555555"))
    page.y += 7
    page.rule(1.2)
    _place_questions(page, asked, name, shown.score)
    page.y += 12
    for start in range(0, len(shown.table), in_block):
        _place_risks(page, shown.table, start, in_block, heading)
    _place_notes(page, [*shown.notes, shown.footer])
    page.y += _PAD - 4
    return page


def _in_block(n: int, cell: float, heading: float) -> int:
    """How many levels stand side by side, in blocks that are about equally wide."""
    fitting = max(1, int((_WIDEST_TABLE - heading) // cell))
    blocks = -(-n // fitting)
    return -(-n // blocks)


class _WrappedQuestion(NamedTuple):
    name: list[str]
    answers: list[tuple[list[str], str]]


def _wrapped(asked: Asked) -> _WrappedQuestion:
    answers = [(wrap(words, _ANSWER_WIDTH), points) for words, points in asked.answers]
    return _WrappedQuestion(wrap(asked.name, _NAME_WIDTH), answers)


def _place_questions(
    page: _Page, asked: Sequence[_WrappedQuestion], name: float, score: str
) -> None:
    """Name, answers and points of each question, with room to write the points down."""
    blank, left = page.right - _BLANK, _PAD + 2 + name + 3 * _CELL_PAD
    for i, one in enumerate(asked):
        if i:
            page.rule(0.4, "#C8C8C8")
        page.y += 3.5
        top = page.y
        for k, line in enumerate(one.name):
            page.words.append(_Word(_PAD + 2, top + (k + 1) * _LINE - 3.5, line, weight="bold"))
        for lines, points in one.answers:
            page.y += 0.5
            page.words += [
                _Word(left, page.y + (k + 1) * _LINE - 3.5, line) for k, line in enumerate(lines)
            ]
            first = page.y + _LINE - 3.5
            page.words.append(_Word(blank - 2 * _CELL_PAD, first, points, "right"))
            page.y += len(lines) * _LINE + 0.5
        page.y = max(page.y, top + len(one.name) * _LINE) + 3
        _place_blank(page, "+" if i else "", blank, top + _LINE - 3)
    page.y += 3
    page.rule(0.9)
    page.y += 5 + _LINE
    at = page.y - 3.5
    page.words.append(_Word(blank - 2 * _CELL_PAD, at, score, "right", weight="bold"))
    _place_blank(page, "=", blank, at)
    page.y += 5
    page.rule(1.2)


def _place_blank(page: _Page, sign: str, x: float, y: float) -> None:
    if sign:
        page.words.append(_Word(x, y, sign, "center", colour=GREY))
    page.lines.append(_Line((x + 8, page.right), (y + 1.5, y + 1.5), 0.6, GREY))


def _place_risks(
    page: _Page, table: Sequence[tuple[str, str]], start: int, in_block: int, heading: float
) -> None:
    """One block: scores above, risks below, darker where the risk is higher."""
    block = table[start : start + in_block]
    width = (page.right - _PAD - heading) / in_block
    height = _LINE + 6
    page.rule(0.9)
    top, baselines = page.y, (page.y + _LINE, page.y + height + _LINE)
    for row, word in enumerate(("SCORE", "RISK")):
        page.words.append(_Word(_PAD + 2, baselines[row], word, weight="bold"))
    for i, (scores, risk) in enumerate(block):
        x = _PAD + heading + i * width
        share = (start + i) / max(len(table) - 1, 1)
        page.boxes.append(_Box(x, top + height, width, height, _shade(share)))
        page.words.append(_Word(x + width / 2, baselines[0], scores, "center"))
        page.words.append(_Word(x + width / 2, baselines[1], risk, "center", weight="bold"))
        if i:
            page.lines.append(_Line((x, x), (top, top + 2 * height), 0.4, "#C8C8C8"))
    page.y = top + height
    page.rule(0.4, "#C8C8C8")
    page.y = top + 2 * height
    page.rule(0.9)
    page.y += 8 if start + in_block < len(table) else 0


def _shade(share: float) -> tuple[float, ...]:
    return tuple(low + share * (high - low) for low, high in zip(_LOW, _HIGH, strict=True))


def _place_notes(page: _Page, notes: Sequence[str]) -> None:
    room = page.right - _PAD - 2
    page.y += 4
    for note in filter(None, notes):
        page.y += 2
        columns = int(_NOTE_SHARE * room)
        while columns > 1 and max(_width(line, _SMALL) for line in wrap(note, columns)) > room:
            columns -= 1
        for line in wrap(note, columns):
            page.y += _SMALL_LINE
            page.words.append(_Word(_PAD + 2, page.y, line, size=_SMALL, colour="#555555"))


def _width(text: str, size: float = _SIZE, weight: str = "normal") -> float:
    """Width of a text in points, as the default font sets it."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=size, weight=weight)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)

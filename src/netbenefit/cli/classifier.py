"""The estimator on the command line: what it shows while it learns, and what it notes after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from netbenefit.cards import strip_control
from netbenefit.cli.terminal import make_console, print_note, progress
from netbenefit.common import shorten
from netbenefit.estimators import Learned, RiskScoreClassifier, TrainingData, read_automatic


class CommandClassifier(RiskScoreClassifier):
    """The estimator, with news for a terminal before and during the search."""

    _quiet, _lists_columns = False, True
    _before: Callable[[], None] | None = None

    def follow(
        self, quiet: bool, before: Callable[[], None] | None = None, *, columns: bool = True
    ) -> Self:
        """Show what ``columns`` were taken for and progress; call ``before`` before the search."""
        self._quiet, self._before, self._lists_columns = quiet, before, columns
        return self

    def _learn(self, training: TrainingData, outcome: str, start: Any = None) -> Learned:
        if self._before is not None:
            self._before()
        if training.bins is not None and self._lists_columns and not self._quiet:
            console = make_console(stderr=True)
            console.print(guess_table(self.binner_.summary(), min(console.width, 120)))
            print_note("bold", "to change", HOW_TO_CHANGE)
        with progress(self._quiet) as callback:
            self.callback = callback
            return super()._learn(training, outcome, start)


def notes_on(model: CommandClassifier) -> list[str]:
    """What the user of a new card should know, besides what the estimator warns of."""
    learned = model.learned_
    problem, result = learned.problem, learned.result
    table, notes = problem.patterns, []
    if asked := read_automatic(model.monotone):
        notes.append(directions_text(model.monotone_, "all" not in asked.values()))
    if model.nonnegative and (barred := [n for n, way in model.monotone_.items() if way == "-"]):
        columns, they = ("columns", "they have") if len(barred) > 1 else ("column", "it has")
        notes.append(
            f"--nonnegative bars the {columns} along which the risk falls: {shorten(barred, 10)}; "
            f"{they} no points. To use them, leave out --nonnegative: the card as printed starts "
            "every question at 0 in any case."
        )
    steps = dict(zip(table.names, table.decimals, strict=True))
    if table.rounded:
        listed = ", ".join(f"{name} to {10.0 ** -steps[name]:g}" for name in table.rounded[:5])
        more = len(table.rounded) - 5
        notes.append(f"rounded: {listed}{f' and {more} more' if more > 0 else ''}.")
    if result.status == "time_limit":
        gain = "find a better card, or prove more" if result.bound else "find a better card"
        notes.append(f"time ran out: a longer --time-limit may {gain}.")
    if result.size == 0:
        notes.append("no rule was worth its penalty: try --penalty 0, or other columns.")
    return notes


def directions_text(ways: Mapping[str, str], clear: bool) -> str:
    """Say which directions were taken from the teacher: clear ones only, or all."""
    parts = [
        f"never {verb} along {shorten([name for name, way in ways.items() if way == sign], 10)}"
        for sign, verb in (("+", "fall"), ("-", "rise"))
        if sign in ways.values()
    ]
    why = "borne out by the outcomes" if clear else "clear or not"
    if not parts:
        return "directions: the evidence is clear for no column, so that none is monotone."
    return f"directions, from the teacher and {why}: points {'; '.join(parts)}. Others are free."


# -- what columns were taken for -----------------------------------------------------------------

HOW_TO_CHANGE = (
    "--categorical NAME, --numeric NAME, --cuts NAME=40,60, --special NAME=-9, "
    "--missing NAME=impute, --drop NAME"
)
_HEADS = ("column", "taken for", "conditions", "missing")
_MOST_ROWS = 15
_GAP = 2
_NARROWEST = 10


def guess_table(summary: Mapping[str, Any], width: int) -> Text:
    """Return a binner's summary in lines no wider than a terminal."""
    rows = [_cells(*row) for row in zip(*(summary[head] for head in _HEADS), strict=True)]
    more = len(rows) - _MOST_ROWS
    # For one more, a line that says so would take as much room.
    shown = rows if more <= 1 else rows[:_MOST_ROWS]
    widths = _widths([_HEADS, *shown], width)
    lines = [_line(_HEADS, widths, "bold"), *(_line(row, widths) for row in shown)]
    if more > 1:
        lines.append(Text(f"  … and {more} more columns", "dim"))
    return Text("\n").join(lines)


def _cells(name: Any, taken: Any, conditions: Any, missing: Any) -> list[str]:
    if conditions == name:  # the condition of a yes-or-no column is the column itself
        conditions = "yes"
    number = f"{missing:,.10g}" if missing else "–"
    words = [strip_control(str(word)) for word in (name, taken, conditions)]
    return [*words, "" if taken == "left out" else number]


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of the columns: names and conditions give way where the line is too narrow."""
    widths = [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = max(width, 60) - 2 - 3 * _GAP - widths[1] - widths[3]
    if widths[0] + widths[2] > room:
        widths[0] = min(widths[0], max(room - widths[2], room // 2, len(_HEADS[0])))
        widths[2] = max(room - widths[0], _NARROWEST)
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], style: str = "") -> Text:
    *left, last = (_fitted(cell, width) for cell, width in zip(cells, widths, strict=True))
    pad = " " * (widths[-1] - cell_len(last))
    words = [set_cell_size(cell, width) for cell, width in zip(left, widths, strict=False)]
    line = "  " + (" " * _GAP).join([*words, pad + last])
    return Text(line.rstrip(), "dim" if cells[1] == "left out" else style)


def _fitted(text: str, width: int) -> str:
    """Shorten a text, between conditions where it lists some."""
    if cell_len(text) <= width:
        return text
    short = set_cell_size(text, width - 1)
    cut = short.rfind(", ")
    return f"{text[:cut]}, …" if cut > width // 2 else f"{short.rstrip()}…"

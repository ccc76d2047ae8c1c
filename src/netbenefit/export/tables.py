"""A card as a table for a paper or a README: Markdown and LaTeX, with names and levels escaped."""

from __future__ import annotations

import re
from html import escape
from itertools import zip_longest

from netbenefit.cards import Contents, Scorecard, side_by_side
from netbenefit.export.scaling import Scaling, scaled_contents

#: More answers than this do not fit on a page: LaTeX's table is then a longtable.
_MOST_ON_A_PAGE = 40

_MARKDOWN = re.compile(r"([\\`*_\[\]|~$^@]|:(?=//)|-(?=-)|(?<=-)-)")
_WEB = re.compile(r"\b(www)\.", re.IGNORECASE)
#: What would start a list or a heading at the start of a line.
_LINE_START = re.compile(r"([-+=#](?=.)|\d+(?=[.)]))")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "`": r"\textasciigrave{}",
    '"': r"\symbol{34}",  # babel gives the character itself a meaning in some languages
    "|": r"\textbar{}",
    "<": r"$<$",
    ">": r"$>$",
    "[": "{[}",  # after \\ a bracket would be a length
    "]": "{]}",
    "*": "{*}",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≠": r"$\neq$",
    "−": r"$-$",
    "×": r"$\times$",
    "–": r"\textendash{}",
    "·": r"$\cdot$",
    "…": r"\ldots{}",
    "½": r"$\frac{1}{2}$",
    "\u00a0": "~",
}
#: Where to write a number.
_MARKDOWN_BLANK, _LATEX_BLANK = r"\_\_\_\_\_", r"\underline{\hspace{3em}}"
#: Characters of which LaTeX joins two into another one.
_JOINED = "-',"


def to_markdown(card: Scorecard, *, scaling: Scaling | None = None) -> str:
    r"""Return a card as Markdown, with tables as GitHub and Pandoc read them.

    Parameters
    ----------
    card : Scorecard
    scaling : Scaling, optional
        Adds a line that says how a scaled score is read.

    Returns
    -------
    str

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age|days", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> print(to_markdown(card).splitlines()[7])
    |  | 52 or more | 2 |  |
    """
    printed = scaled_contents(card, scaling)
    lines = [f"**{_markdown(printed.title)}**", "", _markdown_line(printed.asked), ""]
    if printed.questions:
        lines += ["| Question | Answer | Points | |", "| :--- | :--- | ---: | ---: |"]
    for name, answers in printed.questions:
        for i, (words, points) in enumerate(answers):
            first, blank = ("", "") if i else (_markdown(name), _MARKDOWN_BLANK)
            lines.append(f"| {first} | {_markdown(words)} | {_markdown(points)} | {blank} |")
    if printed.questions:
        lines += [f"| | | **{_markdown(printed.score)}** | = {_MARKDOWN_BLANK} |", ""]
    columns = side_by_side(printed.table)
    lines += ["|" + " SCORE | RISK |" * len(columns), "|" + " :---: | :---: |" * len(columns)]
    for row in zip_longest(*columns, fillvalue=("", "")):
        lines.append("|" + "".join(f" {_markdown(a)} | {_markdown(b)} |" for a, b in row))
    if printed.notes:
        lines += ["", *(f"- {_markdown_line(note)}" for note in printed.notes)]
    if printed.footer:
        lines += ["", _markdown_line(printed.footer)]
    return "\n".join(lines) + "\n"


def to_latex(card: Scorecard, *, scaling: Scaling | None = None) -> str:
    r"""Return a card as a LaTeX table, ready for ``\input``.

    A comment at the top says which packages it needs.  Beside Latin letters, names need a font that
    has their characters (XeLaTeX or LuaLaTeX).

    Parameters
    ----------
    card : Scorecard
    scaling : Scaling, optional
        Adds a line that says how a scaled score is read.

    Returns
    -------
    str

    Examples
    --------
    >>> from netbenefit import Condition, Rule, Thresholds
    >>> card = Scorecard([Rule(Condition("age_50%", ">=", 52), 2)], [(0, 0.1), (1, 0.6)],
    ...     Thresholds.of([0.5]))
    >>> print(to_latex(card).splitlines()[8])
    age\_50\% & under 52 & 0 & \underline{\hspace{3em}} \\*
    """
    printed = scaled_contents(card, scaling)
    rows = _latex_questions(printed)
    head = ["\\toprule", r"Question & Answer & Points & \\", "\\midrule"]
    total = rf"\multicolumn{{3}}{{r}}{{{_latex(printed.score)}}} & = {_LATEX_BLANK} \\"
    score = ["\\midrule", total]
    wrapped = r">{\raggedright\arraybackslash}p"
    columns = rf"{{{wrapped}{{0.3\linewidth}}{wrapped}{{0.3\linewidth}}rr}}"
    caption = rf"\caption{{{_latex(printed.title)}. {_latex(printed.asked).capitalize()}.}}"
    below = _latex_below(printed)
    long = len(rows) > _MOST_ON_A_PAGE
    packages = "array,booktabs,longtable" if long else "array,booktabs"
    lines = [rf"% Needs \usepackage{{{packages}}} in the preamble."]
    if any(ord(char) > 0x17F for text in _all(printed) for char in text if char not in _LATEX):
        lines.append("% Some names need XeLaTeX or LuaLaTeX, and a font that has their characters.")
    if long:
        lines += [rf"\begin{{longtable}}{columns}", rf"{caption}\\", *head, r"\endfirsthead"]
        lines += [*head, r"\endhead", *rows, *score, "\\bottomrule", r"\end{longtable}", ""]
        return "\n".join([*lines, r"\begin{center}", *below, r"\end{center}"]) + "\n"
    lines += [r"\begin{table}[htbp]", r"\centering", caption]
    lines += [rf"\begin{{tabular}}{columns}", *head, *rows, *score, "\\bottomrule"]
    lines += [r"\end{tabular}", "", r"\bigskip", *below, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_questions(printed: Contents) -> list[str]:
    """One row per answer; the rows of a question stay on one page."""
    rows = []
    for k, (name, answers) in enumerate(printed.questions):
        rows += [r"\addlinespace"] if k else []
        for i, (words, points) in enumerate(answers):
            first, blank = ("", "") if i else (_latex(name), _LATEX_BLANK)
            end = r"\\" if i == len(answers) - 1 else r"\\*"
            rows.append(f"{first} & {_latex(words)} & {_latex(points)} & {blank} {end}")
    return rows


def _all(printed: Contents) -> list[str]:
    answers = [pair for asked in printed.questions for pair in asked.answers]
    pairs = [text for pair in (*answers, *printed.table) for text in pair]
    names = [asked.name for asked in printed.questions]
    return [printed.title, *names, *pairs, *printed.notes, printed.footer]


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML would take for markup."""
    found = escape(_MARKDOWN.sub(r"\\\1", text.strip()), quote=False)
    return _WEB.sub(r"\1\\.", found)


def _markdown_line(text: str) -> str:
    """Escape a text at the start of a line, or of an item of a list."""
    found = _markdown(text)
    start = _LINE_START.match(found)
    if start is None:
        return found
    place = start.end() if start[1].isdigit() else 0
    return f"{found[:place]}\\{found[place:]}"


def _latex(text: str) -> str:
    """Escape what LaTeX would take for a command, and keep it from joining characters."""
    found = "".join(_LATEX.get(char, char) for char in text)
    return re.sub(rf"([{_JOINED}])(?=\1)", r"\1{}", found)


def _latex_below(printed: Contents) -> list[str]:
    """The table of risks, notes and footer."""
    columns = side_by_side(printed.table)
    heads = " & ".join(["SCORE & RISK"] * len(columns))
    lines = [rf"\begin{{tabular}}{{{'cc' * len(columns)}}}", "\\toprule"]
    lines += [rf"{heads} \\", "\\midrule"]
    for row in zip_longest(*columns, fillvalue=("", "")):
        lines.append(" & ".join(f"{_latex(a)} & {_latex(b)}" for a, b in row) + r" \\")
    lines += ["\\bottomrule", r"\end{tabular}"]
    small = [line for line in (*printed.notes, printed.footer) if line]
    if small:
        words = "\\par\n".join(_latex(line) for line in small)
        lines += ["", r"\bigskip", rf"\parbox{{0.9\linewidth}}{{\footnotesize {words}}}"]
    return lines

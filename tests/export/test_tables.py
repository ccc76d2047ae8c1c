"""Markdown and LaTeX: a reader sees the contents of the card, whatever its names are."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from netbenefit import Condition, InputError, Reading, Rule, Scorecard, Thresholds
from netbenefit.cards.scorecard import Provenance
from netbenefit.cards.text import contents
from netbenefit.export.tables import to_latex, to_markdown
from tests.export.truth import HOSTILE_LEVEL, truths

NAMES = ("conditions", "from zero", "units", "hostile", "no rules", "200 rules", "binned")

#: Names that try all that Markdown and LaTeX have.
TRICKS = (
    "a|b", r"back\slash", r"\|", "`code`", "``x``", "*bold*", "__b__", "[a](b)", "![i](j)", "~~s~~",
    "# head", "- item", "1. item", "+ x", "= y", "> quote", "<b>&amp;</b>", "$x^2$", "https://x.org",
    "www.x.org", "{}%#&_~^", r"\input{x}", r"\\[1cm]", "--", "''quoted,,", '"q"', "?`", "<<", "[x]",
    "^^41", "***", "---", "-->", "<!-- c -->", "tab\tnew\nline", "é–ß", "*", "a_b_c", "x\\", "@me",
)  # fmt: skip


def tricky_card() -> Scorecard:
    rules = [Rule(Condition(name, "==", "yes"), k + 1) for k, name in enumerate(TRICKS)]
    rules += [Rule(Condition("level", "==", name), -k - 1) for k, name in enumerate(TRICKS)]
    readings = [Reading(feature=name, special=("n/a",)) for name in TRICKS]
    provenance = Provenance(version="0", outcome="a_b & c_d | 100%", n_rows=5)
    thresholds = Thresholds.of([0.5])
    return Scorecard.from_levels(
        rules, [1], [0.1, 0.6], thresholds, readings=readings, provenance=provenance
    )


def cards() -> dict[str, Scorecard]:
    return {**{name: truths()[name].card for name in NAMES}, "tricky": tricky_card()}


ALL = (*NAMES, "tricky")


# -- Markdown ------------------------------------------------------------------------------------


class _Reader(HTMLParser):
    """What a page shows: cells of tables, items, paragraphs; and which tags it has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"td": [], "th": [], "li": [], "p": []}
        self.tags: set[str] = set()
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag in self.found:
            self._open.append(tag)
            self.found[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.found:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[self._open[-1]][-1] += data


def read_markdown(text: str) -> _Reader:
    parser = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    rules = ["table", "strikethrough"]
    page = parser.MarkdownIt("commonmark", {"html": True}).enable(rules).render(text)
    reader = _Reader()
    reader.feed(page)
    return reader


@pytest.mark.parametrize("name", ALL)
def test_markdown_shows_the_contents_of_the_card(name: str) -> None:
    card = cards()[name]
    printed, reader = contents(card), read_markdown(to_markdown(card))
    cells = []
    for asked in printed.questions:
        for k, (words, points) in enumerate(asked.answers):
            own = ("", "") if k else (asked.name.strip(), "_____")
            cells += [own[0], words.strip(), points, own[1]]
    cells += ["", "", printed.score, "= _____"] if cells else []
    risks = [text for pair in printed.table for text in pair]
    assert reader.found["td"] == [*cells, *risks]
    head = ["Question", "Answer", "Points", ""] if cells else []
    assert reader.found["th"] == [*head, "SCORE", "RISK"]
    assert [item.strip() for item in reader.found["li"]] == [note.strip() for note in printed.notes]
    lines = [printed.title.strip(), printed.asked, *filter(None, [printed.footer])]
    assert reader.found["p"] == lines
    tags = {"p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert reader.tags <= tags


def test_markdown_leaves_no_html_and_no_bare_pipe() -> None:
    for card in cards().values():
        text = to_markdown(card)
        assert "<" not in text
        for line in text.splitlines():
            if line.startswith("|"):
                assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in (3, 5), line


def test_markdown_does_not_link() -> None:
    text = to_markdown(tricky_card())
    assert "://" not in text.replace("\\://", "")
    assert not re.search(r"www\.", text)
    assert "http://" not in to_markdown(truths()["hostile"].card)


# -- LaTeX ---------------------------------------------------------------------------------------

#: All that the text of a table may hold; anything else with a meaning is a leak.
_ALLOWED = re.compile(
    r"\\textbackslash\{\}|\\textasciicircum\{\}|\\textasciitilde\{\}|\\textasciigrave\{\}"
    r"|\\symbol\{34\}|\\textbar\{\}|\\ldots\{\}|\\textendash\{\}|\\[{}$&#%_]|\$[<>-]\$|\$\\(geq|leq|neq|times|cdot)\$"
    r"|\$\\frac\{1\}\{2\}\$|\{[\[\]*]\}|\{\}|\\underline\{\\hspace\{3em\}\}"
)
#: What the exporter itself writes around texts.
_FRAME = re.compile(
    r"% Needs \\usepackage\{array,booktabs(,longtable)?\} in the preamble\."
    r"|% Some names need XeLaTeX or LuaLaTeX, and a font that has their characters\."
    r"|\\(toprule|midrule|bottomrule|addlinespace|centering|bigskip|endfirsthead|endhead)"
    r"|\\begin\{table\}\[htbp\]|\\end\{(table|tabular|longtable|center)\}|\\begin\{center\}"
    r"|\\begin\{tabular\}\{cc\}"
    r"|\\begin\{(tabular|longtable)\}"
    r"\{(>\{\\raggedright\\arraybackslash\}p\{0\.3\\linewidth\}){2}rr\}|"
)
_START = re.compile(
    r"\\parbox\{0\.9\\linewidth\}\{\\footnotesize |\\caption\{|\\multicolumn\{3\}\{r\}(?=\{SCORE)"
)
_END = re.compile(r"( \\\\\*?|\\par|\}\\\\|\})$")


def leaks(latex: str) -> list[str]:
    """Return the lines in which something other than text and known commands is left."""
    found = []
    for line in latex.splitlines():
        if _FRAME.fullmatch(line):
            continue
        rest = _END.sub("", _START.sub("", line)) if not line.startswith("%") else line
        if line.endswith((r" \\", r" \\*")):
            rest = rest.removesuffix(" &")
            columns = 2 if r"\multicolumn" in line or rest.count(" & ") == 1 else 4
            rest = " ".join(rest.split(" & ", columns - 1))
            rest = re.sub(r"^\{(SCORE(, rounded down)?)\}", r"\1", rest)
        rest = _ALLOWED.sub(" ", rest)
        if re.search(r"[\\{}$&#%_^~`\"|<>\[\]*]|--|''|,,", rest):
            found.append(line)
    return found


@pytest.mark.parametrize("name", ALL)
def test_latex_leaves_nothing_unescaped(name: str) -> None:
    assert leaks(to_latex(cards()[name])) == []


@pytest.mark.parametrize(
    "line",
    [r"50% & a & 1 & \\", r"\input{x} & a & 1 & \\*", r"a_b & 1 \\",
     r"x^2 & 1 \\", r"\caption{a $x$ b}", r"a -- b & 1 \\", r'a "b & 1 \\', "% a comment", "a ~ b"],
)  # fmt: skip
def test_the_check_finds_what_leaks(line: str) -> None:
    assert leaks(line) == [line]


def test_latex_shows_the_contents_of_the_card() -> None:
    card = truths()["binned"].card
    text = to_latex(card)
    assert r"visits ($-$9: unknown) & under 2 & 0 & \underline{\hspace{3em}} \\*" in text
    assert r" & 3\textendash{}4 & 3 &  \\*" in text
    assert r"$-$16 to 2 & 4.0\% \\" in text
    assert r"\multicolumn{3}{r}{SCORE} & = \underline{\hspace{3em}} \\" in text
    assert text.count("& not known & ") == 5
    assert r"1,000 rows $\cdot$ prevalence 20.0\%" in text
    answers = sum(len(asked.answers) for asked in contents(card).questions)
    assert len(re.findall(r"& .* \\\\\*?$", text, re.MULTILINE)) == answers + 1 + 3 + 3


def test_a_long_card_spans_several_pages() -> None:
    assert r"\begin{longtable}" in to_latex(truths()["200 rules"].card)
    assert r"\begin{longtable}" not in to_latex(truths()["conditions"].card)


def test_latex_says_which_letters_need_more() -> None:
    assert "XeLaTeX" in to_latex(truths()["hostile"].card)
    assert "XeLaTeX" not in to_latex(truths()["binned"].card)


@pytest.mark.parametrize("name", ALL)
def test_latex_compiles(tmp_path: Path, name: str) -> None:
    text = to_latex(cards()[name])
    engine = "xelatex" if "XeLaTeX" in text else "pdflatex"
    program = shutil.which(engine)
    if program is None:
        pytest.skip(f"{engine} is not installed")
    packages = re.search(r"\\usepackage\{.*?\}", text)
    assert packages is not None
    preamble = r"\documentclass{article}\usepackage[a4paper]{geometry}"
    if engine == "pdflatex":
        preamble += r"\usepackage[T1]{fontenc}"
    (tmp_path / "card.tex").write_text(text, encoding="utf-8")
    page = rf"{preamble}{packages[0]}\begin{{document}}\input{{card}}\end{{document}}"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = [program, "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "page"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000


def test_hostile_levels_are_text() -> None:
    card = truths()["hostile"].card
    assert HOSTILE_LEVEL not in to_markdown(card)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in to_markdown(card)
    assert r"\symbol{34}$>$$<$script$>$alert(1)$<$/script$>$" in to_latex(card)


@pytest.mark.parametrize("export", [to_markdown, to_latex])
def test_what_is_no_card(export: Any) -> None:
    with pytest.raises(InputError, match="must be a Scorecard, not dict"):
        export({})


MARKDOWN = r"""
**Risk score**

1 question: the points of its answer are the score

| Question | Answer | Points | |
| :--- | :--- | ---: | ---: |
| age\|days | under 52 | 0 | \_\_\_\_\_ |
|  | 52 or more | 2 |  |
| | | **SCORE** | = \_\_\_\_\_ |

| SCORE | RISK |
| :---: | :---: |
| 0 | 10.0% |
| 2 | 60.0% |
"""
LATEX = r"""
% Needs \usepackage{array,booktabs} in the preamble.
\begin{table}[htbp]
\centering
\caption{Risk score. 1 question: the points of its answer are the score.}
\begin{tabular}{>{\raggedright\arraybackslash}p{0.3\linewidth}>{\raggedright\arraybackslash}p{0.3\linewidth}rr}
\toprule
Question & Answer & Points & \\
\midrule
age\textbar{}days & under 52 & 0 & \underline{\hspace{3em}} \\*
 & 52 or more & 2 &  \\
\midrule
\multicolumn{3}{r}{SCORE} & = \underline{\hspace{3em}} \\
\bottomrule
\end{tabular}

\bigskip
\begin{tabular}{cc}
\toprule
SCORE & RISK \\
\midrule
0 & 10.0\% \\
2 & 60.0\% \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_a_small_card_in_full() -> None:
    rules = [Rule(Condition("age|days", ">=", 52), 2)]
    card = Scorecard(rules, [(0, 0.1), (1, 0.6)], Thresholds.of([0.5]))
    assert to_markdown(card) == MARKDOWN[1:]
    assert to_latex(card) == LATEX[1:]

"""The report: which tables there are, and what they say in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.generalisation.analyse import Book, Difference, Pairing, mean_difference
from benchmarks.generalisation.methods import QUESTIONS, TIMED_LIMIT
from benchmarks.generalisation.store import Result
from benchmarks.generalisation.tables import Section, Table

CARD = "default"
BASE = "logistic"
TIMED = f"timed_{TIMED_LIMIT}q"
#: To be reached: the loss of net benefit to LASSO with few questions, and seconds and mean gap of a
#: default fit.
WITHIN, MOST_SECONDS, MOST_GAP = 0.003, 10, 0.03
MEASURED = "AUNBC × 1000 on held-out rows, difference ± standard error (paired by row)"


def real_section(book: Book, name: str, title: str) -> Section:
    """Cross-validated data: every method against logistic regression, then the card against all."""
    section = Section(f"generalisation-{name}", title)
    if not book.groups:
        return _empty(section)
    others = [m for m in book.names if m != BASE]
    section.tables.append(_minus_base(book, others))
    if CARD in book.names:
        section.tables.append(_card_minus_others(book, book.by_row, MEASURED))
        section.lines.extend([_count_line(book, other) for other in book.names if other != CARD])
    section.lines.append(_size_line(book))
    gaps = {g: book.mean(g, CARD, "gap") for g in book.groups} if CARD in book.names else {}
    if gaps:
        listed = ", ".join(f"{g} {gap:.1%}" for g, gap in gaps.items() if not math.isnan(gap))
        section.lines.append(f"Mean gap that the default fit proves in its time: {listed}.")
    section.lines.extend(book.warnings())
    return section


def simulated_section(book: Book, abouts: dict[str, str]) -> Section:
    """Known truth: mean regret, and the card's regret minus the others'."""
    section = Section("generalisation-simulated", "Simulated data with known risk")
    if not book.groups:
        return _empty(section)
    section.tables.append(_regret_table(book))
    if CARD in book.names:
        what = "Regret × 1000, difference ± standard error (paired by replicate); below 0 is better"
        section.tables.append(_card_minus_others(book, book.by_replicate, what, by_size=True))
    section.lines.extend([_lowest_line(book), _size_line(book)])
    if CARD in book.names and "lasso" in book.names:
        section.lines.append(_far_line(book))
    section.lines.extend([f"{name}: {about}." for name, about in abouts.items()])
    section.lines.extend(book.warnings())
    return section


def raw_section(book: Book, name: str) -> Section:
    """Raw tables: cards against LASSO on the conditions that a binner makes of the same rows."""
    small = name != "raw"
    title = "Draws of 300 rows of raw tables" if small else "Ten folds of raw tables"
    section = Section(f"generalisation-{name}", title)
    others = [m for m in ("card", "card_5") if m in book.names]
    if not book.groups or "lasso" not in book.names:
        return _empty(section)
    rows = []
    for group in book.groups:
        cells = [_thousandths(book.aunbc(group, "lasso")) + _raw_cell(book, group, "lasso")]
        for other in others:
            difference = book.by_row(group, other, "lasso")
            cells.append(_cell(difference) + _raw_cell(book, group, other))
        rows.append([group, *cells])
    means = [_raw_mean(book, "lasso")]
    for other in others:
        difference = mean_difference(book.by_row(g, other, "lasso") for g in book.groups)
        means.append(f"{_cell(difference)} {_raw_mean(book, other)}")
    rows.append(["mean", *means])
    what = "AUNBC × 1000 on held-out rows, difference to lasso ± standard error (paired by row)"
    head = ["data", "lasso, absolute", *others]
    section.tables.append(Table(f"{what} [rules; AUROC; slope of calibration]", head, rows))
    section.lines.extend([_against(book, other) for other in others])
    for most in QUESTIONS:
        if table := _question_table(book, most, small):
            section.tables.append(table)
    section.lines.extend(_question_lines(book, small))
    section.lines.extend(book.warnings())
    return section


def _asking(book: Book, most: int) -> list[str]:
    """Methods that ask at most so many questions."""
    return [m for m in book.names if m.endswith(f"_{most}q")]


def _question_pairing(book: Book, small: bool) -> tuple[Pairing, str]:
    """Folds share training rows, small draws hardly any: their rows are compared as above."""
    if small:
        return book.by_row, "paired by row"
    return book.by_fold, "paired by fold, corrected for shared training rows"


def _question_table(book: Book, most: int, small: bool) -> Table | None:
    """Cards with as many questions against LASSO without a limit."""
    others = _asking(book, most)
    if not others:
        return None
    pairing, how = _question_pairing(book, small)
    fields = ("questions", "size", "auroc", "slope")
    rows = []
    for group in book.groups:
        cells = [_thousandths(book.aunbc(group, "lasso"))]
        cells += [_cell(pairing(group, m, "lasso")) for m in others]
        brackets = [_bracket([book.mean(group, m, f) for f in fields]) for m in ("lasso", *others)]
        rows.append([group, *(" ".join(part) for part in zip(cells, brackets, strict=True))])
    cells = ["", *(_cell(_mean_to_lasso(book, m, pairing)) for m in others)]
    brackets = [_bracket([_mean_of(book, m, f) for f in fields], 1) for m in ("lasso", *others)]
    rows.append(["mean", *(" ".join(p).strip() for p in zip(cells, brackets, strict=True))])
    title = (
        f"At most {most} questions: AUNBC × 1000 on held-out rows, difference to lasso without a "
        f"limit ± standard error ({how}) [questions; rules; AUROC; slope of calibration]"
    )
    return Table(title, ["data", "lasso, absolute", *others], rows)


def _question_lines(book: Book, small: bool) -> list[str]:
    pairing, _ = _question_pairing(book, small)
    lines = []
    for most in QUESTIONS:
        for other in _asking(book, most):
            difference = _mean_to_lasso(book, other, pairing)
            if difference is None:
                continue
            largest = max(r.questions or 0 for g in book.groups for r in book.of(g, other).values())
            within = "" if difference.mean >= -WITHIN else "not "
            lines.append(
                f"{other}, on average, differs from lasso by {_cell(difference)}: {within}within "
                f"{1000 * WITHIN:.0f}. It never asks more than {largest} questions."
            )
    return lines


def _mean_to_lasso(book: Book, name: str, pairing: Pairing) -> Difference | None:
    return mean_difference(pairing(g, name, "lasso") for g in book.groups)


def _mean_of(book: Book, name: str, field: str) -> float:
    """Mean over the groups in which it is known."""
    return _known_mean([book.mean(g, name, field) for g in book.groups])


def _bracket(values: Sequence[float], decimals: int = 0) -> str:
    """Questions, rules, AUROC and slope; what is not known is a dash."""
    texts = [f"{v:.{d}f}" for v, d in zip(values, (decimals, decimals, 3, 2), strict=True)]
    return "[" + "; ".join("–" if text == "nan" else text for text in texts) + "]"


def speed_section(book: Book, abouts: dict[str, str]) -> Section:
    """Seconds and gaps of default fits on simulated raw tables, with and without a limit."""
    section = Section("generalisation-speed", "Speed on raw tables of 1,000 rows and 20 columns")
    if not book.groups or TIMED not in book.names:
        return _empty(section)
    fits = {(g, r): fit for g in book.groups for r, fit in sorted(book.of(g, TIMED).items())}
    free = {(g, r): fit for g in book.groups for r, fit in book.of(g, "timed").items()}
    values = [[*_timed(fit), *_timed(free.get(place))] for place, fit in fits.items()]
    labels = [f"{group} #{replicate}" for group, replicate in fits]
    means = [_known_mean(column) for column in zip(*values, strict=True)]
    head = ["seconds", "gap", "questions", "rules"]
    section.tables.append(
        Table(
            f"A warm default fit with max_questions={TIMED_LIMIT}, and without a limit",
            ["table", *head, *(f"without: {name}" for name in head)],
            [
                *([label, *_timed_cells(v, 0)] for label, v in zip(labels, values, strict=True)),
                ["mean", *_timed_cells(means, 1)],
            ],
        )
    )
    seconds = [fit.seconds for fit in fits.values()]
    section.lines.append(
        f"Seconds with the limit: mean {means[0]:.1f}, longest {max(seconds):.1f}; at most "
        f"{MOST_SECONDS} in {sum(s <= MOST_SECONDS for s in seconds)} of {len(seconds)} fits."
    )
    reached = "at most" if means[1] <= MOST_GAP else "not at most"
    section.lines.append(f"Mean gap with the limit: {means[1]:.2%}, {reached} {MOST_GAP:.0%}.")
    ratios = [fit.seconds / free[place].seconds for place, fit in fits.items() if place in free]
    if ratios:
        ratio = math.fsum(ratios) / len(ratios)
        section.lines.append(f"A fit with the limit takes {ratio:.2f} times as long as without.")
    section.lines.extend(f"{name}: {about}." for name, about in abouts.items())
    section.lines.extend(book.warnings())
    return section


def _timed(fit: Result | None) -> list[float]:
    """Seconds, gap, questions and rules; NaN where not known."""
    if fit is None:
        return [math.nan] * 4
    values = (fit.seconds, fit.gap, fit.questions, fit.size)
    return [math.nan if value is None else float(value) for value in values]


def _timed_cells(values: Sequence[float], decimals: int) -> list[str]:
    formats = (".1f", ".1%", f".{decimals}f", f".{decimals}f") * 2
    return ["" if math.isnan(v) else f"{v:{f}}" for v, f in zip(values, formats, strict=True)]


def _known_mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _raw_cell(book: Book, group: str, name: str) -> str:
    size, area, slope = (book.mean(group, name, f) for f in ("size", "auroc", "slope"))
    return f" [{size:.0f}; {area:.3f}; {slope:.2f}]"


def _raw_mean(book: Book, name: str) -> str:
    values = [
        math.fsum(book.mean(g, name, field) for g in book.groups) / len(book.groups)
        for field in ("size", "auroc", "slope")
    ]
    return f"[{values[0]:.1f}; {values[1]:.3f}; {values[2]:.2f}]"


def _against(book: Book, name: str) -> str:
    difference = mean_difference(book.by_row(g, name, "lasso") for g in book.groups)
    assert difference is not None
    sizes = [math.fsum(book.mean(g, m, "size") for g in book.groups) for m in (name, "lasso")]
    within = (
        "is above lasso or within one standard error of it"
        if difference.holds
        else ("is below lasso by more than one standard error")
    )
    return f"{name}, on average, {within}, with {sizes[0] / sizes[1]:.0%} of its rules."


# -- tables --------------------------------------------------------------------------------------


def _minus_base(book: Book, others: Sequence[str]) -> Table:
    rows = []
    for group in book.groups:
        base = f"{_thousandths(book.aunbc(group, BASE))}{_size(book, group, BASE)}"
        cells = [
            _cell(book.by_row(group, other, BASE)) + _size(book, group, other) for other in others
        ]
        rows.append([group, base, *cells])
    if len(book.groups) > 1:
        means = [
            mean_difference(book.by_row(g, other, BASE) for g in book.groups) for other in others
        ]
        rows.append(["mean", "", *(_cell(d) for d in means)])
    title = f"{MEASURED}: each method minus {BASE}; size in brackets"
    return Table(title, ["data", f"{BASE}, absolute", *others], rows)


def _card_minus_others(book: Book, pairing: Pairing, what: str, *, by_size: bool = False) -> Table:
    others = [m for m in book.names if m != CARD]
    rows = [[g, *(_cell(pairing(g, CARD, other)) for other in others)] for g in book.groups]
    for label, groups in _averages(book, by_size):
        means = [mean_difference(pairing(g, CARD, other) for g in groups) for other in others]
        rows.append([label, *(_cell(d) for d in means)])
    return Table(f"{what}: {CARD} minus each method", ["data", *others], rows)


def _regret_table(book: Book) -> Table:
    rows = [
        _regret_row(book, group, {m: book.mean(group, m, "regret") for m in book.names})
        for group in book.groups
    ]
    for label, groups in _averages(book, by_size=True):
        rows.append(_regret_row(book, label, _mean_regret(book, groups)))
    title = "Mean regret × 1000 (best AUNBC − own); * lowest of the methods that a person can read"
    return Table(title, ["data", *book.names], rows)


def _regret_row(book: Book, label: str, regret: dict[str, float]) -> list[str]:
    known = [regret[m] for m in book.interpretable if not math.isnan(regret[m])]
    lowest = min(known, default=math.nan)
    return [
        label,
        *(
            _thousandths(regret[m], 2)
            + ("*" if regret[m] == lowest and m in book.interpretable else "")
            for m in book.names
        ),
    ]


def _mean_regret(book: Book, groups: Sequence[str]) -> dict[str, float]:
    return {
        m: math.fsum(book.mean(g, m, "regret") for g in groups) / len(groups)
        if groups
        else math.nan
        for m in book.names
    }


def _averages(book: Book, by_size: bool) -> list[tuple[str, list[str]]]:
    """Rows of means: for each number of training rows, and over all groups."""
    complete = book.complete_groups()
    result = []
    if by_size:
        for n in sorted({int(group.rsplit("-", 1)[1]) for group in complete}):
            chosen = [g for g in complete if g.endswith(f"-{n}")]
            result.append((f"mean, N = {n}", chosen))
    if len(complete) > 1:
        result.append(("mean", complete))
    return result


# -- sentences -----------------------------------------------------------------------------------


def _count_line(book: Book, other: str) -> str:
    pairs = [book.by_row(group, CARD, other) for group in book.groups]
    known = [d for d in pairs if d is not None]
    held = sum(d.holds for d in known)
    return (
        f"{CARD} is above {other}, or within one standard error of it, on {held} of {len(known)} "
        f"data {'set' if len(known) == 1 else 'sets'}."
    )


def _size_line(book: Book) -> str:
    groups = book.complete_groups() or list(book.groups)
    parts = []
    for m in book.names:
        sizes = [book.mean(g, m, "size") for g in groups]
        known = [s for s in sizes if not math.isnan(s)]
        if known:
            parts.append(f"{m} {math.fsum(known) / len(known):.1f}")
    return f"Mean size over {len(groups)} cells of the table: {', '.join(parts)}."


def _lowest_line(book: Book) -> str:
    groups = book.complete_groups()
    if not groups:
        return "No family has results of every method yet."
    means = _mean_regret(book, groups)
    order = sorted(book.interpretable, key=lambda m: means[m])
    listed = ", ".join(f"{m} {_thousandths(means[m], 2)}" for m in order)
    return f"Mean regret × 1000 over {len(groups)} cells, lowest first: {listed}."


def _far_line(book: Book) -> str:
    """Cells in which the card's regret is far above LASSO's."""
    far = [
        f"{g} ({_thousandths(own, 1)} against {_thousandths(other, 1)})"
        for g in book.groups
        for own, other in [(book.mean(g, CARD, "regret"), book.mean(g, "lasso", "regret"))]
        if own > 1.3 * other + 0.001
    ]
    listed = ", ".join(far) or "none"
    return f"Cells with a regret above 1.3 times that of lasso plus 1: {listed}."


def _empty(section: Section) -> Section:
    section.lines.append("No results yet.")
    return section


# -- numbers -------------------------------------------------------------------------------------


def _thousandths(value: float, digits: int = 1) -> str:
    return "" if math.isnan(value) else f"{1000 * value:.{digits}f}"


def _cell(difference: Difference | None) -> str:
    if difference is None:
        return ""
    # (a difference that rounds to nothing has no sign)
    text = f"{1000 * difference.mean:+.1f}".replace("-", "−")
    text = "0.0" if text in ("+0.0", "−0.0") else text
    return text if math.isnan(difference.error) else f"{text} ±{1000 * difference.error:.1f}"


def _size(book: Book, group: str, name: str) -> str:
    size = book.mean(group, name, "size")
    return "" if math.isnan(size) else f" [{size:.0f}]"

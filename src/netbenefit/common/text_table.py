"""Plain tables of text, as wide as their cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netbenefit.cards.text import display_width

__all__ = ["lines_of", "mass", "number", "p_value", "share"]


def lines_of(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lay cells out in columns: the first ``left`` ones to the left, the others to the right.

    >>> lines_of(["rule", "old"], [["age ≥ 52", "2"], ["x", "−10"]])
    ['rule      old', 'age ≥ 52    2', 'x         −10']
    """
    table = [list(head), *(list(row) for row in rows)]
    widths = [max(display_width(row[c]) for row in table) for c in range(len(head))]
    lines = []
    for row in table:
        cells = []
        for c, cell in enumerate(row):
            blank = " " * (widths[c] - display_width(cell))
            cells.append(cell + blank if c < left else blank + cell)
        lines.append("  ".join(cells).rstrip())
    return lines


def mass(value: float) -> str:
    """Write a number of rows, or a sum of weights, with no more digits than a reader needs.

    >>> mass(1234.0), mass(75094.3234), mass(0.03214567)
    ('1,234', '75,094.3', '0.03215')
    """
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"


def number(value: float | None, decimals: int = 4) -> str:
    """Write a number with a true minus sign; a dash where there is none.

    >>> number(-0.25, 2), number(None), number(float("nan")), number(float("inf"))
    ('−0.25', '–', '–', '∞')
    >>> number(-1e-6)
    '0.0000'
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    return (text.lstrip("-") if not float(text) else text).replace("-", "−")


def share(value: float | None, decimals: int = 1) -> str:
    """Write a share in percent.

    >>> share(0.125), share(None)
    ('12.5%', '–')
    """
    text = number(None if value is None else 100 * value, decimals)
    return text if text == "–" else f"{text}%"


def p_value(p: float) -> str:
    """Write a p-value to three decimals, and no smaller than these can tell.

    >>> p_value(0.0312), p_value(0.00002), p_value(float("nan"))
    ('0.031', '< 0.001', '–')
    """
    return "< 0.001" if p < 0.001 else number(p, 3)

"""Words and columns of numbers, for the results of validation."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["aligned", "label", "number"]

_LABELS = {"aunbc": "AUNBC", "net_benefit": "net benefit", "auroc": "AUROC", "ece": "ECE"}


def label(measure: str) -> str:
    """What people call a measure.

    >>> label("aunbc"), label("net_benefit_at_0.05"), label("size")
    ('AUNBC', 'net benefit at 5%', 'size')
    """
    start = "net_benefit_at_"
    if measure.startswith(start):
        return f"net benefit at {100 * float(measure.removeprefix(start)):g}%"
    return _LABELS.get(measure, measure)


def number(value: float, decimals: int = 4) -> str:
    """A number with a true minus sign; a dash where there is none.

    >>> number(-0.25), number(float("nan"))
    ('−0.2500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{decimals}f}".replace("-", "−")


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells: the first column to the left, the others to the right.

    >>> aligned([("rule", "points"), ("age ≥ 52", "2")])
    ['rule      points', 'age ≥ 52       2']
    """
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [text.rjust(width) for text, width in zip(row, widths, strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip())
    return lines

"""Words for the results of validation."""

from __future__ import annotations

__all__ = ["label"]

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

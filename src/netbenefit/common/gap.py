"""How far a value can be from the best: the one definition of the gap."""

from __future__ import annotations

import math

__all__ = ["relative_gap"]


def relative_gap(objective: float, bound: float | None) -> float | None:
    """Return (bound − objective) / |objective|, or None where no bound is known.

    Examples
    --------
    >>> relative_gap(0.4, 0.5) == (0.5 - 0.4) / 0.4
    True
    >>> relative_gap(-2.0, -1.0), relative_gap(0.25, 0.25), relative_gap(0.25, None)
    (0.5, 0.0, None)
    >>> relative_gap(0.0, 0.1)
    inf
    """
    if bound is None:
        return None
    if bound == objective:
        return 0.0
    return (bound - objective) / abs(objective) if objective else math.inf

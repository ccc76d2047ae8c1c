"""Decision curves as an inline drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from netbenefit.common.checks import InputError
from netbenefit.common.table import Table
from netbenefit.metrics.decision_curve import TREAT_ALL, TREAT_NONE

__all__ = ["curve_key", "curve_svg", "lines_of"]

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 12, 48
#: Lines of models that the page's style has: s0, s1, …
MOST_MODELS = 6


def lines_of(curve: Table) -> dict[str, tuple[list[float], list[float]]]:
    """Return thresholds and net benefits by model, in the table's order."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name in dict.fromkeys(curve["model"].tolist()):
        rows = curve["model"] == name
        found[name] = (curve["threshold"][rows].tolist(), curve["net_benefit"][rows].tolist())
    return found


def _styles(names: Sequence[str]) -> dict[str, str]:
    """Return the class of each line, no two alike.

    >>> _styles(["card", "logit", "Treat All", "Treat None"])
    {'card': 's0', 'logit': 's1', 'Treat All': 'all', 'Treat None': 'none'}
    """
    models = [name for name in names if name not in (TREAT_ALL, TREAT_NONE)]
    if len(models) > MOST_MODELS:
        raise InputError(
            f"{len(models)} models are more than one drawing can tell apart. Pass at most "
            f"{MOST_MODELS}."
        )
    styles = {name: f"s{i}" for i, name in enumerate(models)}
    return styles | {TREAT_ALL: "all", TREAT_NONE: "none"}


def curve_svg(curve: Table) -> str:
    """Draw decision curves: no smoothing, y from a little below 0 to the highest benefit.

    Parameters
    ----------
    curve : Table
        As :func:`netbenefit.decision_curve` makes it, of at most six models.

    Returns
    -------
    str
        An SVG element whose colours the page's style sets.

    Examples
    --------
    >>> from netbenefit.metrics.decision_curve import decision_curve
    >>> curve = decision_curve([0, 1, 1], {"card": [0.1, 0.4, 0.9]}, [0.2, 0.5])
    >>> curve_svg(curve).count("<polyline")  # the card, all and none
    3
    """
    lines = lines_of(curve)
    thresholds = curve["threshold"]
    low, high = float(thresholds.min()), float(thresholds.max())
    low, high = (low, high) if high > low else (max(0.0, low - 0.05), min(1.0, low + 0.05))
    top = max(float(curve["prevalence"].max()), float(curve["net_benefit"].max()), 1e-6)
    bottom = -0.12 * top

    def x(p: float) -> float:
        return _LEFT + (p - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)

    def y(benefit: float) -> float:
        return _TOP + (top - benefit) / (top - bottom) * (_HEIGHT - _TOP - _BOTTOM)

    parts = []
    for tick in _ticks(0.0, top):
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" {_at(y(tick), "y")}/>'
        )
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
        )
    for tick in _ticks(low, high):
        parts.append(
            f'<text x="{x(tick):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">'
            f"{100 * tick:.4g}%</text>"
        )
    # What falls below the picture is cut off: the net benefit of treating all has no lower end.
    parts.append(
        f'<clipPath id="plot"><rect x="{_LEFT - 6}" y="{_TOP - 6}" '
        f'width="{_WIDTH - _LEFT - _RIGHT + 12}" height="{_HEIGHT - _TOP - _BOTTOM + 6}"/>'
        '</clipPath><g clip-path="url(#plot)">'
    )
    for name, style in reversed(_styles(list(lines)).items()):
        points = [(x(p), y(b)) for p, b in zip(*lines[name], strict=True)]
        joined = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(
            f'<polyline class="{style}" points="{joined}"><title>{escape(name)}</title></polyline>'
        )
        if style == "s0":
            parts += [f'<circle class="s0" cx="{a:.1f}" cy="{b:.1f}" r="4"/>' for a, b in points]
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'</g><text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        f'Threshold Probability</text><text transform="translate(14 {middle}) rotate(-90)" '
        'text-anchor="middle">Net Benefit</text>'
    )
    names = escape(", ".join(lines))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Decision curves of {names}">'
        + "".join(parts)
        + "</svg>"
    )


def _at(position: float, axis: str) -> str:
    return f'{axis}1="{position:.1f}" {axis}2="{position:.1f}"'


def curve_key(curve: Table) -> str:
    """Return the key to the lines of :func:`curve_svg`, as a list."""
    names: Mapping[str, str] = _styles(list(lines_of(curve)))
    items = "".join(
        f'<li><svg viewBox="0 0 30 10" aria-hidden="true"><polyline class="{style}" '
        f'points="0,5 30,5"/></svg>{escape(name)}</li>'
        for name, style in names.items()
    )
    return f'<ul class="key">{items}</ul>'


def _ticks(low: float, high: float) -> list[float]:
    """Choose round numbers in [low, high], some four to seven of them.

    >>> _ticks(0.05, 0.5)
    [0.1, 0.2, 0.3, 0.4, 0.5]
    """
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= 0.99 * rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(np.round(i * step, 12)) for i in range(first, last + 1)]

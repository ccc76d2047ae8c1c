"""Decision curves, calibration and ROC of a card as inline drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from netbenefit.cards import Scorecard
from netbenefit.common import InputError, Table
from netbenefit.metrics import TREAT_ALL, TREAT_NONE
from netbenefit.updating import LevelRow

# -- decision curves -------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 560, 380
_CURVE_LEFT, _CURVE_RIGHT, _CURVE_TOP, _CURVE_BOTTOM = 72, 24, 12, 56
#: Lines of models that the page's style has: s0, s1, …
MOST_MODELS = 6


def lines_of_curve(curve: Table) -> dict[str, tuple[list[float], list[float]]]:
    """Return thresholds and net benefits by model, in the table's order."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    for name in dict.fromkeys(curve["model"].tolist()):
        rows = curve["model"] == name
        found[name] = (curve["threshold"][rows].tolist(), curve["net_benefit"][rows].tolist())
    return found


def _styles(names: Sequence[str]) -> dict[str, str]:
    """Return the class of each line, no two alike."""
    models = [name for name in names if name not in (TREAT_ALL, TREAT_NONE)]
    if len(models) > MOST_MODELS:
        raise InputError(
            f"{len(models)} models are more than one drawing can tell apart. Pass at most "
            f"{MOST_MODELS}."
        )
    styles = {name: f"s{i}" for i, name in enumerate(models)}
    return styles | {TREAT_ALL: "all", TREAT_NONE: "none"}


def curve_svg(curve: Table) -> str:
    """Draw decision curves of at most six models: from a little below 0 to the highest benefit.

    Bands over all thresholds at once are drawn of the first model, where the table has them.
    """
    lines = lines_of_curve(curve)
    thresholds = curve["threshold"]
    low, high = float(thresholds.min()), float(thresholds.max())
    low, high = (low, high) if high > low else (max(0.0, low - 0.05), min(1.0, low + 0.05))
    ends = [curve[name] for name in ("net_benefit", "simultaneous_upper") if name in curve]
    top = max(1e-6, *(float(end.max()) for end in ends))
    bottom = -0.12 * top

    def x(p: float) -> float:
        return _CURVE_LEFT + (p - low) / (high - low) * (_WIDTH - _CURVE_LEFT - _CURVE_RIGHT)

    def y(benefit: float) -> float:
        return _CURVE_TOP + (top - benefit) / (top - bottom) * (
            _HEIGHT - _CURVE_TOP - _CURVE_BOTTOM
        )

    right, floor = _WIDTH - _CURVE_RIGHT, _HEIGHT - _CURVE_BOTTOM
    parts = []
    for tick in _ticks(0.0, top):
        height = y(tick)
        parts.append(
            f'<line class="grid" x1="{_CURVE_LEFT}" x2="{right}" y1="{height:.1f}" '
            f'y2="{height:.1f}"/><text x="{_CURVE_LEFT - 8}" y="{height + 4:.1f}" '
            f'text-anchor="end">{tick:.4g}</text>'
        )
    for tick in _ticks(low, high):
        parts.append(
            f'<text x="{x(tick):.1f}" y="{floor + 22}" text-anchor="middle">'
            f"{100 * tick:.4g}%</text>"
        )
    # What falls below the picture is cut off: the net benefit of treating all has no lower end.
    parts.append(
        f'<clipPath id="plot"><rect x="{_CURVE_LEFT - 6}" y="{_CURVE_TOP - 6}" '
        f'width="{right - _CURVE_LEFT + 12}" height="{floor - _CURVE_TOP + 6}"/>'
        '</clipPath><g clip-path="url(#plot)">'
    )
    if "simultaneous_lower" in curve:
        own = curve["model"] == next(iter(lines))
        under, over = (curve[f"simultaneous_{end}"][own].tolist() for end in ("lower", "upper"))
        places = curve["threshold"][own].tolist()
        around = zip([*places, *reversed(places)], [*under, *reversed(over)], strict=True)
        joined = " ".join(f"{x(p):.1f},{y(b):.1f}" for p, b in around)
        parts.append(f'<polygon class="band" points="{joined}"/>')
    for name, style in reversed(_styles(list(lines)).items()):
        points = [(x(p), y(b)) for p, b in zip(*lines[name], strict=True)]
        joined = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(
            f'<polyline class="{style}" points="{joined}"><title>{escape(name)}</title></polyline>'
        )
        if style == "s0":
            parts += [f'<circle class="s0" cx="{a:.1f}" cy="{b:.1f}" r="4"/>' for a, b in points]
    middle = (_CURVE_TOP + floor) / 2
    parts.append(
        f'</g><text x="{(_CURVE_LEFT + right) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
        f'Threshold Probability</text><text transform="translate(14 {middle}) rotate(-90)" '
        'text-anchor="middle">Net Benefit</text>'
    )
    return _svg(f"Decision curves of {', '.join(lines)}", _WIDTH, _HEIGHT, parts)


def curve_key(curve: Table) -> str:
    """Return the key to the lines of :func:`curve_svg`, as a list."""
    items = "".join(
        f'<li><svg viewBox="0 0 30 10" aria-hidden="true"><polyline class="{style}" '
        f'points="0,5 30,5"/></svg>{escape(name)}</li>'
        for name, style in _styles(list(lines_of_curve(curve))).items()
    )
    return f'<ul class="key">{items}</ul>'


def _ticks(low: float, high: float) -> list[float]:
    """Choose round numbers in [low, high], some four to seven of them."""
    rough = (high - low) / 5
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(s * unit for s in (1, 2, 5, 10) if s * unit >= 0.99 * rough)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(np.round(i * step, 12)) for i in range(first, last + 1)]


# -- calibration and ROC ---------------------------------------------------------------------------

_SIZE = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 46
_BARS = 44  #: height of the bars below a calibration plot


def calibration_svg(levels: Sequence[LevelRow]) -> str:
    """Draw predicted against observed risks, with 95% intervals, and how many rows there are."""
    height = _SIZE + _BARS
    parts = [_axes("Predicted risk", "Observed share of events", height)]
    most = max((row.n for row in levels), default=0.0) or 1.0
    floor = _SIZE - _BOTTOM + _BARS
    for row in levels:
        if row.rate is None or row.low is None or row.high is None:
            continue
        title = (
            f"risk {row.risk_text}: {row.events:,.10g} events among {row.n:,.10g} rows, "
            f"{100 * row.rate:.1f}%"
        )
        bar = max(1.0, (_BARS - 8) * row.n / most)
        parts.append(
            f'<g><title>{escape(title)}</title><line class="interval" x1="{_x(row.risk)}" '
            f'x2="{_x(row.risk)}" y1="{_y(row.low)}" y2="{_y(row.high)}"/>'
            f'<circle class="s0" cx="{_x(row.risk)}" cy="{_y(row.rate)}" r="4.5"/>'
            f'<rect class="bar" x="{_x(row.risk) - 3:.1f}" width="6" y="{floor - bar:.1f}" '
            f'height="{bar:.1f}"/></g>'
        )
    return _svg("Calibration: predicted and observed risks of the levels", _SIZE, height, parts)


def roc_svg(
    card: Scorecard, event: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None
) -> str:
    """Draw the ROC curve of the score, with the card's cut-offs marked."""
    from sklearn.metrics import roc_curve  # late: it takes its time to import

    fpr, tpr, values = roc_curve(event, score, sample_weight=sample_weight, drop_intermediate=False)
    line = " ".join(f"{_x(a)},{_y(b)}" for a, b in zip(fpr, tpr, strict=True))
    parts = [
        _axes("False positive rate", "True positive rate", _SIZE),
        f'<polyline class="s0" points="{line}"/>',
    ]
    # Scores beyond the card's range are clipped; before the first of them nothing is found.
    levels = np.asarray(card.level_of_score(values[1:]))
    thresholds = zip(card.thresholds.values[1:], card.cutoffs, strict=True)
    for i, (p, cutoff) in enumerate(thresholds, start=1):
        place = int(np.count_nonzero(levels >= i))
        title = f"act from {100 * p:g}%: score of {cutoff} or more"
        parts.append(
            f'<circle class="point" cx="{_x(fpr[place])}" cy="{_y(tpr[place])}" r="4">'
            f"<title>{escape(title)}</title></circle>"
        )
    return _svg("ROC curve of the score", _SIZE, _SIZE, parts)


def _x(value: float) -> float:
    return round(_LEFT + float(value) * (_SIZE - _LEFT - _RIGHT), 1)


def _y(value: float) -> float:
    return round(_SIZE - _BOTTOM - float(value) * (_SIZE - _TOP - _BOTTOM), 1)


def _axes(across: str, up: str, height: int) -> str:
    """Grid, labels and the diagonal."""
    parts = []
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(
            f'<line class="grid" x1="{_x(0)}" x2="{_x(1)}" y1="{_y(tick)}" y2="{_y(tick)}"/>'
            f'<text x="{_LEFT - 8}" y="{_y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
            f'<text x="{_x(tick)}" y="{height - _BOTTOM + 18}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    middle = (_TOP + _SIZE - _BOTTOM) / 2
    parts.append(
        f'<text x="{(_x(0) + _x(1)) / 2}" y="{height - 6}" text-anchor="middle">{across}</text>'
        f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">{up}</text>'
        f'<line class="ideal" x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"/>'
    )
    return "".join(parts)


def _svg(label: str, width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        + "".join(parts)
        + "</svg>"
    )

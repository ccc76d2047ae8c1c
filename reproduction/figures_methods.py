"""Names and looks of the compared methods, the same in all figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from netbenefit.plots.base import Style, style_of
from reproduction import names

__all__ = ["METHOD_NAMES", "key_line", "method_order", "style_for"]

#: The methods, in the order of the keys, and how figures call them.
METHOD_NAMES: Mapping[str, str] = MappingProxyType({**names.METHODS, **names.OWN_METHODS})


def method_order(methods: Iterable[str]) -> list[str]:
    """Sort methods as keys show them: known ones in their order, then others by name.

    Examples
    --------
    >>> method_order(["zebra", "tree", "rss-dnb", "apple"])
    ['rss-dnb', 'tree', 'apple', 'zebra']
    """
    places = {method: place for place, method in enumerate(METHOD_NAMES)}
    return sorted(set(methods), key=lambda method: (places.get(method, len(places)), method))


def style_for(method: str, methods: Iterable[str] = ()) -> Style:
    """Colour, line and marker of a method.

    A known method looks the same whatever it is compared with.  Colours differ for all colour
    vision as far as six can; line and marker together differ without any colour.

    Parameters
    ----------
    method : str
    methods : iterable of str, optional
        All that are compared, to find the place of an unknown method after the known ones.

    Returns
    -------
    Style
    """
    others = [m for m in method_order([*methods, method]) if m not in METHOD_NAMES]
    return style_of([*METHOD_NAMES, *others].index(method))


def key_line(style: Style, *, width: float = 1.5) -> Any:
    """Return a sample of a method's line, for a key."""
    from matplotlib.lines import Line2D  # late: an extra

    return Line2D(
        [],
        [],
        color=style.colour,
        linestyle=style.line,
        linewidth=width,
        marker=style.marker,
        markersize={"*": 8, "P": 6}.get(style.marker, 5),
        markeredgecolor="white",
        markeredgewidth=0.5,
    )

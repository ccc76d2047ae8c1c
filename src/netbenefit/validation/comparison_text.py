"""A comparison as plain text: measures, and differences to the first model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from netbenefit.cards.text import clean, display_width
from netbenefit.common.checks import FloatArray
from netbenefit.common.text_table import lines_of, number, p_value
from netbenefit.validation.comparison_differences import Difference

__all__ = ["comparison_text"]

_HEADS = {"auroc": "AUROC", "ece": "ECE", "aunbc": "AUNBC", "size": "size"}


class _Compared(Protocol):
    """What is printed of a :class:`netbenefit.validation.comparison.Comparison`."""

    @property
    def models(self) -> tuple[str, ...]: ...

    @property
    def not_refitted(self) -> tuple[str, ...]: ...

    @property
    def n_folds(self) -> int: ...

    @property
    def treat_all(self) -> float: ...

    @property
    def size(self) -> FloatArray: ...

    def means(self, metric: Any, split: Any = "test") -> dict[str, float]: ...

    def sds(self, metric: Any, split: Any = "test") -> dict[str, float]: ...

    def differences(self, metric: Any) -> dict[str, Difference]: ...


def comparison_text(found: _Compared) -> str:
    """Write three tables: held-out rows, training rows, differences."""
    mark = {name: clean(name) + "*" * (name in found.not_refitted) for name in found.models}
    parts = [
        f"Held-out rows: mean ± sd over {found.n_folds} folds",
        _measures(found, mark, "test"),
        f"AUNBC of acting on everybody: {found.treat_all:.3f}, on nobody: 0".replace("-", "−"),
        "",
        "The rows that were learnt from, for comparison",
        _measures(found, mark, "train"),
    ]
    if len(found.models) > 1:
        parts += [
            "",
            f"AUNBC on held-out rows, less that of {mark[found.models[0]]}",
            _differences(found, mark),
        ]
    if found.not_refitted:
        parts += [
            "",
            "* A card as it stands, not learnt anew in each fold. If it was learnt from these rows,"
            "\n  its numbers flatter it.",
        ]
    return "\n".join(parts)


def _measures(found: _Compared, mark: Mapping[str, str], split: str) -> str:
    metrics = ["auroc", "ece", "aunbc", *(["size"] if split == "test" else [])]
    means = {metric: found.means(metric, split) for metric in metrics}
    sds = {metric: found.sds(metric, split) for metric in metrics}
    rows = [["model", *(_HEADS[metric] for metric in metrics)]]
    for name, shown in mark.items():
        cells = [_spread(means[m][name], sds[m][name], 1 if m == "size" else 3) for m in metrics]
        rows.append([shown, *cells])
    return _ruled(rows[0], rows[1:])


def _differences(found: _Compared, mark: Mapping[str, str]) -> str:
    rows = [["model", "difference", "95% interval", "p"]]
    for name, gap in found.differences("aunbc").items():
        sign = "+" if round(gap.mean, 4) > 0 else ""
        ends = f"{number(gap.low, 4)} to {number(gap.high, 4)}"
        rows.append([mark[name], f"{sign}{number(gap.mean, 4)}", ends, p_value(gap.p)])
    return _ruled(rows[0], rows[1:])


def _spread(mean: float, sd: float, decimals: int) -> str:
    return "–" if math.isnan(mean) else f"{number(mean, decimals)} ± {number(sd, decimals)}"


def _ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a line below its head.

    >>> _ruled(["model", "size"], [["tree", "12"]]).splitlines()
    ['model  size', '───────────', 'tree     12']
    """
    lines = lines_of(head, rows)
    return "\n".join([lines[0], "─" * max(map(display_width, lines)), *lines[1:]])

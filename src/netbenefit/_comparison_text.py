"""A comparison as plain text: measures, and differences to the first model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from netbenefit._card_text import clean
from netbenefit._comparison_differences import Difference
from netbenefit._validation import FloatArray

__all__ = ["comparison_text"]

_HEADS = {"auroc": "AUROC", "ece": "ECE", "aunbc": "AUNBC", "size": "size"}


class _Compared(Protocol):
    """What is printed of a :class:`netbenefit.comparison.Comparison`."""

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
    return aligned(rows)


def _differences(found: _Compared, mark: Mapping[str, str]) -> str:
    rows = [["model", "difference", "95% interval", "p"]]
    for name, gap in found.differences("aunbc").items():
        sign = "+" if round(gap.mean, 4) > 0 else ""
        ends = f"{_number(gap.low, 4)} to {_number(gap.high, 4)}"
        p = "–" if math.isnan(gap.p) else "< 0.001" if gap.p < 0.001 else f"{gap.p:.3f}"
        rows.append([mark[name], f"{sign}{_number(gap.mean, 4)}", ends, p])
    return aligned(rows)


def _spread(mean: float, sd: float, decimals: int) -> str:
    return "–" if math.isnan(mean) else f"{_number(mean, decimals)} ± {sd:.{decimals}f}"


def _number(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of texts, the first to the left, the others to the right, a line below the head.

    >>> aligned([["model", "size"], ["tree", "12"]]).splitlines()
    ['model  size', '───────────', 'tree     12']
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "─" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])

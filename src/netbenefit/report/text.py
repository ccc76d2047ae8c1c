"""Measures and decision curves for a terminal, and for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from netbenefit.common import Table, format_number
from netbenefit.metrics import Measures, ModelRow, Thresholds
from netbenefit.report.svg import lines_of_curve


def comparison_table(rows: Sequence[ModelRow]) -> RichTable:
    """Models side by side, the first one in bold."""
    table = _table("", "AUROC", "AUNBC", "ECE")
    for i, row in enumerate(rows):
        numbers = (row.auroc, row.aunbc, row.expected_calibration_error)
        cells = [format_number(x, 3) for x in numbers]
        table.add_row(row.model, *cells, style="bold" if i == 0 else None)
    return table


def measure_table(measures: Measures) -> RichTable:
    """One measure per line."""
    m = measures
    table = RichTable(box=None, show_header=False, pad_edge=True)
    table.add_column()
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row("rows", f"{m.n:,.10g}", "")
    table.add_row("prevalence", f"{m.prevalence:.1%}", f"{m.events:,.10g} with the event")
    for name, value, note in (
        ("AUROC", m.auroc, "of risks; ties count one half"),
        ("", m.auroc_of_score, "of scores, of which there are more"),
        ("AUNBC", m.aunbc, "area under the net benefit curve / its length"),
        ("net benefit", m.weighted_net_benefit, "mean by the thresholds' weights"),
        ("ECE", m.expected_calibration_error, "expected calibration error"),
    ):
        if value is not None:
            table.add_row(name, format_number(value, 4), note)
    table.add_row("HL", format_number(m.hosmer_lemeshow, 2), "Hosmer-Lemeshow statistic")
    return table


def curve_table(curve: Table) -> RichTable:
    """Net benefit of all strategies, one threshold per line, the best one in bold."""
    lines = lines_of_curve(curve)
    first = next(iter(lines))
    avoided = curve["net_intervention_avoided"][curve["model"] == first]
    table = _table("Threshold", *lines, "Avoided per 100")
    for i, threshold in enumerate(lines[first][0]):
        benefits = [benefit[i] for _, benefit in lines.values()]
        cells = [Text(format_number(b, 4), "bold" * (b == max(benefits))) for b in benefits]
        per_100 = format_number(100 * avoided[i], 1)
        table.add_row(f"{100 * threshold:g}%", *cells, per_100)
    table.caption = "Net benefit; avoided: interventions per 100 rows, beside treating all."
    table.caption_justify = "left"
    return table


def evaluation_json(
    measures: Measures,
    curve: Table,
    outcome: str,
    thresholds: Thresholds,
    extra: Mapping[str, Any] | None = None,
) -> str:
    """Return measures, curve and ``extra`` as JSON; infinite or undefined numbers are null."""
    data: dict[str, Any] = {
        "outcome": outcome,
        **measures._asdict(),
        **(extra or {}),
        "thresholds": thresholds.given.tolist(),
        "decision_curve": records(curve),
    }
    return json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False)


def records(table: Table) -> list[dict[str, Any]]:
    """Return a table as JSON holds it: one object per row."""
    columns = [column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _table(*heads: str) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i else "left")
    return table


def _plain(value: Any) -> Any:
    """Replace numbers that JSON does not know by null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

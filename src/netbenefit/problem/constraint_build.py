"""What a problem makes of its settings: constraints, their arrays, and a word where they clash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from netbenefit.common.checks import InputError, IntArray, shorten
from netbenefit.data.patterns import PatternTable
from netbenefit.metrics.thresholds import Thresholds
from netbenefit.problem.constraint_draft import Draft, Form, Still, clash
from netbenefit.problem.constraint_values import position, whole_pair
from netbenefit.problem.constraints import Bounds, Constraint, MaxFeatures, Sign

__all__ = ["all_constraints", "in_arrays"]


def all_constraints(
    names: tuple[str, ...],
    sign: Mapping[Any, Any] | None,
    bounds: Mapping[Any, Any] | None,
    max_features: int | None,
    constraints: Sequence[Constraint],
) -> tuple[Constraint, ...]:
    """All constraints, by name; those in short form first."""
    asked: list[Constraint] = []
    for key, pair in _items(bounds, "bounds"):
        name = names[position(key, names, "bounds")]
        asked.append(Bounds(name, *whole_pair(name, pair)))
    for key, direction in _items(sign, "sign"):
        asked.append(Sign(names[position(key, names, "sign")], direction))
    if max_features is not None:
        asked.append(MaxFeatures(max_features))
    if isinstance(constraints, Constraint | str | Mapping) or not np.iterable(constraints):
        raise InputError(f"constraints must be a list of constraints, not {constraints!r}.")
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise InputError(
                f"{constraint!r} is not a constraint. Use the classes of netbenefit.problem.constraints, "
                "such as MaxFeatures(5)."
            )
        asked.append(constraint.named(names))
    return tuple(asked)


def in_arrays(
    patterns: PatternTable,
    thresholds: Thresholds,
    max_points: int,
    asked: tuple[Constraint, ...],
) -> tuple[Form, IntArray]:
    """Constraints in arrays, and an allowed vector; refuse constraints that clash."""
    # A constant column tells nothing apart; it could only move the floors of fractional scores.
    asks: list[Constraint | Still] = [*asked, *(Still(name) for name in patterns.constant)]
    draft = Draft(patterns, thresholds, max_points)
    for ask in asks:
        ask.add_to(draft)
    form = draft.finish()
    if form.start is None:
        raise InputError(_clash_text(clash(asks, patterns, thresholds, max_points)))
    return form, form.start


def _clash_text(culprits: Sequence[Any]) -> str:
    sizes = [c for c in culprits if isinstance(c, MaxFeatures)]
    forced = [c.feature for c in culprits if isinstance(c, Bounds)]
    if len(sizes) == 1 and len(forced) == len(culprits) - 1:
        return (
            f"bounds force {len(forced)} columns to have points ({shorten(forced)}), but "
            f"max_features is {sizes[0].limit}. Raise it, or let the bounds include 0."
        )
    listed = "; ".join(map(str, culprits))
    columns = {getattr(c, "feature", None) for c in culprits}
    if len(columns) == 1 and None not in columns:
        return (
            f"constraints on column {columns.pop()!r} contradict each other: {listed}. Change one "
            "of them."
        )
    return f"no card meets all constraints, because these clash: {listed}. Change one of them."


def _items(mapping: Mapping[Any, Any] | None, what: str) -> list[tuple[Any, Any]]:
    if mapping is None:
        return []
    if not isinstance(mapping, Mapping):
        raise InputError(f"{what} must be a mapping from column to setting, not {mapping!r}.")
    return list(mapping.items())

"""What an edit of a card takes, live figures included: ``python -m benchmarks.studio``.

All rows of a table are rows to learn from, and a third of them are held-out rows, too.  An edit is
on disk when it counts.  What was computed once is computed again: each edit is a new one.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import available, median, show
from netbenefit.estimators import RiskScoreClassifier
from netbenefit.studio import MoveCut, Session, SetPoints, SwitchOff
from reproduction.datasets import load_dataset

ROWS = 32_561
#: Edits of a kind, of which the median and the longest are shown.
REPEATS = 15
GOAL = 100


def adult() -> tuple[dict[str, Any], Any]:
    """Adult: 36 columns of 0 and 1."""
    X, y, names = load_dataset("adult")
    return {name: X[:, k] for k, name in enumerate(names)}, y


def raw(n: int) -> tuple[dict[str, Any], Any]:
    """Numbers and levels, whose cut points can be moved."""
    rng = np.random.default_rng(0)
    X: dict[str, Any] = {
        "age": rng.integers(17, 91, n),
        "years": rng.integers(1, 17, n),
        "hours": rng.integers(1, 100, n),
        "gain": np.where(rng.random(n) < 0.9, 0, rng.integers(100, 99_999, n)),
        "weight": rng.normal(70, 12, n).round(1),
        **{
            name: rng.choice([f"{name} {k}" for k in range(count)], n)
            for name, count in {"work": 9, "job": 15, "relation": 6}.items()
        },
    }
    odds = 0.04 * X["age"] + 0.3 * X["years"] + 2 * (X["gain"] > 5000) - 6
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def milliseconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - begin)


def measure(name: str, X: dict[str, Any], y: Any) -> list[list[str]]:
    """Milliseconds of each kind of edit, and of what is asked for less often."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RiskScoreClassifier(
            thresholds="0.05:0.5:0.05", teacher="logistic", time_limit=5.0
        ).fit(X, y)
    third = slice(None, None, 3)
    held_out = {column: values[third] for column, values in X.items()}, y[third]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        with Session(model, X, y, held_out=held_out, journal=path) as session:
            kinds = _times(session)
    table = model.learned_.problem.patterns
    size = [f"{name}, {len(y):,} rows", f"{len(table):,}", f"{table.n_features}"]
    return [
        [*(size if k == 0 else [""] * 3), kind, f"{median(own):.0f}", f"{max(own):.0f}"]
        for k, (kind, own) in enumerate(kinds.items())
    ]


def _times(session: Session) -> dict[str, list[float]]:
    """Times by what is done."""
    found: dict[str, list[float]] = {}

    def live(kind: str, edit: Any) -> None:
        def act() -> None:
            session.edit(edit)
            session.figures()
            session.standing()

        found.setdefault(kind, []).append(milliseconds(act))

    rules = list(session.draft.rules)
    session.figures()
    for k in range(REPEATS):
        rule = rules[k % len(rules)]
        live("points", SetPoints(rule, 11 + k))
        live("switch off", SwitchOff(rule))
    column = next((c for c in ("age", "weight") if _cuts(session, c)), None)
    for k in range(REPEATS if column else 0):
        cut = _cuts(session, str(column))[-1]
        live("cut point", MoveCut(str(column), cut, cut + 1 if k % 2 == 0 else cut - 2))
    for what, ask in {
        "ranking": session.ranking,
        "groups": lambda: session.groups(session.draft.terms[0].feature),
        "undo": session.undo,
    }.items():
        found[what] = [milliseconds(ask) for _ in range(REPEATS)]
    return found


def _cuts(session: Session, column: str) -> list[float]:
    features = {term.feature for term in session.draft.terms}
    return session.draft.cuts(column) if column in features else []


def main() -> None:
    """Print the table."""
    rows: list[list[str]] = []
    if "adult" in available():
        rows += measure("adult", *adult())
    rows += measure("raw table", *raw(ROWS))
    header = ["table", "patterns", "conditions", "what", "median ms", "longest ms"]
    show(f"An edit with its figures on both sides (goal: under {GOAL} ms)", header, rows)


if __name__ == "__main__":
    main()

"""A first card, on data that everybody has: it tells malignant breast tumours from benign ones."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netbenefit.cli.model import CommandClassifier
from netbenefit.common import FloatArray, Table, write_text
from netbenefit.data import Outcome, load_breast_cancer, write_csv
from netbenefit.estimators import Learned
from netbenefit.export import to_calculator
from netbenefit.metrics import ModelRow, Thresholds, compare
from netbenefit.report import validation_page

#: Risks from which people might act: 19 false alarms accepted for a tumour found, down to one.
THRESHOLDS = Thresholds.parse("0.05:0.5:0.05")
#: Short enough to add up in one's head.
MAX_RULES, MAX_POINTS = 5, 5
_TEST_SHARE, _SPLIT_SEED = 0.3, 0
#: The threshold that the calculator starts with.
_ACT_FROM = 0.1


class DemoData(NamedTuple):
    """Raw measurements and outcomes of the tumours to learn from and of those held out."""

    train: dict[str, FloatArray]
    train_event: NDArray[np.bool_]
    test: dict[str, FloatArray]
    test_event: NDArray[np.bool_]


class DemoResult(NamedTuple):
    """The card, and how it does on the tumours that were held out."""

    learned: Learned
    rows: list[ModelRow]
    logistic: FloatArray  #: risks that a logistic regression gives these tumours


def demo_data() -> DemoData:
    """Split the breast-cancer data, keeping the share of malignant tumours in both parts."""
    from sklearn.model_selection import train_test_split  # late: slow to import

    columns, event = load_breast_cancer()
    first, second = train_test_split(
        np.arange(event.size), test_size=_TEST_SHARE, random_state=_SPLIT_SEED, stratify=event
    )
    parts = [{name: values[rows] for name, values in columns.items()} for rows in (first, second)]
    return DemoData(parts[0], event[first], parts[1], event[second])


def run_demo(data: DemoData, *, time_limit: float | None = 5.0, quiet: bool = True) -> DemoResult:
    """Learn a card and measure it.

    1. Cut each measurement at round numbers, found on the training part.
    2. Learn a card of at most five rules; larger measurements may only add points.
    3. On the held-out part, compare it with a logistic regression on the same raw measurements.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # 1. and 2.
    model = CommandClassifier(
        binner="auto",
        thresholds=THRESHOLDS,
        max_points=MAX_POINTS,
        max_features=MAX_RULES,
        sign=dict.fromkeys(data.train, "+"),
        time_limit=time_limit,
        random_state=0,
        n_jobs=-1,
    ).follow(quiet, columns=False)
    event = data.train_event
    model.fit(data.train, Outcome(event, np.array([False, True]), "malignancy"))
    learned = model.learned_
    # 3.
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    logistic.fit(np.column_stack(list(data.train.values())), data.train_event)
    test = np.column_stack(list(data.test.values()))
    risks = {
        f"Card, {learned.card.size} rules": learned.card.risk(data.test),
        _other(data): logistic.predict_proba(test)[:, 1],
    }
    rows = compare(data.test_event, risks, THRESHOLDS)
    return DemoResult(learned, rows, risks[_other(data)])


def _other(data: DemoData) -> str:
    return f"Logistic regression, {len(data.test)} columns"


def save_demo(data: DemoData, result: DemoResult, folder: Path) -> dict[str, Path]:
    """Write card, report, calculator and held-out rows; return the files by what they are."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "card": folder / "card.json",
        "report": folder / "report.html",
        "calculator": folder / "calculator.html",
        "held-out rows": folder / "held_out.csv",
        "all rows": folder / "tumours.csv",
    }
    learnt, held_out = data.train_event, data.test_event
    result.learned.card.save(files["card"])
    page = validation_page(
        result.learned.card,
        data.test,
        held_out,
        data="tumours that were held out",
        others={_other(data): result.logistic},
        lead=(
            f"Learnt from {learnt.size} breast tumours, {learnt.sum()} of them malignant. Each "
            "rule asks one question about a measurement of the cell nuclei (“worst” is the mean of "
            "the three largest values). Add up the points, then look up the risk of the score."
        ),
        note="One split of a small table: other splits give other numbers.",
    )
    write_text(files["report"], page)
    write_text(files["calculator"], to_calculator(result.learned.card, threshold=_ACT_FROM))
    rows = Table({**data.test, "malignant": held_out.astype(np.int64)})
    write_csv(rows, files["held-out rows"])
    columns, event = load_breast_cancer()
    write_csv(Table({**columns, "malignant": event.astype(np.int64)}), files["all rows"])
    return files

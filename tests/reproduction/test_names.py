"""Names, numbers and verdicts as the tables print them."""

from __future__ import annotations

import numpy as np

from netbenefit import PerUnit, Rule, Scorecard, Thresholds
from netbenefit.common.table import Table
from reproduction.curves import stack_tables
from reproduction.fasterrisk import Pool, _first_allowed
from reproduction.figures import page_text
from reproduction.names import MEASURES, method_order, title_of
from reproduction.rank_tables import _p_text, rank_by
from reproduction.run import without_calibration
from reproduction.solver_tables import _status_text, _verdict
from reproduction.summary import Cell, bullets, document, run_words, spread, summarise

ROW = {"dataset": "heart", "method": "lasso", "setting": "original", "fold": 0}


def test_names() -> None:
    assert [title_of(name) for name in ("heart", "lasso", "my own")] == [
        *("Heart disease", "LASSO", "my own")
    ]
    order = method_order(["zebra", "tree", "rss-dnb", "apple"])
    assert order == ["rss-dnb", "tree", "apple", "zebra"]


def test_words() -> None:
    assert bullets(["one", "two"]) == "- one\n- two"
    assert document("Ranks", "", "Words.") == "# Ranks\n\nWords.\n"
    assert spread(Cell.of(np.array([2.0, 4.0])), "size", 1) == " (2–4)"
    assert (_p_text(0.0004), _p_text(0.02)) == ("< 0.001", "0.020")
    assert _status_text(["optimal", "time_limit", "optimal"]) == "optimal 2, time limit 1"
    verdicts = [_verdict(ours, 0.5, 0.001) for ours in (0.498, 0.4995, 0.502)]
    assert verdicts == ["lower", "same", "higher"]
    words = run_words(summarise([{**ROW, "budget": "quick", "version": "1.0"}]))
    assert words == "Budget of the run: quick. Version of the package: 1.0."
    text = page_text(["roc"], ["tree"], ["adult: not drawn."])
    assert "![ROC curves](roc.svg)" in text
    assert text.endswith("- adult: not drawn.\n")


def test_ranks_and_tables() -> None:
    methods = ["lasso", "slim", "tree"]
    rows = [
        {**ROW, "dataset": dataset, "method": method, "test_ece": i}
        for dataset in ("heart", "mammo")
        for i, method in enumerate(methods)
    ]
    assert rank_by(summarise(rows), MEASURES["test_ece"], methods).rank("slim") == 2.0
    assert stack_tables([Table({"x": [1]}), Table({"x": [2]})])["x"].tolist() == [1, 2]


def test_cards() -> None:
    rules = [Rule(PerUnit("late"), 1)]
    grid = Thresholds.of([0.0, 0.1, 0.5])
    card = without_calibration(Scorecard(rules, [(0, 0.05), (1, 0.22), (2, 0.7)], grid))
    assert card.risks == ((0, 0.0), (1, 0.1), (2, 0.5))
    points = np.array([[11.0, 0.0], [3.0, -2.0]])  # the first was rounded past the bound
    assert _first_allowed(Pool(np.ones(2), np.zeros(2), points, 0.0, ""), 2, 10) == 1

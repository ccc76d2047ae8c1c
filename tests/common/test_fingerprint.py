"""Fingerprints tell values apart, not objects; the bar shows on terminals only."""

from __future__ import annotations

import io
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rich.console import Console
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from netbenefit import Binner, InputError, RiskScoreClassifier, Thresholds
from netbenefit.common.journal import fingerprint_of
from netbenefit.common.progress import TaskBar, time_left
from netbenefit.solvers.local_search import LocalSearch

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": pd.Categorical(["u", "v"])})

#: No two of these are the same data or the same settings.
DIFFERENT: list[Any] = [
    None,
    0,
    False,
    0.0,
    -0.0,
    "0",
    "",
    [],
    {},
    [[1], 2],
    [1, [2]],
    [1, 2],
    ["ab", "c"],
    ["a", "bc"],
    {"a": 1},
    {1: "a"},
    {1},
    np.float64(0.5),
    0.5,
    np.arange(4),
    np.arange(4).reshape(2, 2),
    np.arange(4.0),
    np.arange(4, dtype=np.int8),
    np.array([1, "x"], dtype=object),
    np.array(["1", "x"], dtype=object),
    np.array(["1", "x"]),
    np.ma.array([1, 2], mask=[0, 1]),
    np.ma.array([1, 2], mask=[1, 0]),
    FRAME,
    FRAME.rename(columns={"a": "d"}),
    FRAME.assign(a=[2, 1]),
    FRAME.assign(a=[1.0, 2.0]),
    FRAME["a"],
    pl.DataFrame({"a": [1, 2]}),
    pl.DataFrame({"a": [1, 3]}),
    pa.table({"a": [1, 5]}),
    LogisticRegression(),
    LogisticRegression(C=2),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), LogisticRegression(C=2)),
    RiskScoreClassifier(),
    RiskScoreClassifier(binner=Binner()),
    RiskScoreClassifier(binner=Binner(max_bins=3)),
    RiskScoreClassifier(thresholds=Thresholds.of([0.1, 0.2])),
    Thresholds.of([0.1, 0.3]),
    Thresholds.of([0.1, 0.3], weights="length"),
    KFold(3),
    KFold(4),
    np.sin,
    len,
    fingerprint_of,
    LogisticRegression,
    partial(max, 1),
    partial(max, 2),
]


def test_different_values_differ() -> None:
    found = [fingerprint_of(value=value) for value in DIFFERENT]
    assert len(set(found)) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.arange(3), np.arange(6)[:3]),
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        (FRAME, FRAME.copy()),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (RiskScoreClassifier(), RiskScoreClassifier(n_jobs=3, verbose=1, callback=print)),
        (LocalSearch(), LocalSearch(n_jobs=2)),
        (["a" + "b"], ["".join(["a", "b"])]),
    ],
)
def test_the_same_values_agree(one: Any, other: Any) -> None:
    assert fingerprint_of(value=one) == fingerprint_of(value=other)


def test_what_was_used_or_fitted_since_stays_the_same() -> None:
    grid = Thresholds.of([0.1, 0.3])
    before = fingerprint_of(value=grid)
    assert grid.odds.size == 3  # cached from now on
    assert fingerprint_of(value=grid) == before
    model = LogisticRegression()
    before = fingerprint_of(value=model)
    model.fit([[0], [1]], [0, 1])
    assert fingerprint_of(value=model) == fingerprint_of(value=clone(model)) == before


def test_another_process_finds_the_same() -> None:
    code = (
        "from netbenefit.common.journal import fingerprint_of; import pandas as pd\n"
        "from netbenefit import Binner\n"
        "frame = pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': pd.Categorical(['u', 'v'])})\n"
        "model = Binner(max_bins=3)\n"
        "print(fingerprint_of(frame=frame, model=model, names={'u', 'v', 'w'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    model = Binner(max_bins=3)
    assert ran.stdout.strip() == fingerprint_of(frame=FRAME, model=model, names={"w", "v", "u"})


def test_what_has_no_name_is_refused() -> None:
    with pytest.raises(InputError, match="has no name of its own"):
        fingerprint_of(value=lambda x: x)
    with pytest.raises(InputError, match="cannot be distinguished from another"):
        fingerprint_of(value=(i for i in ()))


# -- the bar ---------------------------------------------------------------------------------------


def test_bar_is_quiet_without_a_terminal() -> None:
    file = io.StringIO()
    with TaskBar("folds", console=Console(file=file)) as bar:
        bar(1, 2)
    assert file.getvalue() == ""


def test_bar_shows_counts_and_time_on_a_terminal() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with TaskBar("folds", console=console) as bar:
        bar(1, 4)
        bar(2, 4)
    shown = file.getvalue()
    assert "folds" in shown
    assert "2/4" in shown
    assert "left" in shown
    hidden = io.StringIO()
    with TaskBar("x", shown=False, console=Console(file=hidden, force_terminal=True)) as bar:
        bar(1, 2)
    assert hidden.getvalue() == ""


def test_time_left_counts_only_what_this_run_has_done() -> None:
    assert time_left(10.0, 5, 5) == "about 10 s left"
    assert time_left(3000.0, 1, 3) == "about 150 min left"
    assert time_left(600.0, 1, 100) == "about 17 h left"
    assert time_left(0.0, 0, 5) == time_left(9.0, 3, 0) == ""

"""Without a teacher, or with one whose word counts nothing, the objective is the published one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from netbenefit.binning import Binner
from netbenefit.estimators.risk_score import RiskScoreClassifier
from netbenefit.estimators.rss_dnb import RSSDNBClassifier
from netbenefit.problem.constraints import MinTPR
from netbenefit.solvers.local_search import LocalSearch
from tests.helpers.box_prover import BranchAndBound


@pytest.mark.parametrize("untaught", [{"teacher": None}, {"prior_strength": 0}])
@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"solver": BranchAndBound(time_limit=None), "penalty": "paper"},
        {"solver": LocalSearch(time_limit=None, max_rounds=1), "penalty": "auto"},
        {
            "solver": BranchAndBound(time_limit=None),
            "penalty": 0.003,
            "constraints": [MinTPR(0.5, "3/4")],
        },
    ],
)
def test_bit_for_bit(untaught: dict[str, Any], binned: bool, settings: dict[str, Any]) -> None:
    """Where each column has one condition: then a question is a rule."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (120, 3))
    y = rng.random(120) < 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0.2] - 1)))
    rows = {f"x{k}": X[:, k] for k in range(3)} if binned else X
    common = {
        "thresholds": [0.2, 0.5],
        "max_points": 2,
        "binner": Binner(max_bins=2) if binned else None,
    }
    own = {"max_questions": None, "start_at_zero": False}
    ours = RiskScoreClassifier(**untaught, **common, **settings, **own).fit(rows, y)
    theirs = RSSDNBClassifier(**common, **settings).fit(rows, y)
    assert ours.coef_.tolist() == theirs.coef_.tolist()
    assert ours.cutoffs_.tolist() == theirs.cutoffs_.tolist()
    one, two = (json.loads(model.scorecard_.to_json()) for model in (ours, theirs))
    for card in (one, two):
        card["provenance"].pop("seconds")
        card.pop("digest")  # which the seconds are part of
    assert one == two
    one, two = (json.loads(model.certificate_.to_json()) for model in (ours, theirs))
    for certificate in (one, two):
        certificate.pop("digest")
        if certificate["proof"] is not None:
            certificate["proof"]["details"] = {
                key: value
                for key, value in certificate["proof"]["details"].items()
                if "seconds" not in key
            }
        certificate["problem"].pop("digest")
        for question in certificate["problem"]["questions"]:
            question.pop("name")  # of the column, or of its condition
    assert one == two
    assert one["problem"]["teacher"] is None
    assert ours.scorecard_.provenance.teacher is None

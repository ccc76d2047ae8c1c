"""The default search on the published data sets, where they are present."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.common import TARGETS, load_problem, reached
from netbenefit.solvers.annealing import Annealing
from netbenefit.solvers.local_search import LocalSearch


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_search_reaches_the_best_value_known(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETBENEFIT_DATA", str(data_folder))
    problem = load_problem(name)
    # Limited by rounds, so that the answer does not depend on the machine.
    result = LocalSearch(time_limit=None, max_rounds=5 if name == "heart" else 2).solve(problem)
    assert reached(name, result.objective), (result.objective, TARGETS[name])
    assert result.objective == float(problem.evaluate(result.points).objective)
    assert result.objective >= Annealing().solve(problem).objective

"""Members of the stack, against scikit-learn and against what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from netbenefit.teachers import members
from netbenefit.teachers.crossfit import LEAST_HELP, Cells, log_loss, stack
from netbenefit.teachers.members import (
    _fewer_levels,
    _median,
    _merged,
    _spread,
    expit,
    fit_path,
    log_odds,
)


def standard_rows(seed: int, n: int = 300, p: int = 6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = (rng.random(n) < expit(x[:, 0] - 0.7 * x[:, 1] - 1)).astype(float)
    return x, y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_ridge_path_is_scikit_learns(seed: int) -> None:
    x, y, mass = standard_rows(seed)
    intercepts, slopes = fit_path(x, y, mass, "L2")
    for k, strength in enumerate(members._L2_PENALTIES):
        model = LogisticRegression(
            C=1 / (strength * mass.sum()), solver="newton-cholesky", tol=1e-8
        )
        model.fit(x, y, sample_weight=mass)
        assert np.allclose(slopes[k], model.coef_[0], atol=2e-3)
        assert np.isclose(intercepts[k], model.intercept_[0], atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_lasso_path_is_optimal(seed: int) -> None:
    """Zero is a subgradient: |gradient| = λ where a slope is not 0, less elsewhere."""
    x, y, mass = standard_rows(seed, p=20)
    intercepts, slopes = fit_path(x, y, mass, "L1")
    share = mass / mass.sum()
    strongest = np.abs((share * (y - share @ y)) @ x).max()
    for k, ratio in enumerate(members._L1_SHARES):
        pull = share * (y - expit(intercepts[k] + x @ slopes[k]))
        gradient, strength = pull @ x, ratio * strongest
        active = slopes[k] != 0
        assert abs(pull.sum()) < 1e-4
        assert np.allclose(gradient[active], strength * np.sign(slopes[k][active]), atol=2e-3)
        assert (np.abs(gradient[~active]) < strength + 2e-3).all()
    assert np.count_nonzero(slopes[0]) < np.count_nonzero(slopes[-1])


@pytest.mark.parametrize("penalty", ["L1", "L2"])
def test_paths_stay_finite_where_columns_tell_everything(penalty: str) -> None:
    x = np.linspace(-1.7, 1.7, 40)[:, None]
    for y in ((x[:, 0] > 0).astype(float), (x[:, 0] > 1.65).astype(float)):
        intercepts, slopes = fit_path(x, y, np.ones(40), penalty)  # type: ignore[arg-type]
        assert np.isfinite(intercepts).all()
        assert np.isfinite(slopes).all()


def test_merging_equal_rows_changes_no_optimum() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (400, 3)).astype(float)
    y = (rng.random(400) < expit(x @ [1.0, -1.0, 0.5])).astype(float)
    merged = _merged(x, y, np.ones(400))
    assert merged[0].shape[0] <= 16
    assert merged[2].sum() == 400
    for both in zip(fit_path(x, y, np.ones(400), "L1"), fit_path(*merged, "L1"), strict=True):
        assert np.allclose(*both, atol=1e-3)


def test_columns_for_logistic_regression() -> None:
    columns = np.array([[0.0, 5.0], [1.0, np.nan], [np.nan, 7.0], [2.0, 9.0]])
    train = np.array([10, 20, 30, 5])
    made = _spread(columns, np.array([True, False]), train)
    assert made.tolist() == [
        [0, 1, 0, 0, 0, 5],  # missing, level 0, level 1, other, second missing, second
        [0, 0, 1, 0, 1, 7],  # the median of 5 (10 times), 7 (30 times) and 9 (5 times)
        [1, 0, 0, 0, 0, 7],
        [0, 0, 0, 1, 0, 9],  # a rare level
    ]
    assert _median(np.array([3.0]), np.array([0])) == 0


def test_rare_levels_are_merged_for_boosting() -> None:
    values = np.append(np.arange(300.0), np.nan)
    units = np.append(np.arange(300) + 1, 1)
    merged = _fewer_levels(values, units)
    assert np.isnan(merged[-1])
    assert np.nanmax(merged) == 254
    assert (merged[:46] == 254).all()
    assert np.unique(merged[46:300]).size == 254
    assert _fewer_levels(values[:200], units[:200]) is not None


# -- the stack -------------------------------------------------------------------------------------


def random_cells(seed: int) -> tuple[Cells, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 400))
    truth = rng.normal(size=n) - 1
    event = rng.random(n) < expit(truth)
    event[:2] = [True, False]
    cells = Cells(event, rng.integers(1, 4, n).astype(float), np.full(n, log_odds(event.mean())))
    noise = rng.uniform(0.1, 3, 3)
    return cells, {name: truth + rng.normal(0, s, n) for name, s in zip("abc", noise, strict=True)}


def test_no_weight_is_negative_and_no_member_is_much_better() -> None:
    for seed in range(100):
        cells, odds = random_cells(seed)
        weights, combined = stack(cells, odds)
        assert list(weights) == list(odds)
        assert min(weights.values()) >= 0
        loss = log_loss(cells, combined)
        for member in odds.values():
            assert loss <= log_loss(cells, member) + LEAST_HELP
        assert loss <= log_loss(cells, cells.base) + 1e-9


def test_weights_are_the_best_without_negative_ones() -> None:
    from scipy.optimize import minimize

    for seed in range(30):
        cells, odds = random_cells(seed)
        extra = np.array(list(odds.values())) - cells.base
        found = minimize(
            lambda w, c=cells, e=extra: log_loss(c, c.base + w @ e),
            np.full(3, 0.3),
            bounds=[(0, None)] * 3,
        )
        _, combined = stack(cells, odds)
        assert log_loss(cells, combined) <= found.fun + 3 * LEAST_HELP


def test_members_that_do_not_help_get_no_weight() -> None:
    cells, odds = random_cells(4)
    good = min(odds.values(), key=lambda member: log_loss(cells, member))
    copy = stack(cells, {"first": good, "again": good})[0]
    assert copy["first"] > 0
    assert copy["again"] == 0
    assert stack(cells, {"contrary": 2 * cells.base - good})[0] == {"contrary": 0.0}
    assert stack(cells, {"flat": cells.base.copy()})[0] == {"flat": 0.0}
    weights, combined = stack(cells, {})
    assert weights == {}
    assert np.array_equal(combined, cells.base)


def test_members_that_know_the_outcome_get_finite_weights() -> None:
    cells, _ = random_cells(2)
    weights, combined = stack(cells, {"oracle": np.where(cells.event, 5.0, -5.0)})
    assert 0 < weights["oracle"] < 20
    assert np.isfinite(combined).all()

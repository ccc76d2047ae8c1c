"""Bounds between grouped AUROC and AUNBC, by simulation, and the predictions that reach them."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from scipy.optimize import brentq

import netbenefit.theory as theory
from netbenefit import InputError, Thresholds, aunbc, auroc, grouped_auroc
from netbenefit.theory import (
    boundary_model,
    boundary_risks,
    correlated_risks,
    lower_aunbc,
    lower_grouped_auroc,
    upper_aunbc,
    upper_grouped_auroc,
    upper_is_tight,
)
from tests.helpers.full import more_cases
from tests.helpers.theory_cases import CASES, GRIDS, random_grid, random_model, some

pytestmark = more_cases

VERSIONS = ("corrected", "paper")


def test_public_names_are_sorted_and_there() -> None:
    assert theory.__all__ == sorted(theory.__all__)
    assert all(hasattr(theory, name) for name in theory.__all__)


# -- slow twins: the printed formulas, and the corrected ones by a fine grid -----------------------


def plain_sums(grid: Thresholds) -> tuple[list[float], list[float]]:
    """1 − V_{k−1} (which is 1 − p_k on a grid over [0, 1]) and P_k, for k = 0 … M."""
    lengths = grid.length_weights.tolist()
    left = [1.0 - sum(lengths[:k]) for k in range(len(lengths))]
    costs = [sum(w * p / (1 - p) for w, p in zip(lengths[: k + 1], grid.values, strict=False))
             for k in range(len(lengths))]  # fmt: skip
    return left, costs


def printed_upper(grid: Thresholds, a0: float, x: float) -> tuple[float, float]:
    """max_k A_k as printed, and TP_K/N = a_K of the model that is claimed to reach it."""
    left, P = plain_sums(grid)
    found = []
    for k in range(1, len(grid)):
        if left[k] * a0 * (1 - x) >= (1 - a0) * P[k]:  # x ≤ 1 − (1−a0) P_k / ((1−p_k) a0)
            value, b1 = -a0 * left[k] * (1 - x) + a0 - (1 - a0) * P[k], 1 - a0
        else:
            value = a0 - 2 * (P[k] * left[k] * a0 * (1 - a0) * (1 - x)) ** 0.5
            b1 = (left[k] * a0 * (1 - a0) * (1 - x) / P[k]) ** 0.5
        a_k = a0 - (1 - x) * a0 * (1 - a0) / b1 if b1 > 0 else (a0 if x == 1 else -np.inf)
        found.append((value, a_k))
    return max(found)


def printed_lower_auroc(grid: Thresholds, a0: float, y: float) -> float:
    """max(min_k B_k, 0) as printed."""
    left, P = plain_sums(grid)
    found = []
    for k in range(1, len(grid)):
        if y <= a0 - 2 * (1 - a0) * P[k]:
            found.append(1 - (a0 - y - (1 - a0) * P[k]) / (a0 * left[k]))
        else:
            found.append(1 - (a0 - y) ** 2 / (4 * P[k] * left[k] * a0 * (1 - a0)))
    return max(min(found), 0.0)


def corrected_upper(grid: Thresholds, a0: float, G: float) -> float:
    """The maximum of docs/method.md §7 over b_1 in [(1 − G) b0, b0], by trying many b_1."""
    left, P = plain_sums(grid)
    if G == 1:  # b_1 may be 0, and then nothing is lost
        return a0
    b0 = 1 - a0
    b = np.linspace((1 - G) * b0, b0, 4001)
    return max(float((a0 - left[k] * a0 * b0 * (1 - G) / b - b * P[k]).max())
               for k in range(1, len(grid)))  # fmt: skip


# -- simulation ------------------------------------------------------------------------------------


def test_no_model_violates_a_bound() -> None:
    rng = np.random.default_rng(1)
    touched = {"upper": 0, "lower": 0}
    for _ in range(CASES):
        model = random_model(rng)
        grid, a0 = model.grid, model.share
        G = grouped_auroc(model.y, model.risk, grid, sample_weight=model.weight)
        area = aunbc(model.y, model.risk, grid, sample_weight=model.weight)
        slack = 1e-10 * (1 + grid.odds[-1])
        for version in VERSIONS:
            low, high = (f(grid, a0, G, version) for f in (lower_aunbc, upper_aunbc))
            assert low - slack <= area <= high + slack
            # Back: a bound that is steep there turns rounding of AUNBC into more.
            least, most = (
                f(grid, a0, area, version) for f in (lower_grouped_auroc, upper_grouped_auroc)
            )
            assert least - 1e-7 <= G <= most + 1e-7
            if version == "corrected":
                touched["upper"] += area > high - 1e-9
                touched["lower"] += area < low + 1e-9
    assert min(touched.values()) > CASES // 100, touched  # or the test would prove little


def test_corrected_bounds_lie_within_the_published_ones() -> None:
    rng = np.random.default_rng(2)
    G = np.linspace(0, 1, 41)
    for _ in range(some(10)):
        grid, a0 = random_grid(rng), rng.uniform(0.001, 0.999)
        scale = 1 + grid.odds[-1]
        assert (upper_aunbc(grid, a0, G) <= upper_aunbc(grid, a0, G, "paper") + 1e-12).all()
        assert (lower_aunbc(grid, a0, G) >= lower_aunbc(grid, a0, G, "paper") - 1e-12).all()
        assert (lower_aunbc(grid, a0, G) <= upper_aunbc(grid, a0, G) + 1e-12 * scale).all()
        for bound in (upper_aunbc, lower_aunbc):  # both increase
            assert (np.diff(bound(grid, a0, G)) >= -1e-12 * scale).all()


def test_bounds_are_those_of_the_formulas() -> None:
    rng = np.random.default_rng(3)
    for _ in range(some(4)):
        grid, a0, G = random_grid(rng), rng.uniform(0.01, 0.99), rng.choice([0, 1, rng.random()])
        assert upper_aunbc(grid, a0, G, "paper") == pytest.approx(printed_upper(grid, a0, G)[0])
        tried = corrected_upper(grid, a0, G)
        assert tried - 1e-12 <= upper_aunbc(grid, a0, G) <= tried + 1e-4 * (1 + grid.odds[-1])
        _, P = plain_sums(grid)
        printed = a0 * grid.length_weights[0] - (1 - a0) * P[-1]
        assert lower_aunbc(grid, a0, G, "paper") == pytest.approx(printed)
        assert lower_aunbc(grid, a0, 0.0) == pytest.approx(printed)


EDGE_GRIDS = [
    Thresholds.of([0.0, 0.5]),
    Thresholds.of([0.2, 0.3, 0.75]),
    Thresholds.of([0.0, 0.0857, 0.1102, 0.4491, 0.6975]),
]


@pytest.mark.parametrize("grid", EDGE_GRIDS[:2], ids=lambda grid: f"{len(grid)} levels")
def test_all_small_models_keep_to_both_bounds(grid: Thresholds) -> None:
    """Every way to put three events and four non-events on the levels."""
    y, levels = np.array([1] * 3 + [0] * 4), range(len(grid))
    for events in combinations_with_replacement(levels, 3):
        for others in combinations_with_replacement(levels, 4):
            risk = grid.array[[*events, *others]]
            G, area = grouped_auroc(y, risk, grid), aunbc(y, risk, grid)
            assert lower_aunbc(grid, 3 / 7, G) - 1e-12 <= area
            assert area <= upper_aunbc(grid, 3 / 7, G) + 1e-12


def brute_force(grid: Thresholds, share: float, G: float) -> tuple[float, float]:
    """Least and most AUNBC: by linear programming, events and non-events need two levels each."""
    V, P = np.cumsum(grid.length_weights), np.cumsum(grid.length_weights * grid.odds)
    z = np.unique(np.append(np.linspace(0, 1, 801), [G, 1 - G]))
    found = []
    levels = range(len(grid))
    for (s1, s2), (t1, t2) in product(combinations_with_replacement(levels, 2), repeat=2):
        # Share of non-events that an event on s1 (s2) beats, given the share z of them on t2.
        first, second = ((s >= t1) * (1 - z) + (s >= t2) * z for s in (s1, s2))
        with np.errstate(all="ignore"):
            x = (G - first) / (second - first)
        for on_second in (x, np.where(np.isclose(first, G), 0.0, np.nan)):
            usable = (on_second >= -1e-12) & (on_second <= 1 + 1e-12)
            on, w = on_second[usable], z[usable]
            events = (1 - on) * V[s1] + on * V[s2]
            found += list(share * events - (1 - share) * ((1 - w) * P[t1] + w * P[t2]))
    return min(found), max(found)


@pytest.mark.parametrize("grid", EDGE_GRIDS, ids=lambda grid: f"{len(grid)} levels")
def test_bounds_are_those_of_brute_force(grid: Thresholds) -> None:
    for share, G in product([0.03, 0.4, 0.9], [0.0, 0.3, 0.72, 0.97, 1.0]):
        least, most = brute_force(grid, share, G)
        upper, lower = upper_aunbc(grid, share, G), lower_aunbc(grid, share, G)
        assert most - 1e-9 <= upper <= most + 2e-3
        assert least - 2e-3 <= lower <= least + 1e-9


# -- where the published bound is not tight --------------------------------------------------------


def test_published_bound_is_too_high_exactly_where_a_k_would_be_negative() -> None:
    rng = np.random.default_rng(4)
    seen = {True: 0, False: 0}
    for _ in range(CASES):
        grid, a0, G = random_grid(rng), rng.uniform(0.01, 0.99), rng.uniform(0, 1) ** 2
        value, a_k = printed_upper(grid, a0, G)
        if abs(a_k) < 1e-6:
            continue  # on the border itself rounding decides
        reached = a_k >= 0
        assert bool(upper_is_tight(grid, a0, G)) == reached
        gap = value - upper_aunbc(grid, a0, G)
        assert (gap <= 1e-12) if reached else (gap > 1e-13)
        seen[reached] += 1
    assert min(seen.values()) > CASES // 50, seen


def test_published_bound_is_too_high_on_a_known_share_of_a_grid() -> None:
    """On the grid of tenths, for prevalence and AUROC 0.01 … 0.99: between 7 and 8 per cent."""
    at = np.arange(1, 100) / 100
    loose = np.array([~upper_is_tight(None, a0, at) for a0 in at])
    lower = np.array(
        [upper_aunbc(None, a0, at, "paper") > upper_aunbc(None, a0, at) + 1e-14 for a0 in at]
    )
    np.testing.assert_array_equal(loose, lower)
    assert loose.mean() == pytest.approx(0.0765, abs=0.0005)
    # Only where events are very rare, or many.
    assert at[loose.any(axis=1)].tolist() == [0.01, *np.arange(75, 96) / 100]


def test_no_small_model_reaches_the_published_bound_where_it_is_not_tight() -> None:
    """All ways to put six events and two non-events on three levels."""
    grid, y = Thresholds.of([0, 0.5, 0.9]), np.repeat([1, 0], [6, 2])
    loose = nearest = 0
    for events in combinations_with_replacement(range(3), 6):
        for others in combinations_with_replacement(range(3), 2):
            risk = grid.array[[*events, *others]]
            G, area = grouped_auroc(y, risk, grid), aunbc(y, risk, grid)
            assert area <= upper_aunbc(grid, 0.75, G) + 1e-12
            if not upper_is_tight(grid, 0.75, G):
                loose += 1
                assert area < upper_aunbc(grid, 0.75, G, "paper") - 1e-3
                nearest += area > upper_aunbc(grid, 0.75, G) - 1e-12
    assert loose > 10
    assert nearest > 0


def test_ordinary_auroc_violates_the_bounds_now_and_then() -> None:
    rng = np.random.default_rng(5)
    broken = 0
    for _ in range(some(2)):
        m = random_model(rng)
        G = auroc(m.y, m.risk, sample_weight=m.weight)
        area = aunbc(m.y, m.risk, m.grid, sample_weight=m.weight)
        broken += area > upper_aunbc(m.grid, m.share, G) + 1e-6
    assert 0.02 < broken / some(2) < 0.6


# -- and back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_inverses_undo_the_bounds(version: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(some(4)):
        grid, a0 = random_grid(rng), rng.uniform(0.01, 0.99)
        floor = float(lower_aunbc(grid, a0, 0.0))
        area = rng.uniform(max(floor, -a0) if rng.random() < 0.5 else floor, a0)
        least = float(lower_grouped_auroc(grid, a0, area, version))
        gap = float(upper_aunbc(grid, a0, least, version)) - area
        assert gap == pytest.approx(0, abs=1e-9) if least > 0 else gap >= -1e-9
        most = float(upper_grouped_auroc(grid, a0, area, version))
        gap = area - float(lower_aunbc(grid, a0, most, version))
        if version == "corrected" and most < 1:
            assert gap == pytest.approx(0, abs=1e-9 * (1 - floor))
        else:
            assert most == 1.0
            assert gap >= -1e-9


@pytest.mark.parametrize("version", VERSIONS)
def test_inverses_agree_with_bisection(version: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(some(20)):
        grid, a0 = random_grid(rng), rng.uniform(0.05, 0.95)
        for bound, inverse in (
            (upper_aunbc, lower_grouped_auroc),
            (lower_aunbc, upper_grouped_auroc),
        ):
            ends = [float(bound(grid, a0, G, version)) for G in (0.0, 1.0)]
            if ends[1] - ends[0] < 1e-6:
                continue
            area = rng.uniform(*ends)
            root = brentq(lambda G: float(bound(grid, a0, G, version)) - area, 0, 1, xtol=1e-14)  # noqa: B023
            assert inverse(grid, a0, area, version) == pytest.approx(root, abs=1e-8)


def test_published_inverse_is_the_printed_one() -> None:
    rng = np.random.default_rng(8)
    for _ in range(some(4)):
        grid, a0 = GRIDS[rng.integers(5)], rng.uniform(0.01, 0.99)  # all over [0, 1]
        area = rng.uniform(lower_aunbc(grid, a0, 0.0), a0)
        ours = lower_grouped_auroc(grid, a0, area, "paper")
        assert ours == pytest.approx(printed_lower_auroc(grid, a0, area), abs=1e-12)
        assert ours <= lower_grouped_auroc(grid, a0, area) + 1e-12
        assert upper_grouped_auroc(grid, a0, area, "paper") == 1.0


def test_grids_without_a_curve() -> None:
    """The only threshold with weight is 0: AUNBC is the prevalence, AUROC may be anything."""
    grid = Thresholds.of([0, 0.5], end=0.5)
    for version in VERSIONS:
        for bound in (upper_aunbc, lower_aunbc):
            np.testing.assert_allclose(bound(grid, 0.3, [0, 0.5, 1], version), 0.3)
        assert lower_grouped_auroc(grid, 0.3, 0.3, version) == 0.0
        assert upper_grouped_auroc(grid, 0.3, 0.3, version) == 1.0


# -- predictions on the edge (type II) -------------------------------------------------------------


def test_boundary_models_reach_the_corrected_bounds() -> None:
    rng = np.random.default_rng(9)
    for _ in range(CASES):
        grid, a0 = random_grid(rng), rng.uniform(0.001, 0.999)
        G = float(rng.choice([0.0, 1.0, rng.random(), 1 - rng.random() ** 4]))
        for side, bound in (("upper", upper_aunbc), ("lower", lower_aunbc)):
            model = boundary_model(grid, a0, G, side)
            y, risk, weight = model
            assert (weight >= 0).all()
            assert weight.sum() == pytest.approx(1)
            assert weight[y == 1].sum() == pytest.approx(a0)
            assert grouped_auroc(y, risk, grid, sample_weight=weight) == pytest.approx(G, abs=1e-9)
            area = aunbc(y, risk, grid, sample_weight=weight)
            assert area == pytest.approx(float(bound(grid, a0, G)), abs=1e-9 * (1 + grid.odds[-1]))


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_boundary_risks_of_whole_rows(side: str) -> None:
    rng = np.random.default_rng(10)
    bound = upper_aunbc if side == "upper" else lower_aunbc
    for _ in range(some(4)):
        grid, G = random_grid(rng), rng.random()
        y = rng.permutation(np.repeat([1, 0], rng.integers(1, 400, 2)))
        risk = boundary_risks(y, G, grid, side)
        reached = grouped_auroc(y, risk, grid)
        assert abs(reached - G) <= 1 / min(y.sum(), (1 - y).sum())
        gap = abs(aunbc(y, risk, grid) - bound(grid, y.mean(), reached))
        assert gap <= 2 * (1 + grid.odds[-1]) / y.size
        assert np.unique(risk[y == 1]).size <= 2
        assert np.unique(risk[y == 0]).size <= 2


def test_boundary_risks_come_nearer_with_more_rows() -> None:
    """Where the best c lies inside its range; where it does not, whole rows reach the bound."""
    grid, worst = Thresholds.of([0, 0.5]), []
    for n in (20, 200, 2000):
        y = np.repeat([1, 0], [11 * n, 9 * n])
        gaps = []
        for G in np.linspace(0.405, 0.995, 30):
            risk = boundary_risks(y, G, grid)
            bound = float(upper_aunbc(grid, 0.55, grouped_auroc(y, risk, grid)))
            gaps.append(bound - aunbc(y, risk, grid))
        worst.append(max(gaps))
    assert worst[0] > 1e-9
    assert all(b < a / 5 for a, b in pairwise(worst)), worst


# -- predictions with a correlation (type I) -------------------------------------------------------


def test_correlated_risks_have_their_correlation_and_stay_in_the_region() -> None:
    rng = np.random.default_rng(11)
    for case in range(some(4)):
        y = rng.permutation(np.append([0, 1], rng.random(rng.integers(2, 200)) < rng.random()))
        r = float(rng.choice([-1, 0, 1, rng.uniform(-1, 1)]))
        risk = correlated_risks(y, r, random_state=case)
        assert np.corrcoef(y, risk)[0, 1] == pytest.approx(r, abs=1e-9)
        assert (risk.min(), risk.max()) == (0.0, 1.0)
        G, area = grouped_auroc(y, risk), aunbc(y, risk)
        assert (
            lower_aunbc(None, y.mean(), G) - 1e-9 <= area <= upper_aunbc(None, y.mean(), G) + 1e-9
        )


def test_correlated_risks_with_weights_are_those_of_repeated_rows() -> None:
    rng = np.random.default_rng(12)
    y, weight = rng.integers(0, 2, 60), rng.integers(0, 5, 60)
    risk = correlated_risks(y, 0.4, sample_weight=weight, random_state=0)
    rows = np.repeat(np.arange(60), weight)
    assert np.corrcoef(y[rows], risk[rows])[0, 1] == pytest.approx(0.4)
    np.testing.assert_array_equal(
        risk, correlated_risks(y, 0.4, sample_weight=weight, random_state=0)
    )
    assert (risk != correlated_risks(y, 0.4, sample_weight=weight, random_state=1)).any()


# -- what cannot be used ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: upper_aunbc(None, 0.4, 1.2), "auroc=1.2 is outside"),
        (lambda: upper_aunbc(None, 0.4, np.nan), "auroc=nan is outside"),
        (lambda: upper_aunbc(None, 0.4, "high"), "auroc must hold numbers"),
        (lambda: upper_aunbc(None, 1.0, 0.5), "prevalence=1.0"),
        (lambda: upper_aunbc(None, 0.4, 0.5, "printed"), "version='printed' is not known"),
        (lambda: lower_grouped_auroc(None, 0.4, 0.5), r"aunbc=0.5 is outside \[.*, 0.4\]"),
        (lambda: upper_grouped_auroc(None, 0.4, [-9.0]), "aunbc=-9.0 is outside"),
        (lambda: boundary_model(None, 0.4, 0.5, "left"), "side='left' is not known"),
        (lambda: boundary_risks([1, 1], 0.5), "no non-events"),
        (lambda: correlated_risks([0, 0], 0.5), "no events"),
        (lambda: correlated_risks([0, 1], 0.5), "at least three rows"),
        (lambda: correlated_risks([0, 1, 1], 1.5), "correlation=1.5"),
    ],
)
def test_errors_say_what_is_wrong(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()

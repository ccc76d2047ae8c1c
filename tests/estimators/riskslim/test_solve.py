"""RISKSLIM's search against brute force, SciPy and plain twins."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from netbenefit.estimators.riskslim.problem import TOLERANCE, Lattice, Search
from netbenefit.estimators.riskslim.relaxation import descend, loss_at, round_in_turn
from netbenefit.estimators.riskslim.solve import make_node, rounded, solve_lattice
from netbenefit.solvers import clock

ROUNDING = 1e-12


def plain_loss(lattice: Lattice, w) -> float:
    """The loss, written down as in the docstring."""
    total = 0.0
    for row, a, b in zip(lattice.z, lattice.a, lattice.b, strict=True):
        t = float(row @ np.asarray(w, dtype=float))
        total += a * float(np.logaddexp(0.0, -t)) + b * float(np.logaddexp(0.0, t))
    return total


def plain_value(lattice: Lattice, w) -> float:
    priced = sum(c for c, v in zip(lattice.price, w, strict=True) if v != 0)
    return plain_loss(lattice, w) + float(priced)


def plane(lattice: Lattice, w) -> tuple[np.ndarray, float]:
    """Slope g and offset c of the tangent plane at w: the loss of v is at least g·v + c."""
    t = lattice.z @ w
    slope = (lattice.b / (1 + np.exp(-t)) - lattice.a / (1 + np.exp(t))) @ lattice.z
    loss = lattice.a @ np.logaddexp(0, -t) + lattice.b @ np.logaddexp(0, t)
    return slope, float(loss - slope @ w)


def brute_force(lattice: Lattice, low=None, high=None) -> float:
    """The least objective of a box, point by point."""
    low, high = (lattice.low if low is None else low), (lattice.high if high is None else high)
    points = np.array(
        list(itertools.product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))
    )
    points = points[np.count_nonzero(points[:, 1:], axis=1) <= lattice.most]
    if not len(points):
        return math.inf
    t = points @ lattice.z.T
    loss = np.logaddexp(0.0, -t) @ lattice.a + np.logaddexp(0.0, t) @ lattice.b
    return float((loss + (points != 0) @ lattice.price).min())


def random_lattice(seed: int, columns: int = 3, points: int = 2, intercept: int = 3) -> Lattice:
    """A small problem of some awkward kind: ties, equal columns, separable, weighted, capped."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(1, columns + 1)), int(rng.integers(2, 12))
    kind = seed % 5
    if kind == 0:
        x = rng.integers(0, 2, (n, p)).astype(float)
    elif kind == 1:
        x = np.round(rng.normal(size=(n, p)), 2)
    elif kind == 2:
        x = rng.integers(-3, 4, (n, p)).astype(float)
        x[:, -1] = x[:, 0]  # equal columns
    elif kind == 3:
        x = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 3, p)
    else:
        x = rng.integers(0, 2, (n, p)).astype(float)
        x[:, 0] = np.arange(n) >= n // 2
    a, b = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n).astype(float)
    if kind == 4:  # separable
        a, b = (x[:, 0] > 0).astype(float), (x[:, 0] <= 0).astype(float)
    elif seed % 3 == 0:
        a, b = a * rng.random(n), b * rng.random(n)
    a[0] += 1.0
    b[-1] += 1.0
    total = a.sum() + b.sum()
    high = np.concatenate([[intercept], rng.integers(0, points + 1, p)]).astype(np.int64)
    low = -np.concatenate([[intercept], rng.integers(0, points + 1, p)]).astype(np.int64)
    price = float(rng.choice([0.0, 1e-6, 0.01, 0.1]))
    return Lattice(
        z=np.ascontiguousarray(np.column_stack([np.ones(n), x])),
        a=a / total,
        b=b / total,
        low=low,
        high=high,
        price=np.concatenate([[0.0], np.full(p, price)]),
        most=int(rng.integers(0, p + 1)) if seed % 4 == 0 else p,
    )


# -- optimality ------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
def test_branch_and_bound_finds_and_proves_the_optimum(part: int) -> None:
    for seed in range(part, 600, 4):
        lattice = random_lattice(seed)
        least = brute_force(lattice)
        search, status = solve_lattice(lattice, seed=seed)
        assert lattice.allows(search.best)
        assert search.value == pytest.approx(plain_value(lattice, search.best), abs=1e-13)
        assert search.value == pytest.approx(least, abs=TOLERANCE), seed
        assert search.bound <= least + ROUNDING, seed
        assert status == "optimal"


def test_branch_and_bound_without_good_starts() -> None:
    """The proof must not rest on the starts: from the worst corner it finds the optimum as well."""
    from netbenefit.estimators.riskslim.solve import branch

    for seed in range(300):
        lattice = random_lattice(seed)
        if lattice.most == 0:
            continue
        search = Search(lattice)
        corner = np.zeros(lattice.low.size, dtype=np.int64)
        corner[0] = lattice.high[0]
        search.offer(corner, "corner")
        root = make_node(search, lattice.low, lattice.high, np.zeros(corner.size))
        branch(search, root)
        least = brute_force(lattice)
        assert search.value == pytest.approx(least, abs=2 * TOLERANCE), seed
        assert search.bound <= least + ROUNDING


def test_stopped_early_the_bound_still_holds() -> None:
    for seed in range(200):
        lattice = random_lattice(seed, columns=4)
        least = brute_force(lattice)
        search, status = solve_lattice(lattice, max_nodes=seed % 3, seed=seed)
        assert search.bound <= least + ROUNDING, seed
        assert search.value >= least - ROUNDING
        assert (status == "optimal") == (search.bound >= search.cutoff)


# -- bounds ----------------------------------------------------------------------------------------


def test_no_box_holds_less_than_its_bound() -> None:
    rng = np.random.default_rng(0)
    for seed in range(800):
        lattice = random_lattice(seed)
        ends = np.sort(rng.integers(lattice.low, lattice.high + 1, (2, lattice.low.size)), axis=0)
        low, high = ends.astype(np.int64)
        start = rng.normal(size=low.size) * 3
        search = Search(lattice)
        least = brute_force(lattice, low, high)
        node = make_node(search, low, high, start, cutoff=math.inf)
        assert node.bound <= least + ROUNDING, seed
        # with a cut-off the box may shrink, but not by anything below the cut-off
        zero = np.clip(np.zeros_like(low), lattice.low, lattice.high)
        search.offer(zero, "")
        node = make_node(search, low, high, start)
        if node.bound >= search.cutoff:
            assert least >= search.cutoff - ROUNDING
        elif least < search.cutoff:
            assert brute_force(lattice, node.low, node.high) == pytest.approx(least, abs=1e-15)


def test_bounds_hold_to_the_last_digit_for_columns_of_large_numbers() -> None:
    """Rounding errors grow with the columns; brute force here has more digits than the search."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no longer floats here")
    rng = np.random.default_rng(5)
    for seed in range(200):
        n, p = int(rng.integers(2, 30)), int(rng.integers(1, 3))
        x = np.round(rng.normal(size=(n, p)) * 10.0 ** rng.integers(0, 7, p), 3)
        a, b = rng.random((2, n))
        box = np.array([3, *[2] * p])
        total = (a + b).sum()
        lattice = Lattice(
            np.column_stack([np.ones(n), x]), a / total, b / total, -box, box, np.zeros(p + 1), p
        )
        points = np.array(list(itertools.product(*(range(-v, v + 1) for v in box))))
        t = points.astype(np.longdouble) @ lattice.z.T.astype(np.longdouble)
        loss = np.logaddexp(0, -t) @ lattice.a.astype(np.longdouble)
        loss += np.logaddexp(0, t) @ lattice.b.astype(np.longdouble)
        start = rng.normal(size=p + 1)
        node = make_node(Search(lattice), -box, box, start, cutoff=math.inf)
        assert node.bound <= loss.min(), seed
        search, _ = solve_lattice(lattice, max_nodes=10)
        assert search.bound <= loss.min()


def test_relaxation_is_the_convex_minimum_that_scipy_finds() -> None:
    for seed in range(60):
        lattice = random_lattice(seed, columns=4, points=4)
        if seed % 5 == 3:
            continue  # columns of very different scales: not for L-BFGS
        free = Lattice(
            lattice.z, lattice.a, lattice.b, lattice.low, lattice.high, lattice.price * 0, 99
        )
        node = make_node(
            Search(free), free.low, free.high, np.zeros(free.low.size), cutoff=math.inf
        )

        def both(w, free=free):
            slope, offset = plane(free, w)
            return float(slope @ w + offset), slope

        box = list(zip(free.low.astype(float), free.high.astype(float), strict=True))
        options = {"maxiter": 2000, "ftol": 1e-14, "gtol": 1e-9}
        start = np.zeros(free.low.size)
        found = minimize(both, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
        assert node.bound == pytest.approx(found.fun, abs=1e-7), seed
        assert node.bound <= found.fun + 1e-10


def test_probing_excludes_nothing_better() -> None:
    from netbenefit.estimators.riskslim.solve import probe

    for seed in range(200):
        lattice = random_lattice(seed)
        search = Search(lattice)
        zero = np.clip(np.zeros(lattice.low.size, dtype=np.int64), lattice.low, lattice.high)
        search.offer(lattice.polish(zero), "")
        root = make_node(search, lattice.low, lattice.high, zero.astype(float), cutoff=math.inf)
        node = probe(search, root)
        least = brute_force(lattice)
        if least < search.cutoff and node.bound < search.cutoff:
            assert brute_force(lattice, node.low, node.high) == pytest.approx(least, abs=1e-15)
        assert min(node.bound, search.cutoff) <= least + ROUNDING


# -- kernels and their twins -----------------------------------------------------------------------


def plain_descent(lattice: Lattice, start) -> list[int]:
    """Coordinates in turn, all values of each tried; as ``descend`` says it works."""
    w, k, still = [int(v) for v in start], 0, 0
    while still < len(w):
        now = plain_value(lattice, w)
        tried = []
        for v in range(lattice.low[k], lattice.high[k] + 1):
            other = [*w[:k], v, *w[k + 1 :]]
            if sum(x != 0 for x in other[1:]) <= lattice.most:
                tried.append((plain_value(lattice, other), other))
        least = min(tried) if tried else (now, w)
        if least[0] < now - 1e-13:
            w, still = least[1], 0
        else:
            still += 1
        k = (k + 1) % len(w)
    return w


def test_descent_ends_where_its_twin_does() -> None:
    rng = np.random.default_rng(1)
    for seed in range(250):
        lattice = random_lattice(seed)
        start = rng.integers(lattice.low, lattice.high + 1)
        start = rounded(lattice, start.astype(float), in_turn=False)
        w = start.astype(np.int64).copy()
        value = descend(
            lattice.z,
            lattice.a,
            lattice.b,
            lattice.low,
            lattice.high,
            lattice.price,
            lattice.most,
            w,
        )
        assert value == pytest.approx(plain_value(lattice, w), abs=1e-13)
        twin = plain_descent(lattice, start)
        if seed % 5 in (1, 3):  # elsewhere two values can be equally good
            assert w.tolist() == twin, seed
        # no single change helps
        for k in range(w.size):
            for v in range(lattice.low[k], lattice.high[k] + 1):
                other = w.copy()
                other[k] = v
                if lattice.allows(other):
                    assert plain_value(lattice, other) >= value - 2e-13, (seed, k, v)


def plain_rounding(lattice: Lattice, start) -> tuple[list[float], float]:
    """Coefficients rounded one by one, and how clear the closest choice was."""
    clear = math.inf
    w = [float(v) for v in np.clip(start, lattice.low, lattice.high)]
    while any(v != math.floor(v) for v in w):
        tried = []
        for k, v in enumerate(w):
            if v != math.floor(v):
                for to in (math.floor(v), math.floor(v) + 1):
                    other = [*w[:k], float(to), *w[k + 1 :]]
                    tried.append((plain_loss(lattice, other), other))
        best, second = sorted(tried)[:2]
        clear = min(clear, second[0] - best[0])
        w = best[1]
    return w, clear


def test_rounding_in_turn_is_that_of_its_twin() -> None:
    rng, compared = np.random.default_rng(2), 0
    for seed in (s for s in range(500) if s % 5 in (1, 3)):
        lattice = random_lattice(seed)
        start = rng.normal(size=lattice.low.size)
        w = round_in_turn(lattice.z, lattice.a, lattice.b, lattice.low, lattice.high, start)
        twin, clear = plain_rounding(lattice, start)
        if clear > 1e-12:  # else two choices are equally good, and rounding errors choose
            compared += 1
            assert w.tolist() == twin, seed
    assert compared > 150


def test_loss_is_that_of_its_twin() -> None:
    rng = np.random.default_rng(3)
    for seed in range(200):
        lattice = random_lattice(seed)
        at = rng.normal(size=lattice.low.size) * 5
        assert loss_at(lattice.z @ at, lattice.a, lattice.b) == pytest.approx(
            plain_loss(lattice, at), abs=1e-12
        )


def test_huge_log_odds_overflow_nothing() -> None:
    half = np.array([0.5])
    assert loss_at(np.array([1e6]), half, half) == pytest.approx(5e5)
    assert loss_at(np.array([-1e6]), half, 0 * half) == pytest.approx(5e5)
    assert loss_at(np.array([40.0]), half, 0 * half) == pytest.approx(0.5 * math.exp(-40), rel=1e-9)


def test_logistic_regression_is_scikit_learns() -> None:
    from sklearn.linear_model import LogisticRegression

    from netbenefit.estimators.riskslim.solve import logistic

    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, p = 60, int(rng.integers(1, 5))
        x = rng.normal(size=(n, p))
        y, v = rng.random(n) < 0.5, rng.integers(1, 4, n).astype(float)
        total, box = v.sum(), np.full(p + 1, 10)
        lattice = Lattice(
            np.column_stack([np.ones(n), x]), v * y / total, v * ~y / total, -box, box,
            np.zeros(p + 1), p, total=total,
        )  # fmt: skip
        for strength in (0.1, 1.0, 1e6):
            peer = LogisticRegression(C=strength, tol=1e-10, max_iter=1000)
            peer.fit(x, y, sample_weight=v)
            w = np.concatenate([peer.intercept_, peer.coef_[0]])
            np.testing.assert_allclose(logistic(lattice, strength), w, atol=1e-4)


def test_compilation_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: seconds[0])
    search = Search(random_lattice(0), time_limit=10.0)
    clock.compiling.begin()
    seconds[0] = 100.0
    clock.compiling.end()
    seconds[0] = 103.0
    assert search.seconds == 3.0
    assert not search.out_of_time

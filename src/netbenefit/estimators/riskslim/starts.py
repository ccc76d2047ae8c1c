"""First coefficients for RISKSLIM: rounded logistic regressions, polished, and shaken."""

from __future__ import annotations

import numpy as np

from netbenefit.common.checks import FloatArray, IntArray
from netbenefit.estimators.riskslim.problem import Lattice, Search
from netbenefit.estimators.riskslim.relaxation import loss_at, round_in_turn

__all__ = ["begin", "fit_in", "logistic", "rounded", "shake"]

#: Exponentials that rounding in turn may cost; beyond that, plain rounding has to do.
_DEAR = 3e7
#: Share of the time limit after which nothing more is rounded in turn.
_SHARE = 0.1
#: Shaken copies of the best coefficients without gain before the shaking ends.
_IDLE = 40
#: Newton steps of a logistic regression, which ends when none of its coefficients moves this far.
_NEWTON, _STILL = 50, 1e-8


def begin(search: Search, relaxed: FloatArray) -> None:
    """Offer zero, and logistic regressions rounded in two ways, each as it is and polished.

    1. No points, and the best intercept for that.
    2. The minimiser of the relaxation (``relaxed``), rounded plainly and in turn.
    3. Logistic regression with scikit-learn's default penalty and with almost none, cut back to the
       box and rounded likewise.
    """
    lattice = search.lattice
    zero = np.clip(np.zeros(lattice.low.size, dtype=np.int64), lattice.low, lattice.high)
    search.offer(zero, "no points")
    search.offer(lattice.polish(zero), "descent")
    for strength in (None, 1.0, 1e6):
        fit = relaxed if strength is None else logistic(lattice, strength)
        for in_turn in (False, True):
            # plain rounding is cheap, and is tried of each; the rest of large data would take long
            if search.out_of_time or (in_turn and search.seconds > _SHARE * search.time_limit):
                break
            first = rounded(lattice, fit, in_turn=in_turn)
            search.offer(first, "rounding")
            search.offer(lattice.polish(first), "descent")


def rounded(lattice: Lattice, fit: FloatArray, *, in_turn: bool = True) -> IntArray:
    """Whole coefficients near real ones, in the box and few enough."""
    spread = lattice.z.std(axis=0)
    weight = np.abs(fit) * spread
    weight[0] = np.inf
    kept = np.zeros(fit.size, dtype=bool)
    kept[np.argsort(-weight, kind="stable")[: lattice.most + 1]] = True
    near = np.where(kept, np.clip(fit, lattice.low, lattice.high), 0.0)
    columns = int(np.count_nonzero(near))
    if in_turn and 2.0 * columns**2 * len(lattice.a) <= _DEAR:
        return round_in_turn(lattice.z, lattice.a, lattice.b, lattice.low, lattice.high, near)
    return np.round(near).astype(np.int64)


def fit_in(lattice: Lattice, w: IntArray) -> IntArray:
    """Move whole coefficients into the box, and drop those beyond the number allowed."""
    return rounded(lattice, w.astype(np.float64), in_turn=False)


def shake(search: Search, rng: np.random.Generator, seconds: float) -> None:
    """Change a few of the best coefficients at random and descend again, until nothing comes of it.

    Every fourth try changes one coefficient only, by one; the others change up to a third of them.
    """
    lattice = search.lattice
    open_ = np.flatnonzero(lattice.low < lattice.high)
    if search.best is None or not open_.size:
        return
    end, idle, tries = search.seconds + seconds, 0, 0
    while idle < _IDLE and search.seconds < end and not search.out_of_time:
        w = search.best.copy()
        many = 1 if tries % 4 == 0 else int(rng.integers(2, max(3, open_.size // 3 + 1)))
        which = rng.choice(open_, size=min(many, open_.size), replace=False)
        w[which] += rng.choice([-1, 1], size=which.size)
        idle = 0 if search.offer(lattice.polish(fit_in(lattice, w)), "shaking") else idle + 1
        tries += 1


def logistic(lattice: Lattice, strength: float) -> FloatArray:
    """Logistic regression of the patterns, intercept in front: Newton's method, steps halved.

    ``strength`` is scikit-learn's C: the coefficients' squares cost 1 / (2 C) in total loss.
    """
    z, a, b = lattice.z, lattice.a, lattice.b
    ridge = np.full(z.shape[1], 1.0 / (strength * lattice.total))
    ridge[0] = 0.0

    def value(w: FloatArray) -> float:
        return float(loss_at(z @ w, a, b) + 0.5 * ridge @ w**2)

    w = np.zeros(z.shape[1])
    now = value(w)
    for _ in range(_NEWTON):
        t = z @ w
        small = np.exp(-np.abs(t))
        risk = np.where(t > 0, 1.0, small) / (1.0 + small)
        rest = np.where(t > 0, small, 1.0) / (1.0 + small)  # 1 − risk would lose digits
        slope = (b * risk - a * rest) @ z + ridge * w
        curve = (z.T * ((a + b) * risk * rest)) @ z
        curve[np.diag_indices_from(curve)] += ridge + 1e-10 * (1.0 + np.diag(curve))
        step = np.linalg.solve(curve, slope)
        while np.abs(step).max() > _STILL and value(w - step) > now:
            step /= 2.0
        if np.abs(step).max() <= _STILL:
            break
        w = w - step
        now = value(w)
    return w

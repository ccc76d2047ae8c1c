"""The checks of a bound: its order, its scale, and its boxes, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from netbenefit.certificates.boxes import BoxJudge
from netbenefit.certificates.certificate_cover import Undecided, find_uncovered
from netbenefit.certificates.certificate_types import Check, Claim
from netbenefit.certificates.recount import Ground, Whole
from netbenefit.common.checks import InputError, IntArray
from netbenefit.problem.result import Boxes, Reason

__all__ = ["check_claim", "shown"]

#: Reasons that are looked at below: listed one by one, so that a new one is not taken on trust.
_KNOWN = (Reason.FLOW, Reason.COUNTED, Reason.DOUBLED, Reason.FORBIDDEN, Reason.SHIFTED)


def check_claim(
    ground: Ground, objective: Fraction, proof: Claim, full: bool, sample: int, seed: int
) -> Iterator[Check]:
    """Look at a claimed bound of a problem; see :mod:`netbenefit.certificates.verify` for what is checked."""
    yield _check_order(objective, proof.bound)
    whole = _whole_numbers(ground, proof)
    if isinstance(whole, str):
        yield Check("scale", False, whole)
    elif proof.boxes is None:
        yield Check("bound", None, f"not rechecked: it was obtained by {proof.method}")
    else:
        yield from _check_boxes(whole, proof.bound, proof.boxes, full, sample, seed)


def _check_order(objective: Fraction, bound: Fraction) -> Check:
    if bound < objective:
        text = f"the bound {float(bound):.9f} is below the objective {float(objective):.9f}"
        return Check("order", False, text)
    if bound == objective:
        return Check("order", True, "the bound equals the objective: nothing can be better")
    text = f"the bound {shown(bound)} is not below the objective"
    return Check("order", True, text)


def _whole_numbers(ground: Ground, proof: Claim) -> Whole | str:
    """The problem on the scale of the boxes' values, or what is wrong with that scale."""
    try:
        whole = ground.whole(proof.scale)
    except InputError as error:
        return str(error)
    stated = proof.scale
    if (stated.constant, stated.price) != (whole.constant, whole.price):
        return (
            f"constant and price of the boxes' values are {whole.constant} and {whole.price}, not "
            f"{stated.constant} and {stated.price}"
        )
    if stated.exact and not whole.exact:
        return "the boxes' values are said to be exact, but had to be rounded"
    most = Fraction(0) if stated.exact else whole.most_rounding
    if not 0 <= proof.rounding <= most:
        return f"rounding can add at most {float(most):g}, not {float(proof.rounding):g}"
    return whole


def _check_boxes(
    whole: Whole, bound: Fraction, boxes: Boxes, full: bool, sample: int, seed: int
) -> Iterator[Check]:
    unknown = ~np.isin(boxes.reasons, _KNOWN)
    if boxes.lower.shape[1] != whole.units.shape[1] or unknown.any():
        what = "an unknown reason" if unknown.any() else "another number of columns"
        yield Check("boxes", False, f"they have {what}")
        return
    yield _check_cover(whole.ground, boxes)
    judge = BoxJudge(whole, boxes)
    yield _check_valueless(judge)
    yield _check_values(judge, full, sample, seed)
    yield _check_bound(judge, bound)


def _check_cover(ground: Ground, boxes: Boxes) -> Check:
    said = ground.said
    try:
        gap = find_uncovered(boxes.lower, boxes.upper, said.lower, said.upper)
    except Undecided:
        return Check("cover", False, "the boxes overlap too much to see whether they cover all")
    if gap is not None:
        return Check("cover", False, f"no box holds the points {gap}")
    # Boxes that hold all points and no more volume than those share no point.
    everything = math.prod((said.upper - said.lower + 1).tolist())
    inside = Boxes(
        np.maximum(boxes.lower, said.lower),
        np.minimum(boxes.upper, said.upper),
        boxes.values,
        boxes.reasons,
    )
    if sum(_volumes(inside)) > everything:
        return Check("cover", False, "some boxes overlap, which would hide others from a sample")
    return Check("cover", True, f"{len(boxes):,} boxes hold all points, each in one of them")


def _volumes(boxes: Boxes) -> list[int]:
    """Number of vectors of each box."""
    widths = np.maximum(boxes.upper.astype(np.int64) - boxes.lower.astype(np.int64) + 1, 0)
    volumes = np.ones(len(boxes), dtype=object)
    for k in range(widths.shape[1]):
        volumes *= widths[:, k]
    return [int(volume) for volume in volumes]


def _check_valueless(judge: BoxJudge) -> Check:
    wrong = judge.wrong_forbidden() or judge.wrong_doubled() or judge.wrong_shifted()
    if wrong is not None:
        return Check("reasons", False, wrong)
    kinds = (Reason.FORBIDDEN, Reason.DOUBLED, Reason.SHIFTED)
    forbidden, doubled, shifted = (judge.having(reason).size for reason in kinds)
    text = (
        f"{forbidden:,} boxes hold nothing allowed, {doubled:,} are no better than their doubles, "
        f"{shifted:,} no better than when shifted"
    )
    return Check("reasons", True, text)


def _check_values(judge: BoxJudge, full: bool, sample: int, seed: int) -> Check:
    which = judge.having(Reason.FLOW, Reason.COUNTED)
    some = f"all {which.size:,} boxes"
    if which.size > sample and not full:
        drawn = _draw(judge.boxes, which, sample, seed)
        some = f"{drawn.size:,} of {which.size:,} boxes, drawn with seed {seed},"
        which = drawn
    for b in which.tolist():
        wrong = judge.wrong_value(b)
        if wrong is not None:
            return Check("values", False, wrong)
    return Check("values", True, f"{some} are worth no more than stated")


def _draw(boxes: Boxes, which: IntArray, sample: int, seed: int) -> IntArray:
    """Draw boxes: the largest, some by their volume, some by their number.

    A few large boxes with false values would hide a better card from a draw by number alone.
    """
    part = Boxes(*(getattr(boxes, name)[which] for name in ("lower", "upper", "values", "reasons")))
    logs = np.array([math.log(max(volume, 1)) for volume in _volumes(part)])
    share = np.exp(logs - logs.max())
    rng = np.random.default_rng(seed)
    largest = which[np.argsort(-logs, kind="stable")[: max(1, sample // 5)]]
    by_volume = which[rng.choice(which.size, 2 * sample // 5, p=share / share.sum())]
    by_number = which[rng.choice(which.size, sample - largest.size - by_volume.size, replace=False)]
    drawn: IntArray = np.unique(np.concatenate([largest, by_volume, by_number]))
    return drawn


def _check_bound(judge: BoxJudge, bound: Fraction) -> Check:
    whole, ground = judge.whole, judge.whole.ground
    which = judge.having(Reason.FLOW, Reason.COUNTED)
    if which.size:
        b = int(which[np.argmax(judge.boxes.values[which])])
        highest = whole.to_objective(int(judge.boxes.values[b]))
        if highest > bound:
            text = f"box {b + 1} may be worth {float(highest):.9f}, above {float(bound):.9f}"
            return Check("bound", False, text)
    if judge.needs_zero():
        zero = [0] * ground.said.lower.size
        worth = None if ground.forbids(zero) else ground.worth(zero)
        if worth is not None and worth.objective > bound:
            text = f"the card without points is worth {float(worth.objective):.9f}, above the bound"
            return Check("bound", False, text)
    return Check("bound", True, f"no box is worth more than {shown(bound)}")


def shown(value: Fraction) -> str:
    """A number as a fraction, if that can be read, and as a decimal.

    >>> shown(Fraction(1, 3)), shown(Fraction(0.1))
    ('1/3 = 0.333333', '0.100000')
    """
    short = value.denominator < 10**12
    return f"{value} = {float(value):.6f}" if short else f"{float(value):.6f}"

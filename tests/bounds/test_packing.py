"""Packing of inseparable sets against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netbenefit._validation import InputError
from netbenefit.bounds.packing import packing_bound
from tests.bounds.test_covering import all_values, blobs, cases, small_pieces


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_packing_is_above_brute_force(data):
    pieces, lower, upper = data.draw(cases())
    best = max(all_values(pieces, lower, upper).values())
    told: list[int] = []
    answer = packing_bound(pieces, lower=lower, upper=upper, on_bound=told.append)
    assert answer.value >= best
    assert min(told) == answer.value


def test_the_cross_needs_a_loss_that_pairs_do_not_show():
    pieces = small_pieces(penalty=0)
    best = max(all_values(pieces, pieces.lower, pieces.upper).values())
    assert packing_bound(pieces).value == best < pieces.ceiling


def test_narrow_boxes_are_bounded_better():
    pieces = blobs()
    lower, upper = pieces.lower.copy(), pieces.upper.copy()
    everywhere = packing_bound(pieces).value
    upper[:] = np.minimum(upper, 0)
    assert packing_bound(pieces, lower=lower, upper=upper).value < everywhere


def test_a_box_outside_the_problem_is_refused():
    pieces = blobs()
    with pytest.raises(InputError, match="within"):
        packing_bound(pieces, upper=pieces.upper + 1)

"""Branching on signs of directions against brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from netbenefit.bounds.direction_tree import direction_tree
from netbenefit.bounds.directions import direction_bound
from netbenefit.bounds.pieces import Pieces
from tests.bounds.test_directions import brute_force, random_pieces


@pytest.mark.parametrize("seed", range(4))
def test_no_vector_beats_the_tree(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    proven = 0
    for _ in range(60):
        pieces = random_pieces(rng)
        best = brute_force(pieces, pieces.lower, pieces.upper)
        incumbent = best - int(rng.choice([0, 0, 1, 7]))
        told: list[int] = []
        steps = int(rng.choice([1, 10, 60]))
        tree = direction_tree(
            pieces, incumbent=incumbent, node_steps=steps, max_nodes=25, on_bound=told.append
        )
        assert tree.value >= best
        assert told == sorted(told, reverse=True)
        assert told[-1] == tree.value
        proven += tree.value == best
    assert proven >= 15


def test_branching_tightens_the_root() -> None:
    rng = np.random.default_rng(8)
    better = 0
    for _ in range(30):
        pieces = random_pieces(rng)
        best = brute_force(pieces, pieces.lower, pieces.upper)
        root = direction_bound(pieces, iterations=2000).value
        tree = direction_tree(pieces, incumbent=best, node_steps=200, max_nodes=60).value
        assert tree <= max(root, best) + 0.01 * pieces.ceiling
        better += tree < root
    assert better >= 2


def test_it_stops_when_asked() -> None:
    pieces = random_pieces(np.random.default_rng(0))
    tree = direction_tree(pieces, incumbent=-(10**6), should_stop=lambda: True)
    assert brute_force(pieces, pieces.lower, pieces.upper) <= tree.value <= pieces.ceiling
    assert tree.details["ended"] == "trivial"


def test_patterns_without_pairs_leave_nothing_to_branch_on() -> None:
    units, gains = np.array([[0, 0, 0], [1, 1, 1]]), np.array([[5, -3]])
    box = np.full(3, -1), np.full(3, 1)
    pieces = Pieces(units, 1, gains, 0, *box, Fraction(0), Fraction(1), True)
    tree = direction_tree(pieces, incumbent=0, weight=2, node_steps=5)
    assert (tree.value, tree.details["ended"]) == (5, "no sign left")

from __future__ import annotations

import numpy as np

from netbenefit.bounds.penalty import most_features, paid_price
from tests.bounds.brute import all_points, all_values, random_pieces


def test_no_card_with_more_features_beats_the_incumbent() -> None:
    rng = np.random.default_rng(0)
    for _ in range(400):
        pieces = random_pieces(rng, columns=3)
        points = all_points(pieces)
        values = all_values(pieces, points)
        incumbent = int(rng.integers(values.min() - 2, pieces.ceiling + 2))
        most = most_features(pieces, incumbent)
        better = points[values > incumbent]
        assert all((better != 0).sum(axis=1) <= most)
        assert most == -1 or pieces.ceiling - most * pieces.price > incumbent


def test_limit_is_as_low_as_the_price_allows() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        pieces = random_pieces(rng)
        usable = int(((pieces.lower != 0) | (pieces.upper != 0)).sum())
        for incumbent in range(pieces.ceiling - 9, pieces.ceiling + 1):
            sizes = [j for j in range(usable + 1) if pieces.ceiling - j * pieces.price > incumbent]
            assert most_features(pieces, incumbent) == max(sizes, default=-1)


def test_price_is_that_of_the_smallest_card_of_a_box() -> None:
    rng = np.random.default_rng(2)
    for _ in range(300):
        pieces = random_pieces(rng, columns=3)
        points = all_points(pieces)
        least = int((points != 0).sum(axis=1).min())
        assert paid_price(pieces, pieces.lower, pieces.upper) == least * pieces.price

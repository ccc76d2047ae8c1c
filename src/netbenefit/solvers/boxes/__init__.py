"""Branch and bound over boxes of points."""

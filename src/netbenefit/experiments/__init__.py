"""The published experiments again: every method on every data set, and what came of it."""

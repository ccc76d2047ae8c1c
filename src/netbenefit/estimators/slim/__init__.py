"""SLIM: cards that minimise the error of one decision."""

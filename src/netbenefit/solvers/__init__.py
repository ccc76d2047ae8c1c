"""Search for the best points, and proof; a solver takes a Problem and returns a SolverResult."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""Who finds the best points, and who proves it; each takes a Problem and returns a SolverResult."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

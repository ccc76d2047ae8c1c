"""What is maximised and what is allowed: objective, constraints, cut-offs, levels, result."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""From raw columns to conditions such as "age ≥ 52"."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

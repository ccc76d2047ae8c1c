"""A stored card on new rows: evaluate, look for drift, update."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

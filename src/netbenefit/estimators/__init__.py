"""Estimators in the style of scikit-learn, which learn cards from rows."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

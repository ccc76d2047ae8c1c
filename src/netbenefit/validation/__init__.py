"""What cards are worth on new rows: folds, bootstrap, comparison, sizes, sensitivity."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""The page on which people work on a card: edits, what they cost, and a history of them."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""Models that give every training row a risk, by which a card is taught."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

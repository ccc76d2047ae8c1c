"""What a card is: it reads rows, scores them, prints and saves itself, with numpy alone."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

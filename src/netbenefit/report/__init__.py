"""What people read about a card: its measures beside those of others, and pages that hold both."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

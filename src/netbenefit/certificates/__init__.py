"""What was proven, written down, and the judge that recounts it; no solver takes part."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

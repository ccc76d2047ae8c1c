"""What was proven, written down, and the judge that recounts it; no solver takes part."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

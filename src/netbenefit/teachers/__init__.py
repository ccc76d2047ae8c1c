"""Models that give every training row a risk, by which a card is taught."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

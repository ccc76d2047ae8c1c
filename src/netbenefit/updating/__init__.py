"""A stored card on new rows: evaluate, look for drift, update."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

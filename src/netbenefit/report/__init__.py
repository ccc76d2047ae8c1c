"""What people read about a card: its measures beside those of others, and pages that hold both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

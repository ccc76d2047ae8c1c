"""What is maximised and what is allowed: objective, constraints, cut-offs, levels, result."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Who finds the best points, and who proves it; each takes a Problem and returns a SolverResult."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

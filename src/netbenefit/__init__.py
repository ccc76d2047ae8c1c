"""Risk scorecards that maximise decision net benefit.

Names are loaded when they are first used, so that reading a card or computing a metric does not
wait for the compiler.  They are listed in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Risk scorecards that maximise decision net benefit.

Names are loaded when they are first used, so that reading a card or computing a metric does not
wait for the compiler.  They are listed in ``__init__.pyi``.
"""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

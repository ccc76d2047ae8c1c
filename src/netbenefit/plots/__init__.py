"""Pictures, as display objects: they compute when made, draw in ``plot``, and show nothing.

matplotlib is imported when something is drawn; ``pip install 'netbenefit[plots]'`` brings it.
"""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""Pictures, as display objects: they compute when made, draw in ``plot``, and show nothing.

matplotlib is imported when something is drawn; ``pip install 'netbenefit[plots]'`` brings it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

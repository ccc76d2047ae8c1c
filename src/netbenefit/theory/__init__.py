"""The method's theorems as functions: what can be reached, what is enough, what is certain.

Bounds between discrimination and utility, calibration of levels, learning capacity, generalisation,
and synthetic predictions.  ``docs/theory.md`` explains each with a picture; ``docs/paper_notes.md``
tells where the paper's statements had to be corrected.
"""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

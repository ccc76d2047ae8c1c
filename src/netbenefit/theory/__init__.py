"""The method's theorems as functions: what can be reached, what is enough, what is certain.

- Discrimination and utility: :func:`upper_aunbc`, :func:`lower_aunbc`, and back,
  :func:`lower_grouped_auroc`, :func:`upper_grouped_auroc`; :func:`upper_is_tight` tells where the
  published bound is reached.
- Calibration and utility: :func:`improvements` (the two rules), and the properties of calibrated
  levels as checks: :func:`rates_inside`, :func:`rates_predicted`, :func:`net_benefit_kept`,
  :func:`order_kept`.
- Learning capacity: :func:`learning_capacity` (how large points and cut-offs need to be),
  :func:`round_linear` (the rounding that proves it), :func:`rounding_loss`.
- Generalisation: :func:`generalisation_bound`, and :func:`rows_needed` for a given bound.
- Synthetic predictions: :func:`correlated_risks` (type I), :func:`boundary_risks` and
  :func:`boundary_model` (type II).

``docs/theory.md`` explains each with a picture; ``docs/paper_notes.md`` tells where the paper's
statements had to be corrected.
"""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

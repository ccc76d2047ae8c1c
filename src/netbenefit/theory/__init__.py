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

from __future__ import annotations

from netbenefit.theory.capacity import (
    Capacity,
    RoundedModel,
    generalisation_bound,
    learning_capacity,
    round_linear,
    rounding_loss,
    rows_needed,
)
from netbenefit.theory.discrimination import (
    lower_aunbc,
    lower_grouped_auroc,
    upper_aunbc,
    upper_grouped_auroc,
    upper_is_tight,
)
from netbenefit.theory.levels import (
    Improvement,
    LevelCheck,
    LevelFailure,
    OrderCheck,
    improvements,
    net_benefit_kept,
    order_kept,
    rates_inside,
    rates_predicted,
)
from netbenefit.theory.synthetic import (
    BoundaryModel,
    boundary_model,
    boundary_risks,
    correlated_risks,
)

__all__ = [
    "BoundaryModel",
    "Capacity",
    "Improvement",
    "LevelCheck",
    "LevelFailure",
    "OrderCheck",
    "RoundedModel",
    "boundary_model",
    "boundary_risks",
    "correlated_risks",
    "generalisation_bound",
    "improvements",
    "learning_capacity",
    "lower_aunbc",
    "lower_grouped_auroc",
    "net_benefit_kept",
    "order_kept",
    "rates_inside",
    "rates_predicted",
    "round_linear",
    "rounding_loss",
    "rows_needed",
    "upper_aunbc",
    "upper_grouped_auroc",
    "upper_is_tight",
]

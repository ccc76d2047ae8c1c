from .calibration import (
    calibrate_levels as calibrate_levels,
    improve_levels as improve_levels,
    keep_order as keep_order,
)
from .capacity import (
    Capacity as Capacity,
    RoundedModel as RoundedModel,
    generalisation_bound as generalisation_bound,
    learning_capacity as learning_capacity,
    round_linear as round_linear,
    rounding_loss as rounding_loss,
    rows_needed as rows_needed,
)
from .discrimination import (
    lower_aunbc as lower_aunbc,
    lower_grouped_auroc as lower_grouped_auroc,
    upper_aunbc as upper_aunbc,
    upper_grouped_auroc as upper_grouped_auroc,
    upper_is_tight as upper_is_tight,
)
from .levels import (
    Improvement as Improvement,
    LevelCheck as LevelCheck,
    LevelFailure as LevelFailure,
    OrderCheck as OrderCheck,
    improvements as improvements,
    net_benefit_kept as net_benefit_kept,
    order_kept as order_kept,
    rates_inside as rates_inside,
    rates_predicted as rates_predicted,
)
from .synthetic import (
    BoundaryModel as BoundaryModel,
    boundary_model as boundary_model,
    boundary_risks as boundary_risks,
    correlated_risks as correlated_risks,
)

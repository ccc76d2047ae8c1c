from .drift import (
    Drift as Drift,
    card_drift as card_drift,
)
from .evaluate import (
    CardEvaluation as CardEvaluation,
    beside_lines as beside_lines,
    calibration_lines as calibration_lines,
    evaluate_card as evaluate_card,
    evaluate_scores as evaluate_scores,
    level_lines as level_lines,
    recalibration as recalibration,
)
from .in_tables import (
    binning_choices as binning_choices,
    evaluate_table as evaluate_table,
    score_table as score_table,
)
from .observed import (
    LevelRow as LevelRow,
    count_levels_of_card as count_levels_of_card,
    with_held_out as with_held_out,
)
from .update import (
    CardUpdate as CardUpdate,
    UpdateChoice as UpdateChoice,
    choose_update as choose_update,
    default_estimator as default_estimator,
    needed_columns as needed_columns,
    update_card as update_card,
)

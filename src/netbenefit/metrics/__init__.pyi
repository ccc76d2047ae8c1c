from .bands import (
    curve_bands as curve_bands,
    decision_bands as decision_bands,
    decision_differences as decision_differences,
    decision_summary as decision_summary,
)
from .benefit import (
    aunbc as aunbc,
    auroc as auroc,
    check_and_count as check_and_count,
    check_prevalence as check_prevalence,
    count_levels as count_levels,
    expected_calibration_error as expected_calibration_error,
    given_part as given_part,
    grouped_auroc as grouped_auroc,
    hosmer_lemeshow as hosmer_lemeshow,
    net_benefit as net_benefit,
    require_both as require_both,
    sums_by as sums_by,
    weighted_net_benefit as weighted_net_benefit,
)
from .curves import (
    TREAT_ALL as TREAT_ALL,
    TREAT_NONE as TREAT_NONE,
    Measure as Measure,
    decision_curve as decision_curve,
    risk_breakpoints as risk_breakpoints,
)
from .measures import (
    LOWER_IS_BETTER as LOWER_IS_BETTER,
    Beside as Beside,
    Measures as Measures,
    ModelRow as ModelRow,
    Rules as Rules,
    chance_of as chance_of,
    check_thresholds_at as check_thresholds_at,
    compare as compare,
    count_effective_rows as count_effective_rows,
    inner_model as inner_model,
    mean_benefit_beside as mean_benefit_beside,
    measure as measure,
    measures_of as measures_of,
    name_at as name_at,
    rules_of as rules_of,
    size_of as size_of,
    wilson as wilson,
)
from .sampling import (
    case_control_weights as case_control_weights,
    censoring_weights as censoring_weights,
)
from .survival import (
    TimeToEvent as TimeToEvent,
    aalen_johansen as aalen_johansen,
    kaplan_meier as kaplan_meier,
)
from .thresholds import (
    Thresholds as Thresholds,
    ThresholdsLike as ThresholdsLike,
    Weights as Weights,
    as_thresholds as as_thresholds,
    largest_risk as largest_risk,
)

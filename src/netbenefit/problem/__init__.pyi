from .constraints import (
    AtLeast as AtLeast,
    AtMost as AtMost,
    Bounds as Bounds,
    Constraint as Constraint,
    Exclude as Exclude,
    Exclusive as Exclusive,
    Implies as Implies,
    Include as Include,
    MaxFeatures as MaxFeatures,
    MaxFPR as MaxFPR,
    MaxPerColumn as MaxPerColumn,
    MaxQuestions as MaxQuestions,
    MaxTotalPoints as MaxTotalPoints,
    MinTPR as MinTPR,
    Monotone as Monotone,
    NeedsOneOf as NeedsOneOf,
    Sign as Sign,
    Values as Values,
    all_constraints as all_constraints,
    from_json as from_json,
    in_arrays as in_arrays,
)
from .levels import (
    count_called as count_called,
    fit_levels as fit_levels,
    floor_scores as floor_scores,
    level_risks as level_risks,
    pooled_rates as pooled_rates,
)
from .limits import (
    Form as Form,
    Limits as Limits,
    QuestionLimits as QuestionLimits,
    RateLimits as RateLimits,
    whole as whole,
)
from .problem import (
    Asked as Asked,
    Boxes as Boxes,
    Conflicts as Conflicts,
    Evaluation as Evaluation,
    IntegerProblem as IntegerProblem,
    NoCardFound as NoCardFound,
    Packing as Packing,
    Penalty as Penalty,
    Problem as Problem,
    Progress as Progress,
    Proof as Proof,
    Reason as Reason,
    SolverResult as SolverResult,
    Status as Status,
    TraceRow as TraceRow,
    Way as Way,
    check_two_classes as check_two_classes,
    one_hot_groups as one_hot_groups,
)
from .questions import (
    Questions as Questions,
)
from .raw_constraints import (
    RawNames as RawNames,
    by_condition as by_condition,
)

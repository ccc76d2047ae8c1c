"""The public names, by the room that they live in: what ``import netbenefit`` offers."""

from ._version import __version__ as __version__
from .binning import (
    Binner as Binner,
)
from .cards import (
    Condition as Condition,
    PerUnit as PerUnit,
    Provenance as Provenance,
    Reading as Reading,
    Rule as Rule,
    Scorecard as Scorecard,
)
from .certificates import (
    Certificate as Certificate,
    make_certificate as make_certificate,
)
from .common import (
    InputError as InputError,
    LeakWarning as LeakWarning,
    SmallTableWarning as SmallTableWarning,
)
from .data import (
    PatternTable as PatternTable,
)
from .estimators import (
    NetBenefitCalibrator as NetBenefitCalibrator,
    RiskScoreClassifier as RiskScoreClassifier,
    RiskSLIMClassifier as RiskSLIMClassifier,
    RSSDNBClassifier as RSSDNBClassifier,
    SLIMClassifier as SLIMClassifier,
)
from .metrics import (
    Thresholds as Thresholds,
    TimeToEvent as TimeToEvent,
    aalen_johansen as aalen_johansen,
    aunbc as aunbc,
    auroc as auroc,
    case_control_weights as case_control_weights,
    censoring_weights as censoring_weights,
    decision_bands as decision_bands,
    decision_curve as decision_curve,
    decision_differences as decision_differences,
    decision_summary as decision_summary,
    expected_calibration_error as expected_calibration_error,
    grouped_auroc as grouped_auroc,
    hosmer_lemeshow as hosmer_lemeshow,
    kaplan_meier as kaplan_meier,
    net_benefit as net_benefit,
    risk_breakpoints as risk_breakpoints,
    weighted_net_benefit as weighted_net_benefit,
)
from .plots import (
    CalibrationDisplay as CalibrationDisplay,
    ComparisonDisplay as ComparisonDisplay,
    CriticalDifferenceDisplay as CriticalDifferenceDisplay,
    DecisionCurveDisplay as DecisionCurveDisplay,
    PointsDisplay as PointsDisplay,
    RegionDisplay as RegionDisplay,
    RocDisplay as RocDisplay,
    ScorecardDisplay as ScorecardDisplay,
    SensitivityDisplay as SensitivityDisplay,
    SizePathDisplay as SizePathDisplay,
    TeacherDisplay as TeacherDisplay,
    TraceDisplay as TraceDisplay,
)
from .problem import (
    AtLeast as AtLeast,
    AtMost as AtMost,
    Bounds as Bounds,
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
    Problem as Problem,
    Sign as Sign,
    Values as Values,
)
from .solvers import (
    MultiStart as MultiStart,
    NearOptimal as NearOptimal,
    enumerate_near_optimal as enumerate_near_optimal,
)
from .theory import (
    calibrate_levels as calibrate_levels,
    improve_levels as improve_levels,
    keep_order as keep_order,
)
from .updating import (
    CardEvaluation as CardEvaluation,
    CardUpdate as CardUpdate,
    Drift as Drift,
    UpdateChoice as UpdateChoice,
    binning_choices as binning_choices,
    card_drift as card_drift,
    choose_update as choose_update,
    evaluate_card as evaluate_card,
    evaluate_table as evaluate_table,
    recalibration as recalibration,
    score_table as score_table,
    update_card as update_card,
)
from .validation import (
    BenefitSearch as BenefitSearch,
    BootstrapValidation as BootstrapValidation,
    CardStability as CardStability,
    Comparison as Comparison,
    CrossValidation as CrossValidation,
    RankTest as RankTest,
    Sensitivity as Sensitivity,
    SettingChoice as SettingChoice,
    SizePath as SizePath,
    bootstrap_validate as bootstrap_validate,
    choose_setting as choose_setting,
    compare as compare,
    cross_validate as cross_validate,
    nested_cross_validate as nested_cross_validate,
    paper_grids as paper_grids,
    rank_models as rank_models,
    size_path as size_path,
    suggest_thresholds as suggest_thresholds,
    threshold_sensitivity as threshold_sensitivity,
    tune as tune,
)

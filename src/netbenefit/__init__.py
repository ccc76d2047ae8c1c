"""Risk scorecards that maximise decision net benefit.

Names are loaded when they are first used, so that reading a card or computing a metric does not
wait for the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from netbenefit._version import __version__

if TYPE_CHECKING:
    from netbenefit._decision_bands import (
        decision_bands as decision_bands,
        decision_differences as decision_differences,
        decision_summary as decision_summary,
    )
    from netbenefit._validation import InputError as InputError
    from netbenefit.baselines.riskslim import RiskSLIMClassifier as RiskSLIMClassifier
    from netbenefit.baselines.slim import SLIMClassifier as SLIMClassifier
    from netbenefit.binning import Binner as Binner
    from netbenefit.calibration import (
        calibrate_levels as calibrate_levels,
        improve_levels as improve_levels,
        keep_order as keep_order,
    )
    from netbenefit.calibrator import NetBenefitCalibrator as NetBenefitCalibrator
    from netbenefit.certificate import (
        Certificate as Certificate,
        make_certificate as make_certificate,
    )
    from netbenefit.comparison import (
        Comparison as Comparison,
        RankTest as RankTest,
        compare as compare,
        rank_models as rank_models,
    )
    from netbenefit.conditions import (
        Condition as Condition,
        PerUnit as PerUnit,
    )
    from netbenefit.constraints import (
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
        MaxTotalPoints as MaxTotalPoints,
        MinTPR as MinTPR,
        NeedsOneOf as NeedsOneOf,
        Sign as Sign,
        Values as Values,
    )
    from netbenefit.decision import (
        decision_curve as decision_curve,
        risk_breakpoints as risk_breakpoints,
    )
    from netbenefit.estimator import RiskScoreClassifier as RiskScoreClassifier
    from netbenefit.evaluation import (
        BenefitSearch as BenefitSearch,
        BootstrapValidation as BootstrapValidation,
        CardStability as CardStability,
        CrossValidation as CrossValidation,
        SettingChoice as SettingChoice,
        bootstrap_validate as bootstrap_validate,
        choose_setting as choose_setting,
        cross_validate as cross_validate,
        nested_cross_validate as nested_cross_validate,
        tune as tune,
    )
    from netbenefit.metrics import (
        aunbc as aunbc,
        auroc as auroc,
        expected_calibration_error as expected_calibration_error,
        grouped_auroc as grouped_auroc,
        hosmer_lemeshow as hosmer_lemeshow,
        net_benefit as net_benefit,
        weighted_net_benefit as weighted_net_benefit,
    )
    from netbenefit.patterns import PatternTable as PatternTable
    from netbenefit.plots import (
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
    from netbenefit.problem import Problem as Problem
    from netbenefit.published import RSSDNBClassifier as RSSDNBClassifier
    from netbenefit.readings import Reading as Reading
    from netbenefit.sampling import (
        case_control_weights as case_control_weights,
        censoring_weights as censoring_weights,
    )
    from netbenefit.scorecard import (
        Provenance as Provenance,
        Rule as Rule,
        Scorecard as Scorecard,
    )
    from netbenefit.sensitivity import (
        Sensitivity as Sensitivity,
        paper_grids as paper_grids,
        suggest_thresholds as suggest_thresholds,
        threshold_sensitivity as threshold_sensitivity,
    )
    from netbenefit.sizing import (
        SizePath as SizePath,
        size_path as size_path,
    )
    from netbenefit.solvers.multi_start import MultiStart as MultiStart
    from netbenefit.solvers.near_optimal import (
        NearOptimal as NearOptimal,
        enumerate_near_optimal as enumerate_near_optimal,
    )
    from netbenefit.survival import (
        TimeToEvent as TimeToEvent,
        aalen_johansen as aalen_johansen,
        kaplan_meier as kaplan_meier,
    )
    from netbenefit.tables import (
        binning_choices as binning_choices,
        evaluate_table as evaluate_table,
        score_table as score_table,
    )
    from netbenefit.thresholds import Thresholds as Thresholds
    from netbenefit.updating import (
        CardEvaluation as CardEvaluation,
        CardUpdate as CardUpdate,
        Drift as Drift,
        UpdateChoice as UpdateChoice,
        card_drift as card_drift,
        choose_update as choose_update,
        evaluate_card as evaluate_card,
        recalibration as recalibration,
        update_card as update_card,
    )

#: Modules, and the public names that live in them.
_NAMES = {
    "_decision_bands": "decision_bands decision_differences decision_summary",
    "_validation": "InputError",
    "baselines": "SLIMClassifier",
    "baselines.riskslim": "RiskSLIMClassifier",
    "binning": "Binner",
    "calibration": "calibrate_levels improve_levels keep_order",
    "calibrator": "NetBenefitCalibrator",
    "certificate": "Certificate make_certificate",
    "comparison": "Comparison RankTest compare rank_models",
    "conditions": "Condition PerUnit",
    "constraints": (
        "AtLeast AtMost Bounds Exclude Exclusive Implies Include MaxFPR MaxFeatures "
        "MaxPerColumn MaxTotalPoints MinTPR NeedsOneOf Sign Values"
    ),
    "decision": "decision_curve risk_breakpoints",
    "estimator": "RiskScoreClassifier",
    "evaluation": (
        "BenefitSearch BootstrapValidation CardStability CrossValidation SettingChoice "
        "bootstrap_validate choose_setting cross_validate nested_cross_validate tune"
    ),
    "metrics": (
        "aunbc auroc expected_calibration_error grouped_auroc hosmer_lemeshow net_benefit "
        "weighted_net_benefit"
    ),
    "patterns": "PatternTable",
    "plots": (
        "CalibrationDisplay ComparisonDisplay CriticalDifferenceDisplay DecisionCurveDisplay "
        "PointsDisplay RegionDisplay RocDisplay ScorecardDisplay SensitivityDisplay "
        "SizePathDisplay TeacherDisplay TraceDisplay"
    ),
    "problem": "Problem",
    "published": "RSSDNBClassifier",
    "readings": "Reading",
    "sampling": "case_control_weights censoring_weights",
    "scorecard": "Provenance Rule Scorecard",
    "sensitivity": "Sensitivity paper_grids suggest_thresholds threshold_sensitivity",
    "sizing": "SizePath size_path",
    "solvers.multi_start": "MultiStart",
    "solvers.near_optimal": "NearOptimal enumerate_near_optimal",
    "survival": "TimeToEvent aalen_johansen kaplan_meier",
    "tables": "binning_choices evaluate_table score_table",
    "thresholds": "Thresholds",
    "updating": (
        "CardEvaluation CardUpdate Drift UpdateChoice card_drift choose_update evaluate_card "
        "recalibration update_card"
    ),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'netbenefit' has no attribute {name!r}")
    value = getattr(import_module(f"netbenefit.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

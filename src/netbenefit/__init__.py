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
        decision_bands,
        decision_differences,
        decision_summary,
    )
    from netbenefit._validation import InputError
    from netbenefit.baselines.riskslim import RiskSLIMClassifier
    from netbenefit.baselines.slim import SLIMClassifier
    from netbenefit.binning import Binner
    from netbenefit.calibration import calibrate_levels, improve_levels, keep_order
    from netbenefit.calibrator import NetBenefitCalibrator
    from netbenefit.certificate import Certificate, make_certificate
    from netbenefit.comparison import Comparison, RankTest, compare, rank_models
    from netbenefit.conditions import Condition, PerUnit
    from netbenefit.constraints import (
        AtLeast,
        AtMost,
        Bounds,
        Exclude,
        Exclusive,
        Implies,
        Include,
        MaxFeatures,
        MaxFPR,
        MaxPerColumn,
        MaxTotalPoints,
        MinTPR,
        NeedsOneOf,
        Sign,
        Values,
    )
    from netbenefit.decision import decision_curve, risk_breakpoints
    from netbenefit.estimator import RiskScoreClassifier
    from netbenefit.evaluation import (
        BenefitSearch,
        BootstrapValidation,
        CardStability,
        CrossValidation,
        SettingChoice,
        bootstrap_validate,
        choose_setting,
        cross_validate,
        nested_cross_validate,
        tune,
    )
    from netbenefit.metrics import (
        aunbc,
        auroc,
        expected_calibration_error,
        grouped_auroc,
        hosmer_lemeshow,
        net_benefit,
        weighted_net_benefit,
    )
    from netbenefit.patterns import PatternTable
    from netbenefit.plots import (
        CalibrationDisplay,
        ComparisonDisplay,
        CriticalDifferenceDisplay,
        DecisionCurveDisplay,
        PointsDisplay,
        RegionDisplay,
        RocDisplay,
        ScorecardDisplay,
        SensitivityDisplay,
        SizePathDisplay,
        TeacherDisplay,
        TraceDisplay,
    )
    from netbenefit.problem import Problem
    from netbenefit.published import RSSDNBClassifier
    from netbenefit.readings import Reading
    from netbenefit.sampling import case_control_weights, censoring_weights
    from netbenefit.scorecard import Provenance, Rule, Scorecard
    from netbenefit.sensitivity import (
        Sensitivity,
        paper_grids,
        suggest_thresholds,
        threshold_sensitivity,
    )
    from netbenefit.sizing import SizePath, size_path
    from netbenefit.solvers.multi_start import MultiStart
    from netbenefit.solvers.near_optimal import NearOptimal, enumerate_near_optimal
    from netbenefit.survival import TimeToEvent, aalen_johansen, kaplan_meier
    from netbenefit.tables import binning_choices, evaluate_table, score_table
    from netbenefit.thresholds import Thresholds
    from netbenefit.updating import (
        CardEvaluation,
        CardUpdate,
        Drift,
        UpdateChoice,
        card_drift,
        choose_update,
        evaluate_card,
        recalibration,
        update_card,
    )

_HOMES = {
    "AtLeast": "constraints",
    "AtMost": "constraints",
    "BenefitSearch": "evaluation",
    "Binner": "binning",
    "BootstrapValidation": "evaluation",
    "Bounds": "constraints",
    "CalibrationDisplay": "plots",
    "CardEvaluation": "updating",
    "CardUpdate": "updating",
    "CardStability": "evaluation",
    "Certificate": "certificate",
    "Comparison": "comparison",
    "ComparisonDisplay": "plots",
    "Condition": "conditions",
    "CriticalDifferenceDisplay": "plots",
    "CrossValidation": "evaluation",
    "DecisionCurveDisplay": "plots",
    "Drift": "updating",
    "Exclude": "constraints",
    "Exclusive": "constraints",
    "Implies": "constraints",
    "Include": "constraints",
    "InputError": "_validation",
    "MaxFPR": "constraints",
    "MaxFeatures": "constraints",
    "MaxPerColumn": "constraints",
    "MaxTotalPoints": "constraints",
    "MinTPR": "constraints",
    "MultiStart": "solvers.multi_start",
    "NearOptimal": "solvers.near_optimal",
    "NeedsOneOf": "constraints",
    "NetBenefitCalibrator": "calibrator",
    "PatternTable": "patterns",
    "PerUnit": "conditions",
    "PointsDisplay": "plots",
    "Problem": "problem",
    "Provenance": "scorecard",
    "RSSDNBClassifier": "published",
    "RankTest": "comparison",
    "Reading": "readings",
    "RegionDisplay": "plots",
    "RiskSLIMClassifier": "baselines.riskslim",
    "RiskScoreClassifier": "estimator",
    "RocDisplay": "plots",
    "Rule": "scorecard",
    "SLIMClassifier": "baselines",
    "Scorecard": "scorecard",
    "ScorecardDisplay": "plots",
    "Sensitivity": "sensitivity",
    "SensitivityDisplay": "plots",
    "SettingChoice": "evaluation",
    "Sign": "constraints",
    "SizePath": "sizing",
    "SizePathDisplay": "plots",
    "TeacherDisplay": "plots",
    "Thresholds": "thresholds",
    "TimeToEvent": "survival",
    "TraceDisplay": "plots",
    "UpdateChoice": "updating",
    "Values": "constraints",
    "aalen_johansen": "survival",
    "aunbc": "metrics",
    "auroc": "metrics",
    "bootstrap_validate": "evaluation",
    "calibrate_levels": "calibration",
    "compare": "comparison",
    "case_control_weights": "sampling",
    "censoring_weights": "sampling",
    "decision_bands": "_decision_bands",
    "card_drift": "updating",
    "choose_update": "updating",
    "choose_setting": "evaluation",
    "cross_validate": "evaluation",
    "decision_curve": "decision",
    "decision_differences": "_decision_bands",
    "decision_summary": "_decision_bands",
    "enumerate_near_optimal": "solvers.near_optimal",
    "evaluate_card": "updating",
    "expected_calibration_error": "metrics",
    "grouped_auroc": "metrics",
    "hosmer_lemeshow": "metrics",
    "improve_levels": "calibration",
    "kaplan_meier": "survival",
    "keep_order": "calibration",
    "make_certificate": "certificate",
    "nested_cross_validate": "evaluation",
    "net_benefit": "metrics",
    "rank_models": "comparison",
    "risk_breakpoints": "decision",
    "paper_grids": "sensitivity",
    "recalibration": "updating",
    "binning_choices": "tables",
    "evaluate_table": "tables",
    "score_table": "tables",
    "size_path": "sizing",
    "suggest_thresholds": "sensitivity",
    "threshold_sensitivity": "sensitivity",
    "update_card": "updating",
    "tune": "evaluation",
    "weighted_net_benefit": "metrics",
}

__all__ = [
    "AtLeast",
    "AtMost",
    "BenefitSearch",
    "Binner",
    "BootstrapValidation",
    "Bounds",
    "CalibrationDisplay",
    "CardEvaluation",
    "CardStability",
    "CardUpdate",
    "Certificate",
    "Comparison",
    "ComparisonDisplay",
    "Condition",
    "CriticalDifferenceDisplay",
    "CrossValidation",
    "DecisionCurveDisplay",
    "Drift",
    "Exclude",
    "Exclusive",
    "Implies",
    "Include",
    "InputError",
    "MaxFPR",
    "MaxFeatures",
    "MaxPerColumn",
    "MaxTotalPoints",
    "MinTPR",
    "MultiStart",
    "NearOptimal",
    "NeedsOneOf",
    "NetBenefitCalibrator",
    "PatternTable",
    "PerUnit",
    "PointsDisplay",
    "Problem",
    "Provenance",
    "RSSDNBClassifier",
    "RankTest",
    "Reading",
    "RegionDisplay",
    "RiskSLIMClassifier",
    "RiskScoreClassifier",
    "RocDisplay",
    "Rule",
    "SLIMClassifier",
    "Scorecard",
    "ScorecardDisplay",
    "Sensitivity",
    "SensitivityDisplay",
    "SettingChoice",
    "Sign",
    "SizePath",
    "SizePathDisplay",
    "TeacherDisplay",
    "Thresholds",
    "TimeToEvent",
    "TraceDisplay",
    "UpdateChoice",
    "Values",
    "__version__",
    "aalen_johansen",
    "aunbc",
    "auroc",
    "binning_choices",
    "bootstrap_validate",
    "calibrate_levels",
    "card_drift",
    "case_control_weights",
    "censoring_weights",
    "choose_setting",
    "choose_update",
    "compare",
    "cross_validate",
    "decision_bands",
    "decision_curve",
    "decision_differences",
    "decision_summary",
    "enumerate_near_optimal",
    "evaluate_card",
    "evaluate_table",
    "expected_calibration_error",
    "grouped_auroc",
    "hosmer_lemeshow",
    "improve_levels",
    "kaplan_meier",
    "keep_order",
    "make_certificate",
    "nested_cross_validate",
    "net_benefit",
    "paper_grids",
    "rank_models",
    "recalibration",
    "risk_breakpoints",
    "score_table",
    "size_path",
    "suggest_thresholds",
    "threshold_sensitivity",
    "tune",
    "update_card",
    "weighted_net_benefit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'netbenefit' has no attribute {name!r}")
    value = getattr(import_module(f"netbenefit.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Risk scorecards that maximise decision net benefit.

Names are loaded when they are first used, so that reading a card or computing a metric does not
wait for the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from netbenefit._version import __version__

if TYPE_CHECKING:
    from netbenefit._validation import InputError
    from netbenefit.baselines import SLIMClassifier
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
    from netbenefit.decision import decision_curve
    from netbenefit.estimator import RiskScoreClassifier
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
        SizePathDisplay,
        TraceDisplay,
    )
    from netbenefit.problem import Problem
    from netbenefit.published import RSSDNBClassifier
    from netbenefit.readings import Reading
    from netbenefit.scorecard import Provenance, Rule, Scorecard
    from netbenefit.sizing import SizePath, size_path
    from netbenefit.solvers.near_optimal import NearOptimal, enumerate_near_optimal
    from netbenefit.thresholds import Thresholds

_HOMES = {
    "AtLeast": "constraints",
    "AtMost": "constraints",
    "Binner": "binning",
    "Bounds": "constraints",
    "CalibrationDisplay": "plots",
    "Certificate": "certificate",
    "Comparison": "comparison",
    "ComparisonDisplay": "plots",
    "Condition": "conditions",
    "CriticalDifferenceDisplay": "plots",
    "DecisionCurveDisplay": "plots",
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
    "RiskScoreClassifier": "estimator",
    "RocDisplay": "plots",
    "Rule": "scorecard",
    "SLIMClassifier": "baselines",
    "Scorecard": "scorecard",
    "ScorecardDisplay": "plots",
    "Sign": "constraints",
    "SizePath": "sizing",
    "SizePathDisplay": "plots",
    "Thresholds": "thresholds",
    "TraceDisplay": "plots",
    "Values": "constraints",
    "aunbc": "metrics",
    "auroc": "metrics",
    "calibrate_levels": "calibration",
    "compare": "comparison",
    "decision_curve": "decision",
    "enumerate_near_optimal": "solvers.near_optimal",
    "expected_calibration_error": "metrics",
    "grouped_auroc": "metrics",
    "hosmer_lemeshow": "metrics",
    "improve_levels": "calibration",
    "keep_order": "calibration",
    "make_certificate": "certificate",
    "net_benefit": "metrics",
    "rank_models": "comparison",
    "size_path": "sizing",
    "weighted_net_benefit": "metrics",
}

__all__ = [
    "AtLeast",
    "AtMost",
    "Binner",
    "Bounds",
    "CalibrationDisplay",
    "Certificate",
    "Comparison",
    "ComparisonDisplay",
    "Condition",
    "CriticalDifferenceDisplay",
    "DecisionCurveDisplay",
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
    "RiskScoreClassifier",
    "RocDisplay",
    "Rule",
    "SLIMClassifier",
    "Scorecard",
    "ScorecardDisplay",
    "Sign",
    "SizePath",
    "SizePathDisplay",
    "Thresholds",
    "TraceDisplay",
    "Values",
    "__version__",
    "aunbc",
    "auroc",
    "calibrate_levels",
    "compare",
    "decision_curve",
    "enumerate_near_optimal",
    "expected_calibration_error",
    "grouped_auroc",
    "hosmer_lemeshow",
    "improve_levels",
    "keep_order",
    "make_certificate",
    "net_benefit",
    "rank_models",
    "size_path",
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

"""Risk scorecards that maximise decision net benefit.

Names are loaded when they are first used, so that reading a card or computing a metric does not
wait for the compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from netbenefit._version import __version__

if TYPE_CHECKING:
    from netbenefit.binning.binner import Binner as Binner
    from netbenefit.cards.readings import Reading as Reading
    from netbenefit.cards.rules import Provenance as Provenance, Rule as Rule
    from netbenefit.cards.scorecard import Scorecard as Scorecard
    from netbenefit.cards.terms import (
        Condition as Condition,
        PerUnit as PerUnit,
    )
    from netbenefit.certificates.certificate import (
        Certificate as Certificate,
        make_certificate as make_certificate,
    )
    from netbenefit.common.checks import InputError as InputError
    from netbenefit.data.patterns import PatternTable as PatternTable
    from netbenefit.estimators.calibrator import NetBenefitCalibrator as NetBenefitCalibrator
    from netbenefit.estimators.risk_score import RiskScoreClassifier as RiskScoreClassifier
    from netbenefit.estimators.riskslim.estimator import RiskSLIMClassifier as RiskSLIMClassifier
    from netbenefit.estimators.rss_dnb import RSSDNBClassifier as RSSDNBClassifier
    from netbenefit.estimators.slim.estimator import SLIMClassifier as SLIMClassifier
    from netbenefit.metrics.bands import (
        decision_bands as decision_bands,
        decision_differences as decision_differences,
        decision_summary as decision_summary,
    )
    from netbenefit.metrics.decision_curve import (
        decision_curve as decision_curve,
        risk_breakpoints as risk_breakpoints,
    )
    from netbenefit.metrics.net_benefit import (
        aunbc as aunbc,
        auroc as auroc,
        expected_calibration_error as expected_calibration_error,
        grouped_auroc as grouped_auroc,
        hosmer_lemeshow as hosmer_lemeshow,
        net_benefit as net_benefit,
        weighted_net_benefit as weighted_net_benefit,
    )
    from netbenefit.metrics.sampling import (
        case_control_weights as case_control_weights,
        censoring_weights as censoring_weights,
    )
    from netbenefit.metrics.survival import (
        TimeToEvent as TimeToEvent,
        aalen_johansen as aalen_johansen,
        kaplan_meier as kaplan_meier,
    )
    from netbenefit.metrics.thresholds import Thresholds as Thresholds
    from netbenefit.plots.calibration import CalibrationDisplay as CalibrationDisplay
    from netbenefit.plots.card import (
        PointsDisplay as PointsDisplay,
        ScorecardDisplay as ScorecardDisplay,
    )
    from netbenefit.plots.comparison import (
        ComparisonDisplay as ComparisonDisplay,
        CriticalDifferenceDisplay as CriticalDifferenceDisplay,
        SensitivityDisplay as SensitivityDisplay,
    )
    from netbenefit.plots.decision_curve import DecisionCurveDisplay as DecisionCurveDisplay
    from netbenefit.plots.region import RegionDisplay as RegionDisplay
    from netbenefit.plots.roc import RocDisplay as RocDisplay
    from netbenefit.plots.search import (
        SizePathDisplay as SizePathDisplay,
        TraceDisplay as TraceDisplay,
    )
    from netbenefit.plots.teacher import TeacherDisplay as TeacherDisplay
    from netbenefit.problem.constraints import (
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
        Monotone as Monotone,
        NeedsOneOf as NeedsOneOf,
        Sign as Sign,
        Values as Values,
    )
    from netbenefit.problem.problem import Problem as Problem
    from netbenefit.solvers.multi_start import MultiStart as MultiStart
    from netbenefit.solvers.near_optimal import (
        NearOptimal as NearOptimal,
        enumerate_near_optimal as enumerate_near_optimal,
    )
    from netbenefit.theory.calibration import (
        calibrate_levels as calibrate_levels,
        improve_levels as improve_levels,
        keep_order as keep_order,
    )
    from netbenefit.updating.drift import Drift as Drift, card_drift as card_drift
    from netbenefit.updating.evaluate import (
        CardEvaluation as CardEvaluation,
        evaluate_card as evaluate_card,
        recalibration as recalibration,
    )
    from netbenefit.updating.in_tables import (
        binning_choices as binning_choices,
        evaluate_table as evaluate_table,
        score_table as score_table,
    )
    from netbenefit.updating.update import (
        CardUpdate as CardUpdate,
        UpdateChoice as UpdateChoice,
        choose_update as choose_update,
        update_card as update_card,
    )
    from netbenefit.validation.bootstrap import (
        BootstrapValidation as BootstrapValidation,
        bootstrap_validate as bootstrap_validate,
    )
    from netbenefit.validation.choice import (
        BenefitSearch as BenefitSearch,
        SettingChoice as SettingChoice,
        choose_setting as choose_setting,
        tune as tune,
    )
    from netbenefit.validation.comparison import (
        Comparison as Comparison,
        RankTest as RankTest,
        compare as compare,
        rank_models as rank_models,
    )
    from netbenefit.validation.cross_validation import (
        CrossValidation as CrossValidation,
        cross_validate as cross_validate,
        nested_cross_validate as nested_cross_validate,
    )
    from netbenefit.validation.sensitivity import (
        Sensitivity as Sensitivity,
        paper_grids as paper_grids,
        suggest_thresholds as suggest_thresholds,
        threshold_sensitivity as threshold_sensitivity,
    )
    from netbenefit.validation.sizes import (
        SizePath as SizePath,
        size_path as size_path,
    )
    from netbenefit.validation.stability import CardStability as CardStability

#: Modules, and the public names that live in them.
_NAMES = {
    "metrics.bands": "decision_bands decision_differences decision_summary",
    "common.checks": "InputError",
    "estimators.slim.estimator": "SLIMClassifier",
    "estimators.riskslim.estimator": "RiskSLIMClassifier",
    "binning.binner": "Binner",
    "theory.calibration": "calibrate_levels improve_levels keep_order",
    "estimators.calibrator": "NetBenefitCalibrator",
    "certificates.certificate": "Certificate make_certificate",
    "validation.comparison": "Comparison RankTest compare rank_models",
    "cards.terms": "Condition PerUnit",
    "problem.constraints": (
        "AtLeast AtMost Bounds Exclude Exclusive Implies Include MaxFPR MaxFeatures "
        "MaxPerColumn MaxTotalPoints MinTPR Monotone NeedsOneOf Sign Values"
    ),
    "metrics.decision_curve": "decision_curve risk_breakpoints",
    "estimators.risk_score": "RiskScoreClassifier",
    "validation.cross_validation": (
        "BenefitSearch BootstrapValidation CardStability CrossValidation SettingChoice "
        "bootstrap_validate choose_setting cross_validate nested_cross_validate tune"
    ),
    "metrics.net_benefit": (
        "aunbc auroc expected_calibration_error grouped_auroc hosmer_lemeshow net_benefit "
        "weighted_net_benefit"
    ),
    "data.patterns": "PatternTable",
    "plots": (
        "CalibrationDisplay ComparisonDisplay CriticalDifferenceDisplay DecisionCurveDisplay "
        "PointsDisplay RegionDisplay RocDisplay ScorecardDisplay SensitivityDisplay "
        "SizePathDisplay TeacherDisplay TraceDisplay"
    ),
    "problem.problem": "Problem",
    "estimators.rss_dnb": "RSSDNBClassifier",
    "cards.readings": "Reading",
    "metrics.sampling": "case_control_weights censoring_weights",
    "cards.scorecard": "Provenance Rule Scorecard",
    "validation.sensitivity": "Sensitivity paper_grids suggest_thresholds threshold_sensitivity",
    "validation.sizes": "SizePath size_path",
    "solvers.multi_start": "MultiStart",
    "solvers.near_optimal": "NearOptimal enumerate_near_optimal",
    "metrics.survival": "TimeToEvent aalen_johansen kaplan_meier",
    "updating.in_tables": "binning_choices evaluate_table score_table",
    "metrics.thresholds": "Thresholds",
    "updating.update": (
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

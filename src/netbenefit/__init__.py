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
    from netbenefit.calibration import calibrate_levels, improve_levels, keep_order
    from netbenefit.calibrator import NetBenefitCalibrator
    from netbenefit.conditions import Condition, PerUnit
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
    from netbenefit.scorecard import Provenance, Rule, Scorecard
    from netbenefit.thresholds import Thresholds

_HOMES = {
    "Condition": "conditions",
    "InputError": "_validation",
    "NetBenefitCalibrator": "calibrator",
    "PatternTable": "patterns",
    "PerUnit": "conditions",
    "Provenance": "scorecard",
    "RiskScoreClassifier": "estimator",
    "Rule": "scorecard",
    "Scorecard": "scorecard",
    "Thresholds": "thresholds",
    "aunbc": "metrics",
    "auroc": "metrics",
    "calibrate_levels": "calibration",
    "decision_curve": "decision",
    "expected_calibration_error": "metrics",
    "grouped_auroc": "metrics",
    "hosmer_lemeshow": "metrics",
    "improve_levels": "calibration",
    "keep_order": "calibration",
    "net_benefit": "metrics",
    "weighted_net_benefit": "metrics",
}

__all__ = [
    "Condition",
    "InputError",
    "NetBenefitCalibrator",
    "PatternTable",
    "PerUnit",
    "Provenance",
    "RiskScoreClassifier",
    "Rule",
    "Scorecard",
    "Thresholds",
    "__version__",
    "aunbc",
    "auroc",
    "calibrate_levels",
    "decision_curve",
    "expected_calibration_error",
    "grouped_auroc",
    "hosmer_lemeshow",
    "improve_levels",
    "keep_order",
    "net_benefit",
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

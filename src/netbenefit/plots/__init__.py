"""Pictures, as display objects: they compute when made, draw in ``plot``, and show nothing.

matplotlib is imported when something is drawn; ``pip install 'netbenefit[plots]'`` brings it.
"""

from __future__ import annotations

from netbenefit.plots.base import check_picture
from netbenefit.plots.calibration import CalibrationDisplay
from netbenefit.plots.card import PointsDisplay, ScorecardDisplay
from netbenefit.plots.comparison import (
    ComparisonDisplay,
    CriticalDifferenceDisplay,
    SensitivityDisplay,
)
from netbenefit.plots.decision_curve import DecisionCurveDisplay
from netbenefit.plots.region import RegionDisplay
from netbenefit.plots.roc import RocDisplay
from netbenefit.plots.search import SizePathDisplay, TraceDisplay, save_picture
from netbenefit.plots.teacher import TeacherDisplay

__all__ = [
    "CalibrationDisplay",
    "ComparisonDisplay",
    "CriticalDifferenceDisplay",
    "DecisionCurveDisplay",
    "PointsDisplay",
    "RegionDisplay",
    "RocDisplay",
    "ScorecardDisplay",
    "SensitivityDisplay",
    "SizePathDisplay",
    "TeacherDisplay",
    "TraceDisplay",
    "check_picture",
    "save_picture",
]

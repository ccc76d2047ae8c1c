"""Methods to compare with, as estimators that make the same cards."""

from __future__ import annotations

from netbenefit.baselines.slim import SLIMClassifier

__all__ = ["SLIMClassifier"]

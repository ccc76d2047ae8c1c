"""Methods that others have published, as estimators that make cards like ours: to compare with."""

from netbenefit.baselines.riskslim import RiskSLIMClassifier
from netbenefit.baselines.slim import SLIMClassifier

__all__ = ["RiskSLIMClassifier", "SLIMClassifier"]

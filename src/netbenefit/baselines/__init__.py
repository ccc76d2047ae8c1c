"""Methods that others have published, as estimators like ours: to compare with."""

from netbenefit.baselines.riskslim import RiskSLIMClassifier

__all__ = ["RiskSLIMClassifier"]

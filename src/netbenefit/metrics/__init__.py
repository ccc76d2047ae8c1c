"""Measures of risks: thresholds, net benefit, AUROC, calibration, decision curves, survival."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

"""Measures of risks: thresholds, net benefit, AUROC, calibration, decision curves, survival."""

"""Measurements of speed and search quality; ``python -m benchmarks`` runs them all.

Ratios are taken within one run on one machine.  Nothing here is a test: nothing fails.
"""

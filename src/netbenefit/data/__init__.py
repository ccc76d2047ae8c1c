"""Rows from anywhere: labels, files, sources, raw tables, patterns."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

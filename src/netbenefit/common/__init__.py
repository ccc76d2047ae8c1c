"""What every room may use: checks, text, tables, files, parallel work; nothing about risk."""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)

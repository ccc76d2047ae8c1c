"""What every room may use: checks, text, tables, files, parallel work; nothing about risk."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The kinds of cases: one more is one more module and its name here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = ("problems", "exports", "certificates", "files", "kills")


def load(name: str) -> ModuleType:
    """The module of a kind, by its name here or in full, imported late: some take seconds."""
    return import_module(name if "." in name else f"tests.soak.{name}")

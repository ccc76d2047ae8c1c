"""The kinds of cases: one more is one more module and its name here."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = ("problems", "exports", "certificates", "files", "kills")


def load(name: str) -> ModuleType:
    """The module of a kind, imported where it is needed: some take seconds."""
    return import_module(f"tests.soak.{name}")

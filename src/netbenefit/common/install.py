"""How to install what an extra of this package brings, by the way the package was installed."""

from __future__ import annotations

import json
import re
import shlex
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlparse
from urllib.request import url2pathname

_NAME = "netbenefit"


def install_command(extra: str) -> str:
    """Return the command that installs an extra, for an error message."""
    return command_for(extra, _found(), sys.prefix)


def _found() -> Distribution | None:
    """What is installed; None where the package is run from its sources."""
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        return None
    return None if found.read_text("PKG-INFO") is not None else found  # what a build left there


def _origin(found: Distribution | None) -> tuple[dict[str, Any], str, str]:
    """Where a distribution came from, what installed it, and how more is installed beside it."""
    origin = json.loads((found and found.read_text("direct_url.json")) or "{}")
    installer = ((found and found.read_text("INSTALLER")) or "").strip()
    return origin, installer, "uv pip install" if installer == "uv" else "pip install"


def upgrade_advice() -> str:
    """Return a sentence on how to get a newer version, for an error message."""
    return advice_for(_found(), sys.prefix)


def advice_for(found: Distribution | None, prefix: str) -> str:
    """Return the sentence for a distribution that was found in an environment."""
    origin, installer, pip = _origin(found)
    clone = Path(__file__).resolve().parents[3]
    if origin.get("dir_info", {}).get("editable"):
        return f"Update the sources in {url2pathname(urlparse(origin['url']).path)}."
    if found is None and (clone / "pyproject.toml").is_file():
        return f"Update the sources in {clone}."
    parts = PurePath(prefix).parts
    if ("pipx", "venvs") in pairwise(parts):
        return f"Update the package: pipx upgrade {_NAME}."
    if ("uv", "tools") in pairwise(parts):
        return f"Update the package: uv tool upgrade {_NAME}."
    if found is None or origin or installer not in ("pip", "uv"):
        return "Update the package in the way in which it was installed."
    return f"Update the package: {pip} --upgrade {_NAME}."


def command_for(extra: str, found: Distribution | None, prefix: str) -> str:
    """Return the command for a distribution that was found in an environment.

    1. A clone is installed again from where it is, with the extra.
    2. A program in an environment of its own, by pipx or uv, gets the packages put beside it.
    3. What came from the package index comes from there again, with the extra.
    4. Anything else (conda, an archive, a repository) gets the packages themselves, by pip.
    """
    origin, installer, pip = _origin(found)
    if origin.get("dir_info", {}).get("editable"):  # 1.
        folder = url2pathname(urlparse(origin["url"]).path)
        return f"{pip} -e {shlex.quote(f'{folder}[{extra}]')}"
    clone = Path(__file__).resolve().parents[3]
    if found is None and (clone / "pyproject.toml").is_file():
        return f"{pip} -e {shlex.quote(f'{clone}[{extra}]')}"
    packages = [] if found is None else _packages(found, extra)
    listed = " ".join(map(shlex.quote, packages))
    parts = PurePath(prefix).parts
    if packages and ("pipx", "venvs") in pairwise(parts):  # 2.
        return f"pipx inject {_NAME} {listed}"
    if packages and ("uv", "tools") in pairwise(parts):
        withs = " ".join(f"--with {shlex.quote(package)}" for package in packages)
        return f"uv tool install {withs} {_NAME}"
    if packages and (origin or installer not in ("pip", "uv")):  # 4.
        return f"{pip} {listed}"
    return f"{pip} {shlex.quote(f'{_NAME}[{extra}]')}"  # 3.


def _packages(found: Distribution, extra: str) -> list[str]:
    """Return what an extra requires; extras that it names are followed."""
    packages: list[str] = []
    for line in found.requires or ():
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker) is None:
            continue
        others = re.fullmatch(rf"{_NAME}\[(.*)\]", requirement)
        if others is None:
            packages.append(requirement)
            continue
        for other in others[1].split(","):
            packages += _packages(found, other.strip())
    return list(dict.fromkeys(packages))

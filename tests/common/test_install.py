"""What a message about a missing extra tells people to run."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest

from netbenefit.common import install_command
from netbenefit.common.install import advice_for, command_for

METADATA = """Metadata-Version: 2.4
Name: netbenefit
Version: 1
Requires-Dist: numpy>=1.26
Requires-Dist: matplotlib>=3.8; extra == "plots"
Requires-Dist: pyarrow>=15; extra == 'parquet'
Requires-Dist: netbenefit[plots,parquet]; extra == "reproduce"
"""
EDITABLE = {"dir_info": {"editable": True}, "url": "file:///home/a%20b/netbenefit"}
ARCHIVE = {"archive_info": {}, "url": "file:///tmp/netbenefit-1-py3-none-any.whl"}


def installed(
    folder: Path, installer: str | None = "pip", origin: dict[str, Any] | None = None
) -> Distribution:
    place = folder / "netbenefit-1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(METADATA)
    if installer is not None:
        (place / "INSTALLER").write_text(f"{installer}\n")
    if origin is not None:
        (place / "direct_url.json").write_text(json.dumps(origin))
    return Distribution.at(place)


@pytest.mark.parametrize(
    ("installer", "origin", "prefix", "expected"),
    [
        ("pip", None, "/usr", "pip install 'netbenefit[plots]'"),
        ("uv", None, "/home/a/.venv", "uv pip install 'netbenefit[plots]'"),
        ("pip", EDITABLE, "/usr", "pip install -e '/home/a b/netbenefit[plots]'"),
        ("uv", EDITABLE, "/usr", "uv pip install -e '/home/a b/netbenefit[plots]'"),
        ("pip", ARCHIVE, "/usr", "pip install 'matplotlib>=3.8'"),
        ("conda", None, "/opt/conda", "pip install 'matplotlib>=3.8'"),
        (None, None, "/usr", "pip install 'matplotlib>=3.8'"),
        (
            "pip",
            None,
            "/home/a/.local/share/pipx/venvs/netbenefit",
            "pipx inject netbenefit 'matplotlib>=3.8'",
        ),
        (
            "uv",
            None,
            "/home/a/.local/share/uv/tools/netbenefit",
            "uv tool install --with 'matplotlib>=3.8' netbenefit",
        ),
    ],
)
def test_the_command_fits_how_the_package_was_installed(
    tmp_path: Path,
    installer: str | None,
    origin: dict[str, Any] | None,
    prefix: str,
    expected: str,
) -> None:
    assert command_for("plots", installed(tmp_path, installer, origin), prefix) == expected


def test_extras_of_extras_are_followed(tmp_path: Path) -> None:
    found = installed(tmp_path, "conda")
    assert command_for("reproduce", found, "/x") == "pip install 'matplotlib>=3.8' 'pyarrow>=15'"


def test_sources_that_are_not_installed(tmp_path: Path) -> None:
    clone = Path(__file__).resolve().parents[2]
    assert command_for("plots", None, "/usr") == f"pip install -e '{clone}[plots]'"


def test_the_command_for_this_environment() -> None:
    assert "plots" in install_command("plots") or "matplotlib" in install_command("plots")
    assert distribution("netbenefit").requires


@pytest.mark.parametrize(
    ("installer", "origin", "prefix", "expected"),
    [
        ("pip", None, "/usr", "Update the package: pip install --upgrade netbenefit."),
        ("uv", None, "/a/.venv", "Update the package: uv pip install --upgrade netbenefit."),
        ("pip", EDITABLE, "/usr", "Update the sources in /home/a b/netbenefit."),
        ("conda", None, "/opt/conda", "Update the package in the way in which it was installed."),
        ("pip", None, "/a/pipx/venvs/netbenefit", "Update the package: pipx upgrade netbenefit."),
        ("uv", None, "/a/uv/tools/netbenefit", "Update the package: uv tool upgrade netbenefit."),
    ],
)
def test_upgrades_go_by_the_way_of_the_installation(
    installer: str, origin: dict[str, Any] | None, prefix: str, expected: str, tmp_path: Path
) -> None:
    assert advice_for(installed(tmp_path, installer, origin), prefix) == expected
    assert advice_for(None, "/usr").startswith("Update the sources in ")

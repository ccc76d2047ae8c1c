"""What all tests share: hypothesis profiles, the data folder, compiled code kept apart."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# Parallel workers that compile the same functions at the same time would write the same cache
# files.  Each worker has its own folder instead, warm from the second run on.  numba reads the
# variable when it is first imported, which must come after this.
_worker = os.environ.get("PYTEST_XDIST_WORKER")
if _worker:
    _parent = Path(os.environ.get("NUMBA_CACHE_DIR") or ROOT / ".pytest_cache" / "numba")
    os.environ["NUMBA_CACHE_DIR"] = str(_parent / _worker)

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the public data sets; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("NETBENEFIT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no data folder {folder}: set NETBENEFIT_DATA to run this test")
    return folder

"""What all tests share: hypothesis profiles, the data folder, compiled code kept apart."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]


def _digest_of_compiled_sources() -> str:
    """Tell versions of the compiled code apart, all of it.

    numba's own cache looks only at the file of the function that is called, not at those of the
    functions that it calls; after a change there it would run old code.
    """
    digest = hashlib.sha256()
    for file in sorted((ROOT / "src" / "netbenefit").rglob("*.py")):
        if "jit" in (text := file.read_text(encoding="utf-8")):
            digest.update(text.encode())
    return digest.hexdigest()[:16]


# Parallel workers that compile the same functions at the same time would write the same cache
# files.  Each worker has its own folder instead, warm from the second run on.  numba reads the
# variable when it is first imported, which must come after this.
_worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
_cache = ROOT / ".pytest_cache" / "numba" / _digest_of_compiled_sources() / _worker
os.environ["NUMBA_CACHE_DIR"] = str(_cache)
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures need no screen

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


@pytest.fixture(scope="session")
def paper_folder(data_folder: Path) -> Path:
    """Folder of the paper's tables, beside the data; tests that need it are skipped elsewhere."""
    folder = data_folder.parent / "paper"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder} with the paper's tables")
    return folder

"""What all tests share: hypothesis profiles, the data folder, compiled code kept apart."""

from __future__ import annotations

import copy
import hashlib
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.helpers.full import FULL

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
# files.  Each worker writes to its own folder instead, and reads those of the others.  numba reads
# the variable when it is first imported, which must come after this.
_caches = ROOT / ".pytest_cache" / "numba" / _digest_of_compiled_sources()
_own_cache = _caches / os.environ.get("PYTEST_XDIST_WORKER", "alone")
os.environ["NUMBA_CACHE_DIR"] = str(_own_cache)
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures need no screen


def _load_what_any_worker_compiled() -> None:
    """Copy it to the worker's own folder, where the processes that it starts find it, too."""
    from numba.core.caching import IndexDataCacheFile

    load = IndexDataCacheFile.load

    def load_from_anywhere(own: Any, key: Any) -> Any:
        if (found := load(own, key)) is not None:
            return found
        for folder in _caches.iterdir():
            other = copy.copy(own)
            for name in ("_cache_path", "_index_path"):
                setattr(other, name, getattr(own, name).replace(str(_own_cache), str(folder), 1))
            if (found := load(other, key)) is not None:
                own.save(key, found)
                return found
        return None

    IndexDataCacheFile.load = load_from_anywhere


_load_what_any_worker_compiled()

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    text = (
        "speed of the clock that searches go by: what fails at 100 depends on the machine's speed"
    )
    parser.addoption("--pace", type=float, default=1.0, help=text)


def pytest_configure(config: pytest.Config) -> None:
    if (pace := config.getoption("pace")) != 1:
        from netbenefit.solvers import clock

        clock.time = SimpleNamespace(perf_counter=lambda: pace * time.perf_counter())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the other run does: see tests/helpers/full.py."""
    wanted = [item for item in items if _in_this_run(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _in_this_run(item)])
    items[:] = wanted


def _in_this_run(item: pytest.Item) -> bool:
    slow, more = (item.get_closest_marker(name) for name in ("slow", "more_cases"))
    random = is_hypothesis_test(getattr(item, "obj", None))
    return bool(slow or more or random) if FULL else not slow


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

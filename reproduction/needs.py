"""What a run needs, checked before its first fit: data, packages, programs."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from netbenefit.common.checks import InputError, shorten
from netbenefit.data.datasets import DATASETS, check_present
from reproduction.fasterrisk import available
from reproduction.plan import CREDIT, Job

__all__ = ["check_needs"]

#: Packages without which there are no rows or no outputs.
_PACKAGES = ("pyarrow", "matplotlib", "scikit_posthocs")


def check_needs(plan: Sequence[Job], asked: Sequence[str] = ()) -> tuple[list[Job], list[str]]:
    """Return the jobs that can be done here, and notes on methods that were left out.

    Parameters
    ----------
    plan : sequence of Job
    asked : sequence of str
        Methods that were asked for by name: that one of these cannot be done is an error.

    Returns
    -------
    jobs : list of Job
    notes : list of str

    Examples
    --------
    >>> check_needs([])
    ([], [])
    """
    if not plan:
        return [], []
    lacking = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if lacking:
        raise InputError(
            f"the packages {shorten(lacking)} are not installed. Install them with "
            "`pip install 'netbenefit[reproduce]'`."
        )
    for dataset in dict.fromkeys(job.dataset for job in plan):
        check_present(dataset if dataset in DATASETS else CREDIT)
    absent = {
        method: why
        for method, why in _absent().items()
        if any(job.method == method for job in plan)
    }
    for method in asked:
        if method in absent:
            raise InputError(f"--methods: {method} cannot be run: {absent[method]}")
    notes = [f"{method} is left out: {why}" for method, why in absent.items()]
    return [job for job in plan if job.method not in absent], notes


def _absent() -> dict[str, str]:
    """Methods that cannot be run here, and why."""
    found = {}
    if importlib.util.find_spec("xgboost") is None:
        found["xgboost"] = "it needs `pip install 'netbenefit[xgboost]'`."
    if not available():
        found["fasterrisk"] = (
            "it needs a Python environment of its own, named by NETBENEFIT_FASTERRISK_PYTHON."
        )
    return found

"""What the full run does beyond the daily one (`make test-full` sets NETBENEFIT_FULL).

The daily run leaves out tests marked ``slow``.  The full run holds these, those marked
``more_cases``, which try many more random cases then, and all tests by Hypothesis.
"""

from __future__ import annotations

import os

import pytest

FULL = bool(os.environ.get("NETBENEFIT_FULL"))
slow = pytest.mark.slow
more_cases = pytest.mark.more_cases


def examples(most: int) -> int:
    """Number of examples of a test by Hypothesis: every day a quarter of those in the full run."""
    return most if FULL else most // 4

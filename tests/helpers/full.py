"""What the full run does beyond the daily one (`make test-full` sets NETBENEFIT_FULL).

The daily run leaves out tests marked ``slow``.  The full run holds these, and those marked
``more_cases``, which try many more random cases then.
"""

from __future__ import annotations

import os

import pytest

FULL = bool(os.environ.get("NETBENEFIT_FULL"))
slow = pytest.mark.slow
more_cases = pytest.mark.more_cases

"""Settings of all tests."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import the oracle

# The same examples in every run; a slow machine is no failure.
settings.register_profile(
    "stable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("stable")

"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

# the machine may be loaded: a slow example is no failure
settings.register_profile("timelike", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("timelike")

os.environ.setdefault("MPLBACKEND", "agg")

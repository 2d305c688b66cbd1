"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

# the machine may be loaded: a slow example is no failure
# in continuous integration the same examples every time, elsewhere new ones, so that what they find is found at a desk
settings.register_profile(
    "timelike",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("timelike")

os.environ.setdefault("MPLBACKEND", "agg")

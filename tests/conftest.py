"""Settings shared by all tests."""

import os
import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests, and the processes they start, press Ctrl-C

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported: as many processes as cores are at work already
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# the machine may be loaded: a slow example is no failure
# the same examples every time and everywhere, whatever earlier runs found; `make explore` draws new ones
usual = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("timelike", usual, derandomize=True, database=None)
settings.register_profile("explore", usual, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "timelike"))

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.pop("TIMELIKE_DATA", None)  # examples name data sets, of which the user's own folder may have another copy


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    """Threads that wait for each other are slow on a busy machine; what is about threads says how many it wants."""
    from timelike import native

    monkeypatch.setattr(native, "cpu_count", lambda: 1)


@pytest.fixture(autouse=True)
def same_numbers(request, monkeypatch):
    """A test draws the same whichever ran before it: workers share tests out as they get through."""
    if isinstance(getattr(getattr(request, "module", None), "RNG", None), np.random.Generator):
        monkeypatch.setattr(request.module, "RNG", np.random.default_rng(0))

"""Settings shared by all tests."""

import os
import signal
import sys

if sys.dont_write_bytecode:  # every process that tests start would compile the library again
    sys.dont_write_bytecode = False
    del os.environ["PYTHONDONTWRITEBYTECODE"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests, and the processes they start, press Ctrl-C

if "PYTEST_XDIST_WORKER" in os.environ:  # before torch is imported: as many processes as cores are at work already
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# the machine may be loaded: a slow example is no failure
# the same examples every time and everywhere, whatever earlier runs found; `make explore` draws new ones, and more
usual = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("timelike", usual, derandomize=True, database=None, max_examples=40)
settings.register_profile("explore", usual, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "timelike"))

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.pop("TIMELIKE_DATA", None)  # examples name data sets, of which the user's own folder may have another copy


@pytest.fixture(autouse=True, scope="session")
def one_core():
    """Threads that wait for each other are slow on a busy machine; what is about threads says how many it wants."""
    from timelike import native

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "cpu_count", lambda: 1)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Examples are those of the library and its pages: no test is searched for one."""
    return [one for one in (yield) if type(one).__name__ != "DoctestModule"]


def pytest_runtest_setup(item):
    """A test draws the same whichever ran before it: workers share tests out as they get through."""
    module = getattr(item, "module", None)
    if isinstance(getattr(module, "RNG", None), np.random.Generator):
        module.RNG = np.random.default_rng(0)


@pytest.fixture
def one_thread():
    """Where networks and samples are tiny, threads that wait for each other take ten times as long on a busy machine."""
    from timelike.core.extras import is_installed

    if not is_installed("torch"):  # the core tests of the folder that asks for this train nothing
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def no_ctrl_c_before(monkeypatch):
    """One test's Ctrl-C is not the first of two of another."""
    from timelike.core import interrupts

    monkeypatch.setattr(interrupts, "_last_interrupt", float("-inf"))

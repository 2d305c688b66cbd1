"""Settings of the tests of flows."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def alone(one_thread, no_ctrl_c_before):
    """Neither threads nor a Ctrl-C of another test matter here."""


@pytest.fixture
def rng():
    return np.random.default_rng(0)

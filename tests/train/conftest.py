"""Settings of the tests of training."""

import pytest


@pytest.fixture(autouse=True)
def alone(one_thread, no_ctrl_c_before):
    """Neither threads nor a Ctrl-C of another test matter here."""

"""Settings of the tests of training."""

import pytest
import torch

from timelike.core import interrupts


@pytest.fixture(autouse=True)
def one_thread():
    """The networks are tiny, and on a busy machine threads that wait for each other take ten times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_ctrl_c_before(monkeypatch):
    """One test's Ctrl-C is not the first of two of another."""
    monkeypatch.setattr(interrupts, "_last_interrupt", float("-inf"))

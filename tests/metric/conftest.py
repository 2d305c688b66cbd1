"""The toy problem, and metrics that have learned it."""

import pytest

from timelike.core import interrupts
from toys import MAKERS, turning


@pytest.fixture(autouse=True)
def no_ctrl_c_before(monkeypatch):
    """One test's Ctrl-C is not the first of two of another."""
    monkeypatch.setattr(interrupts, "_last_interrupt", float("-inf"))


@pytest.fixture(scope="session")
def train():
    return turning(36, 0)


@pytest.fixture(scope="session")
def test():
    return turning(30, 1)


@pytest.fixture(scope="session")
def fitted(train):
    """Every metric, fitted once: not to be changed."""
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = MAKERS[name]().fit(train)
        return kept[name]

    return get

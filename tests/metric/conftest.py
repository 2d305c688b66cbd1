"""The toy problem, and metrics that have learned it."""

import pytest

from toys import turning


@pytest.fixture(autouse=True)
def alone(no_ctrl_c_before):
    """A Ctrl-C of another test does not matter here."""


@pytest.fixture(scope="session")
def train():
    return turning(36, 0)


@pytest.fixture(scope="session")
def test():
    return turning(30, 1)


@pytest.fixture(scope="session")
def fitted(train):
    """Every metric, fitted once: not to be changed."""
    from toy_metrics import MAKERS

    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = MAKERS[name]().fit(train)
        return kept[name]

    return get

"""Data of the demo in tests: the installed files, whatever the environment points to."""

import pytest


@pytest.fixture(autouse=True)
def no_other_data(monkeypatch):
    monkeypatch.delenv("TIMELIKE_DATA", raising=False)

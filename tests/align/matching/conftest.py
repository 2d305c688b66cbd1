"""What the tests of matching share."""

import pytest

import timelike as tl


@pytest.fixture(params=["compiled", "plain"])
def executor(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    elif not tl.native.is_native_enabled():
        pytest.skip("no compiled kernels here")
    return request.param

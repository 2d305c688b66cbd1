"""What the tests of alignments share."""

import pytest

from timelike.native import is_native_enabled


@pytest.fixture(params=["kernels", pytest.param("torch", marks=pytest.mark.learn)])
def executor(request, monkeypatch):
    """What computes: compiled kernels, or torch in their place."""
    if request.param == "torch":
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    elif not is_native_enabled():
        pytest.skip("this installation is the pure wheel")
    return request.param

"""`import timelike` is quick because it imports nearly nothing."""

import subprocess
import sys

import pytest

import timelike as tl


def printed(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


HEAVY = ("torch", "sklearn", "matplotlib", "scipy", "pandas", "polars", "numpy")


def test_importing_timelike_imports_nothing_heavy():
    program = f"import sys, timelike; print([name for name in {HEAVY} if name in sys.modules])"
    assert printed(program) == "[]"


def test_loading_and_comparing_needs_neither_torch_nor_sklearn_nor_matplotlib():
    program = (
        "import sys, timelike as tl; tl.load, tl.DTW().distance([0, 1], [1, 2]);"
        "print([name for name in ('torch', 'sklearn', 'matplotlib', 'pandas', 'polars') if name in sys.modules])"
    )
    assert printed(program) == "[]"


def test_every_public_name_can_be_had_and_is_listed():
    for name in tl.align.__all__:
        assert getattr(tl, name) is not None
        assert name in dir(tl)
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = tl.Nonsense


def test_the_version_is_the_one_that_was_installed():
    from importlib.metadata import version

    assert version("timelike") == tl.__version__

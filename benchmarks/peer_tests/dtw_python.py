"""What the tests of dtw-python expect, copied as numbers from the source distribution, which alone holds them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer_tests.expectation import Expectation

PACKAGE = "dtw-python"
NOT_HERE = "matrices of costs in place of sequences, further step patterns, counting paths"

_TWICE = 'tl.DTW(cost="euclidean", step="symmetric2")'


def series() -> dict[str, NDArray[np.float64]]:
    """None: its sequences are short."""
    return {}


def expectations() -> Iterator[Expectation]:
    """In the order of its tests."""
    sides, test = "[1, 2, 3], [2, 3, 4, 5, 6]", "test_dtw_s.py::TestDTWs::test"
    table = [[1, 3, 6, 10, 15], [1, 2, 4, 7, 11], [2, 1, 2, 4, 7]]
    yield Expectation(f"{test}_rectangular", table, f"{_TWICE}.cost_matrix({sides})")
    shared = _TWICE.replace(")", ', normalize="length")')
    yield Expectation(f"{test}_rectangular", 0.875, f"{shared}.distance({sides})")
    path = [[0, 0], [1, 0], [2, 1], [2, 2], [2, 3], [2, 4]]
    yield Expectation(f"{test}_backtrack", path, f"{_TWICE}.align({sides}).path")
    yield Expectation(f"{test}_vectors", 2.0, f"{_TWICE}.distance([1, 2, 3], [2, 3, 4])")
    found = 'tl.subsequence([2.01, 3.01], [1, 2, 3, 4], cost="euclidean")[0]'
    yield Expectation("test_cran.py::TestCRAN::test_open_begin_end", 0.02, f"{found}.distance")
    yield Expectation("test_cran.py::TestCRAN::test_open_begin_end", [1, 3], f"[{found}.start, {found}.stop]")

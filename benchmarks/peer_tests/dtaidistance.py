"""What the tests of dtaidistance expect, copied as numbers from the source distribution, which alone holds them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer_tests.expectation import Expectation, Why

PACKAGE = "dtaidistance"
NOT_HERE = "psi relaxation, max_dist, max_step, local concurrences, Needleman–Wunsch and symbols"

_PENALTY = Why(
    "its search charges every step off the diagonal `penalty=0.1`, unless told otherwise; ours charges nothing, as in "
    "Müller (2007)",
    "both",
)


def series() -> dict[str, NDArray[np.float64]]:
    """The sequences of its tests that are too long to write out."""
    query = [-0.86271501, -1.32160597, -1.2307838, -0.97743775, -0.88183547, -0.71453147, -0.70975136, -0.65238999,
             -0.48508599, -0.40860416, -0.5567877, -0.39904393, -0.51854679, -0.51854679, -0.23652005, -0.21261948,
             0.16978966, 0.21281068, 0.6573613, 1.28355626, 1.88585065, 1.565583, 1.40305912, 1.64206483,
             1.8667302]  # fmt: skip
    return {"query": np.array(query)}


def expectations() -> Iterator[Expectation]:
    """In the order of its tests."""
    yield from _distances()
    yield from _paths()
    yield from _several_channels()
    yield from _subsequences()


def _distances() -> Iterator[Expectation]:
    sides = "[0, 0, 1, 2, 1, 0, 1, 0, 0], [0, 1, 2, 0, 0, 0, 0, 0, 0]"
    yield Expectation("test_dtw.py::test_distance1_a", 2**0.5, f"tl.DTW(root=True).distance({sides})")
    yield Expectation("test_dtw.py::test_distance1_b_e", 2.0, f'tl.DTW(cost="euclidean").distance({sides})')
    yield Expectation("test_dtw.py::test_distance_matrix1_a", 2**0.5, f"tl.DTW(root=True).pairwise([{sides}])[0, 1]")
    yield Expectation("test_ed.py::test_distance1_a", 2.8284271247461903, f"tl.Euclidean().distance({sides})")
    shifted = "[0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0], [2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2]"
    test = "test_penalty.py::test_penalty_cyclicalshift"
    yield Expectation(test, 10**0.5, f"tl.DTW(root=True).distance({shifted})")
    yield Expectation(test, 14**0.5, f"tl.ADTW(penalty=1).distance({shifted}) ** 0.5")
    small = "[0, 0.01, 0, 0.01, 0, 0, 0, 0.01, 0.01, 0.02, 0, 0], [0, 0.02, 0.02, 0, 0, 0.01, 0.01, 0, 0, 0, 0]"
    banded = f'tl.DTW(window=2, band="widened", root=True).distance({small})'
    yield Expectation("test_bugs.py::test_distance1_a", 0.02, banded)
    yield Expectation("test_bugs.py::test_distance1_b", 0.02, f"tl.DTW(root=True).distance({small})")
    ones = "[0, 0, 2, 1, 1, 0, 0], [0, 1, 1, 1, 0, 0, 0]"
    yield Expectation("test_bugs.py::test_distance2_c", 1.0, f"tl.DTW(root=True).distance({ones})")


def _paths() -> Iterator[Expectation]:
    sides = "[0, 0, 1, 2, 1, 0, 1, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0]"
    path = [[0, 0], [1, 0], [2, 1], [3, 2], [4, 3], [5, 4], [5, 5], [6, 6], [7, 7], [8, 8], [9, 9], [10, 10]]
    yield Expectation("test_warping.py::test_warping_path1", path, f"tl.DTW().align({sides}).path")
    warped = [0, 1, 2, 2, 1, 0.5, 0, 0, 2, 1, 0, 0, 0]
    turned = "[0, 1, 2, 3, 1, 0, 0, 0, 2, 1, 0, 0, 0], [0, 0, 1, 2, 1, 0, 1, 0, 0, 2, 1, 0, 0]"
    yield Expectation("test_warping.py::test_normalize", warped, f"tl.DTW().align({turned}).apply()", 1e-4)


def _several_channels() -> Iterator[Expectation]:
    test = "test_dtw2d.py::test_distances1_python"
    three = "[[[0, 0], [1, 2], [1, 0], [1, 0]], [[0, 1], [2, 0], [0, 0], [0, 0]], [[1, 2], [0, 0], [0, 0], [0, 1]]]"
    for place, number in (("0, 1", 2.44948974), ("0, 2", 3.0)):
        yield Expectation(test, number, f"tl.DTW(root=True).pairwise({three})[{place}]", 1e-3)


def _subsequences() -> Iterator[Expectation]:
    test = "test_subsequence.py::test_dtw_subseq"
    found = "tl.subsequence([1, 2, 0], [1, 0, 1, 2, 1, 0, 2, 0, 3, 0, 0], k=3)"
    segments = f"[[match.start, match.stop - 1] for match in {found}]"
    yield Expectation(f"{test}1", [[2, 4], [5, 7], [0, 1]], segments, why=_PENALTY)
    first = "[-0.87446789, 0.50009064, -1.43396157, 0.52081263, 1.28752619]"
    second = "[1.19125347, 0.78778189, -0.95770272, -1.02133264]"
    for stream, number in ((first, 0.08735692337954708), (second, 0.2758501027798888)):
        ours = f"tl.subsequence(query, {stream})[0].distance ** 0.5 / 25"
        yield Expectation(f"{test}_bug1", number, ours, 1e-6 * number, _PENALTY)
    pairs = "tl.subsequence([[2.0, 2.1], [3.1, 3.0]], [[1, 1], [2, 2], [3, 3], [1, 1]])[0]"
    yield Expectation(f"{test}_ndim", [1, 2], f"[{pairs}.start, {pairs}.stop - 1]")
    yield Expectation(f"{test}_ndim", 0.07071067811865482, f"{pairs}.distance ** 0.5 / 2")

"""What the tests of tslearn expect, copied as numbers from the source distribution, which alone holds them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer_tests.expectation import Expectation

PACKAGE = "tslearn"
NOT_HERE = "CTW, LDTW, GAK, Fréchet, SAX and the matrix profile"

_ROOT = "tl.DTW(root=True)"
_SOFT = "test_metrics.py::test_soft_dtw_loss_pytorch"


def series() -> dict[str, NDArray[np.float64]]:
    """The sequences of its tests that are too long to write out."""
    rng = np.random.RandomState(0)
    members = rng.randn(15, 10, 3)
    rng.rand(15)  # its test draws weights in between
    return {"members": members, "shorter": rng.randn(9, 3)}


def expectations() -> Iterator[Expectation]:
    """In the order of its tests."""
    yield from _dtw()
    yield from _lcss()
    yield from _subsequences()
    yield from _masks()
    yield from _soft()
    yield from _soft_plans()
    yield from _barycenters()


def _dtw() -> Iterator[Expectation]:
    test = "test_metrics.py::test_dtw"
    table = [[0.0, 1.0, 2.0, 6.0], [1.0, 0.0, 0.0, 1.0], [5.0, 1.0, 1.0, 0.0]]
    yield Expectation(f"{test}_accumulated_matrix", table, "tl.DTW().cost_matrix([1, 2, 3], [1, 2, 2, 3])")
    yield Expectation(test, [[0, 0], [1, 1], [1, 2], [2, 3]], f"{_ROOT}.align([1, 2, 3], [1, 2, 2, 3]).path")
    yield Expectation(test, 0.0, f"{_ROOT}.align([1, 2, 3], [1, 2, 2, 3]).cost")
    yield Expectation(test, 1.0, f"{_ROOT}.align([1, 2, 3], [1, 2, 2, 3, 4]).cost")
    two = "[[1, 2, 2, 3], [1, 2, 3, 4]]"
    yield Expectation(test, [[0.0, 1.0], [1.0, 0.0]], f"{_ROOT}.pairwise({two})")
    across = [[0.0, 2.44949], [1.0, 1.414214]]
    yield Expectation(test, across, f"{_ROOT}.pairwise({two}, [[1, 2, 3], [2, 3, 4, 5]])", 1e-5)


def _lcss() -> Iterator[Expectation]:
    test, flat = "test_metrics.py::test_lcss", "[1, 2, 3]"
    yield Expectation(test, 1.0, f"1 - tl.LCSS().distance({flat}, [1, 2, 2, 3])")
    yield Expectation(test, 1.0, f"1 - tl.LCSS().distance({flat}, [1, 2, 2, 4])")
    yield Expectation(test, 0.67, f"1 - tl.LCSS(epsilon=3).distance({flat}, [-2, 5, 7])", 0.005)
    yield Expectation(test, 1.0, f"1 - tl.LCSS(epsilon=0).distance({flat}, [1, 2, 2, 2, 3])")
    pairs = "[[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 2], [2, 2], [2, 2], [3, 3]]"
    yield Expectation(test, 1.0, f"1 - tl.LCSS(epsilon=0).distance({pairs})")
    banded, sides = f"{test}_sakoe_chiba_constraint", "[2, 0, 2, 0], [0, 0, 1, 1]"
    yield Expectation(banded, 0.5, f"1 - tl.LCSS(epsilon=0).distance({sides})")
    yield Expectation(banded, 0.25, f"1 - tl.LCSS(epsilon=0, window=1).distance({sides})")


def _subsequences() -> Iterator[Expectation]:
    test, stream = "test_metrics.py::test_dtw_subseq", "[1, 2, 2, 3, 4]"
    for query, distance in (("[2, 3]", 0.0), ("[1, 4]", 2**0.5)):
        found = f"tl.subsequence({query}, {stream})[0]"
        yield Expectation(test, distance, f"{found}.distance ** 0.5")
        yield Expectation(test, [2, 4], f"[{found}.start, {found}.stop]")


def _masks() -> Iterator[Expectation]:
    test = "test_metrics.py::test_masks"
    tri = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) <= 1
    zeros = "np.zeros(4), np.zeros(4)"
    yield Expectation(test, tri.astype(int).tolist(), f"np.isfinite(tl.DTW(window=1).cost_matrix({zeros})).astype(int)")
    wide = [[1, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 1]]
    unequal = 'tl.DTW(window=1, band="widened").cost_matrix(np.zeros(7), np.zeros(3))'
    yield Expectation(test, wide, f"np.isfinite({unequal}).astype(int)")
    kite = ["100000", "011000", "011100", "001110", "000110", "000001"]
    rows = [[int(cell) for cell in row] for row in kite]
    sides = "np.zeros(6), np.zeros(6)"
    yield Expectation(test, rows, f'np.isfinite(tl.DTW(band="itakura").cost_matrix({sides})).astype(int)')


def _soft() -> Iterator[Expectation]:
    matrix = [[-0.010986, 1.0], [1.0, 0.0]]
    both = "[[1, 2, 2, 3], [1, 2, 3, 4]]"
    yield Expectation("test_metrics.py::test_gak", matrix, f"tl.SoftDTW(gamma=0.01).pairwise({both})", 1e-5)
    yield Expectation("test_metrics.py::test_softdtw", 1.0, "tl.SoftDTW(gamma=1.0).distance([0.0], [1.0])")
    zeros, ones = "np.zeros((10, 8))", "np.ones((12, 8))"
    yield Expectation(_SOFT, 91.9806137, f"tl.SoftDTW().distance({zeros}, {ones})", 1e-5)
    yield Expectation(_SOFT, -14.1957006, f"tl.SoftDTW().distance({zeros}, {zeros})", 1e-5)
    yield Expectation(_SOFT, 0.0, f"tl.SoftDTW(divergence=True).distance({zeros}, {zeros})")
    yield Expectation(_SOFT, 107.89006805, f"tl.SoftDTW(divergence=True).distance({zeros}, {ones})", 1e-4)


def _soft_plans() -> Iterator[Expectation]:
    test, sides = "test_metrics.py::test_soft_dtw_alignment", "[1, 2, 3, 3, 3], [1, 2, 2, 2, 3]"
    sakoe = [
        [1.0, 0.28475467, 0.0, 0.0, 0.0], [0.21504583, 0.86822574, 0.57606858, 0.0, 0.0],
        [0.0, 0.17745379, 0.65508576, 0.50110876, 0.0], [0.0, 0.0, 0.21572603, 0.66813014, 0.54997981],
        [0.0, 0.0, 0.0, 0.16785627, 1.0],
    ]  # fmt: skip
    itakura = [
        [1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.49941315, 0.0, 0.0], [0.0, 0.18372383, 0.75029342, 0.34156849, 0.0],
        [0.0, 0.0, 0.2261748, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0],
    ]  # fmt: skip
    yield Expectation(test, np.eye(5).tolist(), f"tl.SoftDTW(window=0).align({sides}).plan")
    yield Expectation(test, 2.0, f"tl.SoftDTW(window=0).align({sides}).cost")
    yield Expectation(test, sakoe, f"tl.SoftDTW(window=1).align({sides}).plan")
    yield Expectation(test, -1.65, f"tl.SoftDTW(window=1).align({sides}).cost", 0.015)
    yield Expectation(test, itakura, f'tl.SoftDTW(band="itakura").align({sides}).plan')
    yield Expectation(test, 0.299, f'tl.SoftDTW(band="itakura").align({sides}).cost', 0.015)


def _barycenters() -> Iterator[Expectation]:
    mean = [
        [0.33447722, 0.0418787, -0.03953774], [-0.75757987, -0.26841384, -0.22418874],
        [-0.0473153, 0.41030073, 0.06069343], [0.36250957, -0.79033572, 0.02300398],
        [0.02783764, -0.05039364, -0.79595523], [0.38139685, 0.37661911, 0.09506468],
        [0.48628337, 0.17192078, -1.16404917], [-0.40263459, 0.59364783, -0.6843561],
        [0.67493146, -0.37714421, 0.16604165], [-0.32249566, 0.09109832, 0.55489214],
    ]  # fmt: skip
    other = [
        [0.421127, 0.054492, -0.124027], [-0.498396, -0.200649, 0.029864], [0.431492, -0.397721, -0.585897],
        [-0.906793, 0.021529, -0.514742], [0.629140, -0.152363, -0.434802], [0.609915, 0.348230, 0.447403],
        [-0.041696, 0.760246, -0.361783], [-0.042272, -0.642698, -0.662480], [0.261962, 0.111322, 0.389292],
    ]  # fmt: skip
    for expected, start in ((mean, "members.mean(axis=0)"), (other, "shorter")):
        ours = f"tl.barycenter(members, init={start}, max_iter=5, tolerance=0).sequence"
        yield Expectation("test_barycenters.py::test_dba", expected, ours, 1e-6)

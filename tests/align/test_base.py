"""Memory, clusters, progress, the members of an average, and warps onto a single step."""

import re
import warnings

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend

import timelike as tl
from timelike.align import alignment, distance_matrix, gdtw
from timelike.core import memory

RNG = np.random.default_rng(0)
EXACT = pytest.param(tl.OT(), id="OT()", marks=pytest.mark.transport)


class PretendedCluster(ThreadingBackend):
    """Threads that are not among joblib's own backends by name."""


@pytest.mark.parametrize("shape", [(1, 1 << 22), (1 << 22, 1)])
def test_a_matrix_that_does_not_fit_is_refused_whatever_its_shape(shape, monkeypatch):
    monkeypatch.setattr(memory, "total_memory", lambda: 1 << 20)
    with pytest.raises(MemoryError, match=f"a matrix of {shape[0]} × {shape[1]} float64 distances needs"):
        distance_matrix.allocate_matrix(shape, np.dtype(np.float64))
    monkeypatch.setattr(memory, "total_memory", lambda: 1 << 25)  # just enough
    assert distance_matrix.allocate_matrix(shape, np.dtype(np.float64)).shape == shape


@pytest.mark.parametrize("side", [0, 1])
def test_an_array_to_fill_may_overlap_neither_side(side):
    buffer = RNG.standard_normal((8, 8))
    sides = [RNG.standard_normal((8, 8)), RNG.standard_normal((8, 8))]
    sides[side] = buffer
    X, Y = (tl.Sequences(rows[..., None]) for rows in sides)
    assert np.may_share_memory((X, Y)[side].values, buffer)
    with pytest.raises(ValueError, match="out overlaps the sequences in memory"):
        tl.DTW().pairwise(X, Y, out=buffer)


def test_what_a_cluster_has_computed_is_not_computed_again(monkeypatch):
    joblib.register_parallel_backend("another-pretended-cluster", PretendedCluster)
    monkeypatch.setattr(tl.align.distributed, "_TILE_SIZE", 4)
    x = RNG.standard_normal((10, 6))
    expected = tl.DTW().pairwise(x)
    sizes, fill = [], tl.DTW._fill_matrix
    monkeypatch.setattr(tl.DTW, "_fill_matrix", lambda self, *given: sizes.append(given[2].size) or fill(self, *given))
    with joblib.parallel_config(backend="another-pretended-cluster", n_jobs=2):
        np.testing.assert_array_equal(tl.DTW().pairwise(x), expected)
    assert sorted(sizes) == [4, 8, 8, 16, 16, 16]  # tiles on and above the diagonal of 4 + 4 + 2 sequences


@pytest.mark.transport
@pytest.mark.parametrize("itself", [True, False])
def test_progress_of_transport_counts_every_row(itself):
    x, y = (tl.Sequences(RNG.standard_normal((n, 5, 1))) for n in (6, 4))
    heard = []
    out = np.empty((6, 6 if itself else 4))
    tl.OT()._fill_matrix(x, None if itself else y, out, 1, lambda done, total: heard.append((done, total)))
    assert heard == [(row, 6) for row in range(1, 7)]


def test_progress_of_warps_goes_on_from_block_to_block(monkeypatch):
    monkeypatch.setattr(gdtw, "_KNOTS_AT_ONCE", 40)  # a row of four pairs of five steps at a time
    x, y = (tl.Sequences(RNG.standard_normal((n, 5, 1))) for n in (3, 4))
    whole, solve, heard = tl.GDTW().pairwise(x, y), tl.GDTW._solve, []

    def told(self, *given):
        for done in (1, len(given[2])):
            given[-1](done, None)
        return solve(self, *given[:-1], None)

    monkeypatch.setattr(tl.GDTW, "_solve", told)
    out = np.empty((3, 4))
    tl.GDTW()._fill_matrix(x, y, out, 1, lambda done, total: heard.append((done, total)))
    assert heard == [(done, 12) for done in (1, 4, 5, 8, 9, 12)]
    np.testing.assert_array_equal(out, whole)


def test_a_member_of_weight_zero_is_no_start_of_an_average_and_no_member():
    ends, middle = [np.zeros(5), np.full(5, 2.0)], np.ones(7)
    mean = tl.barycenter([*ends, middle], weights=[1, 1, 0])
    assert len(mean.sequence) == 5
    assert len(mean.members) == 2
    assert len(tl.barycenter([*ends, middle]).sequence) == 7  # with a weight it is the medoid


def test_a_warp_onto_a_single_step_takes_all_from_it():
    warp = alignment.Warp(np.arange(3.0), np.zeros(3), np.zeros(1))
    assert warp.weights.tolist() == [[1.0]] * 3
    found = tl.GDTW().align([1.0, 2.0, 4.0], [3.0])
    assert found.plan.tolist() == [[1.0]] * 3


def test_a_warp_between_two_steps_mixes_them():
    warp = alignment.Warp(np.arange(4.0), np.array([0.0, 0.25, 1.5, 2.0]), np.arange(3.0))
    assert warp.weights.tolist() == [[1, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5], [0, 0, 1]]
    assert warp.slopes.tolist() == [0.25, 1.25, 0.5]
    assert warp(0.5) == 0.125


@pytest.mark.parametrize(
    "metric",
    [
        *(tl.DTW(), tl.DDTW(), tl.WDTW(), tl.ADTW(), tl.ERP(), tl.MSM(), tl.TWE(), tl.EDR(), tl.EDR(normalize=True)),
        *(tl.LCSS(), tl.SoftDTW(), EXACT, tl.Sinkhorn(), tl.OPW(), tl.align.TCOT(), tl.GDTW()),
    ],
    ids=repr,
)
def test_an_alignment_costs_the_distance_and_a_matrix_is_its_pairs(metric):
    X = [RNG.standard_normal((length, 2)) for length in (4, 6, 5)]
    one_by_one = np.array([[metric.distance(x, y) for y in X] for x in X])
    np.testing.assert_allclose(metric.pairwise(X), one_by_one, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(metric.pairwise(X[:2], X), one_by_one[:2], rtol=1e-9, atol=1e-9)
    for i, j in ((0, 1), (2, 0)):
        assert metric.align(X[i], X[j]).cost == pytest.approx(one_by_one[i, j], rel=1e-9, abs=1e-9)


def test_a_warp_that_cannot_reach_the_end_says_so_whichever_pair_it_is():
    X = [np.arange(3.0), np.arange(5.0), np.arange(4.0)]
    for x, last in ((X[0], 2), (X[1], 4)):
        said = (
            rf"at x's time {last} it must be at least 3, the end of y, but with the largest slopes it gets only to 1\.5"
        )
        with pytest.raises(ValueError, match=said):
            tl.GDTW(slope=(0.0, 0.5)).pairwise([x, *X], [np.arange(4.0)])


def test_a_warp_a_little_beyond_its_ends_takes_no_more_than_all_of_a_step():
    warp = alignment.Warp(np.arange(2.0), np.array([-1e-9, 2 + 1e-9]), np.arange(3.0))
    assert warp.weights.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.learn
def test_of_several_plans_the_worst_is_named():
    import torch

    x = torch.tensor([[[0.0], [0.0]], [[0.0], [1.0]], [[0.0], [30.0]]], dtype=torch.float64)
    y = torch.tensor([[[0.0], [0.0]], [[0.2], [0.9]], [[0.5], [29.0]]], dtype=torch.float64)
    layer = tl.nn.Sinkhorn(regularization=0.1, max_iter=1)
    misses = []
    for item in range(3):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            layer(x[item : item + 1], y[item : item + 1])
        misses.append(float(re.search(r"misses its marginals by (\S+)", str(heard[0].message))[1]) if heard else 0.0)
    with pytest.warns(RuntimeWarning, match=f"the plan of item {int(np.argmax(misses))} misses"):
        layer(x, y)
    assert len(set(misses)) > 1

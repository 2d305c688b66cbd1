"""Barycenters: what the mean promises, its limits, and the average tslearn finds."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import timelike as tl
from toys import AllAlike

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it asks for h5py, which nothing here needs
    from tslearn.barycenters import dtw_barycenter_averaging

values = st.floats(-10, 10, width=32)
collections = st.integers(1, 3).flatmap(
    lambda channels: st.lists(
        st.integers(1, 12).flatmap(lambda n: arrays(np.float64, (n, channels), elements=values)), min_size=1, max_size=6
    )
)


@settings(max_examples=60)
@given(collections)
def test_no_iteration_raises_the_cost(items):
    mean = tl.barycenter(items, tolerance=0.0)
    assert (np.diff(mean.costs) <= 1e-9 * (1 + mean.costs[:-1])).all()
    assert mean.cost == mean.costs.min()
    assert mean.cost == pytest.approx(tl.DTW().pairwise([mean.sequence], items).sum(), rel=1e-9, abs=1e-9)
    assert mean.n_iter == len(mean.costs) - 1


@pytest.mark.parametrize("name", ["GunPoint", "JapaneseVowels"])
def test_from_the_same_start_the_average_is_as_good_as_that_of_tslearn(name):
    train, _ = tl.load(name)
    for label in np.unique(train.labels)[:2]:
        group = train[train.labels == label][:12]  # tslearn is slow
        start = group[:1].resample(int(np.median(group.lengths)))[0].astype(float)
        items = [x.astype(float) for x in group]
        theirs = dtw_barycenter_averaging(items, init_barycenter=start, max_iter=100, tol=1e-9)
        ours = tl.barycenter(group, init=start, max_iter=100, tolerance=1e-9)
        assert ours.cost <= 1.01 * tl.DTW().pairwise([theirs], group).sum()


def test_the_medoid_is_a_better_start_than_tslearns_on_most_speakers():
    train, _ = tl.load("JapaneseVowels")
    better = []
    for label in np.unique(train.labels):
        group = train[train.labels == label]
        theirs = dtw_barycenter_averaging([x.astype(float) for x in group], max_iter=30, tol=1e-5)
        better.append(tl.barycenter(group).cost <= tl.DTW().pairwise([theirs], group).sum())
    assert np.mean(better) > 0.5


def test_a_barycenter_is_nearer_to_its_class_than_any_member():
    train, _ = tl.load("GunPoint")
    group = train[train.labels == train.labels[0]]
    mean = tl.barycenter(group)
    assert mean.converged
    assert mean.cost < tl.DTW().pairwise(group).sum(axis=1).min()


def test_limits_are_handled():
    one = tl.barycenter([[1.0, 2.0, 4.0]])
    assert one.sequence.ravel().tolist() == [1, 2, 4]
    assert (one.cost, one.converged) == (0, True)
    assert tl.barycenter([[3.0], [5.0], [10.0]]).sequence.ravel().tolist() == [6]
    assert tl.barycenter(np.full((4, 7), 2.5)).sequence.ravel().tolist() == [2.5] * 7
    assert tl.barycenter([[1.0, 3.0]], length=1).sequence.ravel().tolist() == [2]
    assert tl.barycenter([[0.0, 1.0], [0.0, 1.0]], length=5).sequence.shape == (5, 1)
    assert tl.barycenter(np.zeros((2, 5, 1, 3, 3))).sequence.shape == (5, 1, 3, 3)


def test_members_of_weight_zero_are_not_there():
    rng = np.random.default_rng(0)
    items = [rng.standard_normal(n) for n in (10, 12, 9, 11)]
    mean = tl.barycenter(items, weights=[1, 0, 1, 1])
    np.testing.assert_array_equal(mean.sequence, tl.barycenter([items[0], *items[2:]]).sequence)
    far = [*items, np.full(500, np.nan)]
    with pytest.raises(ValueError, match="X: sequence 4 is missing"):
        tl.barycenter(far, weights=[1, 1, 1, 1, 0])


def test_a_weight_counts_like_copies():
    rng = np.random.default_rng(1)
    items = [rng.standard_normal(n) for n in (10, 12, 9)]
    weighted = tl.barycenter(items, weights=[3, 1, 2], init=items[1])
    copied = tl.barycenter([items[i] for i in (0, 0, 0, 1, 2, 2)], init=items[1])
    np.testing.assert_allclose(weighted.sequence, copied.sequence, rtol=1e-12)
    assert weighted.cost == pytest.approx(copied.cost)


def test_every_aligner_can_be_averaged_with_and_the_best_average_is_given():
    rng = np.random.default_rng(2)
    items = rng.standard_normal((8, 15, 2)).cumsum(axis=1)
    for metric in (tl.DTW(window=3), tl.DTW(root=True), tl.DTW(cost="manhattan")):
        mean = tl.barycenter(items, metric=metric)
        assert mean.cost == mean.costs.min()
        assert mean.cost == pytest.approx(metric.pairwise([mean.sequence], items).sum(), rel=1e-9)


def test_the_seed_decides_and_the_dtype_is_kept():
    rng = np.random.default_rng(3)
    many = rng.standard_normal((80, 12)).astype(np.float32)
    one, two = (tl.barycenter(many, random_state=0, max_iter=3) for _ in range(2))
    np.testing.assert_array_equal(one.sequence, two.sequence)
    assert one.sequence.dtype == np.float32
    assert tl.barycenter(many.astype(float), max_iter=1).sequence.dtype == np.float64


def test_it_draws_its_members_and_itself(capsys):
    mean = tl.barycenter([[0.0, 1.0, 0.0], [0.0, 2.0]], progress=True)
    assert "barycenter" in capsys.readouterr().err
    axes = mean.plot().axes[0]
    assert len(axes.get_lines()) == 3
    assert axes.get_lines()[-1].get_linewidth() > axes.get_lines()[0].get_linewidth()
    assert repr(mean).startswith("Barycenter(cost=")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.barycenter([]), ValueError, "X is empty"),
        (lambda: tl.barycenter(tl.Sequences([[1.0]])[:0]), ValueError, "X holds no sequences"),
        (lambda: tl.barycenter([[1.0, np.nan]]), ValueError, r"X: sequence 0 is missing \(nan\) at time step 1 and barycenter"),
        (lambda: tl.barycenter([[1.0]], weights=[0]), ValueError, r"weights=\[0\]: expected finite numbers, none negative and not all zero"),
        (lambda: tl.barycenter([[1.0]], weights=[-1]), ValueError, r"weights=\[-1\]"),
        (lambda: tl.barycenter([[1.0]], weights=[1, 2]), ValueError, r"weights has shape \(2,\) for 1 sequences"),
        (lambda: tl.barycenter([[1.0]], length=0), ValueError, "length=0: expected at least 1"),
        (lambda: tl.barycenter([[1.0]], max_iter=0), ValueError, "max_iter=0: expected at least 1"),
        (lambda: tl.barycenter([[1.0]], tolerance=-1), ValueError, "tolerance=-1"),
        (lambda: tl.barycenter([[1.0]], init=np.zeros((3, 2))), ValueError, r"init has frames of shape \(2,\) and X of \(1,\)"),
        (lambda: tl.barycenter([[1.0]], init=[np.nan]), ValueError, "init: sequence 0 is missing"),
        (lambda: tl.barycenter([[1.0]], metric="dtw"), TypeError, "metric='dtw': expected an Aligner"),
        (lambda: tl.barycenter([[1.0]], metric=AllAlike()), TypeError, "expected an Aligner such as timelike.DTW"),
        (lambda: tl.barycenter([np.zeros(9), np.zeros(30)], metric=tl.DTW(window=3)), ValueError, "window=3 admits no path between lengths"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()

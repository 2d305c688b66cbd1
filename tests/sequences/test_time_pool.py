"""A coarser clock: frames are means of stretches of steps, each sequence by itself."""

import numpy as np
import pytest

import timelike as tl
from timelike.sequences.time_pool import UNLIMITED, TimePool


def by_hand(x, factor, n_frames):
    """The mean of x, constant between steps, over [k f, (k + 1) f), summed up in tiny pieces of exact fractions."""
    found = []
    for k in range(n_frames):
        begin, end = k * factor, min((k + 1) * factor, len(x))
        cover = [max(0.0, min(end, t + 1) - max(begin, t)) for t in range(len(x))]
        found.append(sum(c * v for c, v in zip(cover, x, strict=True)) / (end - begin))
    return np.array(found)


@pytest.mark.parametrize("factor", [1.0, 1.25, 1.5, 2.0, 3.7, 8.0, 100.0])
def test_frames_are_means_over_stretches_of_time(factor):
    rng = np.random.default_rng(0)
    lengths = [1, 2, 3, 8, 16, 17]
    X = tl.Sequences([rng.standard_normal((n, 2)) for n in lengths], labels=list("abcdef"))
    found = TimePool(factor, UNLIMITED).apply(X)
    for old, new, n in zip(X, found, lengths, strict=True):
        frames = int(np.ceil(n / factor - 1e-9))
        assert new.shape == (frames, 2)
        np.testing.assert_allclose(new, by_hand(old, factor, frames), atol=1e-12)
        np.testing.assert_allclose(new, TimePool(factor, UNLIMITED).pooling_matrix(n) @ old, atol=1e-12)
    assert found.labels.tolist() == list("abcdef")


def test_nine_in_ten_have_as_many_frames_as_were_asked_for_and_a_long_one_no_more_than_twice_that():
    lengths = np.array([100] * 18 + [200, 100_000])
    clock = TimePool.from_lengths(lengths, 50)
    frames = clock.lengths(lengths)
    assert frames[:18].max() <= 50
    assert frames[-1] == 100
    assert TimePool.from_lengths(np.array([30, 40]), 50).lengths(np.array([30, 40])).tolist() == [30, 40]


def test_a_sequence_has_the_same_bits_in_any_batch():
    rng = np.random.default_rng(1)
    X = [rng.standard_normal((n, 3)).astype(np.float32) for n in (7, 300, 41, 1, 2)]
    clock = TimePool(1.5, 60)
    together = clock.apply(tl.Sequences(X))
    for k, x in enumerate(X):
        np.testing.assert_array_equal(clock.apply(tl.Sequences([x]))[0], together[k])


def test_no_step_is_lost():
    for length in (1, 5, 64, 257):
        for factor in (1.0, 2.5, 7.0):
            shares = TimePool(factor, UNLIMITED).pooling_matrix(length)
            np.testing.assert_allclose(shares.sum(axis=1), 1)
            assert (shares.sum(axis=0) > 0).all()

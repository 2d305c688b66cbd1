"""One mean and deviation for all: near the formula, exact for constants, whatever the size and whatever is missing."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import timelike as tl
from timelike.sequences.moments import ChannelScaler, flatten_frames, mean_and_deviation

rng = np.random.default_rng(0)


def exact(column):
    """Mean and variance in rational numbers, of what is there."""
    there = [Fraction(float(x)) for x in column if not np.isnan(x)]
    mean = sum(there) / len(there)
    return mean, sum((x - mean) ** 2 for x in there) / len(there)


@given(arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e9, 1e9) | st.just(np.nan)))
def test_it_is_the_formula_without_rounding(column):
    mean, deviation = mean_and_deviation(column[:, None])
    if np.isnan(column).all():
        assert (mean[0], deviation[0]) == (0, 0)
        return
    true, variance = exact(column)
    size = np.nanmax(np.abs(column)) + np.ptp(column[~np.isnan(column)])
    assert abs(mean[0] - float(true)) <= 1e-14 * size
    root = size * float(variance / Fraction(size) ** 2) ** 0.5 if size else 0.0  # the square alone may be below float64
    assert abs(deviation[0] - root) <= 1e-13 * size


@pytest.mark.parametrize("gaps", [False, True])
def test_stretches_are_those_of_every_one_alone(gaps):
    lengths = np.array([1, 5, 2, 30])
    values = rng.normal(size=(38, 2, 3))
    if gaps:
        values[rng.random(values.shape) < 0.3] = np.nan
    means, deviations = mean_and_deviation(values, lengths)
    for part, mean, deviation in zip(np.split(values, np.cumsum(lengths)[:-1]), means, deviations, strict=True):
        alone = mean_and_deviation(part)
        np.testing.assert_allclose(mean, alone[0], rtol=1e-12)
        np.testing.assert_allclose(deviation, alone[1], rtol=1e-12)


@pytest.mark.parametrize("constant", [0.1, 1e300, 1e-320, 123456789.1])
def test_a_constant_deviates_by_nothing_and_keeps_its_scale(constant):
    s = tl.Sequences(np.full((3, 7), constant))
    assert s.statistics().std.tolist() == [0]
    assert ChannelScaler.from_sequences(s).scale.tolist() == [1]
    np.testing.assert_allclose(ChannelScaler.from_sequences(s).mean, constant)


def test_a_large_offset_does_no_harm():
    values = rng.normal(size=(100, 1))
    mean, deviation = mean_and_deviation(values + 1e12)
    np.testing.assert_allclose(deviation, values.std(0), rtol=1e-4)  # as far as the digits of the sum go
    np.testing.assert_allclose(mean, 1e12, rtol=1e-12)


def test_standardizing_and_learning_use_the_same_numbers():
    s = tl.Sequences([rng.normal(size=(n, 3)) * [1, 100, 1e-5] for n in (4, 9)])
    assert np.array_equal(ChannelScaler.from_sequences(s).mean, s.statistics().mean)
    assert np.array_equal(ChannelScaler.from_sequences(s).scale, s.statistics().std)
    np.testing.assert_allclose(
        ChannelScaler.from_sequences(s).transform(s).values, s.standardize().values, rtol=1e-5, atol=1e-6
    )


def test_the_pixels_of_a_channel_share_their_moments():
    s = tl.Sequences(rng.normal(size=(2, 5, 3, 4, 4)) * np.array([1, 10, 0])[:, None, None])
    moments = ChannelScaler.per_channel(s)
    assert moments.mean.shape == moments.scale.shape == s.frame
    for c in range(2):
        np.testing.assert_allclose(moments.mean[c], s.values[:, c].mean(), rtol=1e-10)
        np.testing.assert_allclose(moments.scale[c], s.values[:, c].std(), rtol=1e-10)
    assert (moments.scale[2] == 1).all()


@pytest.mark.parametrize("size", [1e155, 1e300])
def test_what_cannot_be_squared_is_refused(size):
    with pytest.raises(ValueError, match="so large that their squares overflow: give them in another unit"):
        ChannelScaler.from_sequences(tl.Sequences([[size, -size]]))
    with pytest.raises(ValueError, match="so large that their squares overflow"):
        ChannelScaler.per_channel(tl.Sequences(np.array([size, -size]).reshape(1, 2, 1, 1, 1)))


def test_what_is_known_stays_when_values_are_scaled():
    s = tl.Sequences(
        [[[1.0, 2.0], [3.0, 5.0]], [[4.0, 4.0]]],
        labels=["a", "b"],
        groups=[1, 2],
        ids=["x", "y"],
        times=[[0.0, 1.0], [3.0]],
        channel_names=["u", "v"],
    )[[1, 0]]
    ready = ChannelScaler.from_sequences(s).transform(s)
    assert ready.dtype == np.float32
    assert not ready.values.flags.writeable
    for name in ("lengths", "labels", "groups", "ids", "times"):
        np.testing.assert_array_equal(getattr(ready, name), getattr(s, name))
    assert (ready.class_names, ready.channel_names) == (s.class_names, s.channel_names)


def test_flat_frames_have_no_names_of_channels_and_share_the_memory():
    s = tl.Sequences(np.arange(48.0).reshape(2, 3, 2, 2, 2), labels=[0, 1], channel_names=["u", "v"])
    made = flatten_frames(s)
    assert made.frame == (8,)
    assert made.channel_names is None
    assert np.shares_memory(made.values, s.values)
    assert made.labels.tolist() == [0, 1]
    np.testing.assert_array_equal(made[1], s[1].reshape(3, 8))

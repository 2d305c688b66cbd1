"""The compiled features of Rocket: every instruction set against the formula and against the fallback, bit for bit."""

import numpy as np
import pytest

from naive import rocket as naive
from timelike.native import rocket
from timelike.native.machine import PackedSequences
from timelike.native.rocket import GROUPS, KernelBank, fallback

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")


def bank(dilations=(1, 3), n_channels=1, *, centred=True, most=3, seed=0):
    rng = np.random.default_rng(seed)
    slots = min(n_channels, 3)
    channels = np.full((len(dilations), GROUPS, slots), -1)
    for places in channels.reshape(-1, slots):
        size = rng.integers(1, slots + 1)
        places[:size] = rng.choice(n_channels, size, replace=False)
    counts = rng.integers(0, most + 1, (len(dilations), 84))
    thresholds = (3 * rng.standard_normal(counts.sum())).astype(np.float32)
    return KernelBank(np.array(dilations), channels, counts, thresholds, centred)


def series(lengths, n_channels=1, seed=0):
    rng = np.random.default_rng(seed)
    lengths = np.array(lengths)
    values = rng.standard_normal((lengths.sum() + 3, n_channels)).astype(np.float32)
    return PackedSequences(values, lengths.cumsum() - lengths + 1, lengths)


def compiled(steps, one, *, isa=None, threads=1):
    out = np.full((len(steps.lengths), 2 * len(one.thresholds)), np.nan, np.float32)
    kernels.rocket_features(steps, tuple(one[:4]), 0, threads=threads, out=out, centred=one.centred, isa=isa)
    return out


def fallback_features(steps, one):
    return np.stack([fallback.features(item, one) for item in steps.items()])


def same(found, expected, isa=""):
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32), err_msg=isa)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("n_channels", [1, 4])
def test_features_are_those_of_the_formula(n_channels, centred):
    steps = series((1, 2, 8, 9, 24, 25, 40), n_channels)
    one = bank((1, 3), n_channels, centred=centred, most=2)
    # in double precision, where no output is near a threshold by more than single precision rounds
    expected = np.stack([naive.features(item, one) for item in steps.items()])
    np.testing.assert_allclose(compiled(steps, one), expected, rtol=1e-6)


@pytest.mark.parametrize("n_channels", [1, 2, 11])
@pytest.mark.parametrize("centred", [False, True])
def test_every_instruction_set_has_the_bits_of_the_fallback(n_channels, centred):
    steps = series((1, 8, 9, 15, 16, 17, 31, 33, 64, 65, 96, 97, 100, 257), n_channels)
    one = bank((1, 2, 5, 12), n_channels, centred=centred, most=23)
    expected = fallback_features(steps, one)
    for isa in kernels.isas():
        same(compiled(steps, one, isa=isa), expected, isa)


@pytest.mark.parametrize("centred", [False, True])
def test_series_longer_than_a_block_of_steps_are_counted_through(centred):
    steps, one = series((2047, 2048, 2049, 3200, 3201, 5000)), bank((1, 100, 400), centred=centred, most=2)
    expected = fallback_features(steps, one)
    for isa in kernels.isas():
        same(compiled(steps, one, isa=isa), expected, isa)


def test_stretches_are_counted_over_words_and_blocks():
    """Series that rise and fall slowly are above a threshold for thousands of steps: stretches of whole words."""
    slow = series((5000, 4100, 700))
    slow.values[:, 0] = np.sin(np.arange(len(slow.values)) / 900) + 1e-3 * slow.values[:, 0]
    one = bank((1, 60, 500), most=4)
    one = one._replace(thresholds=(one.thresholds / 9).astype(np.float32))
    expected = fallback_features(slow, one)
    assert (expected[:, len(one.thresholds) :] * slow.lengths[:, None] > 2048).any()
    for isa in kernels.isas():
        same(compiled(slow, one, isa=isa), expected, isa)


def test_equal_values_and_what_overflows_are_counted_alike():
    flat, one = series((30, 30, 30)), bank((1, 2))
    flat.values[:] = 0
    one = one._replace(thresholds=np.where(np.arange(len(one.thresholds)) % 2, 0, one.thresholds).astype(np.float32))
    same(compiled(flat, one), fallback_features(flat, one))
    flat.values[5:40:7] = 3e38
    with np.errstate(over="ignore", invalid="ignore"):
        expected = fallback_features(flat, one)
    assert np.isfinite(expected).all()
    same(compiled(flat, one), expected)


def test_threads_and_company_change_no_bit():
    steps, one = series(np.random.default_rng(1).integers(1, 300, 60), 3), bank((1, 4, 9), 3, most=9)
    whole = compiled(steps, one)
    same(compiled(steps, one, threads=2), whole)
    chosen = np.array([7, 3, 50])
    same(compiled(PackedSequences(steps.values, steps.starts[chosen], steps.lengths[chosen]), one), whole[chosen])


@pytest.mark.parametrize("centred", [False, True])
def test_features_are_the_same_with_and_without_kernels(monkeypatch, centred):
    steps, one = series((20, 30), 2), bank((1, 2), 2, centred=centred)
    found = rocket.features(steps, one, threads=1)
    same(found, compiled(steps, one))
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    same(rocket.features(steps, one, threads=1), found)


def test_arrays_that_do_not_belong_together_are_refused():
    steps, one = series((20, 30)), bank()
    with pytest.raises(ValueError, match="as many thresholds"):
        compiled(steps, one._replace(thresholds=one.thresholds[:-1]))
    with pytest.raises(ValueError, match="counts"):
        compiled(steps, one._replace(counts=one.counts[:1]))
    for nonsense in ({"dilations": one.dilations - 1}, {"channels": one.channels + 1}, {"channels": one.channels - 1}):
        with pytest.raises(ValueError, match="expected dilations of at least 1, channels that there are"):
            compiled(steps, one._replace(**nonsense))
    with pytest.raises(ValueError, match="out is too small"):
        kernels.rocket_features(steps, tuple(one[:4]), 5, threads=1, out=np.empty((2, len(one.thresholds)), np.float32))


def test_counts_that_wrap_around_and_slots_that_there_are_not_are_refused():
    steps, one = series([5, 9]), bank()
    wild = one.counts.copy()
    wild.flat[:4], wild.flat[4] = 1 << 62, one.counts.sum()  # four times 2⁶² is 0 in 64 bits
    wild.flat[5:] = 0
    twice = np.zeros((*one.channels.shape[:2], 2), np.int64)
    for wrong in (one._replace(counts=wild), one._replace(channels=twice)):
        with pytest.raises(ValueError, match="expected dilations of at least 1, channels that there are"):
            compiled(steps, wrong)


def test_memory_does_not_grow_with_dilations_beyond_the_series():
    steps, near = series((17, 23)), bank((1, 23))
    far = near._replace(dilations=np.array([1, 10**12]))  # scratch memory of 32 terabytes, were it as long as a kernel
    same(rocket.features(steps, far, threads=1), fallback_features(steps, near))

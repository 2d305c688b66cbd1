import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from timelike.sequences.augment import Blur, Jitter, Merge, RandomCrop, RandomScaling, TimeWarp, choose, compose

LINEAR = [Blur(), Blur(sizes=(5,), strides=(1,)), Merge(), Merge(even=True), TimeWarp(strength=1.0), RandomCrop()]
LINEAR += [compose([Merge(), TimeWarp(), Blur()]), choose([Blur(), Merge()])]
ALL = [*LINEAR, Jitter(), RandomScaling(), compose([RandomCrop(), Jitter(), RandomScaling()])]
seeds = st.integers(0, 2**32)


def walk(length, channels=2, seed=0):
    return np.random.default_rng(seed).normal(size=(length, channels)).cumsum(0)


@settings(deadline=None)
@given(augmentation=st.sampled_from(ALL), length=st.integers(1, 40), seed=seeds)
def test_every_alignment_is_row_stochastic_and_moves_forward(augmentation, length, seed):
    values, alignment = augmentation(walk(length), random_state=seed)
    assert alignment.shape == (len(values), length)
    assert len(values) >= 1
    assert (alignment >= 0).all()
    np.testing.assert_allclose(alignment.sum(1), 1, atol=1e-12)
    # later rows have their weight later: the cumulative sums never cross
    assert (np.diff(np.cumsum(alignment, axis=1), axis=0) <= 1e-12).all()


@settings(deadline=None)
@given(augmentation=st.sampled_from(LINEAR), length=st.integers(1, 40), seed=seeds)
def test_augmentations_of_time_are_their_alignment(augmentation, length, seed):
    x = walk(length)
    values, alignment = augmentation(x, random_state=seed)
    reference = [sum(alignment[i, j] * x[j] for j in range(length)) for i in range(len(alignment))]
    np.testing.assert_allclose(values, reference, atol=1e-12)


@settings(deadline=None)
@given(augmentation=st.sampled_from(LINEAR), length=st.integers(1, 30), seed=seeds)
def test_a_constant_sequence_stays_constant_and_is_never_blurred_to_zero(augmentation, length, seed):
    np.testing.assert_allclose(augmentation(np.full((length, 3), 7.0), random_state=seed).values, 7.0)


def test_blur_is_a_convolution_with_a_kernel_that_falls_off_from_its_middle():
    x = walk(50, 1)[:, 0]
    for seed in range(30):
        values, alignment = Blur(sizes=(5,), strides=(2,))(x, random_state=seed)
        kernel = alignment[0, :5]
        assert (np.diff(kernel[:3]) >= 0).all()
        assert (np.diff(kernel[2:]) <= 0).all()
        np.testing.assert_allclose(values, np.convolve(x, kernel[::-1], mode="valid")[::2], atol=1e-12)
        assert (np.count_nonzero(alignment, axis=1) == 5).all()


def test_blur_draws_every_size_and_stride():
    shapes = {Blur()(np.zeros(40), random_state=seed).alignment.shape[0] for seed in range(200)}
    assert shapes == {(40 - size) // stride + 1 for size in (3, 5, 7) for stride in (1, 2, 3)}


@pytest.mark.parametrize(("length", "widest"), [(1, 1), (2, 1), (4, 3), (6, 5)])
def test_a_kernel_longer_than_the_sequence_is_cut_to_what_fits(length, widest):
    alignment = Blur(sizes=(7,), strides=(1,))(np.arange(float(length)), random_state=0).alignment
    assert alignment.shape == (length - widest + 1, length)
    assert np.count_nonzero(alignment[0]) == widest


@given(length=st.integers(1, 60), seed=seeds)
def test_merge_uses_every_step_once_and_makes_half_to_four_fifths_of_them(length, seed):
    alignment = Merge()(np.zeros(length), random_state=seed).alignment
    assert (np.count_nonzero(alignment, axis=0) == 1).all()
    assert max(1, length / 2 - 0.5) <= len(alignment) <= max(1, 0.8 * length)


@pytest.mark.parametrize("length", [5, 10, 11, 20])
def test_merge_and_crop_draw_every_length_that_their_shares_allow_the_longest_too(length):
    for drawn, least, most in ((Merge(), 5, 8), (RandomCrop(shortest=0.2, longest=1.0), 2, 10)):  # tenths
        allowed = {n for n in range(1, length + 1) if least * length <= 10 * n <= most * length}
        found = {len(drawn(np.zeros(length), random_state=seed).values) for seed in range(40 * len(allowed))}
        assert found == allowed


def test_an_even_merge_is_the_mean_of_each_stretch():
    x = walk(20)
    values, alignment = Merge(even=True)(x, random_state=4)
    part = alignment.argmax(axis=0)
    np.testing.assert_allclose(values, [x[part == i].mean(0) for i in range(len(values))])


def test_a_time_warp_keeps_the_ends_and_interpolates():
    x = walk(30)
    values, alignment = TimeWarp(strength=0.8)(x, random_state=2)
    positions = alignment @ np.arange(30)
    assert positions[0] == 0
    assert positions[-1] == pytest.approx(29)
    assert (np.diff(positions) > 0).all()
    for channel in range(2):
        np.testing.assert_allclose(values[:, channel], np.interp(positions, np.arange(30), x[:, channel]))
    assert np.abs(positions - np.arange(30)).max() > 0.5


def test_a_crop_is_a_stretch_of_the_original():
    x = walk(30)
    values, alignment = RandomCrop(shortest=0.3, longest=0.3)(x, random_state=0)
    start = int(alignment[0].argmax())
    np.testing.assert_array_equal(values, x[start : start + 9])


def test_jitter_and_scaling_change_values_by_as_much_as_they_say():
    x = np.ones((20000, 2))
    noise = Jitter(std=0.2)(x[:2000], random_state=0).values - 1
    assert noise.std() == pytest.approx(0.2, rel=0.05)
    factors = [RandomScaling(std=0.3)(x[:3], random_state=seed) for seed in range(2000)]
    assert np.std([np.log(one.values[0]) for one in factors]) == pytest.approx(0.3, rel=0.05)
    assert all((np.ptp(one.values, axis=0) == 0).all() for one in factors[:20])
    np.testing.assert_array_equal(factors[0].alignment, np.eye(3))


def test_alignments_of_a_chain_multiply():
    x = walk(30)
    rng, again = np.random.default_rng(5), np.random.default_rng(5)
    both = compose([Merge(), Blur()])(x, random_state=rng)
    first = Merge()(x, random_state=again)
    second = Blur()(first.values, random_state=again)
    np.testing.assert_allclose(both.alignment, second.alignment @ first.alignment)
    np.testing.assert_allclose(both.values, second.values)


def test_a_choice_uses_all_its_steps():
    lengths = {
        len(choose([RandomCrop(shortest=0.5, longest=0.5), Jitter()])(walk(10), random_state=i).values)
        for i in range(20)
    }
    assert lengths == {5, 10}


@pytest.mark.parametrize("augmentation", ALL, ids=repr)
def test_the_input_is_never_changed(augmentation):
    x = walk(20)
    before = x.copy()
    values, _ = augmentation(x, random_state=0)
    values += 1
    np.testing.assert_array_equal(x, before)
    s = tl.Sequences([x, x[:7]])
    augmentation(s, random_state=0)
    np.testing.assert_array_equal(s[0], before)


@pytest.mark.parametrize("augmentation", ALL, ids=repr)
def test_collections_keep_what_is_known_and_follow_time(augmentation):
    times = [np.linspace(0, 1, 20), np.arange(1.0, 8.0)]
    s = tl.Sequences([walk(20), walk(7)], labels=["a", "b"], groups=[3, 4], ids=[5, 6], times=times)
    new, alignments = augmentation(s, random_state=0)
    for name in ("labels", "groups", "ids"):
        np.testing.assert_array_equal(getattr(new, name), getattr(s, name))
    assert new.lengths.tolist() == [len(a) for a in alignments]
    np.testing.assert_allclose(new.times, np.concatenate([a @ t for a, t in zip(alignments, times, strict=True)]))
    again = augmentation(s, random_state=0)[0]
    assert again.equals(new)


def test_datetimes_are_averaged_to_the_nanosecond():
    clock = np.datetime64("2024-01-01T00:00:00", "ns") + np.arange(10) * np.timedelta64(3, "s")
    new, [alignment] = Merge(even=True)(tl.Sequences([np.zeros(10)], times=[clock]), random_state=0)
    seconds = alignment @ (3.0 * np.arange(10))
    np.testing.assert_allclose((new.times - clock[0]) / np.timedelta64(1, "s"), seconds, atol=2e-9)


def test_a_missing_value_spoils_only_what_it_has_a_share_in():
    x = walk(12)
    x[4, 1] = np.nan
    for augmentation in LINEAR:
        values, alignment = augmentation(x, random_state=1)
        np.testing.assert_array_equal(np.isnan(values[:, 1]), alignment[:, 4] > 0)
        assert np.isfinite(values[:, 0]).all()


def test_types_and_shapes_follow_the_input():
    assert Blur()(np.arange(9, dtype=np.int16), random_state=0).values.dtype == np.float32
    exact = RandomCrop(shortest=1.0)(100_000_001 + np.arange(9), random_state=0).values
    assert exact.tolist() == list(range(100_000_001, 100_000_010))  # float32 has 24 bits
    assert Blur()(np.arange(9.0), random_state=0).values.ndim == 1
    video = np.zeros((9, 1, 4, 5), np.float32)
    for augmentation in ALL:
        values, _ = augmentation(video, random_state=0)
        assert values.shape[1:] == (1, 4, 5)
        assert values.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Blur(sizes=(4,)), ValueError, r"sizes=\(4,\): expected odd sizes"),
        (lambda: Blur(sizes=()), TypeError, r"sizes=\(\): expected a tuple"),
        (lambda: Blur(strides=(0,)), ValueError, r"strides=0: expected at least 1"),
        (
            lambda: Merge(shortest=0.0),
            ValueError,
            r"shortest=0.0: expected a finite number greater than 0.0 and at most 1",
        ),
        (lambda: RandomCrop(shortest=0.9, longest=0.5), ValueError, r"expected shortest to be at most longest"),
        (lambda: Jitter(std=-1.0), ValueError, r"std=-1.0: expected a finite number at least 0"),
        (lambda: RandomScaling(std="a"), TypeError, r"std='a': expected a number"),
        (lambda: TimeWarp(strength=3.0), ValueError, r"strength=3.0"),
        (lambda: compose([]), ValueError, r"steps is empty"),
        (lambda: compose([Blur]), TypeError, r"steps\[0\] is .*expected an augmentation such as Blur\(\)"),
        (lambda: Blur()([]), ValueError, r"x has length 0"),
        (lambda: Blur()([1.0, np.inf]), ValueError, r"x is infinite at time step 1"),
        (lambda: Blur()("text"), TypeError, r"x is a str"),
        (lambda: Blur()([1.0], random_state=1.5), TypeError, r"random_state is a float"),
        (lambda: Blur()(tl.Sequences([[1.0]])[:0]), ValueError, r"x is empty"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("augmentation", "x"),
    [
        (RandomScaling(std=1e4), np.ones((50, 9))),
        (Jitter(std=1e308), np.ones(50)),
        (Jitter(std=1e300), np.ones(9, np.float32)),
    ],
)
def test_values_that_would_become_infinite_are_refused(augmentation, x):
    with pytest.raises(ValueError, match=re.escape(f"std={augmentation.std} makes values infinite in {x.dtype}")):
        augmentation(x, random_state=0)


@pytest.mark.parametrize("combine", [compose, choose])
def test_one_augmentation_alone_is_not_a_list(combine):
    with pytest.raises(TypeError, match=r"steps is Jitter\(std=0.05\): expected a list of augmentations"):
        combine(Jitter())

"""Scaling, filling, resampling, cutting: against NumPy done one sequence at a time."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import timelike as tl

NAN = float("nan")
items = st.lists(
    st.integers(1, 9).flatmap(
        lambda n: arrays(np.float64, (n, 2), elements=st.floats(-100, 100, width=32, allow_subnormal=False))
    ),
    min_size=1,
    max_size=5,
)


@given(items)
def test_statistics_are_those_of_all_values_together(given_):
    mean, std = tl.Sequences(given_).statistics()
    stacked = np.concatenate(given_)
    np.testing.assert_allclose(mean, stacked.mean(axis=0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(std, stacked.std(axis=0), rtol=1e-6, atol=1e-8)


@given(items)
def test_every_sequence_can_be_scaled_by_itself(given_):
    for before, after in zip(given_, tl.Sequences(given_).standardize(per="sequence"), strict=True):
        spread = before.std(axis=0)
        flat = np.ptp(before, axis=0) == 0
        assert (after[:, flat] == 0).all()
        wide = spread > 1e-9 * np.abs(before).max(axis=0)  # narrower ones are dominated by NumPy's rounding
        expected = (before - before.mean(axis=0))[:, wide] / spread[wide]
        np.testing.assert_allclose(after[:, wide], expected, rtol=1e-5, atol=1e-5)


def test_standardizing_is_stable_ignores_missing_and_leaves_constants_alone():
    far = tl.Sequences(1e9 + np.random.default_rng(0).standard_normal((4, 50))).standardize()
    assert abs(far.values.std() - 1) < 1e-6
    gap = tl.Sequences([[1.0, NAN, 3.0]]).standardize()
    np.testing.assert_array_equal(gap[0].ravel(), [-1, NAN, 1])
    assert (tl.Sequences([[0.1] * 7]).standardize().values == 0).all()
    np.testing.assert_array_equal(tl.Sequences([[NAN, NAN]]).standardize()[0].ravel(), [NAN, NAN])
    assert tl.Sequences(np.zeros((2, 3), np.uint8)).standardize().dtype == np.float32


def test_test_data_is_scaled_by_the_training_data():
    rng = np.random.default_rng(0)
    train, test = tl.Sequences(rng.normal(5, 3, (10, 20, 2))), tl.Sequences(rng.normal(5, 3, (4, 20, 2)))
    scaled = test.standardize(like=train)
    expected = (test.values - train.values.mean(0)) / train.values.std(0)
    np.testing.assert_allclose(scaled.values, expected)
    np.testing.assert_array_equal(scaled.values, test.standardize(like=train.statistics()).values)


@given(items, st.data())
def test_interpolation_fills_gaps_as_numpy_does(given_, data):
    clock = [np.cumsum(data.draw(arrays(float, len(x), elements=st.floats(0.1, 3)))) for x in given_]
    holed = []
    for x in given_:
        gap = data.draw(arrays(bool, x.shape))
        gap[data.draw(st.integers(0, len(x) - 1))] = False
        holed.append(np.where(gap, NAN, x))
    filled = tl.Sequences(holed, times=clock).interpolate()
    for now, x, after in zip(clock, holed, filled, strict=True):
        for c in range(2):
            known = ~np.isnan(x[:, c])
            np.testing.assert_allclose(after[:, c], np.interp(now, now[known], x[known, c]))
    assert not filled.has_missing


@given(items, st.integers(1, 20))
def test_resampling_to_a_length_is_numpy_interpolation(given_, length):
    found = tl.Sequences(given_).resample(length)
    assert (found.lengths == length).all()
    for x, after in zip(given_, found, strict=True):
        where = np.linspace(0, len(x) - 1, length)
        for c in range(2):
            np.testing.assert_allclose(after[:, c], np.interp(where, np.arange(len(x)), x[:, c]), atol=1e-9)


def test_resampling_honours_time():
    s = tl.Sequences([[0.0, 1.0, 10.0]], times=[[0.0, 1.0, 10.0]])
    np.testing.assert_allclose(s.resample(rate=1)[0].ravel(), np.arange(11))
    np.testing.assert_allclose(s.resample(5).times, [0, 2.5, 5, 7.5, 10])
    assert tl.Sequences([[0.0, 1.0, 2.0]]).resample(rate=0.5)[0].ravel().tolist() == [0, 2]
    assert tl.Sequences([np.zeros(4)], times=[np.arange(4) * 0.1]).resample(rate=10).lengths.tolist() == [4]
    seconds = np.array(["2024-01-01T00:00:00", "2024-01-01T00:00:04"], "datetime64[s]")
    dated = tl.Sequences([[0.0, 4.0]], times=[seconds]).resample(rate=1)
    assert dated[0].ravel().tolist() == [0, 1, 2, 3, 4]
    assert dated.times[1] == np.datetime64("2024-01-01T00:00:01")


def test_a_missing_value_does_not_spread_to_exact_samples():
    s = tl.Sequences([[1.0, NAN, 3.0, 4.0]]).resample(4, max_gap=1)
    np.testing.assert_array_equal(s[0].ravel(), [1, NAN, 3, 4])


@given(items, st.integers(1, 5), st.integers(1, 4))
def test_windows_are_the_slices(given_, size, step):
    s = tl.Sequences(given_, labels=range(len(given_)))
    expected = [(i, x[a : a + size]) for i, x in enumerate(given_) for a in range(0, len(x) - size + 1, step)]
    if not expected:
        with pytest.raises(ValueError, match="longer than every sequence"):
            s.windows(size, step)
        return
    found = s.windows(size, step)
    assert found.labels.tolist() == found.groups.tolist() == [i for i, _ in expected]
    for (_, before), after in zip(expected, found, strict=True):
        np.testing.assert_array_equal(before, after)


def test_windows_and_crops_carry_times_and_names():
    s = tl.Sequences([[1.0, 2.0, 3.0]], times=[[5.0, 6.0, 7.0]], ids=["walk"], groups=["anna"])
    cut = s.windows(2)
    assert cut.ids.tolist() == ["walk[0:2]", "walk[1:3]"]
    assert cut.groups.tolist() == ["anna", "anna"]
    assert cut.times.tolist() == [5, 6, 6, 7]
    assert s.crop(1).times.tolist() == [6, 7]


@given(items, st.integers(-9, 9) | st.none(), st.integers(-9, 9) | st.none())
def test_crop_is_a_slice_of_every_sequence(given_, start, stop):
    expected = [x[start:stop] for x in given_]
    if any(len(x) == 0 for x in expected):
        with pytest.raises(ValueError, match="leaves nothing of sequence"):
            tl.Sequences(given_).crop(start, stop)
        return
    for before, after in zip(expected, tl.Sequences(given_).crop(start, stop), strict=True):
        np.testing.assert_array_equal(before, after)


def test_derivatives_are_exact_on_parabolas_and_follow_keogh_on_request():
    now = np.array([0.0, 1.0, 3.0, 4.0, 7.0])
    s = tl.Sequences([now**2], times=[now])
    np.testing.assert_allclose(s.derivative()[0].ravel(), 2 * now, atol=1e-12)
    x = np.array([1.0, 4.0, 2.0, 7.0])
    inner = [((x[i] - x[i - 1]) + (x[i + 1] - x[i - 1]) / 2) / 2 for i in (1, 2)]
    np.testing.assert_allclose(tl.Sequences([x]).derivative(rule="keogh")[0].ravel(), [inner[0], *inner, inner[1]])
    assert tl.Sequences([[3.0]]).derivative()[0].tolist() == [[0.0]]
    assert tl.Sequences([[3.0, 5.0]]).derivative(rule="keogh")[0].ravel().tolist() == [2, 2]
    assert tl.Sequences(np.array([[0, 200]], np.uint8)).derivative()[0].ravel().tolist() == [200, 200]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.standardize(per="row"), "per='row': expected"),
        (lambda s: s.standardize(like=s, per="sequence"), "like goes with per"),
        (lambda s: s.standardize(like=tl.Sequences(np.zeros((1, 2, 5)))), r"like has frames \(5,\)"),
        (lambda s: s.resample(), "give exactly one of them"),
        (lambda s: s.resample(3, rate=2), "give exactly one of them"),
        (lambda s: s.resample(0), "length=0: expected at least 1"),
        (lambda s: s.resample(rate=-1.0), "rate=-1.0: expected a finite number greater than 0"),
        (lambda s: s.windows(0), "size=0: expected at least 1"),
        (lambda s: s.windows(2, 0), "step=0: expected at least 1"),
        (lambda s: s.resample(rate=1e300), "rate=1e\\+300 asks for 2e\\+300 time steps"),
        (lambda s: s.derivative(rule="up"), "rule='up': expected"),
        (lambda s: tl.Sequences([[1.0], [NAN]]).interpolate(), "sequence 1 has no value at all in channel 0"),
    ],
)
def test_bad_options_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(tl.Sequences([[1.0, 2.0, 3.0]]))


def test_large_integers_are_computed_exactly():
    assert tl.Sequences([[100_000_000, 100_000_001, 100_000_002]]).derivative()[0].ravel().tolist() == [1, 1, 1]
    assert tl.Sequences(np.array([[16777217, 16777219]])).resample(2)[0].ravel().tolist() == [16777217, 16777219]
    scaled = tl.Sequences(np.array([[16777217, 16777219]], np.uint32)).standardize()
    assert scaled.dtype == np.float64
    assert scaled[0].ravel().tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("stored", "computed"),
    [(np.int32, np.float64), (np.uint64, np.float64), (np.float64, np.float64)]
    + [(kind, np.float32) for kind in (bool, np.int8, np.uint16, np.float16, np.float32)],
)
def test_small_numbers_are_computed_in_float32_and_large_ones_in_float64(stored, computed):
    s = tl.Sequences(np.array([[0, 1, 1]], stored))
    for done in (s.standardize(), s.standardize(per="sequence"), s.resample(2), s.derivative(), s[:0].resample(2)):
        assert done.dtype == computed


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-170, 1.0, 1e200, 1.7e308])
def test_standardizing_neither_overflows_nor_vanishes(size):
    s = tl.Sequences([[size, -size]])
    for scaled in (s.standardize(), s.standardize(per="sequence"), s.standardize(like=s)):
        assert scaled[0].ravel().tolist() == [1, -1]
    assert s.statistics().std.tolist() == [size]


def test_a_scale_that_makes_values_infinite_is_refused():
    with pytest.raises(ValueError, match="like has a standard deviation of 1e-30, by which"):
        tl.Sequences(np.array([[1e30, 0]], np.float32)).standardize(like=tl.Sequences([[1e-30, -1e-30]]))


@pytest.mark.parametrize("call", ["resample(3)", "resample(rate=2)", "interpolate()", "derivative()", "crop(1)"])
@pytest.mark.parametrize(
    "known", [{}, {"times": [0.0, 1.0, 2.0]}, {"times": ["2024-01-01", "2024-01-02", "2024-01-03"]}]
)
def test_nothing_stays_nothing(call, known):
    empty = tl.Sequences(np.ones((2, 3)), labels=["a", "b"], **known)[:0]
    done = eval(f"empty.{call}", {"empty": empty})
    assert len(done) == 0
    assert (done.times is None) == (empty.times is None)
    assert done.class_names == ("a", "b")


@pytest.mark.parametrize("call", ["statistics()", "standardize()", "standardize(per='sequence')", "windows(2)"])
def test_what_needs_a_sequence_says_that_there_are_none(call):
    with pytest.raises(ValueError, match="there are no sequences"):
        eval(f"empty.{call}", {"empty": tl.Sequences(np.ones((2, 3)))[:0]})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.crop(1.5), "start=1.5: expected an integer"),
        (lambda s: s.crop(stop="2"), "stop='2': expected an integer"),
        (lambda s: s.windows(2.0), "size=2.0: expected an integer"),
        (lambda s: s.windows(2, "1"), "step='1': expected an integer"),
        (lambda s: s.resample(2.5), "length=2.5: expected an integer"),
        (lambda s: s.resample(rate="fast"), "rate='fast': expected a number"),
        (lambda s: s.standardize("sequence"), r"did you mean standardize\(per='sequence'\)"),
        (lambda s: s.standardize(like=np.ones(3)), r"like is a ndarray: .* wrap it in Sequences"),
    ],
)
def test_options_of_the_wrong_type_are_named(call, words):
    with pytest.raises(TypeError, match=words):
        call(tl.Sequences([[1.0, 2.0, 3.0]]))


def test_numpy_integers_and_far_bounds_are_fine():
    s = tl.Sequences([[1.0, 2.0, 3.0]])
    assert s.crop(np.int64(1), 10**40).lengths.tolist() == [2]
    assert s.windows(np.int8(2), np.uint8(1)).lengths.tolist() == [2, 2]
    assert s.resample(np.int32(5)).lengths.tolist() == [5]


def test_resampling_lands_on_samples_despite_rounding():
    x = np.array([0.0, NAN, NAN, 3.0, NAN, NAN, 6.0])
    assert tl.Sequences([x]).resample(rate=1 / 3)[0].ravel().tolist() == [0, 3, 6]

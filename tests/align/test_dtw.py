"""DTW: facts that follow from its definition, and the numbers other libraries give."""

import numpy as np
import pytest
from dtaidistance import dtw as dtai
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from tslearn.metrics import dtw as tslearn_dtw

import timelike as tl
from naive import elastic

finite = st.floats(-1e3, 1e3, allow_subnormal=False)


def series(shortest=1, longest=25):
    return st.integers(shortest, longest).flatmap(lambda n: arrays(np.float64, n, elements=finite))


@given(series(), series())
def test_the_distance_is_that_of_the_formula(x, y):
    assert tl.DTW().distance(x, y) == pytest.approx(elastic.dtw(x[:, None], y[:, None]), rel=1e-12)


@given(series(), series())
def test_reversing_both_sequences_changes_nothing(x, y):
    assert tl.DTW().distance(x[::-1], y[::-1]) == pytest.approx(tl.DTW().distance(x, y), rel=1e-9, abs=1e-9)


@given(st.integers(1, 20).flatmap(lambda n: st.tuples(*[arrays(np.float64, n, elements=finite)] * 2)))
def test_no_warping_is_one_of_the_ways_so_dtw_is_at_most_euclidean(pair):
    x, y = pair
    assert tl.DTW().distance(x, y) <= ((x - y) ** 2).sum() * (1 + 1e-12)
    assert tl.DTW(window=0).distance(x, y) == pytest.approx(((x - y) ** 2).sum(), rel=1e-12)


@given(
    st.integers(2, 20).flatmap(lambda n: st.tuples(*[arrays(np.float64, n, elements=finite)] * 2)), st.integers(0, 20)
)
def test_a_wider_window_never_costs_more(pair, window):
    assert tl.DTW(window=window + 1).distance(*pair) <= tl.DTW(window=window).distance(*pair)


@given(
    arrays(np.float64, (12, 3), elements=finite), arrays(np.float64, (9, 3), elements=finite), st.permutations(range(3))
)
def test_the_order_of_channels_does_not_matter(x, y, order):
    assert tl.DTW().distance(x[:, order], y[:, order]) == pytest.approx(tl.DTW().distance(x, y), rel=1e-12)


@given(series(), series(), st.sampled_from(["sqeuclidean", "euclidean", "manhattan"]))
def test_the_path_costs_what_the_distance_says(x, y, cost):
    metric = tl.DTW(cost=cost)
    alignment = metric.align(x, y)
    assert alignment.cost == metric.distance(x, y)
    total = elastic.path_cost(x[:, None], y[:, None], alignment.path, cost)
    assert total == pytest.approx(alignment.cost, rel=1e-9, abs=1e-9)


def test_tslearn_gives_the_root_of_our_sum():
    rng = np.random.default_rng(0)
    for n, m, channels in [(20, 20, 1), (20, 27, 1), (15, 9, 4)]:
        x, y = rng.standard_normal((n, channels)), rng.standard_normal((m, channels))
        assert tl.DTW(root=True).distance(x, y) == pytest.approx(tslearn_dtw(x, y), rel=1e-12)
    x, y = rng.standard_normal((60, 1)), rng.standard_normal((60, 1))
    ours = tl.DTW(window=0.1, root=True).distance(x, y)
    assert ours == pytest.approx(tslearn_dtw(x, y, global_constraint="sakoe_chiba", sakoe_chiba_radius=6), rel=1e-12)


def test_dtaidistance_counts_its_window_from_one():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal(60), rng.standard_normal(60)
    assert tl.DTW(root=True).distance(x, y) == pytest.approx(dtai.distance(x, y), rel=1e-12)
    assert tl.DTW(window=0.1, root=True).distance(x, y) == pytest.approx(dtai.distance(x, y, window=7), rel=1e-12)


def test_apply_puts_y_on_the_time_of_x():
    alignment = tl.DTW().align([0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(alignment.apply(), [0, 1, 2])
    assert tl.DTW().align([[0.0], [1.0]], [[0.0], [1.0]]).apply().shape == (2, 1)
    np.testing.assert_array_equal(alignment.apply([1.0, 3.0, 5.0, 7.0, 9.0]), [2, 5, 8])
    assert alignment.plan.sum() == len(alignment.path)
    with pytest.raises(ValueError, match=r"y has shape \(2,\): the alignment was made with 5 time steps"):
        alignment.apply([1.0, 2.0])


def test_limits_are_handled():
    assert tl.DTW().distance([1.0], [3.0]) == 4
    assert tl.DTW().distance([0.0], np.arange(10_000.0)) == pytest.approx((np.arange(10_000.0) ** 2).sum())
    assert tl.DTW().distance(np.ones(50), np.ones(70)) == 0
    assert tl.DTW(window=0.0).distance([1.0], [1.0]) == 0
    assert tl.DTW().distance(np.array([1, 2], np.uint8), np.array([2, 1], np.uint8)) == 2  # no wrap-around


def test_dtype_follows_the_input():
    x = np.zeros((2, 3))
    assert tl.DTW().pairwise(x).dtype == np.float64
    assert tl.DTW().pairwise(x, x.astype(np.float32)).dtype == np.float64
    for kind in (np.float32, np.float16, np.int16, np.uint8):
        assert tl.DTW().pairwise(x.astype(kind)).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.DTW(window=3).distance(np.zeros(60), np.zeros(30)), ValueError,
         "window=3 admits no path between lengths 60 and 30: use window >= 30"),
        (lambda: tl.DTW(missing="drop"), ValueError, "missing='drop': expected"),
        (lambda: tl.DTW(missing="ignore", normalize="steps"), ValueError, 'expected normalize="length" or None'),
        (lambda: tl.DTW(window=-1), ValueError, "window=-1: expected 0 or more cells"),
        (lambda: tl.DTW(window=1.5), ValueError, "window=1.5: a float is a share of the length, 0 to 1"),
        (lambda: tl.DTW(window=float("nan")), ValueError, "window=nan"),
        (lambda: tl.DTW(window="wide"), TypeError, "window='wide': expected an int"),
        (lambda: tl.DTW(cost="cosine"), ValueError, "cost='cosine': expected one of 'sqeuclidean'"),
        (lambda: tl.DTW().distance([], [1.0]), ValueError, "x has length 0"),
        (lambda: tl.DTW().distance([1.0], [float("nan")]), ValueError,
         r"y: sequence 0 is missing \(nan\) at time step 0 and DTW cannot take missing values: fill them with"),
        (lambda: tl.DTW().distance([1.0], [float("inf")]), ValueError, "y is infinite at time step 0"),
        (lambda: tl.DTW().distance(np.zeros((3, 2)), np.zeros((3, 4))), ValueError,
         r"x has frames of shape \(2,\) and y of \(4,\): expected the same channels"),
        (lambda: tl.DTW().distance(3.0, [1.0]), TypeError, "x is a single number"),
        (lambda: tl.DTW().distance("abc", [1.0]), TypeError, "x is a str"),
        (lambda: tl.DTW().pairwise(np.zeros(4)), ValueError, r"X has shape \(4,\): expected \(item, time\)"),
        (lambda: tl.DTW().pairwise([]), ValueError, "X is empty"),
        (lambda: tl.DTW().pairwise(np.zeros((2, 3)), n_jobs=0), ValueError, "n_jobs=0: expected a positive number of threads, or None or -1"),
        (lambda: tl.DTW().pairwise(np.zeros((2, 3)), out=np.zeros((2, 3))), ValueError,
         r"out is \(2, 3\) float64: expected \(2, 2\) float64"),
        (lambda: tl.DTW().neighbors(np.zeros((2, 3)), np.zeros((1, 3)), k=3), ValueError, "k=3: expected 1 to 2"),
        (lambda: tl.DTW().pairwise(np.full((2, 3), [[1e30], [0]], np.float32)), ValueError,
         r"the distance of X\[0\] and X\[1\] is too large for float32: standardize\(\)"),
        (lambda: tl.DTW().pairwise(tl.Sequences(np.zeros((1, 1))).resample(1)[np.zeros(10**6, int)]), MemoryError,
         "1000000 × 1000000 float64 distances needs 7450.6 GiB"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_a_way_out(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_out_may_be_a_memory_map(tmp_path):
    x = np.random.default_rng(0).standard_normal((5, 20))
    out = np.memmap(tmp_path / "distances", dtype=np.float64, mode="w+", shape=(5, 5))
    assert tl.DTW().pairwise(x, out=out) is out
    np.testing.assert_array_equal(out, tl.DTW().pairwise(x))


def test_progress_is_shown_on_request(capsys):
    x = np.random.default_rng(0).standard_normal((200, 200))
    tl.DTW().pairwise(x, progress=True)
    assert "100%" in capsys.readouterr().err

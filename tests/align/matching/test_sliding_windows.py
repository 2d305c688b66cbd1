"""A query among all windows of a stream: against a plain loop, spikes, ties, levels that do not matter, bad input."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from naive import elastic, matching
from timelike.native.machine import kernels
from timelike.native.stream import lower_bounds

METRICS = [
    tl.DTW(),
    tl.DTW(window=0),
    tl.DTW(window=2, cost="manhattan"),
    tl.DTW(window=0.2, cost="euclidean"),
    tl.DTW(window=3, root=True),
    tl.Euclidean(),
]


def walk(n, channels=1, seed=0):
    return np.random.default_rng(seed).standard_normal((n, channels)).cumsum(axis=0)


def by_definition(metric, m):
    """The metric as a plain loop."""
    if isinstance(metric, tl.Euclidean):
        return lambda x, y: float(np.sqrt(((x - y) ** 2).sum()))
    radius = {None: m}.get(metric.window, metric.window)
    radius = int(np.floor(radius * m + 1e-9)) if isinstance(radius, float) else radius
    return lambda x, y: elastic.dtw(x, y, radius, metric.cost, root=metric.root)


def agree(found, expected):
    assert [match[:2] for match in found] == [match[:2] for match in expected]
    np.testing.assert_allclose([match[2] for match in found], [match[2] for match in expected], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_the_windows_are_those_of_a_loop_over_all_of_them(metric, channels, executor):
    query, stream = walk(9, channels, 1), walk(90, channels)
    for normalize in (True, False):
        found = tl.subsequence(query, stream, 4, normalize=normalize, metric=metric, exclusion=2)
        expected = matching.windows(query, stream, 4, by_definition(metric, 9), normalize=normalize, exclusion=2)
        agree(found, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-2, 2), min_size=1, max_size=6),
    st.lists(st.integers(-2, 2), min_size=6, max_size=40),
    st.integers(0, 3),
    st.integers(1, 5),
    st.integers(0, 2),
)
def test_equal_distances_are_taken_in_the_order_of_the_stream(query, stream, radius, k, exclusion):
    """Whole numbers as they are, so that distances are exact and often equal."""
    q, x = np.array(query, float)[:, None], np.array(stream, float)[:, None]
    found = tl.subsequence(q, x, k, window=radius, exclusion=exclusion)
    expected = matching.windows(q, x, k, lambda a, b: elastic.dtw(a, b, radius), normalize=False, exclusion=exclusion)
    assert [tuple(match) for match in found] == expected


@pytest.mark.parametrize(("n", "size"), [(10, 3), (9, 9), (100, 7), (50, 1), (23, 22), (64, 16), (1, 1)])
def test_moments_of_windows_are_those_of_each_by_itself(n, size):
    samples = walk(n, 2).T * 1e-3 + 5
    samples[:, n // 2] = 1e6  # a spike must not be remembered by the windows after it
    cut = np.lib.stride_tricks.sliding_window_view(samples, size, axis=1)
    found = lower_bounds.window_moments(samples, size)
    np.testing.assert_allclose(found.means, cut.mean(axis=-1), rtol=1e-13)
    deviation = cut.std(axis=-1)
    constant = np.ptp(cut, axis=-1) == 0
    np.testing.assert_array_equal(found.scales == 0, constant)
    np.testing.assert_allclose(found.scales[~constant], 1 / deviation[~constant], rtol=1e-9)


def test_level_and_size_of_a_pattern_do_not_matter(executor):
    pattern, stream = walk(30, 2, 5), walk(400, 2)
    stream[100:130] = 1e4 + 1e-3 * pattern
    stream[250:280] = -50 + 700 * pattern
    found = tl.subsequence(pattern * [3, 0.1] + 8, stream, 2, normalize=True, window=0.1)
    assert sorted(match.start for match in found) == [100, 250]
    assert max(match.distance for match in found) < 1e-12


@pytest.mark.parametrize("scale", [1e-250, 1e-120, 1e120, 1e250])
def test_numbers_of_any_size_are_scaled(scale, executor):
    query, stream = walk(8, seed=1), walk(60)
    plain = tl.subsequence(query, stream, 2, normalize=True)
    agree(tl.subsequence(query * scale, stream, 2, normalize=True), plain)
    agree(tl.subsequence(query, stream * scale, 2, normalize=True), plain)


def test_constant_windows_are_flat_and_a_flat_query_finds_them(executor):
    stream = np.r_[walk(20)[:, 0], np.full(6, 0.1), walk(20, seed=2)[:, 0]]
    assert tl.subsequence([7.3] * 5, stream, normalize=True) == [(20, 25, 0.0)]


def test_a_long_stream_finds_what_all_distances_find():
    """Long enough for blocks, seeds and given-up windows; many matches, so that bounds are used again."""
    query, stream = walk(24, seed=3), walk(3000)
    cut = np.lib.stride_tricks.sliding_window_view(stream[:, 0], 24)
    ready = (cut - cut.mean(1, keepdims=True)) / cut.std(1, keepdims=True)
    metric = tl.DTW(window=3)
    distances = metric.pairwise([matching.scaled(query)], ready)[0]
    free, expected = np.ones(len(distances), bool), []
    while free.any():
        start = int(np.where(free, distances, np.inf).argmin())
        expected.append((start, start + 24, distances[start]))
        free[max(0, start - 23) : start + 24] = False
    agree(tl.subsequence(query, stream, 1000, normalize=True, metric=metric), expected)


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_most_windows_are_ruled_out_without_being_compared(metric, monkeypatch):
    if not tl.native.is_native_enabled():
        pytest.skip("no compiled kernels here")
    compared = []
    plain = lower_bounds.LowerBoundCascade.total

    def counting(self, cost, ids, limit, known):
        compared.extend(ids)
        return plain(self, cost, ids, limit, known)

    monkeypatch.setattr(lower_bounds.LowerBoundCascade, "total", counting)
    stream = walk(5000)
    tl.subsequence(stream[1000:1050] + 0.01 * walk(50, seed=1), stream, normalize=True, metric=metric)
    assert 0 < len(compared) < 500


def test_other_metrics_compare_all_windows():
    query, stream = walk(7, seed=1), walk(50)
    for metric, name in ((tl.MSM(), "msm"), (tl.TWE(), "twe"), (tl.SoftDTW(divergence=True), None)):
        found = tl.subsequence(query, stream, 3, normalize=True, metric=name or metric)
        agree(found, matching.windows(query, stream, 3, metric.distance))
    assert tl.subsequence(query, stream, metric=tl.ERP(), window=2) == tl.subsequence(
        query, stream, metric=tl.ERP(window=2)
    )


def test_nothing_beyond_the_largest_distance_is_given(executor):
    query, stream = walk(9, seed=1), walk(200)
    for metric in (tl.DTW(window=1), tl.DTW(window=1, root=True), tl.MSM()):
        every = tl.subsequence(query, stream, 50, normalize=True, metric=metric)
        middle = every[len(every) // 2].distance
        within = tl.subsequence(query, stream, 50, normalize=True, metric=metric, max_distance=middle)
        agree(within, [match for match in every if match.distance <= middle])
        assert tl.subsequence(query, stream, normalize=True, metric=metric, max_distance=1e-9) == []


def test_single_precision_and_whole_numbers_are_taken():
    query, stream = walk(8, seed=1).astype(np.float32), walk(60).astype(np.float32)
    agree(
        tl.subsequence(query, stream, normalize=True),
        tl.subsequence(query.astype(float), stream.astype(float), normalize=True),
    )
    assert tl.subsequence([1, 3, 1], [0, 0, 10, 30, 10], normalize=True)[0].start == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"normalize": 1}, "normalize=1: expected True or False"),
        ({"metric": "dwt"}, "metric='dwt': expected a Metric"),
        ({"window": -1}, "window=-1: expected 0 or more"),
        ({"window": 1.5}, "window=1.5: a float is a share"),
        ({"metric": tl.Euclidean(), "window": 3}, "Euclidean has no window; leave it out"),
        ({"metric": tl.DTW(window=2), "window": 3}, r"window=3 and metric=DTW\(window=2\): give the window once"),
        ({"metric": tl.MSM(), "cost": "manhattan"}, "cost='manhattan' is an option of DTW"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tl.subsequence([1.0, 2.0], [1.0, 2.0, 3.0], **options)


def test_a_stream_shorter_than_the_query_is_refused():
    with pytest.raises(ValueError, match=r"stream has 1 sample and query 2: .*given the other way round\?"):
        tl.subsequence([1.0, 2.0], [1.0], normalize=True)
    with pytest.raises(ValueError, match="stream: sequence 0 is missing"):
        tl.subsequence([1.0, 2.0], [1.0, np.nan, 3.0], normalize=True)


def test_every_instruction_set_gives_the_same_bits():
    if not tl.native.is_native_enabled():
        pytest.skip("no compiled kernels here")
    program = (
        "import numpy as np, timelike as tl; x = np.random.default_rng(0).standard_normal((700, 2)).cumsum(0);"
        "print([tl.subsequence(x[50:71] + 1, x, 5, normalize=True, metric=tl.DTW(window=4, cost=cost))"
        " for cost in ('sqeuclidean', 'euclidean', 'manhattan')])"
    )
    said = set()
    for isa in kernels.isas():
        wish = os.environ | {"TIMELIKE_ISA": isa}
        run = subprocess.run([sys.executable, "-c", program], env=wish, capture_output=True, text=True, check=True)
        said.add(run.stdout)
    assert len(said) == 1
    assert said.pop().count("SubsequenceMatch") == 15

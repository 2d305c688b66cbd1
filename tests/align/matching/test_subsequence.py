"""A query in a stream: against looking at every stretch, and SPRING against its paper and its promises."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

import timelike as tl
from naive import elastic, matching

whole_numbers = st.integers(-3, 3).map(float)  # sums are exact, and ties are common
costs = st.sampled_from(["sqeuclidean", "manhattan"])


def frames(shortest, longest, elements, channels):
    return st.tuples(st.integers(shortest, longest), st.just(channels)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=elements)
    )


def pairs(longest_stream, elements=whole_numbers):
    return st.integers(1, 3).flatmap(
        lambda c: st.tuples(frames(1, 5, elements, c), frames(1, longest_stream, elements, c))
    )


@settings(max_examples=60)
@given(pairs(14), st.integers(1, 6), costs, st.integers(0, 2))
def test_the_matches_are_those_of_looking_at_every_stretch(pair, k, cost, exclusion):
    found = tl.subsequence(*pair, k, cost=cost, exclusion=exclusion)
    assert [tuple(match) for match in found] == matching.stretches(*pair, k, cost, exclusion)


@settings(max_examples=60)
@given(pairs(40, st.floats(-5, 5, width=32)), st.integers(1, 8), st.sampled_from(["sqeuclidean", "euclidean"]))
def test_without_compiled_kernels_the_matches_are_the_same(pair, k, cost):
    found = tl.subsequence(*pair, k, cost=cost)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMELIKE_NATIVE", "0")
        assert tl.subsequence(*pair, k, cost=cost) == found


def test_a_distance_is_that_of_dtw_on_the_stretch(executor):
    rng = np.random.default_rng(0)
    query, stream = rng.standard_normal((12, 2)), rng.standard_normal((300, 2))
    for cost in ("sqeuclidean", "euclidean", "manhattan"):
        found = tl.subsequence(query, stream, 20, cost=cost)
        assert len(found) == 20
        assert [match.distance for match in found] == sorted(match.distance for match in found)
        spans = sorted(match[:2] for match in found)
        assert all(one[1] <= two[0] for one, two in pairwise(spans))
        for start, stop, distance in found:
            assert distance == pytest.approx(tl.DTW(cost=cost).distance(query, stream[start:stop]), rel=1e-12)


def test_a_planted_query_is_found_where_it_was_planted():
    rng = np.random.default_rng(1)
    query = np.sin(np.linspace(0, 6, 40))
    stream = rng.normal(0, 1, 2000)
    for place in (300, 900, 1500):
        stream[place : place + 60] = np.interp(np.linspace(0, 39, 60), np.arange(40), query)
    found = tl.subsequence(query, stream, 3)
    assert sorted(round(match.start / 300) for match in found) == [1, 3, 5]
    worst = max(match.distance for match in found)
    assert tl.subsequence(query, stream, 10, max_distance=worst) == found


def test_matches_run_out_when_the_stream_does():
    assert len(tl.subsequence([0.0, 0.0], np.zeros(5), 99)) == 5
    assert tl.subsequence([0.0], [1.0, 2.0], 5, max_distance=0.5) == []
    assert tl.subsequence([1.0], [3.0]) == [(0, 1, 4.0)]
    assert tl.subsequence([0.0, 0.0], np.zeros(7), 9, exclusion=1) == [
        (0, 1, 0.0),
        (2, 3, 0.0),
        (4, 5, 0.0),
        (6, 7, 0.0),
    ]


def test_a_float32_stream_needs_no_copy_and_gives_the_numbers_of_its_values():
    rng = np.random.default_rng(2)
    query, stream = rng.standard_normal(20).astype(np.float32), rng.standard_normal(400).astype(np.float32)
    assert tl.subsequence(query, stream, 5) == tl.subsequence(query.astype(float), stream.astype(float), 5)


thresholds = st.integers(0, 12).map(float)


def reports(query, stream, threshold, cost="sqeuclidean"):
    """What pushing gives, with the number of samples seen at each report."""
    spring = tl.align.Spring(query, threshold=threshold, cost=cost, lengths=None)
    found = [(*match, spring.n_seen) for sample in stream for match in spring.push(sample)]
    return found + [(*match, spring.n_seen) for match in spring.flush()]


@given(pairs(40), thresholds, costs)
def test_spring_reports_what_the_paper_reports_and_when(pair, threshold, cost):
    assert reports(*pair, threshold, cost) == matching.spring(*pair, threshold, cost)


@settings(max_examples=40)
@given(pairs(40), thresholds, costs, st.lists(st.integers(0, 25), max_size=8))
def test_the_chunks_in_which_samples_come_do_not_matter(pair, threshold, cost, sizes):
    query, stream = pair
    expected = [match[:3] for match in reports(query, stream, threshold, cost)]
    for patched in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TIMELIKE_NATIVE", patched)
            spring, begin, found = tl.align.Spring(query, threshold=threshold, cost=cost, lengths=None), 0, []
            for size in [*sizes, len(stream)]:
                found += spring.extend(stream[begin : begin + size])
                begin += size
            assert [tuple(match) for match in found + spring.flush()] == expected


@settings(max_examples=60)
@given(pairs(14), thresholds)
def test_reported_matches_are_exact_disjoint_and_miss_no_best_one(pair, threshold):
    query, stream = pair
    found = [match[:3] for match in reports(query, stream, threshold)]
    assert all(one[1] <= two[0] for one, two in pairwise(found))
    for start, stop, distance in found:
        assert distance == elastic.dtw(query, stream[start:stop]) <= threshold
    nearest = matching.stretches(query, stream, 1)[0]
    assert (nearest in found) if nearest[2] <= threshold else (found == [])


@settings(max_examples=60)
@given(pairs(14), thresholds)
def test_a_reported_match_is_the_nearest_of_those_it_overlaps(pair, threshold):
    query, stream = pair
    found = [match[:3] for match in reports(query, stream, threshold)]
    if not found:
        return
    start, stop, distance = found[0]  # later ones must also start after the match before them
    for end in range(1, len(stream) + 1):
        ending_here = [(elastic.dtw(query, stream[begin:end]), -begin) for begin in range(end)]
        best, begin = min(ending_here)
        if -begin < stop and start < end:
            assert best >= distance


def test_blocks_and_single_samples_give_the_same_bits():
    rng = np.random.default_rng(4)
    for channels, cost in [(1, "sqeuclidean"), (3, "sqeuclidean"), (2, "euclidean"), (9, "manhattan")]:
        query = rng.standard_normal((30, channels)).cumsum(axis=0)
        stream = rng.standard_normal((3000, channels)).cumsum(axis=0)
        threshold = tl.subsequence(query, stream, 8, cost=cost)[-1].distance
        one = tl.align.Spring(query, threshold=threshold, cost=cost, lengths=None)
        together = tl.align.Spring(query, threshold=threshold, cost=cost, lengths=None)
        singly = [match for sample in stream for match in one.push(sample)] + one.flush()
        assert together.extend(stream) + together.flush() == singly
        assert singly


def test_a_flushed_matcher_counts_on_and_begins_afresh():
    spring = tl.align.Spring([1.0, 2.0], threshold=0, lengths=None)
    assert spring.extend([1.0, 2.0]) == []
    assert spring.flush() == [(0, 2, 0.0)]
    assert spring.flush() == []
    assert spring.extend([2.0, 5.0]) + spring.flush() == []  # the 1 before the flush is not used
    assert spring.extend([1.0, 2.0]) + spring.flush() == [(4, 6, 0.0)]
    assert spring.n_seen == 6


def test_a_matcher_can_be_copied_and_sent_elsewhere_in_the_middle_of_a_stream():
    rng = np.random.default_rng(5)
    query, stream = rng.standard_normal(5), rng.standard_normal(200)
    for options in ({"lengths": None}, {}, {"normalize": True}):
        spring = tl.align.Spring(query, threshold=2.0, **options)
        spring.extend(stream[:100])
        copies = [copy.deepcopy(spring), pickle.loads(pickle.dumps(spring))]
        expected = spring.extend(stream[100:]) + spring.flush()
        assert all(one.extend(stream[100:]) + one.flush() == expected for one in copies)


def test_what_is_remembered_does_not_grow_with_the_stream():
    for lengths in (None, (0.5, 2.0)):
        spring = tl.align.Spring(np.zeros(10), threshold=0.1, lengths=lengths)
        sizes = set()
        for _ in range(3):
            spring.extend(np.ones(10_000))
            sizes.add(len(pickle.dumps(spring)))
        assert max(sizes) < 3000
        assert max(sizes) - min(sizes) < 8


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.subsequence([], [1.0]), ValueError, "query has length 0"),
        (lambda: tl.subsequence([1.0], [np.nan, 1.0]), ValueError, r"stream: sequence 0 is missing \(nan\) at time step 0"),
        (lambda: tl.subsequence([1.0], [np.inf, 1.0]), ValueError, "stream is infinite at time step 0"),
        (lambda: tl.subsequence(np.zeros((3, 2)), np.zeros((9, 4))), ValueError, r"query has frames of shape \(2,\) and stream of \(4,\)"),
        (lambda: tl.subsequence([1.0], [1.0], 0), ValueError, "k=0: expected at least 1"),
        (lambda: tl.subsequence([1.0], [1.0], cost="cosine"), ValueError, "cost='cosine': expected one of 'sqeuclidean'"),
        (lambda: tl.subsequence([1.0], [1.0], max_distance=-1), ValueError, "max_distance=-1: expected a finite number at least 0"),
        (lambda: tl.subsequence([1.0], [1.0], exclusion=-1), ValueError, "exclusion=-1: expected at least 0"),
        (lambda: tl.align.Spring([1.0], threshold=-1), ValueError, "threshold=-1: expected a finite number at least 0"),
        (lambda: tl.align.Spring([1.0], threshold=float("inf")), ValueError, "threshold=inf"),
        (lambda: tl.align.Spring([1.0], threshold="low"), TypeError, "threshold='low': expected a number"),
        (lambda: tl.align.Spring([np.nan], threshold=1), ValueError, "query: sequence 0 is missing"),
        (lambda: tl.align.Spring([1.0], threshold=1).push(np.nan), ValueError, "sample=nan at position 0: expected finite numbers"),
        (lambda: tl.align.Spring([1.0], threshold=1).push([1.0, 2.0]), ValueError, r"sample has shape \(2,\): expected \(1,\)"),
        (lambda: tl.align.Spring(np.ones((4, 3)), threshold=1).push(1.0), ValueError, r"sample has shape \(\): expected \(3,\)"),
        (lambda: tl.align.Spring([1.0], threshold=1).push("loud"), TypeError, "sample='loud': expected a number"),
        (lambda: tl.align.Spring([1.0], threshold=1).extend(np.ones((4, 3))), ValueError, r"samples has frames of shape \(3,\): expected \(1,\)"),
        (lambda: tl.align.Spring([1.0], threshold=1).extend([1.0, np.nan]), ValueError, r"samples: sequence 0 is missing \(nan\) at time step 1"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_refused_sample_changes_nothing():
    spring = tl.align.Spring([1.0, 2.0], threshold=0)
    spring.push(1.0)
    with pytest.raises(ValueError, match="position 1"):
        spring.push(np.nan)
    with pytest.raises(ValueError, match="samples: sequence 0"):
        spring.extend([1.0, np.nan])
    assert spring.n_seen == 1
    assert spring.extend([2.0]) + spring.flush() == [(0, 2, 0.0)]
    assert spring.extend([]) == spring.extend(np.zeros((0, 1))) == []

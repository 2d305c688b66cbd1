"""The threshold of Spring, learned: against counting errors at every threshold, what is promised, bad input."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from naive import elastic
from timelike.align.matching import spring_thresholds

PATTERN = np.array([0.0, 2.0, 4.0, 2.0, 0.0])
numbers = st.lists(st.integers(0, 12).map(float), min_size=1, max_size=8).map(lambda values: np.sort(np.array(values)))


def streams(count, noise, seed, *, there=True):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        stream = noise * rng.standard_normal(40)
        if there:
            stream[15:20] += PATTERN
        made.append(stream)
    return made


def nearest(stream):
    n = len(stream)
    return min(
        elastic.dtw(PATTERN[:, None], stream[a:b, None]) for a in range(n) for b in range(a + 3, min(n, a + 10) + 1)
    )


def test_an_example_counts_by_its_nearest_stretch():
    examples = [example[10:24] for example in streams(3, 0.3, 0)]
    spring = tl.align.Spring(PATTERN).calibrate(examples)
    expected = sorted(nearest(example) for example in examples)
    np.testing.assert_allclose(spring.calibration_.examples, expected, rtol=1e-12)
    assert spring.threshold == spring.calibration_.examples[-1]
    assert spring.calibration_.n_missed == 0


def test_what_it_learned_finds_the_pattern_and_nothing_else():
    spring = tl.align.Spring(PATTERN).calibrate(streams(10, 0.2, 0), streams(10, 0.2, 1, there=False))
    assert (spring.calibration_.n_missed, spring.calibration_.n_false_alarms) == (0, 0)
    for stream in streams(10, 0.2, 2):
        watched = tl.align.Spring(PATTERN, threshold=spring.threshold)
        (match,) = watched.extend(stream) + watched.flush()
        assert match.start < 18 < match.stop + 2
    for stream in streams(10, 0.2, 3, there=False):
        watched = tl.align.Spring(PATTERN, threshold=spring.threshold)
        assert watched.extend(stream) + watched.flush() == []


@settings(max_examples=200)
@given(numbers, numbers)
def test_no_threshold_makes_fewer_errors(examples, background):
    def errors(threshold):
        return (examples > threshold).sum() + (background <= threshold).sum()

    chosen = spring_thresholds.threshold_between(examples, background)
    assert chosen >= 0
    assert errors(chosen) <= min(errors(threshold) for threshold in np.arange(0, 14, 0.25))


def test_a_threshold_lies_in_the_middle_of_its_gap():
    assert spring_thresholds.threshold_between(np.array([1.0, 2.0]), np.array([10.0])) == 6.0
    # one error in 1 … 3 and in 6 … 9, of which the wider is taken; then in 1 … 5 and in 6 … 6.5
    assert spring_thresholds.threshold_between(np.array([1.0, 6.0]), np.array([3.0, 9.0])) == 7.5
    assert spring_thresholds.threshold_between(np.array([1.0, 6.0]), np.array([5.0, 6.5])) == 3.0
    close = np.nextafter(2.0, 3.0)
    assert spring_thresholds.threshold_between(np.array([2.0]), np.array([close])) == 2.0


def test_a_new_example_is_missed_no_more_often_than_was_promised():
    rng = np.random.default_rng(0)
    missed = []
    for _ in range(2000):
        draws = rng.exponential(size=21)
        missed.append(draws[-1] > spring_thresholds.threshold_from_examples(np.sort(draws[:-1]), 0.2))
    assert abs(np.mean(missed) - 4 / 21) < 4 * np.sqrt(0.2 * 0.8 / 2000)  # ⌊0.2 · 21⌋ of 21 places


def test_too_few_examples_for_a_promise_are_refused_with_how_many_it_takes():
    examples = streams(4, 0.1, 0)
    with pytest.raises(
        ValueError, match=r"misses=0.05 cannot be promised by 4 examples: give at least 19, or misses >= 0.2"
    ):
        tl.align.Spring(PATTERN).calibrate(examples, misses=0.05)
    assert tl.align.Spring(PATTERN).calibrate(examples, misses=0.2).calibration_.n_missed == 0
    assert tl.align.Spring(PATTERN).calibrate(streams(19, 0.1, 0), misses=0.05).threshold > 0


def test_with_misses_the_background_is_only_counted():
    examples, background = streams(9, 0.5, 0), streams(5, 2.0, 1, there=False)
    alone = tl.align.Spring(PATTERN).calibrate(examples, misses=0.3)
    both = tl.align.Spring(PATTERN).calibrate(examples, background, misses=0.3)
    assert both.threshold == alone.threshold
    found = tl.align.Spring(PATTERN, threshold=alone.threshold).search(background)
    assert both.calibration_.n_false_alarms == len(found)
    plain = tl.align.Spring(PATTERN, lengths=None).calibrate(examples, background, misses=0.3)
    every = [match for one in background for match in tl.subsequence(PATTERN, one, 40, max_distance=plain.threshold)]
    assert plain.calibration_.n_false_alarms == len(every)


def test_a_threshold_that_misses_its_own_examples_says_so():
    noise = streams(6, 1.5, 1, there=False)
    with pytest.warns(UserWarning, match=r"misses \d of its 6 examples, .* try normalize=True or another query"):
        spring = tl.align.Spring(PATTERN).calibrate(streams(6, 1.5, 0), noise)
    assert spring.calibration_.n_missed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.align.Spring(PATTERN).calibrate(streams(9, 0.5, 0), noise, misses=0.3)  # as many as were allowed
        tl.align.Spring(PATTERN).calibrate(streams(6, 1.5, 0))


def test_channels_and_other_costs_are_calibrated_too():
    query = np.random.default_rng(0).standard_normal((4, 2))
    spring = tl.align.Spring(query, cost="manhattan").calibrate([query, query + 0.1])
    assert spring.threshold == pytest.approx(0.8, rel=1e-9)


@pytest.mark.parametrize(
    ("examples", "background", "options", "words"),
    [
        (tl.Sequences([[1.0]])[:0], None, {}, "examples holds no sequences"),
        ([[0.0, np.nan]], None, {}, "examples: sequence 0 is missing"),
        ([np.zeros((3, 2))], None, {}, r"examples has frames of shape \(2,\): expected \(1,\)"),
        ([[0.0] * 3], [np.zeros((3, 2))], {}, r"background has frames of shape \(2,\)"),
        ([[0.0] * 3, [0.0] * 2], None, {}, r"examples: sequence 1 has 2 samples, and a match has at least 3"),
        ([[0.0]], None, {"misses": 0.0}, "misses=0.0: expected a share between 0 and 1"),
        ([[0.0]], None, {"misses": 2}, "misses=2: expected a finite number"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(examples, background, options, words):
    spring = tl.align.Spring(PATTERN)
    with pytest.raises(ValueError, match=words):
        spring.calibrate(examples, background, **options)
    assert spring.threshold is None


def test_without_a_threshold_nothing_is_watched_for_and_later_it_does_not_change():
    spring = tl.align.Spring(PATTERN)
    assert "threshold=None" in repr(spring)
    with pytest.raises(ValueError, match=r"threshold is not known: .*calibrate\(examples\) first"):
        spring.push(0.0)
    spring.calibrate([PATTERN]).push(0.0)
    with pytest.raises(ValueError, match="calibrate before the first sample: 1 have been seen"):
        spring.calibrate([PATTERN])

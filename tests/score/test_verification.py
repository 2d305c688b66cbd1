"""Equal error rates: the naive definition and scikit-learn's curve as independent checks, ties, intervals, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_curve

from naive import error_rates
from timelike import score


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=30))
def test_the_equal_error_rate_is_that_of_the_definition_ties_included(pairs):
    distances, same = zip(*pairs, strict=True)
    if len(set(same)) < 2:
        return
    found = score.equal_error_rate(np.array(distances, float), same)
    assert found == pytest.approx(error_rates.equal_error_rate(distances, same), abs=1e-12)


def test_errors_are_those_of_scikit_learns_curve():
    rng = np.random.default_rng(0)
    distances, same = rng.integers(0, 20, 300).astype(float), rng.random(300) < 0.3
    found = score.verification_errors(distances, same)
    accepts, hits, thresholds = roc_curve(same, -distances, drop_intermediate=False)
    np.testing.assert_allclose(found.false_accepts, accepts)
    np.testing.assert_allclose(1 - found.false_rejects, hits, atol=1e-12)
    np.testing.assert_array_equal(found.thresholds, -thresholds)


def test_two_normal_distributions_have_the_rate_of_the_formula():
    rng = np.random.default_rng(0)
    distances = np.concatenate([rng.normal(0, 1, 40_000), rng.normal(2, 1, 60_000)])
    found = score.equal_error_rate(distances, np.arange(100_000) < 40_000)
    assert found == pytest.approx(norm.cdf(-1), abs=0.003)


def test_the_rate_does_not_depend_on_the_scale_or_the_order_of_distances():
    rng = np.random.default_rng(1)
    distances, same, order = rng.random(50), rng.random(50) < 0.5, rng.permutation(50)
    expected = score.equal_error_rate(distances, same)
    assert score.equal_error_rate(np.exp(3 * distances), same) == pytest.approx(expected, abs=1e-12)
    assert score.equal_error_rate(distances[order], same[order]) == pytest.approx(expected, abs=1e-12)


def test_weights_count_pairs_as_if_they_were_repeated():
    rng = np.random.default_rng(2)
    distances, same, times = rng.integers(0, 5, 20).astype(float), np.arange(20) % 2 == 0, rng.integers(1, 4, 20)
    repeated = score.equal_error_rate(np.repeat(distances, times), np.repeat(same, times))
    assert score.equal_error_rate(distances, same, weights=times) == pytest.approx(repeated, abs=1e-12)


def test_resampled_rates_are_those_of_collections_in_which_items_are_repeated():
    rng = np.random.default_rng(3)
    points, labels = rng.normal(0, 1, (12, 2)), np.arange(12) % 3
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    found = score.resampled_error_rates(matrix, labels, n_resamples=5, random_state=7)
    draws = np.random.default_rng(7)
    for rate in found:
        times = np.bincount(draws.integers(12, size=12), minlength=12)
        pairs = [(i, j) for i in range(12) for j in range(i + 1, 12) for _ in range(times[i] * times[j])]
        distances, same = zip(*((matrix[i, j], labels[i] == labels[j]) for i, j in pairs), strict=True)
        assert rate == pytest.approx(error_rates.equal_error_rate(distances, same), abs=1e-12)


def test_the_interval_holds_the_true_rate_about_as_often_as_it_says():
    rng, hits = np.random.default_rng(4), 0
    labels = np.repeat(np.arange(2), 25)
    kind = rng.integers(2, size=(2, 200_000))
    first, second = (1.5 * kind[i] + rng.normal(0, 1, 200_000) for i in range(2))
    truth = score.equal_error_rate(abs(first - second), kind[0] == kind[1])
    for _ in range(40):
        points = 1.5 * labels + rng.normal(0, 1, 50)
        found = score.equal_error_interval(
            abs(points[:, None] - points), labels, n_resamples=100, random_state=int(rng.integers(1000))
        )
        hits += found.low <= truth <= found.high
    assert hits >= 32


def test_groups_are_drawn_whole_and_make_the_interval_wider():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(10), 6)
    labels = groups % 2
    points = 1.0 * labels + np.repeat(rng.normal(0, 1, 10), 6) + 0.01 * rng.normal(0, 1, 60)
    matrix = abs(points[:, None] - points)
    alone = score.equal_error_interval(matrix, labels, n_resamples=200, random_state=0)
    whole = score.equal_error_interval(matrix, labels, groups=groups, n_resamples=200, random_state=0)
    assert whole.half > 1.3 * alone.half


@pytest.mark.parametrize(
    ("distances", "same", "words"),
    [
        ([1.0, 2.0], [True, True], "no pair is of two classes"),
        ([1.0, 2.0], [False, False], "no pair is of one class"),
        ([1.0, np.nan], [True, False], r"distances\[1\] is nan"),
        ([[1.0, 2.0]], [[True, False]], "expected \\(pair,\\)"),
        ([1.0, 2.0], [True], "expected \\(pair,\\)"),
    ],
)
def test_what_has_no_equal_error_rate_is_refused(distances, same, words):
    with pytest.raises(ValueError, match=words):
        score.equal_error_rate(distances, same)


def test_infinite_distances_are_accepted_last():
    assert score.equal_error_rate([0.0, np.inf], [True, False]) == 0.0

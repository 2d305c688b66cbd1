"""Equal error rates: the naive definition and scikit-learn's curve as independent checks, ties, intervals, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score, roc_curve

from naive import error_rates, intervals
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
    assert whole.half_width > 1.3 * alone.half_width


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


# --- area, cost, thresholds ------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=30),
    st.floats(0.01, 0.99),
    st.floats(0.1, 10.0),
)
def test_the_minimum_cost_is_that_of_the_best_threshold_over_deciding_blindly(pairs, prior, reject_cost):
    distances, same = (np.array(side) for side in zip(*pairs, strict=True))
    if len(set(same.tolist())) < 2:
        return
    thresholds = [-1.0, *distances]
    costs = [
        reject_cost * prior * (distances[same] > t).mean() + 2.0 * (1 - prior) * (distances[~same] <= t).mean()
        for t in thresholds
    ]
    expected = min(costs) / min(reject_cost * prior, 2.0 * (1 - prior))
    options = {"prior": prior, "reject_cost": reject_cost, "accept_cost": 2.0}
    assert score.minimum_cost(distances, same, **options) == pytest.approx(expected, abs=1e-12)
    found = score.verification_errors(distances, same)
    best = found.minimum_cost_threshold(**options)
    accepts, rejects = found.error_rates(best)
    assert (accepts, rejects) == pytest.approx(((distances[~same] <= best).mean(), (distances[same] > best).mean()))


def test_distances_that_say_nothing_cost_as_much_as_deciding_blindly():
    same = np.arange(40) % 4 == 0
    for prior in (0.01, 0.5, 0.99):
        assert score.minimum_cost(np.ones(40), same, prior=prior) == pytest.approx(1.0)
        assert score.minimum_cost(1.0 * same, ~same, prior=prior) == 0.0


def test_the_area_is_that_of_scikit_learn_ties_included():
    rng = np.random.default_rng(6)
    distances, same = rng.integers(0, 8, 200).astype(float), rng.random(200) < 0.4
    assert score.verification_errors(distances, same).area == pytest.approx(roc_auc_score(same, -distances), abs=1e-12)


@pytest.mark.parametrize("allowed", [0.0, 0.1, 0.25, 1.0])
def test_a_threshold_accepts_as_much_as_is_allowed_and_the_next_one_too_much(allowed):
    rng = np.random.default_rng(7)
    distances, same = rng.integers(0, 9, 60).astype(float), np.arange(60) % 2 == 0
    threshold = score.verification_errors(distances, same).threshold(allowed)
    assert (distances[~same] <= threshold).mean() <= allowed
    larger = distances[distances > threshold]
    assert not len(larger) or (distances[~same] <= larger.min()).mean() > allowed


def test_where_nothing_may_be_accepted_the_threshold_is_minus_infinity():
    assert score.verification_errors([1.0, 1.0, 2.0], [True, False, True]).threshold(0.0) == -np.inf


def test_rejects_between_two_thresholds_lie_on_the_line():
    found = score.verification_errors([1.0, 1.0, 2.0, 2.0], [True, False, True, False])
    np.testing.assert_allclose(found.false_reject_rates([0.0, 0.25, 0.5, 1.0]), [1.0, 0.75, 0.5, 0.0])
    upright = score.verification_errors([1.0, 2.0], [True, False])
    np.testing.assert_allclose(upright.false_reject_rates([0.0, 0.5]), [0.0, 0.0])


# --- subjects --------------------------------------------------------------------------------------------------------


def test_any_number_is_resampled_as_if_subjects_were_repeated():
    rng = np.random.default_rng(8)
    subjects = rng.integers(6, size=(40, 2))
    distances, same = rng.integers(0, 9, 40).astype(float), subjects[:, 0] == subjects[:, 1]
    found = score.resampled_errors(
        distances, same, subjects, lambda e: [e.minimum_cost(0.2), e.area], n_resamples=6, random_state=3
    )
    draws = np.random.default_rng(3)
    for cost, area in found:
        while True:  # draws with pairs of one kind are left out
            times = np.bincount(draws.integers(6, size=6), minlength=6)[subjects].prod(axis=1)
            if times[same].any() and times[~same].any():
                break
        repeated, kind = np.repeat(distances, times), np.repeat(same, times)
        assert cost == pytest.approx(score.minimum_cost(repeated, kind, prior=0.2), abs=1e-12)
        assert area == pytest.approx(roc_auc_score(kind, -repeated), abs=1e-12)


def test_intervals_of_the_minimum_cost_are_quantiles_of_the_draws_around_the_cost_itself():
    rng = np.random.default_rng(9)
    groups = np.repeat(np.arange(8), 4)
    points = np.repeat(rng.normal(0, 2, 8), 4) + rng.normal(0, 1, 32)
    matrix = abs(points[:, None] - points)
    found = score.minimum_cost_interval(matrix, groups, prior=0.1, groups=groups, n_resamples=100, random_state=1)
    distances, same, pairs = score.item_pairs(matrix, groups)
    draws = score.resampled_errors(
        distances, same, groups[np.stack(pairs, axis=1)], lambda e: e.minimum_cost(0.1), n_resamples=100, random_state=1
    )
    assert found.mean == score.minimum_cost(distances, same, prior=0.1)
    least = intervals.wilson(found.mean, 8, variance=draws.var())
    low, high = np.quantile(draws, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((min(low, least[0]), max(high, least[1])))
    rate = score.errors_interval(matrix, groups, groups=groups, n_resamples=50, random_state=1)
    assert rate == score.equal_error_interval(matrix, groups, groups=groups, n_resamples=50, random_state=1)


def test_no_interval_is_narrower_than_its_number_of_items_allows():
    points = np.r_[np.linspace(0, 1, 10), np.linspace(9, 10, 10)]
    matrix, labels = abs(points[:, None] - points), np.repeat([0, 1], 10)
    for found in (score.equal_error_interval(matrix, labels), score.minimum_cost_interval(matrix, labels)):
        assert (found.mean, found.low, found.high) == pytest.approx((0.0, *intervals.wilson(0.0, 20)), abs=1e-9)
    rates, low, high = score.error_band(matrix, labels, n_resamples=20)
    np.testing.assert_allclose(high[rates < 1], intervals.wilson(0.0, 20)[1])
    assert low.max() == 0


def test_the_interval_of_a_distance_does_not_depend_on_its_unit():
    rng = np.random.default_rng(2)
    labels = np.arange(40) % 4
    points = labels + rng.normal(0, 0.5, 40)
    matrix = abs(points[:, None] - points)

    def found(unit):
        given = {"n_resamples": 60, "random_state": 0, "shares": False}
        one = score.errors_interval(unit * matrix, labels, lambda errors: errors.threshold(0.2), **given)
        return np.array([one.mean, one.low, one.high]) / unit

    np.testing.assert_allclose(found(0.1), found(1000.0))
    with pytest.raises(
        ValueError, match=r"statistic gives .* and shares=True: expected numbers from 0 to 1; use shares"
    ):
        score.errors_interval(1000 * matrix, labels, lambda errors: errors.threshold(0.2), random_state=0)


def test_the_curve_itself_lies_in_its_band():
    rng = np.random.default_rng(10)
    labels = np.arange(60) % 3
    points = labels + rng.normal(0, 1, 60)
    matrix = abs(points[:, None] - points)
    rates, low, high = score.error_band(matrix, labels, random_state=0)
    curve = score.verification_errors(*score.item_pairs(matrix, labels)[:2]).false_reject_rates(rates)
    assert ((low <= curve) & (curve <= high)).mean() > 0.95
    assert (low < high).any()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.minimum_cost(0.0), "prior=0.0: expected"),
        (lambda e: e.minimum_cost(1.0), "prior=1.0: expected the fraction of genuine pairs, between 0 and 1"),
        (lambda e: e.minimum_cost(0.1, reject_cost=0), "reject_cost=0"),
        (lambda e: e.threshold(1.5), "false_accept=1.5"),
        (lambda e: e.error_rates(np.nan), "threshold is nan"),
        (lambda e: e.plot("cet"), "kind='cet': expected one of 'det', 'roc'"),
        (lambda e: score.resampled_errors([1.0, 2.0], [True, False], ["a", "b"]), r"expected \(pair, 2\)"),
    ],
)
def test_what_has_no_cost_threshold_or_curve_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call(score.verification_errors([1.0, 2.0], [True, False]))

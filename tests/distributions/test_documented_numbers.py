"""Numbers that docstrings and pages promise, typed here once more, and what happens just below and above them."""

import math
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import timelike as tl
from timelike import distributions
from timelike.distributions import RBF, Drift, FunctionDiscriminator, differences, power
from timelike.distributions.discrepancy.mmd import estimate_mmd
from timelike.distributions.drift.batch_test import run_permutation_test
from timelike.distributions.drift.evidence import Evidence, start_weights
from timelike.distributions.drift.pool import ReferencePool
from timelike.distributions.kernels.radial import median_distance, sample_width_items
from timelike.distributions.two_sample import samples, statistic
from timelike.distributions.two_sample.differences import _outlier_fence
from timelike.distributions.two_sample.estimator import _permutation_notes
from timelike.distributions.two_sample.permutations import exchangeable_units
from timelike.distributions.two_sample.power import _min_units
from timelike.distributions.two_sample.statistic import MaxStatistic


def test_bets_have_the_five_powers_and_the_hazard_of_decision_0041():
    s = np.arange(1, 6)
    weights = 0.5 * 0.01 * 0.99 ** (s - 1) + 0.5 / (s * (s + 1))
    np.testing.assert_allclose(start_weights(5), weights, rtol=1e-12)
    p_values = [0.4, 0.003, 0.02, 0.7, 0.0001]
    capital = np.zeros(5)
    for u, weight in zip(p_values, weights, strict=True):
        powers = np.array([0.05, 0.1, 0.2, 0.4, 0.7])
        capital = (capital + weight) * powers * u ** (powers - 1)
    expected = capital.mean() + 1 - weights.sum()
    assert Evidence([u] for u in p_values).value == pytest.approx(expected, rel=1e-12)


def test_the_median_of_distances_is_of_a_thousand_items_at_most():
    rng = np.random.default_rng(0)
    assert len(np.arange(1000)[sample_width_items(1000, rng)]) == 1000
    drawn = np.arange(1500)[sample_width_items(1500, rng)]
    assert len(np.unique(drawn)) == len(drawn) == 1000
    assert drawn.max() > 1200  # and not the first ones
    points = np.array([0.0, 1.0, 3.0])
    assert median_distance(np.abs(np.subtract.outer(points, points))) == 2.0


def test_permutations_of_a_batch_stop_when_twenty_were_as_large():
    rng = np.random.default_rng(0)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((30, 2))
        found = run_permutation_test(RBF(width=1.0)(x)[None], np.arange(30), np.arange(30) < 8, 5000, rng)
        draws = 20 / found.p_value
        assert draws == pytest.approx(round(draws), abs=1e-6)
        assert 20 <= draws < 5000
        assert found.smoothed_p_value == found.p_value  # which is not smoothed then


@pytest.mark.parametrize("n_permutations", [68, 69, 5000])
def test_permutations_of_a_batch_are_all_tried_where_there_are_no_more_than_asked_for(n_permutations):
    """Four of eight can be chosen in 70 ways: 69 beside the observed one."""
    rng = np.random.default_rng(0)
    matrix = RBF(width=1.0)(np.random.default_rng(3).standard_normal((8, 2)))
    found = run_permutation_test(matrix[None], np.arange(8), np.arange(8) < 4, n_permutations, rng)

    def statistic(ours):
        theirs = [i for i in range(8) if i not in ours]
        within = [np.mean([matrix[i, j] for i in side for j in side if i != j]) for side in (ours, theirs)]
        return sum(within) - 2 * matrix[np.ix_(ours, theirs)].mean()

    every = np.array([statistic(list(ours)) for ours in combinations(range(8), 4)])
    as_large = int((every >= every[0] - 1e-12).sum())
    assert as_large > 30  # so that twenty of 68 are
    if n_permutations == 68:
        assert 20 / found.p_value == pytest.approx(round(20 / found.p_value))
        assert found.smoothed_p_value == found.p_value
    else:
        assert found.p_value == pytest.approx(as_large / 70)
        assert found.smoothed_p_value < found.p_value


def test_the_ten_most_unlike_sequences_are_named_the_most_unlike_first():
    x, y = np.random.default_rng(0).standard_normal((2, 25, 2))
    found = differences(x, y + 1.0, RBF(width=1.0), n_permutations=19, random_state=0).sequences
    assert len(found) == 10
    witness = [one.witness for one in found]
    assert witness == sorted(witness)
    matrix = RBF(width=1.0)
    exact = matrix(y + 1.0, x).mean(axis=1) - (matrix(y + 1.0).sum(axis=1) - 1) / 24
    np.testing.assert_allclose(witness, np.sort(exact)[:10], rtol=1e-9)


def test_what_is_unlike_anything_lies_beyond_three_quartile_ranges_or_half_of_the_least():
    typical_ones = np.array([10.0, 11.0, 12.0, 13.0, 14.0])  # quartiles 11 and 13
    assert _outlier_fence(typical_ones) == 5.0  # 11 − 3 · 2, and half of the least
    assert _outlier_fence(np.array([10.0, 10.5, 11.0, 11.5, 12.0])) == 10.5 - 3 * 1.0
    assert _outlier_fence(np.array([1.0, 11.0, 12.0, 13.0, 14.0])) == 1.0  # nothing typical is unlike itself
    assert _outlier_fence(np.array([-1.0, 0.0, 1.0, 2.0, 3.0])) == 0.0 - 3 * 2.0


@pytest.mark.parametrize(("level", "fewest"), [(0.05, 4), (0.01, 5), (0.2, 3), (2 / 6, 2), (2 / 70, 4)])
def test_the_fewest_units_are_those_whose_allocations_reach_the_level(level, fewest):
    assert _min_units(level) == fewest
    assert 2 / math.comb(2 * fewest, fewest) <= level


@pytest.mark.learn
@pytest.mark.parametrize(("size", "far"), [(998.0, False), (1000.0, True)])
def test_a_flow_has_diverged_a_thousand_times_as_far_as_start_and_target_reach(size, far):
    start, real = np.array([[-1.0], [1.0]]), np.array([[0.0], [0.5]])  # they reach 1 from their middle

    def flowing():
        return distributions.descend(
            start, real, FunctionDiscriminator(lambda z: z.sum(1)), steps=1, step=size, scores={}
        )

    if far:
        with pytest.raises(
            distributions.FlowDiverged, match="moved 1e\\+03 away, and the extent of start and real is 1"
        ):
            flowing()
    else:
        moved = flowing().particles
        assert abs(moved[0, 0] - start[0, 0]) == pytest.approx(size)


@pytest.mark.learn
def test_a_flow_is_looked_at_about_fifty_times_unless_it_is_said_otherwise():
    start, real = np.random.default_rng(0).standard_normal((2, 5, 1))
    flow = distributions.descend(start, real, RBF(width=1.0), steps=200, step=0.1, scores={})
    assert np.diff(flow.frame_steps).tolist() == [4] * 50
    flow = distributions.descend(start, real, RBF(width=1.0), steps=7, step=0.1, scores={})
    assert flow.frame_steps.tolist() == list(range(8))
    flow = distributions.descend(start, real, RBF(width=1.0), steps=7, step=0.1, record_every=3, scores={})
    assert flow.frame_steps.tolist() == [0, 3, 6, 7]


def test_a_pool_of_as_many_units_as_the_memory_draws_nothing():
    pool = ReferencePool.from_reference(tl.Sequences(np.zeros((10, 1)), layout="nc"), np.arange(10), np.arange(10))
    rng = np.random.default_rng(0)
    assert pool.subsample(10, rng) is pool
    assert rng.random() == np.random.default_rng(0).random()
    assert pool.subsample(9, rng).compared.sum() == 9


def test_a_stream_looks_at_ten_windows_at_a_time_and_names_their_samples():
    rng = np.random.default_rng(0)
    drift = Drift(kernel=RBF(width=2.0), n_permutations=19, random_state=0).fit(rng.standard_normal((20, 4, 1)))
    stream = drift.stream(window=4)
    looks = [look for sample in rng.standard_normal(85) if (look := stream.push(sample)) is not None]
    assert [look.when for look in looks] == ["samples 0 to 40", "samples 40 to 80"]
    assert [batch["size"] for batch in drift.batches_] == [10, 10]
    assert stream.n_samples == 85


def test_the_error_of_a_planned_effect_has_what_groups_contribute_and_what_chance_does():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((12, 2)), rng.standard_normal((40, 2))
    matrix = RBF(width=1.0)(np.concatenate([x, y]))
    units = exchangeable_units(12, 40, None)
    first = estimate_mmd(matrix, 12, units.group_of)
    whole = statistic.statistic_from_matrix(matrix, units)
    chance = MaxStatistic((whole,)).deviations[0] ** 2
    found = power(x, y, RBF(width=1.0), random_state=0)
    expected = np.sqrt(first.x_variance / 12 + first.y_variance / 40 + chance)
    assert found.standard_error == pytest.approx(expected, rel=0.1)  # by a thousand permutations
    assert chance > 0.3 * expected**2  # so that it matters


def test_zero_has_one_code_whatever_its_sign():
    """0 and −0 are equal, so a copy with the sign lost is still a copy."""
    codes = samples._hash_steps(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]]))
    assert codes[0] == codes[1]
    assert codes[0] != codes[2]


def test_nineteen_permutations_are_enough_for_one_in_twenty():
    units = SimpleNamespace(smallest_p=0.001, n_allocations=10**6)
    assert _permutation_notes(units, 19) == []
    assert _permutation_notes(units, 18) == ["with 18 permutations p is at least 0.0526"]

"""The naive references of distributions against numbers worked out by hand."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

from naive import kernels, two_sample as naive

NEAR, FAR = [0.0, 0.0], [3.0, 4.0]  # five apart


def product(a, b):
    return a * b


def apart(a, b):
    return abs(a - b)


@pytest.mark.parametrize(
    ("value", "by_hand"),
    [
        (kernels.rbf(NEAR, FAR, width=5), math.exp(-0.5)),
        (kernels.laplace(NEAR, FAR, width=5), math.exp(-1)),
        (kernels.laplace(NEAR, FAR, width=2.5), math.exp(-2)),
        (kernels.matern(NEAR, FAR, width=5, smoothness=0.5), math.exp(-1)),
        (kernels.matern(NEAR, FAR, width=5, smoothness=1.5), 0.4833577245),
        (kernels.matern(NEAR, FAR, width=5, smoothness=2.5), 0.5239941088),
        (kernels.rational_quadratic(NEAR, FAR, width=5, alpha=1), 2 / 3),
        (kernels.rational_quadratic(NEAR, FAR, width=5, alpha=2), 0.64),
        (kernels.linear([1, 2], FAR, offset=2), 13),
        (kernels.polynomial([1, 2], FAR, degree=2), 42.25),
        (kernels.polynomial([1, 2], FAR, degree=3, scale=1, offset=-1), 1000),
        (kernels.negative_distance(NEAR, FAR), -5),
        (kernels.negative_distance(NEAR, FAR, lambda x, y: 7), -7),
        (kernels.exponential(NEAR, FAR, kernels.euclidean, gamma=0.2), math.exp(-1)),
    ],
)
def test_a_kernel_has_the_value_its_formula_gives_by_hand(value, by_hand):
    assert value == pytest.approx(by_hand, rel=1e-9)


def test_frames_are_compared_as_one_long_vector():
    assert kernels.euclidean([[0, 0], [0, 0]], [[1, 1], [1, 1]]) == 2


def test_a_matrix_has_a_row_for_each_x_and_a_column_for_each_y():
    found = kernels.matrix(kernels.linear, [[1], [2]], [[1], [10], [100]], offset=1)
    assert found.tolist() == [[2, 11, 101], [3, 21, 201]]


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_global_alignment_of_two_frames_and_one_counts_the_three_paths_of_the_two_with_themselves(gamma):
    assert kernels.global_alignment([0, 0], [1], gamma) == pytest.approx(math.exp(-2 / gamma) / math.sqrt(3))
    assert kernels.global_alignment([[0]], [[2]], gamma) == pytest.approx(math.exp(-4 / gamma))
    assert kernels.global_alignment([0, 1, 5], [0, 1, 5], gamma) == 1


@pytest.mark.parametrize(
    ("items", "by_hand"),
    [([0, 1, 3], 2), ([0, 1, 3, 7], 3.5), ([0, 0, 0, 6], 3), ([0, 0, 0, 0, 10], 4), ([2, 2, 2], 1), ([2], 1)],
)
def test_the_width_is_the_median_then_the_mean_then_one(items, by_hand):
    assert kernels.median_width(items) == by_hand


def test_the_width_may_be_of_another_distance():
    assert kernels.median_width(["a", "abc", "abcdefg"], lambda x, y: abs(len(x) - len(y))) == 4


X, Y = [0, 2, 1, 1, 9], [1, 5, 2, 2]


@pytest.mark.parametrize(
    ("value", "by_hand"),
    [
        (naive.biased([0, 2], [1, 5], product), 4),  # the squared difference of the means
        (naive.unbiased([0, 2], [1, 5], product), -1),
        (naive.unbiased([0, 2, 4], [1, 5], product), 8 / 3 + 5 - 12),
        (naive.linear([0, 2], [1, 5], product), 3),
        (naive.linear(X, Y, product), 2),
        (naive.block(X, Y, product), 0),
        (naive.block(X, Y, product, size=2), 0),
        (naive.block(X, Y, product, size=3), 2 / 3 + 17 / 3 - 2 * 8 / 3),
        (naive.witness([0, 2], [1, 5], product, 2), -4),
        (naive.energy([0, 2], [1, 5], apart), 2),
        (naive.energy([0, 2], [1, 5], apart, diagonal=False), -1),
        (naive.first_order_variance([0, 1, 2], [0, 0, 3], product), 2 / 9),
    ],
)
def test_a_discrepancy_has_the_value_its_formula_gives_by_hand(value, by_hand):
    assert value == pytest.approx(by_hand, abs=1e-14)


@pytest.mark.parametrize(("count", "size"), [(2, 2), (8, 2), (9, 3), (17, 4)])
def test_a_block_is_as_long_as_the_root_of_the_shorter_sample(count, size):
    x, y = list(range(count)), [i**2 for i in range(count + 5)]
    assert naive.block(x, y, product) == naive.block(x, y, product, size)


def test_the_discrepancy_of_negative_distances_is_the_energy():
    x, y = [[0, 1], [2, 3], [5, 1]], [[1, 1], [4, 4]]
    for estimator, diagonal in ((naive.biased, True), (naive.unbiased, False)):
        found = estimator(x, y, kernels.negative_distance)
        assert found == pytest.approx(naive.energy(x, y, diagonal=diagonal))


OUTER = np.outer([0, 0, 1, 1], [0, 0, 1, 1])
HALVES = [True, True, False, False]


def test_a_statistic_is_a_fraction_of_the_matrix_re_indexed():
    assert naive.statistic(OUTER, HALVES, naive.biased) == 1
    assert naive.statistic(OUTER, [True, False, True, False], naive.biased) == 0
    found = naive.statistic(np.diag([1, 2, 4]), [True, False, False], naive.biased)
    assert found == 1 + Fraction(6, 4)
    assert isinstance(found, Fraction)
    assert naive.statistics_of(OUTER, [HALVES, [False, True, False, True]], naive.unbiased) == [1, Fraction(-1, 2)]


def test_the_order_of_items_counts_where_the_estimator_pairs_neighbours():
    table = np.outer([0, 2, 1, 5], [0, 2, 1, 5])
    assert naive.statistic(table, HALVES, naive.linear) == 3
    assert naive.statistic(table, [True, False, True, False], naive.linear) == 10 - 2


def test_two_samples_that_change_places_tie_exactly():
    table = np.random.default_rng(0).normal(size=(6, 6))
    table = table + table.T
    in_x = [True, False, True, True, False, False]
    for estimator in (naive.biased, naive.unbiased):
        assert naive.statistic(table, in_x, estimator) == naive.statistic(table, [not x for x in in_x], estimator)


def test_the_observed_p_value_counts_itself_and_ties():
    assert naive.p_value(2, [1, 2, 3, 0]) == Fraction(3, 5)
    assert naive.p_value(9, [1, 2, 3, 0]) == Fraction(1, 5)


def test_items_are_dealt_out_in_every_way():
    found = naive.allocations([True, True, False, False, False])
    chosen = {tuple(i for i in range(5) if in_x[i]) for in_x in found}
    assert found[0] == [True, True, False, False, False]
    assert len(found) == 10
    assert chosen == set(itertools.combinations(range(5), 2))


def drawn(in_x, groups):
    return ["".join("y x"[2 * x] for x in one) for one in naive.allocations([s == "x" for s in in_x], groups)]


def test_whole_groups_are_dealt_out_as_many_to_x_as_it_has():
    assert drawn("xxyyy", "aabcc")[0] == "xxyyy"
    assert sorted(drawn("xxyyy", "aabcc")) == ["xxyyy", "yyxyy", "yyyxx"]


def test_the_parts_of_a_group_on_both_sides_change_places():
    assert drawn("xxyyy", "abbba")[0] == "xxyyy"
    assert sorted(drawn("xxyyy", "abbba")) == sorted(["xxyyy", "yxyyx", "xyxxy", "yyxxx"])


def test_groups_on_both_sides_and_on_one_are_exchanged_each_in_their_own_way():
    found = drawn("xxyyyy", "abacdd")  # a on both sides, b in X, c and d in Y
    assert found[0] == "xxyyyy"
    assert sorted(found) == sorted(["xxyyyy", "xyyxyy", "xyyyxx", "yxxyyy", "yyxxyy", "yyxyxx"])


def test_the_enumerated_p_value_is_the_share_of_allocations():
    assert naive.enumerated_p_value(OUTER, HALVES, estimator=naive.biased) == Fraction(2, 6)
    assert naive.enumerated_p_value(OUTER, HALVES, "abab", naive.biased) == Fraction(2, 4)
    assert naive.enumerated_p_value(OUTER, HALVES, "abac", naive.biased) == Fraction(2, 4)
    assert naive.enumerated_p_value(OUTER, HALVES, "aabb", naive.biased) == 1


def test_as_many_exceedances_are_enough_as_the_level_says_in_decimals():
    assert naive.enough(0.05, 999) == 50
    assert naive.enough(0.29, 99) == 29  # in floats 0.29 · 100 is below 29
    assert naive.enough(0.05, 10) == 0


def test_a_sequential_p_value_stops_at_the_last_exceedance_it_needs():
    assert naive.sequential_p_value(2, [1, 3, 2, 0, 5], h=2) == (Fraction(2, 3), 3)
    assert naive.sequential_p_value(2, [1, 3, 2, 0, 0], h=4) == (Fraction(1, 2), 5)
    assert naive.sequential_p_value(2, [1, 3, 2, 0, 0], h=0) == (Fraction(1, 2), 5)


def test_a_sequential_p_value_is_exact_at_every_value_it_takes():
    found = [naive.sequential_p_value(one[0], one[1:], h=2)[0] for one in itertools.permutations(range(6))]
    for level in set(found):
        assert Fraction(sum(p <= level for p in found), len(found)) == level


@pytest.mark.parametrize(
    ("table", "by_hand"),
    [
        ([[3, 0], [1, 1], [2, 2], [0, 3]], Fraction(1, 2)),
        ([[3, 3], [1, 1], [2, 2], [0, 0]], Fraction(1, 4)),
        ([[1, 1], [1, 0], [0, 1]], 1),
        ([[2], [1], [2], [3], [0]], Fraction(3, 5)),
    ],
)
def test_an_aggregated_p_value_is_the_rank_of_the_least(table, by_hand):
    assert naive.aggregated_p_value(table) == by_hand


def test_a_smoothed_p_value_breaks_ties_by_one_number():
    assert naive.smoothed_p_value(2, [1, 2, 3, 2], theta=0.5) == 0.5
    assert naive.smoothed_p_value(2, [1, 2, 3, 2], theta=0) == 0.2
    assert naive.smoothed_p_value(2, [1, 2, 3, 2], theta=1) == 0.8  # the p-value that counts ties


def test_the_evidence_has_the_value_its_formula_gives_by_hand():
    u, weights = [1 / 16, 1 / 64], [1 / 2, 1 / 4, 1 / 8]
    assert naive.evidence([], weights, [1 / 2]) == 1
    assert naive.evidences(u, weights, [1 / 2]) == [1.5, 5.25]
    assert naive.evidences(u, weights, [1 / 2, 1]) == [1.25, 3.125]


def test_the_evidence_expected_after_the_next_look_is_the_evidence_now():
    seen, weights, powers = [0.3, 0.02], [0.5, 0.2, 0.1], [0.4, 0.7]
    after, _ = quad(lambda u: naive.evidence([*seen, u], weights, powers), 0, 1)
    assert after == pytest.approx(naive.evidence(seen, weights, powers), rel=1e-6)


LINE, SIGNS, FOLDS = [[0], [2], [3], [5]], [-1, 1, 1, -1], [0, 0, 1, 1]


def test_a_held_out_score_is_that_of_the_ridge_of_the_other_folds():
    assert naive.held_out_scores(LINE, SIGNS, FOLDS, 2) == [2, 1, 1, 2]
    assert naive.held_out_scores([[0], [2], [3]], [-1, 1, 1], [0, 0, 1], 2) == [1, 1, 1]


def test_centring_is_the_ridge_with_an_intercept_that_is_not_penalised():
    rng = np.random.default_rng(0)
    features, labels, folds = rng.normal(size=(9, 2)), [1, 1, 1, 1, 1, 1, -1, -1, -1], [0, 1, 2] * 3
    scores = naive.held_out_scores(features, labels, folds, 0.7)
    for fold in range(3):
        train = [i for i in range(9) if folds[i] != fold]
        wide = np.column_stack([features, np.ones(9)])
        rows = np.vstack([wide[train], math.sqrt(0.7) * np.eye(3)[:2]])
        weights = np.linalg.lstsq(rows, [*np.take(labels, train), 0, 0])[0]
        held = [i for i in range(9) if folds[i] == fold]
        np.testing.assert_allclose(np.take(scores, held), wide[held] @ weights)


def test_ties_count_half_in_the_area_under_the_curve():
    assert naive.auc([2, 1, 1, 2], SIGNS) == 0
    assert naive.auc([1, 1, 2], [1, -1, -1]) == Fraction(1, 4)
    assert naive.auc([3, 1, 2], [1, -1, -1]) == 1


def test_it_does_not_matter_which_sample_is_called_x_by_the_classifier():
    in_x = [True, False, True, False]
    found = naive.classifier_statistics(LINE, [in_x, [not x for x in in_x]], FOLDS, 2)
    assert found == [Fraction(3, 4)] * 2

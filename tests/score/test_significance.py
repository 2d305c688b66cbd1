"""Paired tests against scipy and plain enumeration; Holm against the definition; ranks against scipy."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from timelike import score


def test_accuracy_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, answer = rng.integers(0, 3, (2, 50))
    assert score.accuracy(truth, answer) == accuracy_score(truth, answer)
    with pytest.raises(TypeError, match="mix numbers and text"):
        score.accuracy([0, 1], ["0", "1"])
    with pytest.raises(ValueError, match=r"truth has shape \(2,\)"):
        score.accuracy([0, 1], [0])


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_is_the_binomial_test_of_what_only_one_has_right(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.random(40) < 0.8, rng.random(40) < 0.6
    only = int((a & ~b).sum())
    expected = stats.binomtest(only, only + int((b & ~a).sum())).pvalue
    assert score.mcnemar_test(a, b) == pytest.approx(expected)


def test_methods_that_are_right_on_the_same_items_do_not_differ():
    assert score.mcnemar_test([True, False], [True, False]) == 1.0


def test_permutation_comes_near_the_enumeration_of_all_signs():
    rng = np.random.default_rng(0)
    a, b = rng.random(9), rng.random(9)
    means = [abs(np.dot(signs, a - b)) for signs in product([-1, 1], repeat=9)]
    exact = np.mean([mean >= abs((a - b).sum()) - 1e-12 for mean in means])
    assert score.permutation_test(a, b, random_state=0) == pytest.approx(exact, abs=0.02)


def test_all_items_of_a_group_get_one_sign():
    differences, groups = np.repeat([0.3, -0.1, 0.2], 10), np.repeat([0, 1, 2], 10)
    found = score.permutation_test(differences, np.zeros(30), groups=groups, random_state=0)
    exact = np.mean([abs(np.dot(signs, [3, -1, 2])) >= 4 for signs in product([-1, 1], repeat=3)])
    assert found == pytest.approx(exact, abs=0.02)


def test_without_overlap_the_corrected_test_is_students():
    values = np.random.default_rng(1).normal(0.3, 1, 8)
    assert score.corrected_t_test(values, 0.0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_overlap_makes_the_test_more_careful_as_the_formula_says():
    values = np.random.default_rng(2).normal(0.5, 1, 5)
    t = values.mean() / (values.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4))
    assert score.corrected_t_test(values, 0.25) == pytest.approx(2 * stats.t.sf(abs(t), 4))
    assert score.corrected_t_test([0.0, 0.0], 0.25) == 1.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_differences_without_spread_are_as_certain_as_signs_can_make_them(scale):
    for k in (2, 5):
        rounded = scale * (0.3 - np.full(k, 0.1) + 1e-16 * np.arange(k))
        for given in (np.full(k, 0.1 * scale), np.full(k, -0.1 * scale), rounded):
            assert score.corrected_t_test(given, 0.25) == stats.binomtest(k, k).pvalue


def test_the_interval_over_folds_is_the_set_that_the_test_does_not_refuse():
    values = np.random.default_rng(3).normal(0.9, 0.02, 5)
    found = score.interval(values, overlap=0.25)
    for edge in (found.low, found.high):
        assert score.corrected_t_test(values - edge, 0.25) == pytest.approx(0.05)


def test_holm_refuses_what_the_step_down_procedure_refuses():
    rng = np.random.default_rng(4)
    for _ in range(50):
        p = rng.random(6) ** 3
        raised = score.holm_correction(p)
        refused = set()
        for step, i in enumerate(np.argsort(p)):  # the definition: stop at the first that is not small enough
            if p[i] > 0.05 / (6 - step):
                break
            refused.add(i)
        assert set(np.flatnonzero(raised <= 0.05)) == refused


def test_bootstrap_agrees_with_scipy_and_draws_groups_whole():
    values = np.random.default_rng(5).random(60)
    found = score.bootstrap(values, random_state=0)
    expected = stats.bootstrap((values,), np.mean, method="percentile", rng=0).confidence_interval
    assert found.low == pytest.approx(expected.low, abs=0.01)
    assert found.high == pytest.approx(expected.high, abs=0.01)
    copies = score.bootstrap(np.repeat(values, 5), groups=np.repeat(np.arange(60), 5), random_state=0)
    assert (copies.low, copies.high) == pytest.approx((found.low, found.high), rel=1e-12)
    assert score.bootstrap([1.0, np.nan, 1.0]).mean == 1.0


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_and_ranks_are_those_of_scipy(ties):
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 4, (10, 5)).astype(float) if ties else rng.random((10, 5))
    np.testing.assert_allclose(score.method_ranks(scores), [stats.rankdata(-row) for row in scores])
    np.testing.assert_allclose(
        score.method_ranks(scores, higher_is_better=False), [stats.rankdata(row) for row in scores]
    )
    expected = stats.friedmanchisquare(*scores.T)
    found = score.friedman_test(scores)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_have_the_quantiles_of_demsars_table(k, q):
    assert score.critical_difference(k, 30) == pytest.approx(q * np.sqrt(k * (k + 1) / 180), rel=1e-3)


def test_pairs_apart_are_those_of_scipys_wilcoxon_after_holm():
    rng = np.random.default_rng(7)
    scores = rng.random((12, 3)) + np.array([0.0, 0.1, 0.9])
    pairs = [(0, 1), (0, 2), (1, 2)]
    p = score.holm_correction([stats.wilcoxon(scores[:, i], scores[:, j]).pvalue for i, j in pairs])
    found = score.significant_pairs(scores)
    assert [bool(found[i, j]) for i, j in pairs] == (p < 0.05).tolist()
    assert found[0, 2]
    nemenyi = score.significant_pairs(scores, post_hoc="nemenyi")
    mean = score.method_ranks(scores).mean(axis=0)
    assert nemenyi[0, 2] == (abs(mean[0] - mean[2]) > score.critical_difference(3, 12))


def test_a_clique_holds_methods_of_which_no_two_differ():
    apart = np.zeros((4, 4), bool)
    apart[0, 2] = apart[2, 0] = apart[0, 3] = apart[3, 0] = True
    assert score.cliques([1.0, 2.0, 3.0, 4.0], apart) == [(0, 1), (1, 2, 3)]
    assert score.cliques([4.0, 3.0], np.ones((2, 2), bool)) == []


def test_a_table_with_holes_is_refused():
    with pytest.raises(ValueError, match=r"scores\[0, 1\] is nan"):
        score.method_ranks([[1.0, np.nan], [1.0, 2.0]])


def test_the_paired_bootstrap_draws_the_same_items_for_both():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    first, second = (np.where(rng.random(60) < share, truth, 1 - truth) for share in (0.9, 0.6))
    found = score.paired_bootstrap(score.macro_f1, truth, first, second, n_resamples=80, random_state=4)
    draws, apart = np.random.default_rng(4), []
    for _ in range(80):
        rows = draws.integers(60, size=60)
        one, other = (f1_score(truth[rows], side[rows], average="macro") for side in (first, second))
        apart.append(one - other)
    assert found.difference.mean == pytest.approx(
        f1_score(truth, first, average="macro") - f1_score(truth, second, average="macro")
    )
    assert (found.difference.low, found.difference.high) == pytest.approx(tuple(np.quantile(apart, [0.025, 0.975])))
    assert found.p_value == pytest.approx(2 * (1 + sum(d <= 0 for d in apart)) / 81)


def test_a_method_does_not_differ_from_itself_and_groups_count_whole():
    truth = np.arange(40) % 2
    answer = np.where(np.arange(40) < 30, truth, 1 - truth)
    assert score.paired_bootstrap(score.accuracy, truth, answer, answer, n_resamples=50).p_value == 1.0
    groups = np.repeat(np.arange(4), 10)  # the last of four is all wrong: each draw has a whole number of it
    found = score.paired_bootstrap(score.accuracy, truth, truth, answer, groups=groups, n_resamples=50, random_state=0)
    assert (found.difference.high * 4) % 1 == 0
    with pytest.raises(ValueError, match="the same items in all"):
        score.paired_bootstrap(score.accuracy, truth, truth, truth[1:])


def test_columns_are_no_matrices_in_a_paired_bootstrap():
    rng = np.random.default_rng(0)
    truth, first, second = rng.integers(0, 3, (3, 40))
    given = {"random_state": 0, "n_resamples": 50}
    plain = score.paired_bootstrap(lambda known, said: (known == said).mean(), truth, first, second, **given)
    column = score.paired_bootstrap(
        lambda known, said: (known == said).mean(), truth, first[:, None], second[:, None], **given
    )
    assert column == plain


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: score.critical_difference(3, 0), "n_sets=0: expected at least 1"),
        (lambda: score.critical_difference(1, 5), "n_methods=1: expected at least 2"),
        (lambda: score.holm_correction(0.5), r"expected \(test,\)"),
        (lambda: score.holm_correction([0.5, np.nan]), "numbers from 0 to 1"),
        (lambda: score.holm_correction([0.5, 1.5]), "numbers from 0 to 1"),
        (lambda: score.bootstrap_p_value(0.5), r"expected \(draw,\)"),
        (lambda: score.cliques([1.0, 2.0], np.zeros((1, 1), bool)), r"\(method,\) and \(method, method\)"),
        (lambda: score.permutation_test([1.0, np.inf], [1.0, np.inf]), "infinite number"),
        (lambda: score.permutation_test([1.0, 2.0], [1.0, 2.0], groups=[[0], [1]]), "expected one group for each item"),
        (lambda: score.corrected_t_test([0.1, np.nan], 0.25), "finite numbers"),
        (lambda: score.silhouette([[0.0, 1.0], [1.0, 0.0]], [None, None]), "clusters"),
        (lambda: score.paired_bootstrap(min, 0.5, [1], [1]), "expected .item"),
        (lambda: score.paired_bootstrap(min, [1, 2], [1, 2], np.zeros((2, 3))), "same kind of answers"),
    ],
)
def test_small_entry_points_name_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()


TRUTH = np.array([0, 1, 1, 0, 1, 0])


@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "macro_f1", "confusion_matrix", "mse", "mae", "brier_score"]
)
@pytest.mark.parametrize("shape", [(1,), (5,), (1, 6), (6, 6), (6, 1, 1), (0,)])
def test_answers_of_another_shape_are_never_broadcast(name, shape):
    truth = TRUTH.reshape(2, 3) if name in ("mse", "mae") else TRUTH
    with pytest.raises((ValueError, TypeError)):
        getattr(score, name)(truth, np.ones(shape, int))

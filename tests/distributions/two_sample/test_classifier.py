"""The classifier two-sample test: refitted for every permutation by one product, exact, with groups."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import timelike as tl
from naive import two_sample as naive
from timelike.distributions import ClassifierTest
from timelike.distributions.two_sample import classifier
from timelike.distributions.two_sample.permutations import exchangeable_units


@pytest.mark.parametrize("ties", [False, True])
def test_held_out_scores_are_those_of_a_ridge_that_is_fitted_anew(ties):
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((14, 3))
    vectors = np.round(vectors) if ties else vectors
    fold, sides = np.arange(14) % 4, np.arange(14) < 6
    labels = np.where(sides, 1.0, -1.0)
    smoother = classifier.held_out_smoother(vectors, fold, 0.7)
    # the reference's λ is not in units of features, and its scores have the intercept
    plain = naive.held_out_scores(vectors.tolist(), labels.tolist(), fold.tolist(), 0.7 * 3)
    means = np.array([labels[fold != one].mean() for one in fold])
    np.testing.assert_allclose(smoother @ labels, np.array(plain, float) - means, atol=1e-10)


def test_areas_count_ties_half():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 3, (20, 9)).astype(float)
    sides = np.array([rng.permutation(np.arange(9) < 4) for _ in range(20)])
    found = classifier.allocation_auc(scores, sides)
    for one, side, score in zip(found, sides, scores, strict=True):
        assert one == pytest.approx(float(naive.auc(score.tolist(), np.where(side, 1, -1).tolist())))
        assert one == pytest.approx(roc_auc_score(side, score))


def test_few_allocations_are_all_tried_and_refitted():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((4, 2)), rng.standard_normal((4, 2)) + 1.5
    found = ClassifierTest(n_permutations=100, n_folds=2, random_state=5).test(x, y)
    assert found.is_enumerated
    assert found.n_allocations == 70
    pooled = np.concatenate([x, y])
    vectors = (pooled - pooled.mean(axis=0)) / pooled.std(axis=0)
    units = exchangeable_units(4, 4, None)
    fold = classifier.assign_folds(units, 2, np.random.default_rng(5))
    in_x = [True] * 4 + [False] * 4
    statistics = []
    for sides in naive.allocations(in_x):
        labels = np.where(sides, 1.0, -1.0)
        scores = np.array(naive.held_out_scores(vectors.tolist(), labels.tolist(), fold.tolist(), 2.0), float)
        scores -= np.array([labels[fold != one].mean() for one in fold])
        statistics.append(float(naive.auc(scores.round(9).tolist(), labels.tolist())))
    assert found.statistic == pytest.approx(statistics[0])
    assert found.p_value == pytest.approx(np.mean(np.array(statistics) >= statistics[0] - 1e-9))


def test_folds_keep_groups_and_both_of_their_parts_together():
    units = exchangeable_units(5, 6, (np.array(list("aabbc")), np.array(list("addeff"))))
    fold = classifier.assign_folds(units, 3, np.random.default_rng(0))
    groups = np.array(list("aabbcaddeff"))
    assert all(len(set(fold[groups == one].tolist())) == 1 for one in "abcdef")
    assert set(fold.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("model", [None, LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_the_level_is_kept_and_a_difference_found(model):
    rng = np.random.default_rng(0)
    test = ClassifierTest(model, n_permutations=39, random_state=0)
    null = [test.test(rng.standard_normal((12, 2)), rng.standard_normal((14, 2))).p_value <= 0.1 for _ in range(120)]
    assert np.mean(null) <= 0.1 + 2.6 * np.sqrt(0.09 / 120)
    other = ClassifierTest(model, n_permutations=199, random_state=0)
    x, y = rng.standard_normal((40, 2)), rng.standard_normal((40, 2)) + 2
    assert other.test(x, y).p_value == 1 / 200


def test_one_feature_of_many_is_found_where_a_kernel_drowns_it():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 150, 60))
    y[:, 7] += 1.2
    found = ClassifierTest(random_state=0).test(x, y)
    assert found.p_value < 0.01
    assert found.statistic_name == "AUC"
    assert 0.6 < found.statistic < 1


def test_sequences_are_told_apart_by_rocket_and_by_any_classifier_of_the_library():
    rng = np.random.default_rng(0)
    t = np.arange(40)
    x = [np.sin(t[: rng.integers(30, 40)] / 3 + rng.uniform(0, 6)) for _ in range(30)]
    y = [np.sin(t[: rng.integers(30, 40)] / 4 + rng.uniform(0, 6)) for _ in range(30)]
    assert ClassifierTest(random_state=0, n_permutations=199).test(x, y).p_value == 1 / 200
    model = tl.EmbeddingClassifier(tl.Rocket(n_features=500, random_state=0), head="ridge")
    if not hasattr(model, "decision_function") and not hasattr(model, "predict_proba"):
        pytest.skip("has no scores")
    assert ClassifierTest(model, random_state=0, n_permutations=99).test(x, y).p_value == 1 / 100


def test_whole_groups_are_held_out_and_change_sides():
    rng = np.random.default_rng(0)
    offsets = np.array([3, 2, 0, -2, 2, 1, -3, 1, -2, 0, -1, 2.0])  # subjects differ, and nothing else
    groups = np.repeat(np.arange(12), 6)
    data = rng.standard_normal((72, 2)) + offsets[groups, None]
    x, y = data[:36], data[36:]
    alone = ClassifierTest(random_state=0, n_permutations=199).test(x, y)
    whole = ClassifierTest(random_state=0, n_permutations=199).test(x, y, groups=(groups[:36], groups[36:]))
    assert alone.p_value < 0.05 < whole.p_value
    assert whole.unit == "groups"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classifier": 3}, "classifier=3: expected an estimator with fit"),
        ({"n_folds": 1}, "n_folds=1"),
        ({"regularization": 0}, "regularization=0"),
        ({"n_permutations": 0}, "n_permutations=0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        ClassifierTest(**options)


def test_too_few_for_two_halves_is_said():
    with pytest.raises(ValueError, match="too few items, or groups, for two halves|cannot be exchanged"):
        ClassifierTest(LogisticRegression()).test(np.zeros((2, 1)), np.ones((2, 1)))


def test_equal_items_give_p_one():
    assert ClassifierTest(n_permutations=50).test(np.ones((5, 2)), np.ones((6, 2))).p_value == 1.0

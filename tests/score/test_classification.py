"""Scores of classification beside scikit-learn's, their intervals, what is 0 of 0, and two methods by any score."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import metrics

from naive import intervals
from timelike import score


def _sklearn(truth, answer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where scikit-learn warns, the number is the one that is documented here
        each = metrics.precision_recall_fscore_support(truth, answer, zero_division=np.nan)
        balanced = metrics.balanced_accuracy_score(truth, answer)
        f1 = metrics.f1_score(truth, answer, average="macro", zero_division=0)
        table = metrics.confusion_matrix(truth, answer)
    return each, balanced, f1, table


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcde")), min_size=1, max_size=25), st.booleans())
def test_scores_are_those_of_scikit_learn_with_absent_and_unseen_classes(pairs, numbers):
    truth, answer = zip(*pairs, strict=True)
    if numbers:
        truth, answer = ([ord(letter) for letter in side] for side in (truth, answer))
    found = score.classification_scores(truth, answer, n_resamples=2, random_state=0)
    (precision, recall, f1, support), balanced, macro, table = _sklearn(truth, answer)
    np.testing.assert_array_equal([one.items for one in found.classes], support)
    np.testing.assert_allclose([one.precision.mean for one in found.classes], precision)
    np.testing.assert_allclose([one.recall.mean for one in found.classes], recall)
    occurs = ~np.isnan(f1)
    np.testing.assert_allclose(np.array([one.f1.mean for one in found.classes])[occurs], f1[occurs], atol=1e-12)
    assert found.balanced_accuracy.mean == score.balanced_accuracy(truth, answer) == pytest.approx(balanced)
    assert found.macro_f1.mean == score.macro_f1(truth, answer) == pytest.approx(macro)
    assert found.accuracy.mean == pytest.approx(metrics.accuracy_score(truth, answer))
    np.testing.assert_array_equal(found.confusion, table)
    np.testing.assert_array_equal(score.confusion_matrix(truth, answer), found.confusion)


def test_shares_of_nothing_are_nan_and_count_in_no_mean():
    found = score.classification_scores(["a", "a", "b"], ["a", "c", "a"], classes=["d", "c", "b", "a"], random_state=0)
    d, c, b, a = found.classes
    assert found.labels == ("d", "c", "b", "a")
    assert np.isnan([d.precision.mean, d.recall.mean, d.f1.mean, d.f1.low, c.recall.mean, b.precision.mean]).all()
    assert (c.precision.mean, c.f1.mean, b.recall.mean, b.f1.mean) == (0, 0, 0, 0)
    assert (a.recall.mean, a.precision.mean) == (0.5, 0.5)
    assert found.balanced_accuracy.mean == 0.25
    assert found.macro_f1.mean == pytest.approx(0.5 / 3)


def test_the_order_of_classes_is_the_one_that_is_given():
    truth, answer = [3, 1, 1, 2], [1, 1, 2, 2]
    expected = metrics.confusion_matrix(truth, answer, labels=[2, 9, 3, 1])
    np.testing.assert_array_equal(score.confusion_matrix(truth, answer, classes=[2, 9, 3, 1]), expected)
    assert (
        score.macro_f1(truth, answer) == score.classification_scores(truth, answer, classes=[2, 9, 3, 1]).macro_f1.mean
    )


def test_intervals_are_quantiles_of_scores_of_items_that_are_drawn_anew():
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=40)
    answer = np.where(rng.random(40) < 0.7, truth, rng.integers(3, size=40))
    found = score.classification_scores(truth, answer, n_resamples=60, random_state=5)
    draws, scores = np.random.default_rng(5), []
    for _ in range(60):
        rows = draws.integers(40, size=40)
        scores.append(metrics.f1_score(truth[rows], answer[rows], average="macro"))
    sizes = (np.bincount(truth) + np.bincount(answer)) / 2  # never narrower than of as many items
    least = intervals.wilson(found.macro_f1.mean, 9 / (1 / sizes).sum())
    low, high = np.quantile(scores, [0.025, 0.975])
    assert (found.macro_f1.low, found.macro_f1.high) == pytest.approx((min(low, least[0]), max(high, least[1])))


@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(6), 5)])
def test_intervals_of_perfect_answers_are_wilsons(groups):
    truth = np.r_[np.zeros(20, int), np.ones(10, int)]
    found = score.classification_scores(truth, truth, groups=groups, n_resamples=20, random_state=0)
    of_first, of_all = (20, 30) if groups is None else (4, 6)
    assert (found.accuracy.low, found.accuracy.high) == pytest.approx(intervals.wilson(1.0, of_all))
    for one in (found.classes[0].recall, found.classes[0].precision, found.classes[0].f1):
        assert (one.low, one.high) == pytest.approx(intervals.wilson(1.0, of_first))
    assert found.balanced_accuracy.low < found.accuracy.low  # the mean of classes of which one is small


def test_a_mean_over_classes_that_share_their_groups_is_no_more_certain_than_the_accuracy():
    truth, groups = np.tile([0, 1, 2], 16), np.repeat(np.arange(4), 12)  # each of four persons does all three
    found = score.classification_scores(truth, truth, groups=groups, random_state=0)
    for one in (found.accuracy, found.balanced_accuracy, found.macro_f1):
        assert (one.low, one.high) == pytest.approx(intervals.wilson(1.0, 4))


def test_groups_are_drawn_whole_and_make_intervals_wider():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(12), 10)
    truth = np.arange(120) % 2
    answer = np.where(np.repeat(rng.random(12) < 0.6, 10), truth, 1 - truth)
    alone, whole = (score.classification_scores(truth, answer, groups=g, random_state=0) for g in (None, groups))
    assert whole.accuracy.half_width > 2 * alone.accuracy.half_width


def test_the_record_prints_every_class_and_draws_its_confusion():
    found = score.classification_scores(["a|b", "$c$", "$c$"], ["a|b", "$c$", "a|b"], random_state=0)
    lines = str(found).splitlines()
    assert lines[2].startswith("| $c$ | 2 | 1.000")
    assert lines[3].startswith("| a/b | 1 | 0.500")
    assert lines[-1].startswith("accuracy 0.667 [")
    figure = found.plot(shares=False)
    figure.canvas.draw()
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[0.5, 0.5], [0, 1]])
    assert [words.get_text() for words in figure.axes[0].texts] == ["1", "1", "1"]
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    ("truth", "answer", "options", "words"),
    [
        ([], [], {}, "expected \\(item,\\) in both"),
        ([0, 1], [0], {}, "expected \\(item,\\) in both"),
        ([0, 1], [0, 2], {"classes": [0, 1]}, "classes: 2 is not among them"),
        ([0, 1], [0, 1], {"classes": [0, 1, 1]}, "classes: one occurs twice"),
        ([0, 1], [0, 1], {"groups": [1]}, "groups has shape \\(1,\\) for 2 items"),
    ],
)
def test_what_cannot_be_scored_is_refused(truth, answer, options, words):
    with pytest.raises(ValueError, match=words):
        score.classification_scores(truth, answer, **options)


def test_numbers_and_text_are_not_mixed():
    with pytest.raises(TypeError, match="mix numbers and text, 0 and '0'"):
        score.macro_f1([0], ["0"])


def test_accuracy_by_group_is_that_of_its_items_with_wilsons_interval():
    rng = np.random.default_rng(0)
    truth, groups = rng.integers(3, size=60), np.array(["x", "y", "z"])[rng.integers(3, size=60)]
    answer = np.where(rng.random(60) < 0.7, truth, (truth + 1) % 3)
    found = score.accuracy_by_group(truth, answer, groups)
    shares = [interval.mean for interval in found.accuracy]
    assert shares == sorted(shares)
    for group, items, interval in zip(found.groups, found.items, found.accuracy, strict=True):
        own = groups == group
        assert items == own.sum()
        assert interval.mean == pytest.approx(score.accuracy(truth[own], answer[own]))
        assert interval == score.wilson_interval(interval.mean, items)
    assert "<td>x</td>" in found._repr_html_()
    with pytest.raises(ValueError, match=r"groups has shape \(2,\) for 60 items"):
        score.accuracy_by_group(truth, answer, ["x", "y"])

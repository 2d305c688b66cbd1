"""Retrieval scores: scikit-learn's as the independent check, by hand, ties, bad input."""

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

import timelike as tl
from naive import intervals
from timelike import score


def problem(seed, n=12, m=30, classes=4, ties=False):
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, 5, (n, m)).astype(float) if ties else rng.random((n, m))
    return distances, rng.integers(0, classes, n), rng.integers(0, classes, m)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_average_precision_is_that_of_scikit_learn(seed, ties):
    distances, queries, gallery = problem(seed, ties=ties)
    expected = [average_precision_score(gallery == label, -row) for row, label in zip(distances, queries, strict=True)]
    np.testing.assert_allclose(score.average_precision(distances, queries, gallery), expected, rtol=1e-12)
    assert score.mean_average_precision(distances, queries, gallery) == pytest.approx(np.mean(expected), rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float32, (3, 7), elements=st.floats(0, 4, width=16)), st.permutations(range(7)))
def test_the_order_of_the_gallery_does_not_matter_even_with_ties(distances, order):
    queries, gallery = np.array([0, 1, 2]), np.array([0, 0, 1, 1, 2, 2, 2])
    found = score.average_precision(distances, queries, gallery)
    np.testing.assert_array_equal(score.average_precision(distances[:, order], queries, gallery[order]), found)


def test_a_query_without_its_class_is_nan_and_does_not_count_in_the_mean():
    distances = [[1.0, 2.0], [1.0, 2.0]]
    np.testing.assert_array_equal(score.average_precision(distances, [0, 5], [0, 1]), [1, np.nan])
    assert score.mean_average_precision(distances, [0, 5], [0, 1]) == 1
    with pytest.raises(ValueError, match="no query has an item of its class"):
        score.mean_average_precision(distances, [4, 5], [0, 1])


def test_without_a_gallery_no_query_is_found_by_itself():
    distances, labels, _ = problem(0, 15, 15, 3)
    for i in range(15):
        others = np.arange(15) != i
        expected = average_precision_score(labels[others] == labels[i], -distances[i, others])
        assert score.average_precision(distances, labels)[i] == pytest.approx(expected, rel=1e-12)
        nearest = labels[others][distances[i, others].argmin()]
        assert score.is_nearest_correct(distances, labels)[i] == (nearest == labels[i])


@pytest.mark.parametrize("seed", range(5))
def test_nearest_accuracy_is_that_of_scikit_learn_where_no_vote_is_tied(seed):
    distances, queries, gallery = problem(seed, classes=2)
    for k in (1, 3, 7, 29):
        peer = KNeighborsClassifier(k, metric="precomputed").fit(np.zeros((30, 30)), gallery)
        assert score.nearest_accuracy(distances, queries, gallery, k=k) == peer.score(distances, queries)


def test_a_tied_vote_goes_to_the_class_whose_voters_are_nearer():
    assert score.is_nearest_correct([[1.0, 1.1, 1.2, 5.0]], ["b"], ["a", "b", "b", "a"], k=4).all()
    assert score.is_nearest_correct([[3.0, 1.0, 2.0, 2.5]], ["b"], ["a", "b", "a", "b"], k=4).all()
    assert score.is_nearest_correct([[0.5, 1.0, 2.0, 2.5]], ["a"], ["a", "b", "a", "b"], k=4).all()
    assert score.is_nearest_correct([[9.0, 1.0, 2.0, 2.5]], ["c"], ["a", "c", "a", "b"], k=3).all()


def test_items_at_the_same_distance_come_in_the_order_of_the_gallery():
    assert score.is_nearest_correct([[1.0, 1.0, 1.0]], ["a"], ["a", "b", "b"]).all()
    assert score.is_nearest_correct([[1.0, 1.0, 1.0, 0.0]], ["a"], ["a", "a", "b", "b"], k=3).all()
    assert score.is_nearest_correct([[np.inf, np.inf]], [1], [1, 0], k=2).all()


def test_labels_may_be_words_and_distances_tensors_of_any_precision():
    distances, queries, gallery = problem(1)
    words = np.array(["up", "down", "left", "right"])
    expected = score.average_precision(distances.astype(np.float32), queries, gallery)
    found = score.average_precision(torch.tensor(distances, dtype=torch.float32), words[queries], words[gallery])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        score.average_precision(distances.astype(np.float32), torch.tensor(queries), gallery), expected
    )


def test_bad_input_is_named():
    distances, queries, gallery = problem(2)
    with pytest.raises(ValueError, match=r"distances has shape \(12, 30\)"):
        score.average_precision(distances, gallery, queries)
    with pytest.raises(ValueError, match="distances has shape"):
        score.nearest_accuracy(distances, queries)
    with pytest.raises(ValueError, match="k=31: the gallery has only 30 items"):
        score.nearest_accuracy(distances, queries, gallery, k=31)
    with pytest.raises(ValueError, match="k=0"):
        score.nearest_accuracy(distances, queries, gallery, k=0)
    with pytest.raises(ValueError, match="none of them empty"):
        score.average_precision(np.zeros((0, 3)), [], [1, 2, 3])
    distances[3, 4] = np.nan
    with pytest.raises(ValueError, match="nan in row 3"):
        score.mean_average_precision(distances, queries, gallery)


@pytest.mark.parametrize(
    ("queries", "gallery", "error", "words"),
    [
        ([0, 1], ["0", "1", "0"], TypeError, "mix numbers and text, 0 and '0': expected the same kind in both"),
        ([b"a", b"b"], ["a", "b", "a"], TypeError, r"query_labels\[0\] is b'a' \(bytes\)"),
        ([np.nan, 1.0], [np.nan, 1.0, 1.0], ValueError, r"query_labels\[0\] is nan"),
        ([0, 1], [0, None, 1], ValueError, r"gallery_labels\[1\] is None \(NaN or missing\)"),
        (["a", None], ["a", "b", "a"], ValueError, r"query_labels\[1\] is None"),
    ],
)
def test_labels_of_different_kinds_or_missing_match_nothing(queries, gallery, error, words):
    with pytest.raises(error, match=words):
        score.nearest_accuracy([[0.1, 0.2, 0.3]] * 2, queries, gallery)


def test_distances_may_be_a_table():
    distances, queries, gallery = problem(3)
    found = score.average_precision(pd.DataFrame(distances), queries, gallery)
    np.testing.assert_array_equal(found, score.average_precision(distances, queries, gallery))


def test_complex_distances_are_not_asked_for_missing_values():
    with pytest.raises(TypeError, match="distances is complex128: expected real numbers") as caught:
        score.nearest_accuracy(np.full((1, 2), 1j), [0], [0, 1])
    assert "nan" not in str(caught.value)


@pytest.mark.parametrize("values", [[1.0, 2.0, np.inf], [-np.inf], [[1.0, 2.0], [3.0, 4.0]], 3.0])
def test_an_interval_needs_a_finite_number_for_each_item(values):
    with pytest.raises(ValueError, match=r"values(\[\d\] is -?inf: expected finite| has shape .*: expected \(item,\))"):
        score.interval(values)


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_an_interval_is_students(n):
    values = np.random.default_rng(n).random(n)
    found = score.interval(values, confidence=0.9)
    low, high = stats.t.interval(0.9, n - 1, values.mean(), stats.sem(values))
    assert (found.mean, found.low, found.high) == pytest.approx((values.mean(), low, high), rel=1e-10)
    assert found.half_width == pytest.approx((high - low) / 2, rel=1e-10)


def test_an_interval_holds_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = [score.interval(rng.normal(3, 2, 5)) for _ in range(2000)]
    assert np.mean([one.low <= 3 <= one.high for one in found]) == pytest.approx(0.95, abs=0.015)


def test_an_interval_is_written_with_its_bounds_by_any_number_format():
    inside = score.Interval(0.9, 0.75, 1.0)
    assert (f"{inside:.3f}", f"{inside:.1%}") == ("0.900 [0.750, 1.000]", "90.0% [75.0%, 100.0%]")
    assert f"{inside}" == str(inside)
    assert f"{score.Interval(0.9, -np.inf, np.inf):.4g}" == "0.9"  # of a single value
    assert f"{score.Interval(np.nan, np.nan, np.nan):.3f}" == "–"


def test_intervals_of_few_values():
    assert score.interval([0.5]) == score.Interval(0.5, -np.inf, np.inf)
    assert score.interval([2.0, np.nan, 2.0]) == score.Interval(2.0, 2.0, 2.0)
    perfect = score.interval([1.0, np.nan, 1.0])
    assert (perfect.low, perfect.high) == pytest.approx(intervals.wilson(1.0, 2))
    assert str(score.interval([0.9, 0.92, 0.94])) == "0.92 ± 0.05"
    with pytest.raises(ValueError, match="no number"):
        score.interval([np.nan])
    with pytest.raises(ValueError, match="confidence=1.5"):
        score.interval([1.0, 2.0], confidence=1.5)


@pytest.mark.parametrize(("right", "n"), [(20, 20), (0, 20), (19, 20), (7, 20), (1, 1), (500, 1000)])
def test_wilson_is_that_of_scipy(right, n):
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    found = score.wilson_interval(right / n, n)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert (found.low, found.high) == pytest.approx(intervals.wilson(right / n, n), abs=1e-9)


@pytest.mark.parametrize("groups", [None, np.arange(60) // 6])
def test_a_bootstrap_of_perfect_answers_is_wilsons(groups):
    right = np.ones(60, bool)
    found = score.bootstrap(right, groups=groups, random_state=0)
    assert (found.low, found.high) == pytest.approx(intervals.wilson(1.0, 60 if groups is None else 10))
    found = score.bootstrap(np.zeros(60), groups=groups, random_state=0, shares=True)
    assert (found.low, found.high) == pytest.approx(intervals.wilson(0.0, 60 if groups is None else 10))
    assert score.bootstrap(np.zeros(60), groups=groups, random_state=0).high == 0  # errors, not shares
    with pytest.raises(ValueError, match="shares=True: values reach from 0 to 3"):
        score.bootstrap([0.0, 3.0], shares=True)


def test_wilsons_interval_holds_the_share_where_perfect_scores_are_common():
    rng = np.random.default_rng(0)
    found = [score.bootstrap(rng.random(30) < 0.98, n_resamples=100, random_state=0) for _ in range(300)]
    assert np.mean([one.low <= 0.98 <= one.high for one in found]) > 0.94  # the percentiles alone: 0.45


def test_scores_need_no_torch():
    import subprocess
    import sys

    program = "import sys; from timelike import score; score.nearest_accuracy([[1.0]], [0], [0]); print('torch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


def test_votes_are_counted_as_neighbors_counts_them():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 4, 1)).astype(float), rng.integers(0, 4, 40)  # many equal distances and votes
    for k in (1, 2, 4, 6):
        neighbors = tl.Neighbors(tl.DTW(), k=k).fit(X[:30], y[:30])
        distances = tl.DTW().pairwise(X[30:], X[:30])
        assert score.nearest_accuracy(distances, y[30:], y[:30], k=k) == neighbors.score(X[30:], y[30:])


# --- at k ------------------------------------------------------------------------------------------------------------


def _over_all_orders(row, relevant, k, judged):
    """The mean over all ways in which items at the same distance may be ordered."""
    found = []
    for order in permutations(range(len(row))):
        if all(row[a] <= row[b] for a, b in pairwise(order)):
            found.append(judged([relevant[i] for i in order[:k]]))
    return np.mean(found)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.integers(1, 6))
def test_recall_and_precision_at_k_are_means_over_the_orders_of_equals(items, k):
    row, relevant = zip(*items, strict=True)
    k = min(k, len(row))
    gallery = np.where(relevant, "a", "b")
    recall, precision, r = (
        found.item()
        for found in (
            score.recall_at_k([row], ["a"], gallery, k=k),
            score.precision_at_k([row], ["a"], gallery, k=k),
            score.r_precision([row], ["a"], gallery),
        )
    )
    if not any(relevant):
        assert np.isnan([recall, precision, r]).all()
        return
    assert recall == pytest.approx(_over_all_orders(row, relevant, k, any), abs=1e-12)
    assert precision == pytest.approx(_over_all_orders(row, relevant, k, np.mean), abs=1e-12)
    assert r == pytest.approx(_over_all_orders(row, relevant, sum(relevant), np.mean), abs=1e-12)


def test_recall_at_k_without_ties_is_what_sorting_gives_and_never_falls_with_k():
    distances, queries, gallery = problem(3)
    nearest = gallery[np.argsort(distances, axis=1)]
    before = np.zeros(len(queries))
    for k in (1, 2, 4, 8, 30):
        found = score.recall_at_k(distances, queries, gallery, k=k)
        np.testing.assert_array_equal(found, (nearest[:, :k] == queries[:, None]).any(axis=1))
        np.testing.assert_allclose(
            score.precision_at_k(distances, queries, gallery, k=k), (nearest[:, :k] == queries[:, None]).mean(axis=1)
        )
        assert (found >= before).all()
        before = found


def test_queries_of_the_gallery_are_not_found_by_themselves():
    matrix = [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]
    np.testing.assert_array_equal(score.recall_at_k(matrix, ["a", "b", "a"]), [0, np.nan, 1])
    np.testing.assert_array_equal(score.recall_at_k(matrix, ["a", "b", "a"], k=2), [1, np.nan, 1])
    with pytest.raises(ValueError, match="k=3: the gallery has only 2 items for a query"):
        score.recall_at_k(matrix, ["a", "b", "a"], k=3)


def test_many_equals_are_counted_without_large_numbers():
    found = score.recall_at_k(np.zeros((1, 20_000)), [0], np.arange(20_000) % 2, k=3)
    assert found[0] == pytest.approx(1 - 0.5**3, abs=1e-3)


def test_retrieval_scores_are_those_of_their_functions_and_have_intervals():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    points = rng.normal(size=30) + 1.5 * (np.arange(30) % 3)
    distances = abs(points[:, None] - points)
    found = score.retrieval_scores(distances, labels, random_state=0)
    assert found.nearest_accuracy.mean == pytest.approx(score.nearest_accuracy(distances, labels))
    assert found.mean_average_precision.mean == pytest.approx(score.mean_average_precision(distances, labels))
    precision = score.average_precision(distances, labels)
    for kind, items, nearest, own in found.classes:
        assert items == 10
        assert own.mean == pytest.approx(precision[labels == kind].mean())
        assert nearest.low <= nearest.mean <= nearest.high
    grouped = score.retrieval_scores(distances, labels, groups=np.arange(30) // 10, random_state=0)
    assert grouped.nearest_accuracy.half_width > found.nearest_accuracy.half_width
    assert "<td>all</td>" in found._repr_html_()


def test_a_class_of_one_has_no_precision_and_classes_of_one_have_no_scores():
    points = np.array([0.0, 0.1, 5.0])
    distances = abs(points[:, None] - points)
    found = score.retrieval_scores(distances, ["a", "a", "b"], random_state=0)
    assert np.isnan(found.classes[1][3].mean)
    assert found.mean_average_precision.mean == 1.0
    with pytest.raises(ValueError, match="every item is alone in its class"):
        score.retrieval_scores(distances, ["a", "b", "c"])

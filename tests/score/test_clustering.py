"""Clusters beside classes and by their distances: the definitions, names that do not matter, bad input."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

import timelike as tl
from timelike import score

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(4, size=80)
CLUSTERS = np.where(RNG.random(80) < 0.6, TRUTH, RNG.integers(-1, 5, size=80))


def test_mutual_information_is_that_of_the_definition():
    joint = np.array([[((c == TRUTH) & (k == CLUSTERS)).mean() for k in np.unique(CLUSTERS)] for c in range(4)])
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    held = joint > 0
    shared = (joint[held] * np.log((joint / np.outer(rows, columns))[held])).sum()
    spread = -(rows * np.log(rows)).sum() - (columns * np.log(columns)).sum()
    assert score.normalized_mutual_info(TRUTH, CLUSTERS) == pytest.approx(2 * shared / spread)


def test_the_rand_index_counts_pairs_beyond_chance():
    same = [side[:, None] == side for side in (TRUTH, CLUSTERS)]
    pairs = np.triu_indices(80, 1)
    a, b = (side[pairs] for side in same)
    chance = a.sum() * b.sum() / len(a)
    expected = ((a & b).sum() - chance) / ((a.sum() + b.sum()) / 2 - chance)
    assert score.adjusted_rand(TRUTH, CLUSTERS) == pytest.approx(expected)


def test_purity_counts_the_commonest_class_of_every_cluster():
    expected = sum(np.bincount(TRUTH[k == CLUSTERS]).max() for k in np.unique(CLUSTERS)) / 80
    assert score.purity(TRUTH, CLUSTERS) == expected


@pytest.mark.parametrize("one", [score.normalized_mutual_info, score.adjusted_rand, score.purity])
def test_names_do_not_matter_and_equal_parts_are_perfect(one):
    named = np.array(list("wxyz"))[TRUTH]
    assert one(named, CLUSTERS) == one(TRUTH, CLUSTERS)
    assert one(TRUTH, 3 - TRUTH) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"truth has shape \(80,\) and clusters \(79,\)"):
        one(TRUTH, CLUSTERS[1:])


def apart(n, seed=0):
    points = np.random.default_rng(seed).standard_normal((n, 2))
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


@pytest.mark.parametrize("n_clusters", [2, 3, 7, 19])
def test_silhouettes_are_scikit_learns(n_clusters):
    clusters = np.concatenate([np.arange(n_clusters), RNG.integers(n_clusters, size=20 - n_clusters)])
    matrix = apart(20)
    expected = silhouette_samples(matrix, clusters, metric="precomputed")
    np.testing.assert_allclose(score.silhouette_samples(matrix, clusters), expected, rtol=1e-12, atol=1e-12)
    assert score.silhouette(matrix, clusters) == pytest.approx(expected.mean(), abs=1e-12)
    names = np.array(list("abcdefghijklmnopqrst"))[clusters]  # what clusters are called does not matter
    assert score.silhouette(matrix, names) == score.silhouette(matrix, clusters)


def test_silhouettes_are_those_of_the_definition_for_copies_and_items_alone():
    matrix = np.array([[0.0, 0, 0, 3], [0, 0, 0, 3], [0, 0, 0, 3], [3, 3, 3, 0]])
    assert score.silhouette_samples(matrix, [0, 0, 1, 2]).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert score.silhouette_samples(matrix, [0, 0, 0, 1]).tolist() == [1.0, 1.0, 1.0, 0.0]


def test_a_distance_to_itself_counts_for_nothing():
    """That of soft-DTW is not 0."""
    matrix = apart(10)
    other = matrix + np.diag(np.arange(10.0))
    clusters = np.arange(10) % 3
    np.testing.assert_allclose(score.silhouette_samples(other, clusters), score.silhouette_samples(matrix, clusters))


def test_sequences_are_compared_by_any_metric():
    X = tl.Sequences([np.random.default_rng(i).standard_normal(5 + i % 3) for i in range(9)])
    for metric in (tl.DTW(), tl.MSM(), tl.SoftDTW(divergence=True)):
        expected = score.silhouette(metric.pairwise(X), CLUSTERS[:9])
        assert score.silhouette(X, CLUSTERS[:9], metric) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("distances", "clusters", "metric", "words"),
    [
        (
            np.zeros((3, 2)),
            [0, 1, 1],
            None,
            r"distances has shape \(3, 2\): expected \(item, item\).*metric=timelike.DTW",
        ),
        ([[1.0, 2.0], [1.0]], [0, 1], None, r"distances has shape .*expected \(item, item\)"),
        (-np.ones((3, 3)), [0, 1, 1], None, "distances holds negative"),
        (np.full((3, 3), np.nan), [0, 1, 1], None, "distances holds negative or missing"),
        (apart(3), [0, 1], None, r"clusters has shape \(2,\): expected one cluster for each of 3 items"),
        (apart(3), [0, 0, 0], None, "clusters holds 1 different ones for 3 items"),
        (apart(3), [0, 1, 2], None, "clusters holds 3 different ones for 3 items"),
        ([[1.0], [2.0], [3.0]], [0, 1, 1], "dtw", "metric='dtw': expected a Metric such as timelike.DTW"),
    ],
)
def test_what_has_no_silhouette_is_refused(distances, clusters, metric, words):
    with pytest.raises((TypeError, ValueError), match=words):
        score.silhouette(distances, clusters, metric)

"""Clustering on the distances of any metric: against scikit-learn and scipy on the same matrix, any metric, bad input."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn import cluster
from sklearn.metrics import adjusted_rand_score

import timelike as tl

KINDS = [
    tl.cluster.Agglomerative(3),
    tl.cluster.Spectral(3, random_state=0),
    tl.cluster.DBSCAN(),
    tl.cluster.HDBSCAN(min_cluster_size=4),
]


@pytest.fixture(scope="module")
def gestures():
    """Three shapes at different speeds, ten of each."""
    rng = np.random.default_rng(0)
    shapes = [lambda t: np.sin(6 * t), lambda t: 3 * t, lambda t: np.exp(-(((t - 0.5) / 0.1) ** 2)) * 3]
    items = [shapes[i % 3](np.linspace(0, 1, int(rng.integers(20, 30))) ** rng.uniform(0.7, 1.4)) for i in range(30)]
    return tl.Sequences([x + rng.normal(0, 0.05, len(x)) for x in items], labels=np.arange(30) % 3)


@pytest.mark.parametrize("method", KINDS, ids=lambda one: type(one).__name__)
def test_shapes_are_told_apart_at_any_speed(method, gestures):
    found = method.fit_predict(gestures)
    held = found >= 0
    assert held.mean() > 0.8
    assert adjusted_rand_score(gestures.labels[held], found[held]) == 1
    assert found[held][0] == 0
    near = tl.Sequences([x + 1e-6 for x in gestures])
    np.testing.assert_array_equal(method.predict(near)[held], found[held])


@pytest.mark.parametrize("how", ["average", "complete", "single"])
def test_joining_is_that_of_scipy_for_a_number_and_for_a_threshold(how, gestures):
    distances = tl.DTW().pairwise(gestures)
    tree = linkage(squareform(distances, checks=False), how)
    for k in (1, 4, 30):
        found = tl.cluster.Agglomerative(k, linkage=how).fit_predict(gestures)
        assert len(set(found.tolist())) == k
        assert adjusted_rand_score(fcluster(tree, k, "maxclust"), found) == 1
    threshold = float(tree[13:15, 2].mean())
    found = tl.cluster.Agglomerative(linkage=how, threshold=threshold).fit_predict(gestures)
    assert adjusted_rand_score(fcluster(tree, threshold, "distance"), found) == 1


def test_spectral_clusters_are_scikit_learns_of_the_elastic_kernel(gestures):
    kernel = tl.neighbors.ElasticKernel("dtw")
    similar = kernel.fit_transform(gestures)
    found = tl.cluster.Spectral(4, random_state=0).fit(gestures)
    assert found.gamma_ == kernel.gamma_
    theirs = cluster.SpectralClustering(4, affinity="precomputed", assign_labels="cluster_qr", random_state=0)
    assert adjusted_rand_score(theirs.fit_predict(similar), found.labels_) == 1
    assert tl.cluster.Spectral(1).fit_predict(gestures).tolist() == [0] * 30
    assert tl.cluster.Spectral(30).fit_predict(gestures).tolist() == list(range(30))


def test_dense_places_are_scikit_learns_and_what_is_asked_later_is_as_if_fitted(gestures):
    found = tl.cluster.DBSCAN("dtw", eps=2.0, min_samples=3).fit(gestures)
    theirs = cluster.DBSCAN(eps=2.0, min_samples=3, metric="precomputed").fit(tl.DTW().pairwise(gestures))
    np.testing.assert_array_equal(found.labels_, theirs.labels_)
    cores = found.core_sample_indices_
    np.testing.assert_array_equal(found.predict(gestures)[cores], found.labels_[cores])
    assert found.predict([np.full(20, 99.0)]).tolist() == [-1]
    nothing = tl.cluster.DBSCAN(eps=1e-9, min_samples=3).fit(gestures)
    assert nothing.labels_.tolist() == nothing.predict(gestures).tolist() == [-1] * 30


@pytest.mark.parametrize("min_samples", [2, 5])
def test_unless_given_eps_makes_nine_of_ten_sequences_cores(min_samples, gestures):
    found = tl.cluster.DBSCAN(min_samples=min_samples).fit(gestures)
    cores = (tl.DTW().pairwise(gestures) <= found.eps_).sum(axis=1) >= min_samples
    np.testing.assert_array_equal(found.core_sample_indices_, np.flatnonzero(cores))
    assert 0.85 <= cores.mean() <= 0.95


def test_densities_are_scikit_learns(gestures):
    found = tl.cluster.HDBSCAN(min_cluster_size=3, min_samples=2).fit(gestures)
    theirs = cluster.HDBSCAN(min_cluster_size=3, min_samples=2, metric="precomputed", copy=True)
    theirs.fit(tl.DTW().pairwise(gestures))
    np.testing.assert_array_equal(found.labels_ == -1, theirs.labels_ == -1)
    assert adjusted_rand_score(theirs.labels_, found.labels_) == 1
    np.testing.assert_array_equal(found.probabilities_, theirs.probabilities_)


METRICS = [tl.ERP(), tl.SoftDTW(divergence=True), tl.OPW(), tl.Rocket(n_features=84, random_state=0), tl.Discriminant()]


@pytest.mark.parametrize("metric", METRICS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("method", KINDS, ids=lambda one: type(one).__name__)
def test_any_metric_will_do_learned_ones_too(method, metric, gestures):
    part = gestures[:12]
    found = type(method)(**method.get_params(deep=False) | {"metric": metric}).fit(part, part.labels)
    assert found.labels_.shape == (12,)
    assert set(found.predict(part).tolist()) <= set(found.labels_.tolist()) | {-1}


@pytest.mark.parametrize("method", [*KINDS, tl.KMedoids(3, random_state=0)], ids=lambda one: type(one).__name__)
def test_values_may_be_missing_where_the_metric_takes_them(method, gestures):
    holes = [np.array(x) for x in gestures]
    holes[0][3] = np.nan
    rocket = type(method)(**method.get_params(deep=False) | {"metric": tl.Rocket(n_features=84, random_state=0)})
    assert rocket.fit(holes).labels_.shape == (30,)
    with pytest.raises(ValueError, match="X: sequence 0 is missing"):
        type(method)(**method.get_params(deep=False)).fit(holes)


def test_copies_of_one_sequence_are_one_cluster():
    same = np.ones((8, 4))
    for method in (tl.cluster.DBSCAN(), tl.cluster.Agglomerative(threshold=0.5)):
        assert method.fit_predict(same).tolist() == [0] * 8
    assert tl.cluster.Agglomerative(1).fit_predict([[1.0, 2.0]]).tolist() == [0]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (tl.cluster.Agglomerative(31), "k=31: expected at most the number of sequences, n_samples = 30"),
        (tl.cluster.Agglomerative(2, linkage="ward"), "linkage='ward': expected one of 'average'"),
        (tl.cluster.Agglomerative(threshold=-1.0), "threshold=-1.0"),
        (tl.cluster.Spectral(31), "k=31: expected at most"),
        (tl.cluster.Spectral(2, gamma=0.0), "gamma=0.0"),
        (tl.cluster.DBSCAN(eps=0.0), "eps=0.0"),
        (tl.cluster.DBSCAN(min_samples=0), "min_samples=0"),
        (tl.cluster.HDBSCAN(min_cluster_size=31), "min_cluster_size=31: expected at most"),
        (tl.cluster.HDBSCAN(min_cluster_size=1), "min_cluster_size=1"),
        (tl.cluster.HDBSCAN("cosine"), "metric='cosine': expected a Metric"),
        (
            tl.cluster.Agglomerative(2, metric=tl.SoftDTW(gamma=10.0)),
            "gave the distance -.*SoftDTW\\(divergence=True\\)",
        ),
    ],
)
def test_bad_options_are_named(method, words, gestures):
    with pytest.raises(ValueError, match=words):
        method.fit(gestures)

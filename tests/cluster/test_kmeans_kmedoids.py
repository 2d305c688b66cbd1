"""Clustering: against every choice there is, ordinary k-means, and tslearn."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import cluster
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

import timelike as tl
from timelike.cluster import faster_pam
from toys import AllAlike

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it asks for h5py, which nothing here needs
    from tslearn.clustering import TimeSeriesKMeans


@pytest.fixture
def gestures():
    """Three shapes at different speeds, ten of each."""
    rng = np.random.default_rng(0)
    shapes = [lambda t: np.sin(6 * t), lambda t: 3 * t, lambda t: np.exp(-(((t - 0.5) / 0.1) ** 2)) * 3]
    items = [shapes[i % 3](np.linspace(0, 1, int(rng.integers(20, 30))) ** rng.uniform(0.7, 1.4)) for i in range(30)]
    return tl.Sequences([x + rng.normal(0, 0.05, len(x)) for x in items], labels=np.arange(30) % 3)


@pytest.mark.parametrize("init", ["k-medoids++", "random", "build"])
def test_medoids_are_as_good_as_the_best_of_all_choices(init):
    rng = np.random.default_rng(1)
    for k in (1, 2, 3, 9):
        items = rng.standard_normal((9, 5))
        distances = tl.DTW().pairwise(items)
        best = min(distances[:, list(chosen)].min(axis=1).sum() for chosen in itertools.combinations(range(9), k))
        found = tl.KMedoids(k, init=init, n_init=10, random_state=0).fit(items)
        assert found.inertia_ == pytest.approx(best, rel=0.02 if init == "build" else 1e-12)
        assert found.inertia_ == pytest.approx(distances[:, found.medoid_indices_].min(axis=1).sum())
        assert len(set(found.medoid_indices_.tolist())) == len(set(found.labels_.tolist())) == k


@settings(max_examples=60)
@given(st.integers(3, 12), st.data())
def test_no_single_exchange_improves_on_what_is_found(n_items, data):
    k = data.draw(st.integers(2, n_items - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    distances = rng.integers(0, 6, (n_items, n_items)).astype(float)  # ties, and no symmetry
    np.fill_diagonal(distances, 0)
    found = faster_pam.swap_medoids(
        distances, faster_pam.init_medoids(distances, k, "random", np.random.RandomState(0)), 100
    )
    assert found.inertia == distances[:, found.medoids].min(axis=1).sum()
    for place, other in itertools.product(range(k), range(n_items)):
        exchanged = found.medoids.copy()
        exchanged[place] = other
        assert distances[:, exchanged].min(axis=1).sum() >= found.inertia


@pytest.mark.parametrize("kind", [tl.KMedoids, tl.KMeans])
def test_shapes_are_told_apart_at_any_speed(kind, gestures):
    found = kind(3, n_init=3, random_state=0).fit(gestures)
    assert adjusted_rand_score(gestures.labels, found.labels_) == 1
    np.testing.assert_array_equal(found.predict(gestures), found.labels_)
    np.testing.assert_array_equal(clone(found).fit_predict(gestures), found.labels_)


def test_on_single_samples_it_is_ordinary_k_means():
    rng = np.random.default_rng(2)
    points = rng.standard_normal((60, 4))
    start = points[:5]
    ours = tl.KMeans(5, init=start[:, None, :], max_iter=100, tolerance=0.0).fit(points[:, None, :])
    theirs = cluster.KMeans(5, init=start, n_init=1, algorithm="lloyd", tol=0.0).fit(points)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(np.concatenate(ours.cluster_centers_), theirs.cluster_centers_, rtol=1e-12)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-12)


def test_the_inertia_is_about_that_of_tslearn():
    train, _ = tl.load("GunPoint")
    short = train.resample(40)
    start = short[[0, 7, 20]]
    theirs = TimeSeriesKMeans(3, metric="dtw", init=start.pad().values, max_iter=20, max_iter_barycenter=20).fit(
        short.pad().values
    )
    ours = tl.KMeans(3, init=start, max_iter=20, barycenter_iter=20).fit(short)
    assert ours.inertia_ <= 1.05 * theirs.inertia_ * len(short)  # theirs is a mean
    assert ours.inertia_ == pytest.approx(tl.DTW().pairwise(short, ours.cluster_centers_).min(axis=1).sum())


def test_no_cluster_is_empty_even_when_all_sequences_are_the_same():
    same = np.ones((6, 4))
    for kind in (tl.KMedoids, tl.KMeans):
        assert sorted(set(kind(4, random_state=0).fit(same).labels_.tolist())) == [0, 1, 2, 3]
    far = tl.KMeans(2, init=[[0.0, 0.0], [99.0, 99.0]]).fit([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    assert far.labels_.tolist() == [0, 0, 1]  # the farthest took the place of the center nobody was near


def test_centers_have_the_length_that_is_asked_for(gestures):
    found = tl.KMeans(3, length=17, random_state=0, max_iter=5).fit(gestures)
    assert {center.shape for center in found.cluster_centers_} == {(17, 1)}
    one = tl.KMeans(1, random_state=0).fit(gestures)
    assert one.labels_.tolist() == [0] * 30
    assert all(np.isfinite(one.cluster_centers_[0]))


@pytest.mark.parametrize("kind", [tl.KMedoids, tl.KMeans])
def test_the_seed_decides_and_parameters_reach_the_metric(kind, gestures):
    runs = [kind(4, random_state=3, n_init=1, max_iter=3).fit(gestures) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].labels_, runs[1].labels_)
    assert kind(3).set_params(metric__window=0.5).metric == tl.DTW(window=0.5)
    assert clone(kind(3, metric=tl.DTW(window=0.5))).get_params()["metric__window"] == 0.5


def test_a_grid_search_may_choose_the_number_of_clusters(gestures):
    def score(model, X, y=None):
        return -tl.DTW().pairwise(X, model.medoids_).min(axis=1).sum()

    search = GridSearchCV(tl.KMedoids(random_state=0), {"k": [1, 3]}, scoring=score, cv=3).fit(gestures)
    assert search.best_params_ == {"k": 3}


@pytest.mark.parametrize("kind", [tl.KMedoids, tl.KMeans])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 31}, "k=31: expected at most the number of sequences, n_samples = 30"),
        ({"k": 0}, "k=0: expected at least 1"),
        ({"n_init": 0}, "n_init=0: expected at least 1"),
        ({"max_iter": 0}, "max_iter=0: expected at least 1"),
        ({"init": "best"}, "init='best': expected one of 'k-me"),
        ({"init": [[1.0], [2.0], [3.0]]}, "init"),
        ({"metric": "cosine"}, "metric='cosine': expected a Metric"),
    ],
)
def test_bad_options_are_named(kind, options, words, gestures):
    with pytest.raises(ValueError, match=words):
        kind(**{"k": 2} | options).fit(gestures)


def test_bad_input_is_named(gestures):
    with pytest.raises(TypeError, match="expected an Aligner such as timelike.DTW"):
        tl.KMeans(2, metric=AllAlike()).fit(gestures)
    with pytest.raises(ValueError, match=r"init=\[0, 0\]: expected 2 different positions"):
        tl.KMedoids(2, init=[0, 0]).fit(gestures)
    with pytest.raises(ValueError, match=r"init=\[0, 30\]: expected positions from 0 to 29"):
        tl.KMedoids(2, init=[0, 30]).fit(gestures)
    with pytest.raises(ValueError, match="X: sequence 1 is missing"):
        tl.KMeans(1).fit([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="window=1 admits no path"):
        tl.KMeans(2, metric=tl.DTW(window=1)).fit(gestures)


@pytest.mark.parametrize("kind", [tl.KMeans, tl.KMedoids, tl.cluster.Agglomerative, tl.cluster.Spectral])
def test_n_clusters_is_k(kind):
    assert kind(n_clusters=3).get_params(deep=False) == kind(3).get_params(deep=False)
    assert kind().set_params(n_clusters=2).k == 2
    with pytest.raises(TypeError, match="k=8 and n_clusters=3 are two names of one option"):
        kind(8, n_clusters=3)

"""Maps of collections: places are those of PCA or classical scaling, neighbours those of the metric."""

import re

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import timelike as tl
from timelike.encode import embedding_map


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[np.arange(36) % 3]
    values = rng.normal(size=(36, 15)).cumsum(axis=1) + 4 * (np.arange(36) % 3)[:, None]
    return tl.Sequences(values, labels=labels)


@pytest.fixture(scope="module")
def encoder(X):
    return tl.Rocket(n_features=84, random_state=0).fit(X)


def kept_share(distances, places):
    """With scikit-learn's searches, of both."""
    near = NearestNeighbors(n_neighbors=10, metric="precomputed").fit(distances).kneighbors(return_distance=False)
    on_map = NearestNeighbors(n_neighbors=10).fit(places).kneighbors(return_distance=False)
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near.tolist(), on_map.tolist(), strict=True)])


def test_the_note_says_how_many_neighbours_the_map_keeps(X, encoder):
    found = embedding_map(encoder, X, tsne=True)
    distances = encoder.pairwise(X)
    for view in found.views:
        assert f"it keeps {kept_share(distances, view.places):.0%} on average" in view.note
    assert [view.name for view in found.views] == ["PCA", "t-SNE"]


def test_the_distances_of_a_metric_are_kept_where_the_plane_has_room_for_them():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(9, 1, 2))
    found = embedding_map(tl.Euclidean(), tl.Sequences(points))
    places = found.views[0].places
    np.testing.assert_allclose(cdist(places, places), cdist(points[:, 0], points[:, 0]), atol=1e-9)
    assert "100% on average" in found.views[0].note


def test_neighbours_are_the_nearest_others(X, encoder):
    found = embedding_map(encoder, X)
    distances = encoder.pairwise(X) + np.diag([np.inf] * len(X))
    np.testing.assert_array_equal(found.neighbors, np.argsort(distances, axis=1, kind="stable")[:, :5])


def test_a_map_draws_itself_and_shows_answers(X, encoder):
    answers = X.labels.copy()
    answers[4] = "c"
    found = embedding_map(encoder, X, answers=answers)
    assert found.plot().axes[0].get_title() == "36 sequences, Rocket, PCA"
    html = found._repr_html_()
    assert '"wrong":[4]' in html
    assert 'aria-label="Map of 36 sequences, Rocket of 3 classes' in html
    assert len(re.findall(r"data-i=", html)) == 36
    assert repr(found).startswith("EmbeddingMap(36 sequences, Rocket; PCA: its directions have")


def test_numbers_are_facts_and_not_classes(X, encoder):
    html = embedding_map(encoder, X.replace(labels=np.linspace(0, 1, 36), class_names=None))._repr_html_()
    assert '"classes":[]' in html
    assert '["label",["0","0.0285714"' in html


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_sequences_have_a_map_too(X, encoder, n):
    found = embedding_map(encoder, X[:n], tsne=True)
    assert found.neighbors.shape == (n, n - 1)
    assert np.isfinite(found.views[0].places).all()
    assert found._repr_html_().count("data-i=") == n


def test_what_cannot_be_mapped_is_refused(X, encoder):
    with pytest.raises(TypeError, match="expected a metric or an encoder"):
        embedding_map("dtw", X)
    with pytest.raises(ValueError, match="X holds 0 sequences: expected 1 to 4000"):
        embedding_map(encoder, X[:0])
    with pytest.raises(ValueError, match=r"answers has shape \(2,\) for 36 sequences"):
        embedding_map(encoder, X, answers=["a", "b"])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_distances_that_are_not_finite_are_refused(X, value):
    distances = np.ones((len(X), len(X)))
    distances[2, 5] = value
    with pytest.raises(ValueError, match=rf"distances\[2, 5\] is {value}: expected finite"):
        embedding_map(tl.Euclidean(), X, distances=distances)

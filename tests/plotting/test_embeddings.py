"""Vectors as maps: the two main directions against scikit-learn, classes told apart, and whatever the user brings."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from tests.plotting.contrast import WORDS, contrast, names, unseen

import timelike as tl
from timelike.plotting import embeddings


def encoder_and(X):
    return tl.Rocket(n_features=84, random_state=0).fit(X), X


@pytest.fixture
def waves():
    rng = np.random.default_rng(0)
    kinds = np.array(["slow", "fast", "both"])[np.arange(18) % 3]
    X = [np.sin(np.arange(30) * {"slow": 0.3, "fast": 1.0, "both": 0.6}[k]) + 0.1 * rng.normal(size=30) for k in kinds]
    return tl.Sequences(X, labels=kinds)


@pytest.mark.parametrize("shape", [(20, 7), (5, 40), (3, 2), (2, 9)])
def test_directions_are_those_of_the_largest_variance(shape):
    vectors = np.random.default_rng(1).normal(size=shape) * np.arange(1, shape[1] + 1)
    places, shares = embeddings.principal_components(vectors)
    known = PCA(2).fit(vectors)
    expected = known.transform(vectors)
    for axis in range(2):
        close = [np.allclose(places[:, axis], sign * expected[:, axis], atol=1e-8) for sign in (1, -1)]
        assert any(close)
    np.testing.assert_allclose(shares, known.explained_variance_ratio_, atol=1e-12)


def test_a_map_does_not_turn_over_with_the_order_of_items():
    vectors = np.random.default_rng(2).normal(size=(12, 5))
    order = np.random.default_rng(3).permutation(12)
    np.testing.assert_allclose(
        embeddings.principal_components(vectors[order])[0], embeddings.principal_components(vectors)[0][order]
    )


@pytest.mark.parametrize("vectors", [np.ones((1, 4)), np.ones((5, 3)), np.arange(4.0)[:, None]])
def test_few_equal_and_narrow_vectors_have_places_too(vectors):
    places, shares = embeddings.principal_components(vectors)
    assert places.shape == (len(vectors), 2)
    assert np.isfinite(places).all()
    assert np.isfinite(shares).all()
    embeddings.plot_points(places).canvas.draw()


def test_classes_have_colours_and_names(waves):
    encoder, X = encoder_and(waves)
    figure = encoder.plot(X)
    axes = figure.axes[0]
    assert names(figure) == ["both", "fast", "slow"]
    assert [len(points.get_offsets()) for points in axes.collections] == [6, 6, 6]
    assert len({tuple(points.get_facecolor()[0]) for points in axes.collections}) == 3
    assert axes.get_xlabel().startswith("direction 1, ")
    assert axes.get_title() == "18 sequences, Rocket"
    drawn = np.concatenate([points.get_offsets() for points in axes.collections])
    squares = encoder.pairwise(X[np.argsort(X.labels, kind="stable")]) ** 2
    centre = np.eye(18) - 1 / 18
    sizes, directions = np.linalg.eigh(
        -centre @ squares @ centre / 2
    )  # classical scaling: of distances, not of vectors
    expected = (directions * np.sqrt(np.maximum(sizes, 0)))[:, [-1, -2]]
    np.testing.assert_allclose(np.abs(drawn), np.abs(expected), atol=1e-6)


def test_other_labels_numbers_and_none_at_all(waves):
    encoder, X = encoder_and(waves)
    assert names(encoder.plot(X, ["$a$"] * 9 + ["b"] * 9)) == [r"\$a\$", "b"]
    shaded = encoder.plot(X, np.linspace(0, 1, 18))
    assert len(shaded.axes) == 2  # a bar for the shades
    np.testing.assert_array_equal(shaded.axes[0].collections[0].get_array(), np.linspace(0, 1, 18))
    assert names(encoder.plot(X.replace(labels=None, class_names=None))) == []
    with pytest.raises(ValueError, match="y has shape"):
        encoder.plot(X, [1, 2])


def test_more_classes_than_colours_have_shapes_and_more_than_these_are_grey():
    places = np.random.default_rng(0).normal(size=(60, 2))
    figure = embeddings.plot_points(places, np.arange(60))
    looks = [
        (tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes()) for one in figure.axes[0].collections
    ]
    assert len(set(looks)) == len(looks) == 49
    assert names(figure)[-1] == "12 more"
    assert sum(len(one.get_offsets()) for one in figure.axes[0].collections) == 60


def test_centres_are_named_stars_in_the_colour_of_their_class():
    places = np.arange(12.0).reshape(6, 2)
    centers = np.array([[5.0, 5], [1, 1], [9, 9]]), np.array(["b", "a", "new"])
    for dark in (False, True):
        figure = embeddings.plot_points(places, np.array(list("aaabbb")), centers=centers, dark=dark)
        axes, looks = figure.axes[0], {}
        for one in (points for points in axes.collections if len(points.get_offsets())):
            looks[tuple(one.get_offsets()[0].tolist())] = tuple(one.get_facecolor()[0, :3])
        assert looks[1.0, 1.0] == looks[0.0, 1.0] != looks[5.0, 5.0] == looks[6.0, 7.0]
        assert {words.get_text(): words.xy for words in axes.texts} == {"a": (1, 1), "b": (5, 5), "new": (9, 9)}
        assert names(figure) == ["a", "b", "new"]
        assert unseen(figure) == []
        assert all(contrast(words.get_color(), axes.get_facecolor()) > WORDS for words in axes.texts)


def test_many_centres_have_no_names():
    centers = np.zeros((30, 2)), np.arange(30)
    assert not embeddings.plot_points(np.zeros((30, 2)), np.arange(30), centers=centers).axes[0].texts


def test_whatever_brings_vectors_to_the_plane_will_do(waves):
    class First:
        def fit_transform(self, vectors):
            self.seen = vectors
            return vectors[:, :2]

    encoder, X = encoder_and(waves)
    reducer = First()
    axes = encoder.plot(X, reducer=reducer).axes[0]
    np.testing.assert_allclose(cdist(reducer.seen, reducer.seen), encoder.pairwise(X), atol=1e-9)  # as compared
    assert axes.get_xlabel() == ""
    drawn = np.concatenate([points.get_offsets() for points in axes.collections])
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(reducer.seen[:, 0]))


def test_what_does_not_is_refused(waves):
    class Wide:
        def fit_transform(self, vectors):
            return vectors[:, :3]

    encoder, X = encoder_and(waves)
    with pytest.raises(ValueError, match=r"returned an array \(18, 3\): expected \(18, 2\)"):
        encoder.plot(X, reducer=Wide())
    for wrong in ("pca", Wide):
        with pytest.raises(TypeError, match="expected None, or an object with fit_transform"):
            encoder.plot(X, reducer=wrong)
    with pytest.raises(ValueError, match="at least one"):
        encoder.plot(X[:0])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_maps_are_seen_on_light_and_dark(waves, dark, labelled):
    encoder, X = encoder_and(waves)
    assert unseen(encoder.plot(X, None if labelled else np.arange(18) / 2, dark=dark)) == []

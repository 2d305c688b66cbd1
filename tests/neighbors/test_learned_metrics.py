"""Metrics that learn, inside the estimators that compare with them."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

import timelike as tl
from timelike.align import gallery

SMALL = {"n_features": 6, "channels": 4, "depth": 2, "reduced_size": 5, "max_steps": 3, "random_state": 0}
SMALL |= {"geometry": "euclidean"}  # as that of the peers
HOLDERS = [
    tl.Neighbors,
    tl.NeighborsRegressor,
    lambda metric: tl.KMedoids(2, metric=metric),
    tl.neighbors.ElasticKernel,
]


def alike(part, given, sequences):
    """A copy of what was given, with all that it learned."""
    return part is not given and np.array_equal(part.encode(sequences), given.encode(sequences))


@pytest.fixture
def waves():
    """Two classes that differ in frequency, hard enough for an encoder that is hardly trained."""
    rng = np.random.default_rng(1)
    labels = np.arange(30) % 2
    wave = np.sin(np.where(labels, 0.9, 0.6)[:, None] * np.arange(16) + rng.uniform(0, 6, (30, 1)))
    return tl.Sequences(wave + rng.normal(0, 0.5, wave.shape), labels=labels)


@pytest.fixture
def encoder(waves):
    return tl.CausalEncoder(**SMALL).fit(waves[:10])


@pytest.fixture
def never_fitted(monkeypatch, encoder):
    """The fitted encoder; from here on fitting any is an error."""
    monkeypatch.setattr(tl.CausalEncoder, "fit", lambda *_: pytest.fail("an encoder was fitted"))
    return encoder


def weights(encoder):
    return copy.deepcopy(encoder.network_.state_dict())


def assert_unchanged(encoder, before):
    after = encoder.network_.state_dict()
    assert before.keys() == after.keys()
    for name, tensor in before.items():
        np.testing.assert_array_equal(tensor.numpy(), after[name].numpy())


@pytest.mark.learn
@pytest.mark.parametrize("holder", HOLDERS)
def test_a_copy_keeps_what_the_metric_has_learned(holder, waves, never_fitted):
    model = holder(never_fitted)
    for again in (clone(model), clone(clone(model).fit(waves)), clone(make_pipeline(model))[0]):
        assert again.metric is never_fitted
        assert not hasattr(again, "metric_")
        assert alike(again.fit(waves).metric_, never_fitted, waves)


@pytest.mark.learn
def test_a_combination_of_fitted_encoders_is_fitted(waves, never_fitted):
    both = tl.encode.combine([never_fitted, never_fitted])
    assert alike(clone(tl.Neighbors(both)).fit(waves).metric_, both, waves)


@pytest.mark.learn
def test_cross_validation_uses_a_fitted_encoder_as_it_is(waves, never_fitted):
    before, vectors, folds = weights(never_fitted), never_fitted.encode(waves), KFold(3)
    found = cross_val_score(tl.Neighbors(never_fitted, k=3), waves, waves.labels, cv=folds)
    peer = cross_val_score(KNeighborsClassifier(3), vectors, waves.labels, cv=folds)
    np.testing.assert_allclose(found, peer)
    assert found.min() < 1  # else any encoder would do
    steps = make_pipeline(FunctionTransformer(lambda s: s), tl.Neighbors(never_fitted, k=3))
    np.testing.assert_allclose(cross_val_score(steps, waves, waves.labels, cv=folds), peer)
    assert_unchanged(never_fitted, before)


@pytest.mark.learn
def test_grid_search_over_other_parameters_keeps_the_encoder(waves, never_fitted):
    search = GridSearchCV(tl.Neighbors(never_fitted), {"k": [1, 3]}, cv=3).fit(waves, waves.labels)
    peer = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=3)
    peer.fit(never_fitted.encode(waves), waves.labels)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"])
    assert alike(search.best_estimator_.metric_, never_fitted, waves)


@pytest.mark.learn
@pytest.mark.parametrize("holder", HOLDERS)
def test_an_encoder_that_is_not_fitted_is_fitted_as_a_copy(holder, waves):
    given = tl.CausalEncoder(**SMALL)
    model = holder(given).fit(waves)
    assert not given.__sklearn_is_fitted__()
    np.testing.assert_array_equal(model.metric_.encode(waves), tl.CausalEncoder(**SMALL).fit(waves).encode(waves))
    first = model.metric_
    assert model.fit(waves[:20]).metric_ is not first  # fitted anew, as everything that fit learns


@pytest.mark.learn
def test_every_fold_fits_its_own_encoder(waves):
    folds = KFold(3)
    found = cross_val_predict(tl.Neighbors(tl.CausalEncoder(**SMALL)), waves, waves.labels, cv=folds)
    for rows, asked in folds.split(waves):
        own = tl.CausalEncoder(**SMALL).fit(waves[rows])
        peer = KNeighborsClassifier(1).fit(own.encode(waves[rows]), waves.labels[rows])
        np.testing.assert_array_equal(found[asked], peer.predict(own.encode(waves[asked])))


class Taught(BaseEstimator, tl.align.Metric):
    """Needs labels; remembers what it was given."""

    def __init__(self, *, scale=1.0):
        self.scale = scale

    def fit(self, X, y):
        self.lesson_ = X, y
        return self

    def _fill_matrix(self, x, y, out, threads, report):
        tl.Euclidean()._fill_matrix(x, y, out, threads, report)
        out *= self.scale


def test_a_supervised_metric_is_given_the_targets(waves):
    other = 1 - waves.labels
    for holder in (tl.Neighbors, tl.NeighborsRegressor, tl.neighbors.ElasticKernel):
        X, y = holder(Taught()).fit(waves, other).metric_.lesson_
        assert X.equals(waves)
        np.testing.assert_array_equal(y, other)
    for holder in (tl.Neighbors, tl.NeighborsRegressor):  # those that X carries
        np.testing.assert_array_equal(holder(Taught()).fit(waves).metric_.lesson_[1], waves.labels)
    steps = make_pipeline(tl.neighbors.ElasticKernel(Taught()), SVC(kernel="precomputed"))
    np.testing.assert_array_equal(steps.fit(waves, other)[0].metric_.lesson_[1], other)


@pytest.mark.learn
def test_clustering_fits_an_encoder(waves):
    assert tl.KMedoids(2, metric=tl.CausalEncoder(**SMALL)).fit(waves, waves.labels).metric_.__sklearn_is_fitted__()


def test_clustering_gives_no_labels(waves):
    with pytest.raises(TypeError, match="'y'"):
        tl.KMedoids(2, metric=Taught()).fit(waves, waves.labels)


@pytest.mark.learn
def test_options_of_an_encoder_are_parameters(waves):
    model = tl.Neighbors(tl.CausalEncoder(**SMALL))
    assert model.get_params()["metric__n_features"] == 6
    search = GridSearchCV(model, {"metric__n_features": [4, 5]}, cv=2).fit(waves, waves.labels)
    assert search.best_estimator_.metric_.encode(waves).shape == (30, search.best_params_["metric__n_features"])
    assert model.metric.n_features == 6


@pytest.mark.learn
def test_another_option_means_another_encoder(waves, encoder):
    before = weights(encoder)
    model = tl.Neighbors(encoder).set_params(metric__n_features=4)
    assert not model.metric.__sklearn_is_fitted__()
    assert model.fit(waves).metric_.encode(waves).shape == (30, 4)
    assert encoder.n_features == 6
    assert_unchanged(encoder, before)
    same = tl.Neighbors(encoder)
    assert same.set_params(**same.get_params()).metric is encoder
    assert same.set_params(metric__n_features=6, k=2).metric is encoder


@pytest.mark.learn
def test_a_frozen_encoder_can_be_one_of_a_grid(waves, never_fitted):
    grid = {"metric": [FrozenEstimator(never_fitted), tl.DTW()]}
    search = GridSearchCV(tl.Neighbors(), grid, cv=3).fit(waves, waves.labels)
    peer = cross_val_score(KNeighborsClassifier(1), never_fitted.encode(waves), waves.labels, cv=3)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(peer.mean())
    assert alike(tl.Neighbors(FrozenEstimator(never_fitted)).fit(waves).metric_, never_fitted, waves)


@pytest.mark.learn
def test_nothing_is_trained_before_everything_is_checked(waves, monkeypatch):
    monkeypatch.setattr(tl.CausalEncoder, "fit", lambda *_: pytest.fail("an encoder was fitted"))
    fresh = tl.CausalEncoder(**SMALL)
    for call in (
        lambda: tl.Neighbors(fresh, k=31).fit(waves),
        lambda: tl.Neighbors(fresh).fit(waves, np.linspace(0, 1, 30)),
        lambda: tl.Neighbors(fresh, select_window=True).fit(waves),
        lambda: tl.NeighborsRegressor(fresh).fit(waves, ["word"] * 30),
        lambda: tl.KMedoids(2, metric=fresh, init="wild").fit(waves),
    ):
        with pytest.raises(ValueError, match="k=31|Unknown label type|no window|expected numbers|init='wild'"):
            call()
    with pytest.raises(TypeError, match="expected an Aligner"):
        tl.KMeans(2, metric=fresh).fit(waves)


@pytest.mark.learn
def test_what_cannot_be_is_said(waves, encoder, tmp_path):
    with pytest.raises(NotFittedError):
        tl.Neighbors(FrozenEstimator(tl.CausalEncoder(**SMALL))).fit(waves)
    with pytest.raises(ValueError, match="metric is frozen, so its option 'n_features' cannot change"):
        tl.Neighbors(FrozenEstimator(encoder)).set_params(metric__n_features=3)
    with pytest.raises(
        ValueError, match="metric has no option 'wibble': CausalEncoder has channels, depth, geometry, "
    ):
        tl.Neighbors(encoder).set_params(metric__wibble=3)
    with pytest.raises(ValueError, match="metric has no option 'window__x': DTW has window, "):
        tl.Neighbors().set_params(metric__window__x=3)
    resuming = tl.CausalEncoder(**SMALL, trainer=tl.Trainer(checkpoint=tmp_path / "run"))
    once = tl.Neighbors(resuming).fit(waves)
    with pytest.raises(ValueError, match="has other sequences: it belongs to another training, so give another folder"):
        tl.Neighbors(resuming).fit(waves[:20])
    np.testing.assert_array_equal(tl.Neighbors(resuming).fit(waves).metric_.encode(waves), once.metric_.encode(waves))
    assert alike(tl.Neighbors(resuming.fit(waves)).fit(waves).metric_, resuming, waves)


@pytest.mark.learn
@pytest.mark.parametrize("holder", HOLDERS[:2])
def test_known_sequences_are_encoded_once(holder, waves, encoder, monkeypatch):
    model = holder(encoder, k=2).fit(waves)
    expected = encoder.neighbors(waves, waves[:7], k=2)
    seen = []
    real = tl.CausalEncoder._encode
    monkeypatch.setattr(tl.CausalEncoder, "_encode", lambda self, s, n: seen.append(len(s)) or real(self, s, n))
    found = model.kneighbors(waves[:7])
    model.predict(waves[:3])
    assert seen == [7, 3]
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)
    with pytest.raises(ValueError, match="k=31: expected 1 to 30"):
        model.kneighbors(waves, k=31)
    with pytest.raises(ValueError, match="X has frames of shape"):
        model.kneighbors(np.zeros((2, 5, 3)))


@pytest.mark.learn
def test_a_search_in_blocks_encodes_the_collection_once(waves, encoder, monkeypatch):
    vectors = encoder.encode(waves).astype(float)
    expected = np.linalg.norm(vectors[:, None] - vectors, axis=2).argsort(axis=1, kind="stable")[:, :3]
    monkeypatch.setattr(gallery, "_BLOCK_DISTANCES", 4 * len(waves))
    seen = []
    real = tl.CausalEncoder._encode
    monkeypatch.setattr(tl.CausalEncoder, "_encode", lambda self, s, n: seen.append(len(s)) or real(self, s, n))
    np.testing.assert_array_equal(encoder.neighbors(waves, waves, k=3).ids, expected)
    assert seen == [30, 30]
    np.testing.assert_array_equal(encoder.prepare_gallery(waves).neighbors(waves, k=3).ids, expected)


@pytest.mark.learn
def test_an_encoder_fitted_again_does_not_mix_its_vectors_with_those_known(waves, encoder):
    model = tl.Neighbors(encoder).fit(waves)
    before = model.kneighbors(waves, k=3)
    encoder.set_params(random_state=5).fit(waves)
    np.testing.assert_array_equal(model.kneighbors(waves, k=3).ids, before.ids)

"""How vectors are compared: by Euclidean distance or by direction; and vectors that are standardized or whitened."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import timelike as tl
from timelike.encode import Encoder
from timelike.encode.base import normalize_vectors
from timelike.encode.whitening import Whitener

SMALL = {"n_features": 6, "channels": 4, "depth": 3, "reduced_size": 5, "max_steps": 3, "random_state": 0}


@pytest.fixture
def far():
    """Other sequences than were fitted on."""
    rng = np.random.default_rng(7)
    return tl.Sequences([rng.standard_normal((n, 2)) for n in (4, 11, 2)])


@pytest.fixture(params=["rocket", pytest.param("causal", marks=pytest.mark.learn)])
def made(request):
    """What makes an encoder that compares as it is told."""
    if request.param == "rocket":
        return lambda how: tl.encode.CombinedEncoder([tl.Rocket(n_features=300, random_state=0)], geometry=how)
    return lambda how: tl.CausalEncoder(geometry=how, **SMALL)


def chordal(u, v):
    return np.sqrt(np.maximum(2 * cdist(u.astype(float), v.astype(float), "cosine"), 0))


@pytest.mark.parametrize("combined", [False, True])
def test_by_cosine_every_verb_takes_the_distance_of_directions(ragged, far, combined, made):
    encoder = made("cosine").fit(ragged)
    encoder = tl.encode.CombinedEncoder([encoder, encoder], geometry="cosine").fit(ragged) if combined else encoder
    expected = chordal(encoder.encode(far), encoder.encode(ragged))
    np.testing.assert_allclose(encoder.pairwise(far, ragged), expected, atol=1e-6)
    np.testing.assert_allclose(encoder.distance(far[1], ragged[3]), expected[1, 3], atol=1e-6)
    for found in (encoder.neighbors(ragged, far, k=3), encoder.prepare_gallery(ragged).neighbors(far, k=3)):
        np.testing.assert_array_equal(found.ids, np.argsort(expected, axis=1)[:, :3])
        np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :3], atol=1e-6)


def test_both_geometries_compare_the_same_vectors_and_are_chosen_at_any_time(ragged, far, made, tmp_path):
    encoder = made("euclidean").fit(ragged)
    vectors = encoder.encode(far).astype(float)
    np.testing.assert_allclose(encoder.pairwise(far), cdist(vectors, vectors), atol=1e-6)
    encoder.set_params(geometry="cosine").save(tmp_path / "model")
    np.testing.assert_array_equal(encoder.encode(far), vectors.astype(np.float32))
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.pairwise(far), encoder.pairwise(far))
    np.testing.assert_allclose(again.pairwise(far), chordal(vectors, vectors), atol=1e-6)


def test_the_distance_of_directions_is_a_metric_with_zeros_among_them():
    rng = np.random.default_rng(0)
    u = np.vstack([rng.standard_normal((20, 4)) * 10.0 ** rng.integers(-200, 200, (20, 1)), np.zeros((2, 4))])
    apart = cdist(normalize_vectors(u), normalize_vectors(u))
    assert (apart[:, :, None] <= apart[:, None] + apart.T[None] + 1e-12).all()
    np.testing.assert_allclose(apart[-1], [1.0] * 20 + [0.0, 0.0])
    np.testing.assert_allclose(np.linalg.norm(normalize_vectors(u)[:20], axis=1), 1.0)


def test_an_encoder_without_the_option_compares_by_euclidean_distance():
    class Means(Encoder):
        def __init__(self):
            pass

        def fit(self, X, y=None):
            with self._atomic_fit():
                self._validate_fit_input(X)
            return self

        def _encode(self, sequences, threads):
            return np.array([x.mean(axis=0) for x in sequences], np.float32)

        def stream(self):
            raise NotImplementedError

    X = tl.Sequences([[[3.0, 4.0]], [[6.0, 8.0]], [[0.0, 0.0]]])
    np.testing.assert_allclose(Means().fit(X).pairwise(X), [[0, 5, 5], [5, 0, 10], [5, 10, 0]])


@pytest.mark.learn
@pytest.mark.parametrize("kind", ["causal", "lstm", "frames"])
@pytest.mark.parametrize("how", ["standardized", "whitened"])
def test_spread_vectors_stream_save_and_do_not_mind_company(kind, how, ragged, images, tmp_path):
    short = {name: SMALL[name] for name in ("n_features", "max_steps", "random_state")}
    encoder, data = {
        "causal": (tl.CausalEncoder(vectors=how, **SMALL), ragged),
        "lstm": (tl.RecurrentEncoder(vectors=how, hidden=5, **short), ragged),
        "frames": (tl.encode.FrameEncoder(vectors=how, filters=3, n_frame_features=4, **SMALL), images),
    }[kind]
    vectors = encoder.fit(data).encode(data)
    np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-4)
    for i in range(len(data)):
        np.testing.assert_array_equal(encoder.encode(data[[i]])[0], vectors[i])
    x, stream = np.asarray(data[0]), encoder.stream()
    for t in range(len(x)):
        np.testing.assert_allclose(stream.push(x[t]), encoder.encode([x[: t + 1]])[0], rtol=1e-3, atol=1e-3)
    assert stream.n_samples == len(x)
    encoder.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").encode(data), vectors)


@pytest.mark.learn
def test_standardized_vectors_have_deviation_one_where_they_change(waves):
    encoder = tl.CausalEncoder(vectors="standardized", **SMALL).fit(waves)
    np.testing.assert_allclose(encoder.encode(waves).std(axis=0), 1.0, rtol=1e-3)
    plain = tl.CausalEncoder(**SMALL).fit(waves)
    raw = plain.encode(waves).astype(float)
    np.testing.assert_allclose(encoder.encode(waves), (raw - raw.mean(0)) / raw.std(0), atol=1e-3)


def test_whitening_is_the_root_of_the_inverse_of_a_shrunk_covariance():
    from sklearn.covariance import LedoitWolf

    vectors = np.random.default_rng(0).standard_normal((9, 5)) @ np.diag([1, 2, 3, 4, 9]) + 5
    spread = Whitener.from_vectors(vectors, "whitened")
    covariance = LedoitWolf().fit(vectors).covariance_
    np.testing.assert_allclose(spread.matrix @ covariance @ spread.matrix, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(spread.matrix, spread.matrix.T)


@pytest.mark.parametrize("how", ["standardized", "whitened"])
@pytest.mark.parametrize("count", [1, 2])
def test_vectors_that_do_not_differ_are_only_centred(how, count):
    vectors = np.full((count, 3), 4.0)
    found = Whitener.from_vectors(vectors, how).transform(vectors + np.array([0, 1, 0]))
    np.testing.assert_allclose(found, [[0, 1, 0]] * count)


@pytest.mark.learn
@pytest.mark.parametrize("how", ["standardized", "whitened"])
def test_what_is_exported_is_spread_too(how, ragged, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    encoder = tl.CausalEncoder(vectors=how, **SMALL).fit(ragged)
    encoder.export_onnx(tmp_path / "encoder.onnx")
    session = runtime.InferenceSession(tmp_path / "encoder.onnx", providers=["CPUExecutionProvider"])
    x = np.random.default_rng(0).standard_normal((3, 14, 2)).astype(np.float32)
    (found,) = session.run(None, {"x": x})
    np.testing.assert_allclose(found, encoder.encode(x), rtol=1e-3, atol=1e-3)

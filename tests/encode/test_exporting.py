"""The ONNX graphs give the vectors of the encoders."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl

SMALL = {"n_features": 6, "channels": 4, "depth": 3, "reduced": 5, "n_negatives": 2, "max_steps": 4, "random_state": 0}
SHAPES = ((1, 1), (3, 2), (2, 7), (5, 40), (1, 300))


def session(encoder, path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    encoder.export_onnx(path)
    return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("standardize", [True, False])
def test_the_graph_gives_the_same_vectors_for_any_length_and_number(ragged, tmp_path, standardize):
    encoder = tl.CausalEncoder(standardize=standardize, **SMALL).fit(ragged)
    graph = session(encoder, tmp_path / "encoder.onnx")
    rng = np.random.default_rng(0)
    for item, time in SHAPES:
        x = (rng.standard_normal((item, time, 2)) + 3).astype(np.float32)
        (found,) = graph.run(None, {"x": x})
        np.testing.assert_allclose(found, encoder.encode(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("n_channels", "n_features"), [(1, 7), (2, 500), (12, 1001)])
def test_rocket_has_the_same_bits_in_its_graph(tmp_path, standardize, n_channels, n_features):
    """Whole numbers make many outputs that are just as large as a threshold, which rounding would move beyond it."""
    rng = np.random.default_rng(1)
    X = [rng.integers(-2, 3, (time, n_channels)).astype(float) for time in (30, 9, 50, 41, 1)]
    encoder = tl.Rocket(n_features=n_features, standardize=standardize, random_state=0).fit(X)
    graph = session(encoder, tmp_path / "encoder.onnx")
    for item, time in SHAPES:
        for x in (
            rng.integers(-2, 3, (item, time, n_channels)),
            rng.standard_normal((item, time, n_channels)).cumsum(1),
        ):
            (found,) = graph.run(None, {"x": x.astype(np.float32)})
            np.testing.assert_array_equal(found, encoder.encode(x.astype(np.float32)))


@pytest.mark.parametrize(
    "metric",
    [
        tl.Discriminant(tl.Rocket(n_features=300, random_state=0), random_state=0),
        tl.Discriminant(tl.CausalEncoder(**SMALL), classes="open", random_state=0),
        tl.Whitened(tl.Rocket(n_features=300, random_state=0), random_state=0),
        tl.combine([tl.Rocket(n_features=40, random_state=0), tl.CausalEncoder(**SMALL)]),
    ],
    ids=lambda metric: type(metric).__name__,
)
def test_what_is_made_of_encoders_is_written_as_one_graph(tmp_path, metric):
    rng = np.random.default_rng(2)
    X = [np.sin(np.arange(40 + i) / (2 + i % 3))[:, None] + 0.1 * rng.standard_normal((40 + i, 2)) for i in range(18)]
    metric.fit(X, np.arange(18) % 3)
    graph = session(metric, tmp_path / "metric.onnx")
    for item, time in SHAPES:
        x = rng.standard_normal((item, time, 2)).astype(np.float32)
        (found,) = graph.run(None, {"x": x})
        np.testing.assert_allclose(found, metric.encode(x), rtol=1e-4, atol=1e-4)


def test_frames_of_several_axes_are_flattened(tmp_path):
    x = np.random.default_rng(3).standard_normal((4, 12, 2, 3, 2)).astype(np.float32)
    encoder = tl.Rocket(n_features=100, random_state=0).fit(x)
    (found,) = session(encoder, tmp_path / "encoder.onnx").run(None, {"x": x.reshape(4, 12, -1)})
    np.testing.assert_array_equal(found, encoder.encode(x))


def test_what_is_missing_is_named(ragged, tmp_path, monkeypatch):
    encoder = tl.CausalEncoder(**SMALL)
    with pytest.raises(NotFittedError):
        encoder.export_onnx(tmp_path / "encoder.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install timelike\[onnx\]"):
        encoder.fit(ragged).export_onnx(tmp_path / "encoder.onnx")
    assert not (tmp_path / "encoder.onnx").exists()


def test_an_encoder_without_a_graph_and_a_bad_path_are_refused(ragged, tmp_path):
    pytest.importorskip("onnx")
    for encoder in (tl.StatisticsEncoder(), tl.Whitened(tl.StatisticsEncoder())):
        with pytest.raises(TypeError, match="StatisticsEncoder has no ONNX graph: CausalEncoder, Rocket, and Disc"):
            encoder.fit(ragged).export_onnx(tmp_path / "encoder.onnx")
    rocket = tl.Rocket(n_features=10).fit(ragged)
    for path, error, words in (
        (3, TypeError, "path=3"),
        ("", ValueError, "path=''"),
        (tmp_path / "nowhere" / "x.onnx", FileNotFoundError, "nowhere does not exist"),
        (tmp_path, IsADirectoryError, "is a folder"),
    ):
        with pytest.raises(error, match=words):
            rocket.export_onnx(path)
    assert list(tmp_path.iterdir()) == []

"""The ONNX graphs give the vectors of the encoders."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl
from toys import CAUSAL as SMALL

SHAPES = ((1, 1), (3, 2), (2, 7), (5, 40), (1, 300))


def on_network(make):
    """A parameter of the tests that need torch."""
    return pytest.param(make, marks=pytest.mark.learn)


def session(encoder, path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    encoder.export_onnx(path)
    return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


@pytest.mark.learn
@pytest.mark.parametrize("standardize", [True, False])
def test_the_graph_gives_the_same_vectors_for_any_length_and_number(ragged, tmp_path, standardize):
    encoder = tl.CausalEncoder(standardize=standardize, **SMALL).fit(ragged)
    graph = session(encoder, tmp_path / "encoder.onnx")
    rng = np.random.default_rng(0)
    for item, time in SHAPES:
        x = (rng.standard_normal((item, time, 2)) + 3).astype(np.float32)
        (found,) = graph.run(None, {"x": x})
        np.testing.assert_allclose(found, encoder.encode(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("n_channels", "n_features"), [(1, 7), (2, 500), (12, 1001)])
def test_rocket_has_the_same_bits_in_its_graph(tmp_path, standardize, causal, n_channels, n_features):
    """Whole numbers make many outputs that are just as large as a threshold, which rounding would move beyond it."""
    rng = np.random.default_rng(1)
    X = [rng.integers(-2, 3, (time, n_channels)).astype(float) for time in (30, 9, 50, 41, 1)]
    encoder = tl.Rocket(n_features=n_features, standardize=standardize, causal=causal, random_state=0).fit(X)
    graph = session(encoder, tmp_path / "encoder.onnx")
    for item, time in SHAPES:
        for x in (
            rng.integers(-2, 3, (item, time, n_channels)),
            rng.standard_normal((item, time, n_channels)).cumsum(1),
        ):
            (found,) = graph.run(None, {"x": x.astype(np.float32)})
            np.testing.assert_array_equal(found, encoder.encode(x.astype(np.float32)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tl.Discriminant(tl.Rocket(n_features=300, random_state=0), random_state=0),
        on_network(lambda: tl.Discriminant(tl.CausalEncoder(**SMALL), classes="open", random_state=0)),
        lambda: tl.metric.WhitenedCosine(tl.Rocket(n_features=300, random_state=0), random_state=0),
        on_network(lambda: tl.encode.combine([tl.Rocket(n_features=40, random_state=0), tl.CausalEncoder(**SMALL)])),
        lambda: tl.encode.combine(
            [
                tl.Rocket(n_features=40),
                tl.Rocket(n_features=9),
                tl.encode.StatisticsEncoder(),
                tl.encode.StatisticsEncoder(),
            ]
        ),
        lambda: tl.Discriminant(tl.encode.StatisticsEncoder(), classes="open", random_state=0),
    ],
    ids=["Discriminant0", "Discriminant1", "WhitenedCosine", "CombinedEncoder0", "CombinedEncoder1", "Discriminant2"],
)
def test_what_is_made_of_encoders_is_written_as_one_graph(tmp_path, make):
    metric = make()
    rng = np.random.default_rng(2)
    X = [np.sin(np.arange(40 + i) / (2 + i % 3))[:, None] + 0.1 * rng.standard_normal((40 + i, 2)) for i in range(18)]
    metric.fit(X, np.arange(18) % 3)
    graph = session(metric, tmp_path / "metric.onnx")
    for item, time in SHAPES:
        x = rng.standard_normal((item, time, 2)).astype(np.float32)
        (found,) = graph.run(None, {"x": x})
        np.testing.assert_allclose(found, metric.encode(x), rtol=1e-4, atol=1e-4)


SIAMESE = {"hidden": 5, "n_outputs": 6, "max_steps": 2, "random_state": 0}
NETWORKS = [
    lambda: tl.RecurrentEncoder(n_features=6, hidden=5, max_steps=2, random_state=0),
    lambda: tl.RecurrentEncoder(
        cell="gru", n_layers=1, n_features=6, hidden=5, vectors="whitened", max_steps=2, random_state=0
    ),
    lambda: tl.SiameseGRU(**SIAMESE),
    lambda: tl.SiameseGRU(max_frames=11, **SIAMESE),
    lambda: tl.SiameseGRU(cell="lstm", readout="attention", front=None, max_frames=None, **SIAMESE),
    lambda: tl.SiameseGRU.preset("paper", hidden=5, trainer=tl.Trainer(max_epochs=1), random_state=0),
]


@pytest.mark.learn
@pytest.mark.parametrize("make", NETWORKS, ids=["lstm", "gru", "siamese", "cut", "attention", "paper"])
@pytest.mark.parametrize("longest", [30, 90])
def test_recurrent_networks_are_the_same_in_their_graphs(tmp_path, make, longest):
    """Also where frames are means of several steps, and where convolutions leave steps out."""
    rng = np.random.default_rng(4)
    X = [rng.standard_normal((longest - i, 2)).cumsum(0) for i in range(12)]
    encoder = make().fit(X, np.arange(12) % 2)
    graph = session(encoder, tmp_path / "encoder.onnx")
    for item, time in SHAPES:
        x = rng.standard_normal((item, time, 2)).cumsum(1).astype(np.float32)
        (found,) = graph.run(None, {"x": x})
        np.testing.assert_allclose(found, encoder.encode(x), rtol=1e-3, atol=1e-4)


@pytest.mark.learn
@pytest.mark.parametrize("architecture", ["lenet", "resnet"])
@pytest.mark.parametrize("frame", [(1, 28, 28), (2, 9, 7), (3, 45, 30)])
def test_networks_of_images_are_the_same_in_their_graphs(tmp_path, architecture, frame):
    X = tl.Sequences(np.random.default_rng(5).random((7, *frame)).astype(np.float32), layout="nchw")
    encoder = tl.encode.ImageEncoder(architecture=architecture, max_steps=2, random_state=0).fit(X)
    graph = session(encoder, tmp_path / "encoder.onnx")
    (found,) = graph.run(None, {"x": X.pad().values.reshape(7, 1, -1)})
    np.testing.assert_allclose(found, encoder.encode(X), rtol=1e-3, atol=1e-3)
    with pytest.raises(Exception, match="Expected: 1"):  # of the runtime: an item is one image
        graph.run(None, {"x": np.zeros((2, 3, int(np.prod(frame))), np.float32)})


@pytest.mark.learn
def test_networks_of_vectors_and_of_sequences_of_images_are_the_same_in_their_graphs(tmp_path):
    rng = np.random.default_rng(6)
    vectors, films = rng.random((9, 1, 7)).astype(np.float32), rng.random((4, 6, 2, 9, 8)).astype(np.float32)
    for encoder, X in (
        (tl.encode.VectorEncoder(max_steps=2, random_state=0), vectors),
        (tl.encode.FrameEncoder(n_features=5, depth=2, max_steps=2, random_state=0), films),
    ):
        encoder.fit(X)
        (found,) = session(encoder, tmp_path / "encoder.onnx").run(None, {"x": X.reshape(*X.shape[:2], -1)})
        np.testing.assert_allclose(found, encoder.encode(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n_channels", [1, 3, 13])
def test_statistics_are_the_same_in_their_graph(tmp_path, n_channels):
    rng = np.random.default_rng(7)
    X = [rng.standard_normal((time, n_channels)).cumsum(0) for time in (30, 50, 8, 2, 1, 41)]
    encoder = tl.encode.StatisticsEncoder().fit(X)
    graph = session(encoder, tmp_path / "encoder.onnx")
    for item, time in SHAPES:
        for x in (rng.standard_normal((item, time, n_channels)), rng.integers(0, 3, (item, time, n_channels)),
                  np.full((item, time, n_channels), 0.1)):  # fmt: skip
            (found,) = graph.run(None, {"x": x.astype(np.float32)})
            expected = encoder.encode(x.astype(np.float32))
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
            assert np.abs(expected).max() > 0.1


def test_frames_of_several_axes_are_flattened(tmp_path):
    x = np.random.default_rng(3).standard_normal((4, 12, 2, 3, 2)).astype(np.float32)
    encoder = tl.Rocket(n_features=100, random_state=0).fit(x)
    (found,) = session(encoder, tmp_path / "encoder.onnx").run(None, {"x": x.reshape(4, 12, -1)})
    np.testing.assert_array_equal(found, encoder.encode(x))


def test_what_is_missing_is_named(ragged, small_encoder, tmp_path, monkeypatch):
    encoder = small_encoder
    with pytest.raises(NotFittedError):
        encoder.export_onnx(tmp_path / "encoder.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "timelike\[onnx\]"'):
        encoder.fit(ragged).export_onnx(tmp_path / "encoder.onnx")
    assert not (tmp_path / "encoder.onnx").exists()


def test_an_encoder_without_a_graph_and_a_bad_path_are_refused(ragged, tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.setattr(
        tl.Rocket, "_add_to_onnx", tl.encode.Encoder._add_to_onnx
    )  # as of an encoder that somebody wrote
    for encoder in (tl.Rocket(n_features=10), tl.metric.WhitenedCosine(tl.Rocket(n_features=10))):
        with pytest.raises(TypeError, match="Rocket has no ONNX graph: "):
            encoder.fit(ragged).export_onnx(tmp_path / "encoder.onnx")
    monkeypatch.undo()
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

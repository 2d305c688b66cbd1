"""A frozen ONNX model is an encoder: of this library or of another, in any layout, without torch."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import timelike as tl
from toys import CAUSAL as SMALL

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

CHANNELS, FEATURES = 2, 3
WEIGHT = np.random.default_rng(9).standard_normal((CHANNELS, FEATURES)).astype(np.float32)
FLOAT, INT64, DOUBLE, HALF, INT32 = 1, 7, 11, 10, 6


def ragged_series(n_channels=CHANNELS, lengths=(9, 30, 1, 17, 30, 4, 9, 30), seed=0):
    rng = np.random.default_rng(seed)
    return tl.Sequences([(rng.standard_normal((n, n_channels)) + 1).astype(np.float32) for n in lengths])


def write(path, inputs, outputs, nodes, constants=None):
    """A model in the words of ONNX: `inputs` and `outputs` are (name, type, shape)."""
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node(kind, given, [found], **options) for kind, given, found, options in nodes],
        "foreign",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(*one) for one in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="other")
    onnx.save(model, str(path))
    return path


def means(path, shape=("n", "t", CHANNELS), time=1, kind=FLOAT, out=("n", FEATURES)):
    """The mean over time, by WEIGHT: (n, t, c) → (n, feature)."""
    weight = WEIGHT.astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    nodes = [("ReduceMean", ["x"], "mean", {"axes": [time], "keepdims": 0}), ("MatMul", ["mean", "weight"], "y", {})]
    return write(path, [("x", kind, shape)], [("y", kind, out)], nodes, {"weight": weight})


def expected_means(X):
    return np.stack([np.asarray(x, np.float64).reshape(len(x), -1).mean(axis=0) @ WEIGHT for x in X])


@pytest.fixture
def file(tmp_path):
    return means(tmp_path / "means.onnx")


# --- graphs of this library ------------------------------------------------------------------------------------------

SIAMESE = {"hidden": 5, "n_outputs": 6, "max_steps": 2, "random_state": 0}
EXPORTED = [
    (lambda: tl.Rocket(n_features=300, random_state=0), 0),
    (lambda: tl.Rocket(n_features=100, causal=True, length="mean", random_state=0), 1e-6),
    (tl.encode.StatisticsEncoder, 1e-4),
    (lambda: tl.Discriminant(tl.Rocket(n_features=100, random_state=0), random_state=0), 1e-4),
    (lambda: tl.metric.WhitenedCosine(tl.Rocket(n_features=100, random_state=0), random_state=0), 1e-4),
]
EXPORTED_NETWORKS = [
    (lambda: tl.CausalEncoder(**SMALL), 1e-4),
    (lambda: tl.CausalEncoder(length=12, **SMALL), 1e-4),
    (lambda: tl.RecurrentEncoder(n_features=6, hidden=5, max_steps=2, random_state=0), 1e-3),
    (lambda: tl.SiameseGRU(**SIAMESE), 1e-3),
    (lambda: tl.encode.combine([tl.Rocket(n_features=40, random_state=0), tl.CausalEncoder(**SMALL)]), 1e-4),
]


@pytest.mark.parametrize(
    ("make", "tolerance"), [*EXPORTED, *(pytest.param(*one, marks=pytest.mark.learn) for one in EXPORTED_NETWORKS)]
)
def test_an_exported_encoder_gives_its_vectors_of_ragged_sequences(make, tolerance, tmp_path):
    X = ragged_series()
    encoder = make().fit(X, np.arange(len(X)) % 2)
    encoder.export_onnx(tmp_path / "encoder.onnx")
    found = tl.encode.OnnxEncoder(tmp_path / "encoder.onnx").encode(X)
    expected = encoder.encode(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert np.abs(expected).max() > 0.01


@pytest.mark.learn
def test_images_vectors_and_sequences_of_images_are_flattened_as_they_were_written(tmp_path):
    rng = np.random.default_rng(1)
    for encoder, X in (
        (tl.encode.ImageEncoder(max_steps=2, random_state=0), tl.Sequences(rng.random((5, 1, 28, 28)), layout="nchw")),
        (tl.encode.VectorEncoder(max_steps=2, random_state=0), tl.Sequences(rng.random((9, 7)), layout="nc")),
        (
            tl.encode.FrameEncoder(n_features=5, depth=2, max_steps=2, random_state=0),
            tl.Sequences([rng.random((n, 2, 9, 8)) for n in (4, 6, 4)]),
        ),
    ):
        encoder.fit(X).export_onnx(tmp_path / "encoder.onnx")
        found = tl.encode.OnnxEncoder(tmp_path / "encoder.onnx").fit(X).encode(X)
        np.testing.assert_allclose(found, encoder.encode(X), rtol=1e-3, atol=1e-3)


@pytest.mark.learn
def test_of_prototypes_the_vectors_are_taken(tmp_path):
    X = ragged_series(lengths=(9, 12, 9, 12, 7, 7))
    model = tl.Prototypes(max_steps=2, random_state=0, **tl.Prototypes._test_parameters()).fit(X, [0, 1] * 3)
    model.export_onnx(tmp_path / "model.onnx")
    encoder = tl.encode.OnnxEncoder(tmp_path / "model.onnx")
    np.testing.assert_allclose(encoder.encode(X), model.encode(X), rtol=1e-3, atol=1e-4)
    probabilities = tl.encode.OnnxEncoder(tmp_path / "model.onnx", output_name="probabilities").encode(X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), rtol=1e-3, atol=1e-4)


def test_a_graph_of_this_library_has_one_layout(tmp_path):
    X = ragged_series()
    tl.encode.StatisticsEncoder().fit(X).export_onnx(tmp_path / "encoder.onnx")
    with pytest.raises(ValueError, match=r"layout='nct': timelike wrote .*layout='ntc'"):
        tl.encode.OnnxEncoder(tmp_path / "encoder.onnx", layout="nct").encode(X)


# --- models of others --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE, HALF])
@pytest.mark.parametrize(
    ("layout", "shape", "time", "out"),
    [
        ("ntc", ("n", "t", CHANNELS), 1, ("n", FEATURES)),
        ("ntc", (None, None, None), 1, (None, None)),
        ("ntc", None, 1, None),  # whatever they are
        ("nct", ("n", CHANNELS, "t"), 2, ("n", FEATURES)),
        ("tnc", ("t", "n", CHANNELS), 0, ("n", FEATURES)),
        ("ntc", (1, "t", CHANNELS), 1, (1, FEATURES)),
        ("ntc", (4, "t", CHANNELS), 1, (4, FEATURES)),
        ("tc", ("t", CHANNELS), 0, (FEATURES,)),
        ("ct", (CHANNELS, "t"), 1, (FEATURES,)),
    ],
)
def test_a_layout_is_what_the_model_takes(tmp_path, layout, shape, time, out, kind):
    X, path = ragged_series(), means(tmp_path / "model.onnx", shape, time, kind, out)
    close = {"rtol": 3e-2, "atol": 1e-2} if kind == HALF else {"rtol": 1e-5, "atol": 1e-5}
    for encoder in (
        tl.encode.OnnxEncoder(path, layout=layout),
        tl.encode.OnnxEncoder(path, layout=layout, batch_size=2).fit(X),
    ):
        found = encoder.encode(X)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected_means(X), **close)


def test_channels_and_time_of_one_size_are_not_confused(tmp_path):
    """A square input would fit both ways: the layout decides."""
    x = np.arange(4.0, dtype=np.float32).reshape(1, 2, 2)
    path = means(tmp_path / "model.onnx", ("n", CHANNELS, "t"), 2)
    found = tl.encode.OnnxEncoder(path, layout="nct").encode(x)
    np.testing.assert_allclose(found, expected_means(x), rtol=1e-6)
    other = tl.encode.OnnxEncoder(path, layout="ntc").encode(x)
    assert np.abs(found - other).max() > 0.1


@pytest.mark.parametrize(("layout", "shape", "axis"), [("nt", ("n", "t"), 1), ("t", ("t",), 0)])
def test_a_model_without_channels_takes_one(tmp_path, layout, shape, axis):
    out = ("n", 1) if layout == "nt" else (1,)
    path = write(
        tmp_path / "model.onnx",
        [("x", FLOAT, shape)],
        [("y", FLOAT, out)],
        [("ReduceMax", ["x"], "y", {"axes": [axis], "keepdims": 1})],
    )
    X = ragged_series(1)
    found = tl.encode.OnnxEncoder(path, layout=layout).encode(X)
    np.testing.assert_array_equal(found[:, 0], [x.max() for x in X])
    with pytest.raises(ValueError, match=r"X has frames of shape \(2,\), which are 2 numbers: input 'x', .*takes 1"):
        tl.encode.OnnxEncoder(path, layout=layout).encode(ragged_series(2))


def test_a_model_of_vectors_or_images_takes_single_frames(tmp_path):
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((5, 3)).astype(np.float32)
    path = write(
        tmp_path / "vectors.onnx",
        [("x", FLOAT, ("n", 5))],
        [("y", FLOAT, ("n", 3))],
        [("MatMul", ["x", "weight"], "y", {})],
        {"weight": weight},
    )
    vectors = tl.Sequences(rng.random((6, 5)), layout="nc")
    found = tl.encode.OnnxEncoder(path, layout="nc").encode(vectors)
    np.testing.assert_allclose(found, vectors.values @ weight, rtol=1e-5)
    with pytest.raises(ValueError, match=r"X: sequence 1 has 4 steps: .*layout 'nc' takes 1"):
        tl.encode.OnnxEncoder(path, layout="nc").encode([np.zeros((1, 5)), np.zeros((4, 5))])
    path = write(
        tmp_path / "images.onnx",
        [("x", FLOAT, ("n", 2, "h", "w"))],
        [("y", FLOAT, ("n", 2, 1, 1))],  # as global pooling leaves it
        [("GlobalAveragePool", ["x"], "y", {})],
    )
    images = rng.random((6, 2, 7, 4))
    encoder = tl.encode.OnnxEncoder(path, layout="nchw")
    found = encoder.encode(tl.Sequences(images, layout="nchw"))
    np.testing.assert_allclose(found, images.mean(axis=(2, 3)), rtol=1e-5)
    with pytest.raises(ValueError, match=r"X has frames of shape \(2,\): layout='nchw' expected \(channel, height"):
        encoder.encode(ragged_series(lengths=(1, 1)))
    with pytest.raises(ValueError, match=r"takes 2, any, any"):
        encoder.encode(tl.Sequences(images[:, :1], layout="nchw"))


@pytest.mark.parametrize(("layout", "axis", "shape"), [("ntchw", 1, ("n", "t", 2, 5, 4)), ("ncthw", 2, None)])
def test_sequences_of_images(tmp_path, layout, axis, shape):
    shape = shape or ("n", 2, "t", 5, 4)
    path = write(
        tmp_path / "model.onnx",
        [("x", FLOAT, shape)],
        [("y", FLOAT, ("n", 2))],
        [("ReduceMean", ["x"], "y", {"axes": [axis, 3, 4], "keepdims": 0})],
    )
    rng = np.random.default_rng(3)
    X = [rng.random((n, 2, 5, 4)) for n in (3, 6, 3)]
    found = tl.encode.OnnxEncoder(path, layout=layout).encode(X)
    np.testing.assert_allclose(found, [x.mean(axis=(0, 2, 3)) for x in X], rtol=1e-5)


def mean_by_lengths(path, time="t", kind=INT64, shape=("n",)):
    """The sum over all steps, padding too, by the length that it is told."""
    nodes = [
        ("ReduceSum", ["x", "axis"], "sum", {"keepdims": 0}),
        ("Cast", ["steps"], "number", {"to": FLOAT}),
        ("Reshape", ["number", "column"], "row", {}),
        ("Div", ["sum", "row"], "y", {}),
    ]
    inputs = [("steps", kind, shape), ("x", FLOAT, ("n", time, CHANNELS))]
    constants = {"axis": np.array([1]), "column": np.array([-1, 1])}
    return write(path, inputs, [("y", FLOAT, ("n", CHANNELS))], nodes, constants)


@pytest.mark.parametrize("kind", [INT64, INT32])
@pytest.mark.parametrize("time", ["t", 30, 40])
def test_lengths_are_told_and_only_a_fixed_number_of_steps_is_padded(tmp_path, time, kind):
    X, path = ragged_series(), mean_by_lengths(tmp_path / "model.onnx", time, kind)
    encoder = tl.encode.OnnxEncoder(path, lengths_name="steps")
    np.testing.assert_allclose(encoder.encode(X), [x.mean(axis=0) for x in X], rtol=1e-5, atol=1e-6)
    if time == 30:
        with pytest.raises(ValueError, match=r"X: sequence 0 has 31 steps: .* takes at most 30"):
            encoder.encode([np.zeros((31, CHANNELS))])


def test_a_fixed_number_of_steps_is_kept_cut_or_resampled(tmp_path):
    X, path = ragged_series(), means(tmp_path / "model.onnx", ("n", 9, CHANNELS))
    encoder = tl.encode.OnnxEncoder(path)
    np.testing.assert_allclose(encoder.encode(X[[0, 6]]), expected_means(X[[0, 6]]), rtol=1e-5)
    with pytest.raises(ValueError, match=r"X: sequence 1 has 30 steps: input 'x', .*takes 9; .*length=9\)"):
        encoder.encode(X)
    resampled = tl.encode.OnnxEncoder(path, length=9).fit(X)
    np.testing.assert_allclose(resampled.encode(X), expected_means(X.resample(9)), rtol=1e-4, atol=1e-5)
    windows = encoder.encode(X[[1]], windows=(9, 7))
    np.testing.assert_allclose(
        windows[0], expected_means([X[1][start : start + 9] for start in (0, 7, 14, 21)]), rtol=1e-5
    )


def test_standardization_is_learned_by_fit(file):
    X = ragged_series()
    encoder = tl.encode.OnnxEncoder(file, standardize=True)
    with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
        encoder.encode(X)
    standard = (X.values.astype(np.float64) - X.values.mean(axis=0, dtype=np.float64)) / X.values.std(
        axis=0, dtype=np.float64
    )
    expected = expected_means(np.split(standard, X.offsets[1:-1]))
    np.testing.assert_allclose(encoder.fit(X).encode(X), expected, rtol=1e-4, atol=1e-5)


def test_no_vector_depends_on_threads_or_on_a_batch_of_its_own(file):
    X = ragged_series(lengths=[5] * 70 + [7] * 40)
    encoder = tl.encode.OnnxEncoder(file, batch_size=8).fit(X)
    expected = encoder.encode(X, n_jobs=1)
    for n_jobs in (2, 5):
        np.testing.assert_array_equal(encoder.encode(X, n_jobs=n_jobs), expected)
    alone = tl.encode.OnnxEncoder(file, batch_size=1).fit(X)
    np.testing.assert_array_equal(np.concatenate([alone.encode(X[[i]]) for i in range(len(X))]), alone.encode(X))
    np.testing.assert_allclose(alone.encode(X), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(encoder.encode(X, progress=True), expected)


def test_weights_in_a_file_beside_it_become_part_of_the_model(tmp_path, file):
    X, folder = ragged_series(), tmp_path / "elsewhere"
    folder.mkdir()
    onnx.save(
        onnx.load(str(file)),
        str(folder / "model.onnx"),
        save_as_external_data=True,
        location="model.onnx.data",
        size_threshold=0,
    )
    encoder = tl.encode.OnnxEncoder(folder / "model.onnx").fit(X)
    np.testing.assert_allclose(encoder.encode(X), expected_means(X), rtol=1e-5, atol=1e-6)
    encoder.save(tmp_path / "saved")
    (folder / "model.onnx.data").unlink()
    with pytest.raises(ValueError, match=r"the weights that it keeps in other files cannot be read"):
        tl.encode.OnnxEncoder(folder / "model.onnx").encode(X)
    np.testing.assert_array_equal(tl.load_model(tmp_path / "saved").encode(X), encoder.encode(X))
    encoder.model_ = type(encoder.model_)(np.frombuffer((folder / "model.onnx").read_bytes(), np.uint8))
    with pytest.raises(ValueError, match="keeps weights in other files, which save"):
        encoder.save(tmp_path / "never")


# --- before and after fit -------------------------------------------------------------------------------------------


def test_it_can_be_used_at_once(file, tmp_path):
    X, encoder = ragged_series(), tl.encode.OnnxEncoder(file)
    expected = expected_means(X)
    np.testing.assert_allclose(encoder.transform(X), expected, rtol=1e-5, atol=1e-6)
    apart = np.linalg.norm(expected[:, None] - expected, axis=2)
    np.testing.assert_allclose(encoder.pairwise(X), apart, rtol=1e-4, atol=1e-5)
    assert encoder.distance(X[0], X[1]) == pytest.approx(apart[0, 1], rel=1e-4)
    assert encoder.neighbors(X, X, k=2).ids[:, 0].tolist() == list(range(len(X)))
    assert encoder.prepare_gallery(X).neighbors(X, k=1).ids[:, 0].tolist() == list(range(len(X)))
    assert vars(encoder).keys() == encoder.get_params().keys()
    with pytest.raises(NotFittedError):
        encoder.save(tmp_path / "model")
    with pytest.raises(NotFittedError):
        tl.save_model(encoder, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_file_that_changes_is_read_again_until_fit_keeps_it(file):
    X, encoder = ragged_series(), tl.encode.OnnxEncoder(file)
    first, kept = encoder.encode(X), tl.encode.OnnxEncoder(file).fit(X)
    write(file, [("x", FLOAT, ("n", "t", CHANNELS))], [("y", FLOAT, ("n", CHANNELS))],
          [("ReduceMax", ["x"], "y", {"axes": [1], "keepdims": 0})])  # fmt: skip
    np.testing.assert_array_equal(encoder.encode(X), [x.max(axis=0) for x in X])
    np.testing.assert_array_equal(kept.encode(X), first)
    assert kept.fit(X).n_features_ == CHANNELS


def test_geometry_is_how_vectors_are_compared(file):
    X = ragged_series()
    vectors = expected_means(X)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = tl.encode.OnnxEncoder(file, geometry="cosine").pairwise(X)
    np.testing.assert_allclose(found, np.linalg.norm(unit[:, None] - unit, axis=2), rtol=1e-4, atol=1e-5)


def two_levels():
    rng = np.random.default_rng(4)
    labels = np.array(["low", "high"])[np.arange(24) % 2]
    return tl.Sequences(
        [rng.standard_normal((6 + i % 4, CHANNELS)) + 6 * (label == "high") - 3 for i, label in enumerate(labels)],
        labels=labels,
    )


COMPOSED = {
    "classifier": lambda encoder: tl.EmbeddingClassifier(encoder, head="logistic"),
    "neighbors": tl.Neighbors,
    "discriminant": lambda encoder: tl.Neighbors(tl.Discriminant(encoder, random_state=0)),
    "combined": lambda encoder: tl.Neighbors(tl.encode.combine([encoder, tl.encode.StatisticsEncoder()])),
    "pipeline": lambda encoder: make_pipeline(encoder, tl.Neighbors("euclidean")),
    "prototypes": lambda encoder: tl.Prototypes(encoder=encoder, max_steps=5, random_state=0),
}
TRAINED = {"prototypes"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.learn] if name in TRAINED else []) for name in COMPOSED]
)
@pytest.mark.parametrize("is_fitted", [False, True])
def test_it_is_an_encoder_like_others_and_its_folder_is_complete(file, tmp_path, name, is_fitted):
    X = two_levels()
    encoder = tl.encode.OnnxEncoder(file)
    model = COMPOSED[name](encoder.fit(X) if is_fitted else encoder).fit(X, X.labels)
    assert (model.predict(X) == X.labels).mean() > 0.9
    tl.save_model(model, tmp_path / "model")
    expected = model.predict(X)
    file.unlink()
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), expected)


def test_it_is_searched_cloned_copied_and_pickled(file):
    X = two_levels()
    search = GridSearchCV(
        tl.EmbeddingClassifier(tl.encode.OnnxEncoder(file), head="ridge"),
        {"encoder__standardize": [False, True], "encoder__geometry": ["euclidean", "cosine"]},
        cv=2,
    ).fit(X, X.labels)
    assert search.best_score_ > 0.9
    encoder = tl.encode.OnnxEncoder(file, batch_size=3).fit(X)
    expected = encoder.encode(X)
    assert not clone(encoder).__sklearn_is_fitted__()
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder)), clone(encoder).fit(X)):
        np.testing.assert_array_equal(other.encode(X), expected)
    assert copy.deepcopy(encoder).model_ is encoder.model_  # one session for all copies
    assert encoder.get_feature_names_out().tolist() == [f"onnxencoder{i}" for i in range(FEATURES)]


def test_a_loaded_encoder_is_fitted_again_and_written_without_its_file(file, tmp_path):
    X = ragged_series()
    data = file.read_bytes()
    tl.encode.OnnxEncoder(file).fit(X).save(tmp_path / "model")
    file.unlink()
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_allclose(again.fit(X).encode(X), expected_means(X), rtol=1e-5, atol=1e-6)
    again.export_onnx(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == data
    with pytest.raises(FileNotFoundError, match=r"file='.*means\.onnx' does not exist"):
        clone(again).encode(X)


def test_streams_and_larger_graphs_are_refused_in_words(file, tmp_path):
    X = ragged_series()
    encoder = tl.encode.OnnxEncoder(file).fit(X)
    for one in (encoder, tl.encode.combine([encoder])):
        with pytest.raises(ValueError, match=r"OnnxEncoder has no stream: .*windows=\(size, step\)"):
            one.stream()
    with pytest.raises(TypeError, match="OnnxEncoder cannot become a part of another ONNX graph"):
        tl.encode.combine([encoder]).export_onnx(tmp_path / "combined.onnx")
    with pytest.raises(TypeError, match="OnnxEncoder has no torch module"):
        encoder.network(CHANNELS)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_file_that_is_none_is_named(tmp_path):
    X = ragged_series()
    (tmp_path / "text.onnx").write_text("weights")
    (tmp_path / "empty.onnx").write_bytes(b"")
    (tmp_path / "location.onnx").write_bytes(b"location" * 3)
    for path, error, words in (
        (tmp_path / "none.onnx", FileNotFoundError, r"file='.*none\.onnx' does not exist: expected an ONNX file"),
        (tmp_path, ValueError, r"is a folder: expected an ONNX file; folders of models are for tl\.load_model"),
        (tmp_path / "text.onnx", ValueError, r"file='.*text\.onnx': onnxruntime .* cannot read it"),
        (tmp_path / "empty.onnx", ValueError, r"file='.*empty\.onnx': onnxruntime .* cannot read it"),
        (tmp_path / "location.onnx", ValueError, r"file='.*location\.onnx': it is no ONNX model"),
        (3, TypeError, "file=3: expected the path of an ONNX file"),
        ("", ValueError, "file='': expected the path of an ONNX file"),
    ):
        encoder = tl.encode.OnnxEncoder(path)
        for verb in (encoder.encode, encoder.fit):
            with pytest.raises(error, match=words):
                verb(X)
        assert vars(encoder) == encoder.get_params()


def test_a_wrong_frame_is_refused_before_and_after_fit(file):
    X = ragged_series()
    encoder = tl.encode.OnnxEncoder(file)
    other = ragged_series(3)
    with pytest.raises(ValueError, match=r"X has frames of shape \(3,\), which are 3 numbers: input 'x', .* takes 2"):
        encoder.encode(other)
    with pytest.raises(ValueError, match=r"X has frames of shape \(3,\)"):
        encoder.fit(other)
    assert not encoder.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match=r"X has frames of shape \(3,\): this OnnxEncoder was fitted on \(2,\)"):
        encoder.fit(X).encode(other)
    before = vars(encoder).copy()
    with pytest.raises(ValueError, match="frames of shape"):
        encoder.fit(other)
    assert vars(encoder) == before


def test_several_inputs_and_outputs_are_listed_with_the_option_that_chooses(tmp_path):
    X = ragged_series()
    path = write(
        tmp_path / "model.onnx",
        [("a", FLOAT, ("n", "t", 2)), ("b", FLOAT, ("n", "t", 2))],
        [("y", FLOAT, ("n", "t", 2)), ("z", INT64, ("n", "t"))],
        [("Add", ["a", "b"], "y", {}), ("ArgMax", ["y"], "z", {"axis": 2, "keepdims": 0})],
    )
    for options, words in (
        ({}, r"has the inputs 'a', tensor\(float\) \(free, free, 2\); 'b', .*: say with input_name .* lengths_name"),
        ({"input_name": "a"}, r"also has the inputs 'b', .*as constants"),
        ({"input_name": "q"}, r"input_name='q': .* has 'a', .*'b'"),
        ({"lengths_name": "q"}, r"lengths_name='q': .* has 'a', .*'b'"),
        ({"lengths_name": "b"}, r"has the outputs 'y', .*'z', .*output_name"),
        (
            {"lengths_name": "b", "output_name": "y"},
            r"lengths_name='b': input 'b', .*expected \(item,\) of tensor\(int",
        ),
        ({"lengths_name": "b", "output_name": "z"}, r"output 'z', tensor\(int64\).*: expected floats"),
        ({"lengths_name": "b", "output_name": "w"}, r"output_name='w': .* has 'y', .*'z'"),
        ({"input_name": 3}, r"input_name=3: expected the name of an input or output"),
        ({"layout": "tcn"}, r"layout='tcn': expected one of 'ntc', 'nct'"),
        (
            {"layout": "nt", "lengths_name": "b", "output_name": "y"},
            r"layout='nt': input 'a', .*has 3 axes, expected 2",
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            tl.encode.OnnxEncoder(path, **options).encode(X)


def test_types_and_outputs_that_are_no_vectors_are_refused(tmp_path):
    X = ragged_series()
    words_in = write(
        tmp_path / "words.onnx",
        [("x", INT64, ("n", "t", 2))],
        [("y", FLOAT, ("n", "t", 2))],
        [("Cast", ["x"], "y", {"to": FLOAT})],
    )
    with pytest.raises(ValueError, match=r"input 'x', tensor\(int64\) .*: expected floats"):
        tl.encode.OnnxEncoder(words_in).encode(X)
    states = write(
        tmp_path / "states.onnx",
        [("x", FLOAT, ("n", "t", 2))],
        [("y", FLOAT, ("n", "t", 2))],
        [("Relu", ["x"], "y", {})],
    )
    with pytest.raises(ValueError, match=r"output 'y', .*\(free, free, 2\) .*: expected \(item, feature\)"):
        tl.encode.OnnxEncoder(states).encode(X)
    flat = write(
        tmp_path / "flat.onnx",
        [("x", FLOAT, ("n", "t", 2))],
        [("y", FLOAT, ("n", "f"))],
        [("Flatten", ["x"], "y", {"axis": 1})],
    )
    with pytest.raises(ValueError, match=r"gives sequence 5 of 4 steps a vector of 8 numbers, others 2: expected one"):
        tl.encode.OnnxEncoder(flat).encode(X)
    mixed = write(
        tmp_path / "mixed.onnx",
        [("x", FLOAT, ("n", "t", 2))],
        [("y", FLOAT, (1, 2))],
        [("ReduceMean", ["x"], "m", {"axes": [1], "keepdims": 0}),
         ("ReduceMean", ["m"], "y", {"axes": [0], "keepdims": 1})],
    )  # fmt: skip
    with pytest.raises(
        ValueError, match=r"output 'y' .*has shape \(1, 2\) for 2 sequences: expected \(item, feature\)"
    ):
        tl.encode.OnnxEncoder(mixed, batch_size=2).encode(X[[0, 6]])


def test_sequences_that_the_model_fails_on_are_named(tmp_path):
    kernel = np.ones((1, CHANNELS, 5), np.float32)
    path = write(
        tmp_path / "valid.onnx",
        [("x", FLOAT, ("n", CHANNELS, "t"))],
        [("y", FLOAT, ("n", 1))],
        [("Conv", ["x", "kernel"], "c", {}), ("ReduceMax", ["c"], "y", {"axes": [2], "keepdims": 0})],
        {"kernel": kernel},
    )
    encoder = tl.encode.OnnxEncoder(path, layout="nct")
    assert encoder.encode(ragged_series(lengths=(5, 9))).shape == (2, 1)
    with pytest.raises(ValueError, match=r"X: the model of file='.*valid\.onnx' fails for 1 sequence of 3 steps"):
        encoder.encode(ragged_series(lengths=(5, 3)))
    root = write(
        tmp_path / "root.onnx",
        [("x", FLOAT, ("n", "t", CHANNELS))],
        [("y", FLOAT, ("n", CHANNELS))],
        [("ReduceMin", ["x"], "m", {"axes": [1], "keepdims": 0}), ("Sqrt", ["m"], "y", {})],
    )
    with pytest.raises(ValueError, match="gives sequence 1 a vector that is not finite"):
        tl.encode.OnnxEncoder(root).encode([np.ones((3, 2)), -np.ones((4, 2))])
    half = means(tmp_path / "half.onnx", kind=HALF)
    with pytest.raises(ValueError, match=r"X has a value of 1e\+05: input 'x' .* is float16, up to 65504"):
        tl.encode.OnnxEncoder(half).encode(np.full((1, 3, 2), 1e5))
    with pytest.raises(ValueError, match="too large for float32"):
        tl.encode.OnnxEncoder(means(tmp_path / "means.onnx")).encode(np.full((1, 3, 2), 1e50))


def test_without_onnxruntime_the_extra_is_named(file, tmp_path, monkeypatch):
    X = ragged_series()
    tl.EmbeddingClassifier(tl.encode.OnnxEncoder(file), head="1nn").fit(X, np.arange(len(X)) % 2).save(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    encoder = tl.encode.OnnxEncoder(file)
    for call in (lambda: encoder.encode(X), lambda: encoder.fit(X), lambda: tl.load_model(tmp_path / "m")):
        with pytest.raises(ModuleNotFoundError, match=r'OnnxEncoder needs onnxruntime: pip install "timelike\[onnx\]"'):
            call()


WITHOUT_TORCH = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "lightning_fabric"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
import numpy as np
import timelike as tl

file, folder, data = sys.argv[1:]
held = np.load(data)
X = tl.Sequences.from_packed(held["values"], held["offsets"])
np.testing.assert_allclose(tl.encode.OnnxEncoder(file).encode(X), held["vectors"], rtol=1e-4, atol=1e-4)
model = tl.EmbeddingClassifier(tl.encode.OnnxEncoder(file), head="ridge").fit(X, np.arange(len(X)) % 2)
model.save(folder)
np.testing.assert_array_equal(tl.load_model(folder).predict_proba(X), model.predict_proba(X))
assert "torch" not in sys.modules
"""


@pytest.mark.learn
def test_a_trained_network_is_run_saved_and_loaded_without_torch(tmp_path):
    X = ragged_series()
    encoder = tl.CausalEncoder(**SMALL).fit(X)
    encoder.export_onnx(tmp_path / "encoder.onnx")
    np.savez(tmp_path / "data.npz", values=X.values, offsets=X.offsets, vectors=encoder.encode(X))
    given = [str(tmp_path / name) for name in ("encoder.onnx", "model", "data.npz")]
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *given], capture_output=True, text=True, check=False, timeout=300
    )
    assert found.returncode == 0, found.stderr[-3000:]


def test_a_mistyped_file_is_not_replaced_by_the_model_of_before(file, tmp_path):
    X = ragged_series()
    encoder = tl.encode.OnnxEncoder(file).fit(X)
    with pytest.raises((FileNotFoundError, ValueError), match="absent"):
        encoder.set_params(file=tmp_path / "absent.onnx").fit(X)
    np.testing.assert_array_equal(encoder.set_params(file=file).encode(X), tl.encode.OnnxEncoder(file).encode(X))


def test_vectors_of_steps_are_refused_for_one_sequence_too(tmp_path):
    """A model (item · time, feature) has no pooling; one sequence of it looks like one long vector."""
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Reshape", ["x", "shape"], ["rows"])],
        "steps",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "t", 2])],
        [onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, ["m", 2])],
        [onnx.numpy_helper.from_array(np.array([-1, 2]), "shape")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "steps.onnx"
    onnx.save(model, str(path))
    with pytest.raises(ValueError, match="a row for each"):
        tl.encode.OnnxEncoder(path).fit(np.zeros((3, 4, 2)))
    with pytest.raises(ValueError, match="a row for each"):
        tl.encode.OnnxEncoder(path).encode(np.zeros((1, 4, 2)))

"""The ONNX graph of Prototypes gives its vectors, scores and probabilities."""

import json

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.encode.onnx.graph import OnnxGraph
from timelike.prototypes.onnx_graph import _add_log_odds

RNG = np.random.default_rng(0)
X = [np.sin(np.arange(24 + i) / (2 + i % 3))[:, None] + 0.1 * RNG.standard_normal((24 + i, 2)) for i in range(24)]
Y = np.array(["slow", "fast", "odd"])[np.arange(24) % 3]
QUICK = {"max_steps": 3, "random_state": 0}
ROCKET = tl.Rocket(n_features=200, random_state=0)


def answers(model, path, x):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.export_onnx(path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    return classes, dict(zip(("features", "scores", "probabilities"), session.run(None, {"x": x}), strict=True))


def agree(model, path, x, given=None):
    given = x if given is None else given
    classes, found = answers(model, path, x)
    assert classes == [str(name) for name in model.classes_]
    np.testing.assert_allclose(found["features"], model.encode(given), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found["scores"], model.class_scores(given), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(given), atol=2e-3)


@pytest.mark.parametrize("similarity", ["cosine", "learned", "fused"])
@pytest.mark.parametrize("encoder", [tl.SiameseGRU(), tl.CausalEncoder(depth=2, n_features=16), ROCKET])
def test_every_similarity_is_in_the_graph(tmp_path, similarity, encoder):
    model = tl.Prototypes(encoder=encoder, similarity_fn=similarity, extra_encoders=[], **QUICK).fit(X, Y)
    for shape in ((1, 3), (4, 30)):
        agree(model, tmp_path / "model.onnx", RNG.standard_normal((*shape, 2)).astype(np.float32))


def test_fused_scores_of_the_graph_are_the_log_odds_also_where_a_cosine_is_beyond_one_by_rounding():
    """log(σ(S) + (1 + c) / 2) − log(σ(−S) + (1 − c) / 2), with c between −1 and 1 and no part below the least float."""
    runtime, graph = pytest.importorskip("onnxruntime"), OnnxGraph()
    graph.add(
        "Identity", _add_log_odds(graph, graph.slice_axis("x", 0, 1, 1), graph.slice_axis("x", 1, 2, 1)), output="found"
    )
    session = runtime.InferenceSession(graph.to_model("odds", [2], {"found": 1}).SerializeToString())
    learned = np.array([-200.0, -12.0, -1.0, 0.0, 2.0, 12.0, 200.0])
    x = np.array([(S, c) for S in learned for c in (-1 - 1e-6, -1.0, -0.5, 0.0, 0.25, 1.0, 1 + 1e-6)])
    S, c = x[:, 0], np.clip(x[:, 1], -1, 1)
    parts = [
        np.maximum(1 / (1 + np.exp(-sign * S)) + (1 + sign * c) / 2, np.finfo(np.float32).tiny) for sign in (1, -1)
    ]
    found = session.run(None, {"x": x.astype(np.float32)})[0][:, 0]
    np.testing.assert_allclose(found, np.log(parts[0]) - np.log(parts[1]), atol=1e-2)  # of σ(−12), roughly


def test_the_defaults_are_in_the_graph(tmp_path):
    model = tl.Prototypes(**QUICK).fit(X, Y)
    for shape in ((1, 1), (4, 30)):
        agree(model, tmp_path / "model.onnx", RNG.standard_normal((*shape, 2)).astype(np.float32))


@pytest.mark.parametrize(("inference", "auxiliary"), [("dense", "plain"), ("both", "plain"), ("both", "margin")])
def test_the_dense_head_is_in_the_graph(tmp_path, inference, auxiliary):
    beside = [tl.Discriminant(ROCKET, classes="open", random_state=0)]
    model = tl.Prototypes(extra_encoders=beside, inference=inference, auxiliary=auxiliary, **QUICK).fit(X, Y)
    agree(model, tmp_path / "model.onnx", RNG.standard_normal((3, 20, 2)).astype(np.float32))


def test_what_is_enrolled_calibrated_and_of_several_prototypes_is_in_the_graph(tmp_path):
    known = Y != "odd"
    fitted = [x for x, there in zip(X, known, strict=True) if there]
    model = tl.Prototypes(extra_encoders=[ROCKET], n_prototypes=2, **QUICK).fit(fitted, Y[known])
    model.enroll([X[2], X[5]], ["odd", "odd"]).calibrate(X, Y, false_accept=0.1)
    agree(model, tmp_path / "model.onnx", RNG.standard_normal((3, 20, 2)).astype(np.float32))


def test_images_are_written_too(tmp_path):
    images = tl.Sequences(RNG.random((12, 1, 10, 9)).astype(np.float32), layout="nchw")
    model = tl.Prototypes(encoder=tl.encode.ImageEncoder(), **QUICK).fit(images, [0, 1] * 6)
    agree(model, tmp_path / "model.onnx", images.pad().values.reshape(12, 1, -1), images)


def test_a_torch_module_of_ones_own_is_refused_in_words(tmp_path):
    pytest.importorskip("onnx")

    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.map = torch.nn.Linear(2, 3)

        def forward(self, x, lengths=None):
            return self.map(x).mean(1)

    model = tl.Prototypes(encoder=Mean(), **QUICK).fit(np.stack([x[:20] for x in X]), Y)
    with pytest.raises(TypeError, match=r"encoder is a custom Mean.*torch\.onnx"):
        model.export_onnx(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []

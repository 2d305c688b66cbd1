"""The ONNX graph gives the vectors of the encoder."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import timelike as tl

SMALL = {"n_features": 6, "channels": 4, "depth": 3, "reduced": 5, "n_negatives": 2, "max_steps": 4, "random_state": 0}


@pytest.mark.parametrize("standardize", [True, False])
def test_the_graph_gives_the_same_vectors_for_any_length_and_number(ragged, tmp_path, standardize):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    encoder = tl.CausalEncoder(standardize=standardize, **SMALL).fit(ragged)
    encoder.export_onnx(tmp_path / "encoder.onnx")
    session = runtime.InferenceSession(str(tmp_path / "encoder.onnx"), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for item, time in ((1, 1), (3, 2), (2, 7), (5, 40), (1, 300)):
        x = (rng.standard_normal((item, time, 2)) + 3).astype(np.float32)
        (found,) = session.run(None, {"x": x})
        np.testing.assert_allclose(found, encoder.encode(x), rtol=1e-4, atol=1e-4)


def test_what_is_missing_is_named(ragged, tmp_path, monkeypatch):
    encoder = tl.CausalEncoder(**SMALL)
    with pytest.raises(NotFittedError):
        encoder.export_onnx(tmp_path / "encoder.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install timelike\[onnx\]"):
        encoder.fit(ragged).export_onnx(tmp_path / "encoder.onnx")
    assert not (tmp_path / "encoder.onnx").exists()

"""`Prototypes` as an ONNX graph: vectors, class scores and probabilities, for any number of items and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..encode.base import normalize_vectors
from ..encode.onnx.graph import OnnxGraph, add_encoder, save_graph
from ..encode.onnx.layers import add_linear, to_numpy
from . import encoder_adapter
from .network import AdditiveMarginHead
from .similarity import CosineSimilarity, FusedSimilarity, Similarity

if TYPE_CHECKING:
    from .estimator import Prototypes


def write_onnx(model: Prototypes, path: Any) -> None:
    """Write the graph `x` (item, time, channel) → `features`, `scores` and `probabilities`, each (item, number)."""
    graph = OnnxGraph()
    vectors = _add_vectors(graph, model)
    scores = _add_scores(graph, model, vectors)
    scaled_scores = graph.add("Div", scores, graph.constant(model._temperature()))
    graph.add("Identity", vectors, output="features")
    graph.add("Identity", scores, output="scores")
    graph.add("Softmax", scaled_scores, output="probabilities", axis=1)
    n_features, n_classes = model.prototypes_.shape[1], len(model.classes_)
    metadata = {"classes": [str(name) for name in model.classes_.tolist()]}
    save_graph(graph, model, path, {"features": n_features, "scores": n_classes, "probabilities": n_classes}, metadata)


def _add_vectors(graph: OnnxGraph, model: Prototypes) -> str:
    """The vectors of all encoders together (see `encoder_adapter.concatenate_vectors`)."""
    vectors = [_add_encoder(graph, one) for one in (model.encoder_, *model.extra_encoders_)]
    if len(vectors) == 1:
        return vectors[0]
    first = encoder_adapter.first_vector_length(len(vectors))
    lengths = [first, *[np.sqrt(2) * first] * (len(vectors) - 1)]
    scaled_vectors = [
        graph.add("Mul", graph.normalize_rows(x), graph.constant(size))
        for x, size in zip(vectors, lengths, strict=True)
    ]
    return graph.add("Concat", *scaled_vectors, axis=1)


def _add_encoder(graph: OnnxGraph, encoder: Any) -> str:
    if isinstance(encoder, encoder_adapter.ModuleEncoder):
        raise TypeError(
            f"encoder is a custom {type(encoder.network_).__name__}, which has no ONNX graph here: export it with "
            "torch.onnx, or use an encoder of the library"
        )
    return add_encoder(graph, encoder, "x")


def _add_scores(graph: OnnxGraph, model: Prototypes, vectors: str) -> str:
    """(item, class), by S to the most similar prototype of each class, by the dense layer, or the mean of both."""
    model._refuse_dense_head()
    scores = []
    if model.inference != "dense":
        each = _add_similarities(graph, model.network_.similarity, model.prototypes_, vectors)
        scores.append(_add_class_maxima(graph, each, model.owners_))
    if model.inference != "similarity":
        scores.append(_add_dense(graph, model, vectors))
    return scores[0] if len(scores) == 1 else graph.add("Mean", *scores)


def _add_class_maxima(graph: OnnxGraph, each: str, owners: NDArray[np.int64]) -> str:
    """The largest of the numbers (item, prototype) of every class; a class with fewer prototypes repeats its last."""
    starts, counts = np.unique(owners, return_index=True, return_counts=True)[1:]
    places = starts[:, None] + np.minimum(np.arange(counts.max()), counts[:, None] - 1)
    return graph.add("ReduceMax", graph.take(each, places, 1), axes=[2], keepdims=0)


def _add_similarities(graph: OnnxGraph, similarity: nn.Module, prototypes: NDArray[Any], vectors: str) -> str:
    """S of every vector and every prototype, (item, prototype)."""
    if isinstance(similarity, CosineSimilarity):
        scale = float(similarity.log_scale.detach().exp())
        scaled_cosines = graph.add("Mul", _add_cosines(graph, prototypes, vectors), graph.constant(scale))
        return graph.add("Add", scaled_cosines, graph.constant(float(similarity.bias.detach())))
    if isinstance(similarity, FusedSimilarity):
        learned_scores = _add_perceptron(graph, similarity.learned, prototypes, vectors)
        return _add_log_odds(graph, learned_scores, _add_cosines(graph, prototypes, vectors))
    assert isinstance(similarity, Similarity)
    return _add_perceptron(graph, similarity, prototypes, vectors)


def _add_cosines(graph: OnnxGraph, prototypes: NDArray[Any], vectors: str) -> str:
    unit = normalize_vectors(np.asarray(prototypes, np.float64))
    return graph.add("MatMul", graph.normalize_rows(vectors), graph.constant(unit.T))


def _add_perceptron(graph: OnnxGraph, similarity: Similarity, prototypes: NDArray[Any], vectors: str) -> str:
    """S by the perceptron: first-layer activations of the prototypes are constants of the graph."""
    weights = similarity._weights()
    of_u, of_v = (to_numpy(side).astype(np.float64) for side in weights.sides)
    bias_u, bias_v = (to_numpy(bias).astype(np.float64) for bias in weights.biases)
    prototype_side = graph.constant(np.asarray(prototypes, np.float64) @ of_u + bias_u)
    vector_side = graph.add("Add", graph.add("MatMul", vectors, graph.constant(of_v)), graph.constant(bias_v))
    hidden = graph.add(
        "Add", graph.add("Unsqueeze", vector_side, graph.integers([1])), prototype_side
    )  # (item, prototype, hidden)
    active = graph.add("LeakyRelu", hidden, alpha=float(weights.slope))
    products = graph.add("MatMul", active, graph.constant(to_numpy(weights.last)))
    return graph.add("Add", products, graph.constant(weights.constant))


def _add_log_odds(graph: OnnxGraph, learned: str, cosine: str) -> str:
    """log p − log(1 − p) of the mean of σ(S) and (1 + cos) / 2."""
    clipped_cosine = graph.add("Clip", cosine, graph.constant(-1.0), graph.constant(1.0))
    logs = []
    for sign in (1.0, -1.0):
        one = graph.add("Sigmoid", graph.add("Mul", learned, graph.constant(sign)))
        half = graph.add("Mul", clipped_cosine, graph.constant(sign / 2))
        both = graph.add("Add", one, graph.add("Add", half, graph.constant(0.5)))
        logs.append(graph.add("Log", graph.add("Max", both, graph.constant(np.finfo(np.float32).tiny))))
    return graph.add("Sub", *logs)


def _add_dense(graph: OnnxGraph, model: Prototypes, vectors: str) -> str:
    """The scores of the dense head, for the vectors of the trained encoder."""
    length = encoder_adapter.first_vector_length(1 + len(model.extra_encoders_))
    own = graph.add("Div", graph.slice_axis(vectors, 0, model.n_trained_features_, 1), graph.constant(length))
    layer = model.network_.dense
    if isinstance(layer, AdditiveMarginHead):
        weight = normalize_vectors(to_numpy(layer.weight).astype(np.float64))
        return graph.add("MatMul", graph.normalize_rows(own), graph.constant(layer.scale * weight.T))
    assert isinstance(layer, nn.Linear)
    return add_linear(graph, layer, own)

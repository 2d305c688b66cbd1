"""Prototypes as an ONNX graph: vectors, scores of the classes and their probabilities, for any item and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...encode.base import directions
from ...encode.onnx_graph import Graph, encoder_vectors, save
from ...encode.onnx_layers import linear, plain
from . import reading
from .cosine import CosineSimilarity, FusedSimilarity
from .network import Angles
from .similarity import Similarity

if TYPE_CHECKING:
    from .answering import Answering


def write(model: Answering, path: Any) -> None:
    """Write the graph `x` (item, time, channel) → `features`, `scores` and `probabilities`, each (item, number)."""
    graph = Graph()
    vectors = _vectors(graph, model)
    scores = _scores(graph, model, vectors)
    softened = graph.add("Div", scores, graph.constant(model._temperature()))
    graph.add("Identity", vectors, into="features")
    graph.add("Identity", scores, into="scores")
    graph.add("Softmax", softened, into="probabilities", axis=1)
    n_features, n_classes = model.prototypes_.shape[1], len(model.classes_)
    known = {"classes": [str(name) for name in model.classes_.tolist()]}
    save(graph, model, path, {"features": n_features, "scores": n_classes, "probabilities": n_classes}, known)


def _vectors(graph: Graph, model: Answering) -> str:
    """Those of all encoders together (see `reading.together`)."""
    found = [_of_encoder(graph, one) for one in (model.encoder_, *model.beside_)]
    if len(found) == 1:
        return found[0]
    first = reading.first_length(len(found))
    lengths = [first, *[np.sqrt(2) * first] * (len(found) - 1)]
    scaled = [graph.add("Mul", graph.unit(x), graph.constant(size)) for x, size in zip(found, lengths, strict=True)]
    return graph.add("Concat", *scaled, axis=1)


def _of_encoder(graph: Graph, encoder: Any) -> str:
    if isinstance(encoder, reading.OwnModule):
        raise TypeError(
            f"encoder is a {type(encoder.network_).__name__} of your own, which has no ONNX graph here: write it with "
            "torch.onnx, or take an encoder of the library"
        )
    return encoder_vectors(graph, encoder, "x")


def _scores(graph: Graph, model: Answering, vectors: str) -> str:
    """(item, class), by S to the most similar prototype of each class, by the dense layer, or the mean of both."""
    model._refuse_dense()
    found = []
    if model.inference != "dense":
        each = _similarities(graph, model.network_.similarity, model.prototypes_, vectors)
        found.append(_most(graph, each, model.owners_))
    if model.inference != "similarity":
        found.append(_dense(graph, model, vectors))
    return found[0] if len(found) == 1 else graph.add("Mean", *found)


def _most(graph: Graph, each: str, owners: NDArray[np.int64]) -> str:
    """The largest of the numbers (item, prototype) of every class; a class with fewer repeats its last."""
    starts, counts = np.unique(owners, return_index=True, return_counts=True)[1:]
    places = starts[:, None] + np.minimum(np.arange(counts.max()), counts[:, None] - 1)
    return graph.add("ReduceMax", graph.take(each, places, 1), axes=[2], keepdims=0)


def _similarities(graph: Graph, similarity: nn.Module, prototypes: NDArray[Any], vectors: str) -> str:
    """S of every vector and every prototype, (item, prototype)."""
    if isinstance(similarity, CosineSimilarity):
        scale = float(similarity.logarithm.detach().exp())
        scaled = graph.add("Mul", _cosines(graph, prototypes, vectors), graph.constant(scale))
        return graph.add("Add", scaled, graph.constant(float(similarity.bias.detach())))
    if isinstance(similarity, FusedSimilarity):
        learned = _learned(graph, similarity.learned, prototypes, vectors)
        return _log_odds(graph, learned, _cosines(graph, prototypes, vectors))
    assert isinstance(similarity, Similarity)
    return _learned(graph, similarity, prototypes, vectors)


def _cosines(graph: Graph, prototypes: NDArray[Any], vectors: str) -> str:
    unit = directions(np.asarray(prototypes, np.float64))
    return graph.add("MatMul", graph.unit(vectors), graph.constant(unit.T))


def _learned(graph: Graph, similarity: Similarity, prototypes: NDArray[Any], vectors: str) -> str:
    """The perceptron: the first layer of prototypes is part of the graph, that of vectors is computed once."""
    weights = similarity._weights()
    of_u, of_v = (plain(side).astype(np.float64) for side in weights.sides)
    bias_u, bias_v = (plain(bias).astype(np.float64) for bias in weights.biases)
    known = graph.constant(np.asarray(prototypes, np.float64) @ of_u + bias_u)
    asked = graph.add("Add", graph.add("MatMul", vectors, graph.constant(of_v)), graph.constant(bias_v))
    hidden = graph.add("Add", graph.add("Unsqueeze", asked, graph.whole([1])), known)  # (item, prototype, hidden)
    active = graph.add("LeakyRelu", hidden, alpha=float(weights.slope))
    found = graph.add("MatMul", active, graph.constant(plain(weights.last)))
    return graph.add("Add", found, graph.constant(weights.constant))


def _log_odds(graph: Graph, learned: str, cosine: str) -> str:
    """log p − log(1 − p) of the mean of σ(S) and (1 + cos) / 2."""
    bounded = graph.add("Clip", cosine, graph.constant(-1.0), graph.constant(1.0))
    logs = []
    for sign in (1.0, -1.0):
        one = graph.add("Sigmoid", graph.add("Mul", learned, graph.constant(sign)))
        half = graph.add("Mul", bounded, graph.constant(sign / 2))
        both = graph.add("Add", one, graph.add("Add", half, graph.constant(0.5)))
        logs.append(graph.add("Log", graph.add("Max", both, graph.constant(np.finfo(np.float32).tiny))))
    return graph.add("Sub", *logs)


def _dense(graph: Graph, model: Answering, vectors: str) -> str:
    """What the dense layer says of the vectors of the encoder that was trained."""
    length = reading.first_length(1 + len(model.beside_))
    own = graph.add("Div", graph.between(vectors, 0, model.n_vector_, 1), graph.constant(length))
    layer = model.network_.dense
    if isinstance(layer, Angles):
        weight = directions(plain(layer.weight).astype(np.float64))
        return graph.add("MatMul", graph.unit(own), graph.constant(layer.scale * weight.T))
    assert isinstance(layer, nn.Linear)
    return linear(graph, layer, own)

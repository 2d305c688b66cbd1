"""A siamese network as nodes of an ONNX graph: coarse frames, strided convolutions, cells, readout."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...encode.onnx.graph import OnnxGraph
from ...encode.onnx.layers import add_linear, add_recurrent, to_numpy
from ...sequences.time_pool import UNLIMITED, TimePool
from ..strided_convolutions import MaskedBatchNorm, StridedConvolutions
from .network import Readout, SiameseNetwork


def add_siamese_network(graph: OnnxGraph, x: str, network: SiameseNetwork, coarse: TimePool) -> str:
    """The vectors (item, feature) of standardized series x (item, time, channel)."""
    x = _add_time_pool(graph, x, coarse)
    if isinstance(network.front, StridedConvolutions):
        x = _add_strided_convolutions(graph, x, network.front)
    vectors = _add_readout(graph, add_recurrent(graph, network.cells, x), network.readout)
    if network.projection is not None:
        vectors = add_linear(graph, network.projection, vectors)
    return graph.normalize_rows(vectors) if network.normalize else vectors


def _add_time_pool(graph: OnnxGraph, x: str, coarse: TimePool) -> str:
    """Frames as means over time intervals: a product with the pooling weights (see `TimePool.pooling_matrix`)."""
    if coarse == TimePool(1.0, UNLIMITED):
        return x

    def number(value: float) -> str:
        return graph.constant(value, np.float64)

    def column(values: str, first: int, last: int | None) -> str:
        return graph.add("Unsqueeze", graph.slice_axis(values, first, last, 0), graph.integers([1]))

    time = graph.cast(graph.add("Gather", graph.add("Shape", x), graph.integers(1)), "float64")
    factor = graph.add("Max", number(coarse.factor), graph.add("Div", time, number(coarse.max_frames)))
    frames = graph.add("Mul", graph.add("Div", time, factor), number(1 - 1e-12))
    last = graph.add("Add", graph.add("Ceil", frames), number(1.0))
    counted = graph.add("Range", number(0.0), last, number(1.0))
    edges = graph.add("Min", graph.add("Mul", counted, factor), time)
    steps = graph.add("Range", number(0.0), time, number(1.0))
    begin, end = column(edges, 0, -1), column(edges, 1, None)
    until = graph.add("Min", end, graph.add("Add", steps, number(1.0)))
    covered = graph.add("Max", graph.add("Sub", until, graph.add("Max", begin, steps)), number(0.0))
    shares = graph.add("Div", covered, graph.add("Sub", end, begin))
    return graph.add("MatMul", graph.cast(shares, "float32"), x)


def _add_strided_convolutions(graph: OnnxGraph, x: str, front: StridedConvolutions) -> str:
    """Strided causal convolutions; without right padding the output length is ⌈time / stride⌉."""
    x = graph.add("Transpose", x, perm=[0, 2, 1])
    for layer, convolution, norm in zip(front.layers, front.convolutions, front.norms, strict=True):
        assert isinstance(norm, MaskedBatchNorm)
        scale = norm.weight * torch.rsqrt(norm.variance + norm.eps)
        shift = norm.bias - norm.mean * scale
        assert isinstance(convolution, torch.nn.Conv1d)
        weight, bias = (
            graph.constant(to_numpy(convolution.weight * scale[:, None, None])),
            graph.constant(to_numpy(shift)),
        )
        how: dict[str, Any] = {"kernel_shape": [layer.taps], "strides": [layer.stride], "pads": [layer.taps - 1, 0]}
        x = _add_gelu(graph, graph.add("Conv", x, weight, bias, **how))
    return graph.add("Transpose", x, perm=[0, 2, 1])


def _add_gelu(graph: OnnxGraph, x: str) -> str:
    """x Φ(x); opset 17 of ONNX has no GELU node."""
    erf = graph.add("Erf", graph.add("Mul", x, graph.constant(np.sqrt(0.5))))
    half = graph.add("Mul", x, graph.constant(0.5))
    return graph.add("Mul", half, graph.add("Add", erf, graph.constant(1.0)))


def _add_readout(graph: OnnxGraph, states: str, readout: Readout) -> str:
    """Pool the states (item, time, hidden) of each sequence to one vector."""
    if readout.pooling == "last":
        return graph.add("Squeeze", graph.slice_axis(states, -1, None, 1), graph.integers([1]))
    if readout.pooling == "attention":
        weight, bias = (graph.constant(to_numpy(part)) for part in (readout.weigh.weight.T, readout.weigh.bias))
        scores = graph.add("Add", graph.add("MatMul", states, weight), bias)
        weighed = graph.add("Mul", graph.add("Softmax", scores, axis=1), states)
        return graph.add("ReduceSum", weighed, graph.integers([1]), keepdims=0)
    kinds = [kind for kind, word in (("ReduceMean", "mean"), ("ReduceMax", "max")) if word in readout.pooling]
    return graph.add("Concat", *(graph.add(kind, states, axes=[1], keepdims=0) for kind in kinds), axis=1)

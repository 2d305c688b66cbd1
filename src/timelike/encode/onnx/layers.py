"""Layers of torch as nodes of an ONNX graph: linear maps, convolutions of images, recurrent cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..images.network import ResidualBlock
from ..whitening import Whitener
from .graph import OnnxGraph

_GATES = {"GRU": ("zrh", "rzh"), "LSTM": ("iofc", "ifco")}  # the order of gates in ONNX, and in torch


def to_numpy(tensor: Tensor) -> NDArray[Any]:
    """A tensor as an array."""
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def add_layers(graph: OnnxGraph, layers: Iterable[nn.Module], x: str, like: Tensor) -> str:
    """Add one layer after the other; `like` is an example input, from which sizes are taken."""
    for layer in layers:
        kind = next((kind for kind in _LAYER_WRITERS if isinstance(layer, kind)), None)
        if kind is None:
            raise TypeError(f"{type(layer).__name__} has no ONNX graph: expected a layer of ImageNetwork")
        x = _LAYER_WRITERS[kind](graph, layer, x, like)
        with torch.no_grad():
            like = layer.eval()(like)
    return x


def add_linear(graph: OnnxGraph, layer: nn.Linear, x: str) -> str:
    """Add a linear map of vectors (item, feature)."""
    return graph.add("Gemm", x, graph.constant(to_numpy(layer.weight)), graph.constant(to_numpy(layer.bias)), transB=1)


def add_whitening(graph: OnnxGraph, vectors: str, whitener: Whitener | None) -> str:
    """Add the scaling or whitening that an encoder applies to the vectors of its network."""
    if whitener is None:
        return vectors
    return graph.add(
        "MatMul", graph.add("Sub", vectors, graph.constant(whitener.center)), graph.constant(whitener.matrix)
    )


def add_recurrent(graph: OnnxGraph, cells: nn.GRU | nn.LSTM, x: str) -> str:
    """Add recurrent layers; the result is the states (item, time, hidden) of the last layer."""
    kind = "GRU" if isinstance(cells, nn.GRU) else "LSTM"
    options: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    states = graph.add("Transpose", x, perm=[1, 0, 2])
    for layer in range(cells.num_layers):
        weight, inner = (graph.constant(_reorder_gates(cells, f"weight_{side}h_l{layer}", kind)[None]) for side in "ih")
        biases = [_reorder_gates(cells, f"bias_{side}h_l{layer}", kind) for side in "ih"]
        inputs = (states, weight, inner, graph.constant(np.concatenate(biases)[None]))
        outputs = graph.add(kind, *inputs, hidden_size=cells.hidden_size, **options)
        states = graph.add("Squeeze", outputs, graph.integers([1]))  # removes the axis of directions
    return graph.add("Transpose", states, perm=[1, 0, 2])


def _reorder_gates(cells: nn.Module, name: str, kind: str) -> NDArray[Any]:
    """A weight or bias with its gates in the order of ONNX."""
    wanted, there = _GATES[kind]
    parts = dict(zip(there, np.split(to_numpy(getattr(cells, name)), len(there)), strict=True))
    return np.concatenate([parts[gate] for gate in wanted])


def _add_convolution(graph: OnnxGraph, layer: nn.Conv2d, x: str, like: Tensor) -> str:
    weights = [graph.constant(to_numpy(part)) for part in (layer.weight, layer.bias) if part is not None]
    pads = [*layer.padding] * 2
    return graph.add("Conv", x, *weights, kernel_shape=[*layer.kernel_size], strides=[*layer.stride], pads=pads)


def _add_batch_norm(graph: OnnxGraph, layer: nn.BatchNorm2d, x: str, like: Tensor) -> str:
    assert layer.running_mean is not None
    assert layer.running_var is not None
    weights = [to_numpy(part) for part in (layer.weight, layer.bias, layer.running_mean, layer.running_var)]
    return graph.add("BatchNormalization", x, *map(graph.constant, weights), epsilon=layer.eps)


def _add_residual(graph: OnnxGraph, layer: ResidualBlock, x: str, like: Tensor) -> str:
    inner, around = (
        add_layers(graph, part if isinstance(part, nn.Sequential) else [part], x, like)
        for part in (layer.inner, layer.shortcut)
    )
    return graph.add("Relu", graph.add("Add", inner, around))


def _add_adaptive_pool(graph: OnnxGraph, layer: nn.AdaptiveAvgPool2d, x: str, like: Tensor) -> str:
    """Add means over intervals of rows and columns, as matrix products with weights."""
    sizes = layer.output_size if isinstance(layer.output_size, tuple) else (layer.output_size,) * 2
    rows, columns = (
        _pooling_weights(int(side), int(size or side)) for side, size in zip(like.shape[2:], sizes, strict=True)
    )
    return graph.add("MatMul", graph.add("MatMul", graph.constant(rows), x), graph.constant(columns.T))


def _pooling_weights(side: int, size: int) -> NDArray[Any]:
    """The weight of every position in every mean, (size, side).

    >>> _pooling_weights(3, 2).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """
    weights = np.zeros((size, side))
    for i in range(size):
        first, last = i * side // size, -(-(i + 1) * side // size)
        weights[i, first:last] = 1 / (last - first)
    return weights


def _add_identity(graph: OnnxGraph, layer: nn.Module, x: str, like: Tensor) -> str:
    return x


_LAYER_WRITERS: dict[type[nn.Module], Callable[[OnnxGraph, Any, str, Tensor], str]] = {
    nn.Linear: lambda graph, layer, x, like: add_linear(graph, layer, x),
    nn.Conv2d: _add_convolution,
    nn.BatchNorm2d: _add_batch_norm,
    nn.ReLU: lambda graph, layer, x, like: graph.add("Relu", x),
    nn.LeakyReLU: lambda graph, layer, x, like: graph.add("LeakyRelu", x, alpha=layer.negative_slope),
    nn.MaxPool2d: lambda graph, layer, x, like: graph.add(
        "MaxPool", x, kernel_shape=[layer.kernel_size] * 2, strides=[layer.stride] * 2, ceil_mode=int(layer.ceil_mode)
    ),
    nn.AdaptiveAvgPool2d: _add_adaptive_pool,
    nn.Flatten: lambda graph, layer, x, like: graph.add("Flatten", x, axis=1),
    ResidualBlock: _add_residual,
    nn.Dropout: _add_identity,
    nn.Dropout2d: _add_identity,
    nn.Identity: _add_identity,
}

"""Layers of torch as nodes of an ONNX graph: linear maps, convolutions of images, recurrent cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .images.network import Residual
from .onnx_graph import Graph
from .spread import Spread

_GATES = {"GRU": ("zrh", "rzh"), "LSTM": ("iofc", "ifco")}  # in the order of ONNX, and in that of torch


def plain(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a weight."""
    found: NDArray[Any] = tensor.detach().cpu().numpy()
    return found


def several(graph: Graph, layers: Iterable[nn.Module], x: str, like: Tensor) -> str:
    """One layer after the other; `like` is an example of what goes in, by which sizes are known."""
    for layer in layers:
        kind = next((kind for kind in _WRITTEN if isinstance(layer, kind)), None)
        if kind is None:
            raise TypeError(f"{type(layer).__name__} has no ONNX graph: expected layers that ImageNetwork is made of")
        x = _WRITTEN[kind](graph, layer, x, like)
        with torch.no_grad():
            like = layer.eval()(like)
    return x


def linear(graph: Graph, layer: nn.Linear, x: str) -> str:
    """Of vectors (item, feature)."""
    return graph.add("Gemm", x, graph.constant(plain(layer.weight)), graph.constant(plain(layer.bias)), transB=1)


def spread_out(graph: Graph, vectors: str, spread: Spread | None) -> str:
    """What an encoder makes of the vectors that its network gives."""
    if spread is None:
        return vectors
    return graph.add("MatMul", graph.add("Sub", vectors, graph.constant(spread.center)), graph.constant(spread.turn))


def recurrent(graph: Graph, cells: nn.GRU | nn.LSTM, x: str) -> str:
    """The states (item, time, hidden) of the last layer, of x (item, time, channel)."""
    kind = "GRU" if isinstance(cells, nn.GRU) else "LSTM"
    options: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    states = graph.add("Transpose", x, perm=[1, 0, 2])
    for layer in range(cells.num_layers):
        weight, inner = (graph.constant(_gates(cells, f"weight_{side}h_l{layer}", kind)[None]) for side in "ih")
        biases = [_gates(cells, f"bias_{side}h_l{layer}", kind) for side in "ih"]
        inputs = (states, weight, inner, graph.constant(np.concatenate(biases)[None]))
        found = graph.add(kind, *inputs, hidden_size=cells.hidden_size, **options)
        states = graph.add("Squeeze", found, graph.whole([1]))  # which has an axis for directions
    return graph.add("Transpose", states, perm=[1, 0, 2])


def _gates(cells: nn.Module, name: str, kind: str) -> NDArray[Any]:
    """A weight or bias with its gates in the order of ONNX."""
    wanted, there = _GATES[kind]
    parts = dict(zip(there, np.split(plain(getattr(cells, name)), len(there)), strict=True))
    return np.concatenate([parts[gate] for gate in wanted])


def _convolution(graph: Graph, layer: nn.Conv2d, x: str, like: Tensor) -> str:
    weights = [graph.constant(plain(part)) for part in (layer.weight, layer.bias) if part is not None]
    pads = [*layer.padding] * 2
    return graph.add("Conv", x, *weights, kernel_shape=[*layer.kernel_size], strides=[*layer.stride], pads=pads)


def _normalized(graph: Graph, layer: nn.BatchNorm2d, x: str, like: Tensor) -> str:
    assert layer.running_mean is not None
    assert layer.running_var is not None
    weights = [plain(part) for part in (layer.weight, layer.bias, layer.running_mean, layer.running_var)]
    return graph.add("BatchNormalization", x, *map(graph.constant, weights), epsilon=layer.eps)


def _residual(graph: Graph, layer: Residual, x: str, like: Tensor) -> str:
    inner, around = (
        several(graph, part if isinstance(part, nn.Sequential) else [part], x, like)
        for part in (layer.inner, layer.shortcut)
    )
    return graph.add("Relu", graph.add("Add", inner, around))


def _averaged(graph: Graph, layer: nn.AdaptiveAvgPool2d, x: str, like: Tensor) -> str:
    """Means over stretches of rows and columns, as products with the shares of each."""
    sizes = layer.output_size if isinstance(layer.output_size, tuple) else (layer.output_size,) * 2
    rows, columns = (_shares(int(side), int(size or side)) for side, size in zip(like.shape[2:], sizes, strict=True))
    return graph.add("MatMul", graph.add("MatMul", graph.constant(rows), x), graph.constant(columns.T))


def _shares(side: int, size: int) -> NDArray[Any]:
    """Of which places every mean is made, (size, side).

    >>> _shares(3, 2).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]
    """
    found = np.zeros((size, side))
    for i in range(size):
        first, last = i * side // size, -(-(i + 1) * side // size)
        found[i, first:last] = 1 / (last - first)
    return found


def _as_it_is(graph: Graph, layer: nn.Module, x: str, like: Tensor) -> str:
    return x


_WRITTEN: dict[type[nn.Module], Callable[[Graph, Any, str, Tensor], str]] = {
    nn.Linear: lambda graph, layer, x, like: linear(graph, layer, x),
    nn.Conv2d: _convolution,
    nn.BatchNorm2d: _normalized,
    nn.ReLU: lambda graph, layer, x, like: graph.add("Relu", x),
    nn.LeakyReLU: lambda graph, layer, x, like: graph.add("LeakyRelu", x, alpha=layer.negative_slope),
    nn.MaxPool2d: lambda graph, layer, x, like: graph.add(
        "MaxPool", x, kernel_shape=[layer.kernel_size] * 2, strides=[layer.stride] * 2, ceil_mode=int(layer.ceil_mode)
    ),
    nn.AdaptiveAvgPool2d: _averaged,
    nn.Flatten: lambda graph, layer, x, like: graph.add("Flatten", x, axis=1),
    Residual: _residual,
    nn.Dropout: _as_it_is,
    nn.Dropout2d: _as_it_is,
    nn.Identity: _as_it_is,
}

"""A causal network as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..onnx_graph import Graph
from ..spread import Spread
from .network import SLOPE, CausalBlock, CausalConvolution, CausalNetwork


def written(graph: Graph, x: str, network: CausalNetwork, spread: Spread | None = None) -> str:
    """The vectors (item, feature) of standardized series x (item, time, channel)."""
    x = graph.add("Transpose", x, perm=[0, 2, 1])
    for block in network.blocks:
        assert isinstance(block, CausalBlock)
        x = _block(graph, block, x)
    greatest = graph.add("ReduceMax", x, axes=[2], keepdims=0)
    weight, bias = (graph.constant(part) for part in _linear(network, spread))
    return graph.add("Gemm", greatest, weight, bias, transB=1)


def _linear(network: CausalNetwork, spread: Spread | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last map; what vectors are spread by after it is a linear map too, and becomes part of it."""
    weight, bias = (_plain(part).astype(np.float64) for part in (network.linear.weight, network.linear.bias))
    return (weight, bias) if spread is None else (spread.turn.T @ weight, (bias - spread.center) @ spread.turn)


def _plain(tensor: Tensor) -> NDArray[Any]:
    found: NDArray[Any] = tensor.detach().cpu().numpy()
    return found


def _convolution(graph: Graph, layer: CausalConvolution, x: str) -> str:
    taps = len(layer.direction)
    weight = graph.constant(_plain(layer.weight.flip(0).permute(2, 1, 0)))  # the last tap of ONNX is now
    before = (taps - 1) * layer.dilation
    bias, dilations = graph.constant(_plain(layer.bias)), [layer.dilation]
    return graph.add("Conv", x, weight, bias, dilations=dilations, kernel_shape=[taps], pads=[before, 0])


def _block(graph: Graph, block: CausalBlock, x: str) -> str:
    inner = x
    for layer in (block.first, block.second):
        inner = graph.add("LeakyRelu", _convolution(graph, layer, inner), alpha=SLOPE)
    if block.shortcut is not None:
        weight, bias = _plain(block.shortcut.weight[:, :, None]), _plain(block.shortcut.bias)
        x = graph.add("Conv", x, graph.constant(weight), graph.constant(bias), kernel_shape=[1])
    return graph.add("Add", inner, x)

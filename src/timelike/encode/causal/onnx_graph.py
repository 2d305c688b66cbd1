"""A causal network as nodes of an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..onnx.graph import OnnxGraph
from ..whitening import Whitener
from .network import LEAKY_SLOPE, CausalBlock, CausalConvolution, CausalNetwork


def add_causal_network(graph: OnnxGraph, x: str, network: CausalNetwork, whitener: Whitener | None = None) -> str:
    """Add nodes that map standardized series x (item, time, channel) to vectors (item, feature)."""
    x = graph.add("Transpose", x, perm=[0, 2, 1])
    for block in network.blocks:
        assert isinstance(block, CausalBlock)
        x = _add_block(graph, block, x)
    greatest = graph.add("ReduceMax", x, axes=[2], keepdims=0)
    weight, bias = (graph.constant(part) for part in _output_map(network, whitener))
    return graph.add("Gemm", greatest, weight, bias, transB=1)


def _output_map(network: CausalNetwork, spread: Whitener | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last linear map, combined with the whitening, which is linear too."""
    weight, bias = (_to_numpy(part).astype(np.float64) for part in (network.linear.weight, network.linear.bias))
    return (weight, bias) if spread is None else (spread.matrix.T @ weight, (bias - spread.center) @ spread.matrix)


def _to_numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _add_convolution(graph: OnnxGraph, layer: CausalConvolution, x: str) -> str:
    taps = len(layer.direction)
    weight = graph.constant(_to_numpy(layer.weight.flip(0).permute(2, 1, 0)))  # ONNX's last tap is the current step
    before = (taps - 1) * layer.dilation
    bias, dilations = graph.constant(_to_numpy(layer.bias)), [layer.dilation]
    return graph.add("Conv", x, weight, bias, dilations=dilations, kernel_shape=[taps], pads=[before, 0])


def _add_block(graph: OnnxGraph, block: CausalBlock, x: str) -> str:
    inner = x
    for layer in (block.first, block.second):
        inner = graph.add("LeakyRelu", _add_convolution(graph, layer, inner), alpha=LEAKY_SLOPE)
    if block.shortcut is not None:
        weight, bias = _to_numpy(block.shortcut.weight[:, :, None]), _to_numpy(block.shortcut.bias)
        x = graph.add("Conv", x, graph.constant(weight), graph.constant(bias), kernel_shape=[1])
    return graph.add("Add", inner, x)

"""A causal encoder as an ONNX graph, for machines without Python or torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..spread import Spread
from .network import SLOPE, CausalBlock, CausalConvolution, CausalNetwork

_OPSET, _IR = 17, 8  # what runtimes from 2022 on read


def write_onnx(
    path: str | Path, network: CausalNetwork, mean: NDArray[Any], scale: NDArray[Any], spread: Spread | None = None
) -> None:
    """Write the graph `x` (item, time, channel) → `features` (item, feature), in float32, for any item and time."""
    onnx = _imported()
    graph = _Graph(onnx.helper, onnx.numpy_helper)
    x = graph.add("Sub", "x", graph.constant(mean.reshape(-1)))
    x = graph.add("Div", x, graph.constant(scale.reshape(-1)))
    x = graph.add("Transpose", x, perm=[0, 2, 1])
    for block in network.blocks:
        assert isinstance(block, CausalBlock)
        x = graph.block(block, x)
    greatest = graph.add("ReduceMax", x, axes=[2], keepdims=0)
    weight, bias = (graph.constant(part) for part in _linear(network, spread))
    graph.add("Gemm", greatest, weight, bias, into="features", transB=1)
    model = graph.model(mean.size, network.linear.out_features)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _linear(network: CausalNetwork, spread: Spread | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """The last map; what vectors are spread by after it is a linear map too, and becomes part of it."""
    weight, bias = (part.detach().numpy().astype(np.float64) for part in (network.linear.weight, network.linear.bias))
    return (weight, bias) if spread is None else (spread.turn.T @ weight, (bias - spread.center) @ spread.turn)


def _imported() -> Any:
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("export_onnx needs the package onnx: pip install timelike[onnx]") from error
    return onnx


class _Graph:
    """Nodes and constants, named by their number."""

    def __init__(self, helper: Any, arrays: Any) -> None:
        self.helper, self.arrays = helper, arrays
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Tensor | NDArray[Any]) -> str:
        array = value.detach().numpy() if isinstance(value, Tensor) else value
        name = f"constant{len(self.constants)}"
        self.constants.append(self.arrays.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def add(self, kind: str, *inputs: str, into: str | None = None, **options: Any) -> str:
        name = f"step{len(self.nodes)}" if into is None else into
        self.nodes.append(self.helper.make_node(kind, inputs, [name], **options))
        return name

    def convolution(self, layer: CausalConvolution, x: str) -> str:
        taps = len(layer.direction)
        weight = self.constant(layer.weight.flip(0).permute(2, 1, 0))  # the last tap of ONNX is now
        before = (taps - 1) * layer.dilation
        bias, dilations = self.constant(layer.bias), [layer.dilation]
        return self.add("Conv", x, weight, bias, dilations=dilations, kernel_shape=[taps], pads=[before, 0])

    def block(self, block: CausalBlock, x: str) -> str:
        inner = x
        for layer in (block.first, block.second):
            inner = self.add("LeakyRelu", self.convolution(layer, inner), alpha=SLOPE)
        if block.shortcut is not None:
            weight, bias = self.constant(block.shortcut.weight[:, :, None]), self.constant(block.shortcut.bias)
            x = self.add("Conv", x, weight, bias, kernel_shape=[1])
        return self.add("Add", inner, x)

    def model(self, n_channels: int, n_features: int) -> Any:
        number = 1  # TensorProto.FLOAT
        given = self.helper.make_tensor_value_info("x", number, ["item", "time", n_channels])
        found = self.helper.make_tensor_value_info("features", number, ["item", n_features])
        graph = self.helper.make_graph(self.nodes, "CausalEncoder", [given], [found], self.constants)
        opset = self.helper.make_opsetid("", _OPSET)
        return self.helper.make_model(graph, opset_imports=[opset], producer_name="timelike", ir_version=_IR)

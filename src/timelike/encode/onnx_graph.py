"""Graph, in which encoders write themselves down as ONNX, for machines without Python or torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.arguments import folder
from ..sequences.atomic import replacing

if TYPE_CHECKING:
    from .base import Encoder

_OPSET, _IR = 17, 8  # what runtimes from 2022 on read
KINDS = {"float32": 1, "bool": 9, "float64": 11}
"""The numbers that ONNX has for dtypes."""


def write(encoder: Encoder, path: Any) -> None:
    """Write the graph `x` (item, time, channel) → `features` (item, feature), in float32, for any item and time."""
    file = folder(path, "path")
    graph = Graph()
    found = encoder._onnx(graph, "x")
    graph.add("Identity", found, into="features")
    model = graph.model(type(encoder).__name__, int(np.prod(encoder._frame() or (1,))), encoder._n_features_out)
    with replacing(file) as temporary:
        graph.onnx.checker.check_model(model)
        graph.onnx.save(model, str(temporary), format="protobuf")


def _imported() -> Any:
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("export_onnx needs the package onnx: pip install timelike[onnx]") from error
    return onnx


class Graph:
    """Nodes and constants, named by their number."""

    def __init__(self) -> None:
        self.onnx = _imported()
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """An array that is part of the graph; equal ones are there once."""
        array = np.array(value, dtype, order="C")
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self.constants:
            name = f"constant{len(self.constants)}"
            self.constants[key] = self.onnx.numpy_helper.from_array(array, name)
        found: str = self.constants[key].name
        return found

    def whole(self, value: Any) -> str:
        """Whole numbers: sizes, and positions."""
        return self.constant(value, np.int64)

    def add(self, kind: str, *inputs: str, into: str | None = None, **options: Any) -> str:
        """The output of a new node."""
        return self.several(kind, inputs, [f"step{len(self.nodes)}" if into is None else into], **options)[0]

    def several(self, kind: str, inputs: Any, outputs: list[str], **options: Any) -> list[str]:
        """The outputs, by their names, of a new node that has several."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, **options))
        return outputs

    def cast(self, x: str, dtype: str) -> str:
        """In another precision."""
        return self.add("Cast", x, to=KINDS[dtype])

    def take(self, x: str, positions: NDArray[Any], axis: int) -> str:
        """Some positions along an axis."""
        return self.add("Gather", x, self.whole(positions), axis=axis)

    def between(self, x: str, first: int, last: int | None, axis: int) -> str:
        """Positions from the first up to the last, which may count from the end."""
        end = np.iinfo(np.int64).max if last is None else last
        return self.add("Slice", x, *(self.whole([number]) for number in (first, end, axis)))

    def standardized(self, x: str, mean: NDArray[Any], scale: NDArray[Any]) -> str:
        """x less a mean and by a scale, as the library computes it: in double precision, then rounded."""
        double = self.add("Sub", self.cast(x, "float64"), self.constant(mean.reshape(-1), np.float64))
        return self.cast(self.add("Div", double, self.constant(scale.reshape(-1), np.float64)), "float32")

    def model(self, name: str, n_channels: int, n_features: int) -> Any:
        """The graph as a file holds it."""
        helper = self.onnx.helper
        given = helper.make_tensor_value_info("x", KINDS["float32"], ["item", "time", n_channels])
        found = helper.make_tensor_value_info("features", KINDS["float32"], ["item", n_features])
        graph = helper.make_graph(self.nodes, name, [given], [found], list(self.constants.values()))
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], producer_name="timelike", ir_version=_IR)

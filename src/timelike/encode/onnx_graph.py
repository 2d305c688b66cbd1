"""Graph, in which encoders write themselves down as ONNX, for machines without Python or torch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.arguments import folder
from ..sequences.atomic import replacing

_OPSET, _IR = 17, 8  # what runtimes from 2022 on read
KINDS = {"float32": 1, "int64": 7, "bool": 9, "float64": 11}
"""The numbers that ONNX has for dtypes."""


def write(encoder: Any, path: Any) -> None:
    """Write the graph `x` (item, time, channel) → `features` (item, feature), in float32, for any item and time."""
    frame = encoder._frame() or (1,)
    n_features = encoder.encode(np.zeros((1, 1, *frame))).shape[1]
    graph = Graph()
    graph.add("Identity", encoder_vectors(graph, encoder, "x"), into="features")
    save(graph, encoder, path, {"features": n_features})


def encoder_vectors(graph: Graph, encoder: Any, x: str) -> str:
    """The vectors (item, feature) of x (item, time, channel), resampled first where the encoder does so."""
    length = getattr(encoder, "length_", None)
    found: str = encoder._onnx(graph, x if length is None else graph.resampled(x, length))
    return found


def save(graph: Graph, model: Any, path: Any, outputs: dict[str, int], known: dict[str, Any] | None = None) -> None:
    """Write what a model drew into a graph, with outputs (item, number) of these names, as a file.

    What else is `known` is in its metadata, as JSON.
    """
    file = folder(path, "path")
    n_channels = int(np.prod(model._frame() or (1,)))
    single = getattr(getattr(model, "encoder_", model), "_single", False)
    found = graph.model(type(model).__name__, [1 if single else "time", n_channels], outputs)
    graph.onnx.helper.set_model_props(found, {name: json.dumps(value) for name, value in (known or {}).items()})
    with replacing(file) as temporary:
        graph.onnx.checker.check_model(found)
        graph.onnx.save(found, str(temporary), format="protobuf")


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
        name = f"step{len(self.nodes)}" if into is None else into
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [name], **options))
        return name

    def several(self, kind: str, inputs: list[str], count: int, **options: Any) -> list[str]:
        """The outputs of a new node that has so many."""
        names = [f"step{len(self.nodes)}part{k}" for k in range(count)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, **options))
        return names

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

    def resampled(self, x: str, length: int) -> str:
        """x (item, time, channel) at so many evenly spaced places from its first step to its last, linear between."""
        last = self.add("Sub", self.add("Gather", self.add("Shape", x), self.whole(1)), self.whole(1))
        steps = self.constant(np.arange(length) / max(length - 1, 1), np.float64)
        exact = self.add("Mul", steps, self.cast(last, "float64"))
        nearest = self.add("Round", exact)
        apart = self.add("Abs", self.add("Sub", exact, nearest))
        # a place that is a step up to rounding is that step, as in `Sequences.resample`
        places = self.add("Where", self.add("Less", apart, self.constant(1e-9, np.float64)), nearest, exact)
        low = self.add("Floor", places)
        share = self.add("Unsqueeze", self.add("Sub", places, low), self.whole([1]))
        before = self.cast(low, "int64")
        after = self.add("Min", self.add("Add", before, self.whole(1)), last)
        near, far = (self.cast(self.add("Gather", x, at, axis=1), "float64") for at in (before, after))
        rest = self.add("Sub", self.constant(1.0, np.float64), share)
        return self.cast(self.add("Add", self.add("Mul", near, rest), self.add("Mul", far, share)), "float32")

    def unit(self, rows: str) -> str:
        """Rows (item, feature) of length 1; one at the very centre stays there."""
        length = self.add("Max", self.add("ReduceL2", rows, axes=[1], keepdims=1), self.constant(1e-12))
        return self.add("Div", rows, length)

    def model(self, name: str, axes: list[Any], outputs: dict[str, int]) -> Any:
        """The graph as a file holds it: x (item, *axes) in, and rows of so many numbers out."""
        helper, number = self.onnx.helper, KINDS["float32"]
        given = helper.make_tensor_value_info("x", number, ["item", *axes])
        found = [helper.make_tensor_value_info(output, number, ["item", size]) for output, size in outputs.items()]
        graph = helper.make_graph(self.nodes, name, [given], found, list(self.constants.values()))
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], producer_name="timelike", ir_version=_IR)

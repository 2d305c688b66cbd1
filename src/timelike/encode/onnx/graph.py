"""`OnnxGraph`, to which encoders add their nodes, and the export to a file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.extras import import_extra
from ...core.files import atomic_write
from ...core.parameters import check_folder

_OPSET, _IR_VERSION = 17, 8  # supported by runtimes from 2022 on
ONNX_DTYPES = {"float32": 1, "int64": 7, "bool": 9, "float64": 11}
"""The codes of dtypes in ONNX."""


def export_encoder(encoder: Any, path: Any) -> None:
    """Write the graph `x` (item, time, channel) → `features` (item, feature), in float32, for any item and time."""
    frame = encoder._expected_frame() or (1,)
    n_features = encoder.encode(np.zeros((1, 1, *frame))).shape[1]
    graph = OnnxGraph()
    graph.add("Identity", add_encoder(graph, encoder, "x"), output="features")
    save_graph(graph, encoder, path, {"features": n_features})


def add_encoder(graph: OnnxGraph, encoder: Any, x: str) -> str:
    """Add nodes that map x (item, time, channel) to vectors (item, feature), resampled first if the encoder does so."""
    length = getattr(encoder, "length_", None)
    vectors: str = encoder._add_to_onnx(graph, x if length is None else graph.resample(x, length))
    return vectors


def save_graph(
    graph: OnnxGraph, model: Any, path: Any, outputs: dict[str, int], metadata: dict[str, Any] | None = None
) -> None:
    """Write the graph of a model to a file, with outputs (item, size) of these names and sizes.

    The entries of `metadata` are stored as JSON in the metadata of the file.
    """
    file = check_folder(path, "path")
    n_channels = int(np.prod(model._expected_frame() or (1,)))
    single = getattr(getattr(model, "encoder_", model), "_is_single_frame", False)
    onnx_model = graph.to_model(type(model).__name__, [1 if single else "time", n_channels], outputs)
    graph.onnx.helper.set_model_props(onnx_model, {name: json.dumps(value) for name, value in (metadata or {}).items()})
    with atomic_write(file) as temporary:
        graph.onnx.checker.check_model(onnx_model)
        graph.onnx.save(onnx_model, str(temporary), format="protobuf")


class OnnxGraph:
    """The nodes and constants of an ONNX graph, named by their number."""

    def __init__(self) -> None:
        self.onnx = import_extra("onnx", "export_onnx")
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], Any] = {}

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """The name of a constant array; equal arrays are stored once."""
        array = np.array(value, dtype, order="C")
        key = (str(array.dtype), array.shape, array.tobytes())
        if key not in self.constants:
            name = f"constant{len(self.constants)}"
            self.constants[key] = self.onnx.numpy_helper.from_array(array, name)
        constant_name: str = self.constants[key].name
        return constant_name

    def integers(self, value: Any) -> str:
        """The name of a constant array of integers, for sizes and positions."""
        return self.constant(value, np.int64)

    def add(self, op_type: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"step{len(self.nodes)}" if output is None else output
        self.nodes.append(self.onnx.helper.make_node(op_type, inputs, [name], **options))
        return name

    def add_multi_output(self, op_type: str, inputs: list[str], count: int, **options: Any) -> list[str]:
        """Add a node with `count` outputs and return their names."""
        names = [f"step{len(self.nodes)}part{k}" for k in range(count)]
        self.nodes.append(self.onnx.helper.make_node(op_type, inputs, names, **options))
        return names

    def cast(self, x: str, dtype: str) -> str:
        """x in another dtype."""
        return self.add("Cast", x, to=ONNX_DTYPES[dtype])

    def take(self, x: str, positions: NDArray[Any], axis: int) -> str:
        """The entries of x at `positions` along an axis."""
        return self.add("Gather", x, self.integers(positions), axis=axis)

    def slice_axis(self, x: str, first: int, last: int | None, axis: int) -> str:
        """The entries from `first` up to `last`, which may count from the end, along an axis."""
        end = np.iinfo(np.int64).max if last is None else last
        return self.add("Slice", x, *(self.integers([number]) for number in (first, end, axis)))

    def standardize(self, x: str, mean: NDArray[Any], scale: NDArray[Any]) -> str:
        """(x − mean) / scale, computed in double precision and then rounded, as in the library."""
        double = self.add("Sub", self.cast(x, "float64"), self.constant(mean.reshape(-1), np.float64))
        return self.cast(self.add("Div", double, self.constant(scale.reshape(-1), np.float64)), "float32")

    def resample(self, x: str, length: int) -> str:
        """x (item, time, channel), interpolated linearly at `length` evenly spaced positions."""
        last = self.add("Sub", self.add("Gather", self.add("Shape", x), self.integers(1)), self.integers(1))
        steps = self.constant(np.arange(length) / max(length - 1, 1), np.float64)
        exact = self.add("Mul", steps, self.cast(last, "float64"))
        nearest = self.add("Round", exact)
        apart = self.add("Abs", self.add("Sub", exact, nearest))
        # a position that equals a step up to rounding is that step, as in `Sequences.resample`
        places = self.add("Where", self.add("Less", apart, self.constant(1e-9, np.float64)), nearest, exact)
        low = self.add("Floor", places)
        share = self.add("Unsqueeze", self.add("Sub", places, low), self.integers([1]))
        before = self.cast(low, "int64")
        after = self.add("Min", self.add("Add", before, self.integers(1)), last)
        near, far = (self.cast(self.add("Gather", x, at, axis=1), "float64") for at in (before, after))
        rest = self.add("Sub", self.constant(1.0, np.float64), share)
        return self.cast(self.add("Add", self.add("Mul", near, rest), self.add("Mul", far, share)), "float32")

    def normalize_rows(self, rows: str) -> str:
        """Rows (item, feature) scaled to length 1; zero rows stay zero."""
        length = self.add("Max", self.add("ReduceL2", rows, axes=[1], keepdims=1), self.constant(1e-12))
        return self.add("Div", rows, length)

    def to_model(self, name: str, axes: list[Any], outputs: dict[str, int]) -> Any:
        """The ONNX model with the input x (item, *axes) and outputs (item, size) of these names and sizes."""
        helper, number = self.onnx.helper, ONNX_DTYPES["float32"]
        input_info = helper.make_tensor_value_info("x", number, ["item", *axes])
        output_infos = [
            helper.make_tensor_value_info(output, number, ["item", size]) for output, size in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, name, [input_info], output_infos, list(self.constants.values()))
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], producer_name="timelike", ir_version=_IR_VERSION)

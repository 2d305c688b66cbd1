"""`OnnxModel`: the bytes of an ONNX file, its inputs and outputs, and the session of onnxruntime that runs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...core.extras import import_extra
from ...core.threads import with_object_lock

_EXTERNAL = 1  # TensorProto.DataLocation: the numbers are in another file
_LOCATION = b"location"  # the word by which a tensor names that file; a model without it has none
_DTYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
_INTEGERS = {"tensor(int64)": "int64", "tensor(int32)": "int32"}
_MAX_ERROR = 240  # letters of an error of onnxruntime, which may print whole graphs


class TensorInfo(NamedTuple):
    """An input or an output: its name, onnxruntime's word for its type, and its axes, None where they are free."""

    name: str
    kind: str
    shape: tuple[int | None, ...]

    @property
    def dtype(self) -> str | None:
        """NumPy's word for its type where that is a float, otherwise None."""
        return _DTYPES.get(self.kind)

    @property
    def integer_dtype(self) -> str | None:
        """NumPy's word for its type where that is an integer, otherwise None."""
        return _INTEGERS.get(self.kind)

    def __str__(self) -> str:
        axes = ", ".join("free" if size is None else str(size) for size in self.shape)
        return f"{self.name!r}, {self.kind} ({axes})"


class OnnxModel:
    """A frozen ONNX model; copies share one session, and pickles and folders hold the bytes alone.

    A session runs on one thread: several threads of ours run it at the same time, each for other sequences, so that no
    bit depends on their number.
    """

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self._session: Any = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """A file; weights that it keeps in files beside it become part of the model, so that it is complete."""
        data = path.read_bytes()
        if _LOCATION in data:
            data = _embed_external_data(data, path)
        return cls(np.frombuffer(data, np.uint8))

    # --- as a record of a folder ---------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What a folder holds of it."""
        return {"data": self.data}

    @classmethod
    def from_state(cls, fields: Mapping[str, Any]) -> Self:
        """The model in a folder; its session is opened when it is needed."""
        return cls(fields["data"])

    def __getstate__(self) -> dict[str, Any]:
        return self.state()

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__init__(state["data"])  # type: ignore[misc]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # nothing in it ever changes

    def __repr__(self) -> str:
        return f"OnnxModel({len(self.data)} bytes)"

    def refuse_external_data(self) -> None:
        """Raise an error if a model out of a folder names files: whoever wrote it could have any file read."""
        if _LOCATION in self.data.tobytes() and any(_external_tensors(_parse(self.data.tobytes()))):
            raise ValueError("its ONNX model keeps weights in other files, which save() never writes")

    # --- what it takes and gives -----------------------------------------------------------------------------------

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """What must be given to it, by name."""
        return {one.name: _tensor_info(one) for one in self.open().get_inputs()}

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """What it gives, by name."""
        return {one.name: _tensor_info(one) for one in self.open().get_outputs()}

    @property
    def is_exported_here(self) -> bool:
        """Whether an `export_onnx` of this library wrote it, whose graphs have one layout."""
        return bool(self.open().get_modelmeta().producer_name == "timelike")

    def run(self, given: Mapping[str, NDArray[Any]], output: str) -> NDArray[Any]:
        """One output for these inputs."""
        session = self.open()
        try:
            found: NDArray[Any] = session.run([output], dict(given))[0]
        except Exception as error:  # the classes of onnxruntime have no base of their own
            raise ValueError(shorten_error(error)) from error
        return found

    @with_object_lock
    def open(self) -> Any:
        """The session of onnxruntime, on the CPU."""
        if self._session is None:
            runtime = import_extra("onnxruntime", "OnnxEncoder")
            settings = runtime.SessionOptions()
            settings.intra_op_num_threads = settings.inter_op_num_threads = 1
            settings.enable_mem_pattern = False  # which would be kept for every length there ever was
            settings.use_deterministic_compute = True
            settings.log_severity_level = 4  # what goes wrong is raised
            try:
                self._session = runtime.InferenceSession(
                    self.data.tobytes(), settings, providers=["CPUExecutionProvider"], enable_fallback=0
                )
            except Exception as error:  # as above
                raise ValueError(
                    f"onnxruntime {runtime.__version__} cannot read it ({shorten_error(error)}): expected an ONNX "
                    "model, such as export_onnx or torch.onnx.export writes, whose operators it has"
                ) from error
        return self._session


def shorten_error(error: Exception) -> str:
    """The words of an error on one line, cut where they are many."""
    words = " ".join(str(error).split())
    return words if len(words) <= _MAX_ERROR else f"{words[:_MAX_ERROR]}…"


def _tensor_info(node: Any) -> TensorInfo:
    axes = tuple(size if isinstance(size, int) and size > 0 else None for size in node.shape)
    return TensorInfo(node.name, node.type, axes)


def _embed_external_data(data: bytes, path: Path) -> bytes:
    """The model with the weights of the files that it names, which lie in its own folder."""
    model = _parse(data)
    external = list(_external_tensors(model))
    if not external:
        return data
    helper = import_extra("onnx.external_data_helper", "OnnxEncoder")
    try:
        for tensor in external:
            helper.load_external_data_for_tensor(tensor, str(path.parent))
            tensor.data_location = 0
            del tensor.external_data[:]
        found: bytes = model.SerializeToString()
    except Exception as error:  # a file that is missing, too short, or outside of the folder; more than 2 GB
        raise ValueError(
            f"the weights that it keeps in other files cannot be read ({shorten_error(error)}): put them beside it"
        ) from error
    return found


def _parse(data: bytes) -> Any:
    onnx = import_extra("onnx", "OnnxEncoder, for weights in a file of their own,")
    try:
        return onnx.load_model_from_string(data)
    except Exception as error:  # of protobuf, which is no dependency of ours
        raise ValueError(f"it is no ONNX model ({shorten_error(error)})") from error


def _external_tensors(message: Any) -> Iterator[Any]:
    """The tensors in any part of a model, functions and branches too, whose numbers are in another file."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        entries = value if hasattr(value, "__len__") and not hasattr(value, "ListFields") else [value]
        for entry in entries:
            if field.message_type.name == "TensorProto" and entry.data_location == _EXTERNAL:
                yield entry
            else:
                yield from _external_tensors(entry)

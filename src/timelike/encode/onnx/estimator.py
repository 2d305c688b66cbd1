"""`OnnxEncoder`: a frozen ONNX model as an encoder, run by onnxruntime."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Self, get_args
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...align.base import Metric
from ...core.files import atomic_write
from ...core.parameters import check_folder, format_count, format_value, is_path_too_long, store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ...sequences.io.formats.special_files import special_file_kind
from ...sequences.moments import ChannelScaler
from ..base import Encoder, Geometry, Length
from .graph import OnnxGraph
from .model import OnnxModel, TensorInfo, shorten_error

Layout = Literal["ntc", "nct", "tnc", "nt", "tc", "ct", "t", "nc", "ntchw", "ncthw", "nchw"]
"""The axes of a model's input: n item, t time, c channel, h height, w width."""

_MAX_BATCH = 1 << 20
_LARGEST_HALF = float(np.finfo(np.float16).max)


def _check_file(value: Any, name: str) -> Any:
    """A path; whether there is a file is seen when it is read, for a model out of a folder needs none."""
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}={format_value(value)}: expected the path of an ONNX file")
    path = os.fspath(value)
    if not isinstance(path, str) or not path or "\0" in path or is_path_too_long(path):
        raise ValueError(f"{name}={format_value(value)}: expected the path of an ONNX file")
    return value


def _check_name(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name}={format_value(value)}: expected the name of an input or output of the model, or None")
    return value


class _Signature(NamedTuple):
    """The inputs that are filled and the output that is taken."""

    values: TensorInfo
    lengths: TensorInfo | None
    output: TensorInfo


class OnnxEncoder(Encoder):
    """Vectors by a frozen ONNX model of any origin, run on the CPU by onnxruntime; torch is not needed.

    Use it for an encoder that was trained elsewhere: with `export_onnx` on a machine that has torch, with
    `torch.onnx.export`, or by another library. It can be used at once, and everywhere that an encoder can be: in
    `Neighbors`, `EmbeddingClassifier`, `Discriminant`, `Prototypes`, pipelines and searches. Where the encoder itself
    is at hand, use that: it streams, fills in missing values and trains, none of which an ONNX model does.

    `fit` only checks that the model takes such sequences, and keeps it: a saved folder holds the whole ONNX model, and
    the file is not needed any more. Before `fit` the file is read when vectors are asked for. With `standardize` or
    `length` there is something to learn, and `fit` comes first.

    Sequences of one length are run together, `batch_size` at a time, and never padded, unless the model has a fixed
    number of steps and takes lengths. Each batch runs on one thread, and `n_jobs` batches at a time: no bit depends on
    the number of threads. Whether the last bits of a vector depend on the others of its batch is up to onnxruntime,
    which does not promise anything; with `batch_size=1` there are no others.

    Parameters
    ----------
    file : str or Path
        The ONNX file. Weights in files beside it (`model.onnx.data`) are read, too.
    layout : {"ntc", "nct", "tnc", "nt", "tc", "ct", "t", "nc", "ntchw", "ncthw", "nchw"}
        The axes of the input: n item, t time, c channel, h height, w width. It is never guessed. Without n the model
        takes one sequence at a time, without t single frames, without c one channel. Frames of several axes are
        flattened for a layout without h and w. Files of this library are "ntc".
    input_name : str or None
        The input that takes the sequences; None for the only one beside `lengths_name`.
    lengths_name : str or None
        The input that takes the number of steps of every sequence, (item,) integers. None for none.
    output_name : str or None
        The output that is the vectors, (item, feature); None for the only one, in a file of this library `features`.
    standardize : bool
        Whether channels are standardized first, with mean and deviation of the sequences fitted on. Files of this
        library do that by themselves.
    length : int, "mean" or None
        Steps to which sequences are resampled first: so many, or the mean length of those fitted on. None: as they are.
        For a model that takes one number of steps alone.
    batch_size : int
        How many sequences of one length are run together, at most. More than one is faster for some models, but the
        last bits of a vector may then depend on the other sequences.
    geometry : {"euclidean", "cosine"}
        How vectors are compared: by ‖u − v‖, or by their directions.

    Attributes
    ----------
    model_ : OnnxModel
        The model: `model_.inputs`, `model_.outputs`, and its bytes `model_.data`.
    n_features_ : int
        How long vectors are.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import timelike as tl
    >>> X = tl.Sequences([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [5.0, 5.0, 4.0, 5.0]])
    >>> statistics = tl.encode.StatisticsEncoder().fit(X)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "statistics.onnx"
    >>> statistics.export_onnx(file)
    >>> encoder = tl.encode.OnnxEncoder(file)
    >>> bool(np.allclose(encoder.encode(X), statistics.encode(X), atol=1e-4))
    True
    >>> tl.Neighbors(encoder).fit(X, ["wave", "wave", "flat"]).predict([[1.0, 0.0, 1.0, 0.0]])
    array(['wave'], dtype='<U4')
    """

    file = options.Option(_check_file)
    layout = options.choice(*get_args(Layout))
    input_name = options.nullable(options.Option(_check_name))
    lengths_name = options.nullable(options.Option(_check_name))
    output_name = options.nullable(options.Option(_check_name))
    standardize = options.boolean()
    batch_size = options.integer(1, "free", most=_MAX_BATCH)

    model_: OnnxModel = schema.record(OnnxModel, data=schema.array("byte", dtype="uint8"))
    n_features_: int = schema.integer(1)
    scaler_: ChannelScaler = schema.required_if(lambda model: model.standardize, schema.channel_scaler())

    def __init__(
        self,
        file: str | Path,
        *,
        layout: Layout = "ntc",
        input_name: str | None = None,
        lengths_name: str | None = None,
        output_name: str | None = None,
        standardize: bool = False,
        length: Length = None,
        batch_size: int = 1,
        geometry: Geometry = "euclidean",
    ) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        """With something to learn, so that `fit` is needed."""
        return {"file": _write_test_model(), "standardize": True}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the model, and check that it takes sequences like X; what is learned is the standardization, if any."""
        kept: OnnxModel | None = getattr(self, "model_", None)
        is_same_file = getattr(self, "_fitted_parameters", {}).get("file") == self.file
        with self._atomic_fit():
            self._refuse_options()
            # one that was loaded from a folder has its model, and perhaps no file any more
            uses_kept = is_same_file and not Path(self.file).exists()
            self.model_ = kept if kept is not None and uses_kept else self._read_file()
            self._find_signature(self.model_)
            sequences = self._validate_fit_input(X)
            if self.standardize:
                self.scaler_ = ChannelScaler.from_sequences(sequences)
            self._refuse_sequences(sequences, self._find_signature(self.model_))
            self.n_features_ = int(self._encode(sequences[:1], 1).shape[1])
        return self

    # --- vectors ------------------------------------------------------------------------------------------------------

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        model = self._get_model()
        signature = self._find_signature(model)
        self._refuse_sequences(sequences, signature)
        ready = self._prepare(sequences, signature.values)
        batches = list(self._plan_batches(sequences.lengths, signature.values))

        def run(items: NDArray[np.int64]) -> NDArray[np.float32]:
            return self._run_batch(model, signature, [ready[i] for i in items.tolist()])

        if threads == 1 or len(batches) == 1:
            parts = list(map(run, batches))
        else:
            with ThreadPoolExecutor(min(threads, len(batches))) as pool:
                parts = list(pool.map(run, batches))
        self._refuse_sizes(parts, batches, sequences)
        vectors = np.empty((len(sequences), parts[0].shape[1]), np.float32)
        vectors[np.concatenate(batches)] = np.concatenate(parts)
        if not np.isfinite(vectors).all():
            bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise ValueError(
                f"X: the model of {self._source} gives sequence {bad} a vector that is not finite: expected numbers "
                "of float32; look for an outlier, or standardize as the model was trained"
            )
        return vectors

    def _prepare(self, sequences: Sequences, values: TensorInfo) -> Sequences:
        """Sequences in the precision of the model, standardized where that was asked for."""
        scaler = self.scaler_ if self.standardize else ChannelScaler.identity(sequences.frame)
        if values.dtype == "float64":
            return sequences._with_values((sequences.values.astype(np.float64) - scaler.mean) / scaler.scale)
        ready = scaler.transform(sequences, "X")
        if values.dtype == "float16" and float(np.abs(ready.values).max(initial=0)) > _LARGEST_HALF:
            raise ValueError(
                f"X has a value of {np.abs(ready.values).max():.3g}: input {values.name!r} of {self._source} is "
                "float16, up to 65504; give X in another unit, or use standardize=True"
            )
        return ready

    def _plan_batches(self, lengths: NDArray[np.int64], values: TensorInfo) -> Iterator[NDArray[np.int64]]:
        """Positions of sequences of one length, as many as are run together."""
        most = 1 if "n" not in self.layout else self._axis_size(values, "n") or self.batch_size
        for length in np.unique(lengths):
            items = np.flatnonzero(lengths == length)
            yield from np.split(items, np.arange(most, len(items), most))

    def _run_batch(self, model: OnnxModel, signature: _Signature, items: list[NDArray[Any]]) -> NDArray[np.float32]:
        """Vectors (item, feature) of sequences of one length."""
        values, steps, count = signature.values, len(items[0]), len(items)
        fixed = self._axis_size(values, "n")
        filled = items + items[-1:] * ((fixed or count) - count)  # a fixed number of items: the last is repeated
        block = self._arrange_axes(np.stack(filled), self._axis_size(values, "t")).astype(values.dtype)
        given = {values.name: np.ascontiguousarray(block)}
        if signature.lengths is not None:
            shape = (len(filled),) if "n" in self.layout else (1,) * len(signature.lengths.shape)
            given[signature.lengths.name] = np.full(shape, steps, signature.lengths.integer_dtype)
        try:
            found = model.run(given, signature.output.name)
        except ValueError as error:
            raise ValueError(
                f"X: the model of {self._source} fails for {format_count(len(filled), 'sequence')} of "
                f"{format_count(steps, 'step')} ({error}): a model may need longer sequences, a fixed number of steps "
                f"(length={steps} resamples), or another layout than {self.layout!r}"
            ) from error
        rows = len(filled) if "n" in self.layout else 1
        has_item_axis = "n" in self.layout and fixed != 1  # else the output may be one vector (feature,)
        if found.size % rows or (has_item_axis and found.shape[:1] != (rows,)):
            raise ValueError(
                f"output {signature.output.name!r} of {self._source} has shape {found.shape} for "
                f"{format_count(rows, 'sequence')}: expected (item, feature), a row for each"
            )
        return np.asarray(found.reshape(rows, -1)[:count], np.float32)

    def _arrange_axes(self, block: NDArray[Any], fixed_steps: int | None) -> NDArray[Any]:
        """An array (item, time, *frame) with the axes of the layout, zeros after its steps where these are fixed."""
        axes = "ntchw" if "h" in self.layout else "ntc"
        block = block if len(axes) == 5 else block.reshape(*block.shape[:2], -1)
        if fixed_steps is not None and fixed_steps > block.shape[1]:
            rest = np.zeros((len(block), fixed_steps - block.shape[1], *block.shape[2:]), block.dtype)
            block = np.concatenate([block, rest], axis=1)
        block = block.squeeze(tuple(place for place, axis in enumerate(axes) if axis not in self.layout))
        there = [axis for axis in axes if axis in self.layout]
        return block.transpose([there.index(axis) for axis in self.layout])

    def _axis_size(self, values: TensorInfo, axis: str) -> int | None:
        """The fixed size of an axis of the input, None where it is free, or not there."""
        return values.shape[self.layout.index(axis)] if axis in self.layout and values.shape else None

    def _refuse_sizes(
        self, parts: list[NDArray[np.float32]], batches: list[NDArray[np.int64]], sequences: Sequences
    ) -> None:
        expected = getattr(self, "n_features_", parts[0].shape[1])
        for vectors, items in zip(parts, batches, strict=True):
            if vectors.shape[1] != expected or expected == 0:
                raise ValueError(
                    f"X: the model of {self._source} gives sequence {items[0]} of "
                    f"{format_count(int(sequences.lengths[items[0]]), 'step')} a vector of {vectors.shape[1]} numbers, "
                    f"others {expected}: expected one size; a model must sum up time itself, by a mean or a maximum"
                )

    # --- what the model takes ---------------------------------------------------------------------------------------

    def _find_signature(self, model: OnnxModel) -> _Signature:
        """The inputs and the output that the options name, or that there is no choice of."""
        inputs = model.inputs
        lengths = None if self.lengths_name is None else self._pick(inputs, self.lengths_name, "lengths_name")
        rest = {name: one for name, one in inputs.items() if one != lengths}
        if self.input_name is None and len(rest) != 1:
            raise ValueError(
                f"{self._source} has the inputs {_format(inputs)}: say with input_name which one takes the sequences, "
                "and with lengths_name which one their lengths"
            )
        values = self._pick(rest, self.input_name or next(iter(rest)), "input_name")
        others = {name: one for name, one in rest.items() if one != values}
        if others:
            raise ValueError(
                f"{self._source} also has the inputs {_format(others)}: expected one for sequences and at most one for "
                "lengths (lengths_name); write the model anew with the others as constants"
            )
        output = self._find_output(model)
        self._refuse_layout(model, values)
        self._refuse_types(values, lengths, output)
        return _Signature(values, lengths, output)

    def _find_output(self, model: OnnxModel) -> TensorInfo:
        outputs = model.outputs
        name = self.output_name
        if name is None and model.is_exported_here and "features" in outputs:
            name = "features"  # `Prototypes` writes scores beside it
        if name is None and len(outputs) != 1:
            raise ValueError(
                f"{self._source} has the outputs {_format(outputs)}: say with output_name which one to take"
            )
        return self._pick(outputs, name or next(iter(outputs)), "output_name")

    def _pick(self, there: dict[str, TensorInfo], name: str, option: str) -> TensorInfo:
        if name not in there:
            raise ValueError(f"{option}={name!r}: {self._source} has {_format(there) or 'nothing else'}")
        return there[name]

    def _refuse_layout(self, model: OnnxModel, values: TensorInfo) -> None:
        if model.is_exported_here and self.layout != "ntc":
            raise ValueError(
                f"layout={self.layout!r}: timelike wrote {self._source}, and its graphs are layout='ntc', (item, "
                "time, channel)"
            )
        if values.shape and len(values.shape) != len(self.layout):
            others = [one for one in get_args(Layout) if len(one) == len(values.shape)]
            raise ValueError(
                f"layout={self.layout!r}: input {values} of {self._source} has {len(values.shape)} axes, expected "
                f"{len(self.layout)}; layouts of {len(values.shape)} axes are {', '.join(map(repr, others)) or 'none'}"
            )

    def _refuse_types(self, values: TensorInfo, lengths: TensorInfo | None, output: TensorInfo) -> None:
        for what, one in (("input", values), ("output", output)):
            if one.dtype is None:
                raise ValueError(
                    f"{what} {one} of {self._source}: expected floats, tensor(float), tensor(double) or "
                    f"tensor(float16); name another with {what}_name, or write the model anew"
                )
        if lengths is not None and (lengths.integer_dtype is None or len(lengths.shape) > 1):
            raise ValueError(
                f"lengths_name={lengths.name!r}: input {lengths} of {self._source}: expected (item,) of tensor(int64) "
                "or tensor(int32)"
            )
        if len(output.shape) > 2 and None in output.shape[1:]:
            raise ValueError(
                f"output {output} of {self._source}: expected (item, feature), a vector of one size for every "
                "sequence; take another with output_name, or let the model sum up time, by a mean or a maximum"
            )

    def _refuse_sequences(self, sequences: Sequences, signature: _Signature) -> None:
        """An error for frames or lengths that the model does not take."""
        self._refuse_model_frame(sequences.frame, signature.values)
        if "t" not in self.layout:
            steps: int | None = 1
        else:
            steps = self._axis_size(signature.values, "t")
        if steps is None:
            return
        padded = "t" in self.layout and signature.lengths is not None
        wrong = np.flatnonzero(sequences.lengths > steps if padded else sequences.lengths != steps)
        if len(wrong):
            expected = f"at most {steps}" if padded else f"{steps}"
            raise ValueError(
                f"X: sequence {wrong[0]} has {format_count(int(sequences.lengths[wrong[0]]), 'step')}: input "
                f"{signature.values} of {self._source} in layout {self.layout!r} takes {expected}; crop, use "
                f"windows=({steps}, step), or OnnxEncoder(file, length={steps}), which resamples"
            )

    def _refuse_model_frame(self, frame: tuple[int, ...], values: TensorInfo) -> None:
        is_image = "h" in self.layout
        if is_image and len(frame) != 3:
            raise ValueError(
                f"X has frames of shape {frame}: layout={self.layout!r} expected (channel, height, width); an array of "
                'single images needs Sequences(X, layout="nchw"), series of channels layout="ntc"'
            )
        sizes = frame if is_image else (int(np.prod(frame)),)
        expected = tuple(
            self._axis_size(values, axis) if axis in self.layout else 1 for axis in ("chw" if is_image else "c")
        )
        if any(size is not None and size != given for size, given in zip(expected, sizes, strict=True)):
            shown = ", ".join("any" if size is None else str(size) for size in expected)
            raise ValueError(
                f"X has frames of shape {frame}, which are {format_count(int(np.prod(frame)), 'number')}: input "
                f"{values} of {self._source} in layout {self.layout!r} takes {shown}; choose channels with "
                'Sequences.channels, or another layout; an array (item, channel, time) needs Sequences(X, layout="nct")'
            )

    # --- the model before and after fit -----------------------------------------------------------------------------

    def _get_model(self) -> OnnxModel:
        """The model that was kept; before `fit`, that of the file, which is read again if it changed."""
        kept: OnnxModel | None = getattr(self, "model_", None)
        if kept is not None:
            return kept
        path = self._find_file()
        about = path.stat()
        stamp = (str(path), about.st_mtime_ns, about.st_size)
        opened = _opened.get(self)
        if opened is None or opened[0] != stamp:
            opened = _opened[self] = stamp, self._read_file()
        return opened[1]

    def _find_file(self) -> Path:
        path = Path(self.file)
        if not path.exists():
            raise FileNotFoundError(
                f"{self._source} does not exist: expected an ONNX file; encoder.export_onnx(path) writes one, also "
                "that of a fitted OnnxEncoder"
            )
        if not path.is_file():
            kind = special_file_kind(path) or "a folder"
            way = "; folders of models are for tl.load_model" if path.is_dir() else ""
            raise ValueError(f"{self._source} is {kind}: expected an ONNX file{way}")
        return path

    def _read_file(self) -> OnnxModel:
        path = self._find_file()
        try:
            model = OnnxModel.read(path)
            model.open()
        except OSError as error:
            raise OSError(f"{self._source} cannot be read ({shorten_error(error)}): expected an ONNX file") from error
        except ValueError as error:
            raise ValueError(f"{self._source}: {error}") from error
        return model

    def _needs_fit(self) -> bool:
        """Whether it is fitted, or must be: standardizing and resampling are learned."""
        return self.__sklearn_is_fitted__() or bool(self.standardize) or self.length is not None

    def _validate_predict_input(self, X: Any) -> Sequences:
        if self._needs_fit():
            return super()._validate_predict_input(X)
        self._refuse_options()
        return self._validate_sequences(X)

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        if self._needs_fit():
            super()._validate_sides(x, y, names)
        else:
            self._refuse_options()
            Metric._validate_sides(self, x, y, names)

    @property
    def _n_features_out(self) -> int:
        self._require_fitted()
        return self.n_features_

    def _check_attributes(self, found: Any) -> None:
        """Also whether the model can be run with these options, on such frames."""
        super()._check_attributes(found)
        model: OnnxModel = found["model_"]
        try:
            model.refuse_external_data()
            signature = self._find_signature(model)
        except ValueError as error:
            raise ValueError(f"model_: {error}") from error
        self._refuse_model_frame(found["frame_"], signature.values)

    # --- what it does not do -----------------------------------------------------------------------------------------

    def _require_stream(self) -> NoReturn:
        raise ValueError(
            "OnnxEncoder has no stream: an ONNX model takes whole sequences, and keeps nothing between calls; use "
            "encode(X, windows=(size, step)), or the stream of the encoder that was exported"
        )

    def stream(self) -> NoReturn:
        """There is none, and this says so: an ONNX model takes whole sequences."""
        self._require_stream()

    def export_onnx(self, path: str | Path) -> None:
        """Write the ONNX file as it was read, also after it came out of a saved folder.

        It is the model alone: what `standardize` and `length` do is not part of it.
        """
        self._require_fitted()
        with atomic_write(check_folder(path, "path")) as temporary:
            temporary.write_bytes(self.model_.data.tobytes())

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> NoReturn:
        raise TypeError(
            "OnnxEncoder cannot become a part of another ONNX graph: export what was made of the encoder itself, or "
            "run its own file, which export_onnx writes, in front"
        )

    @property
    def _source(self) -> str:
        return f"file={format_value(str(self.file))}"


_opened: WeakKeyDictionary[OnnxEncoder, tuple[tuple[str, int, int], OnnxModel]] = WeakKeyDictionary()
"""Models of encoders that are used without `fit`, and when their files were written."""


def _format(tensors: dict[str, TensorInfo]) -> str:
    return "; ".join(map(str, tensors.values()))


@cache
def _write_test_model() -> str:
    """The path of a small model for any number of channels, the same in every process, as names of tests must be."""
    graph = OnnxGraph()
    channels = graph.add("ReduceMean", "x", axes=[2], keepdims=0)  # (item, time)
    sizes = graph.add("Abs", channels)
    last = graph.slice_axis(channels, -1, None, 1)
    rows = [
        graph.add(kind, x, axes=[1], keepdims=1)
        for x in (channels, sizes)
        for kind in ("ReduceMean", "ReduceMax", "ReduceMin")
    ]
    graph.add("Concat", *rows, last, axis=1, output="features")
    data = graph.to_model("Moments", ["time", "channel"], {"features": 7}).SerializeToString()
    path = Path(tempfile.gettempdir()) / f"timelike-{getattr(os, 'getuid', int)()}-moments.onnx"
    if not path.is_file() or path.read_bytes() != data:
        with atomic_write(path) as temporary:
            temporary.write_bytes(data)
    return str(path)

"""`Encoder`, the base class of encoders, and `Stream`, which encodes sample by sample."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..align import FittedMetric
from ..align.distance_matrix import ProgressCallback, report_progress
from ..core.parameters import check_int
from ..core.threads import check_n_jobs
from ..core.validation.arrays import validate_array
from ..models import options, schema
from ..sequences import Sequences

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import nn

    from .onnx.graph import OnnxGraph

_MAX_REPORTS, _MIN_BLOCK = 50, 32  # most blocks for which progress is shown, and fewest sequences of a block

Floats = NDArray[np.float32]
Geometry = Literal["euclidean", "cosine"]
"""How the vectors of an encoder are compared."""
Length = int | Literal["mean"] | None
"""The number of steps to which an encoder resamples sequences, "mean" for the mean training length, or None."""


class Encoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FittedMetric):  # type: ignore[misc]
    """An encoder maps sequences to vectors of a fixed size; with a distance of vectors it is a metric.

    A subclass defines `fit`, `stream` and `_encode`. If its constructor takes `geometry`, users choose the distance:
    "euclidean" is ‖u − v‖, "cosine" is the distance of directions ‖u/‖u‖ − v/‖v‖‖ = √(2 − 2 cos(u, v)), which gives
    the same order as the cosine and, unlike 1 − cos, is a metric. A zero vector has no direction: its distance is 1 to
    every direction and 0 to another zero vector. Without the option the distance is Euclidean.

    If its constructor takes `length`, every sequence is resampled to one length, linearly in time, before `_encode`:
    None keeps all lengths, "mean" is the mean training length. Use it for examples of one movement at several speeds,
    not for processes that run at the same rate in all sequences.
    """

    geometry = options.choice(*get_args(Geometry), role="free")
    length = options.with_default(options.nullable(options.length()), None)

    length_: int = schema.required_if(lambda model: model.length is not None, schema.integer(1, 1 << 24))
    """The number of steps to which sequences are resampled, if `length` is not None."""

    symmetric: ClassVar[bool] = True

    @abc.abstractmethod
    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        """Vectors (item, feature) of checked sequences."""

    @abc.abstractmethod
    def stream(self) -> Stream:
        """A stream that takes one sample at a time and returns the vector of all samples so far."""

    def _require_stream(self) -> None:
        """Raise an error if no stream can return the same vectors as `encode`."""
        self._require_fitted()
        if self.length is not None:
            raise ValueError(
                f"length={self.length!r} resamples whole sequences, but the length of a stream is unknown: "
                f"use {type(self).__name__}(length=None) for streams"
            )

    def _validate_fit_input(self, X: Any) -> Sequences:
        sequences = super()._validate_fit_input(X)
        if self.length is not None:
            self.length_ = round(float(sequences.lengths.mean())) if self.length == "mean" else int(self.length)
        return self._resample(sequences)

    def _resample(self, sequences: Sequences) -> Sequences:
        """Sequences as `_encode` takes them: resampled to one length if `length` is set."""
        if self.length is None or (sequences.times is None and bool((sequences.lengths == self.length_).all())):
            return sequences
        return sequences.resample(self.length_)

    def _encode_resampled(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        """Vectors (item, feature) of sequences of any length."""
        return self._encode(self._resample(sequences), threads)

    def encode(
        self, X: Any, *, windows: tuple[int, int] | None = None, n_jobs: int | None = None, progress: bool | None = None
    ) -> Any:
        """Vectors (item, feature); with `windows=(size, step)` those of sliding windows.

        With windows the result is a `Sequences` with one sequence per input, whose frames are the vectors of its
        windows; a sequence shorter than `size` is one window. `n_jobs` and `progress` are as in `pairwise`.
        """
        sequences, threads = self._validate_predict_input(X), check_n_jobs(n_jobs)
        if windows is None:
            return self._encode_with_progress(sequences, threads, progress)
        size, step = (check_int(number, f"windows[{i}]", 1) for i, number in enumerate(_check_windows(windows)))
        starts = [np.arange(0, max(length - size, 0) + 1, step) for length in sequences.lengths.tolist()]
        cut = _cut_windows(sequences, starts, size)
        offsets = np.concatenate([[0], np.cumsum([len(some) for some in starts])])
        vectors = self._encode_with_progress(cut, threads, progress)
        return Sequences.from_packed(vectors, offsets, labels=sequences.labels, ids=sequences.ids)

    def _encode_with_progress(self, sequences: Sequences, threads: int, progress: bool | None) -> NDArray[np.float32]:
        with report_progress(progress, type(self).__name__) as report:
            return self._encode_in_blocks(sequences, threads, report)

    def _encode_in_blocks(self, sequences: Sequences, threads: int, report: ProgressCallback) -> NDArray[np.float32]:
        """All vectors, in blocks if progress is reported; the result does not depend on the blocks."""
        size = max(_MIN_BLOCK, -(-len(sequences) // _MAX_REPORTS))
        if report is None or len(sequences) <= size:
            return self._encode_resampled(sequences, threads)
        blocks = []
        for begin in range(0, len(sequences), size):
            blocks.append(self._encode_resampled(sequences[begin : begin + size], threads))
            report(min(begin + size, len(sequences)), len(sequences))
        return np.concatenate(blocks)

    def plot(self, X: Any, y: Any = None, *, reducer: Any = None, dark: bool = False) -> Figure:
        """A scatter plot of the vectors of X in two dimensions, coloured by class, or shaded by number.

        Parameters
        ----------
        y : array (item,), optional
            Classes or numbers; default: the labels of X.
        reducer : object with fit_transform(vectors), optional
            Reduces vectors (item, feature) to (item, 2), such as `sklearn.manifold.TSNE()`. None is PCA, whose axis
            labels show the explained variance.
        dark : bool
            Whether to use colours for a dark background.

        >>> import timelike as tl
        >>> X = tl.Sequences([[0.0, 1.0, 0.0], [5.0, 5.0, 5.0], [0.0, 1.0, 0.1]], labels=["low", "high", "low"])
        >>> figure = tl.Rocket(n_features=84, random_state=0).fit(X).plot(X)
        >>> [words.get_text() for words in figure.axes[0].get_legend().get_texts()]
        ['high', 'low']
        """
        from .plots import plot_embedding

        return plot_embedding(self, self._validate_predict_input(X), y, reducer, dark)

    def network(self, frame: int | tuple[int, ...]) -> nn.Module:
        """A new torch module for frames of this shape, to be trained in another way than by `fit`.

        It maps x (item, time, value), frames of several axes flattened, and lengths (item,), or None if all items have
        the length of x, to vectors (item, feature); steps past a length are ignored. Its weights are new random ones,
        reproducible if `random_state` is an integer, and `network_` does not change. The module neither standardizes
        its input, as `ChannelScaler` does, nor scales its vectors, as the option `vectors` does.

        >>> import timelike as tl, torch
        >>> module = tl.CausalEncoder(n_features=8, depth=2, random_state=0).network(3)
        >>> module(torch.zeros(5, 20, 3), torch.tensor([20, 7, 1, 20, 4])).shape
        torch.Size([5, 8])
        >>> tl.Rocket().network(3)
        Traceback (most recent call last):
            ...
        TypeError: Rocket has no torch module that could be trained: it is used frozen, by fit(X) and encode(X)
        """
        self._refuse_options()
        return self._build_seeded_network(check_frame(frame, self._n_frame_axes))

    def _build_seeded_network(self, frame: tuple[int, ...]) -> nn.Module:
        """Raise an error; `Trained`, which comes first in the MRO, overrides this."""
        raise TypeError(
            f"{type(self).__name__} has no torch module that could be trained: it is used frozen, by fit(X) and "
            "encode(X)"
        )

    def export_onnx(self, path: str | Path) -> None:
        """Write the encoder as an ONNX file: `x` (item, time, channel) in, `features` (item, feature) out, in float32.

        The graph includes standardization and takes any number of sequences of any length, equal within a call, without
        missing values; frames of several axes are flattened. All encoders of the library can be exported, and
        `Discriminant`, `WhitenedCosine` and `CombinedEncoder` of these. Requires the extra `onnx`.
        """
        self._require_fitted()
        from .onnx.graph import export_encoder

        export_encoder(self, path)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        """Add nodes that map x (item, time, channel), as `_encode` takes it, to vectors (item, feature)."""
        raise TypeError(
            f"{type(self).__name__} has no ONNX graph: expected an encoder of the library, or a model built on one"
        )

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Vectors (item, feature), for pipelines."""
        vectors: NDArray[np.float32] = self.encode(X)
        return vectors

    @property
    def _n_features_out(self) -> int:
        """The size of a vector, for scikit-learn's feature names and `set_output`."""
        self._require_fitted()
        frame = self._expected_frame() or (1,)
        return int(self._encode_resampled(Sequences(np.zeros((1, 1, *frame))), 1).shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]  # the precision of the networks
        return tags

    def _precompute_items(self, sequences: Sequences, threads: int) -> NDArray[np.float64]:
        """Vectors as distances compare them."""
        return self._to_euclidean(self._encode_resampled(sequences, threads))

    def _to_euclidean(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Vectors (item, feature) of `encode` or a stream, mapped so that their Euclidean distance is the metric."""
        weighed = self._weight_features(vectors)
        by_direction = vars(self).get("geometry") == "cosine"  # classes without the option have no such attribute
        return normalize_vectors(weighed) if by_direction else weighed

    def _compare_precomputed(self, asked: Any, known: Any, out: NDArray[Any], threads: int) -> None:
        out[...] = cdist(asked, known)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        if y is None or y is x:
            first = second = self._to_euclidean(self._encode_in_blocks(x, threads, report))
        else:
            n, m = len(x), len(y)
            of_x = None if report is None else lambda done, _: report(done, n + m)
            of_y = None if report is None else lambda done, _: report(n + done, n + m)
            first = self._to_euclidean(self._encode_in_blocks(x, threads, of_x))
            second = self._to_euclidean(self._encode_in_blocks(y, threads, of_y))
        self._compare_precomputed(first, second, out, threads)

    def _weighted_vectors(self, sequences: Sequences, threads: int) -> NDArray[np.float64]:
        """Vectors with the precision and feature weights of distances."""
        return self._weight_features(self._encode_resampled(sequences, threads))

    def _weight_features(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """Vectors in double precision with weighted features; by default all weights are 1."""
        return vectors.astype(np.float64)


class Stream(abc.ABC):
    """Takes one sample at a time and returns the vector of all samples so far."""

    n_samples: int = 0

    @abc.abstractmethod
    def push(self, sample: Any) -> Floats:
        """The vector (feature,) after this sample, a frame, or a number if there is one channel."""


class StandardizedStream(Stream):
    """A stream that checks and standardizes its samples; a subclass defines `_advance`."""

    def __init__(self, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self._mean, self._scale = mean, scale

    def push(self, sample: Any) -> Floats:
        """The vector (feature,) after this sample, a frame, or a number if there is one channel."""
        frame = validate_array(sample, "sample").astype(np.float64)
        if frame.ndim == 0:
            frame = frame.reshape(1)
        if frame.shape != self._mean.shape:
            raise ValueError(f"sample has shape {frame.shape}: the encoder was fitted on frames {self._mean.shape}")
        frame = self._fill_missing(frame)
        with np.errstate(over="ignore"):
            ready = ((frame - self._mean) / self._scale).astype(np.float32)
        if not np.isfinite(ready).all():  # a running maximum would keep it for ever
            raise ValueError(f"sample={frame.tolist()} is too large for float32: give it in another unit")
        vector = self._advance(ready)
        self.n_samples += 1
        return vector

    def _fill_missing(self, frame: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sample with missing values filled; by default, as in most encoders, they raise an error."""
        if not np.isfinite(frame).all():
            raise ValueError(f"sample={frame.tolist()} is not finite: leave out what is missing, or fill it in")
        return frame

    @abc.abstractmethod
    def _advance(self, x: Floats) -> Floats:
        """The vector after one more standardized frame."""


def normalize_vectors(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors (item, feature) scaled to length 1; zero vectors stay zero.

    >>> normalize_vectors(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 1e-320]])).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1.0)  # first, so that squares neither underflow nor overflow
    lengths = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    unit_vectors: NDArray[np.float64] = scaled / np.where(lengths > 0, lengths, 1.0)
    return unit_vectors


def check_frame(frame: Any, axes: int | None = None) -> tuple[int, ...]:
    """The checked shape of a frame, with `axes` axes if given; an integer is the number of channels.

    >>> check_frame(3), check_frame([1, 28, 28], 3)
    ((3,), (1, 28, 28))
    """
    shape = tuple(frame) if isinstance(frame, tuple | list) else (frame,)
    sizes = tuple(check_int(size, f"frame[{axis}]", 1) for axis, size in enumerate(shape))
    if not sizes or (axes is not None and len(sizes) != axes):
        expected = "(channel, height, width)" if axes == 3 else "(channel,), or one number"
        raise ValueError(f"frame={frame!r}: expected the shape of a frame, {expected}")
    return sizes


def _check_windows(windows: Any) -> tuple[Any, Any]:
    if not isinstance(windows, tuple | list) or len(windows) != 2:
        raise TypeError(f"windows={windows!r}: expected (size, step), both in time steps")
    return windows[0], windows[1]


def _cut_windows(sequences: Sequences, starts: list[NDArray[np.int64]], size: int) -> Sequences:
    base, begin, lengths = sequences.buffers()
    first = np.concatenate([begin[i] + some for i, some in enumerate(starts)])
    length = np.concatenate([np.full(len(some), min(size, lengths[i])) for i, some in enumerate(starts)])
    return Sequences([base[a : a + n] for a, n in zip(first.tolist(), length.tolist(), strict=True)])

"""`StatisticsEncoder`: vectors of plain statistics, the cheapest baseline among the encoders."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...models import schema
from ...sequences import Sequences
from ..base import Encoder, Length, Stream
from ..onnx.graph import OnnxGraph
from .features import compute_statistics
from .onnx_graph import add_statistics

_BLOCK_VALUES = 1 << 20  # values processed at a time
_MAX_DEVIATIONS = 10.0  # clipped, so that no single statistic dominates a distance
_MIN_RELATIVE_SPREAD = 1e-6  # relative to the size of a statistic; less is rounding


class StatisticsEncoder(Encoder):
    """Vectors of plain statistics of every channel, standardized on the training sequences.

    Mean, deviation, extremes and their times, quantiles, skewness, kurtosis, slope and bend, means of eighths and
    deviations of quarters of the time, changes between steps, crossings of the mean, autocorrelations, fractions of
    power in octaves, the fraction of missing values; the logarithm of the length, and the correlations of up to 12
    channels. With a forest, `EmbeddingClassifier(StatisticsEncoder(), head="forest")`, it is a baseline at almost no
    cost.

    Sequences may have any lengths and missing values (nan). Features are clipped at 10 deviations.

    Parameters
    ----------
    length : int, "mean" or None
        Resample sequences to this number of steps first, or to the mean training length. None keeps their lengths.

    Attributes
    ----------
    mean_, scale_ : array (feature,)
        Mean and scale of the statistics of the training sequences.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [5.0, 5.0, np.nan, 5.0]]
    >>> encoder = tl.encode.StatisticsEncoder().fit(X)
    >>> encoder.distance(X[0], X[1]) < encoder.distance(X[0], X[2])
    True
    """

    mean_: NDArray[np.float64] = schema.array("statistic")
    scale_: NDArray[np.float64] = schema.array("statistic", finite=False, above=0)

    def __init__(self, *, length: Length = None) -> None:
        store_parameters(self, locals())

    def _takes_missing(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the mean and deviation of each statistic."""
        with self._atomic_fit():
            statistics = _sequence_statistics(self._validate_fit_input(X))
            self.mean_, spread = statistics.mean(axis=0), statistics.std(axis=0)
            self.scale_ = np.where(
                spread > _MIN_RELATIVE_SPREAD * np.abs(statistics).max(axis=0), spread, np.inf
            )  # ∞ makes a constant statistic 0
        return self

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        standard = (_sequence_statistics(sequences) - self.mean_) / self.scale_
        return np.clip(standard, -_MAX_DEVIATIONS, _MAX_DEVIATIONS).astype(np.float32)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        apart = graph.add(
            "Sub", add_statistics(graph, x, int(np.prod(self.frame_))), graph.constant(self.mean_, np.float64)
        )
        standard = graph.add("Div", apart, graph.constant(self.scale_, np.float64))
        most = graph.constant(_MAX_DEVIATIONS, np.float64)
        return graph.cast(graph.add("Clip", standard, graph.add("Neg", most), most), "float32")

    def stream(self) -> Stream:
        """A stream that returns the statistics of all samples so far; it keeps all samples, as quantiles need them."""
        self._require_stream()
        return StatisticsStream(self)


class StatisticsStream(Stream):
    """The statistics of all samples so far, recomputed after each sample."""

    def __init__(self, encoder: StatisticsEncoder) -> None:
        self._encoder = encoder
        self._samples: list[NDArray[np.float64]] = []

    def push(self, sample: Any) -> NDArray[np.float32]:
        """The vector (feature,) after this sample, a frame or a number; nan means missing."""
        values, frame = np.asarray(sample, np.float64), self._encoder.frame_
        values = values.reshape(1) if values.ndim == 0 else values
        if values.shape != frame:
            raise ValueError(f"sample has shape {values.shape}: the encoder was fitted on frames {frame}")
        if np.isinf(values).any():
            raise ValueError(f"sample={values.tolist()} is infinite: expected finite values; nan means missing")
        vector: NDArray[np.float32] = self._encoder.encode(Sequences([np.stack([*self._samples, values])]))[0]
        self._samples.append(values)
        self.n_samples += 1
        return vector


def _sequence_statistics(sequences: Sequences) -> NDArray[np.float64]:
    """The statistics (item, statistic) of sequences, computed together for those of equal length."""
    rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    width = int(np.prod(sequences.frame))
    for length in np.unique(sequences.lengths).tolist():
        items = np.flatnonzero(sequences.lengths == length)
        for some in np.array_split(items, -(-len(items) * length * width // _BLOCK_VALUES)):
            block = np.stack([sequences[int(i)].reshape(length, width) for i in some]).astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                rows.append((some, compute_statistics(block)))
    statistics = np.concatenate([numbers for _, numbers in rows])
    statistics[np.concatenate([items for items, _ in rows])] = statistics.copy()
    if not np.isfinite(statistics).all():
        bad = int(np.flatnonzero(~np.isfinite(statistics).all(axis=1))[0])
        raise ValueError(f"X: the statistics of sequence {bad} are too large for float64: give it in another unit")
    return statistics

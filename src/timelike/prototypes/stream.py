"""`PrototypeStream`: recognition sample by sample, with a decision as soon as it is certain, and its calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..encode.base import Encoder, Stream
from ..models import schema
from ..sequences import Sequences
from .encoder_adapter import CombinedStream

_MAX_CANDIDATES = 1000  # probabilities that are tried as bounds


class RecognitionBounds(NamedTuple):
    """Numbers of samples at which a stream looks, the smallest probability and the largest novelty to decide there."""

    looks: NDArray[np.int64]
    probability: float
    novelty: float
    inference: str


BOUNDS_SCHEMA = schema.record(
    RecognitionBounds,
    looks=schema.array("look", dtype="int64", least=1),
    probability=schema.real(finite=False),
    novelty=schema.real(finite=False),
    inference=schema.string(),
)
"""The schema of a model's `stream_bounds_`."""


class RecognizedVectors(NamedTuple):
    """The most probable class of every vector, its probability, and the novelty of the vector, (item,) each."""

    labels: NDArray[Any]
    probabilities: NDArray[np.float64]
    novelty: NDArray[np.float64]


Recognizer = Callable[[NDArray[np.float32]], RecognizedVectors]


class Recognition(NamedTuple):
    """The state of a stream: the most probable class, its probability, the novelty, and whether that is final.

    `label` is None before the first look, and, if it is certain, for a sequence that is like no class.
    """

    label: Any
    probability: float
    novelty: float
    is_certain: bool


class PrototypeStream:
    """Takes one sample at a time; at some of them it decides if it is certain. A decision is final.

    `recognize` maps vectors (item, feature) to classes; `inner` is the stream of the encoder.
    """

    def __init__(self, recognize: Recognizer, inner: Stream, bounds: RecognitionBounds) -> None:
        self._recognize_vectors, self._inner, self._bounds = recognize, inner, bounds
        self._vector: NDArray[np.float32] | None = None
        self.n_samples = 0
        self.recognition = Recognition(None, 0.0, np.inf, False)

    def __repr__(self) -> str:
        return f"PrototypeStream({self.n_samples} samples, {self.recognition})"

    def push(self, sample: Any) -> Recognition:
        """The state after this sample, a frame or a number (one channel)."""
        if self.recognition.is_certain:
            return self.recognition
        self._vector = self._inner.push(sample)
        self.n_samples += 1
        place = int(np.searchsorted(self._bounds.looks, self.n_samples))
        if place < len(self._bounds.looks) and self._bounds.looks[place] == self.n_samples:
            recognition = self._recognize()
            is_certain = (
                recognition.probability >= self._bounds.probability and recognition.novelty <= self._bounds.novelty
            )
            self.recognition = recognition._replace(is_certain=bool(is_certain))
        return self.recognition

    def finish(self) -> Recognition:
        """The final decision, when no further sample comes: a class, or None for a sequence that is like no class."""
        if self._vector is None:
            raise ValueError("the stream has no samples: push() some before finish()")
        if not self.recognition.is_certain:
            recognition = self._recognize()
            is_unknown = recognition.novelty > self._bounds.novelty
            self.recognition = recognition._replace(label=None if is_unknown else recognition.label, is_certain=True)
        return self.recognition

    def _recognize(self) -> Recognition:
        assert self._vector is not None
        labels, probabilities, novelty = self._recognize_vectors(self._vector[None])
        return Recognition(labels.tolist()[0], float(probabilities[0]), float(novelty[0]), False)


def calibrate_bounds(
    looks: NDArray[np.int64],
    recognized: list[RecognizedVectors],
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    *,
    max_novelty: float,
    error_rate: float,
    inference: str,
) -> RecognitionBounds:
    """Bounds from the recognized prefixes at every look; items beyond `codes` are of no class."""
    n_unknown = len(recognized[0].labels) - len(codes)
    truth = np.append(codes, np.full(n_unknown, -1))
    right = np.stack([np.searchsorted(classes, one.labels) == truth for one in recognized])
    sure = np.stack([np.where(one.novelty <= max_novelty, one.probabilities, -np.inf) for one in recognized])
    return RecognitionBounds(looks, min_probability(sure, right, error_rate), max_novelty, inference)


def require_streams(encoders: list[Any]) -> None:
    """Raise an error unless all encoders take sequences sample by sample."""
    for one in encoders:
        if not hasattr(one, "stream"):
            raise TypeError(
                "encoder reads no streams: use one that does, such as CausalEncoder or Rocket(causal=True), or None"
            )
        if isinstance(one, Encoder):
            one._require_stream()


def combine_streams(encoders: list[Any]) -> Stream:
    """One stream of the vectors of all encoders together."""
    streams = [one.stream() for one in encoders]
    first: Stream = streams[0]
    return first if len(streams) == 1 else CombinedStream(streams)


def min_probability(sure: NDArray[np.float64], right: NDArray[np.bool_], share: float) -> float:
    """The smallest probability at which to decide, such that at most `share` of the items are decided wrongly.

    `sure` and `right` (look, item) are the probability of the best class and whether it is the true one. An item is
    decided at the first look that reaches the probability. One more wrong decision is counted than observed, for an
    item that is yet to come; ∞ if there are too many even so.

    >>> sure, right = np.array([[0.6, 0.7, 0.9], [0.8, 0.8, 1.0]]), np.array([[False, True, True], [True, True, True]])
    >>> min_probability(sure, right, 0.25)
    0.7
    >>> min_probability(sure, right, 0.1)
    inf
    """
    n_items, bound = sure.shape[1], np.inf
    candidates = np.unique(sure[np.isfinite(sure)])
    for least in candidates[:: -max(1, len(candidates) // _MAX_CANDIDATES)]:
        is_decided = sure >= least
        first = is_decided.argmax(axis=0)
        is_wrong = is_decided.any(axis=0) & ~right[first, np.arange(n_items)]
        if (is_wrong.sum() + 1) / (n_items + 1) > share:
            break
        bound = float(least)
    return bound


def choose_looks(lengths: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Numbers of samples at which to look, with equal gaps, the last when nine in ten sequences have ended.

    `Verifier` has a rule of its own, with growing gaps (`verify.stream_calibration.choose_looks`).
    """
    end = int(np.quantile(lengths, 0.9))
    return np.unique(np.ceil(np.arange(1, count + 1) * end / count).astype(np.int64))


def first_steps(sequences: Sequences, steps: int) -> Sequences:
    """The first steps of every sequence."""
    base, begin, lengths = sequences.buffers()
    ends = np.minimum(lengths, steps)
    return Sequences([base[a : a + n] for a, n in zip(begin.tolist(), ends.tolist(), strict=True)])

"""Live recognition: samples one by one, and a class, or that it is none, as soon as that is certain."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..core.parameters import check_int
from ..encode.base import Encoder, Stream
from ..models import schema
from ..sequences import Sequences
from . import encoder_adapter
from .calibration import CalibratedPrototypes
from .thresholds import check_share, novelty_threshold

_MAX_CANDIDATES = 1000  # probabilities, of those that occur


class RecognitionBounds(NamedTuple):
    """When a stream looks, how probable a class must be to be named there, and how new what it sees may be at most."""

    looks: NDArray[np.int64]
    probability: float
    novelty: float
    inference: str


class Recognition(NamedTuple):
    """What a stream knows: the class that is most probable, how probable, how new, and whether that is the last word.

    `label` is None before the first look, and, where it is certain, for what is like no class.
    """

    label: Any
    probability: float
    novelty: float
    is_certain: bool


class PrototypeStream:
    """Takes one sample at a time; after some of them it looks, and decides if it can. A decision stands."""

    def __init__(self, model: StreamingPrototypes, inner: Stream, bounds: RecognitionBounds) -> None:
        self._model, self._inner, self._bounds = model, inner, bounds
        self._vector: NDArray[np.float32] | None = None
        self.n_samples = 0
        self.recognition = Recognition(None, 0.0, np.inf, False)

    def __repr__(self) -> str:
        return f"PrototypeStream({self.n_samples} samples, {self.recognition})"

    def push(self, sample: Any) -> Recognition:
        """What is known with this sample, a frame, or a number where there is one channel."""
        if self.recognition.is_certain:
            return self.recognition
        self._vector = self._inner.push(sample)
        self.n_samples += 1
        place = int(np.searchsorted(self._bounds.looks, self.n_samples))
        if place < len(self._bounds.looks) and self._bounds.looks[place] == self.n_samples:
            seen = self._recognize()
            sure = seen.probability >= self._bounds.probability and seen.novelty <= self._bounds.novelty
            self.recognition = seen._replace(is_certain=bool(sure))
        return self.recognition

    def finish(self) -> Recognition:
        """The decision when no further sample comes: a class, or None for what is like no class."""
        if self._vector is None:
            raise ValueError("the stream has seen no sample: push() some before finish()")
        if not self.recognition.is_certain:
            seen = self._recognize()
            strange = seen.novelty > self._bounds.novelty
            self.recognition = seen._replace(label=None if strange else seen.label, is_certain=True)
        return self.recognition

    def _recognize(self) -> Recognition:
        assert self._vector is not None
        labels, probabilities, novelty = self._model._recognize_vectors(self._vector[None])
        return Recognition(labels.tolist()[0], float(probabilities[0]), float(novelty[0]), False)


class StreamingPrototypes(CalibratedPrototypes):
    """Recognition before a sequence is over, where the encoder reads streams."""

    stream_bounds_: RecognitionBounds = schema.not_required(
        schema.record(
            RecognitionBounds,
            looks=schema.array("look", dtype="int64", least=1),
            probability=schema.real(finite=False),
            novelty=schema.real(finite=False),
            inference=schema.string(),
        )
    )

    def calibrate_stream(
        self,
        X: Any,
        y: Any = None,
        *,
        unknown: Any = None,
        error_rate: float = 0.05,
        false_reject: float = 0.05,
        n_looks: int = 8,
    ) -> Self:
        """Learn from prefixes of examples, which `fit` has not seen, when a stream may decide.

        A stream looks `n_looks` times. It names a class before its end where that is so probable that at most the share
        `error_rate` of these examples would have been named wrongly, one more counted, and where what it has seen is no
        newer than whole examples may be; with too few examples to show that, it waits for the end. There it rejects as
        `predict(reject=True)` does: another known example with a probability of at most `false_reject`, or, with
        `unknown` ones, so that both errors are weighed alike. Strangers that would have been named count as named
        wrongly.
        """
        self._require_stream()
        share, few = check_share(error_rate, "error_rate"), check_share(false_reject, "false_reject")
        sequences = self._validate_predict_input(X)
        codes = self._encode_labels(self._validate_classes(sequences, y, "there is no calibration"))
        strange = None if unknown is None else self._validate_one_or_many(unknown, "unknown")[0]
        looks = _choose_looks(sequences.lengths, check_int(n_looks, "n_looks", 1))
        ends = [self._vector_novelty(self._encode_sequences(some)) for some in (sequences, strange) if some is not None]
        limit = novelty_threshold(ends[0], ends[1] if strange is not None else None, few)
        everyone = sequences if strange is None else _concatenate(sequences, strange)
        truth = np.append(codes, np.full(len(everyone) - len(codes), -1))
        seen = [
            self._recognize_vectors(self._encode_sequences(_first_steps(everyone, look))) for look in looks.tolist()
        ]
        right = np.stack([np.searchsorted(self.classes_, labels) == truth for labels, _, _ in seen])
        sure = np.stack([np.where(novelty <= limit, probable, -np.inf) for _, probable, novelty in seen])
        self.stream_bounds_ = RecognitionBounds(looks, min_probability(sure, right, share), limit, self.inference)
        return self

    def stream(self) -> PrototypeStream:
        """A stream that recognizes one sequence, sample by sample; for the next sequence ask for another.

        >>> import numpy as np
        >>> import timelike as tl
        >>> t, rng = np.arange(40), np.random.default_rng(0)
        >>> X = np.sin(t / np.repeat([2, 6], 40)[:, None] + rng.uniform(0, 6, (80, 1)))
        >>> y = np.repeat(["fast", "slow"], 40)
        >>> model = tl.Prototypes(max_steps=60, random_state=0).fit(X[::2], y[::2]).calibrate_stream(X[1::2], y[1::2])
        >>> stream = model.stream()
        >>> for sample in X[3]:
        ...     if stream.push(sample).is_certain:
        ...         break
        >>> stream.finish().label, stream.n_samples <= 40
        ('fast', True)
        """
        self._require_stream()
        if not hasattr(self, "stream_bounds_"):
            raise ValueError(
                "a stream needs to know when it may decide: call calibrate_stream(X, y) with examples that fit has "
                "not seen"
            )
        self._refuse_other_inference(self.stream_bounds_.inference, "calibrate_stream(X, y)")
        streams = [one.stream() for one in (self.encoder_, *self.extra_encoders_)]
        # a copy that stays as it is, whatever is enrolled or forgotten meanwhile
        return PrototypeStream(
            copy.copy(self),
            streams[0] if len(streams) == 1 else encoder_adapter.CombinedStream(streams),
            self.stream_bounds_,
        )

    def _require_stream(self) -> None:
        self._require_fitted()
        for one in (self.encoder_, *self.extra_encoders_):
            if not hasattr(one, "stream"):
                raise TypeError(
                    "encoder reads no streams: use one that does, such as CausalEncoder or Rocket(causal=True), or None"
                )
            if isinstance(one, Encoder):
                one._require_stream()

    def _recognize_vectors(
        self, vectors: NDArray[np.float32]
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """The most probable class of every vector, its probability, and how new the vector is."""
        scores = self._score_classes(vectors)
        probabilities = softmax(scores / self._temperature(), axis=1)
        return self.classes_[scores.argmax(axis=1)], probabilities.max(axis=1), self._vector_novelty(vectors)


def min_probability(sure: NDArray[np.float64], right: NDArray[np.bool_], share: float) -> float:
    """The least probability at which one may decide, (look, item) given, with at most that share decided wrongly.

    An item is decided at the first look at which it is so sure. One more wrong decision is counted than there was, as
    for an item that is yet to come; ∞ where even then there would be too many.

    >>> sure, right = np.array([[0.6, 0.7, 0.9], [0.8, 0.8, 1.0]]), np.array([[False, True, True], [True, True, True]])
    >>> min_probability(sure, right, 0.25)
    0.7
    >>> min_probability(sure, right, 0.1)
    inf
    """
    n_items, found = sure.shape[1], np.inf
    every = np.unique(sure[np.isfinite(sure)])
    for least in every[:: -max(1, len(every) // _MAX_CANDIDATES)]:
        decided = sure >= least
        first = decided.argmax(axis=0)
        wrong = decided.any(axis=0) & ~right[first, np.arange(n_items)]
        if (wrong.sum() + 1) / (n_items + 1) > share:
            break
        found = float(least)
    return found


def _choose_looks(lengths: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Numbers of samples after which to look, the last when nine in ten are over."""
    end = int(np.quantile(lengths, 0.9))
    return np.unique(np.ceil(np.arange(1, count + 1) * end / count).astype(np.int64))


def _concatenate(one: Sequences, other: Sequences) -> Sequences:
    return Sequences([*one, *other])


def _first_steps(sequences: Sequences, steps: int) -> Sequences:
    """The first steps of every sequence."""
    base, begin, lengths = sequences.buffers()
    ends = np.minimum(lengths, steps)
    return Sequences([base[a : a + n] for a, n in zip(begin.tolist(), ends.tolist(), strict=True)])

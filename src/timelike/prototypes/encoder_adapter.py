"""Encoders of any kind behind one interface: fitting, vectors and streams; `network.py` has their torch modules."""

from __future__ import annotations

import copy
import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.threads import check_n_jobs
from ..core.validation.conversion import is_torch_module
from ..encode import Encoder, Rocket, StatisticsEncoder
from ..encode.base import Floats, Stream, normalize_vectors
from ..metric import Discriminant
from ..metric.discriminant.whitened_cosine import WhitenedCosine
from ..models import components
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..sequences.sampling import RandomState
from ..sequences.time_pool import TimePool
from ..train import Trained

if TYPE_CHECKING:
    from torch import nn

MAX_FEATURES = 512  # of a vector; encoders with more, such as Rocket, are reduced to whitened principal components
N_COMPONENTS = 128
MAX_FRAMES = 256  # of a sequence; longer ones are averaged over time, as in `SiameseGRU`
_MAX_BATCH_NUMBERS = 1 << 21  # of a batch for a user's module, whose memory use is unknown


def check_encoder(value: Any, name: str) -> Any:
    """An encoder of the library, fitted or not, a torch module, or None."""
    encoder = components.unfreeze(value)
    if encoder is None or is_torch_module(encoder) or is_encoder(encoder):
        return value
    raise TypeError(
        f"{name}={value!r:.80}: expected an encoder such as timelike.CausalEncoder(), a torch module (x, lengths) → "
        "vectors, or None"
    )


def check_extra_encoders(value: Any, name: str) -> Any:
    """A list of encoders, possibly empty."""
    several = isinstance(value, list | tuple)
    if several and all(is_encoder(components.unfreeze(one)) for one in value):
        return value
    raise TypeError(f"{name}={value!r:.80}: expected a list of encoders such as [timelike.Rocket()], [] or None")


def is_encoder(value: Any) -> bool:
    """Whether it encodes sequences as vectors; siamese networks do too."""
    siamese = sys.modules.get("timelike.metric.siamese.estimator")  # not imported here, because it needs torch
    return isinstance(value, Encoder) or (siamese is not None and isinstance(value, siamese.SiameseGRU))


def prepare_encoder(
    value: Any, sequences: Sequences, labels: Any, *, freeze: bool, standardize: bool, random_state: RandomState
) -> Any:
    """A copy of the encoder: unchanged if it is fitted, initialized if it will be trained with labels, else fitted."""
    encoder = components.unfreeze(value)
    if encoder is None:
        # only long sequences are pooled over time: a stream of a pooled encoder has a maximum length
        long = TimePool.from_lengths(sequences.lengths, MAX_FRAMES).factor > 1
        how: dict[str, Any] = {"max_frames": MAX_FRAMES if long else None, "standardize": standardize}
        from ..metric import SiameseGRU

        encoder = SiameseGRU(random_state=random_state, **how)
    if is_torch_module(encoder):
        return ModuleEncoder(copy.deepcopy(encoder), sequences, standardize=standardize)
    if components.is_fitted(encoder):
        return _reduce_features(copy.deepcopy(encoder), sequences, random_state)
    blank = components.unfitted_copy(_with_seed(encoder, random_state))
    if isinstance(blank, Trained) and not freeze:
        with blank._atomic_fit():
            blank._prepare_fit(blank._validate_fit_input(sequences))
        blank.network_.eval()
        return blank
    return _reduce_features(blank.fit(sequences, labels), sequences, random_state)


def _reduce_features(encoder: Any, sequences: Sequences, random_state: RandomState) -> Any:
    """The encoder, or, if it has thousands of features and nothing to train, whitened components of these."""
    if is_trainable(encoder) or encoder.encode(sequences[:1]).shape[1] <= MAX_FEATURES:
        return encoder
    return WhitenedCosine(encoder, n_features=N_COMPONENTS, random_state=random_state).fit(sequences)


def fit_extra_encoders(encoders: Any, sequences: Sequences, labels: Any, random_state: RandomState) -> list[Any]:
    """Fitted copies of the extra encoders; None for discriminants of two kinds of features.

    They keep all directions in which sequences differ, whereas a network trained on few classes keeps few.
    """
    if encoders is None:
        kinds: list[Any] = [Rocket(causal=True, random_state=random_state), StatisticsEncoder()]  # both read streams
        encoders = [Discriminant(kind, classes="open", random_state=random_state) for kind in kinds]
    return [
        components.fitted_copy(_with_seed(components.unfreeze(one), random_state), sequences, labels)
        for one in encoders
    ]


def _with_seed(encoder: Any, random_state: RandomState) -> Any:
    """The encoder, or, if it is not fitted and has no seed, a copy with this one."""
    unset = not components.is_fitted(encoder) and encoder.get_params(deep=False).get("random_state", 0) is None
    return components.unfitted_copy(encoder).set_params(random_state=random_state) if unset else encoder


def concatenate_vectors(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Vectors of several encoders as one of length 1, the first with half the weight of any other; one stays unchanged.

    >>> concatenate_vectors([np.float32([[3, 4]]), np.float32([[0, 2]])]).round(3)
    array([[0.346, 0.462, 0.   , 0.816]], dtype=float32)
    """
    if len(vectors) == 1:
        return vectors[0]
    lengths = [
        first_vector_length(len(vectors)),
        *[np.sqrt(2) * first_vector_length(len(vectors))] * (len(vectors) - 1),
    ]
    scaled = [
        length * normalize_vectors(some.astype(np.float64)) for length, some in zip(lengths, vectors, strict=True)
    ]
    return np.asarray(np.concatenate(scaled, axis=1), np.float32)


def first_vector_length(count: int) -> float:
    """The length of the first of `count` concatenated vectors: 1 if it is the only one.

    It belongs to the trained encoder and has half the weight of the others: with a larger weight it would dominate
    among the trained classes, and enrolled classes would be mistaken for one of them (decision 0039).

    >>> round(first_vector_length(3) ** 2, 3)
    0.2
    """
    return 1.0 if count == 1 else float(1 / np.sqrt(2 * count - 1))


def is_trainable(encoder: Any) -> bool:
    """Whether it has a torch module that can be trained."""
    return isinstance(encoder, Trained | ModuleEncoder)


def encode_sequences(encoder: Any, sequences: Sequences, n_jobs: int | None = None) -> NDArray[np.float32]:
    """Vectors (item, feature) of checked sequences, in evaluation mode."""
    vectors: NDArray[np.float32] = encoder.encode(sequences, n_jobs=n_jobs)
    return vectors


class CombinedStream(Stream):
    """Streams of several encoders as one, with concatenated vectors."""

    def __init__(self, streams: list[Any]) -> None:
        self._streams = streams

    def push(self, sample: Any) -> Floats:
        """The vector (feature,) with this sample."""
        vectors = concatenate_vectors([stream.push(sample)[None] for stream in self._streams])
        self.n_samples += 1
        return np.asarray(vectors[0])


class ModuleEncoder:
    """A user's torch module (x, lengths) → vectors as an encoder; x is (item, time, *frame)."""

    def __init__(self, network: nn.Module, sequences: Sequences, *, standardize: bool) -> None:
        self.network_ = network
        images = len(sequences.frame) > 1
        fit_scaler = ChannelScaler.per_channel if images else ChannelScaler.from_sequences
        self.scaler_ = fit_scaler(sequences) if standardize else ChannelScaler.identity(sequences.frame)

    def _standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        return self.scaler_.transform(sequences, name)

    def encode(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """Vectors (item, feature) in evaluation mode."""
        from ..encode.batched_forward import encode_batches

        most = max(1, _MAX_BATCH_NUMBERS // math.prod(X.frame))
        ready, network = self._standardize(X, "X"), self.network_.eval()
        return encode_batches(
            network, ready, check_n_jobs(n_jobs), batch_steps=most, call=lambda module, x, n: module(x, n)
        )

"""`CombinedEncoder` and `combine`: several encoders as one, their vectors concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.extras import is_installed
from ..core.parameters import store_parameters
from ..models import components, options, schema
from ..sequences import Sequences
from ..train import Trained
from .base import Encoder, Floats, Geometry, Stream
from .onnx.graph import OnnxGraph, add_encoder
from .rocket.estimator import Rocket


def _check_encoders(value: Any, name: str) -> list[Encoder]:
    several = isinstance(value, list | tuple) and len(value) > 0
    if not several or not all(isinstance(components.unfreeze(part), Encoder) for part in value):
        raise ValueError(f"{name}={value!r:.80}: expected a list of at least one encoder")
    return list(value)


class CombinedEncoder(Encoder):
    """The concatenated vectors of several encoders; encoders trained with several K carry more information than one.

    f(x) = (f₁(x), …, f_m(x)); the thesis combines K in {1, 2, 5, 10} for one channel and {5, 10, 20} for several
    (Franceschi, Dieuleveut and Jaggi, 2019).

    Parameters
    ----------
    encoders : list of Encoder
        Fitted encoders are used unchanged; `fit` fits copies of the others.
    geometry : {"euclidean", "cosine"}
        The distance of the concatenated vectors; the geometry of the parts is ignored.

    Attributes
    ----------
    encoders_ : list of Encoder
        The fitted encoders.

    Examples
    --------
    >>> import timelike as tl  # needs: timelike[learn]
    >>> X = tl.Sequences([[0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [2.0, 1.0, 0.0, 0.0, 1.0]])
    >>> small = dict(n_features=8, channels=4, depth=2, max_steps=3, random_state=0)
    >>> both = tl.encode.combine([tl.CausalEncoder.preset("thesis", n_negatives=k, **small) for k in (1, 2)])
    >>> both.fit(X).encode(X).shape
    (3, 16)
    """

    encoders = options.Option(_check_encoders)

    encoders_: list[Encoder] = schema.list_of(schema.estimator(Encoder), least=1)

    def __init__(self, encoders: Sequence[Encoder], *, geometry: Geometry = "euclidean") -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        if not is_installed("torch"):
            return {"encoders": [Rocket(n_features=60, random_state=seed) for seed in (0, 1)]}
        from .causal.estimator import CausalEncoder

        return {"encoders": [CausalEncoder(n_negatives=k, **CausalEncoder._test_parameters()) for k in (1, 2)]}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit a copy of every encoder that is not fitted yet to the sequences X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            self.encoders_ = [
                components.fitted_copy(components.unfreeze(encoder), sequences, y) for encoder in self.encoders
            ]
        return self

    def _refuse_options(self) -> None:
        super()._refuse_options()
        trained = [part for part in self.encoders if isinstance(part, Trained)]
        folders = [str(part.trainer_.checkpoint) for part in trained if part.trainer_.checkpoint is not None]
        twice = next((folder for folder in folders if folders.count(folder) > 1), None)
        if twice is not None:
            raise ValueError(
                f"encoders: several have checkpoint={twice!r}, so each would resume the training of another: give "
                "every encoder its own folder"
            )

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        return np.concatenate(
            [encoder._encode_resampled(sequences, threads) for encoder in self._get_encoders()], axis=1
        )

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        return graph.add("Concat", *(add_encoder(graph, encoder, x) for encoder in self._get_encoders()), axis=1)

    def _require_stream(self) -> None:
        super()._require_stream()
        for encoder in self._get_encoders():
            encoder._require_stream()

    def stream(self) -> Stream:
        """A stream that takes one sample at a time and returns the vector of all samples so far."""
        self._require_stream()
        return _ConcatenatedStream([encoder.stream() for encoder in self._get_encoders()])

    def _get_encoders(self) -> list[Encoder]:
        return getattr(self, "encoders_", None) or [components.unfreeze(encoder) for encoder in self.encoders]

    def _expected_frame(self) -> tuple[int, ...] | None:
        return self._get_encoders()[0]._expected_frame()

    def _refuse_frame(self, frame: tuple[int, ...], name: str) -> None:
        for encoder in self._get_encoders():
            encoder._refuse_frame(frame, name)

    def __sklearn_is_fitted__(self) -> bool:
        encoders = self._get_encoders()
        return bool(encoders) and all(isinstance(one, Encoder) and one.__sklearn_is_fitted__() for one in encoders)


class _ConcatenatedStream(Stream):
    def __init__(self, streams: list[Stream]) -> None:
        self._streams = streams

    def push(self, sample: Any) -> Floats:
        """The vector (feature,) after this sample."""
        vectors = [stream.push(sample) for stream in self._streams]
        self.n_samples += 1
        return np.concatenate(vectors)


def combine(encoders: Sequence[Encoder]) -> CombinedEncoder:
    """Combine several encoders into one with concatenated vectors; it is fitted if all of them are.

    >>> import timelike as tl  # needs: timelike[learn]
    >>> encoders = [tl.CausalEncoder.preset("thesis", n_negatives=k) for k in (1, 2, 5, 10)]
    >>> tl.encode.combine(encoders).encoders[2].n_negatives
    5
    """
    combined = CombinedEncoder(list(encoders))
    combined._refuse_options()
    return combined

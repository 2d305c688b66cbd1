"""The base of linear metrics over an encoder: its vectors, projected, each part of length 1, compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.random import check_random_state
from ...core.threads import check_n_jobs
from ...encode.base import Encoder, Stream
from ...encode.onnx.graph import OnnxGraph, add_encoder
from ...models import components, options, schema
from ...sequences import Sequences
from .principal_axes import Floats, PrincipalBasis, fit_principal_axes
from .scatter import normalize_rows

_BLOCK_SEQUENCES = (
    1 << 7
)  # sequences whose vectors, thousands of numbers each and in double precision, are there at a time


def _check_encoder(value: Any, name: str) -> Encoder | None:
    encoder = components.unfreeze(value)
    if encoder is not None and not isinstance(encoder, Encoder):
        raise TypeError(f"{name}={value!r:.80}: expected an encoder such as timelike.Rocket(), or None")
    return encoder


def _default_encoder(word: Any) -> Any:
    from ...encode import Rocket

    return Rocket() if word is None else word


class ProjectedEncoder(Encoder):
    """The vectors of an encoder, standardized and projected: parts of length 1, the squares of whose distances add up.

    A subclass learns `mean_`, `weight_`, `shares_` and `projections_`: a share and a projection for each part.
    """

    encoder = options.Option(_check_encoder, from_word=_default_encoder)
    n_features = options.width(1)
    random_state = options.random_seed()

    encoder_: Encoder = schema.estimator(Encoder)
    mean_: Floats = schema.array("feature")
    weight_: Floats = schema.array("feature")
    shares_: list[float] = schema.list_of(schema.real(0, 1), "projection", least=1)
    projections_: list[NDArray[np.float32]] = schema.list_of(
        schema.array("feature", "direction", dtype="float32"), "projection"
    )
    weighted_projections_: list[Floats] = schema.derived_value()

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        from ...encode import Rocket

        return {"encoder": Rocket(n_features=60, random_state=0)}

    def _takes_missing(self) -> bool:
        encoder = getattr(self, "encoder_", None) or components.unfreeze(_default_encoder(self.encoder))
        return isinstance(encoder, Encoder) and encoder._takes_missing()

    def _fit_axes(self, sequences: Sequences) -> tuple[PrincipalBasis, Floats]:
        """Take the encoder as it is, or fit a copy; the axes of its vectors, and the vectors along them."""
        encoder = components.unfreeze(self.encoder)
        if encoder is None:
            encoder = _default_encoder(None).set_params(random_state=self.random_state)
        self.encoder_ = components.fitted_copy(encoder, sequences)
        self.encoder_._refuse_frame(sequences.frame, "X")
        if len(sequences) < 2:
            raise ValueError("X holds one sequence (n_samples=1): expected at least two, which can differ")
        vectors = self.encoder_._encode_resampled(sequences, check_n_jobs(None))
        return fit_principal_axes(vectors, check_random_state(self.random_state))

    def _set_projections(self, basis: PrincipalBasis, maps: list[tuple[float, Floats]]) -> None:
        """What answers need, in single precision on disk; parts without a share are left out."""
        self.mean_, self.weight_ = basis.mean, basis.weight
        weighted_parts = [(share, basis.axes[:, : len(some)] @ some) for share, some in maps if share > 0]
        self.shares_ = [float(share) for share, _ in weighted_parts]
        self.projections_ = [_scale_projection(projection).astype(np.float32) for _, projection in weighted_parts]
        self._derive_attributes()

    def _derive_attributes(self) -> None:
        self.weighted_projections_ = [self.weight_[:, None] * projection for projection in self.projections_]

    def _encode(self, sequences: Sequences, threads: int) -> NDArray[np.float32]:
        blocks = (sequences[begin : begin + _BLOCK_SEQUENCES] for begin in range(0, len(sequences), _BLOCK_SEQUENCES))
        return np.concatenate(
            [self._project_vectors(self.encoder_._encode_resampled(block, threads)) for block in blocks]
        )

    def _project_vectors(self, vectors: NDArray[np.floating]) -> NDArray[np.float32]:
        """In double precision, then rounded, so that no bit depends on the other items in the batch."""
        centred = vectors.astype(np.float64) - self.mean_
        parts = [
            np.sqrt(share) * normalize_rows(centred @ some)
            for share, some in zip(self.shares_, self.weighted_projections_, strict=True)
        ]
        return np.asarray(np.concatenate(parts, axis=1), np.float32)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        """In single precision: lengths are 1, and products of a few digits less are as good."""
        centred = graph.add("Sub", add_encoder(graph, self.encoder_, x), graph.constant(self.mean_))
        parts = []
        for share, some in zip(self.shares_, self.weighted_projections_, strict=True):
            row = graph.add("MatMul", centred, graph.constant(some))
            parts.append(graph.add("Mul", graph.normalize_rows(row), graph.constant(np.sqrt(share))))
        return graph.add("Concat", *parts, axis=1)

    def _require_stream(self) -> None:
        super()._require_stream()
        self.encoder_._require_stream()

    def stream(self) -> Stream:
        """One new sample in, the vector of everything so far out, where the encoder has a stream."""
        self._require_stream()
        return _ProjectedStream(self.encoder_.stream(), self)


class _ProjectedStream(Stream):
    def __init__(self, inner: Stream, metric: ProjectedEncoder) -> None:
        self._inner, self._metric = inner, metric

    def push(self, sample: Any) -> NDArray[np.float32]:
        """The vector (feature,) with this sample."""
        vector = self._inner.push(sample)
        self.n_samples += 1
        return np.asarray(self._metric._project_vectors(vector[None])[0])


def _scale_projection(projection: Floats) -> Floats:
    """Lengths do not count, and float32 should hold the numbers."""
    return projection / max(float(np.abs(projection).max()), float(np.finfo(np.float64).tiny))

"""`ProjectedEncoder`: the base class of linear metrics on the vectors of an encoder."""

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

_BLOCK_SEQUENCES = 1 << 7  # sequences encoded at once: vectors have thousands of numbers in double precision


def _check_encoder(value: Any, name: str) -> Encoder | None:
    encoder = components.unfreeze(value)
    if encoder is not None and not isinstance(encoder, Encoder):
        raise TypeError(f"{name}={value!r:.80}: expected an encoder such as timelike.Rocket(), or None")
    return encoder


def _default_encoder(word: Any) -> Any:
    from ...encode import Rocket

    return Rocket() if word is None else word


class ProjectedEncoder(Encoder):
    """The standardized and projected vectors of an encoder: parts of length 1, whose squared distances are summed.

    A subclass learns `mean_`, `weight_`, `shares_` and `projections_`: a weight and a projection for each part.
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
        """Use the fitted encoder, or fit a copy; return the axes of its vectors and their coordinates."""
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
        """Set the fitted attributes, projections in single precision; parts with weight 0 are dropped."""
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
        """Project in double precision and round, so that results do not depend on the other items in the batch."""
        centred = vectors.astype(np.float64) - self.mean_
        parts = [
            np.sqrt(share) * normalize_rows(centred @ some)
            for share, some in zip(self.shares_, self.weighted_projections_, strict=True)
        ]
        return np.asarray(np.concatenate(parts, axis=1), np.float32)

    def _add_to_onnx(self, graph: OnnxGraph, x: str) -> str:
        """Add the nodes in single precision, which is enough for vectors of length 1."""
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
        """A stream that returns the vector of all samples so far after each new sample, if the encoder supports it."""
        self._require_stream()
        return _ProjectedStream(self.encoder_.stream(), self)


class _ProjectedStream(Stream):
    def __init__(self, inner: Stream, metric: ProjectedEncoder) -> None:
        self._inner, self._metric = inner, metric

    def push(self, sample: Any) -> NDArray[np.float32]:
        """Add a sample and return the vector of all samples so far, (feature,)."""
        vector = self._inner.push(sample)
        self.n_samples += 1
        return np.asarray(self._metric._project_vectors(vector[None])[0])


def _scale_projection(projection: Floats) -> Floats:
    """Scale to a maximum of 1, to fit float32; lengths do not matter."""
    return projection / max(float(np.abs(projection).max()), float(np.finfo(np.float64).tiny))

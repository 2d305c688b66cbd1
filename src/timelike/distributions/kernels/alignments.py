"""Kernels of sequences by alignment: the exponential of any metric, and global alignment by soft-DTW."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import pdist

from ...align import Euclidean, Metric, SoftDTW, metric_names
from ...core.parameters import check_float
from ...encode import Encoder
from ...neighbors.elastic_kernel import inverse_median
from ..validation import Domain, Sample, refuse_missing, to_sequences
from .base import Kernel, Matrix, ResolvedKernel, fit_if_needed, needs_fit
from .radial import sample_width_items

if TYPE_CHECKING:
    from torch import Tensor

_MAX_FRAMES = 2000  # sampled frames, whose distances decide the softness of a global alignment
_MAX_NUMBERS = 1 << 20  # numbers of both sides of soft-DTW's pairs in memory at a time


@dataclass(frozen=True, repr=False)
class ExponentialKernel(Kernel):
    """Similarity of sequences by any metric of the library: k(x, y) = exp(−γ d(x, y)); elastic with the default, DTW.

    The kernel of `ElasticKernel`, as a value. With an elastic metric it need not be positive definite (Lei and Sun,
    2007), and MMD² may be negative, but the level of a test stays exact. Use it if differences of speed should be
    ignored; to detect changes of speed, use features of time, such as `EncoderKernel(Rocket(), RBF())`.

    Parameters
    ----------
    metric : Metric or str
        One that is not fitted yet is fitted to the pooled sample, without labels.
    gamma : float, optional
        γ; None for 1 / the median distance of different items of the pooled sample.

    Examples
    --------
    >>> import timelike as tl
    >>> k = tl.distributions.ExponentialKernel("dtw", gamma=0.5)
    >>> k([[0.0, 1.0], [0.0, 0.0, 1.0]], [[0.0, 1.0, 3.0]]).round(4)
    array([[0.1353],
           [0.1353]])
    """

    metric: Metric | str = "dtw"
    gamma: float | None = None

    domain: ClassVar[Domain] = "sequences"

    def __post_init__(self) -> None:
        metric_names.resolve_metric(self.metric)
        self._set_options(metric=self.metric)
        if self.gamma is not None:
            self._set_options(gamma=check_float(self.gamma, "gamma", above=0.0))

    @property
    def indefinite_reason(self) -> str:
        """Empty for Euclidean distances, for which it is definite."""
        if isinstance(metric_names.resolve_metric(self.metric), Euclidean | Encoder):
            return ""
        name = type(metric_names.resolve_metric(self.metric)).__name__
        return f"exp(−γ d) need not be positive definite: {name} is not Euclidean"

    @property
    def has_fitted_part(self) -> bool:
        """Whether the metric is a fitted estimator."""
        return metric_names.is_estimator(self.metric) and not needs_fit(self.metric)

    @property
    def has_open_options(self) -> bool:
        """Whether γ is open, or the metric is not fitted yet."""
        return self.gamma is None or needs_fit(self.metric)

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With a fitted metric, and the γ of a sample."""
        metric = fit_if_needed(self.metric, sample, rng)
        if self.gamma is not None:
            return replace(self, metric=metric)
        width_sample = sample[sample_width_items(len(sample), rng)]
        return replace(self, metric=metric, gamma=inverse_median(np.asarray(metric.pairwise(width_sample), np.float64)))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """The same with the matrix; every distance is computed once."""
        metric = fit_if_needed(self.metric, sample, rng)
        distances = np.asarray(metric.pairwise(sample), np.float64)
        ready = replace(self, metric=metric)
        if self.gamma is None:  # otherwise nothing is sampled, as in `resolve`
            width_items = sample_width_items(len(sample), rng)
            ready = replace(ready, gamma=inverse_median(distances[width_items][:, width_items]))
        return ResolvedKernel(ready, ready._to_similarities(distances))

    def resolve_widths(
        self, sample: Sample, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """With fractions of the γ of a sample, whose distances are computed once."""
        metric = fit_if_needed(self.metric, sample, rng)
        distances = np.asarray(metric.pairwise(sample), np.float64)
        gamma = self.gamma
        if gamma is None:
            width_items = sample_width_items(len(sample), rng)
            gamma = inverse_median(distances[width_items][:, width_items])
        for factor in factors:
            scaled = replace(self, metric=metric, gamma=gamma / factor)
            yield ResolvedKernel(scaled, scaled._to_similarities(distances))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """With γ divided by each factor; γ must be resolved."""
        assert self.gamma is not None
        return [replace(self, gamma=self.gamma / factor) for factor in factors]

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        if not self._takes_missing():
            refuse_missing(sample, f"ExponentialKernel({self.metric!r})", name)
        return sample

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        return self._to_similarities(np.asarray(metric_names.resolve_metric(self.metric).pairwise(x, y), np.float64))

    def _to_similarities(self, distances: Matrix) -> Matrix:
        assert self.gamma is not None
        with np.errstate(over="ignore"):
            similarities = np.exp(-self.gamma * distances)
        if not np.isfinite(similarities).all():
            raise ValueError(
                f"gamma={self.gamma:g} makes exp(−γ d) infinite, as {self.metric!r} gives negative distances: use "
                "SoftDTW(divergence=True)"
            )
        return similarities

    def _takes_missing(self) -> bool:
        return metric_names.resolve_metric(self.metric)._takes_missing()

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        raise TypeError(
            f"ExponentialKernel({self.metric!r}) has no gradients: use GlobalAlignment(), or EncoderKernel(module, "
            "RBF()) with a torch module"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class GlobalAlignment(Kernel):
    """All alignments of two sequences at once: k(x, y) = exp(−D_γ(x, y) / γ), with D_γ the divergence of soft-DTW.

    That is K(x, y) / √(K(x, x) K(y, y)) with K(x, y) = Σ_π exp(−Σ_(i,j)∈π ‖x_i − y_j‖² / γ) over all alignments π
    (Cuturi, "Fast global alignment kernels", 2011). DTW uses the best alignment alone; here all count, so that the
    kernel has gradients. With a small γ, long sequences are similar to themselves only.

    Cuturi's proof of positive definiteness requires that κ / (1 + κ) of the local kernel κ is definite, which is not
    known for the Gaussian κ used here.

    Parameters
    ----------
    gamma : float, optional
        γ, in units of a squared distance of frames. None for 2 σ² with σ = the median distance of frames of the pooled
        sample times √(the median length), Cuturi's suggestion.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.distributions.GlobalAlignment(gamma=2.0)([[0.0, 1.0], [0.0, 0.0, 1.0], [4.0, 4.0]]).round(3)
    array([[1.   , 0.731, 0.   ],
           [0.731, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    gamma: float | None = None

    domain: ClassVar[Domain] = "sequences"

    def __post_init__(self) -> None:
        if self.gamma is not None:
            self._set_options(gamma=check_float(self.gamma, "gamma", above=0.0))

    @property
    def indefinite_reason(self) -> str:
        """Never empty: no proof of definiteness is known."""
        return "no proof is known that a sum over all alignments of Gaussian costs is positive definite"

    @property
    def has_open_options(self) -> bool:
        """Whether γ is open."""
        return self.gamma is None

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With the γ of a sample."""
        return self if self.gamma is not None else replace(self, gamma=default_gamma(sample, rng))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With the γ of a sample."""
        ready = self.resolve(sample, rng)
        return ResolvedKernel(ready, ready._kernel_matrix(ready._precompute_items(sample, "x"), None))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """With several widths √(γ/2); γ must be resolved."""
        assert self.gamma is not None
        return [replace(self, gamma=self.gamma * factor**2) for factor in factors]

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        refuse_missing(sample, "GlobalAlignment", name)
        return sample

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        assert self.gamma is not None
        distances = np.asarray(SoftDTW(gamma=self.gamma, divergence=True).pairwise(x, y), np.float64)
        return np.asarray(np.exp(-distances / self.gamma))

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        import torch

        from ...align.layers.soft_dtw import SoftDTW as Layer

        assert self.gamma is not None
        first, second = (side[..., None] if side.ndim == 2 else side.flatten(2) for side in (x, y))
        layer = Layer(self.gamma)
        own = [layer(side, side) / 2 for side in (first, second)]
        rows = max(1, _MAX_NUMBERS // max(1, second.numel()))
        raw = [
            layer(some.repeat_interleave(len(second), 0), second.repeat(len(some), *[1] * (second.ndim - 1))).reshape(
                len(some), len(second)
            )
            for some in torch.split(first, rows)
        ]
        similarities: Tensor = (-(torch.cat(raw) - own[0][:, None] - own[1]) / self.gamma).exp()
        return similarities


def default_gamma(sample: Sample, rng: np.random.Generator | None) -> float:
    """2 σ² with σ the median distance of frames of a sample times the root of the median length."""
    generator, sequences = np.random.default_rng(0) if rng is None else rng, to_sequences(sample)
    frames = sequences.values.reshape(len(sequences.values), -1)
    drawn_frames = frames[generator.permutation(len(frames))[:_MAX_FRAMES]].astype(np.float64)
    between = pdist(drawn_frames) if len(drawn_frames) > 1 else np.zeros(1)
    middle = float(np.median(between)) or float(between.mean()) or 1.0
    return 2 * middle**2 * float(np.median(sequences.lengths))

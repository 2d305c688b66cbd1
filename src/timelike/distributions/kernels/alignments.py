"""Kernels of sequences by how they line up: the exponential of any metric, and global alignment by soft-DTW."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import pdist

from ...align import Euclidean, Metric, SoftDTW, named
from ...encode import Encoder
from ...recognize.kernels import inverse_median
from ...sequences import Sequences
from ...sequences.arguments import real
from ..samples import Over
from .base import Kernel, Matrix, Settled
from .distances import chosen
from .radial import learned, unlearned

if TYPE_CHECKING:
    from torch import Tensor

_FRAMES = 2000  # of all sequences, drawn, whose distances decide the softness of a global alignment
_PAIRS = 1 << 20  # numbers of the two sides of soft-DTW's pairs that are there at a time


@dataclass(frozen=True, repr=False)
class Exponential(Kernel):
    """How alike sequences are by any metric of the library: k(x, y) = exp(−γ d(x, y)); elastic with the default, DTW.

    The kernel of `ElasticKernel`, as a value. The level of a test is exact with it all the same, but where the metric
    is elastic it need not be positive definite (Lei and Sun, 2007), and MMD² may be negative. For sequences whose
    speed varies and shall not count; where a changed speed is what you look for, use features of time, such as
    `of(Rocket(), RBF())`.

    Parameters
    ----------
    metric : Metric or str
        One that has yet to learn does so from the pooled sample, without labels.
    gamma : float, optional
        γ; None for 1 / the median distance of different items of the pooled sample.

    Examples
    --------
    >>> import timelike as tl
    >>> k = tl.distributions.Exponential("dtw", gamma=0.5)
    >>> k([[0.0, 1.0], [0.0, 0.0, 1.0]], [[0.0, 1.0, 3.0]]).round(4)
    array([[0.1353],
           [0.1353]])
    """

    metric: Metric | str = "dtw"
    gamma: float | None = None

    over: ClassVar[Over] = "sequences"

    def __post_init__(self) -> None:
        named.resolve(self.metric)
        self._keep(metric=self.metric)
        if self.gamma is not None:
            self._keep(gamma=real(self.gamma, "gamma", above=0.0))

    @property
    def indefinite(self) -> str:
        """It is definite over Euclidean distances."""
        if isinstance(named.resolve(self.metric), Euclidean | Encoder):
            return ""
        return f"exp(−γ d) need not be positive definite: {type(named.resolve(self.metric)).__name__} is not Euclidean"

    @property
    def taught(self) -> bool:
        """Whether the metric has learned."""
        return named.learns(self.metric) and not unlearned(self.metric)

    @property
    def open(self) -> bool:
        """Whether γ is, or the metric has yet to learn."""
        return self.gamma is None or unlearned(self.metric)

    def ready(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With a metric that has learned, and the γ of a sample."""
        metric = learned(self.metric, sample, rng)
        if self.gamma is not None:
            return replace(self, metric=metric)
        some = sample[chosen(len(sample), rng)]
        return replace(self, metric=metric, gamma=inverse_median(np.asarray(metric.pairwise(some), np.float64)))

    def settled(self, sample: Sequences, rng: np.random.Generator | None = None) -> Settled:
        """The same, with every distance taken once."""
        metric = learned(self.metric, sample, rng)
        distances = np.asarray(metric.pairwise(sample), np.float64)
        ready = replace(self, metric=metric)
        if self.gamma is None:  # otherwise nothing is drawn, as in `ready`
            some = chosen(len(sample), rng)
            ready = replace(ready, gamma=inverse_median(distances[some][:, some]))
        return Settled(ready, ready._similar(distances))

    def rescaled(
        self, sample: Sequences, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[Settled]:
        """With parts of the γ of a sample, whose distances are taken once for all of them."""
        metric = learned(self.metric, sample, rng)
        distances = np.asarray(metric.pairwise(sample), np.float64)
        gamma = self.gamma
        if gamma is None:
            some = chosen(len(sample), rng)
            gamma = inverse_median(distances[some][:, some])
        for factor in factors:
            one = replace(self, metric=metric, gamma=gamma / factor)
            yield Settled(one, one._similar(distances))

    def scaled_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """Once γ is settled, its parts."""
        assert self.gamma is not None
        return [replace(self, gamma=self.gamma / factor) for factor in factors]

    def _known(self, sample: Sequences, name: str) -> Any:
        if not self._takes_missing():
            sample.refuse_missing(f"Exponential({self.metric!r})", name)
        return sample

    def _between(self, x: Any, y: Any | None) -> Matrix:
        return self._similar(np.asarray(named.resolve(self.metric).pairwise(x, y), np.float64))

    def _similar(self, distances: Matrix) -> Matrix:
        assert self.gamma is not None
        with np.errstate(over="ignore"):
            found = np.exp(-self.gamma * distances)
        if not np.isfinite(found).all():
            raise ValueError(
                f"gamma={self.gamma:g} makes exp(−γ d) infinite, as {self.metric!r} gives negative distances: use "
                "SoftDTW(divergence=True)"
            )
        return found

    def _takes_missing(self) -> bool:
        return named.resolve(self.metric)._takes_missing()

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        raise TypeError(
            f"Exponential({self.metric!r}) has no gradients: use GlobalAlignment(), or of(module, RBF()) with a torch "
            "module"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class GlobalAlignment(Kernel):
    """All alignments of two sequences at once: k(x, y) = exp(−D_γ(x, y) / γ), with D_γ the divergence of soft-DTW.

    That is K(x, y) / √(K(x, x) K(y, y)) with K(x, y) = Σ_π exp(−Σ_(i,j)∈π ‖x_i − y_j‖² / γ) over all alignments π
    (Cuturi, "Fast global alignment kernels", 2011). Where DTW counts the best alignment alone, here all count, so that
    it has gradients. Of long sequences with a small γ, every sequence is like itself only.

    Cuturi's proof of positive definiteness asks for a local kernel κ / (1 + κ) that is definite, and of the Gaussian κ
    used here that is not known.

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

    over: ClassVar[Over] = "sequences"

    def __post_init__(self) -> None:
        if self.gamma is not None:
            self._keep(gamma=real(self.gamma, "gamma", above=0.0))

    @property
    def indefinite(self) -> str:
        """No proof is known."""
        return "no proof is known that a sum over all alignments of Gaussian costs is positive definite"

    @property
    def open(self) -> bool:
        """Whether γ is."""
        return self.gamma is None

    def ready(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With the γ of a sample."""
        return self if self.gamma is not None else replace(self, gamma=softness(sample, rng))

    def settled(self, sample: Sequences, rng: np.random.Generator | None = None) -> Settled:
        """With the γ of a sample."""
        ready = self.ready(sample, rng)
        return Settled(ready, ready._between(ready._known(sample, "x"), None))

    def scaled_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """Once γ is settled: a width is √(γ/2)."""
        assert self.gamma is not None
        return [replace(self, gamma=self.gamma * factor**2) for factor in factors]

    def _known(self, sample: Sequences, name: str) -> Any:
        sample.refuse_missing("GlobalAlignment", name)
        return sample

    def _between(self, x: Any, y: Any | None) -> Matrix:
        assert self.gamma is not None
        distances = np.asarray(SoftDTW(gamma=self.gamma, divergence=True).pairwise(x, y), np.float64)
        return np.asarray(np.exp(-distances / self.gamma))

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        import torch

        from ...align.layers.soft_dtw import SoftDTW as Layer

        assert self.gamma is not None
        first, second = (side[..., None] if side.ndim == 2 else side.flatten(2) for side in (x, y))
        layer = Layer(self.gamma)
        own = [layer(side, side) / 2 for side in (first, second)]
        rows = max(1, _PAIRS // max(1, second.numel()))
        raw = [
            layer(
                some.repeat_interleave(len(second), 0),
                second.repeat(len(some), *[1] * (second.ndim - 1)),
            ).reshape(len(some), len(second))
            for some in torch.split(first, rows)
        ]
        found: Tensor = (-(torch.cat(raw) - own[0][:, None] - own[1]) / self.gamma).exp()
        return found


def softness(sample: Sequences, rng: np.random.Generator | None) -> float:
    """2 σ² with σ the median distance of frames of a sample times the root of the median length."""
    drawn = np.random.default_rng(0) if rng is None else rng
    frames = sample.values.reshape(len(sample.values), -1)
    some = frames[drawn.permutation(len(frames))[:_FRAMES]].astype(np.float64)
    between = pdist(some) if len(some) > 1 else np.zeros(1)
    middle = float(np.median(between)) or float(between.mean()) or 1.0
    return 2 * middle**2 * float(np.median(sample.lengths))

"""Kernels of the distance of two vectors: RBF, Laplace, Matérn, rational quadratic, and the negative distance."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...align import Metric, metric_names
from ...core.parameters import check_float
from ...sequences import Sequences
from ..validation import as_vectors
from .base import Kernel, Matrix, ResolvedKernel, fit_if_needed, needs_fit
from .distances import median_distance, safe_sqrt, sample_width_items, squared_distances, squared_distances_tensor
from .weighted_sums import weighted_sums_by_distance

if TYPE_CHECKING:
    from torch import Tensor


_MAX_RATIO = 1e300  # squared distances over squared widths: what is farther is as far, so that 0 · ∞ never is


@dataclass(frozen=True, kw_only=True, repr=False)
class RadialKernel(Kernel):
    """k(x, y) = f(‖x − y‖² / w²), positive definite in any dimension; a subclass says f.

    Parameters
    ----------
    width : float, optional
        w, in the units of the vectors. None for the median of the distances between different items of the pooled
        sample (of 1000 of them, drawn, where there are more).
    """

    width: float | None = None

    def __post_init__(self) -> None:
        if self.width is not None:
            self._set_options(width=check_float(self.width, "width", above=0.0))

    @property
    def has_open_options(self) -> bool:
        """Whether the width is open."""
        return self.width is None

    @abc.abstractmethod
    def _profile(self, ratios: Any) -> Any:
        """f, of squared distances over squared widths: an array, which may be written over, or a tensor."""

    @abc.abstractmethod
    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        """f and twice its derivative, of an array; where that has no limit, at 0, it is 0."""

    def resolve(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With the width of a sample."""
        if self.width is not None:
            return self
        vectors = as_vectors(sample, "x")
        return self._with_median_width(squared_distances(vectors[sample_width_items(len(vectors), rng)], None))

    def resolve_with_matrix(self, sample: Sequences, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With the width of a sample, whose distances are taken once."""
        squared = squared_distances(as_vectors(sample, "x"), None)
        if self.width is not None:  # nothing is drawn then, as in `resolve`
            return ResolvedKernel(self, self._to_similarities(squared, spare=True))
        some = sample_width_items(len(squared), rng)
        ready = self._with_median_width(squared[some][:, some])
        return ResolvedKernel(ready, ready._to_similarities(squared, spare=True))

    def resolve_widths(
        self, sample: Sequences, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """With multiples of the width of a sample, whose distances are taken once for all of them."""
        squared = squared_distances(as_vectors(sample, "x"), None)
        some = slice(0, 0) if self.width is not None else sample_width_items(len(squared), rng)
        ready = self if self.width is not None else self._with_median_width(squared[some][:, some])
        for one in ready._width_multiples(factors):
            yield ResolvedKernel(one, one._to_similarities(squared))

    def _with_median_width(self, squared: Matrix) -> Self:
        return replace(self, width=median_distance(np.sqrt(squared)))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """With multiples of the width, which must be resolved."""
        return [*self._width_multiples(factors)]

    def _width_multiples(self, factors: Sequence[float]) -> list[Self]:
        assert self.width is not None
        return [replace(self, width=self.width * factor) for factor in factors]

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        return self._to_similarities(squared_distances(x, y), spare=True)

    def _paired_similarities(self, x: Any, y: Any) -> Matrix:
        return self._to_similarities(np.square(x - y).sum(axis=1))

    def _to_similarities(self, squared: Matrix, *, spare: bool = False) -> Matrix:
        """Similarities from squared distances, written over these where they are not needed again."""
        assert self.width is not None
        # the distance first, as the square of a width may be 0 or infinite where its ratio to a distance is not
        with np.errstate(over="ignore"):
            ratios = np.sqrt(squared, out=squared if spare else None)
            ratios /= self.width
            np.square(ratios, out=ratios)
        return np.asarray(self._profile(np.minimum(ratios, _MAX_RATIO, out=ratios)))

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        assert self.width is not None
        squared = squared_distances_tensor(x.flatten(1), y.flatten(1))
        # by the width twice, as its square may be 0 or infinite
        found: Tensor = self._profile((squared / self.width / self.width).clamp(max=_MAX_RATIO))
        return found

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        return weighted_sums_by_distance(self._similarity_and_factor, x, y, weights)

    def _similarity_and_factor(self, squared: Matrix) -> tuple[Matrix, Matrix]:
        """k of squared distances, and c, with the gradient c (x − y)."""
        assert self.width is not None
        with np.errstate(over="ignore"):
            ratios = np.minimum(np.square(np.sqrt(squared) / self.width), _MAX_RATIO)
        similar, factors = self._profile_and_slope(ratios)
        return similar, factors / self.width / self.width


def _exp(values: Any) -> Any:
    """exp of an array of our own, in its place, or of a tensor."""
    return np.exp(values, out=values) if isinstance(values, np.ndarray) else values.exp()


def _exp_of_distance(distances: Matrix) -> tuple[Matrix, Matrix]:
    """exp(−r) and −exp(−r) / r; the latter at r = 0, a cusp, is 0, the middle of the gradients around it."""
    similar = np.exp(-distances)
    return similar, np.divide(-similar, distances, out=np.zeros_like(similar), where=distances > 0)


def _multiply(factor: float, values: Any) -> Any:
    """A multiple of an array of our own, in its place, or of a tensor."""
    return np.multiply(values, factor, out=values) if isinstance(values, np.ndarray) else factor * values


class RBF(RadialKernel):
    """The Gaussian kernel: k(x, y) = exp(−‖x − y‖² / (2 w²)).

    Smooth, bounded and characteristic: MMD is 0 only for equal distributions. The kernel to begin with; where
    differences are on another scale than most distances, try several widths (`TwoSample(scales=…)`).

    >>> import timelike as tl
    >>> tl.distributions.RBF(width=1.0)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    def _profile(self, ratios: Any) -> Any:
        return _exp(_multiply(-0.5, ratios))

    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        similar = np.exp(-0.5 * ratios)
        return similar, -similar


class Laplacian(RadialKernel):
    """The exponential of the distance: k(x, y) = exp(−‖x − y‖ / w).

    With heavier tails than `RBF` and a cusp at x = y: it sees fine differences and far outliers, and gives rougher
    gradients. The gradient at x = y is taken to be 0, the middle of those around it.

    >>> import timelike as tl
    >>> tl.distributions.Laplacian(width=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3679]])
    """

    def _profile(self, ratios: Any) -> Any:
        return _exp(-safe_sqrt(ratios))

    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        return _exp_of_distance(np.sqrt(ratios))


@dataclass(frozen=True, kw_only=True, repr=False)
class Matern(RadialKernel):
    """Matérn's kernels, between `Laplacian` and `RBF` in smoothness: with r = ‖x − y‖ / w

        exp(−r),   (1 + √3 r) exp(−√3 r),   (1 + √5 r + 5 r²/3) exp(−√5 r)   for ν = ½, 3/2, 5/2

    (Matérn, 1960; Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, eq. 4.16 and 4.17).

    >>> import timelike as tl
    >>> tl.distributions.Matern(width=1.0, smoothness=2.5)([[0.0]], [[1.0]]).round(4)
    array([[0.524]])
    """

    smoothness: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_float(self.smoothness, "smoothness") not in (0.5, 1.5, 2.5):
            raise ValueError(f"smoothness={self.smoothness}: expected 0.5, 1.5 or 2.5")
        self._set_options(smoothness=float(self.smoothness))

    def _profile(self, ratios: Any) -> Any:
        r = safe_sqrt(2 * self.smoothness * ratios)
        decay = _exp(-r)
        if self.smoothness == 0.5:
            return decay
        found = (1 + r) * decay if self.smoothness == 1.5 else (1 + r + 5 * ratios / 3) * decay
        if isinstance(ratios, np.ndarray):
            return found
        # at 0 by the series in r², as r has no derivative there: second derivatives of k would be wrong
        return found.where(ratios > 0, 1 - (1.5 if self.smoothness == 1.5 else 5 / 6) * ratios)

    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        r = np.sqrt(2 * self.smoothness * ratios)
        if self.smoothness == 0.5:
            return _exp_of_distance(r)
        decay = np.exp(-r)
        if self.smoothness == 1.5:
            return (1 + r) * decay, -3 * decay
        return (1 + r + r * r / 3) * decay, -5 / 3 * (1 + r) * decay


@dataclass(frozen=True, kw_only=True, repr=False)
class RationalQuadratic(RadialKernel):
    """A mixture of `RBF` kernels of all widths: k(x, y) = (1 + ‖x − y‖² / (2 α w²))^(−α).

    For differences on several scales at once; the smaller α, the heavier the tails, and `RBF` for α → ∞.

    >>> import timelike as tl
    >>> tl.distributions.RationalQuadratic(width=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set_options(alpha=check_float(self.alpha, "alpha", above=0.0))

    def _profile(self, ratios: Any) -> Any:
        grown = ratios / (2 * self.alpha)
        logs = np.log1p(grown) if isinstance(grown, np.ndarray) else grown.log1p()
        return _exp(-self.alpha * logs)

    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        grown = ratios / (2 * self.alpha)
        similar = np.exp(-self.alpha * np.log1p(grown))
        return similar, -similar / (1 + grown)


@dataclass(frozen=True, repr=False)
class NegativeDistance(Kernel):
    """−d(x, y), whose MMD² is the energy distance: it has no width, and so nothing to choose.

        2 E d(x, y) − E d(x, x′) − E d(y, y′)

    (Székely and Rizzo, "Energy statistics", 2013; Sejdinovic et al., "Equivalence of distance-based and RKHS-based
    statistics", 2013). Sensitive to shifts of the mean, less so to what happens on a fine scale.

    Parameters
    ----------
    metric : Metric or str, optional
        Any metric of the library, for sequences; None for the Euclidean distance of vectors.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.distributions.NegativeDistance()([[0.0]], [[3.0]])
    array([[-3.]])
    """

    metric: Metric | str | None = None

    def __post_init__(self) -> None:
        if self.metric is not None:
            metric_names.resolve_metric(self.metric)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """Vectors, or sequences where there is a metric."""
        return "vectors" if self.metric is None else "sequences"

    @property
    def indefinite_reason(self) -> str:
        """Only weights that sum to 0 are safe, which is all that MMD needs if d is Euclidean."""
        if self.metric is None:
            return "−‖x − y‖ is positive definite for weights that sum to 0 only, which is all that MMD needs"
        return "−d is fit for MMD only where d is a distance of negative type, which elastic distances are not"

    @property
    def has_fitted_part(self) -> bool:
        """Whether the metric is a fitted estimator."""
        return self.metric is not None and metric_names.is_estimator(self.metric) and not self.has_open_options

    @property
    def has_open_options(self) -> bool:
        """Whether the metric is not fitted yet."""
        return self.metric is not None and needs_fit(self.metric)

    def resolve_with_matrix(self, sample: Sequences, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With a fitted metric."""
        ready = self.resolve(sample, rng)
        return ResolvedKernel(ready, ready._kernel_matrix(ready._precompute_items(sample, "x"), None))

    def resolve(self, sample: Sequences, rng: np.random.Generator | None = None) -> NegativeDistance:
        """With a metric that is fitted, if it is an estimator."""
        return self if self.metric is None else replace(self, metric=fit_if_needed(self.metric, sample, rng))

    def _precompute_items(self, sample: Sequences, name: str) -> Any:
        return super()._precompute_items(sample, name) if self.metric is None else sample

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        if self.metric is None:
            return -np.sqrt(squared_distances(x, y))
        return -np.asarray(metric_names.resolve_metric(self.metric).pairwise(x, y), np.float64)

    def _takes_missing(self) -> bool:
        return self.metric is not None and metric_names.resolve_metric(self.metric)._takes_missing()

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        if self.metric is not None:
            raise TypeError(
                "NegativeDistance of sequences has no gradients: use GlobalAlignment, or EncoderKernel(module, RBF())"
            )
        found: Tensor = -safe_sqrt(squared_distances_tensor(x.flatten(1), y.flatten(1)))
        return found

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        return (
            super()._weighted_sums(x, y, weights)
            if self.metric
            else weighted_sums_by_distance(_negative_distance, x, y, weights)
        )


def _negative_distance(squared: Matrix) -> tuple[Matrix, Matrix]:
    """−r of squared distances, and −1/r, the gradient by x − y; 0 at r = 0."""
    distances = np.sqrt(squared)
    return -distances, np.divide(-1.0, distances, out=np.zeros_like(distances), where=distances > 0)

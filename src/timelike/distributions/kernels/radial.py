"""Kernels of the distance of two vectors: RBF, Laplace, Matérn, rational quadratic, and the negative distance.

Also the distances, the median for default widths, and weighted sums of similarities.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ...align import Metric, metric_names
from ...align.distance_matrix import allocate_matrix, refuse_nonfinite, report_progress
from ...core.parameters import check_float
from ...core.threads import thread_count
from ...native import elastic
from ..validation import Sample, as_vectors
from .base import Kernel, Matrix, ResolvedKernel, fit_if_needed, iterate_row_slices, needs_fit

if TYPE_CHECKING:
    from torch import Tensor

MAX_WIDTH_ITEMS = 1000  # items for the median distance, sampled if there are more
_MAX_RATIO = 1e300  # squared distances over squared widths are clipped here, so that 0 · ∞ never occurs
_NEAR_RATIO = 1e-2  # of ‖x‖² + ‖y‖²: nearer pairs would lose more than two digits in ‖x‖² + ‖y‖² − 2⟨x, y⟩
_MIN_REPORTED_WORK = 1 << 24  # numbers of all differences above which progress and memory are checked
_PAIR_BLOCK = 1 << 15  # pairs of a block of a closed form: intermediate results stay in the cache
_MIN_MATMUL_FEATURES = 16  # features above which a matrix product is faster than a pass over the pairs per feature
_BLOCK_ROWS = 64  # of a matrix product: a fixed number, so that no row depends on the others in the batch
_MAX_DIFFERENCES = 1 << 18  # numbers of differences of near pairs that exist at a time

Floats = NDArray[np.float64]
ValuesAndGradients = tuple[Floats, Floats]


@dataclass(frozen=True, kw_only=True, repr=False)
class RadialKernel(Kernel):
    """k(x, y) = f(‖x − y‖² / w²), positive definite in any dimension; a subclass defines f.

    Parameters
    ----------
    width : float, optional
        w, in the units of the vectors. None for the median of the distances between different items of the pooled
        sample (of 1000 sampled items if there are more).
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
        """f of squared distances over squared widths: an array, which may be overwritten, or a tensor."""

    @abc.abstractmethod
    def _profile_and_slope(self, ratios: Matrix) -> tuple[Matrix, Matrix]:
        """f and twice its derivative, of an array; 0 at 0 if the derivative has no limit there."""

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With the width of a sample."""
        if self.width is not None:
            return self
        vectors = as_vectors(sample, "x")
        return self._with_median_width(squared_distances(vectors[sample_width_items(len(vectors), rng)], None))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With the width of a sample, whose distances are computed once."""
        squared = squared_distances(as_vectors(sample, "x"), None)
        if self.width is not None:  # nothing is sampled then, as in `resolve`
            return ResolvedKernel(self, self._to_similarities(squared, spare=True))
        width_items = sample_width_items(len(squared), rng)
        ready = self._with_median_width(squared[width_items][:, width_items])
        return ResolvedKernel(ready, ready._to_similarities(squared, spare=True))

    def resolve_widths(
        self, sample: Sample, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """With multiples of the width of a sample, whose distances are computed once."""
        squared = squared_distances(as_vectors(sample, "x"), None)
        width_items = slice(0, 0) if self.width is not None else sample_width_items(len(squared), rng)
        ready = self if self.width is not None else self._with_median_width(squared[width_items][:, width_items])
        for scaled in ready._width_multiples(factors):
            yield ResolvedKernel(scaled, scaled._to_similarities(squared))

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
        """Similarities from squared distances, which are overwritten if `spare`."""
        assert self.width is not None
        # root first: the square of a width may underflow or overflow although the ratio does not
        with np.errstate(over="ignore"):
            ratios = np.sqrt(squared, out=squared if spare else None)
            ratios /= self.width
            np.square(ratios, out=ratios)
        return np.asarray(self._profile(np.minimum(ratios, _MAX_RATIO, out=ratios)))

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        assert self.width is not None
        squared = squared_distances_tensor(x.flatten(1), y.flatten(1))
        # by the width twice, as its square may be 0 or infinite
        similarities: Tensor = self._profile((squared / self.width / self.width).clamp(max=_MAX_RATIO))
        return similarities

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
    """exp of an array, in place, or of a tensor."""
    return np.exp(values, out=values) if isinstance(values, np.ndarray) else values.exp()


def _exp_of_distance(distances: Matrix) -> tuple[Matrix, Matrix]:
    """exp(−r) and −exp(−r) / r; the latter is 0 at r = 0, a cusp: the mean of the gradients around it."""
    similar = np.exp(-distances)
    return similar, np.divide(-similar, distances, out=np.zeros_like(similar), where=distances > 0)


def _multiply(factor: float, values: Any) -> Any:
    """A multiple of an array, in place, or of a tensor."""
    return np.multiply(values, factor, out=values) if isinstance(values, np.ndarray) else factor * values


class RBF(RadialKernel):
    """The Gaussian kernel: k(x, y) = exp(−‖x − y‖² / (2 w²)).

    Smooth, bounded and characteristic: MMD is 0 only for equal distributions. Start with this kernel; if differences
    are on another scale than most distances, try several widths (`TwoSample(scales=…)`).

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

    With heavier tails than `RBF` and a cusp at x = y: it is sensitive to fine differences and far outliers, and has
    rougher gradients. The gradient at x = y is defined as 0, the mean of those around it.

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
        similarities = (1 + r) * decay if self.smoothness == 1.5 else (1 + r + 5 * ratios / 3) * decay
        if isinstance(ratios, np.ndarray):
            return similarities
        # by the series in r² at 0, where r has no derivative: second derivatives of k would be wrong
        return similarities.where(ratios > 0, 1 - (1.5 if self.smoothness == 1.5 else 5 / 6) * ratios)

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

    Parameters
    ----------
    width : float, optional
        w; None for the median distance of the pooled sample.
    alpha : float
        α, above 0.

    Examples
    --------
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
    """−d(x, y), whose MMD² is the energy distance; it has no width to choose.

        2 E d(x, y) − E d(x, x′) − E d(y, y′)

    (Székely and Rizzo, "Energy statistics", 2013; Sejdinovic et al., "Equivalence of distance-based and RKHS-based
    statistics", 2013). Sensitive to shifts of the mean, less so to fine-scale differences.

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
        """Vectors, or sequences if there is a metric."""
        return "vectors" if self.metric is None else "sequences"

    @property
    def indefinite_reason(self) -> str:
        """Never empty: it is definite only for weights that sum to 0, which suffices for MMD if d is Euclidean."""
        if self.metric is None:
            return "−‖x − y‖ is positive definite for weights that sum to 0 only, which suffices for MMD"
        return "−d is fit for MMD only where d is a distance of negative type, which elastic distances are not"

    @property
    def has_fitted_part(self) -> bool:
        """Whether the metric is a fitted estimator."""
        return self.metric is not None and metric_names.is_estimator(self.metric) and not self.has_open_options

    @property
    def has_open_options(self) -> bool:
        """Whether the metric is not fitted yet."""
        return self.metric is not None and needs_fit(self.metric)

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With a fitted metric."""
        ready = self.resolve(sample, rng)
        return ResolvedKernel(ready, ready._kernel_matrix(ready._precompute_items(sample, "x"), None))

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> NegativeDistance:
        """With a metric that is fitted, if it is an estimator."""
        return self if self.metric is None else replace(self, metric=fit_if_needed(self.metric, sample, rng))

    def _precompute_items(self, sample: Sample, name: str) -> Any:
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
        similarities: Tensor = -safe_sqrt(squared_distances_tensor(x.flatten(1), y.flatten(1)))
        return similarities

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


# --- distances --------------------------------------------------------------------------------------------------------


def squared_distances(x: Floats, y: Floats | None) -> Floats:
    """‖x_i − y_j‖² of vectors (item, feature), from differences; y None for x with itself."""
    shape, threads = (len(x), len(x if y is None else y)), thread_count()
    if shape[0] * shape[1] * x.shape[1] < _MIN_REPORTED_WORK:
        squared = np.empty(shape)
        elastic.squared_distances(x, y, threads=threads, out=squared, report=None)
    else:
        squared = allocate_matrix(shape, np.dtype(np.float64))
        with report_progress(None, "distances") as report:
            elastic.squared_distances(x, y, threads=threads, out=squared, report=report)
    if squared.size and not np.isfinite(squared.max()):
        if not (np.isfinite(x).all() and (y is None or np.isfinite(y).all())):
            raise ValueError("vectors hold nan or infinity: expected finite numbers")
        refuse_nonfinite(squared, ("X", "X" if y is None else "Y"))
    if squared.size and not squared.any() and not ((x == x[0]).all() and (y is None or (y == x[0]).all())):
        raise ValueError("items differ by less than 1e-154, whose square is 0: give them in another unit")
    return squared


def squared_distances_tensor(x: Tensor, y: Tensor) -> Tensor:
    """The same with gradients: by one matrix product, and by differences where points nearly coincide."""
    center = x.detach().mean(dim=0)
    here, there = x - center, y - center
    lengths = here.square().sum(1)[:, None] + there.square().sum(1)
    squared = lengths - 2 * here @ there.T
    if not squared.detach().isfinite().all():
        raise ValueError("items are too far apart for float64: give them in another unit")
    near = squared.detach() < _NEAR_RATIO * lengths.detach()
    if not near.any():
        return squared
    rows, columns = near.nonzero(as_tuple=True)
    exact = (x[rows] - y[columns]).square().sum(1)  # not of the centred ones, which were rounded
    return squared.masked_fill(near, 0.0).index_put((rows, columns), exact)


def safe_sqrt(squared: Any) -> Any:
    """√ of an array or a tensor; the derivative at 0 is defined as 0 instead of infinity."""
    if isinstance(squared, np.ndarray):
        return np.sqrt(squared)
    positive = squared > 0
    return squared.where(positive, 1.0).sqrt().where(positive, 0.0)


def sample_width_items(n_items: int, rng: np.random.Generator | None) -> NDArray[np.int64] | slice:
    """The items whose distances determine a width: all, or a sample of `MAX_WIDTH_ITEMS`."""
    if n_items <= MAX_WIDTH_ITEMS:
        return slice(None)
    generator = np.random.default_rng(0) if rng is None else rng
    return np.sort(generator.permutation(n_items)[:MAX_WIDTH_ITEMS])


def median_distance(distances: Floats) -> float:
    """The median of the distances between different items (item, item); their mean if that is 0, and 1 if both are 0.

    >>> median_distance(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 3.0], [4.0, 3.0, 0.0]]))
    3.0
    """
    between = distances[np.triu_indices(len(distances), 1)]
    if not between.size:
        return 1.0
    middle = float(np.median(between))
    if middle <= 0:  # half of the items, or more, are copies of each other
        middle = float(between.mean())
    return middle if middle > 0 else 1.0


# --- weighted sums and their gradients --------------------------------------------------------------------------------


def weighted_sums_by_distance(
    radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
) -> ValuesAndGradients:
    """Σ_j w_j k(x_i, y_j) (item,) and its gradient like x, of a kernel of ‖x − y‖².

    `radial_function` maps squared distances to similarities, and to c, with the gradient c (x − y).

    Points are subtracted first: if c grows like 1/‖x − y‖, as at a cusp, nothing else preserves the gradient of points
    that nearly coincide.
    """
    first, second = x.reshape(len(x), -1), y.reshape(len(y), -1)
    values, gradients = np.empty(len(x)), np.empty_like(first)
    wide = first.shape[1] > _MIN_MATMUL_FEATURES
    step = _MatrixProducts(second) if wide else _sums_by_differences
    for rows in iterate_row_slices(len(x), len(y), _BLOCK_ROWS * len(y) if wide else _PAIR_BLOCK):
        values[rows], gradients[rows] = step(
            radial_function, first[rows], second, weights if weights.ndim == 1 else weights[rows]
        )
    return values, gradients.reshape(x.shape)


def _sums_by_differences(
    radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
) -> ValuesAndGradients:
    """One pass over the pairs per feature: for few features."""
    differences = [x[:, k, None] - y[:, k] for k in range(x.shape[1])]
    squared = np.square(differences[0])
    for difference in differences[1:]:
        squared += difference * difference
    similar, factors = radial_function(squared)
    factors *= weights
    gradients = np.stack([np.einsum("ij,ij->i", factors, difference) for difference in differences], axis=1)
    similar *= weights
    return similar.sum(axis=1), gradients


class _MatrixProducts:
    """‖x‖² + ‖y‖² − 2 x y and x Σ c − Σ c y by products of matrices, near pairs by differences: for many features."""

    def __init__(self, y: Floats) -> None:
        self.center = y.mean(axis=0)
        self.there = y - self.center
        with np.errstate(over="ignore"):
            self.lengths = np.square(self.there).sum(axis=1)

    def __call__(
        self, radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
    ) -> ValuesAndGradients:
        n, here = len(x), np.zeros((_BLOCK_ROWS, x.shape[1]))
        here[:n] = x - self.center
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.square(here).sum(axis=1)[:, None] + self.lengths
            squared = (lengths - 2 * (here @ self.there.T))[:n]
        if not np.isfinite(squared).all():
            raise ValueError("items are too far apart for float64: give them in another unit")
        near = np.nonzero(squared < _NEAR_RATIO * lengths[:n])
        for pairs in _iterate_pair_blocks(near, x.shape[1]):
            squared[pairs] = np.square(x[pairs[0]] - y[pairs[1]]).sum(axis=1)
        similar, factors = radial_function(squared)
        factors *= weights
        far = np.zeros(lengths.shape)
        far[:n] = factors
        far[near] = 0.0
        gradients = (here * far.sum(axis=1)[:, None] - far @ self.there)[:n]
        for pairs in _iterate_pair_blocks(near, x.shape[1]):
            np.add.at(gradients, pairs[0], factors[pairs][:, None] * (x[pairs[0]] - y[pairs[1]]))
        similar *= weights
        return similar.sum(axis=1), gradients


def _iterate_pair_blocks(
    pairs: tuple[NDArray[np.int64], ...], n_features: int
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Pairs in blocks of a bounded number of differences."""
    for block in iterate_row_slices(len(pairs[0]), n_features, _MAX_DIFFERENCES):
        yield tuple(side[block] for side in pairs)

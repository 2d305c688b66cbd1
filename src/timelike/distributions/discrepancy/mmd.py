"""Maximum mean discrepancy by four estimators, its variance, its witness function, and the energy distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...align import Metric
from ...core.parameters import check_choice, check_int
from ..kernels.base import Kernel, Matrix, as_kernel, iterate_row_blocks
from ..kernels.radial import NegativeDistance
from ..validation import Sample, is_tensor, pool_samples, refuse_other_frame, sample_frame, validate_sample

MMDEstimator = Literal["biased", "unbiased", "block", "linear"]
Floats = NDArray[np.float64]


def mmd(x: Any, y: Any, kernel: Any, *, estimator: MMDEstimator = "biased", block_size: int | None = None) -> Any:
    """The squared maximum mean discrepancy of two samples: how far apart their mean similarities are.

        MMD² = E k(x, x′) + E k(y, y′) − 2 E k(x, y)

    (Gretton et al., "A kernel two-sample test", 2012). It is 0 for equal distributions, and with a characteristic
    kernel such as `RBF` only for them. `TwoSample` tests whether a value is significant.

    - "biased": means over all pairs, an item with itself included. Never negative for a definite kernel, and biased
    upwards by about 1/n + 1/m.
    - "unbiased": without pairs of an item with itself; its mean is 0 for equal distributions, so it may be negative.
    - "block": the mean of unbiased estimates over consecutive blocks of `block_size` items, by default the square root
    of the smaller sample's size (Zaremba, Gretton and Blaschko, "B-tests", 2013). Time n · block_size.
    - "linear": the mean over pairs of neighbours, each item used once (Gretton et al., 2012, lemma 14). Time n, and the
    noisiest.

    The last two use items in their order and drop the surplus items of the larger sample.

    Parameters
    ----------
    x, y : array (item, feature), Sequences, or torch tensors
        Tensors give a tensor with gradients, and their matrices are held in memory whole. Other inputs are compared in
        blocks of 16 MiB.
    kernel : Kernel or callable
        Open options (`width=None`) are resolved by x and y together, without gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import RBF, mmd
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.standard_normal((200, 3)), rng.standard_normal((200, 3))
    >>> round(mmd(x, y, RBF(), estimator="unbiased"), 3), round(mmd(x, y + 1, RBF(), estimator="unbiased"), 3)
    (0.001, 0.222)
    """
    chosen = as_kernel(kernel)
    check_choice(estimator, "estimator", get_args(MMDEstimator))
    size = None if block_size is None else check_int(block_size, "block_size", 2)
    if size is not None and estimator != "block":
        raise ValueError(f'block_size={size} does not apply to estimator={estimator!r}: use estimator="block"')
    least = 1 if estimator == "biased" else 2
    if is_tensor(x) or is_tensor(y):
        return _tensor_mmd(x, y, chosen, estimator, size)
    samples = chosen._validate_pair(x, y, least)
    return sample_mmd(samples[0], samples[1], chosen, estimator, size)


def sample_mmd(
    x: Sample, y: Sample, kernel: Kernel, estimator: MMDEstimator = "biased", block_size: int | None = None
) -> float:
    """`mmd` of validated samples that are no tensors."""
    pooled = pool_samples([x, y])
    ready = kernel.resolve(pooled).center_on(pooled)
    first, second = ready._precompute_items(x, "x"), ready._precompute_items(y, "y")
    if estimator == "linear":
        return float(_linear_mmd(ready._paired_similarities, first, second))
    if estimator == "block":
        return float(_block_mmd(ready._kernel_matrix, first, second, block_size))
    unbiased = estimator == "unbiased"
    within = _mean_within(ready, first, unbiased) + _mean_within(ready, second, unbiased)
    across = sum(float(block.sum()) for _, block in iterate_row_blocks(ready, first, second))
    return within - 2 * across / (len(first) * len(second))


def energy(x: Any, y: Any, *, metric: Metric | str | None = None, estimator: MMDEstimator = "biased") -> Any:
    """The energy distance: 2 E d(x, y) − E d(x, x′) − E d(y, y′), by the Euclidean distance or any metric.

    It is `mmd` with the kernel `NegativeDistance(metric)` (Székely and Rizzo, 2013). For vectors it is 0 for equal
    distributions only; with an elastic metric it is a useful score, but may be negative.

    >>> import timelike as tl
    >>> tl.distributions.energy([[0.0], [0.0]], [[3.0], [3.0]])
    6.0
    """
    return mmd(x, y, NegativeDistance(metric), estimator=estimator)


@dataclass(frozen=True, eq=False)
class Witness:
    """f(z) = mean of k(x_i, z) − mean of k(y_j, z): positive where x is denser, negative where y is.

    Up to a factor, the function of the kernel's space whose means over the two samples differ most; MMD² is its mean
    over x minus its mean over y.
    """

    kernel: Kernel
    x: Any
    y: Any

    def __call__(self, z: Any) -> Any:
        """f of every item of z, (item,)."""
        if is_tensor(self.x):
            self.kernel._validate_tensors((z, "z"), (self.x, "x"))
            of_x, of_y = (self.kernel._kernel_tensor(z.double(), side.double()).mean(1) for side in (self.x, self.y))
            return (of_x - of_y).to(z.dtype)
        items = validate_sample(z, "z", self.kernel.domain)
        refuse_other_frame(items, sample_frame(self.x), "z", "x of")
        self.kernel._validate_sides((items, "z"), (self.x, "x"))
        z_items = self.kernel._precompute_items(items, "z")
        return self._mean_similarity(z_items, self.x, "x") - self._mean_similarity(z_items, self.y, "y")

    def _mean_similarity(self, items: Any, sample: Any, name: str) -> Matrix:
        means = np.empty(len(items))
        for rows, block in iterate_row_blocks(self.kernel, items, self.kernel._precompute_items(sample, name)):
            means[rows] = block.mean(axis=1)
        return means


def witness(x: Any, y: Any, kernel: Any) -> Witness:
    """The witness function of two samples: positive where x is denser, negative where y is denser.

    >>> import numpy as np
    >>> from timelike.distributions import RBF, witness
    >>> f = witness(np.zeros((5, 1)), np.ones((5, 1)), RBF(width=0.5))
    >>> f(np.array([[0.0], [0.5], [1.0]])).round(2)
    array([ 0.86,  0.  , -0.86])
    """
    chosen = as_kernel(kernel)
    if is_tensor(x) or is_tensor(y):
        return Witness(chosen.resolve(chosen._validate_tensors((x, "x"), (y, "y"))), x, y)
    first, second = chosen._validate_pair(x, y)
    return Witness(chosen.resolve(pool_samples([first, second])), first.copy(), second.copy())


def _mean_within(kernel: Kernel, items: Any, unbiased: bool) -> float:
    """The mean similarity of a sample's items to each other; if unbiased, without pairs of an item with itself."""
    total, n = 0.0, len(items)
    for rows, block in iterate_row_blocks(kernel, items, items):
        own = block[np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)].sum()
        total += float(block.sum() - own) if unbiased else float(block.sum())
    return total / (n * (n - 1) if unbiased else n * n)


def _linear_mmd(row_similarities: Any, x: Any, y: Any) -> Any:
    """The linear-time estimate: the mean of h(x, x′, y, y′) over neighbours; `row_similarities` pairs rows."""
    n = min(len(x), len(y)) // 2
    a, b, c, d = (side[first : 2 * n : 2] for side in (x, y) for first in (0, 1))
    return (row_similarities(a, b) + row_similarities(c, d) - row_similarities(a, d) - row_similarities(b, c)).mean()


def _paired_similarities(matrix: Any, x: Any, y: Any) -> Any:
    """Similarities row by row: the diagonals of small matrices."""
    import torch

    parts = [matrix(u, v).diagonal() for u, v in zip(torch.split(x, 16), torch.split(y, 16), strict=True)]
    return torch.cat(parts)


def _block_mmd(matrix: Any, x: Any, y: Any, block_size: int | None) -> Any:
    """The mean of unbiased estimates of blocks."""
    least = min(len(x), len(y))
    size = max(2, int(np.sqrt(least))) if block_size is None else block_size
    if size > least:
        raise ValueError(f"block_size={size}: expected at most {least}, the items of the smaller sample")
    estimates = []
    for begin in range(0, least - size + 1, size):
        x_block, y_block = x[begin : begin + size], y[begin : begin + size]
        estimates.append(
            _matrix_mmd(matrix(x_block, x_block), matrix(y_block, y_block), matrix(x_block, y_block), unbiased=True)
        )
    return sum(estimates) / len(estimates)


def _matrix_mmd(xx: Any, yy: Any, xy: Any, unbiased: bool) -> Any:
    """MMD² of whole matrices, arrays or tensors."""
    within: Any = 0.0
    for own in (xx, yy):
        n = len(own)
        within = within + ((own.sum() - own.diagonal().sum()) / (n * (n - 1)) if unbiased else own.mean())
    return within - 2 * xy.mean()


def _tensor_mmd(x: Any, y: Any, kernel: Kernel, estimator: str, block_size: int | None) -> Any:
    sample = kernel._validate_tensors((x, "x"), (y, "y"))
    if estimator != "biased" and min(len(x), len(y)) < 2:
        raise ValueError(f"x has {len(x)} items and y {len(y)}: expected at least 2 of each sample")
    ready, (a, b) = kernel.resolve(sample), (x.double(), y.double())
    if estimator == "linear":
        return _linear_mmd(lambda u, v: _paired_similarities(ready._kernel_tensor, u, v), a, b).to(x.dtype)
    if estimator == "block":
        return _block_mmd(ready._kernel_tensor, a, b, block_size).to(x.dtype)
    matrices = ready._kernel_tensor(a, a), ready._kernel_tensor(b, b), ready._kernel_tensor(a, b)
    return _matrix_mmd(*matrices, unbiased=estimator == "unbiased").to(x.dtype)


class MMDEstimate(NamedTuple):
    """Unbiased MMD² of two samples and the variance of that estimate."""

    value: float
    variance: float
    x_variance: float
    """The part of the variance that X contributes, times its number of groups."""
    y_variance: float


def mean_similarities(matrix: Matrix, n: int, units: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The mean similarity of every item to the first n items and to the rest, each (item,).

    Items of its own unit are excluded. If its side has no others, all items but itself count; if it is alone, itself.
    """
    in_other_unit, is_other_item = units[:, None] != units, ~np.eye(len(matrix), dtype=bool)
    means = []
    for side in (slice(0, n), slice(n, len(matrix))):
        is_counted = in_other_unit[:, side].copy()
        has_no_others = ~is_counted.any(axis=1)
        is_counted[has_no_others] = is_other_item[has_no_others, side]
        is_counted[~is_counted.any(axis=1)] = True
        means.append((matrix[:, side] * is_counted).sum(axis=1) / is_counted.sum(axis=1))
    return means[0], means[1]


def estimate_mmd(matrix: Matrix, n: int, groups: NDArray[np.int64]) -> MMDEstimate:
    """Unbiased MMD² and its first-order variance from the matrix of the pooled sample, whose first n items are X.

    An item x contributes 2 (mean k(x, x′) − mean k(x, y)) / n, and the variance is that of the sum of the contributions
    of groups (Gretton et al., "A kernel two-sample test", 2012, for single items); a group that is in both samples
    contributes to both. It vanishes for equal distributions; then only the spread of permutations is left.
    """
    first, rest = mean_similarities(matrix, n, groups)
    sides = (first - rest)[:n], (rest - first)[n:]
    contributions = np.concatenate([2 * (side - side.mean()) / len(side) for side in sides])
    of_x, of_y = _grouped_variance(contributions[:n], groups[:n]), _grouped_variance(contributions[n:], groups[n:])
    count_x, count_y = len(np.unique(groups[:n])), len(np.unique(groups[n:]))
    value = float(sides[0].mean() + sides[1].mean())
    both = np.intersect1d(groups[:n], groups[n:])
    variance = _grouped_variance(contributions, groups) if len(both) else of_x + of_y
    return MMDEstimate(value, variance, of_x * count_x, of_y * count_y)


def _grouped_variance(parts: Floats, groups: NDArray[np.int64]) -> float:
    """The variance of the sum of the contributions of groups."""
    names, group = np.unique(groups, return_inverse=True)
    sums = np.bincount(group, parts)
    return float((sums**2).sum()) * len(names) / max(len(names) - 1, 1)

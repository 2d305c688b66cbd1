"""`NoiseCurve`: mean distances between sequences as a function of added white noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float, check_int
from ..core.random import RandomState, check_random_state
from ..core.validation.conversion import from_torch
from ..plotting import curves, html
from ..sequences import Sequences
from .distance_matrix import pair_dtype

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .base import Metric

LEVELS = tuple(np.linspace(0.0, 2.0, 9).tolist())  # those of the coupled GRU's paper, figure 3

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class NoiseCurve:
    """Mean distances of noisy sequences: of all pairs, within classes and between classes.

    `levels` (level,) are the standard deviations of the noise; `all_pairs`, `positive` and `negative` (repeat, level)
    the means. The last two are None without classes, or if there are no such pairs.
    """

    levels: Floats
    all_pairs: Floats
    positive: Floats | None = None
    negative: Floats | None = None

    @property
    def margin(self) -> Floats | None:
        """Mean distance between classes minus mean distance within classes, (level,), averaged over repeats."""
        if self.positive is None or self.negative is None:
            return None
        return np.asarray((self.negative - self.positive).mean(axis=0))

    @property
    def curves(self) -> dict[str, Floats]:
        """The curves by name: within and between classes if there are classes, otherwise all pairs."""
        by_name = {"positive": self.positive, "negative": self.negative}
        return {name: curve for name, curve in by_name.items() if curve is not None} or {"all pairs": self.all_pairs}

    def plot(self) -> Figure:
        """Mean distances over the level of noise, with the range of the repeats."""
        return curves.plot_noise_curves(self.levels, {"": self.curves})

    def _repr_html_(self) -> str:
        return html.figure_html(self.plot(), repr(self))

    def __repr__(self) -> str:
        ends = f"levels {self.levels[0]:g} to {self.levels[-1]:g}, {len(self.all_pairs)} repeats"
        if self.margin is None:
            return (
                f"NoiseCurve({ends}, distance {self.all_pairs[:, 0].mean():.4g} to {self.all_pairs[:, -1].mean():.4g})"
            )
        return f"NoiseCurve({ends}, margin {self.margin[0]:.4g} to {self.margin[-1]:.4g})"


def noise_curve(
    metric: Metric,
    x: Sequences,
    classes: NDArray[Any] | None,
    levels: Any,
    n_repeats: int,
    random_state: RandomState,
    n_jobs: int | None,
) -> NoiseCurve:
    """The curve of a metric on sequences, of which there are two at least."""
    if len(x) < 2:
        raise ValueError(f"X holds {len(x)} sequences: expected two or more, whose distances are compared")
    deviations, repeats = _check_levels(levels), check_int(n_repeats, "n_repeats", 1)
    masks = dict(_pair_masks(len(x), classes))
    means = {name: np.empty((repeats, len(deviations))) for name in masks}
    rng = check_random_state(random_state)
    for repeat in range(repeats):
        white = rng.standard_normal(x.values.shape)
        for level, deviation in enumerate(deviations):
            distances = metric.pairwise(_add_noise(x, deviation, white), n_jobs=n_jobs)
            for name, mask in masks.items():
                means[name][repeat, level] = distances[mask].mean(dtype=np.float64)
    return NoiseCurve(deviations, **means)


def _check_levels(levels: Any) -> Floats:
    array = np.atleast_1d(
        np.asarray(from_torch(levels, "levels") if hasattr(levels, "detach") else levels, dtype=object)
    )
    if array.ndim != 1 or not len(array):
        raise ValueError(f"levels has shape {array.shape}: expected a list of one standard deviation or more")
    return np.array([check_float(level, f"levels[{i}]", 0.0) for i, level in enumerate(array)])


def _pair_masks(count: int, classes: NDArray[Any] | None) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Which of all distances belong to each curve; none is of a sequence and itself."""
    others = ~np.eye(count, dtype=bool)
    yield "all_pairs", others
    if classes is None:
        return
    same = classes[:, None] == classes
    for name, kind in (("positive", same & others), ("negative", ~same)):
        if kind.any():
            yield name, kind


def _add_noise(x: Sequences, deviation: float, white: Floats) -> Sequences:
    """The sequences plus `deviation` times the noise, in the dtype in which they are compared."""
    with np.errstate(over="ignore"):
        values = (x.values + deviation * white).astype(pair_dtype(x, x))
    if np.isinf(values).any():
        raise ValueError(f"levels: {deviation:g} makes values infinite in {values.dtype}: expected a smaller one")
    return x._with_values(values)

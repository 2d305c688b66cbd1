"""`Metric` and `Aligner`: the methods that every distance has, written once."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int
from ..core.random import RandomState
from ..core.threads import check_n_jobs
from ..core.validation.arrays import refuse_reordered_channels
from ..sequences import Sequences, as_sequences, as_single_sequence
from ..sequences.validation import validate_targets
from .alignment import Alignment
from .distance_matrix import (
    ProgressCallback,
    allocate_matrix,
    pair_dtype,
    refuse_nonfinite,
    report_progress,
    validate_out,
)
from .distributed import fill_distributed
from .gallery import Gallery, Ids, Matches
from .noise import LEVELS, NoiseCurve, noise_curve


class Metric(abc.ABC):
    """Anything that compares two sequences. A subclass defines `_fill_matrix`; the public methods are here.

    A subclass that can precompute a collection also defines `_precompute_items` and
    `_compare_precomputed`; one with a faster search than all pairs defines `_search_nearest`.
    """

    symmetric: ClassVar[bool] = True
    uses_times: ClassVar[bool] = False  # whether a mean under it needs a clock of its own
    # promises of tests/contract that the method cannot keep, each with the reason
    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        options: list[Field[Any]] = [field for field in fields(self) if field.init] if is_dataclass(self) else []
        shown = (f"{o.name}={getattr(self, o.name)!r}" for o in options if getattr(self, o.name) != o.default)
        return f"{type(self).__name__}({', '.join(shown)})"

    @abc.abstractmethod
    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        """Distances of all pairs into `out`; y is None when the collection is compared with itself."""

    def distance(self, x: Any, y: Any) -> float:
        """The distance between two sequences, each (time,) or (time, channel)."""
        first, second = as_single_sequence(x, "x"), as_single_sequence(y, "y")
        self._validate_sides(first, second, ("x", "y"))
        out = np.empty((1, 1), pair_dtype(first, second))
        self._fill_matrix(first, second, out, 1, None)
        distance = float(out[0, 0])
        if not math.isfinite(distance):  # math, because NumPy is slower and this runs for every pair
            refuse_nonfinite(out, ("x", "y"))
        return distance

    def pairwise(
        self,
        X: Any,
        Y: Any = None,
        *,
        n_jobs: int | None = None,
        out: NDArray[Any] | None = None,
        progress: bool | None = None,
    ) -> NDArray[Any]:
        """Distances of all pairs, (len X, len Y); without Y, X is compared with itself.

        `n_jobs=None` uses all cores available to the process, or fewer if OMP_NUM_THREADS or torch limits threads; -1
        uses all. `out` is filled and returned; pass a memory map for a matrix larger than memory. `progress` draws a
        bar; None does so on a terminal after two seconds.
        """
        x = as_sequences(X, "X")
        y = None if Y is None else as_sequences(Y, "Y")
        threads = check_n_jobs(n_jobs)
        self._validate_sides(x, y, ("X", "Y"))
        shape, dtype = (len(x), len(x if y is None else y)), pair_dtype(x, x if y is None else y)
        out = allocate_matrix(shape, dtype) if out is None else validate_out(out, shape, dtype, x, y)
        other = y if y is not None or self.symmetric else x
        with report_progress(progress, type(self).__name__) as report:
            if not fill_distributed(self, x, other, out):
                self._fill_matrix(x, other, out, threads, report)
        refuse_nonfinite(out, ("X", "X" if y is None else "Y"), sides=(x, x if y is None else y))
        return out

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        for name, side in zip(names, (x, y), strict=True):
            if side is None:
                continue
            if len(side) == 0:
                raise ValueError(f"{name} holds no sequences: expected at least one")
            if not self._takes_missing():
                side.refuse_missing(type(self).__name__, name)
        if y is not None and x.frame != y.frame:
            one = (
                "one sequence (time, channel) is s[:1], or [x] around its array; " if (1,) in (x.frame, y.frame) else ""
            )
            raise ValueError(
                f"{names[0]} has frames of shape {x.frame} and {names[1]} of {y.frame}: expected the same channels; "
                f'{one}an array (item, channel, time) needs Sequences(data, layout="nct")'
            )
        if y is not None:
            refuse_reordered_channels(x.channel_names, y.channel_names, names)

    def _takes_missing(self) -> bool:
        """Whether values may be missing (NaN)."""
        return False

    def neighbors(
        self,
        X: Any,
        queries: Any = None,
        k: int = 1,
        *,
        among: Any = None,
        exclude_self: bool | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Matches:
        """The k sequences of X nearest to every query; equal distances are in the order of X.

        Without queries, X itself is the queries. With `exclude_self`, the result of query i excludes X[i] but may
        include copies of it; this is the default without queries.

        With `among`, only candidates are compared: positions (query, candidate) in X, or the `Matches` of another
        metric, which are then sorted by this one. `progress` is as in `pairwise`.
        """
        collection = as_sequences(X, "X")
        query_sequences = collection if queries is None else queries
        alone = queries is None if exclude_self is None else exclude_self
        how: dict[str, Any] = {"among": among, "exclude_self": alone, "n_jobs": n_jobs, "progress": progress}
        return Gallery(self, collection).neighbors(query_sequences, k, **how)

    def prepare_gallery(self, X: Any) -> Gallery:
        """A gallery for repeated searches in X: `metric.prepare_gallery(X).neighbors(queries, k)`.

        Everything that depends on X alone is computed here, once.
        """
        collection = as_sequences(X, "X")
        self._validate_sides(collection, None, ("X", "X"))
        return Gallery(self, collection, self._precompute_items(collection, check_n_jobs(None)))

    def noise_curve(
        self,
        X: Any,
        y: Any = None,
        *,
        levels: Any = LEVELS,
        n_repeats: int = 1,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> NoiseCurve:
        """Mean distances of all pairs of X with white noise added to every value, for each of the `levels`.

            m(σ) = mean of d(x_i + σ ε_i, x_j + σ ε_j) over i ≠ j,   ε standard normal

        With classes (y, by default the labels of X), pairs within a class (`positive`) and between classes (`negative`)
        have separate curves; where these meet, the metric no longer separates the classes. `levels` are standard
        deviations in the unit of the values. ε is the same for all levels, and differs in each of `n_repeats`.

        >>> import timelike as tl
        >>> X = [[0.0, 0.0, 0.0], [0.0, 0.1, 0.0], [3.0, 3.0, 3.0], [3.0, 3.1, 3.0]]
        >>> curve = tl.DTW(root=True).noise_curve(X, [0, 0, 1, 1], levels=[0.0, 20.0], random_state=0)
        >>> curve.positive[0, 0].round(2), curve.negative[0, 0].round(2)
        (np.float64(0.1), np.float64(5.2))
        >>> curve.margin[1] < curve.positive[0, 1]  # by now noise is most of any distance
        np.True_
        """
        x = as_sequences(X, "X")
        self._validate_sides(x, None, ("X", "X"))
        classes = x.labels if y is None else validate_targets(self, x, y, "class")
        labels = None if classes is None else np.asarray(classes)
        return noise_curve(self, x, labels, levels, n_repeats, random_state, n_jobs)

    def _validate_search(self, collection: Sequences, queries: Sequences, k: int) -> None:
        self._validate_sides(queries, collection, ("queries", "X"))
        if check_int(k, "k", 1) > len(collection):
            raise ValueError(f"k={k}: expected 1 to {len(collection)}, the number of sequences in X")

    def _precompute_items(self, sequences: Sequences, threads: int) -> Any:
        """Everything that can be precomputed from a collection alone; the default is nothing."""
        return sequences

    def _select_items(self, precomputed: Any, items: Ids | slice) -> Any:
        """What is known of some of the sequences."""
        return precomputed[items]

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        """Write distances into `out` (query, item), from the precomputed data of the queries and the collection."""
        self._fill_matrix(queries, references, out, threads, None)

    def _search_nearest(
        self, queries: Sequences, references: Any, k: int, threads: int, report: ProgressCallback
    ) -> Matches | None:
        """A search for the k nearest that is faster than all distances, if the metric has one."""
        return None


class Aligner(Metric):
    """A metric that also aligns two sequences."""

    @abc.abstractmethod
    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        """The alignment of the two sequences, each a collection of one."""

    def align(self, x: Any, y: Any) -> Alignment:
        """The alignment of `y` with `x`."""
        first, second = as_single_sequence(x, "x"), as_single_sequence(y, "y")
        self._validate_sides(first, second, ("x", "y"))
        alignment = self._align(first, second)
        refuse_nonfinite(np.array([[alignment.cost]]), ("x", "y"))
        if _has_metadata(first) or _has_metadata(second):
            alignment = replace(alignment, sides=(first, second))
        if all(isinstance(side, Sequences) or np.ndim(side) > 1 for side in (x, y)):
            return alignment
        return replace(
            alignment, x=alignment.x[:, 0], y=alignment.y[:, 0]
        )  # plain (time,) came in, so plain (time,) is kept


def _has_metadata(one: Sequences) -> bool:
    """Whether anything is known of a sequence beside its values, for figures."""
    return one.channel_names is not None or one._ids is not None or one._clock is not None

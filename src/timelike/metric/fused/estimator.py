"""`Fused`: the sum of several metrics, each calibrated on held-out pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...align import FittedMetric, Matches, Metric, metric_names
from ...align.distance_matrix import ProgressCallback, pair_dtype
from ...core.parameters import format_value, store_parameters
from ...core.random import check_random_state
from ...encode.base import Encoder
from ...models import Model, components, options, schema
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ..targets import validate_pair_labels
from .bounded_search import PrecomputedItems, nearest_by_bounds
from .calibration import Floats, FusionWeights, HeldOutPairs, fit_fusion_weights
from .cross_fit_rounds import Ids, count_groups, label_rounds, pair_rounds

_QUERY_BLOCK = 1 << 8  # queries whose cheap distances to all items are held in memory at once


def _check_metrics(value: Any, name: str) -> list[Metric]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{name}={value!r:.80}: expected a list of at least one metric, such as [tl.DTW()]")
    return [metric_names.resolve_metric(one) for one in value]


class Fused(FittedMetric):
    """The sum of several metrics whose distances are calibrated on held-out pairs.

        d(x, y) = Σ_m w_m log(1 + d_m(x, y) / s_m),   P(alike) = 1 / (1 + exp(d − b)) if half of the pairs are alike

    s_m is the median of the held-out distances of metric m; the weights w_m ≥ 0 and b are those of a logistic
    regression (Platt, 1999), regularized towards equal contributions, the more strongly the fewer classes there are. A
    learned metric is fitted 9 times on parts of the sequences and evaluated on pairs of the rest: six times with two
    classes held out, and three times with a third of each class (only these with fewer than four classes); then once
    on everything. A sum of metrics is a metric, and symmetric if all of them are.

    Use it for classes unseen in training, where a learned metric and an elastic one make different errors:
    `Fused([tl.DTW(normalize="length"), tl.Discriminant(classes="open")])`. For known classes `Discriminant` alone is as
    good, and needs no alignment.

    Parameters
    ----------
    metrics : list of Metric or str
        Fitted metrics are used as they are, and may be evaluated on their own training data; `fit` fits copies of
        unfitted ones.
    random_state : int, Generator or None
        Seed of the held-out parts.

    Attributes
    ----------
    metrics_ : list of Metric
        The fitted metrics.
    scales_, weights_ : array (metric,)
        s_m and w_m.
    offset_ : float
        b.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(40) / np.repeat([2, 3, 4, 5], 6)[:, None] + rng.uniform(0, 6, (24, 1)))
    >>> discriminant = tl.Discriminant(tl.Rocket(n_features=200, random_state=0), classes="open")
    >>> metric = tl.Fused([tl.DTW(), discriminant], random_state=0).fit(X, np.repeat(list("abcd"), 6))
    >>> metric.distance(X[0], X[0])
    0.0
    >>> metric.distance(X[0], X[1]) < metric.offset_ < metric.distance(X[0], X[23])  # more likely alike than not
    True
    """

    metrics = options.Option(_check_metrics)
    random_state = options.random_seed()

    metrics_: list[Metric] = schema.list_of(schema.estimator(Metric), "metric", least=1)
    scales_: Floats = schema.array("metric", above=0)
    weights_: Floats = schema.array("metric")
    offset_: float = schema.real()
    _fit_call = "fit(X, y)"

    def __init__(self, metrics: Sequence[Metric | str], *, random_state: RandomState = None) -> None:
        store_parameters(self, locals())

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether d(x, y) = d(y, x): true if all metrics are symmetric."""
        return all(one.symmetric for one in getattr(self, "metrics_", None) or _check_metrics(self.metrics, "metrics"))

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        from ...encode import Rocket
        from ..discriminant.whitened_cosine import WhitenedCosine

        return {"metrics": ["dtw", WhitenedCosine(Rocket(n_features=60, random_state=0))]}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes: `y`, or the labels of X."""
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            labels = self._validate_classes(sequences, y, "there is no metric to learn")
            codes = _class_codes(labels)
            rounds = label_rounds(codes, check_random_state(self.random_state))
            if not rounds:
                raise ValueError(
                    f"y has {len(np.unique(codes))} classes of at most {np.bincount(codes).max()} members: too few to "
                    "hold pairs out; expected two classes of four members or four of two, or fit the best metric alone"
                )
            held_out_pairs = []
            for train_positions, held_out, repeats in rounds:
                fitted_metrics = [
                    _fit_metric(one, sequences[train_positions], labels[train_positions])
                    for one in self._resolve_metrics()
                ]
                held_out_pairs += [_held_out_distances(fitted_metrics, sequences[held_out], codes[held_out])] * repeats
            self._set_fitted(
                fit_fusion_weights(held_out_pairs, int(codes.max()) + 1),
                [metric_names.fit_metric_copy(one, sequences, labels) for one in self._resolve_metrics()],
            )
        return self

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), and whether the two are alike, `same` (pair,).

        Metrics with `fit_pairs` learn from the pairs, other learned metrics from X. A third is held out three times:
        groups of alike sequences if there are any, otherwise pairs.
        """
        with self._atomic_fit():
            sequences = self._validate_fit_input(X)
            positions, alike = validate_pair_labels(pairs, same, len(sequences))
            held_out_pairs = []
            for train_pairs, held_out in pair_rounds(positions, alike, check_random_state(self.random_state)):
                fitted_metrics = [
                    _fit_metric_on_pairs(one, sequences, positions[train_pairs], alike[train_pairs])
                    for one in self._resolve_metrics()
                ]
                held_out_pairs.append(
                    _held_out_pair_distances(fitted_metrics, sequences, positions[held_out], alike[held_out])
                )
            if not held_out_pairs:
                raise ValueError(
                    f"{len(positions)} pairs are too few to hold some out: expected several of either kind"
                )
            self._set_fitted(
                fit_fusion_weights(held_out_pairs, count_groups(positions, alike)),
                [_fit_metric_on_pairs(one, sequences, positions, alike) for one in self._resolve_metrics()],
            )
        return self

    def _resolve_metrics(self) -> list[Metric]:
        return _check_metrics(self.metrics, "metrics")

    def _set_fitted(self, fusion: FusionWeights, metrics: list[Metric]) -> None:
        self.scales_, self.weights_, self.offset_ = fusion
        self.metrics_ = metrics
        for one in metrics:
            if isinstance(one, Model):
                one._refuse_frame(self.frame_, "X")

    def _takes_missing(self) -> bool:
        metrics = getattr(self, "metrics_", None) or (self.metrics if isinstance(self.metrics, list | tuple) else [])
        return bool(metrics) and all(getattr(components.unfreeze(one), "_takes_missing", bool)() for one in metrics)

    # --- comparing -----------------------------------------------------------------------------------------------

    def _log_term(self, number: int, distances: NDArray[Any]) -> Floats:
        """The term of one metric, w_m log(1 + d_m / s_m)."""
        positive = np.maximum(distances.astype(np.float64), 0.0)
        return np.asarray(self.weights_[number] * np.log1p(positive / self.scales_[number]))

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        total, own = np.zeros(out.shape), np.empty(out.shape, out.dtype)
        for number, metric in enumerate(self.metrics_):
            metric._fill_matrix(x, y if y is not None or metric.symmetric else x, own, threads, report)
            total += self._log_term(number, own)
        out[...] = total

    def _precompute_items(self, sequences: Sequences, threads: int) -> PrecomputedItems:
        parts = [metric._precompute_items(sequences, threads) for metric in self.metrics_]
        return PrecomputedItems(parts, len(sequences), pair_dtype(sequences, sequences))

    def _select_items(self, precomputed: PrecomputedItems, items: Ids | slice) -> PrecomputedItems:
        parts = [metric._select_items(one, items) for metric, one in zip(self.metrics_, precomputed.parts, strict=True)]
        return PrecomputedItems(parts, len(np.arange(precomputed.size)[items]), precomputed.dtype)

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        total = np.zeros(out.shape)
        for number in range(len(self.metrics_)):
            total += self._metric_term(number, queries, references, out.shape, out.dtype, threads)
        out[...] = total

    def _metric_term(
        self,
        number: int,
        queries: PrecomputedItems,
        references: PrecomputedItems,
        shape: tuple[int, ...],
        dtype: Any,
        threads: int,
    ) -> Floats:
        """The term of one metric, from the precomputed items of both sides."""
        own = np.empty(shape, dtype)
        self.metrics_[number]._compare_precomputed(queries.parts[number], references.parts[number], own, threads)
        return self._log_term(number, own)

    def _search_nearest(
        self, queries: Sequences, references: PrecomputedItems, k: int, threads: int, report: ProgressCallback
    ) -> Matches | None:
        """Exact search: encoders are compared with all items, other metrics only where these bounds leave a chance."""
        cheap = [number for number, one in enumerate(self.metrics_) if isinstance(one, Encoder)]
        if not cheap or len(cheap) == len(self.metrics_):
            return None
        pieces = (queries[begin : begin + _QUERY_BLOCK] for begin in range(0, len(queries), _QUERY_BLOCK))
        matches = [
            nearest_by_bounds(self, self._precompute_items(piece, threads), references, k, cheap, threads)
            for piece in pieces
        ]
        return Matches(*map(np.concatenate, zip(*matches, strict=True)))


def _class_codes(labels: NDArray[Any]) -> Ids:
    kinds, codes = np.unique(labels, return_inverse=True)
    if len(kinds) < 2:
        raise ValueError(
            f"y holds one class, {format_value(kinds.tolist()[0])}: metrics are weighted by pairs of two or more; "
            "without classes, fit_pairs(X, pairs, same) learns from pairs"
        )
    return codes.astype(np.int64)


def _fit_metric(metric: Metric, sequences: Sequences, labels: NDArray[Any]) -> Metric:
    return metric_names.fit_metric_copy(metric, sequences, labels)


def _fit_metric_on_pairs(metric: Metric, sequences: Sequences, pairs: Ids, same: NDArray[np.bool_]) -> Metric:
    """Fit a copy of the metric: on the pairs if it has `fit_pairs`, otherwise on the sequences."""
    if not isinstance(metric, Model) or components.is_fitted(metric) or not hasattr(metric, "fit_pairs"):
        return metric_names.fit_metric_copy(metric, sequences)
    fitted_copy: Metric = components.unfitted_copy(metric).fit_pairs(sequences, pairs, same)
    return fitted_copy


def _held_out_distances(metrics: list[Metric], sequences: Sequences, codes: Ids) -> HeldOutPairs:
    """The distances of all pairs of held-out sequences."""
    first, second = np.triu_indices(len(codes), 1)
    columns = [_check_nonnegative(metric, metric.pairwise(sequences)[first, second]) for metric in metrics]
    return HeldOutPairs(np.stack(columns, axis=1).astype(np.float64), codes[first] == codes[second], len(codes))


def _held_out_pair_distances(
    metrics: list[Metric], sequences: Sequences, pairs: Ids, same: NDArray[np.bool_]
) -> HeldOutPairs:
    ids, places = np.unique(pairs, return_inverse=True)
    first, second = places.reshape(pairs.shape).T
    columns = [_check_nonnegative(metric, _pair_distances(metric, sequences[ids], first, second)) for metric in metrics]
    return HeldOutPairs(np.stack(columns, axis=1).astype(np.float64), same, len(ids))


def _pair_distances(metric: Metric, sequences: Sequences, first: Ids, second: Ids) -> NDArray[Any]:
    """The distances of pairs; items are precomputed once per sequence."""
    precomputed, out = metric._precompute_items(sequences, 1), np.empty(len(first), pair_dtype(sequences, sequences))
    for begin in np.unique(first):
        own = np.flatnonzero(first == begin)
        row = np.empty((1, len(own)), out.dtype)
        metric._compare_precomputed(
            metric._select_items(precomputed, np.array([begin])), metric._select_items(precomputed, second[own]), row, 1
        )
        out[own] = row[0]
    return out


def _check_nonnegative(metric: Metric, distances: NDArray[Any]) -> NDArray[Any]:
    if (distances < 0).any():
        raise ValueError(
            f"metrics: {metric!r} gave the distance {distances.min():g}, and a negative one has no logarithm: use a "
            "metric without negative distances, such as SoftDTW(divergence=True)"
        )
    return distances

"""Calibration of probabilities (calibration error, Brier score, temperature) and of thresholds (conformal ranks)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int, format_value
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..core.warnings import find_stack_level
from ..plotting import classification as drawing, html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

N_DRAWS = 400
_KEPT_SHARE = 0.6  # quantile of the draws; the median is slightly too low for scores that are sums of two terms
_ROUNDING_FACTOR = 1 + 1e-12  # 0.29 × 100 is 28.999…
_MIN_RATE = 1e-300  # treated as 0 below; its inverse is still finite
_SINGULARS = {"identities": "identity", "examples": "example"}
_LEFT_OUT_REASONS = {
    "identities": " (`within` and `across` leave most pairs out)",
    "examples": " (most examples are of one class, and only pairs of two classes are impostors)",
}
_KEPT_PROMISES = {
    "identities": "The threshold keeps it for every two of these identities by themselves, but",
    "examples": "The threshold is above all impostor pairs of these examples, but",
}
_MAX_CELLS = 1 << 22  # scores held in memory at once


@dataclass(frozen=True)
class Reliability:
    """Confidence and accuracy of answers, binned by the probability of the answer.

    `edges` (bin + 1,) bound the bins and `counts` (bin,) are the numbers of items. `confidence` is the mean probability
    and `accuracy` the fraction of correct answers in each bin; both are nan for an empty bin.
    """

    edges: Floats
    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def error(self) -> float:
        """The expected calibration error, Σ_b n_b / n · |accuracy_b − confidence_b|."""
        occupied = self.counts > 0
        gaps = np.abs(self.accuracy[occupied] - self.confidence[occupied])
        return float((self.counts[occupied] * gaps).sum() / self.counts.sum())

    @property
    def max_error(self) -> float:
        """The maximum calibration error: the error of the worst bin."""
        occupied = self.counts > 0
        return float(np.abs(self.accuracy[occupied] - self.confidence[occupied]).max())

    def plot(self) -> Figure:
        """Plot accuracy over confidence with the diagonal, and the number of items below."""
        caption = f"expected calibration error {self.error:.3f}"
        return drawing.plot_reliability(self.edges, self.counts, self.confidence, self.accuracy, caption)

    def _repr_html_(self) -> str:
        caption = (
            "Reliability: of the answers with a given probability, the share that is right; on the diagonal, "
            f"probabilities can be taken at their word. Expected calibration error {self.error:.3f}, that of the worst "
            f"bin {self.max_error:.3f}."
        )
        return html.figure_html(self.plot(), caption)


def reliability(
    truth: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 15, adaptive: bool = False
) -> Reliability:
    """The reliability diagram: confidence and accuracy by bin, the basis of the calibration error.

    The answer is the most probable class; among ties, the first. Parameters are those of `expected_calibration_error`.

    Examples
    --------
    >>> diagram = reliability([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], n_bins=2)
    >>> diagram.counts, diagram.accuracy
    (array([0, 3]), array([       nan, 0.66666667]))
    """
    true_columns, probabilities = _validate_probabilities(truth, probabilities, classes)
    answers = probabilities.argmax(axis=1)
    confidences, is_right = probabilities[np.arange(len(probabilities)), answers], answers == true_columns
    n_bins = check_int(n_bins, "n_bins", 1)
    edges = _adaptive_edges(confidences, n_bins) if check_bool(adaptive, "adaptive") else np.linspace(0, 1, n_bins + 1)
    # a bin includes its upper edge
    bins = np.clip(np.searchsorted(edges, confidences, side="left") - 1, 0, len(edges) - 2)
    counts = np.bincount(bins, minlength=len(edges) - 1)
    divisors = np.maximum(counts, 1)
    means = [np.bincount(bins, values, len(counts)) / divisors for values in (confidences, is_right)]
    confidence, accuracy = (np.where(counts > 0, mean, np.nan) for mean in means)
    return Reliability(edges, counts, confidence, accuracy)


def expected_calibration_error(
    truth: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 15, adaptive: bool = False
) -> float:
    """The expected calibration error: the mean gap between the confidence of answers and their accuracy.

        Σ_b n_b / n · |accuracy_b − confidence_b|

    over bins of the probability of the answer (Guo et al., "On calibration of modern neural networks", 2017). Bins have
    equal width and include their upper edge; with `adaptive` they have about the same number of items (Nguyen and
    O'Connor, 2015).

    Parameters
    ----------
    truth : array (item,)
        The class of each item; without `classes`, the index of its column.
    probabilities : array (item, class)
        Each row sums to 1.
    classes : array (class,), optional
        The class of each column, such as `classes_` of a model.
    n_bins : int
    adaptive : bool

    Examples
    --------
    >>> round(expected_calibration_error(["a", "b"], [[0.9, 0.1], [0.9, 0.1]], classes=["a", "b"]), 4)
    0.4
    """
    return reliability(truth, probabilities, classes=classes, n_bins=n_bins, adaptive=adaptive).error


def brier_score(truth: Any, probabilities: Any, *, classes: Any = None) -> float:
    """The Brier score, the mean over items of Σ_c (p_c − [c is true])², between 0 and 2 (Brier, 1950).

    For two classes it is twice scikit-learn's `brier_score_loss`, which scores one of them. Parameters are those of
    `expected_calibration_error`.

    Examples
    --------
    >>> round(brier_score([0, 1], [[0.9, 0.1], [0.9, 0.1]]), 4)
    0.82
    """
    true_columns, probabilities = _validate_probabilities(truth, probabilities, classes)
    errors = probabilities.copy()
    errors[np.arange(len(true_columns)), true_columns] -= 1
    return float((errors * errors).sum(axis=1).mean())


def negative_log_likelihood(truth: Any, probabilities: Any, *, classes: Any = None) -> float:
    """The mean of −log p of the true class; infinite if a true class has probability 0.

    scikit-learn's `log_loss` clips probabilities instead. Parameters are those of `expected_calibration_error`.

    Examples
    --------
    >>> round(negative_log_likelihood([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    """
    true_columns, probabilities = _validate_probabilities(truth, probabilities, classes)
    with np.errstate(divide="ignore"):
        return float(-np.log(probabilities[np.arange(len(true_columns)), true_columns]).mean())


def temperature(logits: Any, truth: Any, *, classes: Any = None, smoothing: float | None = None) -> float:
    """The T that maximizes the likelihood of softmax(logits / T) on held-out items (Guo et al., 2017).

        min_T  mean_i [log Σ_c exp(z_ic / T) − Σ_c q_ic z_ic / T]

    where q is 1 for the true class, smoothed by a fraction ε spread evenly over all classes. If every answer is
    correct, the likelihood rises without limit as T falls to 0; with ε = 1/(n + 2), after Platt (1999), T is as small
    as n items can justify. The function is convex in 1/T, so bisection of its slope over log T finds the minimum. T
    stays within [10⁻⁶, 10⁶] times the largest difference of two logits of an item; it would be infinite for answers no
    better than chance. If all logits are equal, T is 1.

    Parameters
    ----------
    logits : array (item, class)
        Finite numbers; log probabilities are valid logits.
    truth, classes
        As for `expected_calibration_error`.
    smoothing : float, optional
        ε. Default: 1/(n + 2); 0 is the plain likelihood.

    Examples
    --------
    >>> three_of_four_are_right = [[4.0, 0.0]] * 4
    >>> round(temperature(three_of_four_are_right, [0, 0, 0, 1], smoothing=0), 3)  # 4 / log 3
    3.641
    """
    true_columns, logits = _validate_class_scores(truth, logits, "logits", classes)
    smoothing = 1 / (len(true_columns) + 2) if smoothing is None else check_float(smoothing, "smoothing", 0.0, 1.0)
    with np.errstate(over="ignore"):
        shifted = logits - logits.max(axis=1, keepdims=True)
    if not np.isfinite(shifted).all():
        raise ValueError("logits of an item differ by more than a float can hold: divide them by a constant first")
    scale = float(-shifted.min())
    if scale == 0:
        return 1.0
    shifted /= scale
    target = (1 - smoothing) * shifted[np.arange(len(true_columns)), true_columns].mean() + smoothing * shifted.mean()
    return float(scale / np.exp(_find_root(lambda inverse: _mean_logit(shifted, inverse) - target)))


def _mean_logit(shifted: Floats, inverse: float) -> float:
    """The mean logit under softmax(inverse · logits); the slope is its difference from the target."""
    weights = np.exp(inverse * shifted)
    return float(((weights * shifted).sum(axis=1) / weights.sum(axis=1)).mean())


def _find_root(slope: Any, least: float = -np.log(1e6), most: float = np.log(1e6)) -> float:
    """The logarithm at which an increasing slope turns positive, or the nearer end of the range."""
    low, high = float(least), float(most)
    for _ in range(80):  # halves the range down to rounding
        middle = (low + high) / 2
        low, high = (low, middle) if slope(np.exp(middle)) > 0 else (middle, high)
    return (low + high) / 2


def _adaptive_edges(confidences: Floats, n_bins: int) -> Floats:
    """Edges of bins with about the same number of items, halfway between neighbours; ties give fewer bins."""
    ordered = np.sort(confidences)
    cuts = np.arange(1, n_bins) * len(ordered) // n_bins
    cuts = cuts[(cuts > 0) & (cuts < len(ordered))]
    inner = (ordered[cuts - 1] + ordered[cuts]) / 2
    return np.unique(np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]]))


def _validate_probabilities(truth: Any, probabilities: Any, classes: Any) -> tuple[NDArray[np.intp], Floats]:
    true_columns, probabilities = _validate_class_scores(truth, probabilities, "probabilities", classes)
    sums = probabilities.sum(axis=1)
    bad = np.flatnonzero((probabilities < 0).any(axis=1) | (np.abs(sums - 1) > 1e-3))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"probabilities[{i}] has the sum {sums[i]:.6g} and the least entry {probabilities[i].min():.6g}: expected "
            "numbers of at least 0 whose sum is 1; apply a softmax to scores"
        )
    return true_columns, probabilities


def _validate_class_scores(truth: Any, scores: Any, name: str, classes: Any) -> tuple[NDArray[np.intp], Floats]:
    """The column of each item's true class, and the finite scores."""
    array = validate_array(scores, name).astype(np.float64)
    labels = validate_labels(truth, "truth", "class")
    if array.ndim != 2 or not array.size or labels.shape != array.shape[:1]:
        raise ValueError(
            f"{name} has shape {array.shape} for a truth of shape {labels.shape}: expected (item, class) and (item,), "
            "neither of them empty"
        )
    if not np.isfinite(array).all():
        i, j = np.argwhere(~np.isfinite(array))[0]
        raise ValueError(f"{name}[{i}, {j}] is {array[i, j]}: expected finite numbers")
    return _class_columns(labels, array.shape[1], classes), array


def _class_columns(labels: NDArray[Any], n_classes: int, classes: Any) -> NDArray[np.intp]:
    if classes is None:
        if labels.dtype.kind not in "biu" or labels.min() < 0 or labels.max() >= n_classes:
            bad = next(one for one in labels.tolist() if not isinstance(one, int) or not 0 <= one < n_classes)
            raise ValueError(
                f"truth holds {format_value(bad)}: expected columns from 0 to {n_classes - 1}; name the columns with "
                "classes="
            )
        return labels.astype(np.intp)
    names = validate_labels(classes, "classes", "class")
    place = {one: i for i, one in enumerate(names.tolist())}
    if names.shape != (n_classes,) or len(place) != n_classes:
        raise ValueError(
            f"classes has shape {names.shape} for {n_classes} columns: expected one name each, all different"
        )
    unknown = [one for one in labels.tolist() if one not in place]
    if unknown:
        raise ValueError(
            f"truth holds {format_value(unknown[0])}, which is not among classes: score items of known classes only"
        )
    return np.array([place[one] for one in labels.tolist()], np.intp)


# Thresholds. Pairs that share an identity are not independent, but identities are. A draw matches the identities into
# pairs, each identity in one pair, and takes one trial of each pair. These n scores and the score of two new identities
# are exchangeable, however scores depend on identities, so the rank of split conformal prediction (Vovk et al., 2005)
# is exact for them: accept at most α (n + 1) − 1. Each of many draws gives a threshold; the 60 % quantile of these is
# used, so that the result depends on no single draw and all pairs contribute (decision 0057). The rank is exact for one
# draw, not for this quantile: the proven rate is α / 0.6, in simulations it is at most α.


class CalibrationWarning(UserWarning):
    """The calibrated rate is not guaranteed: too few identities, or the metric was fitted on the same ones."""


class ThresholdBound(NamedTuple):
    """A threshold, the error rate guaranteed at it, and the number of independent groups behind it."""

    threshold: float
    promised_rate: float
    n_independent: int

    @property
    def min_promised_rate(self) -> float:
        """The lowest rate that this number of groups can guarantee."""
        return 1 / (self.n_independent + 1)

    def is_weaker_than(self, other: ThresholdBound, rate: float) -> bool:
        """Whether this bound guarantees only a higher rate than the other, and higher than `rate`."""
        return self.min_promised_rate > max(other.min_promised_rate, rate)


def max_exceedances(count: int, rate: float) -> int:
    """How many of `count` exchangeable scores may be beyond a threshold; negative if there are too few scores.

    A new score is among the highest k of count + 1 with probability k / (count + 1), and is itself one of these k.

    >>> [max_exceedances(count, 0.1) for count in (8, 9, 18, 19)]
    [-1, 0, 0, 1]
    """
    return floor(rate * (count + 1) * _ROUNDING_FACTOR) - 1


def min_count(rate: float) -> int:
    """The number of exchangeable scores needed for a rate: 1 / rate − 1, rounded up."""
    return ceil(1 / max(rate * _ROUNDING_FACTOR, _MIN_RATE)) - 1


def impostor_bound(scores: Floats, first: Ids, second: Ids, rate: float) -> ThresholdBound:
    """The lowest threshold at which a trial of two new units is accepted with a probability of at most `rate`.

    `first` and `second` (trial,) are the two units, identities or sequences, behind each score. If n, the number of
    pairs without a common unit, is below 1 / rate − 1, no rank guarantees the rate. The threshold then keeps the rate
    for each pair of units by itself; it holds for a new pair with probability n / (n + 1), that of being less similar
    than the most similar of these.

    >>> pairs = np.triu_indices(4, 1)
    >>> impostor_bound(np.arange(6.0), *pairs, 0.4)[1:], impostor_bound(np.arange(6.0), *pairs, 0.1)[1:]
    ((0.4, 2), (0.3333333333333333, 2))
    """
    codes = _compact_codes(np.concatenate([first, second]))[1].reshape(2, -1)
    n_units = int(codes.max()) + 1
    pairs, which = _compact_codes(codes.min(axis=0) * n_units + codes.max(axis=0))
    if max_exceedances(n_units // 2, rate) < 0 and len(pairs) == n_units * (n_units - 1) // 2:
        return _strictest_bound(scores, which, n_units // 2, rate)  # needs no draws
    rng = np.random.default_rng(0)  # fixed, so that the same sequences give the same threshold
    return _quantile_bound(scores, which, sample_pairings(pairs // n_units, pairs % n_units, n_units, rng), rate, rng)


def unit_bound(scores: Floats, units: Ids, rate: float) -> ThresholdBound:
    """The lowest threshold that a trial of a new unit reaches with a probability of at most `rate`.

    >>> unit_bound(np.arange(9.0), np.arange(9), 0.2).threshold > 7.0  # one of nine, 8.0, and no more
    True
    """
    which = _compact_codes(units)[1]
    return _quantile_bound(
        scores, which, np.tile(np.arange(int(which.max()) + 1), (N_DRAWS, 1)), rate, np.random.default_rng(0)
    )


def _compact_codes(numbers: Ids) -> tuple[Ids, Ids]:
    """The sorted distinct nonnegative integers, and the index of each number among them; avoids sorting if possible."""
    if numbers.max() > 8 * len(numbers):
        distinct, places = np.unique(numbers, return_inverse=True)
        return distinct, places.astype(np.int64)
    occurs = np.zeros(int(numbers.max()) + 1, bool)
    occurs[numbers] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[numbers]


def _quantile_bound(scores: Floats, which: Ids, draws: Ids, rate: float, rng: np.random.Generator) -> ThresholdBound:
    """A quantile of the thresholds of all draws (draw, group), each with one random score per group; −1 is no group."""
    sizes = (draws >= 0).sum(axis=1)
    typical = int(np.median(sizes))
    if max_exceedances(typical, rate) < 0:
        return _strictest_bound(scores, which, typical, rate)
    allowed = np.array([max_exceedances(size, rate) for size in range(sizes.max() + 1)])[sizes]
    order = np.argsort(which, kind="stable")
    counts = np.bincount(which)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = max(1, _MAX_CELLS // draws.shape[1])
    limits = []
    for start in range(0, len(draws), rows):
        block = draws[start : start + rows]
        trial = begins[block] + (rng.random(block.shape) * counts[block]).astype(np.int64)
        values = np.sort(np.where(block >= 0, scores[order[trial]], -np.inf), axis=1)
        places = values.shape[1] - 1 - allowed[start : start + rows]  # of the highest score to reject
        ends = np.append(values, np.full((len(block), 1), np.inf), axis=1)
        limits.append(np.take_along_axis(ends, places[:, None], axis=1)[:, 0])
    ordered = np.sort(np.concatenate(limits))
    return ThresholdBound(float(np.nextafter(ordered[ceil(_KEPT_SHARE * len(ordered)) - 1], np.inf)), rate, typical)


def _strictest_bound(scores: Floats, which: Ids, n_apart: int, rate: float) -> ThresholdBound:
    """The highest of the groups' thresholds, each from the ranks of the group's own scores."""
    order = np.lexsort((scores, which))
    counts = np.bincount(which)
    allowed = np.array([max(0, max_exceedances(count, rate)) for count in range(counts.max() + 1)])[counts]
    limit = float(np.nextafter(scores[order[np.cumsum(counts) - 1 - allowed]].max(), np.inf))
    highest_rate = float((np.bincount(which, scores >= limit) / counts).max())  # of the scores of a group
    return ThresholdBound(limit, 1 / (n_apart + 1) + highest_rate * n_apart / (n_apart + 1), n_apart)


def sample_pairings(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
    """Random maximal matchings, each unit in at most one pair: indices of pairs (draw, pair), padded with −1.

    `first` < `second` (pair,), sorted, are the pairs to choose from.
    """
    if len(first) == n_units * (n_units - 1) // 2:  # all pairs
        order = rng.permuted(np.tile(np.arange(n_units), (N_DRAWS, 1)), axis=1)[:, : n_units // 2 * 2]
        low, high = np.sort(order.reshape(N_DRAWS, -1, 2), axis=2).transpose(2, 0, 1)
        pairings: Ids = low * n_units - low * (low + 1) // 2 + high - low - 1
        return pairings
    if 2 * len(first) == n_units:  # each unit has one pair: only one matching exists
        return np.tile(np.arange(len(first)), (N_DRAWS, 1))
    matchings = [
        _greedy_matching(first, second, n_units, rng)
        for _ in range(max(1, min(N_DRAWS, 50 * _MAX_CELLS // len(first))))
    ]
    pairings = np.full((len(matchings), max(map(len, matchings))), -1)
    for row, matching in zip(pairings, matchings, strict=True):
        row[: len(matching)] = matching
    return pairings


def _greedy_matching(first: Ids, second: Ids, n_units: int, rng: np.random.Generator) -> Ids:
    """Take pairs in random order if both units are free; each round takes all pairs that are first for both units."""
    remaining, rank, taken = np.arange(len(first)), rng.permutation(len(first)), []
    while len(remaining):
        best = np.full(n_units, len(first))
        np.minimum.at(best, first[remaining], rank[remaining])
        np.minimum.at(best, second[remaining], rank[remaining])
        chosen = remaining[(best[first[remaining]] == rank[remaining]) & (best[second[remaining]] == rank[remaining])]
        taken.append(chosen)
        busy = np.zeros(n_units, bool)
        busy[first[chosen]] = busy[second[chosen]] = True
        remaining = remaining[~(busy[first[remaining]] | busy[second[remaining]])]
    return np.concatenate(taken)


def warn_few_pairs(bound: ThresholdBound, rate: float, n_units: int, units: Literal["identities", "examples"]) -> None:
    """Warn if the rate `false_accept` cannot be guaranteed; name the guaranteed rate and the number of pairs needed."""
    if bound.promised_rate <= rate:
        return
    needed, offered, n_apart = min_count(rate), round_up(bound.min_promised_rate), bound.n_independent
    pairs = "pair" if n_apart == 1 else "pairs"
    few = f"{n_units} {units} make {n_apart} impostor {pairs} that share no {_SINGULARS[units]}, and "
    enough = n_units >= 2 * needed  # if so, the pairs are few: most are left out, or of one identity
    lacking = f"pairs of more different {units}" if enough else f"more {units}, {2 * needed} or more"
    why = _LEFT_OUT_REASONS[units] if enough else ""
    warnings.warn(
        f"false_accept={rate:g} cannot be promised: {few}{needed} are needed{why}. {_KEPT_PROMISES[units]} a new pair "
        f"may be unlike all of them, and only {round_up(bound.promised_rate):g} is promised; give {lacking}, or "
        f"false_accept={offered:g} or more, which rejects fewer genuine ones",
        CalibrationWarning,
        stacklevel=find_stack_level(),
    )


def round_up(share: float) -> float:
    """Round a rate up to a few digits, so that it can still be guaranteed.

    >>> round_up(1 / 3), round_up(1 / 99)
    (0.34, 0.0102)
    """
    digits = len(str(round(1 / share + 1))) + 1
    scale = 10.0**digits
    return ceil(scale * share * (1 - 1e-12)) / scale

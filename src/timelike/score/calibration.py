"""Probabilities scored: calibration error and its picture, Brier score, log likelihood; and temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int, format_value
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..plotting import classification as drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reliability:
    """How sure answers are and how often they are right, in bins of the probability of the answer.

    `edges` (bin + 1,) bound the bins, `counts` (bin,) says how many items each has, `confidence` and `accuracy` are
    their mean probability and the share of them that is right; both are nan in a bin that is empty.
    """

    edges: Floats
    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def error(self) -> float:
        """The expected calibration error, Σ_b n_b / n · |accuracy_b − confidence_b|."""
        held = self.counts > 0
        gaps = np.abs(self.accuracy[held] - self.confidence[held])
        return float((self.counts[held] * gaps).sum() / self.counts.sum())

    @property
    def max_error(self) -> float:
        """The maximum calibration error, that of the worst bin."""
        held = self.counts > 0
        return float(np.abs(self.accuracy[held] - self.confidence[held]).max())

    def plot(self) -> Figure:
        """The share that is right over the probability, beside the diagonal, with the number of items below."""
        words = f"expected calibration error {self.error:.3f}"
        return drawing.plot_reliability(self.edges, self.counts, self.confidence, self.accuracy, words)


def reliability(
    truth: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 15, adaptive: bool = False
) -> Reliability:
    """Answers by their predicted probability: what `expected_calibration_error` is computed from, to be drawn.

    The answer is the most probable class, the first of equals. Parameters are those of `expected_calibration_error`.

    Examples
    --------
    >>> found = reliability([0, 1, 1], [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], n_bins=2)
    >>> found.counts, found.accuracy
    (array([0, 3]), array([       nan, 0.66666667]))
    """
    known, shares = _validate_probabilities(truth, probabilities, classes)
    answer = shares.argmax(axis=1)
    sure, right = shares[np.arange(len(shares)), answer], answer == known
    wanted = check_int(n_bins, "n_bins", 1)
    edges = _adaptive_edges(sure, wanted) if check_bool(adaptive, "adaptive") else np.linspace(0, 1, wanted + 1)
    bins = np.clip(np.searchsorted(edges, sure, side="left") - 1, 0, len(edges) - 2)  # a bin has its upper edge
    counts = np.bincount(bins, minlength=len(edges) - 1)
    held = np.maximum(counts, 1)
    means = [np.bincount(bins, values, len(counts)) / held for values in (sure, right)]
    confidence, accuracy = (np.where(counts > 0, mean, np.nan) for mean in means)
    return Reliability(edges, counts, confidence, accuracy)


def expected_calibration_error(
    truth: Any, probabilities: Any, *, classes: Any = None, n_bins: int = 15, adaptive: bool = False
) -> float:
    """The expected calibration error: by how much answers are surer, or less sure, than they are right.

        Σ_b n_b / n · |accuracy_b − confidence_b|

    over bins of the probability of the answer (Guo et al., "On calibration of modern neural networks", 2017). Bins have
    one width and their upper edge; with `adaptive` they have about as many items each (Nguyen and O'Connor, 2015).

    Parameters
    ----------
    truth : array (item,)
        The classes; without `classes` the number of each item's column.
    probabilities : array (item, class)
        Rows of sum 1.
    classes : array (class,), optional
        What the columns stand for, such as `classes_` of a model.
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

    For two classes it is twice the number that looks at one of them only. Parameters are those of
    `expected_calibration_error`.

    Examples
    --------
    >>> round(brier_score([0, 1], [[0.9, 0.1], [0.9, 0.1]]), 4)
    0.82
    """
    known, shares = _validate_probabilities(truth, probabilities, classes)
    wrong = shares.copy()
    wrong[np.arange(len(known)), known] -= 1
    return float((wrong * wrong).sum(axis=1).mean())


def negative_log_likelihood(truth: Any, probabilities: Any, *, classes: Any = None) -> float:
    """The mean of −log p of the true class; infinite where one has probability 0.

    Parameters are those of `expected_calibration_error`.

    Examples
    --------
    >>> round(negative_log_likelihood([0, 1], [[0.5, 0.5], [0.75, 0.25]]), 4)
    1.0397
    """
    known, shares = _validate_probabilities(truth, probabilities, classes)
    with np.errstate(divide="ignore"):
        return float(-np.log(shares[np.arange(len(known)), known]).mean())


def temperature(logits: Any, truth: Any, *, classes: Any = None, smoothing: float | None = None) -> float:
    """The T with which softmax(logits / T) is most likely, on items that were not learned from (Guo et al., 2017).

        min_T  mean_i [log Σ_c exp(z_ic / T) − Σ_c q_ic z_ic / T]

    where q is 1 for the true class, but for a share ε that is spread evenly over all classes: where every answer is
    right the likelihood would rise for ever as T falls to 0, and with ε = 1/(n + 2), in the manner of Platt (1999),
    T is as small as n items can tell. The function is convex in 1/T, so that bisection of its slope over log T finds
    the minimum; T never leaves [10⁻⁶, 10⁶] times the largest difference of two logits of an item, where it would be 0
    or infinite (answers no better than chance). Logits that are all the same have the temperature 1.

    Parameters
    ----------
    logits : array (item, class)
        Finite; log probabilities will do.
    truth, classes
        As for `expected_calibration_error`.
    smoothing : float, optional
        ε, 1/(n + 2) unless given; 0 is the plain likelihood.

    Examples
    --------
    >>> three_of_four_are_right = [[4.0, 0.0]] * 4
    >>> round(temperature(three_of_four_are_right, [0, 0, 0, 1], smoothing=0), 3)  # 4 / log 3
    3.641
    """
    known, scores = _validate_class_scores(truth, logits, "logits", classes)
    spread = 1 / (len(known) + 2) if smoothing is None else check_float(smoothing, "smoothing", 0.0, 1.0)
    with np.errstate(over="ignore"):
        below = scores - scores.max(axis=1, keepdims=True)
    if not np.isfinite(below).all():
        raise ValueError("logits of an item differ by more than a number can hold: divide them first")
    scale = float(-below.min())
    if scale == 0:
        return 1.0
    below /= scale
    target = (1 - spread) * below[np.arange(len(known)), known].mean() + spread * below.mean()
    return float(scale / np.exp(_find_root(lambda inverse: _mean_logit(below, inverse) - target)))


def _mean_logit(below: Floats, inverse: float) -> float:
    """The mean logit under softmax(inverse · logits), over all items: the slope of the likelihood is its excess."""
    weights = np.exp(inverse * below)
    return float(((weights * below).sum(axis=1) / weights.sum(axis=1)).mean())


def _find_root(slope: Any, least: float = -np.log(1e6), most: float = np.log(1e6)) -> float:
    """The logarithm at which a slope that never falls turns positive, or the end that is nearest to it."""
    low, high = float(least), float(most)
    for _ in range(80):  # halves what is left until it is rounding
        middle = (low + high) / 2
        low, high = (low, middle) if slope(np.exp(middle)) > 0 else (middle, high)
    return (low + high) / 2


def _adaptive_edges(sure: Floats, n_bins: int) -> Floats:
    """Edges between which about as many items lie, halfway between neighbours; fewer bins where items are equal."""
    ordered = np.sort(sure)
    cuts = np.arange(1, n_bins) * len(ordered) // n_bins
    cuts = cuts[(cuts > 0) & (cuts < len(ordered))]
    inner = (ordered[cuts - 1] + ordered[cuts]) / 2
    return np.unique(np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]]))


def _validate_probabilities(truth: Any, probabilities: Any, classes: Any) -> tuple[NDArray[np.intp], Floats]:
    known, shares = _validate_class_scores(truth, probabilities, "probabilities", classes)
    sums = shares.sum(axis=1)
    bad = np.flatnonzero((shares < 0).any(axis=1) | (np.abs(sums - 1) > 1e-3))
    if bad.size:
        i = int(bad[0])
        raise ValueError(
            f"probabilities[{i}] has the sum {sums[i]:.6g} and the least entry {shares[i].min():.6g}: expected shares "
            "of at least 0 whose sum is 1; of scores, take the softmax"
        )
    return known, shares


def _validate_class_scores(truth: Any, scores: Any, name: str, classes: Any) -> tuple[NDArray[np.intp], Floats]:
    """The column of the true class of every item, and a finite number for every class."""
    given = validate_array(scores, name).astype(np.float64)
    labels = validate_labels(truth, "truth", "class")
    if given.ndim != 2 or not given.size or labels.shape != given.shape[:1]:
        raise ValueError(
            f"{name} has shape {given.shape} for a truth of shape {labels.shape}: expected (item, class) and (item,), "
            "neither of them empty"
        )
    if not np.isfinite(given).all():
        i, j = np.argwhere(~np.isfinite(given))[0]
        raise ValueError(f"{name}[{i}, {j}] is {given[i, j]}: expected finite numbers")
    return _class_columns(labels, given.shape[1], classes), given


def _class_columns(labels: NDArray[Any], n_classes: int, classes: Any) -> NDArray[np.intp]:
    if classes is None:
        if labels.dtype.kind not in "biu" or labels.min() < 0 or labels.max() >= n_classes:
            bad = next(one for one in labels.tolist() if not isinstance(one, int) or not 0 <= one < n_classes)
            raise ValueError(
                f"truth holds {format_value(bad)}: expected columns from 0 to {n_classes - 1}; say with classes= what "
                "they are"
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

"""A test whether labels can be predicted from sequences: leave-one-out ridge regression on cheap features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences

Floats = NDArray[np.float64]

_MIN_SEQUENCES = 20  # with fewer, even good labels seldom differ from shuffled ones
_MAX_SEQUENCES = 800  # limits the cost of solving an (item, item) system
_PERMUTATIONS = 199
_FEATURES = 1000  # of Rocket; more do not improve the test
_LEVEL = 0.05


class LabelSignal(NamedTuple):
    """The result of `label_signal`: `accuracy` of the leave-one-out predictions, and two baselines for it."""

    accuracy: float
    majority: float
    """The accuracy of always predicting the largest class."""
    p_value: float
    """The p-value of the hypothesis that labels and sequences are independent."""


def label_signal(sequences: Sequences, codes: NDArray[np.int64]) -> LabelSignal | None:
    """Test labels against shuffled labels; None for too few sequences, or if features cannot be computed.

    The features are those of `Rocket` and summary statistics. The test statistic is the squared error of leave-one-out
    predictions, which follow from one factorization for any labels: with H = K (K + αI)⁻¹ they are
    y_i − (y − Hy)_i / (1 − H_ii). α is the mean eigenvalue of K and independent of the labels, so the p-value is exact.

    >>> import timelike as tl
    >>> t, rng = np.arange(40), np.random.default_rng(0)
    >>> X = tl.Sequences(np.sin(t / np.repeat([2, 3], 15)[:, None] + rng.uniform(0, 6, (30, 1))))
    >>> label_signal(X, np.repeat([0, 1], 15)).p_value, label_signal(X, rng.permutation(30) % 2).p_value > 0.05
    (0.005, True)
    """
    if len(codes) < _MIN_SEQUENCES:
        return None
    rng = np.random.default_rng(0)  # separate, so that training draws the same numbers with and without this test
    some = np.sort(rng.permutation(len(codes))[:_MAX_SEQUENCES])
    codes = np.unique(codes[some], return_inverse=True)[1]
    targets = np.eye(int(codes.max()) + 1)[codes]
    try:
        smoother = _ridge_smoother(_simple_features(sequences[some]))
    except ValueError:  # a channel missing throughout, or numbers too large: a failed check must not lose the training
        return None
    predicted = _loo_predictions(smoother, targets)
    error = _squared_error(predicted, targets)
    shuffled = [_shuffled_error(smoother, targets, rng) for _ in range(_PERMUTATIONS)]
    return LabelSignal(
        float((predicted.argmax(axis=1) == codes).mean()),
        float(np.bincount(codes).max() / len(codes)),
        (1 + sum(other <= error for other in shuffled)) / (1 + _PERMUTATIONS),
    )


def describe_missing_signal(sequences: Sequences, codes: NDArray[np.int64]) -> str | None:
    """The text of a warning if labels are no better than shuffled ones; otherwise None."""
    signal = label_signal(sequences, codes)
    if signal is None or signal.p_value <= _LEVEL:
        return None
    return (
        "nothing was held out, and there is no sign that the labels can be predicted from the sequences: leave-one-out "
        f"ridge regression on simple features is right for {signal.accuracy:.0%} (the largest class is "
        f"{signal.majority:.0%}), no better than with shuffled labels (p = {signal.p_value:.2g}); the network may have "
        "memorized the training labels: check the labels, or compare with tl.compare"
    )


def _simple_features(sequences: Sequences) -> Floats:
    """Rocket features and summary statistics, each standardized and of the same total variance."""
    from ..encode import Rocket, StatisticsEncoder

    if int(sequences.lengths.max()) == 1:  # single frames have no temporal features
        return _standardize_features(sequences.values.reshape(len(sequences), -1).astype(np.float64))
    filled = sequences.interpolate() if sequences.has_missing else sequences
    encoders = (Rocket(n_features=_FEATURES, random_state=0), StatisticsEncoder())
    return np.concatenate([_standardize_features(encoder.fit(filled).encode(filled)) for encoder in encoders], axis=1)


def _standardize_features(features: NDArray[np.floating]) -> Floats:
    with np.errstate(over="ignore"):
        centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
        deviation = centred.std(axis=0)
    if not np.isfinite(deviation).all():
        raise ValueError("some features are missing, or so large that their squares overflow")
    varies = deviation > 1e-9 * max(float(deviation.max(initial=0.0)), 1e-300)
    scaled = centred[:, varies] / deviation[varies]
    return np.asarray(scaled / np.sqrt(max(1, scaled.shape[1])))


def _ridge_smoother(features: Floats) -> Floats:
    """H (item, item), which maps targets to fitted values, intercept included."""
    products = features @ features.T
    size = len(products)
    strength = max(float(np.trace(products)) / size, 1e-12)
    fitted = np.linalg.solve(products + strength * np.eye(size), products)
    return np.asarray(fitted + 1 / size)  # features are centred, so the intercept is the mean


def _loo_predictions(smoother: Floats, targets: Floats) -> Floats:
    """The prediction for each item from all others, (item, class)."""
    leverage = np.minimum(np.diagonal(smoother), 1 - 1e-9)
    return np.asarray(targets - (targets - smoother @ targets) / (1 - leverage)[:, None])


def _squared_error(predicted: Floats, targets: Floats) -> float:
    return float(((predicted - targets) ** 2).sum())


def _shuffled_error(smoother: Floats, targets: Floats, rng: np.random.Generator) -> float:
    other = targets[rng.permutation(len(targets))]
    return _squared_error(_loo_predictions(smoother, other), other)

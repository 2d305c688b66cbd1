"""What comparisons are tried on: waves of two classes, and methods that are quick, slow, failing or interrupted."""

import signal
import time
import warnings
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import timelike as tl


def waves(n=24, length=20, noise=0.6, seed=0):
    """Two classes of noisy waves, six recordings of each of several people."""
    rng = np.random.default_rng(seed)
    speed = np.where(np.arange(n) % 2, 0.5, 0.7)
    X = np.sin(np.arange(length) * speed[:, None]) + noise * rng.standard_normal((n, length))
    return tl.Sequences(
        X, labels=np.where(np.arange(n) % 2, "slow", "fast"), groups=np.arange(n) // 4, ids=np.arange(n)
    )


def compared(X, methods, **more):
    return tl.compare(X, methods=methods, **{"random_state": 0, "progress": False} | more)


class Constant(ClassifierMixin, BaseEstimator):
    """Always one class."""

    def __init__(self, answer="slow"):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


class Watching(Constant):
    """Notes what it was fitted on and asked about."""

    seen: ClassVar[list] = []

    def fit(self, X, y):
        self.learned_ = X.ids.tolist()
        return super().fit(X, y)

    def predict(self, X):
        Watching.seen.append((self.learned_, X.ids.tolist()))
        return super().predict(X)


class Slow(Constant):
    """Takes its time, and knows how often it was fitted."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        time.sleep(0.05)
        return super().fit(X, y)


class Limited(Constant):
    """Can be told how long it may train."""

    def __init__(self, answer="slow", max_time=None, random_state=None):
        self.answer, self.max_time, self.random_state = answer, max_time, random_state

    def fit(self, X, y):
        Limited.told = self.max_time, self.random_state
        return super().fit(X, y)


class Failing(Constant):
    def fit(self, X, y):
        raise RuntimeError("no luck | today")


class Interrupted(Constant):
    def fit(self, X, y):
        signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)


class Warns(Constant):
    def fit(self, X, y):
        warnings.warn("learned nothing", stacklevel=2)
        return super().fit(X, y)


class Euclidean(Constant):
    """Is taken to be quick by its name, and is not."""

    def fit(self, X, y):
        for _ in range(30_000):  # five minutes, if nobody ends it
            time.sleep(0.01)
        return super().fit(X, y)


class Supervised(tl.encode.StatisticsEncoder):
    """An encoder that refuses to learn without classes."""

    def fit(self, X, y=None):
        if y is None:
            raise ValueError("y is None")
        return super().fit(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

"""The calls of the library answered by the naive references: `calls.DTW(window=0.1).distance(x, y)`."""

import functools
from types import SimpleNamespace

import numpy as np

from . import elastic, matching, soft_dtw


class _Call:
    """A distance by its options. With `dependent=False` every channel is warped by itself."""

    def __init__(self, reference, *, window=None, band="sakoe", dependent=True, **options):
        self.reference, self.window, self.band, self.dependent, self.options = (
            reference,
            window,
            band,
            dependent,
            options,
        )

    def distance(self, x, y):
        x, y = (np.asarray(side, float).reshape(len(side), -1) for side in (x, y))
        allowed = {} if self.reference is elastic.euclidean else {"allowed": self._mask(len(x), len(y))}
        measure = functools.partial(self.reference, **allowed, **self.options)
        return measure(x, y) if self.dependent else elastic.independent(measure, x, y)

    def pairwise(self, X, Y=None):
        return np.array([[self.distance(x, y) for y in (X if Y is None else Y)] for x in X])

    def align(self, x, y):
        """Its cost only: which of several cheapest paths is taken is not fixed by the formula."""
        return SimpleNamespace(cost=self.distance(x, y))

    def _mask(self, n, m):
        return elastic.mask(n, m, self.window, self.band)


def _soft(x, y, gamma=1.0, divergence=False, *, allowed=None):
    value = soft_dtw.total(soft_dtw.costs(x, y), gamma, allowed)
    return value - (_soft(x, x, gamma) + _soft(y, y, gamma)) / 2 if divergence else value


def subsequence(query, stream, k=1):
    """The stretches as the library gives them: start, stop and distance of each."""
    query, stream = (np.asarray(side, float).reshape(len(side), -1) for side in (query, stream))
    return [SimpleNamespace(start=a, stop=b, distance=d) for a, b, d in matching.stretches(query, stream, k)]


DTW = functools.partial(_Call, elastic.dtw)
DDTW = functools.partial(_Call, elastic.ddtw)
WDTW = functools.partial(_Call, elastic.wdtw)
ADTW = functools.partial(_Call, elastic.adtw)
ERP = functools.partial(_Call, elastic.erp)
EDR = functools.partial(_Call, elastic.edr)
LCSS = functools.partial(_Call, elastic.lcss)
MSM = functools.partial(_Call, elastic.msm)
TWE = functools.partial(_Call, elastic.twe)
SoftDTW = functools.partial(_Call, _soft)
Euclidean = functools.partial(_Call, elastic.euclidean)

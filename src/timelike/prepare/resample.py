"""Resample: evenly spaced samples, of one length or one rate."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..core.parameters import store_parameters
from ..models import options, schema
from ..sequences import Sequences
from .base import Preparation


class Resample(Preparation):
    """Linear interpolation at evenly spaced times, to one length or to one rate: `Sequences.resample` as a step.

    With neither, the length is the median length of the training part, kept as `length_`: for methods that need equal
    lengths. One length for all takes the tempo out; where the tempo tells the classes apart, give a rate.

    Parameters
    ----------
    length : int or "mean", optional
        Samples of every sequence; "mean" for the mean length of the training part.
    rate : float, optional
        Samples per unit of time (second, where timestamps are dates).
    max_gap : float, optional
        Between samples that are further apart nothing is invented: what would lie there is missing.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Resample().fit([[0.0, 2.0], [1.0, 2.0, 3.0], [0, 0, 0]]).transform([[0.0, 1.0]])[0].ravel()
    array([0. , 0.5, 1. ])
    """

    length = options.nullable(options.length())
    rate = options.nullable(options.real(above=0))
    max_gap = options.nullable(options.real(0))

    length_: int | None = schema.nullable(schema.integer(1, 1 << 24))
    """Samples of every sequence; None where there is a rate."""

    def __init__(
        self, length: int | Literal["mean"] | None = None, *, rate: float | None = None, max_gap: float | None = None
    ) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"length": 5}

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.length is not None and self.rate is not None:
            raise ValueError(f"length={self.length!r}, rate={self.rate}: give one of them, or neither")

    def _fit(self, sequences: Sequences) -> None:
        if self.rate is not None:
            self.length_ = None
        elif self.length == "mean":
            self.length_ = round(float(sequences.lengths.mean()))
        else:
            self.length_ = int(self.length or np.median(sequences.lengths))

    def _transform(self, sequences: Sequences) -> Sequences:
        return sequences.resample(self.length_, rate=None if self.length_ else self.rate, max_gap=self.max_gap)

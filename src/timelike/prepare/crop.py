"""Crop: the same steps of every sequence."""

from __future__ import annotations

from typing import Any

from ..core.parameters import check_int, store_parameters
from ..models import options
from ..sequences import Sequences
from .base import Preparation


class Crop(Preparation):
    """Steps `start` to `stop` of every sequence, counted as in a slice: `Sequences.crop` as a step of a pipeline.

    A sequence of which nothing would be left is an error that names it. Nothing is copied.

    Parameters
    ----------
    start, stop : int, optional
        Negative ones count from the end of each sequence.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Crop(start=-2).fit_transform([[1.0, 2.0, 3.0], [4.0, 5.0]]).lengths
    array([2, 2])
    """

    start = options.nullable(options.Option(check_int))
    stop = options.nullable(options.Option(check_int))

    def __init__(self, *, start: int | None = None, stop: int | None = None) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"stop": 3}

    def _transform(self, sequences: Sequences) -> Sequences:
        return sequences.crop(self.start, self.stop)

"""Derivative: slopes in place of values."""

from __future__ import annotations

from typing import Literal, get_args

from ..core.parameters import store_parameters
from ..models import options
from ..sequences import Sequences
from .base import Preparation

Rule = Literal["central", "keogh"]


class Derivative(Preparation):
    """The slope at every step, same lengths: `Sequences.derivative` as a step of a pipeline.

    Slopes forget the level, so classes that differ only in it are lost; they also raise the noise.

    Parameters
    ----------
    rule : {"central", "keogh"}
        Difference quotients in the sequence's own time, or the estimate of derivative DTW (Keogh and Pazzani, 2001).

    Examples
    --------
    >>> import timelike as tl
    >>> tl.prepare.Derivative().fit_transform([[0.0, 1.0, 4.0]])[0].ravel()
    array([0., 2., 4.])
    """

    rule = options.choice(*get_args(Rule))

    def __init__(self, *, rule: Rule = "central") -> None:
        store_parameters(self, locals())

    def _transform(self, sequences: Sequences) -> Sequences:
        return sequences.derivative(rule=self.rule)

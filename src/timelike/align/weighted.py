"""DTW with a price on warping: by how far (WDTW), or by how often (ADTW)."""

from __future__ import annotations

from dataclasses import dataclass

from .. import native
from ..sequences import Sequences
from ..sequences.arguments import real
from .elastic import Elastic


@dataclass(frozen=True, kw_only=True, repr=False)
class WDTW(Elastic):
    """Weighted DTW: matching steps that are far apart in time costs more (Jeong, Jeong and Omitaomu, 2011).

    The squared distance of x_i and y_j is multiplied by 1/(1 + exp(−g(|i − j| − L/2))), L the longer length.

    >>> import timelike as tl
    >>> tl.WDTW(g=0.0).distance([0.0, 1.0], [0.0, 3.0])
    2.0
    """

    g: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.g, "g", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="weighted", first=self.g, window=self._bound)


@dataclass(frozen=True, kw_only=True, repr=False)
class ADTW(Elastic):
    """Amerced DTW: every step off the diagonal costs a constant (Herrmann and Webb, 2023).

    D(i, j) = ‖x_i − y_j‖² + min(D(i−1, j−1), D(i−1, j) + penalty, D(i, j−1) + penalty).

    >>> import timelike as tl
    >>> tl.ADTW(penalty=0.5).distance([0, 1, 2], [0, 0, 1, 2])
    0.5
    """

    penalty: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real(self.penalty, "penalty", 0.0)

    def _program(self, x: Sequences, y: Sequences) -> native.Program:
        return native.Program(rule="amerced", first=self.penalty, window=self._bound)

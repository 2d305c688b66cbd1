"""What an aligner answers: how two sequences line up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences, as_one, check

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """Two sequences lined up: `cost`, and the `path` of matched steps (steps, 2), first column x, second y."""

    cost: float
    path: NDArray[np.int64]
    x: NDArray[Any]
    y: NDArray[Any]

    def __post_init__(self) -> None:
        self.path.flags.writeable = False

    @property
    def plan(self) -> NDArray[np.float64]:
        """The path as a matrix (len x, len y), 1 where two steps are matched and 0 elsewhere."""
        matrix = np.zeros((len(self.x), len(self.y)))
        matrix[self.path[:, 0], self.path[:, 1]] = 1
        return matrix

    @property
    def warp(self) -> None:
        """A warp in continuous time, which an alignment of steps does not have."""
        return None

    def apply(self, y: Any = None) -> NDArray[Any]:
        """`y` (by default the one that was aligned) on x's time: at each step the mean of what it is matched with."""
        if isinstance(y, Sequences):
            y = as_one(y, "y")[0]
        y = self.y if y is None else check.plain_array(y, "y")
        if np.ndim(y) == 0 or len(y) != len(self.y):
            raise ValueError(f"y has shape {np.shape(y)}: the alignment was made with {len(self.y)} time steps")
        steps, matched = self.path.T
        first = np.flatnonzero(np.diff(steps, prepend=-1))
        counts = np.diff(np.append(first, len(steps))).reshape(-1, *[1] * (y.ndim - 1))
        return np.asarray(np.add.reduceat(y[matched], first, axis=0) / counts)

    def plot(self, *, channel: int = 0) -> Figure:
        """The two signals joined where they match, and the path over the costs."""
        from ..draw import alignments

        return alignments.figure(self.x, self.y, self.path, cost=self.cost, channel=channel)

    def __repr__(self) -> str:
        return f"Alignment(cost={self.cost:.6g}, {len(self.x)} × {len(self.y)} steps, path of {len(self.path)})"

"""The recurrences of the elastic fallback in torch: one small class each, as the structs in cells.hpp.

A `Program` selects one of these classes by its `rule`. Tensors are (pair, cell) unless noted otherwise, with the cells
(i, j) of one anti-diagonal. Sums have the order of the kernels, so that ties break in the same way; only the squares of
several channels may differ in the last bit, if the CPU fuses multiplication and addition.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .program import Program

RULES: dict[str, type[CellRule]] = {}


class PairBatch(NamedTuple):
    """Both sides of many pairs, padded: x (pair, n, channel), y (pair, m, channel), and what the program needs."""

    x: Tensor
    y: Tensor
    lengths: tuple[Tensor, Tensor]
    lo: Tensor  # (pair, n) first and last column of the band
    hi: Tensor
    threshold: Tensor  # (pair, 1)


class Predecessors(NamedTuple):
    """The three predecessors of a cell, or the totals of the moves from them; the first of equal ones wins."""

    corner: Tensor
    above: Tensor
    left: Tensor


class CellRule:
    """A rule over many pairs at once: a subclass defines the cost of each move into a cell, and the border."""

    has_border: ClassVar[bool] = False  # row and column −1 are sums of `edge`; else they are blocked
    # values may be missing: cells without data are passed diagonally, and counted
    allows_missing: ClassVar[bool] = False

    def __init_subclass__(cls, *, rule: str) -> None:
        RULES[rule] = cls

    def __init__(self, program: Program, sides: PairBatch) -> None:
        self.program, self.sides = program, sides
        self.x_before, self.y_before = _previous_frames(sides.x), _previous_frames(sides.y)
        self.x_edge, self.y_edge = self.edge(sides.x), self.edge(sides.y)

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        """Totals of the three ways into the cells, without what `value` adds to all of them."""
        raise NotImplementedError

    def value(self, i: Tensor, j: Tensor, best: Tensor) -> Tensor:
        """The cells, from the best of the three totals."""
        return best

    def edge(self, side: Tensor) -> Tensor:
        """The cost of a step in one sequence alone, (pair, time)."""
        return torch.zeros_like(side[..., 0])

    def start(self) -> Tensor:
        """The corner of the border, (pair, 1)."""
        return torch.zeros_like(self.x_edge[:, :1])

    def has_data(self, i: Tensor, j: Tensor) -> Tensor:
        """Whether there is anything to compare, asked where values may be missing."""
        raise NotImplementedError

    def frame_distances(self, i: Tensor, j: Tensor) -> Tensor:
        """Euclidean distances of frames."""
        return _norm(self.sides.x[:, i] - self.sides.y[:, j])

    def match(self, i: Tensor, j: Tensor) -> Tensor:
        """1 where frames are within the threshold, else 0."""
        near = self.frame_distances(i, j)
        return (near <= self.sides.threshold).to(near.dtype)


class DTWRule(CellRule, rule="dtw"):
    """All moves cost the distance of the frames."""

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        return ways

    def value(self, i: Tensor, j: Tensor, best: Tensor) -> Tensor:
        return best + self.cost(i, j)

    def cost(self, i: Tensor, j: Tensor) -> Tensor:
        return _norm(self.sides.x[:, i] - self.sides.y[:, j], self.program.cost)


class Symmetric2Rule(DTWRule, rule="symmetric2"):
    """A diagonal step counts twice, but the first cell once although it is entered diagonally."""

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        return ways._replace(corner=ways.corner + self.cost(i, j))

    def start(self) -> Tensor:
        first = torch.zeros(1, dtype=torch.long, device=self.sides.x.device)
        return -self.cost(first, first)


class AmercedRule(DTWRule, rule="amerced"):
    """A step off the diagonal costs `first` more."""

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        return Predecessors(ways.corner, ways.above + self.program.first, ways.left + self.program.first)


class WeightedRule(DTWRule, rule="weighted"):
    """The cost is weighted by |i − j|."""

    def cost(self, i: Tensor, j: Tensor) -> Tensor:
        cost = super().cost(i, j)
        middle = torch.maximum(*self.sides.lengths)[:, None] / 2
        apart = (i - j).abs()
        return cost / (1 + torch.exp(-self.program.first * (apart - middle.to(cost.dtype))))


class DTWMissingRule(DTWRule, rule="dtw_missing"):
    """A cell compares the channels that both frames have; one without any costs nothing and is passed diagonally."""

    allows_missing = True

    def has_data(self, i: Tensor, j: Tensor) -> Tensor:
        return self.count_shared(i, j) > 0

    def count_shared(self, i: Tensor, j: Tensor) -> Tensor:
        """How many channels both frames have."""
        difference = self.sides.x[:, i] - self.sides.y[:, j]
        return (~difference.isnan()).sum(-1).to(difference.dtype)

    def cost(self, i: Tensor, j: Tensor) -> Tensor:
        difference, shared = (self.sides.x[:, i] - self.sides.y[:, j]).nan_to_num(0.0), self.count_shared(i, j)
        scale = torch.where(shared > 0, difference.shape[-1] / shared, 0.0)
        if self.program.cost == "manhattan" or difference.shape[-1] == 1:
            return _norm(difference, self.program.cost) * scale
        squares = (difference * difference).sum(-1) * scale
        return squares.sqrt() if self.program.cost == "euclidean" else squares


class Symmetric2MissingRule(DTWMissingRule, Symmetric2Rule, rule="symmetric2_missing"):
    """A diagonal step counts twice."""


class AmercedMissingRule(DTWMissingRule, AmercedRule, rule="amerced_missing"):
    """A step off the diagonal costs `first` more."""


class WeightedMissingRule(WeightedRule, DTWMissingRule, rule="weighted_missing"):
    """The cost is weighted by |i − j|."""


class ERPRule(CellRule, rule="erp"):
    """A gap costs the distance to a constant."""

    has_border = True

    def edge(self, side: Tensor) -> Tensor:
        return _norm(side - torch.tensor(np.array(self.program.gap), dtype=side.dtype, device=side.device))

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        return Predecessors(corner + self.frame_distances(i, j), above + self.x_edge[:, i], left + self.y_edge[:, j])


class EDRRule(CellRule, rule="edr"):
    """A gap or a mismatch costs 1."""

    has_border = True

    def edge(self, side: Tensor) -> Tensor:
        return torch.ones_like(side[..., 0])

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        return Predecessors(corner + (1 - self.match(i, j)), above + 1, left + 1)


class EDRByChannelRule(EDRRule, rule="edr_by_channel"):
    """Frames match where every channel does."""

    def frame_distances(self, i: Tensor, j: Tensor) -> Tensor:
        return (self.sides.x[:, i] - self.sides.y[:, j]).abs().amax(-1)


class LCSSRule(CellRule, rule="lcss"):
    """Minus the length of the longest common subsequence."""

    has_border = True

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        return ways._replace(corner=ways.corner - self.match(i, j))


class LCSSByChannelRule(LCSSRule, rule="lcss_by_channel"):
    """Frames match where every channel does."""

    def frame_distances(self, i: Tensor, j: Tensor) -> Tensor:
        return (self.sides.x[:, i] - self.sides.y[:, j]).abs().amax(-1)


class MSMRule(CellRule, rule="msm"):
    """A move costs the distance; split and merge cost `first`, and more where a value is not between its neighbours."""

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        x, y, first = self.sides.x[:, i], self.sides.y[:, j], self.program.first
        split, merge = _outside_distance(x, self.x_before[:, i], y), _outside_distance(y, self.y_before[:, j], x)
        # summed in the order of the kernels: ties are common
        return Predecessors(corner + self.frame_distances(i, j), above + split + first, left + merge + first)


class TWERule(CellRule, rule="twe"):
    """Both ends of the matched steps count, and so does being apart in time."""

    def edge(self, side: Tensor) -> Tensor:
        return _norm(side - _previous_frames(side)) + self.program.first + self.program.second

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        apart = (i - j).abs().to(corner.dtype)
        earlier = _norm(self.x_before[:, i] - self.y_before[:, j])
        both = self.frame_distances(i, j) + earlier + 2 * self.program.first * apart
        return Predecessors(corner + both, above + self.x_edge[:, i], left + self.y_edge[:, j])


class TimedTWERule(CellRule, rule="twe_timed"):
    """The same on clocks: the last two channels are a step's time, in two parts whose sum it is."""

    def edge(self, side: Tensor) -> Tensor:
        return self.frame_and_time_distances(side, _previous_frames(side)) + self.program.second

    def moves(self, i: Tensor, j: Tensor, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        here = self.frame_and_time_distances(self.sides.x[:, i], self.sides.y[:, j])
        earlier = self.frame_and_time_distances(self.x_before[:, i], self.y_before[:, j])
        return Predecessors(corner + (here + earlier), above + self.x_edge[:, i], left + self.y_edge[:, j])

    def frame_and_time_distances(self, a: Tensor, b: Tensor) -> Tensor:
        """How far frames are from each other in their values and, times the stiffness, in time."""
        difference = a - b
        passed = difference[..., -2] + difference[..., -1]  # first the large parts, which cancel exactly
        return _norm(difference[..., :-2]) + self.program.first * passed.abs()


def _norm(difference: Tensor, cost: str = "euclidean") -> Tensor:
    # of one channel the root of the square is the magnitude, without the rounding of either
    if cost == "manhattan" or (cost == "euclidean" and difference.shape[-1] == 1):
        return difference.abs().sum(-1)
    squares = (difference * difference).sum(-1)
    return squares.sqrt() if cost == "euclidean" else squares


def _previous_frames(side: Tensor) -> Tensor:
    """Every frame becomes the one before it, the first zeros."""
    return torch.cat([torch.zeros_like(side[:, :1]), side[:, :-1]], 1)


def _outside_distance(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """0 where a lies in the sphere over the segment from b to c, else its distance to the nearer end."""
    inside = ((a - b) * (a - c)).sum(-1) <= 0  # Thales: both ends are seen at a right angle or more
    return torch.where(inside, 0.0, torch.minimum(_norm(a - b), _norm(a - c)))

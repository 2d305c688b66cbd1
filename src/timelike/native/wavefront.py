"""The same recurrences in torch: all cells of an anti-diagonal at once, for a batch of pairs, on any device.

It stands in for the compiled kernels where there are none, runs where they cannot (other devices, autograd), and is
the independent check of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from .buffers import Program, Steps

_BATCH_VALUES = 1 << 22  # padded values of one batch of pairs
_BORDERED = ("erp", "edr", "lcss")


class Batch(NamedTuple):
    """Pairs of padded sequences x (pair, n, channel), y (pair, m, channel) with what the program needs of each."""

    x: torch.Tensor
    y: torch.Tensor
    lengths: tuple[torch.Tensor, torch.Tensor]
    lo: torch.Tensor  # (pair, n) first and last column of the band
    hi: torch.Tensor
    threshold: torch.Tensor  # (pair, 1)


class Diagonal(NamedTuple):
    """One anti-diagonal of the bordered program: `total` (pair, n + 1) at rows −1 … n − 1, inf where there is none."""

    total: torch.Tensor
    steps: torch.Tensor
    way: torch.Tensor  # 0 diagonal, 1 up, 2 left


def _norm(difference: torch.Tensor, cost: str = "euclidean") -> torch.Tensor:
    if cost == "manhattan" or (cost == "euclidean" and difference.shape[-1] == 1):
        return difference.abs().sum(-1)
    squares = (difference * difference).sum(-1)
    return squares.sqrt() if cost == "euclidean" else squares


@dataclass
class Wave:
    """The program over one batch; iterate over `diagonals()`."""

    program: Program
    batch: Batch

    def __post_init__(self) -> None:
        x, y = self.batch.x, self.batch.y
        self.x_edge, self.y_edge = self._edges(x), self._edges(y)
        self.x_border, self.y_border = self._border(self.x_edge), self._border(self.y_edge)
        zero = x.new_zeros(len(x), 1, x.shape[2])
        if self.program.rule == "symmetric2":  # the first cell counts once although it is entered diagonally
            start = torch.zeros(1, dtype=torch.long, device=x.device)
            self.x_border = torch.cat([-self._cost(start, start), self.x_border[:, 1:]], 1)
        self.x_before, self.y_before = torch.cat([zero, x[:, :-1]], 1), torch.cat([zero, y[:, :-1]], 1)

    def _edges(self, side: torch.Tensor) -> torch.Tensor:
        """The cost of a step in one sequence alone, (pair, time)."""
        if self.program.rule == "erp":
            return _norm(side - torch.tensor(np.array(self.program.gap), dtype=side.dtype, device=side.device))
        if self.program.rule == "twe":
            before = torch.cat([torch.zeros_like(side[:, :1]), side[:, :-1]], 1)
            return _norm(side - before) + self.program.first + self.program.second
        return torch.full_like(side[..., 0], 1.0 if self.program.rule == "edr" else 0.0)

    def _border(self, edges: torch.Tensor) -> torch.Tensor:
        """Row or column −1, (pair, time + 1), its corner 0."""
        inside = edges.cumsum(1) if self.program.rule in _BORDERED else torch.full_like(edges, torch.inf)
        return torch.cat([torch.zeros_like(edges[:, :1]), inside], 1)

    def diagonals(self) -> Iterator[tuple[int, Diagonal]]:
        """(d, diagonal) with cells (i, d − i − 2); the first is the corner alone."""
        n, m = self.batch.x.shape[1], self.batch.y.shape[1]
        blocked = torch.full_like(self.x_border, torch.inf)
        none = torch.zeros_like(blocked)
        older = newer = Diagonal(blocked, none, none)
        rows = torch.arange(-1, n, device=blocked.device)
        for d in range(n + m + 1):
            columns = d - 2 - rows
            found = self._cells(rows, columns, newer, older)
            on_left, on_top = columns == -1, rows == -1
            border = torch.where(on_left, self.x_border, self.y_border[:, (columns + 1).clamp(0, m)])
            valid = (columns >= -1) & (columns < m)
            total = torch.where(on_left | on_top, border, found.total)
            total = torch.where(valid, total, blocked)
            steps = torch.where(on_left | on_top, none, found.steps)
            older, newer = newer, Diagonal(total, steps, found.way)
            yield d, newer

    def _cells(self, rows: torch.Tensor, columns: torch.Tensor, newer: Diagonal, older: Diagonal) -> Diagonal:
        i, j = rows.clamp(0), columns.clamp(0, self.batch.y.shape[1] - 1)
        moves = self._moves(i, j, _down(older.total), _down(newer.total), newer.total)
        counts = torch.stack([_down(older.steps), _down(newer.steps), newer.steps])
        totals = torch.stack(moves)
        total = totals.amin(0)
        if self.program.counted:
            counts = torch.where(totals == total, counts, torch.inf)
            way = counts.argmin(0)
        else:
            way = totals.argmin(0)
        steps = counts.gather(0, way[None])[0] + 1
        if self.program.rule in ("dtw", "symmetric2", "amerced", "weighted"):
            total = total + self._cost(i, j)
        inside = (columns >= self.batch.lo[:, i]) & (columns <= self.batch.hi[:, i])
        return Diagonal(torch.where(inside, total, torch.inf), steps, way)

    def _cost(self, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        cost = _norm(self.batch.x[:, i] - self.batch.y[:, j], self.program.cost)
        if self.program.rule != "weighted":
            return cost
        middle = torch.maximum(*self.batch.lengths)[:, None] / 2
        apart = (i - j).abs()
        return cost / (1 + torch.exp(-self.program.first * (apart - middle.to(cost.dtype))))

    def _moves(
        self, i: torch.Tensor, j: torch.Tensor, corner: torch.Tensor, above: torch.Tensor, left: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Totals of the three ways into the cells (i, j), without the cost that all share where they share one."""
        rule, first = self.program.rule, self.program.first
        if rule in ("dtw", "weighted"):
            return corner, above, left
        if rule == "symmetric2":
            return corner + self._cost(i, j), above, left
        if rule == "amerced":
            return corner, above + first, left + first
        x, y = self.batch.x[:, i], self.batch.y[:, j]
        near = _norm(x - y)
        if rule in ("edr", "lcss"):
            match = (near <= self.batch.threshold).to(near.dtype)
            if rule == "lcss":
                return corner - match, above, left
            return corner + (1 - match), above + 1, left + 1
        if rule == "msm":
            # summed in the order of the kernels: ties are common
            split, merge = _outside(x, self.x_before[:, i], y), _outside(y, self.y_before[:, j], x)
            return corner + near, above + split + first, left + merge + first
        if rule == "twe":
            apart = (i - j).abs().to(near.dtype)
            near = near + _norm(self.x_before[:, i] - self.y_before[:, j]) + 2 * first * apart
        return corner + near, above + self.x_edge[:, i], left + self.y_edge[:, j]


def _outside(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """0 where a lies in the sphere over the segment from b to c, else its distance to the nearer end."""
    inside = ((a - b) * (a - c)).sum(-1) <= 0  # Thales: both ends are seen at a right angle or more
    return torch.where(inside, 0.0, torch.minimum(_norm(a - b), _norm(a - c)))


def _down(diagonal: torch.Tensor) -> torch.Tensor:
    """Entry i becomes entry i − 1's."""
    return torch.cat([torch.full_like(diagonal[:, :1], torch.inf), diagonal[:, :-1]], 1)


def totals(program: Program, batch: Batch) -> torch.Tensor:
    """The last cell of every pair, (pair,), divided by its steps if they are counted. Padding is never read into it."""
    n, m = batch.lengths
    result = batch.x.new_full((len(batch.x),), torch.inf)
    for d, diagonal in Wave(program, batch).diagonals():
        done = n + m == d
        if done.any():
            last = diagonal.total.gather(1, n[:, None])[:, 0]
            if program.counted:
                last = last / diagonal.steps.gather(1, n[:, None])[:, 0]
            result = torch.where(done, last, result)
    return result


def pairwise(
    program: Program,
    x: Steps,
    y: Steps,
    *,
    symmetric: bool,
    out: NDArray[Any],
    report: Callable[[int, int], None] | None,
) -> None:
    """The pairwise kernel on the torch executor; arguments as for the compiled one."""
    rows, columns = np.triu_indices(len(out)) if symmetric else np.indices(out.shape).reshape(2, -1)
    size = max(1, _BATCH_VALUES // int((x.lengths.max() + y.lengths.max()) * x.values.shape[1]))
    for begin in range(0, len(rows), size):
        i, j = rows[begin : begin + size], columns[begin : begin + size]
        out[i, j] = found = totals(program, _batch(program, x, y, i, j)).numpy()
        if symmetric:
            out[j, i] = found
        if report is not None:
            report(begin + len(i), len(rows))


def _batch(program: Program, x: Steps, y: Steps, i: NDArray[np.int64], j: NDArray[np.int64]) -> Batch:
    n, m = x.lengths[i], y.lengths[j]
    # a band that no pair reaches beyond its own lengths; rows past the end of a pair are padding
    lo, hi = np.zeros((len(i), n.max()), np.int64), np.full((len(i), n.max()), m.max())
    for a, b in np.unique(np.stack([n, m]), axis=1).T:
        same = (n == a) & (m == b)
        lo[same, :a], hi[same, :a] = program.window.bounds(int(a), int(b))
    limits = (np.zeros(len(x.lengths)), np.zeros(len(y.lengths))) if program.thresholds is None else program.thresholds
    threshold = np.maximum(limits[0][i], limits[1][j]).astype(x.values.dtype)
    arrays = (lo, hi, threshold[:, None])
    return Batch(
        _padded(x, i), _padded(y, j), (torch.from_numpy(n), torch.from_numpy(m)), *(torch.from_numpy(a) for a in arrays)
    )


def _padded(steps: Steps, items: NDArray[np.int64]) -> torch.Tensor:
    lengths = steps.lengths[items, None]
    return torch.from_numpy(steps.values[np.minimum(np.arange(lengths.max()), lengths - 1) + steps.starts[items, None]])


def _single(program: Program, x: NDArray[Any], y: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], int, Diagonal]]:
    one = np.zeros(1, np.int64)
    first, second = (Steps(side, one, np.array([len(side)])) for side in (x, y))
    for d, diagonal in Wave(program, _batch(program, first, second, one, one)).diagonals():
        rows = np.arange(max(0, d - len(y) - 1), min(len(x), d - 1))
        if len(rows):
            yield rows, d, diagonal


def matrix(program: Program, x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
    """All cells of one pair's program into `out` (n, m)."""
    for rows, d, diagonal in _single(program, x, y):
        out[rows, d - 2 - rows] = diagonal.total[0, rows + 1].numpy()


def path(program: Program, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """One pair with its path; ties prefer the diagonal, then the step in x, as in the compiled kernel."""
    ways = np.zeros((len(x), len(y)), np.int8)
    total = 0.0
    for rows, d, diagonal in _single(program, x, y):
        ways[rows, d - 2 - rows] = diagonal.way[0, rows + 1].numpy()
        last = diagonal.total[0, -1] / (diagonal.steps[0, -1] if program.counted else 1)
        total = float(last)
    i, j = len(x) - 1, len(y) - 1
    steps = [(i, j)]
    while i or j:
        way = 1 if j == 0 else 2 if i == 0 else ways[i, j]
        i, j = i - (way != 2), j - (way != 1)
        steps.append((i, j))
    return np.array(steps[::-1], np.int64), total

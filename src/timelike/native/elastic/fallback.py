"""The fallback of the elastic kernels in torch: all cells of an anti-diagonal at once, for many pairs, on any device.

It stands in for the kernels if there are none, runs where they cannot (other devices, autograd), and is the
independent check of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..machine import PackedSequences, ProgressCallback
from .fallback_rules import RULES, PairBatch, Predecessors
from .program import Program

# padded values of the pairs that are taken at once: 32 MB, and a diagonal of all of them far less
_MAX_VALUES = 1 << 22


class Diagonal(NamedTuple):
    """One anti-diagonal of the bordered program: `total` (pair, n + 1) at rows −1 … n − 1, inf if there is none."""

    total: torch.Tensor
    steps: torch.Tensor  # on the best path; if values may be missing, its cells without data, < 0 where it ends in one
    way: torch.Tensor  # 0 diagonal, 1 up, 2 left


@dataclass
class Wavefront:
    """The program over many pairs at once; iterate over `diagonals()`."""

    program: Program
    sides: PairBatch

    def __post_init__(self) -> None:
        self.rule = RULES[self.program.rule](self.program, self.sides)
        self.x_border, self.y_border = self._border(self.rule.x_edge), self._border(self.rule.y_edge)

    def _border(self, edges: torch.Tensor) -> torch.Tensor:
        """Row or column −1, (pair, time + 1)."""
        inside = edges.cumsum(1) if self.rule.has_border else torch.full_like(edges, torch.inf)
        return torch.cat([self.rule.start(), inside], 1)

    def diagonals(self) -> Iterator[tuple[int, Diagonal]]:
        """(d, diagonal) with cells (i, d − i − 2); the first is the corner alone."""
        n, m = self.sides.x.shape[1], self.sides.y.shape[1]
        blocked = torch.full_like(self.x_border, torch.inf)
        none = torch.zeros_like(blocked)
        older = newer = Diagonal(blocked, none, none)
        rows = torch.arange(-1, n, device=blocked.device)
        for d in range(n + m + 1):
            columns = d - 2 - rows
            cells = self._cells(rows, columns, newer, older)
            on_left, on_top = columns == -1, rows == -1
            border = torch.where(on_left, self.x_border, self.y_border[:, (columns + 1).clamp(0, m)])
            valid = (columns >= -1) & (columns < m)
            total = torch.where(on_left | on_top, border, cells.total)
            total = torch.where(valid, total, blocked)
            steps = torch.where(on_left | on_top, none, cells.steps)
            older, newer = newer, Diagonal(total, steps, cells.way)
            yield d, newer

    def _cells(self, rows: torch.Tensor, columns: torch.Tensor, newer: Diagonal, older: Diagonal) -> Diagonal:
        i, j = rows.clamp(0), columns.clamp(0, self.sides.y.shape[1] - 1)
        totals = torch.stack(
            self.rule.moves(i, j, Predecessors(_shift_down(older.total), _shift_down(newer.total), newer.total))
        )
        counts = torch.stack([_shift_down(older.steps), _shift_down(newer.steps), newer.steps])
        if self.rule.allows_missing:
            has_data = self.rule.has_data(i, j)
            totals[1:] = torch.where(has_data & (counts[1:] >= 0), totals[1:], torch.inf)
            counts = counts.abs()
        total = totals.amin(0)
        if self.program.counted or self.rule.allows_missing:
            # of two paths that cost the same the one with less to count wins, as in the kernels
            counts = torch.where(totals == total, counts, torch.inf)
            way = counts.argmin(0)
        else:
            way = totals.argmin(0)
        steps = counts.gather(0, way[None])[0]
        steps = torch.where(has_data, steps, -(steps + 1)) if self.rule.allows_missing else steps + 1
        inside = (columns >= self.sides.lo[:, i]) & (columns <= self.sides.hi[:, i])
        return Diagonal(torch.where(inside, self.rule.value(i, j, total), torch.inf), steps, way)

    def scale_totals(self, total: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        """Last cells as the program gives them: divided by the steps, or scaled up to what could not be compared."""
        if self.rule.allows_missing:
            both = (self.sides.lengths[0] + self.sides.lengths[1]).to(total.dtype)
            return total * (both / (both - 2 * steps.abs()))
        return total / steps if self.program.counted else total


def _shift_down(diagonal: torch.Tensor) -> torch.Tensor:
    """Entry i becomes entry i − 1's."""
    return torch.cat([torch.full_like(diagonal[:, :1], torch.inf), diagonal[:, :-1]], 1)


def totals(program: Program, sides: PairBatch) -> torch.Tensor:
    """The last cell of every pair, (pair,), finished. Padding is never read into it."""
    n, m = sides.lengths
    result = sides.x.new_full((len(sides.x),), torch.inf)
    wave = Wavefront(program, sides)
    for d, diagonal in wave.diagonals():
        done = n + m == d  # a pair's last cell is on a diagonal of its own lengths, before any padding is met
        if done.any():
            last = wave.scale_totals(*(part.gather(1, n[:, None])[:, 0] for part in (diagonal.total, diagonal.steps)))
            result = torch.where(done, last, result)
    return result


def pairwise(
    program: Program,
    x: PackedSequences,
    y: PackedSequences,
    *,
    symmetric: bool,
    out: NDArray[Any],
    report: ProgressCallback,
) -> None:
    """The program over all pairs into `out`."""
    rows, columns = np.triu_indices(len(out)) if symmetric else np.indices(out.shape).reshape(2, -1)
    size = max(1, _MAX_VALUES // int((x.lengths.max() + y.lengths.max()) * x.values.shape[1]))
    for begin in range(0, len(rows), size):
        i, j = rows[begin : begin + size], columns[begin : begin + size]
        out[i, j] = block = totals(program, _make_batch(program, x, y, i, j)).numpy()
        if symmetric:
            out[j, i] = block
        if report is not None:
            report(begin + len(i), len(rows))


def _make_batch(
    program: Program, x: PackedSequences, y: PackedSequences, i: NDArray[np.int64], j: NDArray[np.int64]
) -> PairBatch:
    n, m = x.lengths[i], y.lengths[j]
    # a band that no pair reaches beyond its own lengths; rows past the end of a pair are padding
    lo, hi = np.zeros((len(i), n.max()), np.int64), np.full((len(i), n.max()), m.max())
    for a, b in np.unique(np.stack([n, m]), axis=1).T:
        same = (n == a) & (m == b)
        lo[same, :a], hi[same, :a] = program.band.bounds(int(a), int(b))
    limits = (np.zeros(len(x.lengths)), np.zeros(len(y.lengths))) if program.thresholds is None else program.thresholds
    threshold = np.maximum(limits[0][i], limits[1][j]).astype(x.values.dtype)
    one, two, *band = (torch.from_numpy(part) for part in (x.pad_items(i), y.pad_items(j), lo, hi, threshold[:, None]))
    return PairBatch(one, two, (torch.from_numpy(n), torch.from_numpy(m)), *band)


def _single_wavefront(program: Program, x: NDArray[Any], y: NDArray[Any]) -> Wavefront:
    only = np.zeros(1, np.int64)
    return Wavefront(
        program, _make_batch(program, PackedSequences.from_sequence(x), PackedSequences.from_sequence(y), only, only)
    )


def _iterate_diagonals(wave: Wavefront) -> Iterator[tuple[NDArray[np.int64], int, Diagonal]]:
    """The diagonals of one pair that have cells, with their rows."""
    n, m = wave.sides.x.shape[1], wave.sides.y.shape[1]
    for d, diagonal in wave.diagonals():
        rows = np.arange(max(0, d - m - 1), min(n, d - 1))
        if len(rows):
            yield rows, d, diagonal


def matrix(program: Program, x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
    """All cells of one pair's program into `out` (n, m)."""
    for rows, d, diagonal in _iterate_diagonals(_single_wavefront(program, x, y)):
        out[rows, d - 2 - rows] = diagonal.total[0, rows + 1].numpy()


def path(program: Program, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """One pair with its path; ties prefer the diagonal, then the step in x, as in the compiled kernel."""
    ways = np.zeros((len(x), len(y)), np.int8)
    total, wave = 0.0, _single_wavefront(program, x, y)
    for rows, d, diagonal in _iterate_diagonals(wave):
        ways[rows, d - 2 - rows] = diagonal.way[0, rows + 1].numpy()
        total = float(wave.scale_totals(diagonal.total[:, -1], diagonal.steps[:, -1]))
    i, j = len(x) - 1, len(y) - 1
    steps = [(i, j)]
    while i or j:
        way = 1 if j == 0 else 2 if i == 0 else ways[i, j]  # on the border only one way is left
        i, j = i - (way != 2), j - (way != 1)
        steps.append((i, j))
    return np.array(steps[::-1], np.int64), total

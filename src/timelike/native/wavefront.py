"""The same recurrences in torch: all cells of an anti-diagonal at once, for a batch of pairs, on any device.

It stands in for the compiled kernels where there are none, runs where they cannot (other devices, autograd), and is
the independent check of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .buffers import Steps, Window

_BATCH_VALUES = 1 << 22  # padded values of one batch of pairs


def _cell_costs(x: torch.Tensor, y: torch.Tensor, cost: str) -> torch.Tensor:
    difference = x - y
    if cost == "manhattan":
        return difference.abs().sum(-1)
    squares = (difference * difference).sum(-1)
    return squares.sqrt() if cost == "euclidean" else squares


def diagonals(
    x: torch.Tensor, y: torch.Tensor, radius: torch.Tensor, cost: str
) -> Iterator[tuple[int, int, torch.Tensor]]:
    """Anti-diagonals of the program for x (pair, n, channel), y (pair, m, channel), radius (pair,).

    Yields (d, first, cells): `cells` (pair, k) are D(i, d − i) for i = first, first + 1, …
    """
    n, m = x.shape[1], y.shape[1]
    backwards = y.flip(1)  # so that j = d − i runs along with i
    inf = torch.tensor(torch.inf, dtype=x.dtype, device=x.device)
    older = newer = x.new_full((len(x), 0), torch.inf)
    older_first = newer_first = 0
    for d in range(n + m - 1):
        first, last = max(0, d - m + 1), min(n - 1, d)
        here = slice(m - 1 - d + first, m - d + last)
        costs = _cell_costs(x[:, first : last + 1], backwards[:, here], cost)
        if d == 0:
            best = torch.zeros_like(costs)
        else:
            left = _shifted(newer, newer_first, first, last, inf)
            above = _shifted(newer, newer_first, first - 1, last - 1, inf)
            corner = _shifted(older, older_first, first - 1, last - 1, inf)
            best = torch.minimum(torch.minimum(left, corner), above)
        rows = torch.arange(first, last + 1, device=x.device)
        cells = torch.where((2 * rows - d).abs() <= radius[:, None], costs + best, inf)
        yield d, first, cells
        older, older_first, newer, newer_first = newer, newer_first, cells, first


def _shifted(diagonal: torch.Tensor, begin: int, first: int, last: int, inf: torch.Tensor) -> torch.Tensor:
    """Entries for rows first..last of a diagonal whose rows begin at `begin`; inf where it has none."""
    end = begin + diagonal.shape[1] - 1
    inner = diagonal[:, max(first, begin) - begin : min(last, end) - begin + 1]
    before, after = max(0, min(begin, last + 1) - first), max(0, last - max(end, first - 1))
    if not (before or after):
        return inner
    edge = inf.expand(len(diagonal), before + after)
    return torch.cat([edge[:, :before], inner, edge[:, before:]], dim=1)


def dtw(
    x: torch.Tensor,
    y: torch.Tensor,
    x_lengths: torch.Tensor,
    y_lengths: torch.Tensor,
    radius: torch.Tensor,
    cost: str = "sqeuclidean",
) -> torch.Tensor:
    """DTW of every pair of a padded batch, (pair,). Padding is never read into a result."""
    result = x.new_full((len(x),), torch.inf)
    last_diagonal = x_lengths + y_lengths - 2
    for d, first, cells in diagonals(x, y, radius, cost):
        done = last_diagonal == d
        if done.any():
            column = (x_lengths - 1 - first).clamp(0, cells.shape[1] - 1)
            result = torch.where(done, cells.gather(1, column[:, None])[:, 0], result)
    return result


def dtw_pairwise(
    x: Steps,
    y: Steps,
    *,
    symmetric: bool,
    window: Window,
    cost: str,
    out: NDArray[Any],
    report: Callable[[int, int], None] | None,
) -> None:
    """The pairwise kernel on the torch executor; arguments as for the compiled one."""
    rows, columns = np.triu_indices(len(out)) if symmetric else np.indices(out.shape).reshape(2, -1)
    size = max(1, _BATCH_VALUES // int((x.lengths.max() + y.lengths.max()) * x.values.shape[1]))
    for begin in range(0, len(rows), size):
        i, j = rows[begin : begin + size], columns[begin : begin + size]
        n, m = x.lengths[i], y.lengths[j]
        lengths = torch.from_numpy(n), torch.from_numpy(m)
        radius = torch.from_numpy(window.radius(n, m))
        out[i, j] = found = dtw(_padded(x, i), _padded(y, j), *lengths, radius, cost).numpy()
        if symmetric:
            out[j, i] = found
        if report is not None:
            report(begin + len(i), len(rows))


def _padded(steps: Steps, items: NDArray[np.int64]) -> torch.Tensor:
    lengths = steps.lengths[items, None]
    return torch.from_numpy(steps.values[np.minimum(np.arange(lengths.max()), lengths - 1) + steps.starts[items, None]])


def dtw_path(x: NDArray[Any], y: NDArray[Any], *, window: Window, cost: str) -> tuple[NDArray[np.int64], float]:
    """One pair with its path; ties prefer the diagonal, then the step in x, as in the compiled kernel."""
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    radius = torch.from_numpy(np.atleast_1d(window.radius(n, m)))
    for d, first, cells in diagonals(torch.tensor(x)[None], torch.tensor(y)[None], radius, cost):
        rows = np.arange(first, first + cells.shape[1])
        table[rows + 1, d - rows + 1] = cells[0].numpy()
    i, j, steps = n, m, [(n - 1, m - 1)]
    while (i, j) != (1, 1):
        ways = ((i - 1, j - 1), (i - 1, j), (i, j - 1))
        i, j = min(ways, key=lambda way: table[way])
        steps.append((i - 1, j - 1))
    return np.array(steps[::-1], np.int64), float(table[n, m])

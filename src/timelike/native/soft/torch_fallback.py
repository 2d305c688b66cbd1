"""The soft-DTW kernels in torch: all cells of an anti-diagonal at once, for many pairs, on any device.

It runs where the kernels cannot and torch takes the derivatives; arrays have fallback.py, which needs no torch.
Diagonals are (pair, n + 1): entry i + 1 is the cell in row i, entry 0 what is before the first row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from . import Lengths, SoftMinimum


def costs(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Squared distances of all frames, channel after channel, so that no (pair, n, m, channel) is made."""
    total = x.new_zeros(len(x), x.shape[1], y.shape[1])
    for channel in range(x.shape[2]):
        difference = x[:, :, None, channel] - y[:, None, :, channel]
        total += difference * difference
    return total


def frame_gradients(weights: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of ⟨weights, costs(x, y)⟩ by x and by y, itself differentiable."""
    origin = x[:, :1].detach()  # costs know only differences: a common offset would cost digits
    x, y = x - origin, y - origin
    by_x = x * weights.sum(2, keepdim=True) - weights @ y
    by_y = y * weights.sum(1)[:, :, None] - weights.transpose(1, 2) @ x
    return 2 * by_x, 2 * by_y


def band_mask(soft: SoftMinimum, shape: torch.Size, n: Lengths, m: Lengths) -> torch.Tensor:
    """The cells (pair, n, m) that may be visited."""
    cells = np.zeros(tuple(shape), bool)
    columns = np.arange(shape[2])
    for a, b in np.unique(np.stack([n, m], 1), axis=0).tolist():
        lo, hi = soft.band.bounds(a, b)
        cells[(n == a) & (m == b), :a] = (columns >= lo[:, None]) & (columns <= hi[:, None])
    return torch.from_numpy(cells)


class _SoftWavefront:
    """The recurrence over many pairs at once: `diagonals`, of which the first two are the border."""

    def __init__(self, soft: SoftMinimum, costs: torch.Tensor, n: Lengths, m: Lengths) -> None:
        self.gamma = max(soft.gamma, torch.finfo(costs.dtype).tiny)  # 0 · inf is not a number
        self.largest = torch.finfo(costs.dtype).max
        self.shape = costs.shape
        self.inside = band_mask(soft, costs.shape, n, m).to(costs.device)
        self.last_rows = torch.tensor(n, device=costs.device)
        self.last = torch.tensor(n + m - 2, device=costs.device)
        self.diagonals = self._border(costs, torch.inf)
        for cost in self._skew(torch.where(self.inside, costs, torch.inf)):
            self.diagonals.append(self._prepend_border(cost + self._soft_minimum(self._neighbors(self.diagonals))))

    def _border(self, like: torch.Tensor, value: float) -> list[torch.Tensor]:
        outside = like.new_full((self.shape[0], self.shape[1] + 1), value)
        corner = outside.clone()
        corner[:, 0] = 0
        return [corner, outside]

    def _prepend_border(self, cells: torch.Tensor, value: float = torch.inf) -> torch.Tensor:
        return torch.nn.functional.pad(cells, (1, 0), value=value)

    def _skew(self, matrices: torch.Tensor, outside: float = torch.inf) -> torch.Tensor:
        """(diagonal, pair, n) from (pair, n, m)."""
        _, n, m = self.shape
        # rows of n + m columns, read as rows of n + m − 1: each begins one further to the right
        padded = torch.nn.functional.pad(matrices, (0, n), value=outside).reshape(len(matrices), n * (n + m))
        return padded[:, : n * (n + m - 1)].reshape(len(matrices), n, n + m - 1).permute(2, 0, 1)

    def _unskew(self, diagonals: list[torch.Tensor]) -> torch.Tensor:
        """(pair, n, m) from diagonals (pair, n)."""
        _, n, m = self.shape
        rows, columns = torch.arange(n, device=self.last.device)[:, None], torch.arange(m, device=self.last.device)
        return torch.stack(diagonals)[rows + columns, :, rows].permute(2, 0, 1).contiguous()

    @staticmethod
    def _neighbors(diagonals: list[torch.Tensor], d: int = -1) -> torch.Tensor:
        """The neighbours of diagonal d (3, pair, n): corner, above, left; by default of the one to come."""
        older, newer = diagonals[-2:] if d < 0 else diagonals[d : d + 2]
        return torch.stack([older[:, :-1], newer[:, :-1], newer[:, 1:]])

    def _soft_minimum(self, ways: torch.Tensor) -> torch.Tensor:
        low = ways.amin(0).clamp(-self.largest, self.largest)  # inf − inf is not a number
        return low - self.gamma * ((low - ways) / self.gamma).exp().sum(0).log()

    def _way_weights(self, d: int) -> torch.Tensor:
        ways = self._neighbors(self.diagonals, d)
        weights = ((ways.amin(0).clamp(max=self.largest) - ways) / self.gamma).exp()
        return weights / weights.sum(0).clamp(min=1)  # the least has the weight 1: less only where all ways are closed

    def totals(self) -> torch.Tensor:
        ends = torch.stack(self.diagonals[2:])
        return ends[self.last, torch.arange(len(self.last), device=ends.device), self.last_rows]

    def _end_mask(self, d: int, like: torch.Tensor) -> torch.Tensor:
        rows = torch.arange(self.shape[1], device=like.device)
        return ((self.last == d)[:, None] & (rows == self.last_rows[:, None] - 1)).to(like.dtype)

    @staticmethod
    def _gather_flow(after: torch.Tensor, beyond: torch.Tensor) -> torch.Tensor:
        """What flows into a diagonal from the two after it, each (corner, above, left)."""
        up = torch.nn.functional.pad(beyond[0, :, 1:] + after[1, :, 1:], (0, 1))
        return after[2] + up

    def visits(self) -> torch.Tensor:
        like = self.diagonals[0]
        after = beyond = like.new_zeros(3, self.shape[0], self.shape[1])
        diagonals = []
        for d in reversed(range(len(self.diagonals) - 2)):
            here = self._gather_flow(after, beyond) + self._end_mask(d, like)
            after, beyond = here * self._way_weights(d), after
            diagonals.append(here)
        return self._unskew(diagonals[::-1])

    def hessian_product(self, direction: torch.Tensor) -> torch.Tensor:
        steps = self._skew(torch.where(self.inside, direction, 0.0), 0.0)
        slopes = self._border(direction, 0.0)
        for d, step in enumerate(steps):
            slopes.append(self._prepend_border(step + (self._way_weights(d) * self._neighbors(slopes)).sum(0), 0.0))
        after = beyond = turned = turned_beyond = direction.new_zeros(3, self.shape[0], self.shape[1])
        diagonals = []
        for d in reversed(range(len(steps))):
            here = self._gather_flow(after, beyond) + self._end_mask(d, direction)
            turning = self._gather_flow(turned, turned_beyond)
            shares, slope = self._way_weights(d), self._neighbors(slopes, d)
            pull = here * ((shares * slope).sum(0) - slope) / self.gamma
            after, beyond = here * shares, after
            turned, turned_beyond = shares * (turning + pull), turned
            diagonals.append(turning)
        return self._unskew(diagonals[::-1])


def totals(soft: SoftMinimum, costs: torch.Tensor, n: Lengths, m: Lengths) -> torch.Tensor:
    """Soft-DTW of every pair, (pair,)."""
    return _SoftWavefront(soft, costs, n, m).totals()


def visits(soft: SoftMinimum, costs: torch.Tensor, n: Lengths, m: Lengths) -> tuple[torch.Tensor, torch.Tensor]:
    """Soft-DTW (pair,) and the expected visits (pair, n, m)."""
    wave = _SoftWavefront(soft, costs, n, m)
    return wave.totals(), wave.visits()


def hessian_product(
    soft: SoftMinimum, costs: torch.Tensor, direction: torch.Tensor, n: Lengths, m: Lengths
) -> torch.Tensor:
    """The Hessian by the costs times `direction`."""
    return _SoftWavefront(soft, costs, n, m).hessian_product(direction)

"""The rivals of table 1: feature extractors, what each method minimises, and how features become a warp.

Everything that decides comes from timelike: DTW and `subsequence`, `nn.DecDTW` (whose forward pass is GDTW),
`nn.SoftDTW`, `nn.DILATE` and the path losses. The one thing written here is soft-DTW with free ends, for OTAM and for
DILATE on a query inside a reference: `soft_subsequence`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from benchmarks.papers.decdtw.tasks import Pairs, Task
from torch import Tensor, nn

from timelike.align import DTW, layers, subsequence  # `timelike.nn` loads every network, and rows would age with them
from timelike.align.layers import MaxError, Positions, TimeDev, TimeErr

GRID = 256  # values per knot: the paper takes as many as y has steps (128 at most here), the layer alone many more

# --- feature extractors


class Base(nn.Module):
    """The features as they are."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x, y


class Recurrent(nn.Module):
    """A bidirectional GRU of one layer on each side, equal at the start, outputs of unit length (appendix A.4).

    It sees every channel of each side with mean 0 and deviation 1/3 over the training pairs: a net that starts where
    its units are nearly linear keeps what the features are worth.
    """

    def __init__(self, pairs: Pairs, width: int) -> None:
        super().__init__()
        self.of_x = nn.GRU(pairs.x.shape[-1], width // 2, batch_first=True, bidirectional=True)
        self.of_y = copy.deepcopy(self.of_x)
        self.usual = [(side.mean(dim=(0, 1)), 3 * side.std(dim=(0, 1)).clamp(min=1e-6)) for side in (pairs.x, pairs.y)]

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        (x_mean, x_std), (y_mean, y_std) = self.usual
        x, _ = self.of_x((x - x_mean) / x_std)
        y, _ = self.of_y((y - y_mean) / y_std)
        return nn.functional.normalize(x, dim=-1), nn.functional.normalize(y, dim=-1)


class Frames(nn.Module):
    """The same net on every frame of both sides, which starts as the identity: fine-tuning, as in section 7.2."""

    def __init__(self, pairs: Pairs, width: int) -> None:
        super().__init__()
        channels = pairs.x.shape[-1]
        last = nn.Linear(width, channels)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(nn.Linear(channels, width), nn.ReLU(), last)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return nn.functional.normalize(x + self.net(x), dim=-1), nn.functional.normalize(y + self.net(y), dim=-1)


# --- features → warp


def dtw_warps(x: Tensor, y: Tensor, free_ends: bool) -> Tensor:
    """Of the best path: where each step of x is matched, the mean where it is matched with several."""
    return torch.stack([torch.tensor(_dtw_warp(a, b, free_ends)) for a, b in zip(x, y, strict=True)])


def _dtw_warp(x: Tensor, y: Tensor, free_ends: bool) -> Any:
    query, stream, start = x.double().numpy(), y.double().numpy(), 0
    if free_ends:
        found = subsequence(query, stream)[0]
        stream, start = stream[found.start : found.stop], found.start
    path = DTW().align(query, stream).path
    assert path is not None
    i, j = path.T
    return start + np.bincount(i, j) / np.bincount(i)


def gdtw_warps(x: Tensor, y: Tensor, free_ends: bool, weight: float) -> Tensor:
    """The continuous warps of all pairs; only the forward pass, in float64."""
    layer = layers.DecDTW(regularization=weight, subsequence=free_ends, grid=GRID)
    x, y = x.double(), y.double()
    with torch.no_grad():
        return torch.cat([layer(x[i : i + 32], y[i : i + 32]).phi for i in range(0, len(x), 32)])


# --- warp → how good it is


def path_loss(phi: Tensor, pairs: Pairs) -> Tensor:
    """What DecDTW is trained on: TimeErr in y's steps, or the largest squared distance on the ground."""
    if pairs.y_place is None:
        error: Tensor = TimeErr()(phi, pairs.truth)
        return error
    largest: Tensor = MaxError(squared=True)(phi, pairs.x_place, through=Positions(pairs.y_place))
    return largest / 25  # in steps of 5 m


def metrics(phi: Tensor, pairs: Pairs, task: Task) -> dict[str, list[float]]:
    """Per pair, in the task's unit; the first is what everything is selected by."""
    if pairs.y_place is None:
        truth = pairs.truth.to(phi.dtype)
        return {
            "TimeErr": (TimeErr()(phi, truth) * pairs.scale).tolist(),
            "TimeDev": (TimeDev()(phi, truth) * pairs.scale).tolist(),
        }
    assert pairs.x_place is not None
    where = Positions(pairs.y_place.to(phi.dtype))
    apart = (where(phi) - pairs.x_place).norm(dim=-1)
    return {"max error": apart.amax(dim=1).tolist(), "mean error": apart.mean(dim=1).tolist()}


def penalty(pairs: Pairs) -> Tensor:
    """DILATE's Ω (pair, step of x, step of y): how wrong a match is, |j − φ*(i)| or the squared distance in metres.

    In y's steps of the whole, respectively in units of the reference's spacing, so that a penalty is of order one.
    """
    if pairs.x_place is not None and pairs.y_place is not None:
        return torch.cdist(pairs.x_place, pairs.y_place).square() / 25
    steps = torch.arange(pairs.y.shape[1], dtype=pairs.truth.dtype)
    return (steps - pairs.truth.unsqueeze(-1)).abs()


# --- what a method minimises: (features of x, features of y, pairs) → (pair,)

Loss = Callable[[Tensor, Tensor, Pairs], Tensor]


class Weight(nn.Module):
    """λ, constant or learned beside the features."""

    def __init__(self, value: float, learned: bool) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.tensor(math.log(value)), requires_grad=learned)

    def __float__(self) -> float:
        return math.exp(self.log.item())

    def forward(self) -> Tensor:
        return self.log.exp()


def soft_dtw(task: Task, weight: Weight) -> Loss:
    """The soft-DTW discrepancy, γ = 1; with free ends it is OTAM's."""
    if task.free_ends:
        return lambda x, y, pairs: soft_subsequence(torch.cdist(x, y).square(), 1.0)
    layer = layers.SoftDTW(gamma=1.0)
    return lambda x, y, pairs: layer(x, y)


def along_truth(task: Task, weight: Weight) -> Loss:
    """The mean cost of the features along the true warp."""
    return lambda x, y, pairs: (x - Positions(y)(pairs.truth)).square().sum(dim=-1).mean(dim=1)


def dilate(task: Task, weight: Weight) -> Loss:
    """DILATE with α = 0 and γ = 0.1: the expected penalty Ω of the soft alignment."""
    if task.free_ends:
        return _free_dilate
    layer = layers.DILATE(alpha=0.0, gamma=0.1)
    return lambda x, y, pairs: layer(x, y, omega=penalty(pairs)) / x.shape[1]


def _free_dilate(x: Tensor, y: Tensor, pairs: Pairs) -> Tensor:
    costs = torch.cdist(x, y).square()
    with torch.enable_grad():
        total = soft_subsequence(costs, 0.1).sum()
        (expected,) = torch.autograd.grad(total, costs, create_graph=True)
    return (expected * penalty(pairs)).sum(dim=(1, 2)) / x.shape[1]


def decdtw(task: Task, weight: Weight) -> Loss:
    """The error of the warp itself, through the layer."""

    def loss(x: Tensor, y: Tensor, pairs: Pairs) -> Tensor:
        layer = layers.DecDTW(regularization=weight(), subsequence=task.free_ends, grid=GRID)
        return path_loss(layer(x, y).phi, pairs)

    return loss


def soft_subsequence(costs: Tensor, gamma: float) -> Tensor:
    """Soft-DTW of x inside y, costs (pair, n, m) → (pair,): the first and the last step of y are free.

    R(i, j) = c(i, j) + softmin(R(i−1, j), R(i, j−1), R(i−1, j−1)), R(0, j) = 0, and the value is softmin_j R(n, j)
    (Cao et al., CVPR 2020). OTAM, and the code of Xu et al., pad the costs with a column of zeros before and after
    instead, where steps of x can hide at no cost; here every step of x is matched. Diagonal by diagonal.
    """
    batch, n, m = costs.shape
    far = torch.full((batch, 1), 1e8, dtype=costs.dtype)
    zero = torch.zeros((batch, 1), dtype=costs.dtype)
    rows = torch.arange(1, n + 1)
    before = previous = torch.cat([zero, far.expand(-1, n)], dim=1)
    ends = []
    for k in range(2, n + m + 1):  # cells (i, k − i), counted from 1; entry 0 is the free start R(0, k)
        columns = k - rows
        inside = (columns >= 1) & (columns <= m)
        cost = costs[:, rows - 1, columns.clamp(1, m) - 1]
        choices = torch.stack([previous[:, :-1], previous[:, 1:], before[:, :-1]])
        value = (cost - gamma * torch.logsumexp(-choices / gamma, dim=0)).where(inside, far)
        before, previous = previous, torch.cat([zero, value], dim=1)
        if 1 <= k - n <= m:
            ends.append(value[:, -1])
    return -gamma * torch.logsumexp(-torch.stack(ends) / gamma, dim=0)


@dataclass(frozen=True)
class Method:
    """A column of table 1: the alignment that its features are selected by, and its loss (None: nothing is learned)."""

    name: str
    aligner: str
    loss: Callable[[Task, Weight], Loss] | None = None
    rate: float = 1e-3
    learns_weight: bool = False


METHODS = {
    "base-dtw": Method("Base (D)", "DTW"),
    "base-gdtw": Method("Base (G)", "GDTW"),
    "soft-dtw": Method("Soft-DTW", "DTW", soft_dtw),
    "along-truth": Method("Along GT", "DTW", along_truth),
    "dilate": Method("DILATE", "DTW", dilate),
    "decdtw": Method("DecDTW", "GDTW", decdtw),
    "decdtw-weight": Method("DecDTW, λ learned too", "GDTW", decdtw, learns_weight=True),
}

"""What the authors left open: λ, the slopes and the bounds of GDTW learned from true warps, on features as they are.

"… we presented methodology for allowing regularisation and constraints to be learnable parameters in a deep network
but did not explore this in our experiments" (Xu et al., section 8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from benchmarks.papers.decdtw.methods import GRID, metrics, path_loss
from benchmarks.papers.decdtw.tasks import Pairs, Task
from benchmarks.papers.decdtw.training import Say, Settings, Trained, descended, first_metric
from torch import Tensor, nn

from timelike.align import layers


class Scalar(nn.Module):
    """One λ for everything; it starts twenty times too large."""

    def __init__(self, channels: int, weight: float) -> None:
        super().__init__()
        self.log_weight = nn.Parameter(torch.tensor(float(np.log(20 * weight))))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return _solved(x, y, self.log_weight.exp())

    def learned(self) -> dict[str, float]:
        return {"λ": self.log_weight.exp().item()}


class Constrained(nn.Module):
    """λ, the two slopes, and how far φ may leave the diagonal, at nine points in time; all start far too tight.

    Every set of parameters admits the diagonal, so that no step can make a problem infeasible.
    """

    def __init__(self, channels: int, weight: float) -> None:
        super().__init__()
        self.log_weight = nn.Parameter(torch.tensor(float(np.log(weight))))
        self.low = nn.Parameter(torch.tensor(0.85))  # sigmoid → 0.70
        self.high = nn.Parameter(torch.tensor(-0.7))  # 1 + softplus → 1.40
        self.widths = nn.Parameter(torch.full((9,), -4.0))  # sigmoid, of y's length → 0.02

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        knots, last = x.shape[1], y.shape[1] - 1.0
        width = nn.functional.interpolate(self.widths.sigmoid()[None, None], knots, mode="linear", align_corners=True)
        diagonal = torch.linspace(0, last, knots, dtype=x.dtype)
        bounds = tuple((diagonal + sign * last * width[0, 0]).clamp(0, last) for sign in (-1, 1))
        slope = (self.low.sigmoid(), 1 + nn.functional.softplus(self.high))
        return _solved(x, y, self.log_weight.exp(), slope=slope, bounds=bounds)

    def learned(self) -> dict[str, float]:
        with torch.no_grad():
            found = {"λ": self.log_weight.exp(), "s_min": self.low.sigmoid()}
            found["s_max"] = 1 + nn.functional.softplus(self.high)
            found["band, share of y"] = self.widths.sigmoid().mean()
        return {name: v.item() for name, v in found.items()}


class Contextual(nn.Module):
    """A λ for every interval, read off x's features and how fast they change; it starts as the best constant."""

    def __init__(self, channels: int, weight: float) -> None:
        super().__init__()
        last = nn.Linear(32, 1)
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, float(np.log(weight)))
        self.net = nn.Sequential(nn.Conv1d(2 * channels, 32, 5, padding=2), nn.ReLU())
        self.last = last

    def weights(self, x: Tensor) -> Tensor:
        seen = torch.cat([(x[:, 1:] + x[:, :-1]) / 2, 4 * x.diff(dim=1).abs()], dim=-1)
        logs: Tensor = self.last(self.net(seen.transpose(1, 2)).transpose(1, 2)).squeeze(-1)
        return logs.clamp(-9, 6).exp()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return _solved(x, y, self.weights(x))

    def learned(self) -> dict[str, float]:
        return {}


def _solved(x: Tensor, y: Tensor, weight: Tensor, **limits: Any) -> Tensor:
    phi: Tensor = layers.DecDTW(regularization=weight, grid=GRID, **limits)(x, y).phi
    return phi


OPEN: dict[str, tuple[str, Callable[[int, float], nn.Module], float]] = {
    "scalar": ("one λ", Scalar, 0.1),
    "constraints": ("λ, slopes and bounds", Constrained, 0.1),
    "context": ("λ of each interval, from the features", Contextual, 1e-3),
}


def validated(net: nn.Module, pairs: Pairs, task: Task) -> dict[str, list[float]]:
    with torch.no_grad():
        parts = [pairs[i : i + 32] for i in range(0, len(pairs), 32)]
        phi = torch.cat([net(part.x, part.y) for part in parts])
    return metrics(phi.double(), pairs, task)


def learn(task: Task, name: str, seed: int, weight: float, epochs: int, say: Say) -> Trained:
    """Adam on the path loss with respect to the problem's own parameters."""
    _, make, rate = OPEN[name]
    torch.manual_seed(seed)
    net = make(task.train.x.shape[-1], weight)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    settings = Settings(epochs=epochs, batch=16, patience=epochs)

    def loss(some: Pairs) -> Tensor:
        return path_loss(net(some.x, some.y), some)

    def validate() -> float:
        return first_metric(validated(net, task.val, task))

    return descended(net, net, loss, optimizer, validate, task, seed, settings, say)

"""How fast the differentiable alignments are, beside their peers in the same run.

    python -m benchmarks.speed.differentiable
    python -m benchmarks.speed.differentiable --only soft-batch --threads 2
    python -m benchmarks.speed.differentiable --markdown benchmarks/results/differentiable.md

Peers: tslearn's PyTorch loss for soft-DTW; for warps in continuous time the `gdtw` package at its defaults, and the
dynamic program of the DecDTW paper written with torch, all moves of a knot in one matrix, which is how the authors'
layer works; for transport a loop over POT. A time is the best of five or more after a first call that does not
count.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor

import timelike as tl
from benchmarks.speed import THREADS, table, timing
from benchmarks.speed.random_walks import walks
from benchmarks.speed.soft_dtw import peak
from benchmarks.speed.table import Row, arguments, at_most, milliseconds, page, setting, shown

best = partial(timing.best, lasting=0.5)
against = partial(table.against, said=milliseconds)


# --- soft-DTW


def soft_batch() -> Row:
    from tslearn.metrics import SoftDTWLossPyTorch

    rng = np.random.default_rng(0)
    x, y = (torch.tensor(walks(rng, 32, 128, 9), dtype=torch.float32) for _ in range(2))
    peer, ours = SoftDTWLossPyTorch(gamma=1.0), tl.nn.SoftDTW(gamma=1.0)

    def run(loss: Any) -> Tensor:
        first, second = x.clone().requires_grad_(), y.clone().requires_grad_()
        loss(first, second).sum().backward()
        assert first.grad is not None
        return first.grad

    seconds = best(lambda: run(ours))  # first: numba's threads stay awake for a while
    torch.testing.assert_close(run(ours), run(peer), rtol=1e-3, atol=1e-3)
    work = "soft-DTW forward + backward, 32 × length 128 × 9 channels, float32"
    return against(work, "tslearn's PyTorch loss", best(lambda: run(peer)), seconds, 20)


def soft_memory() -> Row:
    used = peak("tl.nn.SoftDTW(gamma=1.0)(x, y)", 4096)
    work = "soft-DTW forward + backward at length 4096, batch 1, float32: memory above the inputs"
    return Row(work, "–", "–", f"{used:.0f} MB", "–", "≤ 400 MB", used <= 400)


# --- warps in continuous time


def warp_pair(length: int, channels: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A walk and the same along a bent clock, with noise."""
    rng = np.random.default_rng(seed)
    x = walks(rng, length, channels)
    t = np.linspace(0, 1, length)
    y = np.stack([np.interp(t**1.3, t, x[:, c]) for c in range(channels)], 1)
    return x, y + 0.02 * rng.standard_normal(y.shape)


def by_all_moves(x: Tensor, y: Tensor, strength: float, size: int, passes: int = 4) -> Tensor:
    """The paper's program: every move between two knots in one matrix, grids ever closer around the best warp."""
    m, n = len(x), len(y)
    t = torch.linspace(0, 1, m, dtype=x.dtype)
    low, high = torch.zeros(m, dtype=x.dtype), torch.ones(m, dtype=x.dtype)
    high[0], low[-1] = 0, 1
    first_low, first_high = low.clone(), high.clone()
    step = 1 / (m - 1)
    weights = torch.full((m,), step, dtype=x.dtype)
    weights[[0, -1]] /= 2
    share = torch.linspace(0, 1, size, dtype=x.dtype)
    phi = t
    for _ in range(passes):
        grid = low[:, None] + share * (high - low)[:, None]
        place = (grid * (n - 1)).clamp(0, n - 1)
        before = place.long().clamp(max=n - 2)
        part = (place - before)[..., None]
        at = (1 - part) * y[before] + part * y[before + 1]
        costs = weights[:, None] * (x[:, None] - at).square().sum(-1)
        best_so_far, came = costs[0], []
        for i in range(m - 1):
            slopes = (grid[i + 1][:, None] - grid[i]) / step
            moves = best_so_far + strength * step * (slopes - 1).square()
            moves = torch.where(slopes >= 0, moves, torch.inf)
            value, origin = moves.min(1)
            best_so_far = value + costs[i + 1]
            came.append(origin)
        j = best_so_far.argmin()
        path = [j]
        for origin in reversed(came):
            path.append(origin[path[-1]])
        phi = grid[torch.arange(m), torch.stack(path[::-1])]
        width = 0.125 * (high - low)
        low, high = torch.maximum(first_low, phi - width / 2), torch.minimum(first_high, phi + width / 2)
    return phi


def gdtw_channels() -> Row:
    x, y = (torch.tensor(side)[None] for side in warp_pair(256, 9))
    layer = tl.nn.DecDTW(regularization=0.1)
    with torch.no_grad():
        ours = best(lambda: layer(x, y))
        theirs = best(lambda: by_all_moves(x[0], y[0], 0.1, 256), 2)
        apart = (layer(x, y).phi[0] / 255 - by_all_moves(x[0], y[0], 0.1, 256)).abs().max()
    assert apart < 0.02, apart
    work = "GDTW forward, one pair of length 256 × 9 channels, float64"
    return against(work, "all moves in torch, M = 256, four passes", theirs, ours, 20)


def gdtw_package() -> Row:
    import gdtw

    x, y = warp_pair(1000, 1)
    theirs = best(lambda: gdtw.warp(x[:, 0], y[:, 0]), 2)
    ours = best(lambda: tl.GDTW(regularization=0.1).align(x, y))
    work = "GDTW forward, one univariate pair of length 1000"
    return against(work, f"gdtw {version('gdtw')} at its defaults", theirs, ours, 10)


def gdtw_grid() -> Row:
    x, y = warp_pair(256, 9)
    coarse, fine = (best(partial(tl.GDTW(regularization=0.1, grid=size).align, x, y)) for size in (1024, 2048))
    work = "GDTW forward, length 256 × 9 channels: M = 2048 beside M = 1024"
    return at_most(work, "ours, M = 1024", coarse, fine, 2.4)


def decdtw_backward() -> Row:
    x, y = (torch.tensor(side)[None] for side in warp_pair(256, 9))
    x.requires_grad_(), y.requires_grad_()
    strength = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    layer = tl.nn.DecDTW(regularization=strength)
    phi = layer(x, y).phi
    loss = phi.square().sum()
    forward = best(lambda: layer(x, y))
    backward = best(lambda: loss.backward(retain_graph=True))
    work = "DecDTW, length 256 × 9 channels: backward beside forward"
    return at_most(work, "ours, forward", forward, backward, 0.2)


# --- transport


def transport(metric: Any) -> Row:
    """POT on a sample of the pairs, see transport.py; random walks, on which it converges."""
    from benchmarks.speed.transport import measured  # needs POT, which the other rows do not

    theirs, ours, method, _ = measured(metric, "walks", 16, np.random.default_rng(0))
    work = f"{type(metric).__name__} pairwise, 64 × 64 pairs of length 64"
    return against(work, f"a loop over POT, {method}, a sample of 16 pairs", theirs, ours, 10)


JOBS: dict[str, Callable[[], Row]] = {
    "soft-batch": soft_batch,
    "soft-memory": soft_memory,
    "gdtw-channels": gdtw_channels,
    "gdtw-package": gdtw_package,
    "gdtw-grid": gdtw_grid,
    "decdtw-backward": decdtw_backward,
    "opw": lambda: transport(tl.OPW()),
    "sinkhorn": lambda: transport(tl.Sinkhorn()),
}


def main() -> None:
    options = arguments(__doc__, JOBS).parse_args()
    torch.set_num_threads(options.threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = shown(JOBS[name]() for name in options.only or JOBS)
    if options.markdown:
        command = "python -m benchmarks.speed.differentiable --markdown benchmarks/results/differentiable.md"
        machine = setting("timelike", "torch", "tslearn", "gdtw", "POT", "numpy")
        words = f"{machine}; {THREADS} thread(s) each. Best of several runs after one that does not count."
        options.markdown.write_text(page("Speed of the differentiable alignments", command, words, rows))


if __name__ == "__main__":
    main()

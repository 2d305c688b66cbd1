"""The coupled GRU beside two peers in torch, and on UCI HAR."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from benchmarks.speed.random_walks import float_walks
from benchmarks.speed.table import Row, against
from benchmarks.speed.timing import best, child
from torch import Tensor

from timelike.metric import CoupledNetwork

BLOCKS = (65536, 4096)  # pairs at once in the batched peer


def straight(network: CoupledNetwork, x: Tensor, y: Tensor) -> Tensor:
    """Pairs (pair, time, channel) by equations 8 to 13, every product where it is needed."""
    w = network

    def gates(inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        i_reset, i_update, i_new = (inputs @ w.weight_ih.T + w.bias_ih).chunk(3, -1)
        h_reset, h_update, h_new = (state @ w.weight_hh.T + w.bias_hh).chunk(3, -1)
        return torch.sigmoid(i_update + h_update), torch.tanh(i_new + torch.sigmoid(i_reset + h_reset) * h_new)

    first = second = x.new_zeros(len(x), w.hidden)
    for t in range(x.shape[1]):
        c = torch.sigmoid((first + second) @ w.weight_hc.T + w.bias_hc)
        (z, n), (other_z, other_n) = gates(x[:, t], first), gates(y[:, t], second)
        first, second = (
            (1 - z) * ((1 - c) * n + c * other_n) + z * first,
            (1 - other_z) * ((1 - c) * other_n + c * n) + other_z * second,
        )
    distances: Tensor = torch.linalg.vector_norm(first - second, dim=-1)
    return distances


def batched(network: CoupledNetwork, x: Tensor, y: Tensor, block: int) -> Tensor:
    rows = max(1, block // len(y))
    parts = []
    for some in torch.split(x, rows):
        pairs = some.repeat_interleave(len(y), 0), y.repeat(len(some), 1, 1)
        parts.append(straight(network, *pairs).reshape(len(some), len(y)))
    return torch.cat(parts)


@torch.no_grad()
def coupled(peer: str) -> Row:
    torch.manual_seed(0)
    network, x, y = CoupledNetwork(9), float_walks(0, 256, 128, 9), float_walks(1, 256, 128, 9)
    lengths = torch.full((256,), 128)

    def ours() -> Tensor:
        return network.distance_matrix(network.features(x, lengths), network.features(y, lengths))

    work = "CoupledGRU all pairs, 256 × 256 × 128 steps × 9 channels"
    seconds, found = best(ours), ours()
    if peer == "loop":
        sample = 24
        pairs = [(i, (7 * i) % 256) for i in range(sample)]
        for i, j in pairs:
            torch.testing.assert_close(straight(network, x[i, None], y[j, None])[0], found[i, j], rtol=0, atol=1e-5)
        one = best(lambda: [straight(network, x[i, None], y[j, None]) for i, j in pairs]) / sample
        name = f"a loop over pairs in torch, extrapolated from {sample}"
        return against(work, name, one * 256 * 256, seconds, 50)
    torch.testing.assert_close(batched(network, x[:16], y[:16], 256), found[:16, :16], rtol=0, atol=1e-5)
    times = {block: best(partial(batched, network, x, y, block), 2) for block in BLOCKS}
    block = min(times, key=lambda size: times[size])
    name = f"all pairs in torch, inputs projected per pair, {block} pairs at once"
    return against(work, name, times[block], seconds, 2)


HAR = """
import sys, time
import numpy as np, torch
from benchmarks.memory import peak_memory
import timelike as tl
from timelike.metric import CoupledNetwork

path, threads, subset = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(threads)
torch.manual_seed(0)
train, test = (part[: subset or None] for part in tl.load(path))
sides = [torch.tensor(np.stack([np.asarray(one, np.float32) for one in part])) for part in (test, train)]
network = CoupledNetwork(sides[0].shape[2])
began = time.perf_counter()
with torch.no_grad():
    test, train = (network.features(x, torch.full((len(x),), x.shape[1])) for x in sides)
    found = network.distance_matrix(test, train)
seconds = time.perf_counter() - began
assert torch.isfinite(found).all()
print(seconds, peak_memory() / 2**30, *found.shape, sides[0].shape[1])
"""


def har(data: Path | None, threads: int, subset: int) -> Row:
    """The matrix of the paper's evaluation, in a process of its own for its peak of memory."""
    if data is None:
        raise SystemExit("har: say where UCI HAR is: --data uci_har.npz")
    threads = max(2, threads)
    said = child(HAR, data, threads, subset)
    seconds, peak, (n, m, steps) = float(said[0]), float(said[1]), map(int, said[2:])
    work = f"CoupledGRU on UCI HAR, {n} × {m} × {steps} steps, {threads} threads: time and peak memory"
    bar = "< 10 min and < 4 GB"
    each = f"{1e9 * threads * seconds / (n * m * steps):.3g} ns per pair, step and core"
    return Row(work, "–", "–", f"{seconds:.4g} s, {peak:.2g} GB", each, bar, seconds < 600 and peak < 4)


JOBS: dict[str, Callable[[], Row]] = {
    "coupled-loop": partial(coupled, "loop"),
    "coupled-batched": partial(coupled, "batched"),
}

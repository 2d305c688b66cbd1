"""How fast learned metrics compare all pairs, beside simpler ways to do the same in the same run.

    python benchmarks/speed/metrics.py
    python benchmarks/speed/metrics.py --only coupled-loop --threads 2
    python benchmarks/speed/metrics.py --only har --data ../shared/data/uci_har.npz
    python benchmarks/speed/metrics.py --markdown docs/benchmarks/metrics.md

The coupled GRU (20 units) has two peers, both torch: a loop that rolls out one pair after the other, timed on a sample
of the pairs and extrapolated, and the rollout of all pairs at once as one would first write it, with the inputs of both
sequences projected for every pair at every step (in one batch, or in blocks of pairs that stay in the cache,
whichever is faster). TAP (30 kernels, 1024 units) has a loop over pairs whose frames are transformed already, timed on
a sample and extrapolated, the rate of a convolution that the machine is good at, and soft-DTW. The loops and the
rollout are first seen to give our distances. Nobody takes gradients; a time is the best of several after a first call
that does not count. The row of UCI HAR is one run in a process of its own, all its test sequences against all its
training ones, with `--threads` or two threads.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import timelike as tl
from timelike.metric import Aligned, Aligning, CoupledNetwork, TAPNetwork

REPEATS = 5
BLOCKS = (65536, 4096)  # pairs at once in the batched peer


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    threads: int
    data: Path | None
    subset: int


@dataclass
class Row:
    """One line: what a peer took, what we took, and whether the bar is met."""

    work: str
    peer: str
    theirs: str
    ours: str
    ratio: str
    bar: str
    met: bool


def best(job: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Seconds of the fastest call."""
    job()
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return min(times)


def once(job: Callable[[], Any]) -> float:
    """Seconds of a call that is long enough to be timed alone."""
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def against(work: str, peer: str, theirs: float, ours: float, least: float) -> Row:
    ratio = theirs / ours
    return Row(work, peer, f"{theirs:.3g} s", f"{ours:.3g} s", f"{ratio:.3g}×", f"≥ {least:g}×", ratio >= least)


# --- the coupled GRU


def walks(seed: int, *shape: int) -> Tensor:
    drawn = np.random.default_rng(seed).standard_normal(shape).cumsum(-2) / np.sqrt(shape[-2])
    return torch.tensor(drawn, dtype=torch.float32)


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
def coupled(options: Options, peer: str) -> Row:
    torch.manual_seed(0)
    network, x, y = CoupledNetwork(9), walks(0, 256, 128, 9), walks(1, 256, 128, 9)
    lengths = torch.full((256,), 128)

    def ours() -> Tensor:
        return network.matrix(network.prepare(x, lengths), network.prepare(y, lengths))

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
from pathlib import Path
import numpy as np, torch
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
    test, train = (network.prepare(x, torch.full((len(x),), x.shape[1])) for x in sides)
    found = network.matrix(test, train)
seconds = time.perf_counter() - began
assert torch.isfinite(found).all()
peak = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(seconds, int(peak) / 2**20, *found.shape, sides[0].shape[1])
"""


def har(options: Options) -> Row:
    """The matrix of the paper's evaluation, in a process of its own for its peak of memory."""
    if options.data is None:
        raise SystemExit("har: say where UCI HAR is: --data uci_har.npz")
    threads = max(2, options.threads)
    call = [sys.executable, "-c", HAR, str(options.data), str(threads), str(options.subset)]
    said = subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    seconds, peak, (n, m, steps) = float(said[0]), float(said[1]), map(int, said[2:])
    work = f"CoupledGRU on UCI HAR, {n} × {m} × {steps} steps, {threads} threads: time and peak memory"
    bar = "< 10 min and < 4 GB"
    each = f"{1e9 * threads * seconds / (n * m * steps):.3g} ns per pair, step and core"
    return Row(work, "–", "–", f"{seconds:.4g} s, {peak:.2g} GB", each, bar, seconds < 600 and peak < 4)


# --- TAP

TAP_FLOPS = 2 * (2 * 30 * 25 + 30 * 30 * 25 + 30 * 9)  # of the convolutions, for a pair of steps
SAMPLE = 256  # pairs of the loop


def one_by_one(network: TAPNetwork, x: Tensor, y: Tensor) -> Tensor:
    """One pair of transformed sequences (time, feature) by equation 3, as one would write it down."""
    distances = torch.cdist(x, y)
    steps = [torch.arange(1, len(side) + 1) / len(side) for side in (x, y)]
    g = torch.stack([distances, (steps[0][:, None] - steps[1]).abs()])[None]
    first, second, third = (layer for layer in network.scores.modules() if isinstance(layer, torch.nn.Conv2d))
    g = third(torch.relu(second(torch.relu(first(g)))))[0, 0]
    attention = torch.softmax(-(distances + g), -1)
    return (attention / attention.sum() * distances).sum()


@cache
@torch.no_grad()
def tap_times() -> tuple[float, float, float]:
    """Seconds for all pairs, for a loop over `SAMPLE` of them, and for a convolution; in turn, on the same machine."""
    torch.manual_seed(0)
    network, x, y = TAPNetwork(20).eval(), walks(0, 128, 40, 20), walks(1, 128, 40, 20)
    lengths = torch.full((128,), 40)
    sides = network.prepare(x, lengths), network.prepare(y, lengths)
    convolution, images = torch.nn.Conv2d(32, 32, 5, padding=2), torch.rand(36, 32, 40, 40)
    images = images.to(memory_format=torch.channels_last)
    pairs = [(i % 128, (7 * i) % 128) for i in range(SAMPLE)]

    def loop() -> list[Tensor]:
        return [one_by_one(network, sides[0].values[i], sides[1].values[j]) for i, j in pairs]

    def ours() -> Tensor:
        return network.matrix(network.prepare(x, lengths), network.prepare(y, lengths))

    found = network.matrix(*(side.take(slice(0, 12)) for side in sides))  # what comes first does not count
    for i in range(12):
        one = one_by_one(network, sides[0].values[i], sides[1].values[11 - i])
        torch.testing.assert_close(one, found[i, 11 - i], rtol=1e-4, atol=1e-5)
    times = [(once(ours), once(loop), best(lambda: convolution(images), 3)) for _ in range(2)]
    all_pairs, sample, peak = map(min, zip(*times, strict=True))
    return all_pairs, sample, peak


TAP_WORK = "TAP all pairs, 128 × 128 pairs of length 40"


def tap_loop(options: Options) -> Row:
    ours, loop, _ = tap_times()
    name = f"a loop over pairs of transformed sequences in torch, extrapolated from {SAMPLE}"
    return against(TAP_WORK, name, loop / SAMPLE * 128 * 128, ours, 1.6)


def tap_peak(options: Options) -> Row:
    ours, _, peak = tap_times()
    rates = 2 * 36 * 1600 * 32 * 32 * 25 / peak / 1e9, 128 * 128 * 1600 * TAP_FLOPS / ours / 1e9
    name = "one convolution of 32 by 32 channels, 5 × 5, which this machine is good at"
    share = f"{rates[1] / rates[0]:.0%} of it"
    return Row(TAP_WORK, name, f"{rates[0]:.3g} GFLOP/s", f"{rates[1]:.3g} GFLOP/s", share, "printed", True)


@torch.no_grad()
def inference(options: Options, steps: int) -> Row:
    torch.manual_seed(0)
    count, channels = (16, 20) if steps < 100 else (2, 20)
    x, y = walks(0, count, steps, channels), walks(1, count, steps, channels)
    lengths = torch.full((count,), steps)
    networks = Aligned(channels, aligner="softdtw", transform=False), TAPNetwork(channels, transform=False)

    def run(network: Aligning) -> Tensor:
        return network.matrix(network.prepare(x, lengths), network.prepare(y, lengths))

    theirs, ours = (best(partial(run, network.eval()), 3) / count**2 for network in networks)
    work = f"TAP inference, a pair of length {steps} and {channels} channels, no network for frames"
    said = f"{1000 * theirs:.3g} ms", f"{1000 * ours:.3g} ms"
    return Row(work, "SoftDTW inference", *said, f"{theirs / ours:.3g}×", "printed", True)


JOBS: dict[str, Callable[[Options], Row]] = {
    "tap-loop": tap_loop,
    "tap-peak": tap_peak,
    "tap-40": lambda options: inference(options, 40),
    "tap-500": lambda options: inference(options, 500),
    "coupled-loop": lambda options: coupled(options, "loop"),
    "coupled-batched": lambda options: coupled(options, "batched"),
    "har": har,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=list(JOBS))
    parser.add_argument("--threads", type=int, default=1, help="of everybody")
    parser.add_argument("--data", type=Path, help="UCI HAR as an .npz file; without it that row is left out")
    parser.add_argument("--subset", type=int, default=0, help="of UCI HAR only so many of each part: does it run?")
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    options = Options(given.threads, given.data, given.subset)
    torch.set_num_threads(options.threads)
    rows = []
    print(HEAD)
    for name in given.only or [job for job in JOBS if job != "har" or options.data]:
        rows.append(JOBS[name](options))
        print(line(rows[-1]), flush=True)
    if given.markdown:
        given.markdown.write_text(page(rows, options))
    return 0 if all(row.met for row in rows) else 1


HEAD = "| work | beside | theirs | ours | ratio | bar | met |\n|---|---|---:|---:|---:|---:|---|"


def line(row: Row) -> str:
    parts = (row.work, row.peer, row.theirs, row.ours, row.ratio, row.bar, "yes" if row.met else "NO")
    return f"| {' | '.join(parts)} |"


def page(rows: list[Row], options: Options) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in ("timelike", "torch", "numpy"))
    machine = f"{processor()}, {os.cpu_count()} cores, kernels for {tl.native.isa()}, {platform.platform(terse=True)}"
    busy = f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    return f"""# Speed of the learned metrics

```console
python benchmarks/speed/metrics.py --data uci_har.npz --markdown docs/benchmarks/metrics.md
```

{machine}, Python {platform.python_version()}; {versions}; float32, {options.threads} thread(s) each unless a row says
otherwise; {busy}. Best of several runs after one that does not count.

{HEAD}
{chr(10).join(map(line, rows))}
"""


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((one.split(":")[1].strip() for one in lines if one.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main())

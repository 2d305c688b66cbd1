"""How fast soft-DTW is, and how much memory it takes, beside tslearn's.

    python -m benchmarks.speed.soft_dtw                # one thread for both
    python -m benchmarks.speed.soft_dtw --threads 2

Both do the same work in the same run with the same number of threads, float32 and γ = 1. tslearn's functions are
compiled by calling them once before the clock starts. A time is the best of `--repeats` runs, one library after the
other, because threads that have just worked for one stay awake and would take time from the other. Memory is the peak
above that of a small call before, in a process of its own (Linux). The memory bar: forward and backward of one pair of
length 4096 in at most 400 MB.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from typing import Any

import numpy as np
import torch

import timelike as tl
from benchmarks.speed.timing import Job, best, child
from timelike.align import SoftDTW

MEMORY = """
import torch, timelike as tl
from benchmarks.memory import peak_memory
def run(n):
    x, y = (torch.randn(1, n, 9, requires_grad=True) for _ in "xy")
    {call}.sum().backward()
run(64)  # what is loaded on first use does not count
before = peak_memory()
run({n})
print((peak_memory() - before) / 2**20)
"""


def training(items: int, length: int) -> list[Job]:
    """Loss and gradient by both arguments: tslearn's module and ours."""
    from tslearn.metrics import SoftDTWLossPyTorch

    torch.manual_seed(0)
    x, y = (torch.randn(items, length, 9, requires_grad=True) for _ in "xy")

    def step(loss: torch.nn.Module) -> Job:
        def run() -> None:
            x.grad = y.grad = None
            loss(x, y).sum().backward()

        return run

    return [step(SoftDTWLossPyTorch(gamma=1.0)), step(tl.nn.SoftDTW(1.0))]


def all_pairs(items: int, length: int, threads: int) -> list[Job]:
    from tslearn.metrics import cdist_soft_dtw

    data = np.random.default_rng(0).standard_normal((items, length, 3)).astype(np.float32)
    metric = SoftDTW(gamma=1.0)
    return [lambda: cdist_soft_dtw(data, gamma=1.0), lambda: metric.pairwise(data, n_jobs=threads)]


def peak(call: str, n: int) -> float:
    """MiB that loss and gradient of one pair x, y of n steps take."""
    return float(child(MEMORY.format(call=call, n=n))[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # tslearn's, about what it lacks
    torch.set_num_threads(given.threads)
    numba: Any = importlib.import_module("numba")

    numba.set_num_threads(given.threads)
    rows = {
        "loss and gradient, 32 × 128 × 9": training(32, 128),
        "loss and gradient, 32 × 32 × 9": training(32, 32),
        "loss and gradient, 1 × 1024 × 9": training(1, 1024),
        "all pairs of 60 × 100 × 3": all_pairs(60, 100, given.threads),
    }
    print(f"{given.threads} threads, {tl.native.isa()} kernels\n")
    print("| work | tslearn | timelike | ratio |\n|---|---|---|---|")
    for title, jobs in rows.items():
        peer, ours = (best(job, given.repeats, rest=0.5) for job in jobs)
        print(f"| {title} | {peer * 1e3:.1f} ms | {ours * 1e3:.2f} ms | {peer / ours:.0f}× |", flush=True)
    print("\n| loss and gradient of one pair, 9 channels, float32 | length | peak memory |\n|---|---|---|")
    calls = {
        "`SoftDTW`": "tl.nn.SoftDTW(1.0)(x, y)",
        "`SoftDTW`, divergence": "tl.nn.SoftDTW(1.0, divergence=True)(x, y)",
        "`DILATE`": "tl.nn.DILATE(0.5, 1.0)(x, y)",
    }
    for title, call in calls.items():
        print(f"| {title} | 4096 | {peak(call, 4096):.0f} MiB |", flush=True)
    print(f"| `SoftDTW` | 16384 | {peak(calls['`SoftDTW`'], 16384):.0f} MiB |")


if __name__ == "__main__":
    main()

"""How long a training step of the coupled GRU takes, beside the rollout in torch in the same run.

    python benchmarks/speed/coupled_training.py
    python benchmarks/speed/coupled_training.py --threads 2 --items 72

A step is what training does with a batch: the inputs of all sequences (128 steps, 9 channels, 20 units), the distances
of all their pairs, each once, and the gradient of a loss by every weight; the optimiser is not timed. The peer differs
in one thing: the distances and their gradients come from a loop over time in torch, which is what timelike does without
kernels. Both are first seen to give the same distances and gradients. A time is the best of several after a first call
that does not count.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from timelike.metric import CoupledNetwork

REPEATS = 7
STEPS, CHANNELS = 128, 9


def best(job: Callable[[], Any]) -> float:
    """Seconds of the fastest call."""
    job()
    times: list[float] = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
    return min(times)


def train_step(network: CoupledNetwork, x: Tensor) -> list[Tensor]:
    """Distances and gradients by the weights."""
    network.zero_grad()
    prepared = network.prepare(x, torch.full((len(x),), STEPS))
    distances = network.matrix(prepared, prepared)
    loss: Any = distances.square().mean() + network.penalty()
    loss.backward()
    return [distances.detach(), *(weight.grad.clone() for weight in network.parameters() if weight.grad is not None)]


def in_torch(network: CoupledNetwork, x: Tensor) -> list[Tensor]:
    """The same without kernels."""
    before = os.environ.get("TIMELIKE_NATIVE")
    os.environ["TIMELIKE_NATIVE"] = "0"
    try:
        return train_step(network, x)
    finally:
        del os.environ["TIMELIKE_NATIVE"]
        if before is not None:
            os.environ["TIMELIKE_NATIVE"] = before


def row(items: int, sync: Any) -> str:
    torch.manual_seed(0)
    network = CoupledNetwork(CHANNELS, sync=sync)
    drawn = np.random.default_rng(0).standard_normal((items, STEPS, CHANNELS)).cumsum(1) / np.sqrt(STEPS)
    x = torch.tensor(drawn, dtype=torch.float32)
    for ours, theirs in zip(train_step(network, x), in_torch(network, x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)
    theirs_took, ours_took = best(lambda: in_torch(network, x)), best(lambda: train_step(network, x))
    pairs = items * (items - 1) // 2
    work = f"CoupledGRU, sync {sync}, a training step of {items} sequences, {pairs} pairs × {STEPS} steps"
    took = f"{1000 * theirs_took:.3g} ms | {1000 * ours_took:.3g} ms | {theirs_took / ours_took:.3g}×"
    return f"| {work} | the rollout in torch | {took} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="of everybody")
    parser.add_argument("--items", type=int, default=36, help="sequences in a batch")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print("| work | beside | theirs | ours | ratio |\n|---|---|---:|---:|---:|")
    for sync in ("last", "mean"):
        print(row(given.items, sync), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

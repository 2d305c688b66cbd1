"""How exact learned metrics are: the rounding of TAP's kernels, and distances in other batches.

    python -m benchmarks.accuracy.metrics

The first table has the deviation of TAP's convolutions (random layers and tables of 40 × 40) from double precision, by
the kernels and by torch, as a share of the deviation of the values. The second compares a few of 200 ragged sequences
with all of them in another order, and counts the distances that are not those of all pairs at once, to the bit.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import torch

import timelike as tl
from timelike.metric.frame_transform import FramePairTable
from timelike.metric.tap.network import KERNEL_SIZES, ConvolutionScores


def rounding(variant: str) -> tuple[float, float]:
    torch.manual_seed(0)
    layers = ConvolutionScores(KERNEL_SIZES[variant])
    table = FramePairTable.from_distances(2 * torch.rand(32, 40, 40), torch.full((32,), 40), torch.full((32,), 40))
    with torch.no_grad():
        ours = layers.correction(table)
        os.environ["TIMELIKE_NATIVE"] = "0"
        theirs = layers.correction(table)
        del os.environ["TIMELIKE_NATIVE"]
        double = table._replace(distances=table.distances.double(), positions=table.positions.double())
        exact = layers.double().correction(double)
    apart = [float((found - exact).square().mean().sqrt() / exact.std()) for found in (ours, theirs)]
    return apart[0], apart[1]


def other_company(metric: Any) -> tuple[int, int]:
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((rng.integers(3, 40), 2)) for _ in range(200)]
    whole = metric.fit(X, [0, 1] * 100).pairwise(X)
    others = [metric.pairwise(X[k : k + 3], X[::-1]) != whole[k : k + 3, ::-1] for k in range(0, 200, 5)]
    return int(np.sum(others)), int(np.size(others))


def main() -> int:
    torch.set_num_threads(1)
    print("| convolutions | kernels | torch | ratio |\n|---|---:|---:|---:|")
    for variant in KERNEL_SIZES:
        ours, theirs = rounding(variant)
        print(f"| {variant} | {ours:.2g} | {theirs:.2g} | {ours / theirs:.2g} |")
    print("\n| metric | other bits | of |\n|---|---:|---:|")
    options: Any = {"trainer": tl.Trainer(max_epochs=1), "random_state": 0}
    networks = tl.SiameseGRU(**options), tl.CoupledGRU(**options), tl.TAP(hidden=64, **options)
    for metric in networks:
        print("| {} | {} | {} |".format(type(metric).__name__, *other_company(metric)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

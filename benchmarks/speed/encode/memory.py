"""The most memory that training takes at its defaults, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.speed.encode.series import Effort
from benchmarks.speed.table import Row, at_most
from benchmarks.speed.timing import child

MEMORY = """
import sys
import numpy as np, torch
from benchmarks.memory import peak_memory
import timelike as tl
import timelike.encode.objectives.crop_objectives as crop_objectives
from timelike.encode.objectives.crops import Crops, CropTriplets
length, k, batch, threads = map(int, sys.argv[1:])
torch.set_num_threads(threads)

def whole(sequences, ids, n_negatives, rng, **how):
    # crops as long as the series: the most that a step can need
    side = lambda *shape: Crops(np.zeros(shape, np.int64), np.full(shape, length))
    return CropTriplets(side(len(ids)), side(len(ids)), side(len(ids), n_negatives))

crop_objectives.sample_triplets = whole
x = np.random.default_rng(0).standard_normal((2 * batch, length, 1)).astype(np.float32)
trainer = tl.Trainer(batch_size=batch)
tl.CausalEncoder.preset("thesis", n_negatives=k, trainer=trainer, max_steps=2, random_state=0).fit(x)
print(peak_memory() / 2**20)
"""


def megabytes(*given: int) -> float:
    return float(child(MEMORY, *given)[0])


def peak(effort: Effort) -> Iterator[Row]:
    """Of training at the defaults, every crop as long as the series."""
    length = effort.long * 9 // 100
    found = megabytes(length, 10, 10, 1)
    work = f"peak memory of training at the defaults (K = 10, batch 10), length {length:,}, crops of the whole length"
    yield Row(work, "–", "–", f"{found:.0f} MB", "–", "≤ 2048 MB", found <= 2048)


def memory(effort: Effort) -> list[Row]:
    """Of many negatives beside one, where no activations of all crops fit what is kept."""
    few, many = (megabytes(effort.long, k, 1, 2) for k in (4, 20))
    work = f"peak memory of training on series of length {effort.long:,}, two threads, batch 1: K = 20 beside K = 4"
    return [at_most(work, "ours, K = 4", few, many, 1.2, said=lambda number: f"{number:.0f} MB")]

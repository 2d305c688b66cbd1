"""The most memory that training takes, each in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.speed.encode.series import Effort
from benchmarks.speed.table import Row, at_most
from benchmarks.speed.timing import child

PEAK = """
import sys
import numpy as np, torch
from benchmarks.memory import peak_memory, reset_peak
import timelike as tl
import timelike.encode.tloss as contrast
from timelike.encode.tloss import Crops, Triplets
torch.set_num_threads(1)
length = int(sys.argv[1])

def whole(sequences, ids, n_negatives, rng, **how):
    side = lambda *shape: Crops(np.zeros(shape, np.int64), np.full(shape, length))
    return Triplets(side(len(ids)), side(len(ids)), side(len(ids), n_negatives))

contrast.draw = whole
x = np.random.default_rng(0).standard_normal((20, length, 1)).astype(np.float32)
tl.CausalEncoder(max_steps=2, random_state=0).fit(x)
print(peak_memory() / 2**20)
"""


def peak(effort: Effort) -> Iterator[Row]:
    """The peak of a process that trains at its defaults, every crop as long as the series."""
    length = effort.long * 9 // 100
    found = float(child(PEAK, length)[0])
    work = f"peak memory of training at the defaults (K = 10, batch 10), length {length:,}, crops of the whole length"
    yield Row(work, "–", "–", f"{found:.0f} MB", "–", "≤ 2048 MB", found <= 2048)


MEMORY = """
import sys
import numpy as np, torch
from benchmarks.memory import peak_memory, reset_peak
import timelike as tl
import timelike.encode.tloss as contrast
from timelike.encode.tloss import Crops, Triplets
torch.set_num_threads(1)
length, k = int(sys.argv[1]), int(sys.argv[2])

def whole(sequences, ids, n_negatives, rng, **how):
    # crops as long as the series: the most that a step can need
    side = lambda *shape: Crops(np.zeros(shape, np.int64), np.full(shape, length))
    return Triplets(side(1), side(1), side(1, n_negatives))

contrast.draw = whole
x = np.random.default_rng(0).standard_normal((1, length, 1)).astype(np.float32)
reset_peak()
tl.CausalEncoder(n_negatives=k, batch_size=1, max_steps=1, by_terms=True, random_state=0).fit(x)
print(peak_memory() / 2**20)
"""


def memory(effort: Effort) -> list[Row]:
    """The peak of a process that trains on one long series, every crop as long as the series."""
    few, many = (float(child(MEMORY, effort.long, k)[0]) for k in (1, 20))
    work = f"peak memory of training on one series of length {effort.long:,}: K = 20 beside K = 1"
    return [at_most(work, "ours, K = 1", few, many, 1.2, said=lambda number: f"{number:.0f} MB")]

"""How fast learned metrics compare all pairs and learn, beside simpler ways to do the same in the same run.

    python -m benchmarks.speed.metrics
    python -m benchmarks.speed.metrics --only coupled-loop --threads 2
    python -m benchmarks.speed.metrics --only har --data ../shared/data/uci_har.npz
    python -m benchmarks.speed.metrics --markdown benchmarks/results/metrics.md

The coupled GRU (20 units) has two peers, both torch: a loop that rolls out one pair after the other, timed on a sample
of the pairs and extrapolated, and the rollout of all pairs at once as one would first write it, with the inputs of both
sequences projected for every pair at every step (in one batch, or in blocks of pairs that stay in the cache,
whichever is faster). TAP (30 kernels, 1024 units) has a loop over pairs whose frames are transformed already, timed on
a sample and extrapolated, the rate of a convolution that the machine is good at, and soft-DTW. The loops and the
rollout are first seen to give our distances. Nobody takes gradients, but in the rows of training, whose peer is
timelike without its kernels; there the gradients are first seen to be the same. A time is the best of several after a
first call that does not count. The row of UCI HAR is one run in a process of its own, all its test sequences against
all its training ones, with `--threads` or two threads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from benchmarks.speed.metrics import coupled, tap, training
from benchmarks.speed.table import HEAD, Row, arguments, load, page, setting, shown

JOBS = tap.JOBS | coupled.JOBS | training.JOBS


def rows(given: argparse.Namespace) -> Iterator[Row]:
    for name in given.only or [*JOBS, *(["har"] if given.data else [])]:
        yield JOBS[name]() if name in JOBS else coupled.har(given.data, given.threads, given.subset)


def main() -> int:
    parser = arguments(__doc__, [*JOBS, "har"])
    parser.add_argument("--data", type=Path, help="UCI HAR as an .npz file; without it that row is left out")
    parser.add_argument("--subset", type=int, default=0, help="of UCI HAR only so many of each part: does it run?")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print(HEAD)
    found = shown(rows(given))
    if given.markdown:
        command = "python -m benchmarks.speed.metrics --data uci_har.npz --markdown benchmarks/results/metrics.md"
        words = f"""{setting("timelike", "torch", "numpy")}; float32, {given.threads} thread(s) each unless a row says
otherwise; {load()}. Best of several runs after one that does not count."""
        given.markdown.write_text(page("Speed of the learned metrics", command, words, found))
    return 0 if all(row.met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())

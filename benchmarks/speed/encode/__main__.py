"""How fast the causal encoder trains and encodes, beside the layout of the original implementation in the same run.

    python -m benchmarks.speed.encode
    python -m benchmarks.speed.encode --only equal --quick
    python -m benchmarks.speed.encode --markdown benchmarks/results/encode.md

One peer is the network as its authors wrote it, with torch's layers: `Conv1d` padded on both sides, what looks ahead
trimmed off, weight normalisation as a parametrisation. It is given the crops that ours draws and cuts within its time,
takes them in the original's order, and series of unequal lengths one by one, as the original does. The other is
timelike without its kernels, whose convolutions are matrix products of torch. All take turns, so that what else the
machine does meets all; a time is the mean of the turns after one that does not count. `--threads` is of everybody.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial

import torch
from benchmarks.speed.encode.memory import memory, peak
from benchmarks.speed.encode.peers import compared
from benchmarks.speed.encode.series import Effort
from benchmarks.speed.encode.threads import ragged_and_equal, two_threads
from benchmarks.speed.table import HEAD, Row, arguments, load, on_avx2, page, save, setting, shown, table

JOBS: dict[str, Callable[[Effort, int], Iterable[Row]]] = {
    "equal": partial(compared, "equal"),
    "long": lambda effort, threads: compared("long", long(effort), threads),
    "whole": lambda effort, threads: compared("whole", long(effort), threads),
    "ragged": partial(compared, "ragged"),
    "threads-equal": lambda effort, _: two_threads("equal", effort),
    "threads-long": lambda effort, _: two_threads("long", long(effort)),
    "ragged-equal": lambda effort, _: ragged_and_equal(effort),
    "peak": lambda effort, _: peak(effort),
    "memory": lambda effort, _: memory(effort),
}
ALSO = ("equal", "long", "whole", "ragged")  # on AVX2 too


def long(effort: Effort) -> Effort:
    return Effort(max(1, effort.turns // 3), effort.encoded // 5)


def main() -> int:
    options = arguments(__doc__, JOBS, quick="few turns and a shorter long series").parse_args()
    torch.set_num_threads(options.threads)
    effort = Effort(2, 20, 10_000) if options.quick else Effort()
    print(HEAD)
    rows = shown(row for name in options.only or JOBS for row in JOBS[name](effort, options.threads))
    save(rows, options.rows)
    if options.markdown:
        command = "python -m benchmarks.speed.encode --markdown benchmarks/results/encode.md"
        words = f"""{setting("timelike", "torch", "numpy")}; float32, {options.threads} thread(s) each unless a row says
otherwise; {load()}. Mean of {effort.turns} turns (fewer for encoding and length 2000) after one that does not count;
the peers are given the crops that ours draws within its own time, have the same weights, and are first seen to give the
same representations.

What is not met: at length 2000 a series has 0.56 GFLOP as written down and 0.40 with tiles, of which a core here does
115 a second: 287 series/s without the rough look, and less than five times what torch's products reach already. On
two threads a step has parts of torch on one thread, and after torch's parallel operations its second thread spins where
ours would work (`OMP_WAIT_POLICY=passive` ends that)."""
        quick = ["--quick"] if options.quick else []
        avx2 = on_avx2("benchmarks.speed.encode", *quick, *(word for name in ALSO for word in ("--only", name)))
        also = f"The same with the kernels for AVX2 (`TIMELIKE_ISA=v3`):\n\n{table(avx2)}"
        options.markdown.write_text(page("Speed of the causal encoder", command, words, rows, also))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Instruction counts of small kernel calls, repeatable on a busy machine: `make guard` fails where one grew by a tenth.

    python -m benchmarks.speed.guard            # compare with benchmarks/results/instruction_counts.json
    python -m benchmarks.speed.guard --record "why the counts changed"

A child process makes the calls one after the other under valgrind's callgrind, which counts every instruction that the
compiled kernels execute (Python, NumPy and the C library are left out). Valgrind knows no AVX-512, so the AVX2 kernels
are counted, on one thread. Another compiler emits other instructions: counts are compared only with those of the same
compiler, and a machine without valgrind is told that nothing was checked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "results" / "instruction_counts.json"
TOLERANCE = 0.10
KERNELS = "_kernels"
ISA = "v3"


def _data(dtype: str, n: int = 12) -> Any:
    import timelike as tl

    rng = np.random.default_rng(0)
    return tl.Sequences([rng.normal(size=(40 + 3 * k, 2)).cumsum(axis=0).astype(dtype) for k in range(n)])


def dtw_all_pairs() -> None:
    import timelike as tl

    tl.DTW(window=0.2).pairwise(_data("float32"), n_jobs=1)


def dtw_neighbors() -> None:
    import timelike as tl

    data = _data("float64")
    tl.DTW(window=0.1).neighbors(data, data[:4], k=2)


def dtw_path() -> None:
    import timelike as tl

    data = _data("float64", 2)
    tl.DTW().align(data[0], data[1])


def msm_all_pairs() -> None:
    import timelike as tl

    tl.MSM().pairwise(_data("float64"), n_jobs=1)


def soft_dtw_all_pairs() -> None:
    import timelike as tl

    tl.SoftDTW(gamma=0.5).pairwise(_data("float64", 8), n_jobs=1)


def continuous_warp() -> None:
    import timelike as tl

    data = _data("float64", 2)
    tl.GDTW(regularization=0.1).align(data[0], data[1])


def sinkhorn_plan() -> None:
    import timelike as tl

    data = _data("float64", 2)
    tl.Sinkhorn().align(data[0], data[1])


def subsequence_search() -> None:
    import timelike as tl

    rng = np.random.default_rng(1)
    stream = rng.normal(size=600).cumsum()
    tl.subsequence(stream[100:140], stream)


def rocket_features() -> None:
    from timelike.native import PackedSequences
    from timelike.native.rocket import GROUPS, TRIPLES, KernelBank, features

    data = _data("float32", 6)
    channels = np.zeros((3, GROUPS, 2), np.int64)
    channels[..., 1] = -1
    counts = np.full((3, len(TRIPLES)), 2, np.int64)
    bank = KernelBank(np.array([1, 2, 4]), channels, counts, np.linspace(-2, 2, counts.sum(), dtype=np.float32), True)
    starts = np.concatenate([[0], np.cumsum(data.lengths)[:-1]])
    features(PackedSequences(np.ascontiguousarray(data.values), starts, data.lengths), bank, threads=1)


def tangent_kernel() -> None:
    from timelike.native.tangent import SLOPE, WideNetwork, weighted_sums

    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(24, 3)), rng.normal(size=(20, 3))
    weighted_sums(x, y, np.ones(20), WideNetwork(((SLOPE, 0.0),), 3, 1.0, 1.0, True), threads=1)


def learned_similarity() -> None:
    from timelike.native.similarity import OutputLayer, scores

    rng = np.random.default_rng(3)
    left, right = (rng.normal(size=(n, 64)).astype(np.float32) for n in (40, 30))
    scores(left, right, OutputLayer(rng.normal(size=64).astype(np.float32), 0.1, 0.0), threads=1)


def recurrent_network() -> None:
    from timelike.native.recurrent import PaddedBatch, RecurrentLayers, backward, forward

    rng = np.random.default_rng(4)

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    layers = RecurrentLayers([draw(60, 3), draw(60, 20)], [draw(60), draw(60)])
    x = PaddedBatch(draw(8, 25, 3), np.full(8, 25, np.int64))
    states, kept = forward("gru", layers, x, keep=True, threads=1)
    assert kept is not None
    backward("gru", layers, x, kept, np.ones_like(states), to_inputs=True, threads=1)


CALLS: tuple[Callable[[], None], ...] = (
    dtw_all_pairs,
    dtw_neighbors,
    dtw_path,
    msm_all_pairs,
    soft_dtw_all_pairs,
    continuous_warp,
    sinkhorn_plan,
    subsequence_search,
    rocket_features,
    tangent_kernel,
    learned_similarity,
    recurrent_network,
)


def make_calls() -> None:
    """What the child does: every call once to warm up, then once more when the parent says so."""
    for call in CALLS:
        call()
        print("warm", flush=True)
        sys.stdin.readline()
        call()
        print("done", flush=True)
        sys.stdin.readline()


def count_instructions() -> dict[str, int]:
    """Instructions of the compiled kernels in each call."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "counts"
        command = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        # NumPy warns of valgrind's long doubles, which nothing here uses
        command += [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.guard", "--child"]
        fixed = {"TIMELIKE_ISA": ISA, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=os.environ | fixed, **pipes) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            for _ in range(2 * len(CALLS)):
                if not child.stdout.readline():
                    raise SystemExit(f"the child ended early with code {child.wait()}: see its messages above")
                dump = ["callgrind_control", "--dump", str(child.pid)]
                subprocess.run(dump, check=True, capture_output=True)  # it writes what it does on both
                child.stdin.write("\n")
                child.stdin.flush()
            child.stdin.close()
        dumps = [kernel_instructions(Path(f"{profile}.{n + 1}").read_text()) for n in range(2 * len(CALLS))]
    return {call.__name__: dumps[2 * n + 1] for n, call in enumerate(CALLS)}


def kernel_instructions(profile: str) -> int:
    """The instructions that a callgrind profile counts inside the compiled kernels.

    Costs stand in lines of their own below the object they belong to; the line after `calls=` repeats what the callee
    has counted already.

    >>> kernel_instructions("ob=(1) /lib/_kernels.so\\nfn=(1) f\\n0 70\\ncalls=1 0\\n0 500\\nob=(2) /lib/c.so\\n0 9\\n")
    70
    """
    objects: dict[str, str] = {}
    inside, skip, total = False, False, 0
    for line in profile.splitlines():
        if line.startswith("ob="):
            number, _, path = line[3:].partition(" ")
            objects.setdefault(number, path)
            inside = KERNELS in objects[number]
        elif line.startswith("cob="):
            number, _, path = line[4:].partition(" ")
            objects.setdefault(number, path)
        elif line.startswith("calls="):
            skip = True
        elif re.match(r"[\d+*-]", line):
            total += int(line.split()[1]) if inside and not skip else 0
            skip = False
    return total


def compiler() -> str:
    """Which compiler the kernels were built by, as the machine's own says; kernels and compiler come together here."""
    done = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"


def comparison(before: dict[str, int], now: dict[str, int]) -> tuple[str, list[str]]:
    """A table, and the calls that need more than the tolerance allows or were not counted before."""
    lines, grown = [f"{'call':<22}{'before':>12}{'now':>12}{'ratio':>8}"], []
    for name, count in now.items():
        earlier = before.get(name)
        ratio = "new" if not earlier else f"{count / earlier:.3f}"
        lines.append(f"{name:<22}{earlier or 0:>12,}{count:>12,}{ratio:>8}")
        if not earlier or count > (1 + TOLERANCE) * earlier:
            grown.append(name)
    return "\n".join(lines), grown


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="WHY", help="write the counts of now, with the reason why they changed")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.child:
        make_calls()
        return 0
    if given.record is not None and not given.record.strip():
        raise SystemExit("--record needs a sentence that says why the counts changed")
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        print("valgrind is not installed: instruction counts were not checked")
        return 0
    held: dict[str, Any] = {"compiler": "", "counts": {}, "notes": []}
    if RESULTS.exists():
        held = json.loads(RESULTS.read_text())
    same_compiler = held["compiler"] == compiler()
    if not same_compiler and given.record is None:
        print(f"counts are those of {held['compiler']!r}, here is {compiler()!r}: instruction counts were not checked")
        return 0
    counts = count_instructions()
    table, grown = comparison(held["counts"], counts)
    print(table)
    if given.record is not None:
        held = {"compiler": compiler(), "counts": counts, "notes": [*held["notes"], given.record]}
        RESULTS.write_text(json.dumps(held, indent=1) + "\n")
        return 0
    if grown:
        print(f"more than {TOLERANCE:.0%} more instructions: {', '.join(grown)}.", file=sys.stderr)
        print('make them fewer, or say why: python -m benchmarks.speed.guard --record "why"', file=sys.stderr)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())

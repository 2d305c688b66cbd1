"""The walk of each public call through the library: files, functions, depth, switches between files.

    python benchmarks/call_walks.py [--files] [name …]

A walk is everything of ours that one call enters, counted after it has been made once, so that nothing is imported on
the way: how many files and functions it goes through, how deep our functions stand on each other, and how often a
function of one file calls into another file. `--files` lists the files with what was entered in each. It uses public
names only, so it runs on older commits too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import timelike as tl

HOME = str(Path(tl.__file__).parent) + "/"


class Walk(NamedTuple):
    """What a call entered: functions by file, the greatest depth, and the calls from one file into another."""

    files: dict[str, set[str]]
    depth: int
    switches: int

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Files, functions, depth, switches."""
        return len(self.files), sum(map(len, self.files.values())), self.depth, self.switches


def walk(call: Callable[[], Any]) -> Walk:
    """Follow a call through our files; what torch calls back from its own threads is not seen."""
    files: dict[str, set[str]] = {}
    stack: list[str] = []
    depth = switches = 0

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, switches
        code = frame.f_code
        if not code.co_filename.startswith(HOME):
            return
        if event == "call":
            switches += bool(stack) and stack[-1] != code.co_filename
            stack.append(code.co_filename)
            depth = max(depth, len(stack))
            files.setdefault(code.co_filename.removeprefix(HOME), set()).add(code.co_qualname)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(follow)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(files, depth, switches)


def calls() -> dict[str, Callable[[], Any]]:
    """The public calls, on a few short sequences of two classes."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal((8 + i % 4, 2)).cumsum(0) + i % 2 for i in range(16)]
    X = tl.Sequences(values, labels=np.arange(16) % 2)
    tap = tl.TAP(hidden=8, n_kernels=4, max_epochs=1, random_state=0)
    coupled = tl.CoupledGRU(hidden=4, max_epochs=1, random_state=0)
    causal = tl.CausalEncoder(channels=4, depth=2, reduced_size=8, n_features=8, max_steps=2, random_state=0)
    metric = tl.CoupledGRU(hidden=4, max_epochs=1, random_state=0).fit(X)
    encoder = tl.CausalEncoder(channels=4, depth=2, reduced_size=8, n_features=8, max_steps=2, random_state=0).fit(X)
    neighbors = tl.Neighbors("dtw").fit(X)
    folder = Path(tempfile.mkdtemp())
    return {
        'load("JapaneseVowels")': lambda: tl.load("JapaneseVowels"),
        "DTW().pairwise(X)": lambda: tl.DTW().pairwise(X),
        "DTW().distance(x, y)": lambda: tl.DTW().distance(values[0], values[1]),
        "GDTW().align(x, y)": lambda: tl.GDTW().align(values[0], values[1]),
        "CausalEncoder().fit(X)": lambda: causal.fit(X),
        "CausalEncoder.encode(X)": lambda: encoder.encode(X),
        "TAP().fit(X, y)": lambda: tap.fit(X),
        "CoupledGRU().fit(X, y)": lambda: coupled.fit(X),
        "CoupledGRU.distance(x, y)": lambda: metric.distance(values[0], values[1]),
        "CoupledGRU.pairwise(X)": lambda: metric.pairwise(X),
        "Neighbors.predict(X)": lambda: neighbors.predict(X),
        "CoupledGRU.save(folder)": lambda: metric.save(folder / "model"),
        "load_model(folder)": lambda: tl.load_model(folder / "model"),
        "timelike demo": lambda: _demo(folder),
    }


def _demo(folder: Path) -> None:
    from timelike.cli.demo import demo

    with contextlib.redirect_stdout(io.StringIO()):
        demo(out=folder / "report.html")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--files", action="store_true", help="list the files and what was entered in each")
    arguments.add_argument("names", nargs="*", help="only calls whose name contains one of these")
    asked = arguments.parse_args()
    warnings.simplefilter("ignore")
    print("| call | files | functions | depth | switches |\n|---|---:|---:|---:|---:|")
    for name, call in calls().items():
        if asked.names and not any(part in name for part in asked.names):
            continue
        call()  # imports, and what is made once
        found = walk(call)
        print(f"| `{name}` |", " | ".join(map(str, found.numbers)), "|")
        for file in sorted(found.files) if asked.files else ():
            print(f"    {file}: {', '.join(sorted(found.files[file]))}")


if __name__ == "__main__":
    main()

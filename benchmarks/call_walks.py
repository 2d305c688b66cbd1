"""The walk of each public call through the library: files, functions, depth, switches between files.

    python -m benchmarks.call_walks [--files] [name …]

A walk is everything of ours that one call enters, counted after it has been made once, so that nothing is imported on
the way: how many files and functions it goes through, how deep our functions stand on each other, and how often a
function of one file calls into another file. Some calls have a limit, which stands beside the number, with a ! where
the number is above it. `--files` lists the files with what was entered in each. It uses public names only, so it runs
on older commits too.
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

MAX_FILES = {
    "Prototypes().fit(X, y)": 30,
    "Prototypes.predict(X)": 15,
    "Separation().fit(X)": 25,
    "descend(x, y, IPM(NTK()))": 20,
    "descend(x, y, IPM(RBF()))": 20,
    "TwoSample().test(x, y)": 15,
}
MAX_SWITCHES = {"descend(x, y, IPM(NTK()))": 1500, "descend(x, y, IPM(RBF()))": 1500}


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
    tap = tl.TAP(
        hidden=8, alignment=tl.metric.AlignmentPredictor(n_kernels=4), trainer=tl.Trainer(max_epochs=1), random_state=0
    )
    coupled = tl.CoupledGRU(hidden=4, trainer=tl.Trainer(max_epochs=1), random_state=0)
    causal = tl.CausalEncoder(channels=4, depth=2, reduced_size=8, n_features=8, max_steps=2, random_state=0)
    metric = tl.CoupledGRU(hidden=4, trainer=tl.Trainer(max_epochs=1), random_state=0).fit(X)
    encoder = tl.CausalEncoder(channels=4, depth=2, reduced_size=8, n_features=8, max_steps=2, random_state=0).fit(X)
    neighbors = tl.Neighbors("dtw").fit(X)
    prototypes, fitted_prototypes = (tl.Prototypes(max_steps=2, random_state=0) for _ in range(2))
    fitted_prototypes.fit(X)
    separation = tl.Separation(conditioning=2, max_steps=2, random_state=0)
    ds, points, target = tl.distributions, rng.standard_normal((16, 2)), rng.standard_normal((16, 2)) + 1
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
        "Prototypes().fit(X, y)": lambda: prototypes.fit(X),
        "Prototypes.predict(X)": lambda: fitted_prototypes.predict(X),
        "Separation().fit(X)": lambda: separation.fit(X),
        "descend(x, y, IPM(NTK()))": lambda: ds.descend(points, target, ds.IPM(ds.NTK()), steps=3, step=0.1),
        "descend(x, y, IPM(RBF()))": lambda: ds.descend(points, target, ds.IPM(ds.RBF()), steps=3, step=0.1),
        "TwoSample().test(x, y)": lambda: ds.TwoSample(random_state=0).test(points, target),
        "CoupledGRU.save(folder)": lambda: metric.save(folder / "model"),
        "load_model(folder)": lambda: tl.load_model(folder / "model"),
        "timelike demo --section data-overview": lambda: _demo(folder),
    }


def _demo(folder: Path) -> None:
    from timelike.cli.main import app

    with contextlib.redirect_stdout(io.StringIO()):
        app(["demo", "--section", "data-overview", "--out", str(folder / "report.html")], standalone_mode=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="list the files and what was entered in each")
    parser.add_argument("names", nargs="*", help="only calls whose name contains one of these")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| call | files | functions | depth | switches |\n|---|---:|---:|---:|---:|")
    for name, call in calls().items():
        if arguments.names and not any(part in name for part in arguments.names):
            continue
        call()  # imports, and what is made once
        entered = walk(call)
        files, functions, depth, switches = entered.numbers
        cells = _with_limit(files, MAX_FILES.get(name)), functions, depth, _with_limit(switches, MAX_SWITCHES.get(name))
        print(f"| `{name}` |", " | ".join(map(str, cells)), "|")
        for file in sorted(entered.files) if arguments.files else ():
            print(f"    {file}: {', '.join(sorted(entered.files[file]))}")


def _with_limit(number: int, limit: int | None) -> str:
    return str(number) if limit is None else f"{number} (≤ {limit}{'!' if number > limit else ''})"


if __name__ == "__main__":
    main()

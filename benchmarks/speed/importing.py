"""How long `import timelike` takes, in fresh interpreters: the median of five, after one run that warms the disk.

    python -m benchmarks.speed.importing

The bar is 0.2 s for `import timelike`, interpreter included. A package that imports its parts late looks quick until it
is used, so the last column is the time until DTW can be called.
"""

from __future__ import annotations

import importlib.util
import platform
import statistics
import subprocess
import sys
from importlib.metadata import version

from benchmarks.speed.timing import child, timed

BAR = 0.2  # seconds
RUNS = 5
REACH_DTW = {
    "timelike": "from timelike import DTW",
    "dtaidistance": "from dtaidistance import dtw",
    "tslearn": "from tslearn.metrics import dtw",
    "aeon": "from aeon.distances import dtw_distance",
}


def median(program: str) -> float:
    """Of five fresh interpreters after a first run that does not count."""
    child(program)
    return statistics.median(timed(lambda: child(program)).wall for _ in range(RUNS))


def shown(program: str) -> str:
    try:
        return f"{median(program):.3f}"
    except subprocess.CalledProcessError:
        return "fails here"


def main() -> int:
    print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, median of {RUNS}\n")
    print("| package | import, s | until DTW can be called, s |\n|---|---:|---:|")
    print(f"| none, the bare interpreter | {median('pass'):.3f} | |")
    ours = median("import timelike")
    for name, program in REACH_DTW.items():
        if importlib.util.find_spec(name) is None:
            print(f"| {name} | not installed | |")
            continue
        first = f"{ours:.3f}" if name == "timelike" else shown(f"import {name}")
        print(f"| {name} {version(name)} | {first} | {shown(program)} |")
    print(f"\nimport timelike: {ours:.3f} s, bar {BAR} s: {'met' if ours < BAR else 'MISSED'}")
    return 0 if ours < BAR else 1


if __name__ == "__main__":
    sys.exit(main())

"""How long `import timelike` takes, in fresh interpreters: the median of five, after one run that warms the disk.

    python -m benchmarks.speed.importing
    python -m benchmarks.speed.importing --markdown benchmarks/results/importing.md

The bar is 0.2 s for `import timelike`, interpreter included. A package that imports its parts late looks quick until it
is used, so the last column is the time until DTW can be called.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from benchmarks.papers.markdown import table
from benchmarks.speed.table import assemble, processor
from benchmarks.speed.timing import child, timed

BAR = 0.2  # seconds
RUNS = 5
COMMAND = "python -m benchmarks.speed.importing --markdown benchmarks/results/importing.md"
HEAD = ["package", "import, s", "until DTW can be called, s"]
WORDS = """Each number is the median of five fresh interpreters, in seconds of wall time with the interpreter's own
start included, after one run that warms the disk: some milliseconds more or less mean nothing. Names are loaded when
they are first used, so that a package can look quick until then."""
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


def rows() -> Iterator[list[str]]:
    """Package, seconds to import it, and seconds until DTW can be called."""
    yield ["none, the bare interpreter", f"{median('pass'):.3f}", ""]
    for name, program in REACH_DTW.items():
        if importlib.util.find_spec(name) is None:
            yield [name, "not installed", ""]
        else:
            yield [f"{name} {version(name)}", shown(f"import {name}"), shown(program)]


def headline(found: list[list[str]]) -> str:
    """The result in two sentences; the others are named with the time until they can be used."""
    ours = next(row for row in found if row[0].startswith("timelike"))
    others = [f"{row[0]}: {row[2]} s" for row in found[1:] if row is not ours and row[2]]
    verdict = "met" if float(ours[1]) < BAR else "MISSED"
    compared = f" ({', '.join(others)})" if others else ""
    return (
        f"`import timelike` takes {ours[1]} s (bar {BAR} s, {verdict}), {found[0][1]} s of them the bare interpreter. "
        f"DTW can be called after {ours[2]} s{compared}."
    )


def page(found: list[list[str]], command: str, machine: str) -> str:
    """The page of the documentation."""
    return assemble("Time of import", headline(found), [table(HEAD, found)], command, f"{machine}\n\n{WORDS}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    options = parser.parse_args()
    found = list(rows())
    print(table(HEAD, found))
    print(f"\n{headline(found)}")
    if options.markdown:
        machine = f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}, "
        text = page(found, COMMAND, f"{machine}Python {platform.python_version()}.")
        options.markdown.write_text(text, encoding="utf-8")
    return 0 if "MISSED" not in headline(found) else 1


if __name__ == "__main__":
    sys.exit(main())

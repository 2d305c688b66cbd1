"""How fast the elastic distances are, beside the fastest of aeon, tslearn, dtaidistance and tsdistances.

    python -m benchmarks.speed.elastic                      # one thread for everybody
    python -m benchmarks.speed.elastic --threads 2
    python -m benchmarks.speed.elastic --only dtw-64 --only path
    python -m benchmarks.speed.elastic --data DIR --markdown benchmarks/results/elastic.md

Every library does the same work in the same run, in its fastest way: its matrix function where it has one, compiled,
with the same number of threads. Functions compiled on first use are called once before the clock starts. A time is the
best of three; a peer whose first run is a quarter slower than the fastest peer's is not run again. `--quick` makes
everything small: it shows that the program works, and its numbers mean nothing.

Real data come from `--data DIR` or `$TIMELIKE_DATA`, and from the aeon package; a row whose data are missing says so.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.speed.elastic.limit import hardware
from benchmarks.speed.elastic.lines import REPEATS, Line, measured, overhead, path, warm
from benchmarks.speed.elastic.peers import PEERS, Settings
from benchmarks.speed.elastic.works import WORKS
from benchmarks.speed.table import Row, arguments, headline, load, processor, versions


def number(value: float | None, unit: str = "s") -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" + (f" {unit}" if unit != "s" else "")


def row(line: Line) -> str:
    peer = line.peer if line.theirs is None else f"{line.peer} {number(line.theirs, line.unit)}"
    speed = "–" if line.speed is None else f"{line.speed:.3g}"
    share = "–" if line.share is None else f"{line.share:.0%}"
    mine = number(line.ours, line.unit)
    return f"| {line.title} | {peer} | {mine} | {line.ratio} | {line.bar} | {line.met} | {speed} | {share} |"


HEAD = """| work | fastest peer, s | ours, s | ratio | bar | met | Gcell/s | of the limit |
|---|---|---:|---:|---:|---|---:|---:|"""


def everyone(lines: list[Line]) -> Iterator[str]:
    peers = sorted({peer for line in lines for peer in line.everyone if not peer.startswith("timelike")})
    yield "| work | " + " | ".join(peers) + " |"
    yield "|---|" + "---:|" * len(peers)
    for line in lines:
        if any(peer in line.everyone for peer in peers):
            cells = (number(line.everyone.get(peer), line.unit) for peer in peers)
            yield f"| {line.title} | " + " | ".join(cells) + " |"


def report(lines: list[Line], s: Settings, command: str, words: str) -> str:
    import timelike as tl

    notes = [f"- {line.title}: {note}." for line in lines for note in line.notes]
    packages = versions("timelike", *PEERS, "numba", "numpy")
    threads = "one thread each" if s.threads == 1 else f"{s.threads} threads each"
    parts = [
        "# Speed of the elastic distances",
        headline(Row(one.title, one.peer, "", "", one.ratio, one.bar, met=one.met != "NO") for one in lines),
        "\n".join([HEAD, *map(row, lines)]),
        "Every library, in seconds unless said otherwise:",
        "\n".join(everyone(lines)),
        f"## How to repeat it\n\n```console\n{command}\n```",
        "## How it was measured",
        f"{processor()}, {os.cpu_count()} cores, kernels for {tl.native.isa()}, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; {packages}; {threads}, except the row that "
        f"compares two with one. Best of {REPEATS} or more runs after a first one that does not count. Cells are those "
        f"of the whole dynamic program, also for a search that skips most of them; {load()}.",
        words,
        "\n".join(notes),
    ]
    if s.quick:
        parts.insert(1, "**A smoke run with small sizes: these numbers mean nothing.**")
    return "\n\n".join(part for part in parts if part) + "\n"


def asked() -> argparse.Namespace:
    names = [*WORKS, "overhead", "path"]
    parser = arguments(__doc__, names, quick="small sizes")
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="folder of data sets")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a bar is missed")
    given = parser.parse_args()
    if given.threads < 1:
        parser.error(f"--threads {given.threads}: expected 1 or more")
    given.only = given.only or names
    return given


def main() -> int:
    given = asked()
    warnings.filterwarnings("ignore", category=UserWarning)
    s = Settings(given.threads, given.quick, None if given.data is None else Path(given.data))
    limit, words = hardware()
    for peer in PEERS:
        if find_spec(peer) is None:
            print(f"{peer} is not installed and takes no part: pip install --group bench --group test", file=sys.stderr)
    if given.quick is False:
        warm(s, given.only)
    lines = []
    for name in given.only:
        print(f"{name} …", file=sys.stderr, flush=True)
        special = {"overhead": overhead, "path": path}.get(name)
        lines.append(special(s) if special else measured(name, WORKS[name](s), limit, s.threads))
        print(row(lines[-1]), file=sys.stderr, flush=True)  # a long run that is stopped has shown something
    flags = [
        argument if argument[:1] == "-" or "/" not in argument else Path(argument).name for argument in sys.argv[1:]
    ]
    page = report(lines, s, " ".join(["python -m benchmarks.speed.elastic", *flags]), words)
    print(page)
    if given.markdown is not None:
        given.markdown.write_text(page, encoding="utf-8")
    return 1 if given.strict and any(line.met == "NO" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

"""How large an installation of timelike is, how long it takes, and how fast the installed library starts.

    python tools/install_size.py [--wheel FILE] [--runs 20] [--no-learn] [--write]

Builds a wheel unless one is given, installs it into a new environment with what `pip install timelike` brings,
measures, then adds the extra `learn`. `--write` puts the tables into docs/install.md. The exit code is 1 if a bar is
missed. Sizes are those of the files that each package installed, so pip itself does not count. The bar is for what the
wheels hold: the bytecode is written by the installer, and not by every one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "install.md"
SIZE_BAR = 350  # MB, of the core with everything it brings, without bytecode
MARKS = "<!-- measured by tools/install_size.py -->", "<!-- /measured -->"
_NAMED = 8  # packages with a row of their own
# reads what pip recorded; files are counted once even if two packages record them
_SIZES = """
import importlib.metadata, json, os
sizes, seen = {}, set()
for one in importlib.metadata.distributions():
    paths = {os.path.realpath(str(file.locate())) for file in one.files or ()} - seen
    seen |= paths
    files = [path for path in paths if os.path.isfile(path)]
    bytecode = [path for path in files if path.endswith(".pyc")]
    sizes[one.metadata["Name"]] = [sum(map(os.path.getsize, group)) for group in (files, bytecode)]
print(json.dumps(sizes))
"""


def build_wheel(folder: Path) -> Path:
    """A wheel of this tree, whose compiled kernels are used again if they are up to date."""
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(python: Path, *requirements: str) -> float:
    """Install with pip and return the seconds, downloads included."""
    began = time.perf_counter()
    _run(str(python), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), *requirements)
    return time.perf_counter() - began


def package_sizes(python: Path) -> dict[str, tuple[float, float]]:
    """Megabytes of every package, and those of its bytecode; without pip and setuptools, which were there before."""
    sizes = json.loads(_run(str(python), "-c", _SIZES))
    return {
        name: (size / 1e6, bytecode / 1e6)
        for name, (size, bytecode) in sizes.items()
        if name not in ("pip", "setuptools")
    }


def fastest(command: list[str], runs: int) -> float:
    """The least wall seconds of several new processes: on a busy machine the others say how busy it was."""
    seconds = []
    for _ in range(runs + 1):  # the first warms the disk, and is never the least
        began = time.perf_counter()
        _run(*command)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def start_times(python: Path, runs: int) -> list[tuple[str, float, float]]:
    """What is started, its seconds, and its bar."""
    script = str(python.with_name("timelike"))
    distance = "import timelike as tl; tl.DTW().distance([0, 1, 2], [0, 2])"
    return [
        ("`python -c pass`, for comparison", fastest([str(python), "-c", "pass"], runs), float("inf")),
        ("`import timelike`", fastest([str(python), "-c", "import timelike"], runs), 0.15),
        ("`timelike --help`", fastest([script, "--help"], runs), 0.3),
        ("the first `tl.DTW().distance(x, y)`", fastest([str(python), "-c", distance], runs), 0.25),
    ]


def size_table(title: str, seconds: float, sizes: dict[str, tuple[float, float]]) -> list[str]:
    """The largest packages, the rest and the sum, as rows of a table."""
    ordered = sorted(sizes.items(), key=lambda item: -item[1][0])
    lines = [f"| {title} | MB | of it bytecode |", "|---|---:|---:|"]
    lines += [f"| {name} | {size:.1f} | {bytecode:.1f} |" for name, (size, bytecode) in ordered[:_NAMED]]
    rest = [pair for _, pair in ordered[_NAMED:]]
    if rest:
        size, bytecode = map(sum, zip(*rest, strict=True))
        lines.append(f"| {len(rest)} others | {size:.1f} | {bytecode:.1f} |")
    size, bytecode = map(sum, zip(*sizes.values(), strict=True))
    return [*lines, f"| **total**, installed in {seconds:.0f} s | **{size:.0f}** | **{bytecode:.0f}** |"]


def write_page(lines: Iterable[str]) -> None:
    """Replace what stands between the marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = map(re.escape, MARKS)
    block = "\n".join([MARKS[0], "", *lines, "", MARKS[1]])
    changed, count = re.subn(f"{begin}.*{end}", lambda _: block, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{PAGE.name} has no place for the tables: it needs the lines {MARKS[0]} and {MARKS[1]}")
    PAGE.write_text(changed, encoding="utf-8")


def measure(wheel: Path, folder: Path, *, runs: int, with_learn: bool) -> tuple[list[str], bool]:
    """The lines of the tables, and whether every bar is met."""
    _run(sys.executable, "-m", "venv", str(folder))
    python = folder / "bin" / "python"
    install(python, "--upgrade", "pip")
    seconds = install(python, str(wheel))
    core = package_sizes(python)
    size, bytecode = map(sum, zip(*core.values(), strict=True))
    is_met = size - bytecode <= SIZE_BAR
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    lines = [f"Measured on {date.today()}: {machine}. Times of an installation"]
    lines += ["include downloads.", ""]
    lines += [*size_table("`pip install timelike`", seconds, core), ""]
    verdict = "met" if is_met else "MISSED"
    lines += [f"The wheels hold {size - bytecode:.0f} MB (bar: {SIZE_BAR} MB, {verdict}), and with the bytecode that"]
    lines += [f"pip writes beside them it is {size:.0f} MB; uv and `pip install --no-compile` write none.", ""]
    lines += [f"| new process, least of {runs} | seconds | bar |", "|---|---:|---|"]
    for what, taken, bar in start_times(python, runs):
        is_met &= taken <= bar
        words = "" if bar == float("inf") else f"{bar} s, {'met' if taken <= bar else 'MISSED'}"
        lines.append(f"| {what} | {taken:.3f} | {words} |")
    if with_learn:
        seconds = install(python, f"timelike[learn] @ {wheel.resolve().as_uri()}")
        every = package_sizes(python)
        added = {name: pair for name, pair in every.items() if name not in core}
        torch = _run(str(python), "-c", "from importlib.metadata import version; print(version('torch'))").strip()
        lines += ["", *size_table(f'`pip install "timelike[learn]"` adds, with torch {torch}', seconds, added)]
    return lines, is_met


def _run(*command: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    folder = tempfile.gettempdir()  # not the clone, whose modules would be imported
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Measure, print, and write the page if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="measure this one")
    parser.add_argument("--runs", type=int, default=20, help="new processes per start time")
    parser.add_argument("--no-learn", action="store_true", help="leave out the extra learn, which is large")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/install.md")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="timelike-install-") as folder:
        wheel = (given.wheel or build_wheel(Path(folder))).resolve()
        lines, is_met = measure(wheel, Path(folder, "new"), runs=given.runs, with_learn=not given.no_learn)
    print("\n".join(lines))
    if given.write:
        write_page(lines)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())

"""The table of the speed programs: what a peer took, what we took, and the machine that both ran on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HEAD = "| work | beside | theirs | ours | ratio | bar | met |\n|---|---|---:|---:|---:|---:|---|"


@dataclass
class Row:
    """One line: what a peer took, what we took, and whether the bar is met; a bar of "–" asks for nothing."""

    work: str
    beside: str
    theirs: str
    ours: str
    ratio: str
    bar: str
    met: bool


def seconds(time: float) -> str:
    return f"{time:.3g} s"


def milliseconds(time: float) -> str:
    return f"{1000 * time:.3g} ms"


def against(
    work: str, beside: str, theirs: float, ours: float, least: float | None, said: Callable[[float], str] = seconds
) -> Row:
    """Two times, of which ours should go into theirs so many times at least."""
    ratio, bar = theirs / ours, "–" if least is None else f"≥ {least:g}×"
    return Row(work, beside, said(theirs), said(ours), f"{ratio:.3g}×", bar, least is None or bool(ratio >= least))


def at_most(
    work: str, beside: str, theirs: float, ours: float, most: float, said: Callable[[float], str] = milliseconds
) -> Row:
    """Two numbers, of which the second should be so many times the first at most."""
    ratio = ours / theirs
    return Row(work, beside, said(theirs), said(ours), f"{ratio:.3g}×", f"≤ {most:g}×", ratio <= most)


def line(row: Row) -> str:
    met = "–" if row.bar == "–" else "yes" if row.met else "NO"
    return f"| {' | '.join((row.work, row.beside, row.theirs, row.ours, row.ratio, row.bar, met))} |"


def shown(rows: Iterable[Row]) -> list[Row]:
    """The rows, each printed as soon as it is there."""
    found = []
    for row in rows:
        found.append(row)
        print(line(row), flush=True)
    return found


def arguments(description: str | None, jobs: Iterable[str], *, quick: str = "") -> argparse.ArgumentParser:
    """What the programs that print a table can be asked; `quick` says what a run with small sizes is."""
    names = list(jobs)
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--threads", type=int, default=1, help="of everybody (default 1)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="also write the rows there, as JSON")
    if quick:
        parser.add_argument("--quick", action="store_true", help=f"{quick}: does it run?")
    return parser


def page(title: str, command: str, words: str, rows: Iterable[Row], *further: str) -> str:
    parts = [f"# {title}", f"```console\n{command}\n```", words, table(rows), *further]
    return "\n\n".join(parts) + "\n"


def table(rows: Iterable[Row]) -> str:
    return "\n".join([HEAD, *map(line, rows)])


def save(rows: Iterable[Row], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps([asdict(row) for row in rows]))


def on_avx2(module: str, *arguments: str) -> list[Row]:
    """The rows of a program once more in a process whose kernels are those for AVX2."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        call = [sys.executable, "-m", module, "--rows", str(path), *arguments]
        # 1 where a bar is not met, which the rows say by themselves
        done = subprocess.run(call, env=os.environ | {"TIMELIKE_ISA": "v3"}, stdout=sys.stderr, check=False)
        if done.returncode not in (0, 1):
            raise subprocess.CalledProcessError(done.returncode, call)
        return [Row(**row) for row in json.loads(path.read_text())]


# --- the machine


def setting(*packages: str, kernels: bool = True) -> str:
    """The machine, the kernels chosen for it, Python, and the packages."""
    import timelike as tl

    chosen = [f"kernels for {tl.native.isa()}"] if kernels else []
    machine = ", ".join([processor(), f"{os.cpu_count()} cores", *chosen, platform.platform(terse=True)])
    return f"{machine}, Python {platform.python_version()}; {versions(*packages)}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((one.split(":", 1)[1].strip() for one in lines if one.startswith("model name")), platform.machine())


def versions(*packages: str) -> str:
    def of(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"{name} (not installed)"

    return ", ".join(map(of, packages))


def load() -> str:
    """How busy the machine was, where that is known."""
    return f"load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""

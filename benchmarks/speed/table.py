"""The table of the speed programs: what a peer took, what we took, and the machine that both ran on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HEAD = "| work | beside | theirs | ours | ratio | bar | met |\n|---|---|---:|---:|---:|---:|---|"

NAMED = 3  # missed bars that a headline names


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
    """The result first, then how to repeat it, then how it was measured."""
    rows = list(rows)
    return assemble(title, headline(rows), [table(rows), *further], command, words)


def assemble(title: str, result: str, body: Iterable[str], command: str, words: str) -> str:
    """A page of parts that are there already."""
    repeat = [f"## How to repeat it\n\n```console\n{command}\n```", f"## How it was measured\n\n{words}"]
    return "\n\n".join([f"# {title}", result, *body, *repeat]) + "\n"


def headline(rows: Iterable[Row]) -> str:
    """How ours compares with the peers, and which bars are missed, in one or two sentences.

    Comparisons of ours with ours, and numbers that are to be small, say nothing about a peer.

    >>> headline([against("DTW", "a loop", 3.0, 1.5, 1.0), against("MSM", "a loop", 4.0, 1.0, None)])
    'Faster than what it stands beside in 2 of 2 comparisons: 2 to 4 times as fast, the median 3. The one bar is met.'
    >>> headline([at_most("two threads", "ours, one thread", 1.0, 0.75, 0.5)])
    '1 of 1 bar is missed: two threads, beside ours, one thread (0.75×, bar ≤ 0.5×).'
    """
    rows = list(rows)
    ratios = [float(row.ratio[:-1]) for row in rows if _is_speed(row)]
    said = []
    if ratios:
        among = f"{sum(one > 1 for one in ratios)} of {_counted(len(ratios), 'comparison')}"
        span = f"{min(ratios):g} times as fast"
        if len(ratios) > 1:
            span = f"{min(ratios):g} to {max(ratios):g} times as fast, the median {statistics.median(ratios):.3g}"
        said.append(f"Faster than what it stands beside in {among}: {span}.")
    judged = [row for row in rows if row.bar != "–"]
    missed = [row for row in judged if not row.met]
    if judged and not missed:
        said.append(
            {1: "The one bar is met.", 2: "Both bars are met."}.get(len(judged), f"All {len(judged)} bars are met.")
        )
    if missed:
        named = "; ".join(f"{row.work}, beside {row.beside} ({row.ratio}, bar {row.bar})" for row in missed[:NAMED])
        more = f"; and {len(missed) - NAMED} more" if len(missed) > NAMED else ""
        verb = "is" if len(missed) == 1 else "are"
        said.append(f"{len(missed)} of {_counted(len(judged), 'bar')} {verb} missed: {named}{more}.")
    return " ".join(said) or "There is nothing to compare with: the rows have our numbers alone."


def _is_speed(row: Row) -> bool:
    """Whether the ratio is how many times as fast as somebody else's ours is."""
    own = row.beside.startswith(("ours", "timelike", "–"))
    small = row.bar.startswith(("≤", "<")) and ("×" in row.bar or row.bar.endswith("B"))  # a share, or memory
    return row.ratio.endswith("×") and not own and not small


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)


def read_rows(text: str) -> list[Row]:
    """The rows of a page's first table: what `table` wrote."""
    lines = text.partition(f"{HEAD}\n")[2].partition("\n\n")[0].splitlines()
    cells = [one.removeprefix("| ").removesuffix(" |").split(" | ") for one in lines]
    return [
        Row(work, beside, theirs, ours, ratio, bar, met != "NO")
        for work, beside, theirs, ours, ratio, bar, met in cells
    ]


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

"""Damaged files of every format, loaded in child processes: none may end the process, hang, or raise anything strange.

    python -m benchmarks.faults.mutated_files
    python -m benchmarks.faults.mutated_files --only .mat .parquet --count 5000
    python -m benchmarks.faults.mutated_files --budget 600 --markdown benchmarks/results/mutated_files.md

Nine in ten have one byte changed, the tenth is cut off. Every one is loaded by its path, and where a file is one
recording also beside a whole one with `on_error="skip"`. A child says which file it begins and how that ended, so that
the one it dies of is known; the next child goes on behind it. What may come out is sequences or a ValueError that names
the file. Files are drawn from `--seed`, and `--budget` is in seconds for all formats together.
"""

from __future__ import annotations

import argparse
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.faults.valid_files import valid_files
from benchmarks.speed.table import setting

HEAD = "| file | bytes | tried | read | ValueError | with skip | other errors | deaths | hangs |\n|---|" + "---:|" * 8
_PATIENCE = 120.0  # seconds after which a file hangs: reading one takes milliseconds
_MEMORY = 4 << 30  # bytes of address space: a claim that is believed fails here, and not on the machine
_CUT = 10  # every tenth is a truncation
_BYTES = (0x00, 0xFF, 0x7F, 0x80, 0x01)  # what sizes, signs and flags turn over at


def mutated(content: bytes, index: int, seed: int = 0) -> bytes:
    """The `index`-th damage of a file: the same whichever were tried before it."""
    rng = np.random.default_rng([seed, index])
    at = int(rng.integers(len(content)))
    if index % _CUT == 0:
        return content[:at]
    old = content[at]
    drawn = (old ^ (1 << int(rng.integers(8))), int(rng.integers(256)), *_BYTES, (old + 1) % 256, (old - 1) % 256)
    new = drawn[int(rng.integers(len(drawn)))]
    return content[:at] + bytes([new if new != old else old ^ 1]) + content[at + 1 :]


def outcome(path: Path, whole: Path | None = None) -> str:
    """How loading a file ends: "read", "ValueError", or the name of what else was raised."""
    import timelike as tl

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tl.load(path) if whole is None else tl.load([whole, path], on_error="skip")
        for part in found if isinstance(found, tuple) else (found,):
            float(np.nansum(part.values))  # what is mapped is read here
    except ValueError as error:
        return "ValueError" if path.name in str(error) or whole is not None else f"ValueError without a name: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:80]}".replace("\n", " ")
    return "read"


def has_siblings(name: str) -> bool:
    """Whether several such files can be loaded together."""
    from timelike.sequences.io.formats import FORMATS

    known = FORMATS[Path(name).suffix]
    return known.has_columns or known.is_recording


# --- the child ----------------------------------------------------------------------------------------------------


def _child(folder: Path, name: str, begin: int, end: int, seed: int) -> None:
    """Load the damaged files from `begin` to `end`, and say how each ended."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    content, whole = (folder / name).read_bytes(), folder / name
    path = folder / f"damaged{Path(name).suffix}"
    for index in range(begin, end):
        path.write_bytes(mutated(content, index, seed))
        print(f"{index} begins", flush=True)
        print(f"{index} {outcome(path)}", flush=True)
        if has_siblings(name):
            print(f"{index} skip {outcome(path, whole)}", flush=True)


# --- the parent ---------------------------------------------------------------------------------------------------


def tried(folder: Path, name: str, count: int, seed: int, until: float) -> Counter[str]:
    """How many ended how; children are started until all were tried or the time is over."""
    found: Counter[str] = Counter()
    begin = 0
    while begin < count and time.monotonic() < until:
        begin = _one_child(folder, name, (begin, count), seed, until, found)
    return found


def _one_child(
    folder: Path, name: str, span: tuple[int, int], seed: int, until: float, found: Counter[str]
) -> int:  # where the next one goes on
    command = [sys.executable, "-m", "benchmarks.faults.mutated_files", "--child", str(folder), name]
    command += [*map(str, span), "--seed", str(seed)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    at = span[0]
    try:
        for line in _lines(worker):
            number, _, how = line.partition(" ")
            at = int(number)
            if how == "begins":
                found["tried"] += 1
            elif how.startswith("skip "):
                found["skip"] += 1
                found[how.removeprefix("skip ")] += how not in ("skip read", "skip ValueError")
            else:
                found[how] += 1
            if time.monotonic() > until and how != "begins":
                return at + 1
        code = worker.wait(1)
    except TimeoutError:
        found["hang"] += 1
        print(f"{name}: number {at} hangs", file=sys.stderr)
        return at + 1
    finally:
        worker.kill()
        worker.wait()
    if code == 0:
        return span[1]
    found["death"] += 1
    print(f"{name}: number {at} ends the process ({_name_of(code)})", file=sys.stderr)
    return at + 1


def _lines(worker: subprocess.Popen[str]) -> Iterator[str]:
    """What a child says, until it is over; a TimeoutError where it says nothing for too long."""
    assert worker.stdout is not None
    while True:
        ready, _, _ = select.select([worker.stdout], [], [], _PATIENCE)
        if not ready:
            raise TimeoutError
        line = worker.stdout.readline()
        if not line:
            return
        yield line.rstrip("\n")


def _name_of(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def rows(only: list[str] | None, count: int, seed: int, budget: float) -> Iterator[tuple[str, bool]]:
    """A line of the table for every file, and whether all is well in it."""
    files = {
        name: content
        for name, content in valid_files().items()
        if only is None or name in only or Path(name).suffix in only
    }
    end = time.monotonic() + budget
    with tempfile.TemporaryDirectory() as folder:
        for position, (name, content) in enumerate(files.items()):
            (Path(folder) / name).write_bytes(content)
            left = (end - time.monotonic()) / (len(files) - position)
            found = tried(Path(folder), name, count, seed, time.monotonic() + left)
            usual = ("tried", "skip", "read", "ValueError", "death", "hang")
            others = {how: n for how, n in found.items() if how not in usual and n}
            for how, n in others.items():
                print(f"{name}: {n} × {how}", file=sys.stderr)
            numbers = [len(content), *(found[how] for how in ("tried", "read", "ValueError", "skip"))]
            numbers += [sum(others.values()), found["death"], found["hang"]]
            yield f"| {name} | {' | '.join(map(str, numbers))} |", not any(numbers[-3:])


def page(lines: list[str], command: str) -> str:
    """The page of the documentation."""
    table = "\n".join([HEAD, *lines])
    counts = [[int(cell) for cell in line.strip("| ").split(" | ")[2:]] for line in lines]
    tried, wrong = sum(row[0] for row in counts), sum(sum(row[-3:]) for row in counts)
    bad = "none" if wrong == 0 else str(wrong)
    return f"""# Damaged files

Of {tried} damaged files of {len(lines)} kinds {bad} led to another error than ValueError, to the death of the process
or to a hang.

{table}

## How to repeat it

```console
{command}
```

## Caveats

{setting("timelike", "numpy", "scipy", "pyarrow", "av")}. A small valid file of every format is damaged, nine times in
ten by one changed byte and otherwise by being cut off, and loaded in a child process. *Read*: the damage changed a
number, a name, or nothing that is read. *With skip*: so many were loaded once more beside the whole file, with
`on_error="skip"`.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", help="names or suffixes of files")
    parser.add_argument("--count", type=int, default=2500, help="damaged files of each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=3600.0, help="seconds for all")
    parser.add_argument("--markdown", type=Path, help="write the page there too")
    parser.add_argument("--child", nargs=4, metavar=("FOLDER", "NAME", "BEGIN", "END"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        folder, name, begin, end = given.child
        _child(Path(folder), name, int(begin), int(end), given.seed)
        return 0
    print(HEAD)
    lines, fine = [], True
    for line, well in rows(given.only, given.count, given.seed, given.budget):
        print(line, flush=True)
        lines.append(line)
        fine = fine and well
    if given.markdown is not None:
        words = " ".join(["python -m benchmarks.faults.mutated_files", f"--count {given.count} --seed {given.seed}"])
        given.markdown.write_text(page(lines, words), encoding="utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())

"""How long a call goes on after one Ctrl-C: every long call of the library in a process of its own, interrupted.

    python -m benchmarks.faults.interrupts
    python -m benchmarks.faults.interrupts --only learned --moments 1
    python -m benchmarks.faults.interrupts --quick --markdown benchmarks/results/interrupts.md

A process says when it begins the call, is sent SIGINT some time later, and says how the call ended. The seconds between
the signal and that are the row; of several moments the worst counts. Beside them stands the processor time that it took
meanwhile: on a machine that has other things to do, a call waits for its turn.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.faults.long_calls import EARLY, PARTS, Call
from benchmarks.speed.table import load, setting

BAR = 1.0
MOMENTS = (2.0, 0.7, 4.5)  # seconds of processor time after the call began, so that a busy machine sees the same
HEAD = "| call | ends with | seconds after Ctrl-C | processor time | under 1 s |\n|---|---|---:|---:|---|"
_PATIENCE = 60.0  # seconds after which a call is killed
_PROGRAM = """
import signal, warnings
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background without it
import numpy as np, timelike as tl
rng = np.random.default_rng(0)
{before}
warnings.simplefilter("ignore")
print("begins", flush=True)
try:
    found = {line}
    print(getattr(getattr(found, "history_", None), "stopped", "returned"), flush=True)
except KeyboardInterrupt:
    print("KeyboardInterrupt", flush=True)
"""


class Ended(NamedTuple):
    """How a call ended, and how long after the signal."""

    how: str
    seconds: float
    busy: float


def interrupted(call: Call, moment: float) -> Ended:
    """Run the call, send the signal, and wait; files that it makes are gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        wish = os.environ | {"TMPDIR": folder} | ({} if call.native else {"TIMELIKE_NATIVE": "0"})
        return _met(call, moment, wish)


def _met(call: Call, moment: float, wish: dict[str, str]) -> Ended:
    program = _PROGRAM.format(before=call.before, line=call.line)
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=wish)
    assert worker.stdout is not None
    try:
        if worker.stdout.readline().strip() != "begins":
            return Ended("failed before it began", 0.0, 0.0)
        if not _computed(worker, moment):
            return Ended("over before the signal", 0.0, 0.0)
        sent, before = time.monotonic(), _processor_time(worker.pid)
        for press in range(call.presses):
            time.sleep(0.5 if press else 0)
            worker.send_signal(signal.SIGINT)
        how = _answer(worker)
        return Ended(how, time.monotonic() - sent, _processor_time(worker.pid) - before)
    finally:
        worker.kill()
        worker.wait()


def _computed(worker: subprocess.Popen[str], seconds: float) -> bool:
    """Waits until the process has computed for so long; False if it ended before."""
    begin = _processor_time(worker.pid)
    while _processor_time(worker.pid) - begin < seconds:
        time.sleep(0.02)
        if worker.poll() is not None:
            return False
    return True


def _processor_time(process: int) -> float:
    """Seconds that all threads of a process have computed, as Linux tells it."""
    words = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _answer(worker: subprocess.Popen[str]) -> str:
    """What the process says of the end, or that it says nothing for too long."""
    limit = threading.Timer(_PATIENCE, worker.kill)
    limit.start()
    try:
        assert worker.stdout is not None
        said = worker.stdout.readline().strip()
    finally:
        limit.cancel()
    return {"Ctrl-C": EARLY, "": "killed, or failed"}.get(said, said)


def worst(call: Call, moments: tuple[float, ...]) -> Ended:
    """Of all moments the one with an unexpected end, or the longest."""
    found = [interrupted(call, moment) for moment in moments]
    # before the first step there is nothing to keep, and a training is interrupted
    fine = {call.ends, "KeyboardInterrupt"}
    return max(found, key=lambda one: (one.how not in fine, one.seconds))


def rows(only: list[str] | None, moments: tuple[float, ...]) -> Iterator[str]:
    """A line of the table for every call."""
    for part, calls in PARTS.items():
        for call in calls:
            if only is None or part in only or any(word in call.name for word in only):
                ended = worst(call, moments)
                fine = ended.how in (call.ends, "KeyboardInterrupt") and ended.seconds < BAR
                seconds = f"{ended.seconds:.2f} | {ended.busy:.2f}"
                yield f"| {call.name} | {ended.how} | {seconds} | {'yes' if fine else 'NO'} |"


def page(lines: list[str], command: str, moments: tuple[float, ...]) -> str:
    """The page of the documentation."""
    kept = sum(line.endswith("yes |") for line in lines)
    said = ", ".join(f"{moment:g}" for moment in sorted(moments))
    return (
        f"""# Ctrl-C

{kept} of {len(lines)} calls end within {BAR:g} s of Ctrl-C.

{HEAD}
"""
        + "\n".join(lines)
        + f"""

## How to repeat it

```console
{command}
```

## Caveats

{setting("timelike", "torch", "numpy")}; {load()}. Every call runs in a process of its own and is sent one SIGINT,
after {said} s of processor time; of several moments the worst is shown. *KeyboardInterrupt*: it was raised. *Ended
early*: the training ended and kept its weights, as [Train](../../docs/train.md#when-it-stops) says; before the first
step there is nothing to keep, and KeyboardInterrupt is raised there too. A search over trainings is stopped by two
presses, half a second apart, and counts from the first. Processor time is that of all threads between the signal
and the end: a call on a machine that others use waits for its turn, too.

A single call into torch is never broken off, and with one moment for each call a row is a sample: whether such a call
is met depends on the moment. A backward pass of a recurrent network over thousands of steps is one and takes seconds.
Two others are within the second here and were not in every run before this one, with nothing changed for them in
between: training TAP without kernels (1.4 s of processor time), and all pairs of `SiameseGRU`, where one pass of a GRU
took up to a minute on a busy machine, waiting for threads.
"""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help=f"{', '.join(PARTS)}, or a word of a call's name")
    parser.add_argument(
        "--moments", type=int, default=len(MOMENTS), help="signals at so many moments, each in a new process"
    )
    parser.add_argument("--quick", action="store_true", help="one moment")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    given = parser.parse_args()
    moments = MOMENTS[: 1 if given.quick else given.moments]
    print(HEAD)
    lines = []
    for line in rows(given.only, moments):
        lines.append(line)
        print(line, flush=True)
    if given.markdown is not None:
        threads = f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']} " if "OMP_NUM_THREADS" in os.environ else ""
        quick = " --quick" if given.quick else ""
        command = f"{threads}python -m benchmarks.faults.interrupts{quick} --markdown {given.markdown}"
        given.markdown.write_text(page(lines, command, moments), encoding="utf-8")


if __name__ == "__main__":
    main()

"""The clocks of the speed programs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Job = Callable[[], Any]


class Timed(NamedTuple):
    """One run: seconds on the wall, seconds of processor time of all threads, and the answer."""

    wall: float
    busy: float
    answer: Any


def timed(job: Job) -> Timed:
    busy, wall = time.process_time(), time.perf_counter()
    answer = job()
    return Timed(time.perf_counter() - wall, time.process_time() - busy, answer)


def best(job: Job, repeats: int = 5, *, lasting: float = 0.0, rest: float = 0.0) -> float:
    """Seconds of the fastest call after one that does not count, and a rest.

    What is quick is called until it has taken `lasting` seconds, at most 200 times: the machine is not always quiet.
    """
    job()
    time.sleep(rest)
    times: list[float] = []
    while len(times) < repeats or (sum(times) < lasting and len(times) < 200):
        times.append(timed(job).wall)
    return min(times)


def fastest(turns: int, **jobs: Job) -> dict[str, float]:
    """Processor time of each, of the fastest of turns that alternate after one that does not count."""
    found = dict.fromkeys(jobs, float("inf"))
    for turn in range(turns + 1):
        for name, job in jobs.items():
            spent = timed(job).busy
            if turn:
                found[name] = min(found[name], spent)
    return found


def child(program: str, *given: object) -> list[str]:
    """The words that a process of its own prints, which alone tells a peak of memory from what came before."""
    call = [sys.executable, "-c", program, *map(str, given)]
    root, known = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")
    where = os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{known}" if known else root}  # it finds benchmarks.memory
    return subprocess.run(call, capture_output=True, text=True, check=True, env=where).stdout.split()

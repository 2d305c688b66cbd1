"""Rows of a long comparison: finished ones are on disk at once, the others wait for time to work them out."""

from __future__ import annotations

import abc
import argparse
import json
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch

Found = dict[str, Any]
Rows = dict[str, Found]


class Keyed(Protocol):
    """A row knows its place among the results."""

    @property
    def key(self) -> str: ...


class Row(NamedTuple):
    """One data set, one method, one seed."""

    dataset: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


R = TypeVar("R", bound=Keyed)


class Program(abc.ABC, Generic[R]):
    """The rows, their results on disk, and the clock."""

    def __init__(self, results: Path, budget: float) -> None:
        self.path = results
        self.rows: Rows = self._written()
        self.began, self.budget = time.perf_counter(), 60 * budget
        self.pace = 1.0  # how much slower than guessed rows have been so far
        self.ratios: list[float] = []

    @abc.abstractmethod
    def work(self, row: R) -> Found:
        """What there is to say of a row, `seconds` among it."""

    @abc.abstractmethod
    def seconds(self, row: R) -> float:
        """A guess."""

    @abc.abstractmethod
    def page(self) -> str:
        """The finished rows as Markdown."""

    @abc.abstractmethod
    def said(self, found: Found) -> str:
        """A finished row in a few words."""

    def ratio(self, row: R, found: Found) -> float | None:
        """The time a row took as a multiple of the guess; None where that says nothing of other rows."""
        guessed = self.seconds(row)
        return float(found["seconds"]) / guessed if guessed > 5 else None

    def waits(self, row: R, unfinished: list[R]) -> bool:
        """Whether it needs what others have not made yet."""
        return False

    def begin(self, pool: Executor, row: R) -> Future[Found]:
        """A row in a process of its own."""
        raise NotImplementedError

    def run(self, rows: Iterable[R], jobs: int = 1) -> list[R]:
        """Work through the rows in order; those not begun are given back."""
        todo = [row for row in rows if row.key not in self.rows]
        if jobs == 1:
            return [row for row in todo if not (self._affordable(row, todo) and self._finish(row, self.work(row)))]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            return self._side_by_side(todo, pool, jobs)

    def _side_by_side(self, todo: list[R], pool: Executor, jobs: int) -> list[R]:
        running: dict[Future[Found], R] = {}
        waiting, left_out = list(todo), []
        while waiting or running:
            ready = [row for row in waiting if not self.waits(row, [*waiting, *running.values()])]
            for row in ready[: jobs - len(running)]:
                waiting.remove(row)
                if self._affordable(row, todo):
                    running[self.begin(pool, row)] = row
                else:
                    left_out.append(row)
            for done in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                self._finish(running.pop(done), done.result())
        return left_out

    def _affordable(self, row: R, todo: list[R]) -> bool:
        left = self.budget - (time.perf_counter() - self.began)
        needed = self.pace * self.seconds(row)
        if needed > left:
            return False
        rest = self.pace * sum(self.seconds(other) for other in todo if other.key not in self.rows)
        done = time.strftime("%H:%M", time.localtime(time.time() + needed))
        print(f"{row.key}: about {duration(needed)}, until {done}; all: {duration(rest)}", flush=True)
        return True

    def _finish(self, row: R, found: Found) -> bool:
        ratio = self.ratio(row, found)
        if ratio is not None:
            self.ratios.append(ratio)
            self.pace = statistics.median(self.ratios[-5:])
        self.rows[row.key] = found
        self.save()
        print(f"    {row.key}: {self.said(found)}, {duration(found['seconds'])}", flush=True)
        return True

    def _written(self) -> Rows:
        rows: Rows = json.loads(self.path.read_text())["rows"] if self.path.exists() else {}
        return rows

    def save(self) -> None:
        """Results and page; a half-written file never takes the place of a whole one."""
        self.rows = self._written() | self.rows  # another run of the program may have finished some
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps({"rows": self.rows}, indent=1, ensure_ascii=False) + "\n")
        partial.replace(self.path)
        self.path.with_suffix(".md").write_text(self.page())


def arguments(description: str | None, results: Path, holds: str) -> argparse.ArgumentParser:
    """What all of these programs can be asked."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help=f"holds {holds}")
    parser.add_argument("--results", type=Path, default=results, help="a .json; the page is written beside it")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--quick", action="store_true", help="almost no training: does it run?")
    return parser


def refuse(given: argparse.Namespace, results: Path, holds: str) -> None:
    """No data, or numbers without meaning among the results."""
    if given.quick and given.results == results:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    if given.data is None:
        raise SystemExit(f"no data: --data DIR or TIMELIKE_DATA names the folder that holds {holds}")


def chosen(rows: Iterable[Row], only: list[str] | None) -> list[Row]:
    """Those whose data set, method, data set/method or key was asked for."""
    rows = list(rows)
    if not only:
        return rows
    wanted = [row for row in rows if {*row[:2], f"{row.dataset}/{row.method}", row.key} & set(only)]
    if not wanted:
        names = sorted({row.dataset for row in rows}), sorted({row.method for row in rows})
        raise SystemExit(f"--only {' '.join(only)}: expected of {', '.join(names[0])} or {', '.join(names[1])}")
    return wanted


def go(program: Program[R], wanted: list[R]) -> int:
    """Run, save, and say what was left out."""
    left_out = program.run(wanted)
    program.save()
    if left_out:
        print(f"not begun for lack of time: {len(left_out)} of {len(wanted)} rows, the first {left_out[0].key}")
    return 0


def machine() -> str:
    """Where a row was worked out."""
    return f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, one thread"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(5400)
    '90 min'
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"

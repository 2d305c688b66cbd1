"""The one program behind the papers' tables: finished rows are on disk at once, the others wait for the next run."""

from __future__ import annotations

import abc
import argparse
import multiprocessing
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from benchmarks.evidence.record import evidence_line
from benchmarks.numerics.ledger import Ledger
from benchmarks.papers import command, page
from benchmarks.papers.clock import Clock, at, duration
from benchmarks.papers.results import Found, ResultFile, Row, Rows, commit, made
from benchmarks.papers.stale import PROTOCOL, end_section, top_mark

R = TypeVar("R", bound=Row)


class Program(abc.ABC, Generic[R]):
    """One table of one paper. A subclass says what is its own; running, keeping and telling are the same for all.

    `python -m benchmarks.papers.<paper>.<table>` runs it; rows are in `benchmarks/results/<paper>_<table>.json`.
    """

    place: ClassVar[str] = "benchmarks.papers"
    paper: ClassVar[str]
    table: ClassVar[str]
    title: ClassVar[str]  # of the page
    holds: ClassVar[str]  # what the folder of data must have
    without_data: ClassVar[bool] = False  # whether there are rows that need none
    draws: ClassVar[bool] = False  # whether there are figures
    seeds: ClassVar[int] = 3
    subject: ClassVar[
        tuple[str, ...]
    ] = ()  # the systems that the page is about; the others of a row are rivals and tools
    protocol: ClassVar[int] = 1  # raised when a program comes to measure something else: other data, steps or scores

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.quick, self.scratch = given, bool(given.quick), Path(given.scratch)
        self.results, self.clock = ResultFile(given.results), Clock(given.budget)
        # now: the code that runs is that of the start, whatever is committed meanwhile
        self.commit, self.ledger = commit(), Ledger()
        self.failed: list[R] = []
        self.guesses: dict[str, float] = {}  # from before a row is begun: what it leaves behind makes it look cheap

    # --- what is a paper's own

    @abc.abstractmethod
    def planned(self) -> Iterable[R]:
        """Every row, what tells most first."""

    @abc.abstractmethod
    def work(self, row: R) -> Found:
        """What there is to say of a row; its fields, seconds, machine, date and numerics are added."""

    @abc.abstractmethod
    def systems(self, row: R) -> Iterable[str]:
        """The systems of the library (`benchmarks.numerics`) whose numbers the row stands on."""

    @abc.abstractmethod
    def seconds(self, row: R) -> float:
        """How long a row takes: a guess."""

    @abc.abstractmethod
    def said(self, found: Found) -> str:
        """A finished row in a few words."""

    @abc.abstractmethod
    def headline(self) -> str:
        """The result in one to three plain sentences, made of the rows: the page begins with it.

        It says what was measured, ours beside the paper's number and the cheap rival's, and whether this agrees with
        the paper, falls short of it or contradicts it.
        """

    @abc.abstractmethod
    def body(self) -> str:
        """The finished rows as Markdown: the main table first, then details and further tables."""

    def caveats(self) -> list[str]:
        """What a reader must know before believing the page; missing rows and single seeds are added to it."""
        return []

    def draw(self, folder: Path) -> None:
        """Figures of the finished rows, where a program `draws`."""

    def needs(self, row: R) -> Iterable[R]:
        """Rows that should be finished before this one."""
        return ()

    def lacks(self, row: R) -> str:
        """Why a row cannot be worked out here; nothing where it can."""
        return ""

    def limited_by_time(self, row: R) -> str:
        """What the clock ended in a finished row, which then has other numbers when it is made again; else nothing."""
        minutes = self.rows[row.key].get("minutes")
        return f"its networks train for {minutes:g} minutes by the clock" if minutes else ""

    def kind(self, row: R) -> str:
        """Rows of one kind are slower than guessed by the same factor."""
        return ""

    def took(self, found: Found, guess: float) -> float | None:
        """The seconds that `seconds` has guessed; None where they tell nothing of other rows."""
        return float(found["seconds"]) if guess > 5 else None

    @classmethod
    def file(cls) -> str:
        """Name of the rows in `benchmarks/results` and of the page in `docs/benchmarks`."""
        return f"{cls.paper}_{cls.table}"

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        """Further things that this program can be asked."""

    # --- the same for all

    @property
    def rows(self) -> Rows:
        """The finished ones."""
        return self.results.rows

    @property
    def data(self) -> Path:
        return Path(self.given.data)

    @classmethod
    def main(cls, argv: list[str] | None = None) -> int:
        """Run from the command line: 1 where a row failed, 130 after Ctrl-C."""
        given = command.parsed(cls, argv)
        command.set_threads(given.threads)
        program = cls(given)
        # a page is made without data, on which a plan may depend
        plan = program.planned() if given.budget else program.default_plan()
        wanted = command.chosen(plan, given.only)
        with _interrupted_at_once():
            try:
                left = program.run(command.fewest(wanted) if given.quick else wanted, given.jobs)
            except KeyboardInterrupt:
                print(f"\nstopped; the next run goes on after the {len(program.rows)} finished rows", flush=True)
                return 130
            finally:
                page = program.save()
            if given.figures:
                program.draw(Path(given.figures))
                program.save()  # the page shows what was drawn
        if left:
            print(f"not begun for lack of time: {len(left)} of {len(wanted)} rows, the first {left[0].key}")
        print(f"{len(program.rows)} rows, {page}")
        return 1 if program.failed else 0

    def run(self, rows: Iterable[R], jobs: int = 1) -> list[R]:
        """Work through the rows in order; those for which there was no time are given back."""
        todo = [row for row in rows if row.key not in self.rows and self._possible(row)]
        if jobs == 1:
            return [row for row in todo if not self._in_turn(row, todo)]
        return self._side_by_side(todo, jobs)

    def save(self) -> Path:
        """The rows and their page."""
        self.results.save()
        return self.results.save_page(self.page())

    def page(self) -> str:
        """The finished rows as they are published."""
        name, data = f"{self.place}.{self.paper}.{self.table}", f"`DIR` holds {self.holds}."
        if self.holds.startswith("nothing"):
            command_line, data = f"python -m {name}", "No data is needed: everything is generated."
        else:
            command_line = f"python -m {name} --data DIR"
        caveats = [
            *self.caveats(),
            page.describe_seeds(self.rows),
            page.describe_missing((row.key for row in self.default_plan()), self.rows),
        ]
        return page.assemble_page(
            self.title,
            self.headline(),
            self.body(),
            page.how_to_repeat(command_line, data, self.rows),
            caveats,
            f"{end_section(self.rows, self.ledger, self.protocol)}\n{evidence_line(self.file())}",
            top_mark(self.rows, self.ledger, self.protocol, self.subject),
        )

    def default_plan(self) -> list[R]:
        """The rows that are planned when no option is given, whatever this run was asked for."""
        standard = copy(self)
        standard.given, standard.quick = command.default_options(type(self)), False
        return list(standard.planned())

    def numerics(self, row: R) -> dict[str, int]:
        """The versions by which a row is made now: of the program itself, and of the systems that it stands on."""
        return {PROTOCOL: self.protocol} | {name: self.ledger.versions[name] for name in self.systems(row)}

    def finished(self, row: R) -> Found:
        """The row, worked out, with where, when, by what and in what time."""
        began = time.perf_counter()
        found = asdict(row) | self.work(row)
        found.setdefault("seconds", time.perf_counter() - began)
        return found | made() | {"commit": self.commit, "numerics": self.numerics(row)}

    def _possible(self, row: R) -> bool:
        why = self.lacks(row)
        if why:
            print(f"{row.key}: not run, {why}", flush=True)
        return not why

    def _in_turn(self, row: R, todo: list[R]) -> bool:
        if not self._affordable(row, todo):
            return False
        try:
            self._keep(row, self.finished(row))
        except Exception as error:
            self._tell_failure(row, error)
        return True

    def _side_by_side(self, todo: list[R], jobs: int) -> list[R]:
        running: dict[Future[Found], R] = {}
        waiting, left_out = list(todo), []
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, _open_workshop, (type(self), self.given)) as pool:
            try:
                while waiting or running:
                    for row in self._ready(waiting, [*running.values()])[: jobs - len(running)]:
                        waiting.remove(row)
                        if self._affordable(row, todo, jobs):
                            running[pool.submit(_work, row)] = row
                        else:
                            left_out.append(row)
                    for done in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                        self._collect(running.pop(done), done)
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    child.terminate()
                raise
        return left_out

    def _ready(self, waiting: list[R], running: list[R]) -> list[R]:
        """Those that need nothing which is still to be made."""
        unfinished = {*waiting, *running}
        return [row for row in waiting if not unfinished.intersection(self.needs(row))]

    def _collect(self, row: R, done: Future[Found]) -> None:
        try:
            self._keep(row, done.result())
        except Exception as error:
            self._tell_failure(row, error)

    def _expected(self, row: R) -> float:
        return 1.0 if self.quick else self.clock.expected(self.kind(row), self.seconds(row))

    def _affordable(self, row: R, todo: list[R], jobs: int = 1) -> bool:
        left = self.clock.left()
        if left <= 0:
            return False
        needed = self._expected(row)
        if needed > left:
            return False
        rest = sum(self._expected(other) for other in todo if other.key not in self.rows) / jobs
        self.guesses[row.key] = self.seconds(row)
        print(f"{row.key}: about {duration(needed)}, until {at(needed)}; all: {duration(rest)}", flush=True)
        return True

    def _keep(self, row: R, found: Found) -> None:
        guess = self.guesses.pop(row.key)
        took = self.took(found, guess)
        if took is not None:
            self.clock.learn(self.kind(row), guess, took)
        self.results.add(row.key, found)
        self.save()
        print(f"    {row.key}: {self.said(found)}, {duration(found['seconds'])}", flush=True)

    def _tell_failure(self, row: R, error: Exception) -> None:
        """One row that fails does not take the night away from the others."""
        self.failed.append(row)
        traceback.print_exception(error)
        print(f"    {row.key}: FAILED, {type(error).__name__}", file=sys.stderr, flush=True)


# --- Ctrl-C


@contextmanager
def _interrupted_at_once() -> Iterator[None]:
    """Ctrl-C ends the row and the program.

    Where Python's own handler is in place a training ends early and is returned, and its row would count as finished.
    """

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --- rows in processes of their own

_workshop: list[Program[Any]] = []


def _open_workshop(kind: type[Program[Any]], given: argparse.Namespace) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is heard by the first process, which ends the others
    command.set_threads(given.threads)
    _workshop.append(kind(given))


def _work(row: Row) -> Found:
    return _workshop[0].finished(row)

"""The queue itself; runs in the clone and starts a worker for every few rows."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.queue.clone import Clone
from benchmarks.queue.folders import RESULTS, Folders, write_json
from benchmarks.queue.journal import Journal, failures
from benchmarks.queue.merge import merge_rows
from benchmarks.queue.planned_row import PlannedRow, current_versions, finished_rows, read_plan
from benchmarks.queue.schedule import Schedule

GRACE = 20.0  # seconds that a worker has to end after an interrupt


class Runner:
    """Works through a plan in the clone, until the budget is spent, nothing is left, or somebody stops it."""

    def __init__(self, folders: Folders, source: Path, data: str | None, lock: int) -> None:
        self.folders, self.source, self.data, self.lock = folders, source, data, lock
        self.clone, self.journal = Clone(folders, source), Journal(folders.journal)
        self.commit = self.clone.commit

    def schedule(self, budget: float) -> Schedule:
        """The plan of this commit."""
        began = time.monotonic()
        words = ["--out", str(self.folders.plan), *(["--data", self.data] if self.data else [])]
        self._run_module("benchmarks.queue.plan", words)
        rows, problems = read_plan(self.folders.plan)
        for problem in problems:
            print(problem, flush=True)
        left = budget - (time.monotonic() - began)
        versions = current_versions(self.folders.tree)
        return Schedule(rows, self.finished_rows, left, time.monotonic, versions, failures(self.journal.read()))

    def finished_rows(self, file: str) -> dict[str, Any]:
        """By the working tree and by the queue, as they are on disk now."""
        return dict(finished_rows(self.folders, self.source / RESULTS, file)["rows"])

    def run(self, schedule: Schedule, renew: bool) -> bool:
        """Make rows; True where the clone is to be moved to a newer commit first."""
        while group := schedule.next_group():
            self.make(group, schedule)
            if renew and self.clone.wished_commit() != self.commit:
                return True
        return False

    def make(self, group: list[PlannedRow], schedule: Schedule) -> None:
        """Have a worker make some rows of one program; what does not get finished is not tried again in this run."""
        self._lay_out(group)
        start = self.journal.position()
        code = self._work(group, schedule.left)
        ended = {event["key"]: event["event"] for event in self.journal.read(start)}
        if code not in (0, 130):
            self._note_crash(group, ended, code)
        not_finished = {row.name for row in group if ended.get(row.key) not in (None, "finished")}
        schedule.tried |= not_finished

    def _note_crash(self, group: list[PlannedRow], ended: dict[str, str], code: int) -> None:
        """The row that a worker died in has failed; all of them, where it died before the first."""
        guilty = [row.key for row in group if ended.get(row.key) == "begun"] or [row.key for row in group if not ended]
        for key in guilty:
            ended[key] = "failed"
            about = {"program": group[0].program, "key": key, "commit": self.commit}
            self.journal.write("failed", reason=f"the worker ended with {code}", **about)

    def _lay_out(self, group: list[PlannedRow]) -> None:
        """The result file that the program reads and writes, without the rows that it is to make."""
        file = group[0].file
        table = finished_rows(self.folders, self.source / RESULTS, file)
        for row in group:
            table["rows"].pop(row.key, None)
        write_json(self.folders.results / f"{file}.json", table)

    def _work(self, group: list[PlannedRow], seconds: float) -> int:
        words = ["--base", str(self.folders.base), "--scratch", str(self.clone.scratch), "--program", group[0].program]
        words += ["--keys", json.dumps([row.key for row in group]), "--budget", str(max(seconds, 1.0) / 60)]
        words += ["--data", self.data] if self.data else []
        return self._run_module("benchmarks.queue.worker", [*words, "--", *group[0].arguments], check=False)

    def _run_module(self, module: str, words: list[str], *, check: bool = True) -> int:
        """Run a module of the clone and wait; whatever ends this process ends that one too."""
        command = [sys.executable, "-m", module, *words]
        where: dict[str, Any] = {"cwd": self.folders.tree, "env": self.clone.environment()}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[self.lock], **where)
        try:
            code = process.wait()
        except BaseException:
            _end(process)
            raise
        if code and check:
            raise RuntimeError(f"{module} ended with {code}")
        return code


def _end(process: subprocess.Popen[bytes]) -> None:
    """As Ctrl-C would, so that a training can write its checkpoint; by force where this takes too long."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(argv: list[str] | None = None) -> int:
    """Run the queue: 130 where it was stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--budget", type=float, required=True, help="minutes")
    parser.add_argument("--lock", type=int, required=True, help="descriptor of the lock that is held")
    parser.add_argument("--data")
    parser.add_argument("--renew", action="store_true")
    given = parser.parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    runner = Runner(Folders(given.base), given.source, given.data, given.lock)
    began = time.monotonic()
    try:
        runner.journal.write("started", commit=runner.commit, budget=given.budget)
        moves = runner.run(runner.schedule(60 * given.budget), given.renew)
    except KeyboardInterrupt:
        print("stopped", flush=True)
        return 130
    finally:
        runner.journal.write("ended")
        print_merged(merge_rows(runner.folders, runner.source))
    if moves:
        _start_again(runner, given, given.budget - (time.monotonic() - began) / 60)
    return 0


def print_merged(received: dict[str, list[str]]) -> None:
    """Say which files have received rows."""
    for file, keys in received.items():
        print(f"{RESULTS / file}.json: {len(keys)} rows from the queue, the first {keys[0]}", flush=True)


def _start_again(runner: Runner, given: argparse.Namespace, minutes: float) -> NoReturn:
    """Move the clone to the newest commit, and go on with the code of that."""
    runner.clone.move_to(runner.clone.wished_commit())
    execute(runner.clone, given.base, given.source, minutes, given.lock, given.data, renew=True)


def execute(
    clone: Clone, base: Path, source: Path, minutes: float, lock: int, data: str | None, *, renew: bool
) -> NoReturn:
    """Become the runner of the clone; the lock stays held."""
    words = ["--base", str(base), "--source", str(source), "--budget", str(minutes), "--lock", str(lock)]
    words += [*(["--data", data] if data else []), *(["--renew"] if renew else [])]
    os.chdir(clone.folders.tree)
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "benchmarks.queue.runner", *words], clone.environment())


def interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

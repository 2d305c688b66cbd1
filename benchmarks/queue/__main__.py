"""Make missing rows of all comparisons in the background, the most telling first.

    python -m benchmarks.queue --budget 60 --data DIR --background
    python -m benchmarks.queue status
    python -m benchmarks.queue stop
    python -m benchmarks.queue merge --pages

It runs in a clone of its own at a fixed commit, in one thread and at the lowest priority; the order is
`benchmarks/queue/order.toml`. It can be stopped or killed at any moment: finished rows are kept, and are put into
`benchmarks/results` whenever it ends, or by `merge`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from benchmarks.queue.clone import Clone, lower_priority
from benchmarks.queue.folders import Folders, default_base
from benchmarks.queue.journal import Journal
from benchmarks.queue.lock import Lock, QueueRunningError, running_process
from benchmarks.queue.merge import merge_rows

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds that a stopped queue may take to end its row


def main(argv: list[str] | None = None) -> int:
    """Start, stop, show or merge the queue."""
    words = sys.argv[1:] if argv is None else argv
    given = _parser().parse_args(words)
    folders = Folders(given.clone.expanduser().resolve())
    if given.action == "run" and given.budget is None:
        raise SystemExit("--budget MINUTES is needed: how long may the queue run?")
    if given.action == "run" and given.background:
        return _detach(folders, [word for word in words if word != "--background"])
    if given.action == "run":
        _run(folders, given)
    if given.action == "stop":
        return _stop(folders)
    if given.action == "status":
        from benchmarks.queue.status import describe

        print(describe(folders, given.into))
        return 0
    return _merge(folders, given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.queue", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", nargs="?", choices=["run", "stop", "status", "merge"], default="run")
    parser.add_argument("--budget", type=float, metavar="MINUTES", help="of a run, which needs it")
    data = os.environ.get("TIMELIKE_DATA")
    parser.add_argument("--data", type=Path, default=data, help="the folder of the data; TIMELIKE_DATA unless given")
    parser.add_argument("--clone", type=Path, default=default_base(), metavar="DIR", help="the queue's own folder")
    parser.add_argument("--commit", default="HEAD", help="at which the clone runs")
    parser.add_argument("--stay", action="store_true", help="at the commit where the clone is")
    parser.add_argument("--renew", action="store_true", help="follow HEAD between rows")
    parser.add_argument("--background", action="store_true", help="detach; output goes to queue.log")
    parser.add_argument("--retry-failed", action="store_true", help="also rows that have failed twice")
    parser.add_argument("--nice", type=int, default=19, help="0 where nothing else runs; 19, the lowest, unless given")
    parser.add_argument("--into", type=Path, default=ROOT, metavar="TREE", help="the tree that receives rows")
    parser.add_argument("--again", action="store_true", help="merge: also rows that were merged before")
    parser.add_argument("--pages", action="store_true", help="merge: write the pages of the changed files anew")
    return parser


def _run(folders: Folders, given: argparse.Namespace) -> NoReturn:
    """Prepare the clone, and become its runner; ends with 130 where it was stopped before."""
    try:
        lock = Lock.acquire(folders.lock)
    except QueueRunningError as error:
        raise SystemExit(str(error)) from None
    from benchmarks.queue.runner import execute, interrupt

    for number in (signal.SIGINT, signal.SIGTERM):  # kernels may be built for minutes
        signal.signal(number, interrupt)
    lower_priority(given.nice)
    began, clone = time.monotonic(), Clone(folders, given.into.resolve())
    if given.retry_failed:
        Journal(folders.journal).write("failures forgotten")
    try:
        _place(clone, given)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    data = None if given.data is None else str(given.data.expanduser().resolve())
    minutes = given.budget - (time.monotonic() - began) / 60
    execute(clone, folders.base, given.into.resolve(), minutes, lock.descriptor, data, renew=given.renew)


def _place(clone: Clone, given: argparse.Namespace) -> None:
    wished = clone.commit if given.stay and clone.commit else clone.wished_commit(given.commit)
    clone.move_to(wished)
    print(f"the queue runs at commit {wished[:10]} in {clone.folders.tree}", flush=True)


def _detach(folders: Folders, words: list[str]) -> int:
    if running_process(folders.lock) is not None:
        raise SystemExit("a queue runs already: stop it with `python -m benchmarks.queue stop`")
    folders.base.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "benchmarks.queue", *words]
    with folders.log.open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    print(f"the queue runs in the background: process {process.pid}, log {folders.log}")
    return 0


def _stop(folders: Folders) -> int:
    process = running_process(folders.lock)
    if process is None:
        print("no queue runs")
        return 0
    os.kill(process, signal.SIGTERM)
    give_up = time.monotonic() + PATIENCE
    while running_process(folders.lock) == process:
        if time.monotonic() > give_up:
            print(f"process {process} has not ended within {PATIENCE:.0f} s")
            return 1
        time.sleep(0.1)
    print("stopped; finished rows are merged")
    return 0


def _merge(folders: Folders, given: argparse.Namespace) -> int:
    received = merge_rows(folders, given.into.resolve(), again=given.again)
    for file, keys in received.items():
        print(f"{file}: {len(keys)} rows, the first {keys[0]}")
    if given.pages and received:  # in processes of their own: the programs import the library of the tree
        return _write_pages(given.into.resolve(), sorted(received))
    if received:
        print("`make pages` writes their pages anew")
    return 0


def _write_pages(root: Path, files: list[str]) -> int:
    asked = [sys.executable, "-m", "benchmarks.queue.pages", *files]
    return subprocess.run(asked, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

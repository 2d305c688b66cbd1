"""What the queue does, has done and will do, in words."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

from benchmarks.papers.clock import duration
from benchmarks.queue.folders import RESULTS, Folders
from benchmarks.queue.journal import Journal, failures, last_run, running_row, slowness
from benchmarks.queue.lock import running_process
from benchmarks.queue.outbox import waiting_files, waiting_rows
from benchmarks.queue.planned_row import PlannedRow, current_versions, finished_rows, read_plan
from benchmarks.queue.schedule import ATTEMPTS

SHOWN = 8


def describe(folders: Folders, root: Path) -> str:
    """Several lines: what runs, what was finished, what is next and until when."""
    events, process = Journal(folders.journal).read(), running_process(folders.lock)
    run = last_run(events)
    lines = ["no queue runs" if process is None else f"a queue runs, process {process}, log {folders.log}"]
    if run:
        lines.append(f"started {run[0]['at']} at commit {run[0]['commit'][:10]}, {run[0]['budget']:.0f} minutes")
    row = running_row(run) if process is not None else None
    if row is not None:
        lines.append(f"makes {_short(row['program'])} {row['key']} since {row['at']}, about {duration(row['guess'])}")
    count = Counter(event["event"] for event in run)
    lines.append(f"in this run: {count['finished']} rows finished, {count['failed']} failed")
    lines += [f"  {_short(e['program'])} {e['key']}" for e in run if e["event"] == "finished"][-SHOWN:]
    lines += [f"  FAILED {_short(e['program'])} {e['key']}" for e in run if e["event"] == "failed"]
    waiting = {file: len(waiting_rows(folders.rows, file)[0]["rows"]) for file in waiting_files(folders.rows)}
    if waiting:
        lines.append(f"not merged yet: {', '.join(f'{n} of {file}' for file, n in waiting.items())}")
    return "\n".join([*lines, *_describe_rest(folders, root, slowness(events))])


def _describe_rest(folders: Folders, root: Path, slow: float) -> list[str]:
    rows, problems = read_plan(folders.plan)
    tables = {row.file: finished_rows(folders, root / RESULTS, row.file)["rows"] for row in rows}
    failed = failures(Journal(folders.journal).read())
    versions = current_versions(folders.tree)
    missing = _once([row for row in rows if row.is_missing(tables[row.file], versions)])
    ready = [row for row in missing if not (row.lacks or row.after) and failed[row.name] < ATTEMPTS]
    total = slow * sum(row.seconds for row in ready)
    lines = [f"missing: {len(missing)} rows, of which {len(ready)} can be made here in about {duration(total)}"]
    lines += [f"  {line}" for line in _by_entry(ready, slow)[:SHOWN]]
    held = Counter(row.after or row.lacks for row in missing if row.after or row.lacks)
    lines += [f"  waiting: {n} rows, {why}" for why, n in held.most_common(SHOWN)]
    given_up = [row for row in missing if failed[row.name] >= ATTEMPTS]
    lines += [f"  given up after {ATTEMPTS} failures: {_short(row.program)} {row.key}" for row in given_up]
    return lines + [f"  {problem}" for problem in problems]


def _once(rows: list[PlannedRow]) -> list[PlannedRow]:
    """Rows where they come first: two entries may have the same."""
    first: dict[tuple[str, str], PlannedRow] = {}
    for row in rows:
        first.setdefault(row.name, row)
    return list(first.values())


def _by_entry(rows: list[PlannedRow], slow: float) -> list[str]:
    lines, until = [], 0.0
    for (_, program), some in groupby(rows, key=lambda row: (row.entry, row.program)):
        group = list(some)
        until += slow * sum(row.seconds for row in group)
        lines.append(f"{_short(program)}: {len(group)} rows, the first {group[0].key}, done in {duration(until)}")
    return lines


def _short(program: str) -> str:
    return program.removeprefix("benchmarks.")

"""Make a cheap finished row of every program again, and say whether its numbers are still the same.

    python -m benchmarks.evidence --data DIR
    python -m benchmarks.evidence --data DIR --only tap --seconds 300

The row is one that should have the same numbers today. Where a program has none, the reason is given: "changed: stale
by `rocket` version 2" (see `benchmarks.numerics`), "not repeatable: limited by time" where the clock ended a training,
or what it would take. Times are not compared.

    holds   no number differs by more than the tolerance
    seeds   a number differs by more, but by no more than rows of other seeds do: a long training makes much of a
            rounding error, and some versions of a system merely draw other random numbers
    BROKEN  the row claims to be of today's numerics, and is not: the exit code is 1

The outcome is written to `benchmarks/results/evidence.json`, from which every page takes its last line.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.evidence.choice import Choice, choose_row, other_seeds
from benchmarks.evidence.comparison import TOLERANCE, Difference, differences, spread_over_seeds
from benchmarks.evidence.record import FILE, Outcome, read_outcomes, write_outcomes
from benchmarks.papers import command
from benchmarks.papers.programs import load_program, program_modules
from benchmarks.papers.results import Found, commit
from benchmarks.papers.resumable import Program

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # rows are made in one


def main(argv: list[str] | None = None) -> int:
    """Check all programs: 1 where a row does not hold."""
    given = _parser().parse_args(argv)
    outcomes = read_outcomes(given.results)
    modules = [name for name in program_modules() if not given.only or any(word in name for word in given.only)]
    if not modules:
        raise SystemExit(f"--only {' '.join(given.only)}: no program has this in its name")
    checked = []
    for module in modules:
        checked.append(check_program(module, given))
        print(describe(checked[-1]), flush=True)
        outcomes[checked[-1].file] = checked[-1]
        write_outcomes(outcomes, given.results)  # at once: a check that is broken off keeps what it found
    compared = [outcome for outcome in checked if outcome.holds is not None]
    broken = [outcome for outcome in compared if not outcome.holds]
    hold, none = len(compared) - len(broken), len(checked) - len(compared)
    print(f"{hold} of {len(compared)} rows hold; {none} programs have no row to make again")
    if any(outcome.baseline for outcome in compared):
        print("* a baseline's row; those of the method itself:")
    for outcome in compared:
        if outcome.baseline:
            print(f"  {outcome.program.removeprefix('benchmarks.'):30} {outcome.baseline}")
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.evidence", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("TIMELIKE_DATA"), help="TIMELIKE_DATA unless given")
    parser.add_argument("--seconds", type=float, default=60.0, help="that a row may have taken; 60 unless given")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help=f"{TOLERANCE:g} unless given")
    parser.add_argument("--only", action="append", metavar="WORD", help="programs with this in their name")
    parser.add_argument("--results", type=Path, default=FILE, metavar="FILE.json", help=f"{FILE} unless given")
    return parser


def check_program(module: str, given: argparse.Namespace) -> Outcome:
    """Make a row again and compare it."""
    kind = load_program(module)
    about: dict[str, Any] = {"program": module, "file": kind.file(), "commit": commit(), "tolerance": given.tolerance}
    about["date"] = datetime.now(UTC).strftime("%Y-%m-%d")
    try:
        program = _open(kind, given.data)
        choice = choose_row(program, given.seconds)
    except (Exception, SystemExit) as error:  # such as a folder of data that is not there
        return Outcome(**about, reason=f"it cannot be planned here: {error}")
    if choice.row is None:
        return Outcome(**about, reason=choice.reason)
    return _compare(program, choice, module, given, about | {"baseline": choice.baseline})


def _compare(
    program: Program[Any], choice: Choice, module: str, given: argparse.Namespace, about: dict[str, Any]
) -> Outcome:
    key = choice.row.key
    then = program.rows[key]
    about |= {"key": key, "commit_then": str(then.get("commit", "unknown"))}
    began = time.perf_counter()
    try:
        now = _repeat(module, key, given.data)
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no output"])[-1]
        return Outcome(**about, holds=False, reason=f"it fails now: {last}")
    about["seconds"] = round(time.perf_counter() - began, 1)
    return Outcome(**about, **judge(then, now, other_seeds(program, choice.row), given.tolerance, program.file()))


def judge(then: Found, now: Found, others: list[Found], tolerance: float, file: str = "") -> dict[str, Any]:
    """Whether a row holds, by the field that differs most; one beyond its spread over seeds comes before the others."""
    found = differences(then, now, file)  # a row without numbers is not chosen
    spreads = {one.field: spread_over_seeds([then, *others], one.field, file) for one in found}

    def beyond(one: Difference) -> bool:
        return not one.relative <= max(tolerance, spreads[one.field])

    worst = next(filter(beyond, found), found[0])
    told = {"holds": not beyond(worst), "difference": worst.relative, "field": worst.field}
    return told | ({"spread": spreads[worst.field]} if told["holds"] and worst.relative > tolerance else {})


def _open(kind: type[Program[Any]], data: str | None) -> Program[Any]:
    """With a folder for scratch in which nothing is: estimates are those of a row that is made from nothing."""
    words = ["--data", data] if data else []
    with tempfile.TemporaryDirectory(prefix="timelike-evidence-") as folder:
        return kind(command.parsed(kind, [*words, "--scratch", folder]))


def _repeat(module: str, key: str, data: str | None) -> dict[str, Any]:
    environment = os.environ | dict.fromkeys(THREADS, "1")
    with tempfile.TemporaryDirectory(prefix="timelike-evidence-") as folder:
        out = Path(folder) / "row.json"
        words = [module, key, "--out", str(out), *(["--data", data] if data else [])]
        asked = [sys.executable, "-m", "benchmarks.evidence.repetition", *words]
        subprocess.run(asked, env=environment, check=True, capture_output=True, text=True)
        return dict(json.loads(out.read_text(encoding="utf-8")))


def describe(outcome: Outcome) -> str:
    """One line of the table."""
    name = outcome.program.removeprefix("benchmarks.")
    if outcome.holds is None:
        return f"{name:32} -      {outcome.reason}"
    word = "BROKEN" if not outcome.holds else "holds" if outcome.spread is None else "seeds"
    word += "*" * bool(outcome.baseline and outcome.holds)
    much = outcome.reason or "identical"
    if outcome.difference:
        much = f"{outcome.field} differs by {outcome.difference:.1e} of its size"
        much += "" if outcome.spread is None else f", and by {outcome.spread:.1e} over seeds"
    return f"{name:32} {word:6} {outcome.key}, made by {outcome.commit_then}: {much}, {outcome.seconds:.0f} s"


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the papers' programs."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.papers.results import ROWS, Row

if TYPE_CHECKING:
    from benchmarks.papers.resumable import Program

R = TypeVar("R", bound=Row)


def parsed(program: type[Program[Any]], argv: list[str] | None) -> argparse.Namespace:
    """What was asked, complete; refuses numbers without meaning among the results, and no data."""
    given = _parser(program).parse_args(argv)
    kept = ROWS / f"{program.file()}.json"
    if given.quick:
        _quick(given, kept)
    given.results = given.results or kept
    given.scratch = given.scratch or Path(tempfile.gettempdir()) / f"timelike-{program.paper}"
    if given.data is None and given.budget == 0:  # a page is made of rows alone
        given.data = Path("none")
    if given.data is None and not program.without_data:
        raise SystemExit(f"no data: --data DIR or TIMELIKE_DATA names the folder that holds {program.holds}")
    return given


def default_options(program: type[Program[Any]]) -> argparse.Namespace:
    """What the options are when none is given."""
    return _parser(program).parse_args([])


def _quick(given: argparse.Namespace, kept: Path) -> None:
    if given.results is not None and given.results.resolve() == kept.resolve():
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    folder = Path(tempfile.mkdtemp(prefix="timelike-quick-"))
    given.results = given.results or folder / kept.name
    given.scratch = given.scratch / "quick" if given.scratch else folder
    given.seeds = 1


def _parser(program: type[Program[Any]]) -> argparse.ArgumentParser:
    about = sys.modules[program.__module__].__doc__
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help=f"holds {program.holds}")
    parser.add_argument("--results", type=Path, help=f"a .json, with the page beside it; {ROWS} unless given")
    parser.add_argument("--scratch", type=Path, help="for what other rows, the figures or the next run can use")
    parser.add_argument(
        "--only", action="append", metavar="WORD", help="rows that have this word, key or pattern of keys"
    )
    parser.add_argument("--seeds", type=int, default=program.seeds)
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--jobs", type=int, default=1, help="rows side by side")
    parser.add_argument("--threads", type=int, default=1, help="of one row")
    parser.set_defaults(figures=None)
    if program.draws:
        parser.add_argument("--figures", type=Path, metavar="DIR", help="draw what the finished rows say")
    parser.add_argument("--quick", action="store_true", help="few rows and almost no training: does it run?")
    program.options(parser)
    return parser


def chosen(rows: Iterable[R], only: list[str] | None) -> list[R]:
    """Those with one of the words; `FSDD/*TAP*` is a pattern of keys."""
    rows = list(rows)
    if not only:
        return rows
    wanted = [row for row in rows if any(word in row.words() or fnmatchcase(row.key, word) for word in only)]
    if not wanted:
        known = sorted({word for row in rows for word in row.words() if "/" not in word})
        raise SystemExit(f"--only {' '.join(only)}: no row has this. Known: {', '.join(known)}")
    return wanted


def fewest(rows: Iterable[R]) -> list[R]:
    """Enough to show that a program runs: the first row with every word that is not in an earlier one."""
    found, seen = [], set[str]()
    for row in rows:
        new = {word for word in row.words() if "/" not in word} - seen
        if new:
            seen |= new
            found.append(row)
    return found


def set_threads(threads: int) -> None:
    """Of torch, where a program uses it."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)

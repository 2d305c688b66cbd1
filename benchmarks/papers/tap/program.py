"""What the TAP programs share: where their data are, a quick run, and a command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from benchmarks.papers.resumable import Program, Row, arguments, chosen, go, refuse
from benchmarks.papers.tap_data import HOLDS


class TAPProgram(Program[Row]):
    """Rows on the data sets of `tap_data`; with `quick` next to nothing is learned."""

    def __init__(self, results: Path, budget: float, data: Path, quick: bool) -> None:
        super().__init__(results, budget)
        self.data, self.quick = data, quick


def main(
    program: type[TAPProgram],
    planned: Callable[[int], Iterable[Row]],
    results: Path,
    description: str | None,
    *,
    choose: Callable[[Iterable[Row], list[str] | None], list[Row]] = chosen,
    only: str = "rows whose data set, method or data set/method/seed this is",
) -> int:
    """Work out the rows that the command line asks for; `planned` lists those of a number of seeds."""
    parser = arguments(description, results, HOLDS)
    parser.add_argument("--only", action="append", help=only)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    refuse(given, results, HOLDS)
    torch.set_num_threads(1)
    wanted = choose(planned(given.seeds), given.only)
    return go(program(given.results, given.budget, Path(given.data), given.quick), wanted)

"""Learning features so that alignments come out right: the comparison of "Deep Declarative Dynamic Time Warping".

    python benchmarks/papers/decdtw_alignment.py --data DIR            # everything, three seeds; DIR holds ASAP
    python benchmarks/papers/decdtw_alignment.py --only generated      # needs no data
    python benchmarks/papers/decdtw_alignment.py --only decdtw --seeds 1 --budget 20
    python benchmarks/papers/decdtw_alignment.py --quick --results /tmp/try.json

Tasks: `melspec` and `chroma` (a score and its performance, section 7.1), `generated` (warped signals under
distractors), `places` (a query inside a reference with a maximum-error loss, section 7.2), and `open-…` (λ and the
constraints are learned). A row is one task, one method and one seed. A finished row is written to the results at once
and never run again, so the program can be stopped and started; a row is not begun when the budget would not suffice. λ,
the epoch and everything else are chosen on validation; the test pairs are looked at once, when the row is finished.
`--quick` makes everything small: it shows that the program works, and its numbers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers import decdtw_report as report
from benchmarks.papers.decdtw_methods import METHODS, Base
from benchmarks.papers.decdtw_open import OPEN, learn, validated
from benchmarks.papers.decdtw_scores import score_task
from benchmarks.papers.decdtw_tasks import Pairs, Task, places_task, warped_task
from benchmarks.papers.decdtw_training import WEIGHTS, Settings, errors, first_metric, select_weight, train

RESULTS = Path("docs/benchmarks/decdtw_alignment.json")
TASKS = ("melspec", "chroma", "generated", "places")
SETTINGS = {"places": Settings(epochs=30, patience=8), "generated": Settings(epochs=25, patience=8)}
OPEN_TASKS = ("generated", "melspec")
OPEN_EPOCHS = 10


class Row(NamedTuple):
    task: str
    method: str
    seed: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


def planned(seeds: int) -> Iterator[Row]:
    """Every row, one seed after the other; what is not learned has no seed but 0."""
    for seed in range(seeds):
        for task in TASKS:
            yield from (Row(task, name, seed) for name, m in METHODS.items() if m.loss is not None or seed == 0)
        for task in OPEN_TASKS:
            yield from (Row(f"open-{task}", name, seed) for name in OPEN)


class Program:
    """The rows, their results on disk, and the clock."""

    def __init__(self, results: Path, data: Path | None, quick: bool) -> None:
        self.path, self.data, self.quick = results, data, quick
        held = json.loads(results.read_text()) if results.exists() else {"rows": {}}
        self.rows: dict[str, dict[str, Any]] = held["rows"]

    @cache  # noqa: B019
    def task(self, name: str) -> Task:
        if name == "generated":
            made = warped_task()
        elif name == "places":
            made = places_task()
        else:
            if self.data is None:
                raise FileNotFoundError("give the folder that holds asap_scores.npz with --data or $TIMELIKE_DATA")
            made = score_task(self.data, name)
        return made.first(0.05) if self.quick else made

    def settings(self, name: str) -> Settings:
        found = SETTINGS.get(name, Settings())
        return replace(found, epochs=2) if self.quick else found

    @cache  # noqa: B019
    def base_weight(self, name: str) -> float:
        """λ for the base features, chosen on validation; DecDTW is trained with it."""
        return select_weight(Base(), self.task(name).val, self.task(name))[0]

    def estimate(self, row: Row) -> float:
        """Seconds: what the same work took with another seed, or two batches of it tried out."""
        task, settings = self.task(row.task.removeprefix("open-")), self.settings(row.task)
        same = [r["seconds"] for r in self.rows.values() if (r["task"], r["method"]) == (row.task, row.method)]
        if same:
            return float(np.mean(same))
        if row.task.startswith("open-") or METHODS[row.method].loss is None:
            return 60.0
        two = replace(task, train=task.train[: 2 * settings.batch], val=task.val[:16])
        weight, method, once = self.base_weight(row.task), METHODS[row.method], replace(settings, epochs=1)
        spent = min(train(two, method, 0, weight, once, lambda line: None).seconds for _ in range(2))
        return spent / (2 * settings.batch + 32) * (len(task.train) + len(task.val)) * settings.epochs

    def run(self, row: Row) -> None:
        start = time.perf_counter()
        found = self._open(row) if row.task.startswith("open-") else self._compared(row)
        found |= {**row._asdict(), "seconds": time.perf_counter() - start, "machine": report.machine()}
        self.rows[row.key] = found
        self.save()

    def _compared(self, row: Row) -> dict[str, Any]:
        """A column of table 1: the features of one method under both alignments, λ chosen again for these features."""
        task, method, settings = self.task(row.task), METHODS[row.method], self.settings(row.task)
        trained = train(task, method, row.seed, self.base_weight(row.task), settings, say)
        learned = () if trained.weight is None else (trained.weight,)
        weight, _ = select_weight(trained.net, task.val, task, tuple(sorted({*WEIGHTS, *learned})))
        scores = {
            f"{part} {aligner}": summary(errors(trained.net, pairs, task, aligner, weight), pairs, task)
            for part, pairs in (("val", task.val), ("test", task.test))
            for aligner in ("DTW", "GDTW")
        }
        return {
            "weight": weight,
            "trained with": trained.weight or self.base_weight(row.task),
            "history": trained.history,
            "epoch": trained.best,
            "settings": asdict(settings) | {"rate": method.rate},
            "pairs": [len(task.train), len(task.val), len(task.test)],
        } | scores

    def _open(self, row: Row) -> dict[str, Any]:
        name = row.task.removeprefix("open-")
        task, weight = self.task(name), self.base_weight(name)
        trained = learn(task, row.method, row.seed, weight, 2 if self.quick else OPEN_EPOCHS, say)
        constant = errors(Base(), task.test, task, "GDTW", weight)
        return {
            "weight": weight,
            "history": trained.history,
            "epoch": trained.best,
            "learned": trained.net.learned(),  # type: ignore[operator]
            "val constant": first_metric(errors(Base(), task.val, task, "GDTW", weight)),
            "test constant": summary(constant, task.test, task),
            "test GDTW": summary(validated(trained.net, task.test, task), task.test, task),
            "pairs": [len(task.train), len(task.val), len(task.test)],
        }

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps({"rows": self.rows}, indent=1, ensure_ascii=False) + "\n")
        partial.replace(self.path)
        self.path.with_suffix(".md").write_text(report.page(self.rows))


def summary(found: dict[str, list[float]], pairs: Pairs, task: Task) -> dict[str, float]:
    """Means over the pairs, and where the task has conditions the shares below each threshold."""
    means = {name: float(np.mean(values)) for name, values in found.items()}
    if pairs.kind is None:
        return means
    largest, kind = np.asarray(found["max error"]), pairs.kind.numpy()
    for i, condition in enumerate(task.kinds):
        for metres in report.THRESHOLDS:
            means[f"{condition} ≤ {metres} m"] = float((largest[kind == i] <= metres).mean())
    return means


def say(line: str) -> None:
    print("   ", line, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="holds asap_scores.npz")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; the page is written beside it")
    parser.add_argument("--only", action="append", help="rows whose task, method or task/method/seed this is")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="few pairs, two epochs: does it run?")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    torch.set_num_threads(given.threads)
    if given.quick and given.results == RESULTS:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    program = Program(given.results, given.data and Path(given.data), given.quick)
    wanted = [r for r in planned(given.seeds) if not given.only or {*r[:2], r.key} & set(given.only)]
    start, skipped = time.perf_counter(), 0
    for row in (r for r in wanted if r.key not in program.rows):
        left = 60 * given.budget - (time.perf_counter() - start)
        try:
            needed = program.estimate(row) if left > 0 else float("inf")
        except FileNotFoundError as missing:
            print(f"{row.key}: not run, {missing}")
            skipped += 1
            continue
        if needed > left:
            print(f"{row.key}: not begun, {left:.0f} s of the budget are left")
            skipped += 1
            continue
        print(f"{row.key}: about {needed:.0f} s", flush=True)
        program.run(row)
        print("   ", report.line(program.rows[row.key]), flush=True)
    if program.rows:
        program.save()
        print(report.page(program.rows))
    return 1 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())

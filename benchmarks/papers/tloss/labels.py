"""Accuracy against the share of labels: representations learned without labels beside the same network with them.

    python benchmarks/papers/tloss_labels.py --data DIR --figures DIR
    python benchmarks/papers/tloss_labels.py --only SyntheticControl --budget 10
    python benchmarks/papers/tloss_labels.py --quick --results /tmp/try.json

Figure 3.7 of the thesis on SyntheticControl and a part of UCI HAR. Without labels: one encoder (K = 5) learns from all
training series, and an SVM from the share that has labels. With labels: the same network and a linear map learn from
that share by cross-entropy, in as many steps of as many series. A row is one data set, one share and one seed; finished
rows are kept and never run again.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers.resumable import duration
from benchmarks.papers.tloss_data import Problem, known_sets, problem, sequence_file
from benchmarks.papers.tloss_figures import blank
from benchmarks.papers.tloss_heads import accuracy

import timelike as tl

RESULTS = Path("docs/benchmarks/tloss_labels.json")
SETS = ("SyntheticControl", "UCI HAR")
SHARES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SEEDS, K, STEPS, BATCH = 3, 5, 1500, 10
HAR_TRAIN, HAR_TEST = 1200, 1000  # series of UCI HAR: a part, the same for all rows
Rows = dict[str, dict[str, Any]]


class Program:
    """The rows, the data, and how many steps are trained."""

    def __init__(self, data: Path, results: Path, steps: int) -> None:
        self.data, self.path, self.steps = data, results, steps
        self.rows: Rows = json.loads(results.read_text())["rows"] if results.exists() else {}

    @cache  # noqa: B019
    def given(self, name: str) -> Problem:
        if name != "UCI HAR":
            return problem(self.data, next(one for one in known_sets(self.data) if one.name == name))
        series, labels, split = sequence_file(self.data / "uci_har.npz")
        rng = np.random.default_rng(0)
        some = [rng.permutation(np.flatnonzero(split == part))[:size] for part, size in ((0, HAR_TRAIN), (1, HAR_TEST))]
        return Problem(name, "UEA", series[some[0]], labels[some[0]], series[some[1]], labels[some[1]])

    @cache  # noqa: B019
    def vectors(self, name: str, seed: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Learned from all training series, without labels."""
        given = self.given(name)
        encoder = tl.CausalEncoder(
            n_negatives=K, max_steps=self.steps, standardize=given.standardize, random_state=seed
        ).fit(given.train)
        return encoder.encode(given.train), encoder.encode(given.test)

    def run(self, name: str, share: float, seed: int) -> dict[str, Any]:
        began = time.perf_counter()
        given = self.given(name)
        known = labelled(given.train_labels, share, np.random.default_rng(seed))
        train, test = self.vectors(name, seed)
        without = accuracy("svm", train[known], given.train_labels[known], test, given.test_labels)
        with_labels = supervised(given, known, seed, self.steps)
        return {
            "dataset": name,
            "share": share,
            "seed": seed,
            "labels": len(known),
            "unsupervised": without,
            "supervised": with_labels,
            "seconds": time.perf_counter() - began,
        }

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps({"rows": self.rows}, indent=1) + "\n")
        partial.replace(self.path)
        self.path.with_suffix(".md").write_text(page(self.rows))


def labelled(labels: NDArray[Any], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Which series have labels: this share of every class, at least one."""
    chosen = []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        chosen.append(members[: max(1, round(share * len(members)))])
    return np.sort(np.concatenate(chosen))


def supervised(given: Problem, known: NDArray[np.int64], seed: int, steps: int) -> float:
    """Accuracy of the causal network and a linear map, trained by cross-entropy on whole series."""
    classes, codes = np.unique(given.train_labels, return_inverse=True)
    torch.manual_seed(seed)
    flat = given.train.values.reshape(len(given.train.values), -1)
    mean, scale = (torch.tensor(v) for v in ((flat.mean(0), flat.std(0)) if given.standardize else (0.0, 1.0)))
    x, x_test = (((part.tensor()[0].float() - mean) / scale).float() for part in (given.train[known], given.test))
    y = torch.from_numpy(codes[known])
    network = nn.Sequential(tl.encode.CausalNetwork(x.shape[2]), nn.Linear(320, len(classes)))
    adam, rng = torch.optim.Adam(network.parameters(), lr=1e-3), np.random.default_rng(seed)
    for _ in range(steps):
        some = torch.from_numpy(rng.integers(len(x), size=min(BATCH, len(x))))
        adam.zero_grad()
        torch.autograd.backward(F.cross_entropy(network(x[some]), y[some]))
        adam.step()
    with torch.no_grad():
        found = torch.cat([network(part).argmax(1) for part in torch.tensor_split(x_test, 10)])
    return float(np.mean(classes[found.numpy()] == given.test_labels))


def curves(rows: Rows, name: str) -> list[tuple[float, int, list[float], list[float]]]:
    """Share, labels, accuracies without and with labels in training."""
    found = []
    for share in SHARES:
        some = [row for row in rows.values() if row["dataset"] == name and row["share"] == share]
        if some:
            sides = ([row[kind] for row in some] for kind in ("unsupervised", "supervised"))
            found.append((share, some[0]["labels"], *sides))
    return found


def page(rows: Rows) -> str:
    lines = ["| data set | share | labels | without labels | with labels | seeds |", "|---|---:|---:|---:|---:|---:|"]
    for name in SETS:
        for share, labels, without, with_labels in curves(rows, name):
            pair = f"{np.mean(without):.3f} | {np.mean(with_labels):.3f}"
            lines.append(f"| {name} | {share:.0%} | {labels} | {pair} | {len(without)} |")
    missing = len(SETS) * len(SHARES) * SEEDS - len(rows)
    state = f"**Not complete**: {missing} rows are missing.\n\n" if missing else ""
    return f"""# Few labels

```console
python benchmarks/papers/tloss_labels.py --data DIR
```

{state}Test accuracy. Without labels: an encoder learns from all training series (K = {K}) and an SVM from the share
with labels; with labels: the same network learns from that share only. {STEPS} steps each. UCI HAR: {HAR_TRAIN} series
of the training part, {HAR_TEST} of the test part.

{chr(10).join(lines)}
"""


def draw(rows: Rows, path: Path) -> None:
    for name in SETS:
        found = curves(rows, name)
        if not found:
            continue
        figure, axes = blank(5, 3.6)
        shares = [100 * share for share, *_ in found]
        for place, label in ((2, "representations without labels, SVM"), (3, "same network, trained with labels")):
            means = np.array([np.mean(one[place]) for one in found])
            spread = np.array([np.std(one[place]) for one in found])
            axes.plot(shares, means, marker="o", ms=4, label=label)
            axes.fill_between(shares, means - spread, means + spread, alpha=0.2)
        axes.set(xscale="log", xlabel="share of labels (%)", ylabel="test accuracy", title=name)
        axes.set_xticks(shares, [f"{share:g}" for share in shares])  # a logarithm would name 10 and 100 only
        axes.minorticks_off()
        axes.legend(frameon=False)
        figure.savefig(path / f"tloss_labels_{name.lower().replace(' ', '_')}.svg")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="holds ucr/ and uci_har.npz")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; the page is written beside it")
    parser.add_argument("--only", action="append", choices=SETS)
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--figures", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="three steps of training: does it run?")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick and options.results == RESULTS:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    if options.data is None:
        raise SystemExit("no data: --data DIR or TIMELIKE_DATA names the folder that holds ucr/ and uci_har.npz")
    program = Program(Path(options.data), options.results, 3 if options.quick else STEPS)
    work(program, options.only or SETS, 60 * options.budget)
    program.save()
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        draw(program.rows, options.figures)
    return 0


def work(program: Program, names: tuple[str, ...] | list[str], budget: float) -> None:
    began, longest = time.perf_counter(), 0.0
    for seed in range(SEEDS):
        for name in names:
            for share in SHARES:
                key = f"{name}/{share}/{seed}"
                if key in program.rows:
                    continue
                if time.perf_counter() - began + longest > budget:
                    print(f"{key}: not begun, the budget would not suffice")
                    return
                row = program.rows[key] = program.run(name, share, seed)
                longest = max(longest, row["seconds"])
                program.save()
                pair = f"without labels {row['unsupervised']:.3f}, with {row['supervised']:.3f}"
                print(f"{key}: {pair}, {duration(row['seconds'])}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

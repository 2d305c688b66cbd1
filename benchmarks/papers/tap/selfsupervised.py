"""TAP without labels: retrieval (tables 6 and 7), alignments (table 4) and running time (figure 3) of Su and Wen, 2022.

    python -m benchmarks.papers.tap.selfsupervised --data DIR
    python -m benchmarks.papers.tap.selfsupervised --data DIR --only MSRAction3D --seeds 1 --budget 20

A row is one data set, one method and one seed. Retrieval: TAP learns to be near augmentations of a sequence and to line
up with them (eq. 10), frames as they are; `SoftDTW*` is a network for frames that learns to make soft-DTW distances to
augmentations small. Methods that begin with `align` are judged by the mean squared difference from the alignment that
five augmentations of every test sequence were made with: `align TAP` learns such alignments of the training part (A.8),
`-s` learns from classes with triplets as in `supervised.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.tap import selfsupervised_report as report
from benchmarks.papers.tap.data import CELL, HOLDS, LEARNING, PLANS, SYSTEMS, Task, labels_of, scores, task
from benchmarks.papers.tap.methods import UNJUDGED, from_classes, tap
from torch import Tensor

import timelike as tl
from timelike.metric import (
    AlignedFramesNetwork,
    AlignmentNetwork,
    SelfSupervisedObjective,
    TAPNetwork,
    alignment_error,
    augment_batch,
)
from timelike.train import fit

EPOCHS, BATCH = 100, 16
AUGMENTATIONS = 5
FIXED = {
    "DTW": tl.DTW(),
    "lDTW": tl.DTW(normalize="length"),
    "nDTW": tl.DTW(normalize="steps"),
    "Sinkhorn": tl.Sinkhorn(),
    "TCOT": tl.align.TCOT(),
    "OPW": tl.OPW(),
    "SoftDTW": tl.SoftDTW(),
}
ALIGNING = ("align TAP", "align SoftDTW", "align SoftDTW 0.1", "align SoftDTW rows")
LABELLED = ("align TAP-s", "align SoftDTW-s")
SIZES = range(100, 1001, 100)
TIMES = ("time TAP", "time SoftDTW")


def unlabelled(supervision: Any, given: Task, seed: int, epochs: int) -> tl.TAP:
    how: dict[str, Any] = {"batch_size": BATCH, "max_epochs": epochs, "standardize": False, "random_state": seed}
    return tap(supervision=supervision, **UNJUDGED, **how).fit(given.train)


def collapsing(given: Task, seed: int, epochs: int) -> AlignedFramesNetwork:
    """SoftDTW*: nothing keeps its frames apart."""
    torch.manual_seed(seed)
    network = AlignedFramesNetwork(given.train.frame[0], aligner="softdtw", normalize=False)
    fit(
        SelfSupervisedObjective(network, given.train, joint=True, alignment=0.0, batch_size=BATCH),
        max_epochs=epochs,
        random_state=seed,
    )
    return network.eval()


@torch.no_grad()
def misaligned(network: AlignmentNetwork, given: Task, seed: int, *, rows: bool = False) -> float:
    """The mean squared error of alignments with augmentations; `rows` divides each row by its sum."""
    errors: list[Tensor] = []
    for turn in range(AUGMENTATIONS):
        for begin in range(0, len(given.test), 32):
            x, lengths = given.test[begin : begin + 32].to_tensor()
            new = augment_batch(x, lengths, random_state=10_000 * seed + 1000 * turn + begin)
            found = network.align_pairs(network.features(new.x, new.lengths), network.features(x, lengths))[1]
            if rows:
                found = found / found.sum(-1, keepdim=True).clamp(min=1e-9)
            errors.append(alignment_error(found, new.alignment, new.lengths, lengths))
    return torch.cat(errors).mean().item()


def aligner(row: Trial, given: Task, quick: bool) -> AlignmentNetwork:
    """What aligns in a row."""
    n, name = given.train.frame[0], row.method.removeprefix("align ")
    if name == "TAP":
        return unlabelled("alignment", given, row.seed, 1 if quick else EPOCHS).network_.eval()
    if name.startswith("SoftDTW") and not name.endswith("-s"):
        gamma = 0.1 if name.endswith("0.1") else 1.0
        return AlignedFramesNetwork(n, aligner=tl.nn.SoftDTW(gamma), transform=False)
    metric = from_classes(name.removesuffix("-s"), PLANS[row.dataset], row.seed, quick=quick)
    return metric.fit(given.train, labels_of(given.train)).network_.eval()


@torch.no_grad()
def timed(row: Trial) -> float:
    """Seconds for one pair, the best of three."""
    what, size = row.dataset.split()
    steps, channels = (int(size), 500) if what == "length" else (500, int(size))
    torch.manual_seed(0)
    x, y = torch.randn(2, 1, steps, channels)
    network: AlignmentNetwork = TAPNetwork(channels, transform=False)
    if row.method == "time SoftDTW":
        network = AlignedFramesNetwork(channels, aligner="softdtw", transform=False)
    taken = []
    for _ in range(4):
        began = time.perf_counter()
        network.eval()(x, y)
        taken.append(time.perf_counter() - began)
    return min(taken[1:])


class Unlabelled(Program[Trial]):
    """Retrieval, alignments and times."""

    paper, table, holds = "tap", "selfsupervised", HOLDS
    subject = ("tap",)
    title = "Learned alignment without labels, beside the paper (Su and Wen, ICLR 2022)"

    def planned(self) -> Iterator[Trial]:
        """Alignments and times first: they are cheap."""
        names = ["MSRAction3D", *(name for name in PLANS if name != "MSRAction3D")]  # the paper's own first
        sizes = [f"{what} {n}" for what in ("length", "dimension") for n in SIZES]
        yield from (Trial(size, method, 0) for size in sizes for method in TIMES)
        for seed in range(self.given.seeds):
            yield from (Trial(name, method, seed) for name in names for method in ALIGNING)
            if seed == 0:
                yield from (Trial(name, method, 0) for name in names for method in FIXED)
            yield from (Trial(name, method, seed) for name in names for method in ("TAP", "SoftDTW*"))
        yield from (Trial(name, method, 0) for name in names for method in LABELLED)

    def seconds(self, row: Trial) -> float:
        if row.method in TIMES:
            return 3.0
        plan = PLANS[row.dataset]
        pairs = EPOCHS * 2 * plan.n_train * plan.frames**2 * CELL * LEARNING
        if row.method in LABELLED:
            return plan.training() / (1 if "TAP" in row.method else 5)
        if row.method in ALIGNING:
            return pairs + 10 if row.method == "align TAP" else 3.0
        usual = 5.0 if "DTW" in row.method else 60.0
        return {"TAP": pairs + plan.comparing(), "SoftDTW*": pairs / 3}.get(row.method, usual)

    def systems(self, row: Trial) -> Iterable[str]:
        if row.method in FIXED:
            return SYSTEMS[row.method], "retrieval_scores"
        return "tap" if "TAP" in row.method else "aligned_frames", "retrieval_scores"

    def work(self, row: Trial) -> Found:
        if row.method in TIMES:
            return {"pair seconds": timed(row)}
        given = task(self.data, PLANS[row.dataset], self.quick)
        return self._judged(row, given) | given.sizes()

    def _judged(self, row: Trial, given: Task) -> Found:
        if row.method.startswith("align"):
            network = aligner(row, given, self.quick)
            return {"mse": misaligned(network, given, row.seed, rows=row.method.endswith("rows"))}
        epochs = 1 if self.quick else EPOCHS
        if row.method == "SoftDTW*":
            network = collapsing(given, row.seed, epochs)
            with torch.no_grad():
                sides = [network.features(*part.to_tensor()) for part in (given.test, given.train)]
                return scores(network.distance_matrix(sides[0], sides[1]).numpy(), given)
        metric: Any = FIXED.get(row.method) or unlabelled("augmentation", given, row.seed, epochs)
        return scores(metric.pairwise(given.test, given.train, n_jobs=1), given)

    def said(self, found: Found) -> str:
        return ", ".join(
            f"{name} {found[name]:.4g}" for name in ("map", "1-nn", "mse", "pair seconds") if name in found
        )

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Unlabelled.main())

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
from statistics import mean
from typing import Any

import torch
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial
from benchmarks.papers.tap.data import CELL, HOLDS, LEARNING, PLANS, SYSTEMS, Task, labels_of, scores, task
from benchmarks.papers.tap.methods import UNJUDGED, from_classes, tap
from benchmarks.papers.tap.supervised import cells, values
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
        SelfSupervisedObjective(network, given.train, joint=True, alignment=0.0, trainer=tl.Trainer(batch_size=BATCH)),
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


class Unlabelled(Experiment[Trial]):
    """Retrieval, alignments and times."""

    paper, table, holds = "tap", "selfsupervised", HOLDS
    subject = ("tap",)
    title = "Learned alignment without labels, beside the paper (Su and Wen, ICLR 2022)"
    question = "TAP learned without labels"

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


# --- the page

PAPER = {  # table 6, MSR Action3D: MAP, 1-NN, 5-NN, 30-NN (%)
    "DTW": ".590 81.32 80.95 72.53",
    "lDTW": ".567 82.78 79.12 64.84",
    "nDTW": ".565 79.85 76.92 67.40",
    "Sinkhorn": ".546 78.02 74.73 60.44",
    "TCOT": ".578 80.59 79.49 67.03",
    "OPW": ".587 84.25 80.22 67.03",
    "SoftDTW": ".589 81.32 80.95 72.89",
    "SoftDTW*": ".076 4.03 5.50 5.13",
    "TAP": ".557 79.85 78.02 67.77",
}
ERRORS = {"align TAP": 0.0062, "align SoftDTW": 0.0163, "align TAP-s": 0.0131, "align SoftDTW-s": 0.0165}  # table 4
PAPER_SPEED = 10.0  # how many times as fast as a soft-DTW in Python the paper's TAP is, on a GPU


def headline(rows: Rows) -> str:
    """Alignments, retrieval and speed, each beside the paper."""
    return page.sentences(
        lambda: _alignment_sentence(rows), lambda: _retrieval_sentence(rows), lambda: _speed_sentence(rows)
    )


def _alignment_sentence(rows: Rows) -> str:
    judged = [word for name in PLANS if (word := verdict(rows, name)) != "not yet decided"]
    if not judged:
        return ""
    won = sum(word == "met" for word in judged)
    own = [values(rows, "MSRAction3D", name, "mse") for name in ("align TAP", "align SoftDTW")]
    here = f"MSR Action3D: {mean(own[0]):.4f} and {mean(own[1]):.4f}; " if all(own) else ""
    agrees = "agrees with" if won == len(judged) else "contradicts"
    return (
        f"Without labels, TAP's alignments of augmented sequences are closer to the truth than soft-DTW's on {won} of "
        f"{len(judged)} data sets ({here}paper: {ERRORS['align TAP']} and {ERRORS['align SoftDTW']}), which {agrees} "
        "the paper."
    )


def _retrieval_sentence(rows: Rows) -> str:
    ours, cheap = (mean(values(rows, "MSRAction3D", name, "map")) for name in ("TAP", "DTW"))
    theirs = [float("0" + PAPER[name].split()[0]) for name in ("TAP", "DTW")]
    same = (ours < cheap) == (theirs[0] < theirs[1])
    return (
        f"In retrieval it has a MAP of {ours:.3f} and DTW, the cheap rival, {cheap:.3f} (paper: {theirs[0]} and "
        f"{theirs[1]}): it is {'behind' if ours < cheap else 'ahead of'} DTW, "
        f"{'as in' if same else 'which contradicts'} the paper."
    )


def _speed_sentence(rows: Rows) -> str:
    slower = list(slowdowns(rows).values())
    if not slower:
        return ""
    word = "contradicts" if min(slower) > 1 else "falls short of" if max(slower) > 1 / PAPER_SPEED else "agrees with"
    return (
        f"Comparing one pair takes TAP {markdown.format_range(slower)} times as long as our soft-DTW, which {word} the "
        f"paper, where TAP is about {PAPER_SPEED:g} times as fast."
    )


def verdict(rows: Rows, dataset: str) -> str:
    """Whether TAP is below SoftDTW however its alignment is read."""
    ours, *rivals = (values(rows, dataset, method, "mse") for method in ALIGNING)
    if not ours or not all(rivals):
        return "not yet decided"
    return "met" if all(mean(ours) < mean(rival) for rival in rivals) else "NOT met"


def retrieval(rows: Rows) -> str:
    """Tables 6 and 7."""
    lines = []
    for dataset in PLANS:
        for method, theirs in PAPER.items():
            if values(rows, dataset, method, "map"):
                reported = theirs if dataset == "MSRAction3D" else "–"
                lines.append([dataset, method, *cells(rows, dataset, method), reported])
    return markdown.table(["data set", "distance", "MAP", "1-NN %", "5-NN %", "30-NN %", "paper"], lines)


def alignments(rows: Rows) -> str:
    """Table 4."""
    methods = (*ALIGNING, *LABELLED)
    lines = []
    for dataset in PLANS:
        found = [values(rows, dataset, method, "mse") for method in methods]
        if any(found):
            errors = [f"{mean(some):.4f}" if some else "–" for some in found]
            lines.append([dataset, *errors, verdict(rows, dataset)])
    theirs = [f"{ERRORS[method]:.4f}" if method in ERRORS else "–" for method in methods]
    head = ["data set", *(method.removeprefix("align ") for method in methods), "TAP below all SoftDTW"]
    return markdown.table(head, [*lines, ["*paper, MSRAction3D*", *theirs, ""]])


def times(rows: Rows) -> str:
    """Figure 3."""
    lines = []
    for sizes, ratio in slowdowns(rows).items():
        seconds = [values(rows, sizes, name, "pair seconds")[0] for name in TIMES]
        lines.append([sizes, *(f"{1000 * one:.2f}" for one in seconds), f"{ratio:.3g}"])
    return markdown.table(["one pair", "TAP, ms", "SoftDTW, ms", "TAP / SoftDTW"], lines)


def slowdowns(rows: Rows) -> dict[str, float]:
    """TAP's time for one pair over soft-DTW's, by what is varied and how long or wide it is."""
    sizes = [f"{what} {size}" for what in ("length", "dimension") for size in SIZES]
    pairs = {size: [values(rows, size, name, "pair seconds") for name in TIMES] for size in sizes}
    return {size: pair[0][0] / pair[1][0] for size, pair in pairs.items() if all(pair)}


if __name__ == "__main__":
    sys.exit(Unlabelled.main())

"""Few-shot classes: 5-way 1- and 5-shot tasks of classes never seen in training (table 5 of Su and Wen, ICLR 2022).

    python -m benchmarks.papers.tap.fewshot --data DIR
    python -m benchmarks.papers.tap.fewshot --data DIR --only 1-shot --seeds 1 --budget 20
    python -m benchmarks.papers.tap.fewshot --data DIR --only "Omniglot/*TAP 5-shot/*"

A row is one data set, one method with its number of shots, and one seed, which also says which classes are unseen. The
networks learn from tasks of the other classes with as many shots (eq. 8 and 9), for a number of tasks that is fixed
beforehand, so nothing is selected; then 1000 tasks of the unseen classes are drawn, the same for every method. The
paper has videos and a pretrained network for frames: here frames are resampled to 20 and g keeps its 30 kernels (the
paper: 64), so that a row takes minutes. A query is of the class with the least sum of distances, both directions where
they differ. `OTAM` is DTW with free ends (Cao et al., 2020), both directions, on frames as they are; so is `DTW`.
`SoftDTW`, `TAP` and `SA-TAP` train as they do by default, with convolutions before the perceptron and one cycle of the
learning rate; `Discriminant` is the closed form over Rocket's features, from the same classes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from benchmarks.model_options import build_model
from benchmarks.numerics.systems import DISCRIMINANT
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.markdown import join_words, table as markdown_table
from benchmarks.papers.page import MissingRows
from benchmarks.papers.results import Found, Rows, Trial, having
from benchmarks.papers.tap.data import CELL, HOLDS, LEARNING, few, labels_of, rebuilt, shortened
from numpy.typing import NDArray

import timelike as tl
from timelike.score import interval

WAYS, QUERIES, FRAMES = 5, 5, 20
TASKS = 1000
TRAINING = {1: 600, 5: 200}  # tasks, by shots
UNSEEN = {"ArticularyWordRecognition": 10, "Omniglot": 36}  # classes, of 25 and 136
METHODS = ("DTW", "OTAM", "Discriminant", "SoftDTW", "TAP", "SA-TAP")
SYSTEMS = {
    "DTW": ("elastic",),
    "OTAM": ("elastic",),
    "Discriminant": DISCRIMINANT,
    "SoftDTW": ("aligned_frames",),
    "TAP": ("tap",),
    "SA-TAP": ("tap",),
}
PAPER = {  # UCF101, 1-shot and 5-shot (%)
    "OTAM": ("79.9", "88.9"),
    "SoftDTW": ("51.4 ± 0.4", "62.1 ± 0.4"),
    "TAP": ("83.5 ± 0.3", "94.5 ± 0.2"),
    "SA-TAP": ("83.9 ± 0.3", "95.4 ± 0.2"),
}


class Shots(Trial):
    """The method is its name and its number of shots."""

    def words(self) -> set[str]:
        return super().words() | set(self.method.split())


def sequences(data: Path, name: str) -> tl.Sequences:
    """All sequences of a data set, in frames that do not know where on the page or how large a drawing is."""
    if name != "Omniglot":
        parts = tl.load(str(data / f"uea/{name}.npz"))
        labels = np.concatenate([labels_of(part) for part in parts])
        return shortened(tl.Sequences([one for part in parts for one in part], labels=labels), FRAMES)
    drawings = tl.load(str(data / "omniglot_strokes.npz"))
    return shortened(tl.Sequences([pen(one) for one in drawings], labels=drawings.labels), FRAMES)


def pen(drawing: NDArray[Any]) -> NDArray[np.float32]:
    """(time, x y t stroke) → (time, x y drawing): centred, as large as 1, and how much of the strokes is done."""
    place, stroke = drawing[:, :2].astype(np.float64), drawing[:, 3].astype(np.float64)
    place -= (place.max(axis=0) + place.min(axis=0)) / 2
    size = max(float(np.ptp(place, axis=0).max()), 1e-6)
    return np.column_stack([place / size, (stroke - stroke.min()) / 4]).astype(np.float32)


def parted(data: Path, row: Trial, quick: bool) -> tuple[tl.Sequences, tl.Sequences]:
    """Sequences of seen and of unseen classes, standardised with the seen."""
    every = sequences(data, row.dataset)
    classes = np.random.default_rng(row.seed).permutation(np.unique(labels_of(every)))
    unseen = np.isin(labels_of(every), classes[: UNSEEN[row.dataset]])
    parts = [few(part, 12) if quick else part for part in (every[~unseen], every[unseen])]
    mean, scale = parts[0].values.mean(axis=0), parts[0].values.std(axis=0)
    seen, new = (rebuilt(part, (part.values - mean) / scale) for part in parts)
    return seen, new


def free_ends(part: tl.Sequences) -> NDArray[np.float64]:
    """DTW of every sequence with the best stretch of every other."""
    return np.array([[tl.subsequence(x, y)[0].distance for y in part] for x in part])


def distances(method: str, shots: int, seen: tl.Sequences, new: tl.Sequences, seed: int, quick: bool) -> NDArray[Any]:
    """Among all sequences of unseen classes, both directions summed."""
    one: NDArray[np.float64]
    if method == "DTW":
        one = tl.DTW().pairwise(new, n_jobs=1)
    elif method == "OTAM":
        one = free_ends(new)
    elif method == "Discriminant":
        one = tl.Discriminant(random_state=seed).fit(seen, labels_of(seen)).pairwise(new, n_jobs=1)
    else:
        how: dict[str, Any] = {"hidden": 16, "n_outputs": 8} if quick else {"hidden": 256, "n_outputs": 64}
        how |= {"n_kernels": 2 if quick else 30} if method != "SoftDTW" else {"aligner": "softdtw"}
        how |= {"n_way": WAYS, "k_shot": shots, "n_query": 1 if quick else QUERIES, "validation": 0.0}
        how |= {"max_steps": 2 if quick else TRAINING[shots], "standardize": False, "random_state": seed}
        kind = "AlignedFrames" if method == "SoftDTW" else "TAP"
        metric = build_model(kind, supervision="episodes", self_attention=method == "SA-TAP", **how)
        one = metric.fit(seen, labels_of(seen)).pairwise(new, n_jobs=1)
    both: NDArray[np.float64] = one + one.T
    return both


def accuracies(both: NDArray[Any], labels: NDArray[Any], shots: int, seed: int, tasks: int) -> list[float]:
    """Of every task (eq. 8)."""
    places = tl.Sequences(np.zeros((len(labels), 1)), labels=labels, ids=np.arange(len(labels)))
    truth, found = np.repeat(np.arange(WAYS), QUERIES), []
    for episode in places.episodes(WAYS, shots, QUERIES, n_episodes=tasks, random_state=seed):
        own = both[np.ix_(np.asarray(episode.query.ids), np.asarray(episode.support.ids))]
        said = own.reshape(len(truth), WAYS, shots).sum(axis=2).argmin(axis=1)
        found.append(float((said == truth).mean()))
    return found


class FewShot(Experiment[Shots]):
    """Every method on tasks of unseen classes."""

    paper, table, holds = "tap", "fewshot", HOLDS
    subject = ("tap",)
    title = "Few-shot classes: 5-way tasks of unseen classes"
    question = "TAP in few-shot tasks"

    def planned(self) -> Iterator[Shots]:
        for seed in range(self.given.seeds):
            for shots in TRAINING:
                yield from (Shots(name, f"{method} {shots}-shot", seed) for name in UNSEEN for method in METHODS)

    def seconds(self, row: Shots) -> float:
        method, shots = row.method.split()
        if method in ("DTW", "OTAM", "Discriminant"):
            return 30.0 if method == "OTAM" else 5.0
        n = int(shots[0])
        training = TRAINING[n] * 2 * WAYS * QUERIES * WAYS * n * FRAMES**2 * CELL * LEARNING
        comparing = (UNSEEN[row.dataset] * 21) ** 2 * FRAMES**2 * CELL
        return (training + comparing) / (8 if method == "SoftDTW" else 1)

    def systems(self, row: Shots) -> Iterable[str]:
        return *SYSTEMS[row.method.split()[0]], "score_intervals"

    def work(self, row: Shots) -> Found:
        method, shots = row.method.split()
        seen, new = parted(self.data, row, self.quick)
        both = distances(method, int(shots[0]), seen, new, row.seed, self.quick)
        tasks = accuracies(both, labels_of(new), int(shots[0]), row.seed, 50 if self.quick else TASKS)
        over = interval(tasks)
        return {"accuracy": over.mean, "half": over.half_width, "tasks": len(tasks)}

    def said(self, found: Found) -> str:
        return f"{100 * found['accuracy']:.2f} ± {100 * found['half']:.2f} %"


# --- the page


def headline(rows: Rows) -> str:
    """TAP with one shot beside OTAM, its rival in the paper, and DTW."""
    each, ahead = [], []
    for name in UNSEEN:
        found = [accuracies_of(rows, name, f"{method} 1-shot") for method in ("TAP", "OTAM", "DTW")]
        if all(found):
            tap, otam, dtw = (100 * fmean(some) for some in found)
            each.append(f"{tap:.1f} % on {name} (OTAM {otam:.1f}, DTW {dtw:.1f})")
            ahead.append(tap > otam)
    if not each:
        raise MissingRows("TAP 1-shot")
    verdict = "agrees with" if all(ahead) else "contradicts" if not any(ahead) else "agrees only in part with"
    return (
        f"In 5-way 1-shot tasks of unseen classes TAP has an accuracy of {join_words(each)}; OTAM and DTW learn "
        f"nothing here. It is ahead of OTAM on {sum(ahead)} of {len(ahead)}, which {verdict} the paper (UCF101 videos: "
        f"{PAPER['TAP'][0]} against {PAPER['OTAM'][0]})."
    )


def accuracies_of(rows: Rows, name: str, method: str) -> list[float]:
    """Of every seed."""
    return [float(row["accuracy"]) for row in having(rows, dataset=name, method=method)]


def accuracies_table(rows: Rows) -> str:
    """Accuracies with intervals over tasks, seeds side by side."""
    lines = []
    for name in UNSEEN:
        for method in METHODS:
            cells = []
            for shots, theirs in zip(TRAINING, PAPER.get(method, ("–", "–")), strict=True):
                own = having(rows, dataset=name, method=f"{method} {shots}-shot")
                shown = [f"{100 * row['accuracy']:.1f} ± {100 * row['half']:.1f}" for row in own]
                cells += [", ".join(shown) or "–", theirs]
            if any(one != "–" for one in cells[::2]):
                lines.append([name, method, *cells])
    head = ["data set", "method", "1-shot %", "paper, UCF101", "5-shot %", "paper, UCF101 "]
    return markdown_table(head, lines)


if __name__ == "__main__":
    sys.exit(FewShot.main())

"""The data sets of the TAP programs: as frames, cut to what two cores can train on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from timelike.score import mean_average_precision, nearest_accuracy

HOLDS = "msr_action3d.npz, fsdd_mfcc13.npz, omniglot_strokes.npz and uea/*.npz"
HIP, JOINTS = 6, 20  # the seventh joint of MSR Action3D is the hip centre
NEIGHBOURS = (1, 5, 30)
CELL = 3e-7  # seconds for a cell of TAP's convolutions on one core of a busy machine, without gradients
LEARNING = 3.5  # how much more a cell takes with them


SYSTEMS = {  # of methods that learn nothing
    "DTW": "elastic",
    "lDTW": "elastic",
    "nDTW": "elastic",
    "SoftDTW": "elastic",
    "OPW": "transport",
    "OT": "transport",
    "Sinkhorn": "transport",
    "TCOT": "transport",
}


@dataclass(frozen=True)
class Plan:
    """What of a data set is used, and how long it is trained on.

    Sequences longer than `frames` are resampled to so many, shorter ones stay. `per_class` keeps that many training
    sequences of every class. `validation` of the training part are held out, whole subjects with `groups=True`. Every
    channel is standardised; with `one_scale=True` all are divided by the same number, for they share a unit.
    """

    name: str
    file: str
    frames: int
    epochs: int
    n_train: int
    n_test: int
    per_class: int | None = None
    validation: float = 0.2
    groups: bool = False
    one_scale: bool = False

    def training(self, batch: int = 16) -> float:
        """Seconds of training a TAP with labels, guessed: batches of all pairs, and a validation each epoch."""
        kept = self.n_train * (1 - self.validation)
        pairs = LEARNING * batch * kept + self.n_train * self.validation * kept
        return self.epochs * pairs * self.frames**2 * CELL

    def comparing(self) -> float:
        """Seconds for all test sequences against all training ones, guessed."""
        return self.n_test * self.n_train * self.frames**2 * CELL


PLANS = {
    plan.name: plan
    for plan in (
        Plan("JapaneseVowels", "uea/JapaneseVowels.npz", 29, 30, 270, 370),
        Plan("FSDD", "fsdd_mfcc13.npz", 20, 30, 1000, 300, per_class=100, validation=0.1),
        Plan("MSRAction3D", "msr_action3d.npz", 40, 30, 284, 273, groups=True, one_scale=True),
        Plan("NATOPS", "uea/NATOPS.npz", 40, 30, 180, 180),
        Plan("ArticularyWordRecognition", "uea/ArticularyWordRecognition.npz", 40, 30, 275, 300),
    )
}


@dataclass(frozen=True)
class Task:
    """Standardised frames of both parts, with the moments of the training part."""

    train: tl.Sequences
    test: tl.Sequences

    def sizes(self) -> dict[str, int]:
        """As a row of results tells them."""
        return {"n_train": len(self.train), "n_test": len(self.test), "frames": int(self.train.lengths.max())}


def task(data: Path, plan: Plan, quick: bool = False) -> Task:
    """The two parts of a data set; with `quick` only a few sequences of few frames."""
    train, test = (_flat(plan, part) for part in tl.load(str(data / plan.file)))
    if plan.per_class is not None:
        train = few(train, plan.per_class)
    if quick:
        train, test = few(train, 5), few(test, 2)
    frames = 8 if quick else plan.frames
    train, test = shortened(train, frames), shortened(test, frames)
    mean, scale = train.values.mean(axis=0), train.values.std(axis=0)
    scale[scale < 1e-6] = 1.0
    if plan.one_scale:
        mean, scale = np.zeros_like(mean), np.full_like(scale, np.sqrt(np.mean(train.values**2)))
    return Task(*(rebuilt(part, (part.values - mean) / scale) for part in (train, test)))


def _flat(plan: Plan, part: tl.Sequences) -> tl.Sequences:
    values = np.asarray(part.values, np.float32)
    if plan.name == "MSRAction3D":  # where the person stands says nothing of what they do
        joints = values.reshape(-1, JOINTS, 3)
        values = np.delete(joints - joints[:, HIP, None], HIP, axis=1).reshape(len(values), -1)
    part = rebuilt(part, values.reshape(len(values), -1))
    return part if plan.groups else part.replace(groups=None)


def rebuilt(part: tl.Sequences, values: NDArray[Any]) -> tl.Sequences:
    """Other frames for the same steps."""
    return tl.Sequences.from_packed(
        np.ascontiguousarray(values, np.float32), part.offsets, labels=part.labels, groups=part.groups
    )


def few(part: tl.Sequences, per_class: int) -> tl.Sequences:
    """So many of every class, drawn with a fixed seed."""
    labels = labels_of(part)
    rank = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        own = labels == label
        rank[own] = np.random.default_rng(0).permutation(int(own.sum()))
    return part[rank < per_class]


def spaced(part: tl.Sequences, about: int = 30) -> tl.Sequences:
    """About so many of them, from the first to the last: files are often sorted by class."""
    return part[:: max(1, len(part) // about)]


def shortened(part: tl.Sequences, frames: int) -> tl.Sequences:
    """Sequences longer than `frames` by linear interpolation to so many."""
    cut = part.resample(frames)
    ones = [long if len(short) > frames else short for short, long in zip(part, cut, strict=True)]
    return tl.Sequences(ones, labels=part.labels, groups=part.groups)


def labels_of(part: tl.Sequences) -> NDArray[Any]:
    """The classes, which all of these have."""
    assert part.labels is not None
    return part.labels


def scores(distances: NDArray[Any], task: Task) -> dict[str, float]:
    """MAP and k-NN accuracies of test sequences against training ones."""
    sides = labels_of(task.test), labels_of(task.train)
    found = {"map": mean_average_precision(distances, *sides)}
    return found | {f"{k}-nn": nearest_accuracy(distances, *sides, k=k) for k in NEIGHBOURS}

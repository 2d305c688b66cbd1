"""Classes that nothing was learned from, and the methods that are to tell them apart: for `retrieval` and `fewshot`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, FUSED, PROTOTYPES
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having
from numpy.typing import NDArray

import timelike as tl
from timelike.prototypes.similarity import CosineSimilarity, FusedSimilarity, Similarity

HOLDS = "omniglot_strokes.npz, msr_action3d.npz, ucr/CricketX.npz and uea/ArticularyWordRecognition.npz"
FRAMES = 40  # sequences that are longer are resampled to so many
JOINTS, HIP = 20, 6


@dataclass(frozen=True)
class Collection:
    """A file, how many of its classes are unseen, and whether anything was chosen on it."""

    file: str
    unseen: int
    development: bool = False


SETS = {
    "ArticularyWordRecognition": Collection("uea/ArticularyWordRecognition.npz", 10),
    "MSRAction3D": Collection("msr_action3d.npz", 8, development=True),
    "CricketX": Collection("ucr/CricketX.npz", 5, development=True),
    "Omniglot": Collection("omniglot_strokes.npz", 36),
}
NETWORK, PERCEPTRON = "Prototypes, network alone", "Prototypes, learned S"
METHODS = ("DTW", "Rocket", "Discriminant", "Prototypes", PERCEPTRON, NETWORK, "T-Loss", "Fused", "TAP")
SECONDS = {"DTW": 3, "Rocket": 15, "Discriminant": 20, "Fused": 90, "T-Loss": 120, "TAP": 400}
SYSTEMS: dict[str, tuple[str, ...]] = {
    "DTW": ("elastic",),
    "Rocket": ("rocket",),
    "Discriminant": DISCRIMINANT,
    "Prototypes": PROTOTYPES,
    PERCEPTRON: PROTOTYPES,
    NETWORK: ("prototypes",),
    "T-Loss": ("tloss",),
    "Fused": FUSED,
    "TAP": ("tap",),
}
READINGS = ("SIM", "cosine", "fused")  # of a learned S: itself, the cosine of its vectors, the mean of both


def guess(method: str) -> float:
    """Seconds of a row on a busy core."""
    return float(SECONDS.get(method, 150))


def parts(data: Path, name: str, seed: int, quick: bool = False) -> tuple[tl.Sequences, tl.Sequences]:
    """Sequences of seen and of unseen classes; the seed says which are which."""
    every = _every(data, name)
    labels = np.asarray(every.labels)
    classes = np.random.default_rng(seed).permutation(np.unique(labels))
    n_unseen = 5 if quick else SETS[name].unseen
    unseen = np.isin(labels, classes[:n_unseen])
    seen, new = every[~unseen], every[unseen]
    return (seen[::9], new) if quick else (seen, new)


def learned(method: str, seen: tl.Sequences, seed: int, quick: bool = False) -> Any:
    """The method at its defaults, fitted on the seen classes."""
    short: dict[str, Any] = {"max_steps": 3} if quick else {}
    rocket, dtw = tl.Rocket(random_state=seed), tl.DTW(normalize="length")
    discriminant = tl.Discriminant(rocket, classes="open", random_state=seed)
    model = {
        "DTW": dtw,
        "Rocket": rocket,
        "Discriminant": discriminant,
        "Fused": tl.Fused([dtw, discriminant], random_state=seed),
        "T-Loss": tl.CausalEncoder(random_state=seed, **short),
        "TAP": tl.TAP(random_state=seed, **short),
        "Prototypes": tl.Prototypes(random_state=seed, **short),
        NETWORK: tl.Prototypes(extra_encoders=[], random_state=seed, **short),
        PERCEPTRON: tl.Prototypes(similarity_fn="learned", random_state=seed, **short),
    }[method]
    return model.fit(seen, seen.labels) if hasattr(model, "fit") else model


def kept(row: Trial, seen: tl.Sequences, scratch: Path, commit: str) -> Any:
    """The same, made once for both programs where they run by the same code."""
    folder = scratch / f"{commit}-{row.key.replace('/', '-').replace(' ', '-')}"
    if folder.exists():
        return tl.load_model(folder)
    model = learned(row.method, seen, row.seed)
    if hasattr(model, "save") and not commit.endswith("+"):
        scratch.mkdir(parents=True, exist_ok=True)
        model.save(folder)
    return model


def readings(model: Any) -> dict[str, Any]:
    """The ways in which a model compares, by name: one, but of a learned S three, of one training."""
    if not isinstance(model, tl.Prototypes):
        return {"": model}
    own: Any = model.network_.similarity
    several = {"SIM": own, "cosine": CosineSimilarity(), "fused": FusedSimilarity(own)}
    kinds = several if isinstance(own, Similarity) else {"": own}
    return {name: Reading(model, kind.eval()) for name, kind in kinds.items()}


class Reading:
    """The vectors of a model, and a similarity of them."""

    def __init__(self, model: Any, similarity: Any) -> None:
        self.model, self.network_ = model, SimpleNamespace(similarity=similarity)

    def encode(self, X: tl.Sequences) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self.model.encode(X)
        return vectors

    def pairwise(self, X: tl.Sequences) -> NDArray[Any]:
        """−S of all pairs, the mean of both directions."""
        vectors = self.encode(X)
        alike = self.network_.similarity.scores(vectors, vectors)
        return np.asarray(-(alike + alike.T) / 2)


def _every(data: Path, name: str) -> tl.Sequences:
    loaded = tl.load(str(data / SETS[name].file))
    parts = loaded if isinstance(loaded, tuple) else (loaded,)
    items = [_frames(name, one) for part in parts for one in part]
    every = tl.Sequences(items, labels=np.concatenate([part.labels for part in parts]))
    cut = every.resample(FRAMES)
    ones = [long if len(short) > FRAMES else short for short, long in zip(every, cut, strict=True)]
    return tl.Sequences(ones, labels=every.labels)


def _frames(name: str, one: NDArray[Any]) -> NDArray[np.float32]:
    """Without where on the page a drawing is, how large it is, and where a person stands."""
    if name == "Omniglot":  # (time, x y t stroke)
        place, stroke = one[:, :2].astype(np.float64), one[:, 3].astype(np.float64)
        place -= (place.max(axis=0) + place.min(axis=0)) / 2
        size = max(float(np.ptp(place, axis=0).max()), 1e-6)
        return np.column_stack([place / size, (stroke - stroke.min()) / 4]).astype(np.float32)
    if name == "MSRAction3D":
        joints = np.asarray(one, np.float32).reshape(-1, JOINTS, 3)
        return np.delete(joints - joints[:, HIP, None], HIP, axis=1).reshape(len(one), -1)
    return np.asarray(one, np.float32)


# --- the page

CHEAP = "DTW"


class UnseenProgram(Experiment[Trial]):
    """Every method on every data set; a subclass scores what a method knows of unseen classes."""

    paper, holds = "prototypes", HOLDS
    subject = ("prototypes",)
    sets: ClassVar[tuple[str, ...]] = tuple(SETS)

    @abstractmethod
    def scores(self, model: Any, new: tl.Sequences, seed: int) -> Found:
        """The scores of one reading of a model."""

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(name, method, seed) for name in self.sets for method in METHODS)

    def seconds(self, row: Trial) -> float:
        return guess(row.method)

    def kind(self, row: Trial) -> str:
        return row.method

    def systems(self, row: Trial) -> Iterable[str]:
        return *SYSTEMS[row.method], "retrieval_scores"

    def work(self, row: Trial) -> Found:
        seen, new = parts(self.data, row.dataset, row.seed, self.quick)
        if self.quick:
            model = learned(row.method, seen, row.seed, quick=True)
        else:
            model = kept(row, seen, self.scratch, self.commit)
        counts = {"n_seen": len(seen), "n_new": len(new), "classes": SETS[row.dataset].unseen}
        return counts | {"readings": {name: self.scores(one, new, row.seed) for name, one in readings(model).items()}}

    def page_values(self) -> dict[str, Any]:
        return globals() | super().page_values()


def compare_with_dtw(rows: Rows, score: str, words: str, about: str) -> str:
    """The headline: the defaults beside DTW, and the paper's similarity beside the cosine of its own vectors."""
    means = mean_scores(rows, score)
    ours = {name: some["Prototypes", ""] for name, some in means.items() if ("Prototypes", "") in some}
    if not ours:
        raise page.MissingRows("Prototypes")
    best = [name for name, value in ours.items() if value >= max(means[name].values())]
    each = [
        f"{value:.3f} on {name}" + (f" (DTW {means[name][CHEAP, '']:.3f})" if (CHEAP, "") in means[name] else "")
        for name, value in ours.items()
    ]
    first = (
        f"In {about}, `Prototypes` at its defaults has the best {words} on {len(best)} of {len(ours)} data sets: "
        f"{markdown.join_words(each)}; DTW is the cheap rival."
    )
    pairs = {
        name: (some[PERCEPTRON, "SIM"], some[PERCEPTRON, "cosine"])
        for name, some in means.items()
        if {(PERCEPTRON, "SIM"), (PERCEPTRON, "cosine")} <= some.keys()
    }
    if not pairs:
        return f"{first} The paper's learned similarity has no rows."
    shown = markdown.join_words([f"{a:.3f} against {b:.3f} on {name}" for name, (a, b) in pairs.items()])
    worse = sum(a < b for a, b in pairs.values())
    return (
        f"{first} The paper's learned similarity is worse than the cosine of its own vectors on {worse} of "
        f"{len(pairs)} ({shown}). The paper has pictures, so its numbers do not compare."
    )


def mean_scores(rows: Rows, score: str) -> dict[str, dict[tuple[str, str], float]]:
    """{data set: {(method, how it is read): mean over seeds}}."""
    means: dict[str, dict[tuple[str, str], float]] = {}
    for name, method, reading, found in list_readings(rows):
        each = [float(np.ravel(one[score])[0]) for one in found]
        means.setdefault(name, {})[method, reading] = float(np.mean(each))
    return means


def list_readings(rows: Rows) -> Iterator[tuple[str, str, str, list[Found]]]:
    """Data set, method, how it is read, and the scores of every seed."""
    for name in SETS:
        for method in METHODS:
            found = having(rows, dataset=name, method=method)
            for reading in ("", *READINGS):
                if found and reading in found[0]["readings"]:
                    yield name, method, reading, [row["readings"][reading] for row in found]


def reading_name(method: str, reading: str) -> str:
    """A method and how it is read."""
    return f"{method}, {reading}" if reading else method


def classes(rows: Rows) -> str:
    """How many unseen classes and sequences there are, of the sets that have rows."""
    words = []
    for name, collection in SETS.items():
        if found := having(rows, dataset=name):
            development = " (development)" if collection.development else ""
            words.append(f"{name}{development} {found[0]['classes']} with {found[0]['n_new']} sequences")
    return "; ".join(words)

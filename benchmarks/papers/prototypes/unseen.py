"""Classes that nothing was learned from, and the methods that are to tell them apart: for `retrieval` and `fewshot`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.numerics.systems import DISCRIMINANT, FUSED, PROTOTYPES
from benchmarks.papers.results import Trial
from numpy.typing import NDArray

import timelike as tl
from timelike.prototypes.cosine import CosineSimilarity, FusedSimilarity
from timelike.prototypes.similarity import Similarity

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

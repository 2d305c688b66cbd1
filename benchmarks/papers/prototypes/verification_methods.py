"""The verifiers of the table: each gives distances of all pairs of test sequences, in one or more ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.accuracy.open_classes import metric
from benchmarks.numerics.systems import DISCRIMINANT, FUSED, PROTOTYPES
from benchmarks.papers.prototypes.verification_data import Problem
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import timelike as tl

Distances = dict[str, NDArray[Any]]
PIECES = 5  # of a person, where pseudo-classes are learned
# steps of training; not seconds, which a busy machine has fewer of
STEPS = {"SiameseGRU": 500, "TAP": 150, "Prototypes": 200, "few": 40}

SECONDS = {"DTW": 1, "DTW per length": 1, "DTW per length, AS-norm": 1, "Rocket": 2, "Whitened": 2, "Discriminant": 3}
SECONDS |= {"Discriminant, open": 3, "Fused": 15, "Fused, AS-norm": 15, "SiameseGRU": 20, "T-Loss": 20, "TAP": 60}

SYSTEMS: dict[str, tuple[str, ...]] = {
    "DTW": ("elastic",),
    "DTW per length": ("elastic",),
    "Rocket": ("rocket",),
    "Whitened": DISCRIMINANT,
    "Discriminant": DISCRIMINANT,
    "Discriminant, open": DISCRIMINANT,
    "Fused": FUSED,
    "SiameseGRU": ("siamese",),
    "T-Loss": ("tloss",),
    "TAP": ("tap",),
    "Prototypes, pseudo-classes": PROTOTYPES,
    "Prototypes, whitened, frozen": ("prototypes", *DISCRIMINANT),
    "Prototypes, pretrained": ("prototypes", "tloss"),
    "Prototypes, pretrained, frozen": ("prototypes", "tloss"),
}


def systems(name: str) -> tuple[str, ...]:
    """Systems of the library that a verifier is made of; scores are read by `Verifier` but for those of Prototypes."""
    if name.startswith("Prototypes"):
        return SYSTEMS.get(name, PROTOTYPES)
    return *SYSTEMS[name.removesuffix(", AS-norm")], "verifier"


def distances(name: str, given: Problem, seed: int, *, quick: bool = False) -> Distances:
    """Of all pairs of test sequences, by each way that the method has."""
    return METHODS[name](given, seed, quick)


def _alone(make: Callable[[int, bool], Any], normalize: Any = None) -> Callable[[Problem, int, bool], Distances]:
    """A metric, fitted if it learns; maybe normalized, with what was learned from as the cohort."""

    def found(given: Problem, seed: int, quick: bool) -> Distances:
        gate = tl.Verifier(make(seed, quick), normalize=normalize).fit(given.train, given.train.labels)
        if normalize is not None:
            with warnings.catch_warnings():  # the cohort is kept; no threshold is asked for, and none is promised
                warnings.simplefilter("ignore", tl.score.CalibrationWarning)
                gate.calibrate(given.train, false_accept=0.5)
        return {"distance": -gate.scores(given.test)}

    return found


def _named(name: str) -> Callable[[int, bool], Any]:
    return lambda seed, quick: metric(name, seed)


def _siamese(seed: int, quick: bool) -> Any:
    return tl.SiameseGRU(loss="contrastive", max_steps=2 if quick else STEPS["SiameseGRU"], random_state=seed)


def _causal(seed: int, quick: bool) -> Any:
    return tl.CausalEncoder(max_steps=2 if quick else None, random_state=seed)


def _tap(seed: int, quick: bool) -> Any:
    return tl.TAP(max_steps=2 if quick else STEPS["TAP"], random_state=seed)


# --- Prototypes: how alike its similarity, the cosine of its vectors, and the mean of both say that two are


def _prototypes(
    *, train: Callable[[Problem, int], NDArray[Any]] | None = None, **options: Any
) -> Callable[[Problem, int, bool], Distances]:
    def found(given: Problem, seed: int, quick: bool) -> Distances:
        made: dict[str, Any] = {"max_steps": STEPS["Prototypes"], "similarity_fn": "learned"}
        made |= {name: one(given, seed, quick) if callable(one) else one for name, one in options.items()}
        if quick:
            made["max_steps"] = 2
        labels = given.train.labels if train is None else train(given, seed)
        model = tl.Prototypes(random_state=seed, **made).fit(given.train, labels)
        return ways(model, given.test)

    return found


def ways(model: Any, test: tl.Sequences) -> Distances:
    """−S, −cos, and −(σ(S) + (1 + cos) / 2) / 2, the paper's fusion for verification."""
    logits = np.asarray(model.similarity(test, test), np.float64)
    vectors = np.asarray(model.encode(test), np.float64)
    units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosine = units @ units.T
    fused = (1 / (1 + np.exp(-np.clip(logits, -500, 500))) + (1 + cosine) / 2) / 2
    return {"SIM": -(logits + logits.T) / 2, "cosine": -cosine, "fusion": -(fused + fused.T) / 2}


def _pieces(given: Problem, seed: int) -> NDArray[Any]:
    """Every person in pieces, by k-means of Rocket's vectors: more classes, that differ in less."""
    vectors, labels = tl.Rocket(random_state=seed).fit(given.train).encode(given.train), np.asarray(given.train.labels)
    found = np.empty(len(labels), np.int64)
    for number, who in enumerate(np.unique(labels)):
        own = np.flatnonzero(labels == who)
        found[own] = PIECES * number + KMeans(PIECES, n_init=3, random_state=seed).fit_predict(vectors[own])
    return found


def _whitened(given: Problem, seed: int, quick: bool) -> Any:
    return tl.metric.WhitenedCosine(tl.Rocket(random_state=seed), random_state=seed)


def _pretrained(given: Problem, seed: int, quick: bool) -> Any:
    return _causal(seed, quick).fit(given.train)


METHODS: dict[str, Callable[[Problem, int, bool], Distances]] = {
    "DTW": _alone(lambda seed, quick: tl.DTW()),
    "DTW per length": _alone(_named("DTW per length")),
    "DTW per length, AS-norm": _alone(_named("DTW per length"), "as-norm"),
    "Rocket": _alone(_named("Rocket")),
    "Whitened": _alone(_named("Whitened")),
    "Discriminant": _alone(_named("Discriminant")),
    "Discriminant, open": _alone(_named("Discriminant, open")),
    "Fused": _alone(_named("Fused")),
    "Fused, AS-norm": _alone(_named("Fused"), "as-norm"),
    "SiameseGRU": _alone(_siamese),
    "T-Loss": _alone(_causal),
    "TAP": _alone(_tap),
    "Prototypes": _prototypes(similarity_fn=None),
    "Prototypes, SIM": _prototypes(),
    "Prototypes, no L_aux": _prototypes(auxiliary=None),
    "Prototypes, few steps": _prototypes(max_steps=STEPS["few"]),
    "Prototypes, five each": _prototypes(n_prototypes=5),
    "Prototypes, pseudo-classes": _prototypes(train=_pieces),
    "Prototypes, whitened, frozen": _prototypes(encoder=_whitened, freeze=True),
    "Prototypes, pretrained": _prototypes(encoder=_pretrained),
    "Prototypes, pretrained, frozen": _prototypes(encoder=_pretrained, freeze=True),
}

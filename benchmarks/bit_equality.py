"""Answers of fitted models on fixed seeds, written by one commit and compared by another.

A change of names or structure must not change a single bit of what models answer. Run this on both commits:

    python -m benchmarks.bit_equality write before.npz      # on the commit before
    python -m benchmarks.bit_equality compare before.npz    # on the commit after

Only public names that do not change are used, so that the same file runs on both. One thread: torch's matrix products
may round otherwise with another number of threads. Answers with and without the native kernels differ by rounding, so
the file says which they are, and the two must agree.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl

Answers = dict[str, NDArray[Any]]
SEED = 7
KERNELS = "native kernels"


def labelled_sequences(n: int = 36, seed: int = 0) -> tl.Sequences:
    """Ragged sequences of two channels in three classes, with ties and a constant stretch among their values."""
    rng = np.random.default_rng(seed)
    items, labels = [], []
    for i in range(n):
        label, length = i % 3, 24 + int(rng.integers(0, 12))
        t = np.arange(length) / 4.0
        waves = np.stack([np.sin(t * (1 + label / 2) + rng.normal()), np.cos(t * (1 + label / 3))], axis=1)
        values = np.round(waves + 0.2 * rng.normal(size=waves.shape), 2)  # rounded: equal values occur
        values[3:6] = values[3]
        items.append(values)
        labels.append(f"class {label}")
    return tl.Sequences(items, labels=labels, groups=[i // 3 for i in range(n)])


def long_series(n: int = 6, length: int = 60) -> tl.Sequences:
    """Series of one length for the forecasters."""
    rng = np.random.default_rng(3)
    t = np.arange(length)
    items = [
        np.stack([np.sin(t / 5 + k), np.cos(t / 7 + k)], axis=1) + 0.05 * rng.normal(size=(length, 2)) for k in range(n)
    ]
    return tl.Sequences(items)


X, Z, S = labelled_sequences(), labelled_sequences(18, seed=1), long_series()


def nearest_neighbors() -> Answers:
    model = tl.Neighbors(tl.DTW(window=0.2), k=3).fit(X, X.labels)
    found = tl.MSM().neighbors(X, Z, k=4)
    return {"predict": model.predict(Z), "ids": found.ids, "distances": found.distances, "twe": tl.TWE().pairwise(Z)}


def alignments() -> Answers:
    warp = tl.GDTW(regularization=0.1).align(X[0], X[1])
    plan = tl.OPW().align(X[0], X[1])
    return {
        "path": np.asarray(tl.DTW().align(X[0], X[1]).path),
        "warp cost": np.array(warp.cost),
        "soft": tl.SoftDTW(gamma=0.5).pairwise(Z),
        "plan": np.asarray(plan.plan),
        "mean": np.asarray(tl.barycenter(X[:5])),
    }


def clusters() -> Answers:
    means = tl.KMeans(n_clusters=3, random_state=SEED).fit(X)
    medoids = tl.KMedoids(n_clusters=3, random_state=SEED).fit(X)
    return {"means": means.predict(Z), "medoids": medoids.predict(Z)}


def rocket() -> Answers:
    model = tl.EmbeddingClassifier(tl.Rocket(random_state=SEED)).fit(X, X.labels)
    return {"vectors": tl.Rocket(random_state=SEED).fit(X).encode(Z), "predict": model.predict(Z)}


def discriminant() -> Answers:
    return {"pairwise": tl.Discriminant(random_state=SEED).fit(X, X.labels).pairwise(Z)}


def causal_encoder() -> Answers:
    return {"vectors": tl.CausalEncoder(max_steps=5, random_state=SEED).fit(X).encode(Z)}


def recurrent_encoder() -> Answers:
    return {"vectors": tl.RecurrentEncoder(max_steps=5, random_state=SEED).fit(X).encode(Z)}


def siamese_gru() -> Answers:
    return {"pairwise": tl.SiameseGRU(max_steps=12, random_state=SEED).fit(X, X.labels).pairwise(Z)}


def coupled_gru() -> Answers:
    return {"pairwise": tl.CoupledGRU(max_steps=6, random_state=SEED).fit(X, X.labels).pairwise(Z)}


def tap() -> Answers:
    model = tl.TAP(max_steps=6, random_state=SEED).fit(X, X.labels)
    return {"pairwise": model.pairwise(Z), "plan": np.asarray(model.align(Z[0], Z[1]).plan)}


def fused() -> Answers:
    model = tl.Fused([tl.DTW(), tl.Discriminant(random_state=SEED)], random_state=SEED).fit(X, X.labels)
    return {"pairwise": model.pairwise(Z)}


def prototypes() -> Answers:
    model = tl.Prototypes(max_steps=20, random_state=SEED).fit(X, X.labels)
    model.enroll(Z[:4], ["new", "new", "newer", "newer"])
    return {
        "probabilities": model.predict_proba(Z),
        "predict": model.predict(Z),
        "similarity": np.asarray(model.similarity(Z, X)),
        "novelty": np.asarray(model.novelty(Z)),
    }


def verifier() -> Answers:
    identities = np.repeat(np.arange(12), 3)
    model = tl.Verifier(tl.DTW()).calibrate(X, identities, false_accept=0.2)
    decisions = [model.verify(Z[i], Z[i + 1]) for i in range(6)]
    return {
        "scores": np.array([decision.score for decision in decisions]),
        "thresholds": np.array([decision.threshold for decision in decisions]),
    }


def separation() -> Answers:
    model = tl.Separation(conditioning=5, max_steps=15, random_state=SEED).fit(S)
    return {"samples": model.predict(S[:2], 6).samples}


def srvp() -> Answers:
    model = tl.SRVP(conditioning=5, max_steps=8, random_state=SEED).fit(S)
    return {"samples": model.predict(S[:2], 6, n_samples=3, random_state=SEED).samples}


def baselines() -> Answers:
    models: dict[str, Any] = {
        "ridge": tl.forecast.Ridge(),
        "autoregression": tl.forecast.AR(),
        "analog": tl.forecast.Analog(tl.Euclidean(), k=3),
        "seasonal": tl.forecast.SeasonalNaive(12),
    }
    return {name: model.fit(S).predict(S[:3], 5).mean for name, model in models.items()}


def two_samples() -> Answers:
    from timelike import distributions

    test = distributions.TwoSample(n_permutations=99, random_state=SEED)
    found = test.test(X, Z)
    rng = np.random.default_rng(5)
    flow = distributions.descend(
        rng.normal(size=(12, 2)),
        rng.normal(size=(12, 2)) + 1,
        distributions.IPM(distributions.NTK()),
        steps=5,
        step=0.1,
    )
    return {"p value": np.array(found.p_value), "null": found.null, "particles": np.asarray(flow.particles)}


MODELS: tuple[Callable[[], Answers], ...] = (
    nearest_neighbors,
    alignments,
    clusters,
    rocket,
    discriminant,
    causal_encoder,
    recurrent_encoder,
    siamese_gru,
    coupled_gru,
    tap,
    fused,
    prototypes,
    verifier,
    separation,
    srvp,
    baselines,
    two_samples,
)


def has_kernels() -> bool:
    """Whether the native kernels are in use; the function had another name before 0.2."""
    native: Any = tl.native
    return bool((getattr(native, "is_native_enabled", None) or native.compiled)())


def all_answers() -> Answers:
    """Of every model, by `model: what`."""
    answers: Answers = {}
    for model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few steps learn nothing, and say so
            answers |= {f"{model.__name__}: {name}": value for name, value in model().items()}
        print(f"{model.__name__} done", flush=True)
    return answers


def difference(before: NDArray[Any], after: NDArray[Any]) -> str:
    """Empty where every bit is the same; else how far two answers are apart."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{before.dtype}{before.shape} became {after.dtype}{after.shape}"
    if before.tobytes() == after.tobytes():
        return ""
    if before.dtype.kind not in "fiu":
        return f"{int((before != after).sum())} of {before.size} entries differ"
    largest = np.abs(before.astype(float) - after.astype(float)).max()
    return f"largest difference {largest:.3g} of {np.abs(before).max():.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "compare"])
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    answers = {key: np.asarray(value) for key, value in all_answers().items()}
    texts = {key: value.astype(str) if value.dtype == object else value for key, value in answers.items()}
    if given.action == "write":
        arrays: dict[str, Any] = texts | {KERNELS: np.array(has_kernels())}  # savez has keywords of other types too
        np.savez(given.file, **arrays)
        print(f"{len(texts)} answers of {len(MODELS)} models written to {given.file}")
        return 0
    with np.load(given.file) as stored:
        if KERNELS in stored and bool(stored[KERNELS]) != has_kernels():
            parser.error(f"{given.file} was written {'with' if stored[KERNELS] else 'without'} the native kernels")
        lost = sorted((set(stored) - {KERNELS}) ^ set(texts))
        differences = {key: difference(stored[key], texts[key]) for key in stored if key in texts}
    for key, words in differences.items():
        print(f"{key}: {words or 'equal'}")
    changed = sum(map(bool, differences.values()))
    print(f"{len(differences) - changed} of {len(differences)} answers are equal bit for bit; only on one side: {lost}")
    return 1 if changed or lost else 0


if __name__ == "__main__":
    sys.exit(main())

"""Prototypes, attacks on them, and verification."""

from __future__ import annotations

from typing import Any

import numpy as np

import timelike as tl
from benchmarks.model_options import build_model, build_preset
from benchmarks.numerics.probes.small_data import TRAINING, Outputs, pictures, summarize, uneven_labels, waves
from timelike.attacks import FGSM, PGD

_SMALL: dict[str, Any] = {"channels": 4, "depth": 2, "reduced_size": 4, "n_features": 6}


def prototypes() -> Outputs:
    """Losses and scores of the default network and of those that programs ask for; Rocket is a system of its own."""
    known, asked = waves(12, shortest=16), waves(5, shortest=14, seed=2)
    labels = uneven_labels(12, 3)
    options: dict[str, dict[str, Any]] = {
        "default": {"encoder": None, "extra_encoders": []},
        "causal encoder": {"extra_encoders": []},
        "another encoder beside it": {"encoder": None, "extra_encoders": [tl.encode.StatisticsEncoder()]},
        "learned": {"extra_encoders": [], "similarity_fn": "learned", "hidden": 8},
        "learned, two each": {"extra_encoders": [], "similarity_fn": "learned", "hidden": 8, "n_prototypes": 2},
        "no auxiliary loss": {"extra_encoders": [], "auxiliary": None},
        "margin": {"extra_encoders": [], "auxiliary": "margin"},
        "by gradient": {"extra_encoders": [], "averaging": "gradient"},
        "smoothed": {
            "extra_encoders": [],
            "similarity_fn": "learned",
            "hidden": 8,
            "label_smoothing": 0.2,
            "soft_pairs": True,
        },
        "frozen": {"encoder": tl.encode.StatisticsEncoder(), "freeze": True, "similarity_fn": "learned", "hidden": 8},
        "adversarial": {"extra_encoders": [], "adversary": PGD(0.1, steps=2)},
    }
    found: Outputs = {}
    for name, more in options.items():
        if "encoder" not in more:
            more = more | {"encoder": tl.CausalEncoder(**_SMALL)}
        model = build_model("Prototypes", batch_size=6, n_per_class=2, max_steps=3, **TRAINING, **more).fit(
            known, labels
        )
        found[f"{name}: losses"] = summarize(model.history_["loss"])
        found[f"{name}: scores"] = summarize(model.predict_proba(asked))
        found[f"{name}: vectors"] = summarize(model.encode(asked))
        found[f"{name}: similarities"] = summarize(model.similarity(asked, known))
    model = build_preset("Prototypes", "paper", encoder=tl.CausalEncoder(**_SMALL), max_epochs=4, hidden=8, **TRAINING)
    model.fit(known, labels)
    found["paper: losses"] = summarize(model.history_["loss"])
    found["paper: similarities"] = summarize(model.similarity(asked, known))
    images, digits = _images()
    model = build_model(
        "Prototypes",
        encoder=tl.encode.ImageEncoder(architecture="lenet", dropout=0.1),
        similarity_fn="learned",
        hidden=8,
        symmetrize=False,
        batch_size=6,
        max_steps=2,
        **TRAINING,
    ).fit(images, digits)
    found["images: losses"] = summarize(model.history_["loss"])
    newcomer = waves(3, shortest=16, seed=5)
    model = build_model(
        "Prototypes", extra_encoders=[], encoder=tl.CausalEncoder(**_SMALL), max_steps=2, **TRAINING
    ).fit(known, labels)
    model.enroll(newcomer, np.full(3, 3))
    found["enrolled: scores"] = summarize(model.predict_proba(asked))
    return found


def attacks() -> Outputs:
    """What attacks make of images, on a network that was trained for two steps."""
    images, digits = _images()
    model = build_model(
        "Prototypes",
        encoder=tl.encode.ImageEncoder(architecture="lenet", dropout=0.1),
        max_steps=2,
        batch_size=6,
        **TRAINING,
    ).fit(images, digits)
    limits: dict[str, Any] = {"bounds": (0.0, 1.0)}
    several: dict[str, Any] = {
        "FGSM": FGSM(0.3, **limits),
        "PGD": PGD(0.3, steps=3, step=0.1, **limits),
        "margin": PGD(0.3, steps=2, restarts=2, loss="margin", **limits),
    }
    return {
        name: summarize(np.stack(list(attack.attack(model, images, digits, random_state=0))))
        for name, attack in several.items()
    }


def verifier() -> Outputs:
    """Thresholds, scores and decisions of a calibrated verifier, plain and normalized."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(12), [3, 4, 5] * 4)
    known = rng.standard_normal((12, 2))[who, None] + 0.1 * rng.standard_normal((len(who), 1, 2))
    asked = rng.standard_normal((6, 1, 2))
    found: Outputs = {}
    for name, normalize in {"plain": None, "z-norm": "z-norm", "AS-norm": "as-norm"}.items():
        gate = tl.Verifier("euclidean", normalize=normalize, n_top=5)  # type: ignore[arg-type]
        gate.calibrate(known, who, false_accept=0.2)
        found[f"{name}: threshold"] = [float(gate.threshold_), float(gate.thresholds_[3])]  # of one example, and three
        found[f"{name}: scores"] = summarize(gate.scores(asked, known[:5]))
        gate.enroll(known[:3], "somebody")
        found[f"{name}: three examples"] = summarize(gate.accepts(asked, "somebody").score)
    return found


def _images() -> tuple[tl.Sequences, Any]:
    images = pictures(9, 1, size=28)
    return tl.Sequences(images[:, 0], layout="nchw"), np.arange(9) % 3

"""Encoders, and the heads that read classes off their vectors."""

from __future__ import annotations

from typing import Any

import timelike as tl
from benchmarks.model_options import build_model, build_preset
from benchmarks.numerics.probes.small_data import TRAINING, Outputs, pictures, summarize, waves


def rocket() -> Outputs:
    """Features as they are by default, looking back, and of sequences resampled to one length."""
    known, asked = waves(8, shortest=16, seed=1), waves(5, shortest=14, seed=2)
    options: dict[str, dict[str, Any]] = {
        "default": {},
        "causal": {"causal": True},
        "mean length": {"length": "mean"},
        "as they are": {"standardize": False},
    }
    found: Outputs = {}
    for name, more in options.items():
        encoder = tl.Rocket(n_features=500, random_state=0, **more).fit(known)
        found[f"{name}: features"] = summarize(encoder.encode(asked, n_jobs=1))
        found[f"{name}: distances"] = summarize(encoder.pairwise(asked, known, n_jobs=1))
    return found


def statistics() -> Outputs:
    """Plain statistics of sequences, and the forest that `compare` reads them with."""
    known, asked = waves(12, shortest=16, seed=1), waves(5, shortest=14, seed=2)
    encoder = tl.encode.StatisticsEncoder().fit(known)
    forest = tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head="forest", random_state=0).fit(
        known, known.labels
    )
    return {
        "features": summarize(encoder.encode(asked)),
        "distances": summarize(encoder.pairwise(asked, known)),
        "forest": summarize(forest.predict_proba(asked)),
    }


def tloss() -> Outputs:
    """Losses and vectors of causal and recurrent encoders: at their defaults, as in the thesis, with softmax."""
    X = waves(6, shortest=16)
    small: dict[str, Any] = {"channels": 4, "depth": 2, "reduced_size": 4, "n_features": 6}
    settings: dict[str, tl.CausalEncoder | tl.RecurrentEncoder] = {
        "default": build_model("CausalEncoder", **small, max_steps=3, **TRAINING),
        "untrained": build_model("CausalEncoder", **small, max_steps=0, **TRAINING),
        "softmax": build_model("CausalEncoder", **small, max_steps=2, loss="nt_xent", **TRAINING),
        "thesis": build_preset("CausalEncoder", "thesis", **small, max_steps=3, n_negatives=5, **TRAINING),
        "thesis, LSTM": build_preset(
            "RecurrentEncoder", "thesis", hidden=4, n_features=6, max_steps=2, n_negatives=5, **TRAINING
        ),
    }
    found: Outputs = {}
    for name, encoder in settings.items():
        encoder.fit(X)
        if name != "untrained":
            found[f"{name}: losses"] = summarize(encoder.history_["loss"])
        found[f"{name}: vectors"] = summarize(encoder.encode(X))
        found[f"{name}: distances"] = summarize(encoder.pairwise(X))
    return found


def image_encoder() -> Outputs:
    """Losses and vectors of single images."""
    X = tl.Sequences(pictures(12, 1)[:, 0], layout="nchw")
    encoder = build_model("ImageEncoder", max_steps=2, **TRAINING).fit(X)
    return {"losses": summarize(encoder.history_["loss"]), "vectors": summarize(encoder.encode(X))}


def heads() -> Outputs:
    """What classifiers make of an encoder's vectors."""
    known, asked = waves(16, shortest=16, seed=1), waves(6, shortest=14, seed=2)
    found: Outputs = {}
    for head in ("auto", "ridge", "svm", "logistic", "1nn"):
        model = tl.EmbeddingClassifier(tl.encode.StatisticsEncoder(), head=head).fit(known, known.labels)
        found[head] = summarize(model.predict_proba(asked))
    return found

"""Learned metrics: what every step of a short training loses, and distances after it."""

from __future__ import annotations

from typing import Any

import torch

import timelike as tl
from benchmarks.model_options import build_model, build_preset
from benchmarks.numerics.probes.small_data import TRAINING, Outputs, summarize, uneven_labels, waves
from timelike.metric import AlignedFramesNetwork, SelfSupervisedObjective, alignment_error, augment_batch, losses
from timelike.train import fit

_UNJUDGED: dict[str, Any] = {"validation": 0.0, "patience": None}
_HELD_OUT: dict[str, Any] = {"validation": 0.25, "patience": 20}
_PAPER: dict[str, Any] = {"n_per_class": 2, "batch_size": 4, "max_epochs": 1, "standardize": False, "hidden": 8}
_VARIANTS = {"attention": "attention", "l": "cnn_large", "d": "cnn_deep"}  # by the names of stored numbers
_EPISODES: dict[str, Any] = {"supervision": "episodes", "n_way": 2, "k_shot": 1, "n_query": 1, "n_outputs": 4}


def tap() -> Outputs:
    """TAP at its defaults, and as in the paper with every loss, network and supervision that programs use."""
    small: dict[str, Any] = {"hidden": 8, "n_kernels": 2} | TRAINING | _UNJUDGED
    paper = small | _PAPER | {"gradient_clip": 6.0, "schedule": "plateau"}
    settings: dict[str, tl.TAP] = {"default": build_model("TAP", max_steps=3, **small)}
    settings |= {loss: build_preset("TAP", "paper", loss=loss, **paper) for loss in ("triplet", "lifted", "binomial")}
    settings |= {
        f"network {name}": build_preset("TAP", "paper", variant=variant, **paper) for name, variant in _VARIANTS.items()
    }
    settings |= {f"weight {one}": build_preset("TAP", "paper", consistency=one, **paper) for one in (1.0, 0.0)}
    settings["plain"] = build_preset("TAP", "paper", augment=False, **paper)
    for supervision in ("augmentation", "alignment"):
        settings[supervision] = build_preset("TAP", "paper", supervision=supervision, **paper)
    for attention in (False, True):
        name = "episodes, attention" if attention else "episodes"
        settings[name] = build_model(
            "TAP", self_attention=attention, max_steps=2, standardize=False, **_EPISODES, **small
        )
    found = _compare_trained(settings)
    X = waves()
    found["norm ratio"] = summarize(settings["triplet"].norm_ratio(X[:3], X[3:], n_jobs=1))
    return found | {"pooled": summarize(settings["triplet"].pool_frames(X, n_jobs=1))}


def aligned_frames() -> Outputs:
    """Learned frames that soft-DTW aligns: the rival in TAP's tables."""
    small: dict[str, Any] = TRAINING | _UNJUDGED
    paper = small | _PAPER | {"gradient_clip": 6.0, "schedule": "plateau"}
    steep = {"lifted": losses.Lifted(alpha=2.0, beta=1.0), "binomial": losses.Binomial(alpha=2.0, beta=1.0)}
    settings: dict[str, Any] = {
        name: build_preset("AlignedFrames", "paper", aligner="softdtw", loss=loss, **paper)
        for name, loss in {"triplet": "triplet", **steep}.items()
    }
    settings["episodes"] = build_model(
        "AlignedFrames", aligner="softdtw", hidden=8, max_steps=2, standardize=False, **_EPISODES, **small
    )
    found = _compare_trained(settings)
    x, lengths = waves(equal=True).to_tensor()
    new = augment_batch(x, lengths, random_state=0)
    found["augmented"] = summarize(new.x)
    for gamma in (1.0, 0.1):
        network = AlignedFramesNetwork(2, aligner=tl.nn.SoftDTW(gamma), transform=False).double()
        with torch.no_grad():
            attention = network.align_pairs(network.features(new.x, new.lengths), network.features(x, lengths))[1]
        error = alignment_error(attention, new.alignment, new.lengths, lengths)
        found[f"alignments, {gamma}"] = summarize(error)
    torch.manual_seed(0)
    network = AlignedFramesNetwork(2, aligner="softdtw", hidden=4, normalize=False).double()
    joint = SelfSupervisedObjective(network, waves(), joint=True, alignment=0.0, trainer=tl.Trainer(batch_size=4))
    return found | {"joint: losses": summarize(fit(joint, max_epochs=2, random_state=0)["loss"])}


def siamese() -> Outputs:
    """Siamese networks at their defaults, as in the CGRU paper, and with its rivals' cells and losses."""
    small: dict[str, Any] = {"hidden": 4} | TRAINING | _UNJUDGED
    paper = small | {"max_steps": 3, "max_epochs": None, "n_per_class": 2}
    return _compare_trained(
        {
            "default": build_model("SiameseGRU", max_steps=3, n_outputs=4, **small),
            "contrastive": build_model("SiameseGRU", loss="contrastive", max_steps=3, n_outputs=4, **small),
            "paper": build_preset("SiameseGRU", "paper", **paper),
            "paper, LSTM": build_preset("SiameseGRU", "paper", cell="lstm", **paper),
            "paper, epochs": build_preset("SiameseGRU", "paper", hidden=4, max_epochs=2, **_HELD_OUT, **TRAINING),
            "paper, one cycle": build_preset("SiameseGRU", "paper", schedule="one_cycle", learning_rate=0.03, **paper),
        }
    )


def coupled() -> Outputs:
    """Coupled GRUs at their defaults and as in the paper, with its penalties and starts, and their exponents."""
    small: dict[str, Any] = {"hidden": 4} | TRAINING | _UNJUDGED
    paper = small | {"max_steps": 3, "max_epochs": None, "n_per_class": 2}
    settings: dict[str, Any] = {
        "default": build_model("CoupledGRU", max_steps=3, **small),
        "paper": build_preset("CoupledGRU", "paper", **paper),
        "paper, norm": build_preset("CoupledGRU", "paper", coupling_bias=-3.0, penalty_term="norm", **paper),
        "paper, epochs": build_preset("CoupledGRU", "paper", hidden=4, max_epochs=2, **_HELD_OUT, **TRAINING),
        "paper, bias 0": build_preset("CoupledGRU", "paper", coupling_bias=0.0, sync="last", **paper),
    }
    found = _compare_trained(settings)
    exponent = settings["default"].network_.lyapunov_exponent(steps=20, starts=2, random_state=0)
    return found | {"exponent": [float(exponent)]}


def ground() -> Outputs:
    """Ground metrics of frames under a fixed aligner."""
    kept: dict[str, Any] = {"random_state": 0, "progress": False, "standardize": False}
    settings: dict[str, Any] = {
        "RVSML, DTW": build_model("RVSML", aligner="dtw", max_iterations=3, **kept),
        "RVSML, OPW": build_model("RVSML", aligner="opw", max_iterations=2, **kept),
        "DeepRVSML": build_model("DeepRVSML", hidden=8, max_epochs=2, precision="64-true", **kept),
        "elements": build_model("ElementWise", hidden=8, max_steps=3, n_per_class=2, precision="64-true", **kept),
    }
    X = waves()
    found: Outputs = {}
    for name, metric in settings.items():
        found[name] = summarize(metric.fit(X, X.labels).pairwise(X[:3], X[3:], n_jobs=1))
    return found


def discriminant() -> Outputs:
    """Discriminants of fixed features for known and unknown classes, and whitened features."""
    X, asked = waves(48, shortest=16), waves(5, shortest=14, seed=2)
    labels = uneven_labels(48, 4)
    settings: dict[str, Any] = {
        f"classes={classes!r}": tl.Discriminant(tl.encode.StatisticsEncoder(), classes=classes, random_state=0)
        for classes in ("both", "known", "open")
    }
    settings["whitened"] = tl.metric.WhitenedCosine(tl.encode.StatisticsEncoder(), random_state=0)
    found: Outputs = {}
    for name, metric in settings.items():
        metric.fit(X, labels)
        found[name] = summarize(metric.pairwise(asked, X, n_jobs=1))  # vectors are known up to a rotation
    return found


def fused() -> Outputs:
    """Weights and distances of two metrics that are fused."""
    X, asked = waves(24, shortest=16), waves(5, shortest=14, seed=2)
    labels = uneven_labels(24, 3)
    parts = [tl.DTW(normalize="length"), tl.metric.WhitenedCosine(tl.encode.StatisticsEncoder(), random_state=0)]
    metric = tl.Fused(parts, random_state=0).fit(X, labels)
    return {"weights": summarize(metric.weights_), "distances": summarize(metric.pairwise(asked, X, n_jobs=1))}


def _compare_trained(settings: dict[str, Any]) -> Outputs:
    """Losses of the steps, and distances after them, of every setting."""
    X, found = waves(), Outputs()
    for name, metric in settings.items():
        metric.fit(X, X.labels)
        found[f"{name}: losses"] = summarize(metric.history_["loss"])
        found[f"{name}: distances"] = summarize(metric.pairwise(X[:3], X[3:], n_jobs=1))
    return found

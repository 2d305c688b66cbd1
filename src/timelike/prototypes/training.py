"""What `Prototypes.fit` sets up: the network, the perturbation of batches, the schedule, budgets, first prototypes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ..metric.objectives.perturbation import Perturbation
from ..models import fingerprint
from ..sequences import Sequences
from ..train import Milestones, OneCycle, Schedule
from .cosine import CosineSimilarity, FusedSimilarity
from .members import Floats, Members, canonical_order, cluster_centers
from .network import AnySimilarity, Averaging, DenseHead, PrototypeNetwork
from .objective import BatchPerturbation, FrameNoise
from .retrieval import SimilarityKind
from .similarity import Similarity

ScheduleName = Literal["one_cycle", "milestones", "constant"]

_N_PASSES, _STEP_RANGE = 20, (500, 2000)  # default budget: passes through the data, steps between these
_DEFAULT_SECONDS = 120.0  # default time limit
_MILESTONE_EPOCHS = 200  # epochs after which the paper lowers the learning rate, once


def build_network(
    encoder: nn.Module,
    similarity_fn: SimilarityKind,
    n_features: int,
    n_classes: int,
    *,
    hidden: int,
    dropout: float,
    symmetrize: bool,
    dense: DenseHead | None,
    averaging: Averaging,
) -> PrototypeNetwork:
    """The network of an encoder, with a new similarity, dense head and averages."""
    # the perceptron is made in any case: the random numbers of all that follows are the same with every similarity
    learned = Similarity(n_features, hidden=hidden, dropout=dropout, symmetrize=symmetrize)
    kinds: dict[SimilarityKind, AnySimilarity] = {
        "learned": learned,
        "cosine": CosineSimilarity(),
        "fused": FusedSimilarity(learned),
    }
    learns_averages = averaging == "gradient"
    return PrototypeNetwork(
        encoder, kinds[similarity_fn], n_features, n_classes, dense=dense, learns_averages=learns_averages
    )


def make_perturbation(sequences: Sequences, *, standardized: bool) -> BatchPerturbation | None:
    """What is done to batches before a step: noise for single frames, warps and noise for longer sequences."""
    if int(sequences.lengths.max()) == 1:
        return FrameNoise() if standardized else None  # noise needs a unit
    return Perturbation() if standardized else Perturbation(jitter=0.0)


def make_schedule(
    name: ScheduleName, n_batches: int, *, max_steps: int | None, max_epochs: int | None
) -> Schedule | None:
    """The schedule of a training whose epochs have so many batches; None for a constant learning rate."""
    if name == "one_cycle":
        steps = None if max_epochs is None else max_epochs * n_batches
        return OneCycle(steps=steps if max_steps is None else max_steps)
    return Milestones(milestones=(_MILESTONE_EPOCHS * n_batches,)) if name == "milestones" else None


def training_budget(
    n_batches: int, *, max_steps: int | None, max_epochs: int | None, max_time: float | None
) -> dict[str, Any]:
    """Steps, epochs and seconds of a training; defaults if neither steps nor epochs are given."""
    is_free = max_steps is None and max_epochs is None
    return {
        "max_steps": int(np.clip(_N_PASSES * n_batches, *_STEP_RANGE)) if is_free else max_steps,
        "max_epochs": max_epochs,
        "max_time": _DEFAULT_SECONDS if is_free and max_time is None else max_time,
    }


def encoder_fingerprint(network: nn.Module | None, scaler: Any) -> str | int:
    """A fingerprint of the weights of an encoder, unless they are drawn anew (None), and of its standardization."""
    arrays = [] if network is None else [weight.detach().numpy() for weight in network.state_dict().values()]
    arrays += [] if scaler is None else list(scaler)
    return fingerprint(*(np.ascontiguousarray(one) for one in arrays))


def make_members(vectors: Floats, codes: NDArray[np.int64], n_classes: int, n_prototypes: int) -> Members:
    """The examples of all classes, each of which is to have so many prototypes."""
    order = canonical_order(vectors, codes)
    return Members(vectors[order], codes[order], np.full(n_classes, n_prototypes, np.int64))


def first_prototypes(
    members: Members, network: PrototypeNetwork, averaging: Averaging
) -> tuple[Floats, NDArray[np.int64]]:
    """The prototypes after training and the positions of their classes; see the option `averaging`."""
    n_classes = len(members.counts)
    if averaging == "exact":
        centers = [cluster_centers(members.class_vectors(k), int(members.counts[k])) for k in range(n_classes)]
        return np.concatenate(centers), np.repeat(np.arange(n_classes), [len(some) for some in centers])
    means = np.stack([cluster_centers(members.class_vectors(k), 1)[0] for k in range(n_classes)])
    # a short training may not have shown all classes: these have their exact means
    seen = network.seen_classes.numpy() | (averaging == "gradient")
    return np.where(seen[:, None], network.averages.detach().numpy(), means), np.arange(n_classes)

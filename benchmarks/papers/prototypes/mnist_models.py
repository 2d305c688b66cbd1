"""What is trained on MNIST: Prototypes in several ways, and a plain classifier of the same encoder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.model_options import build_model
from numpy.typing import NDArray
from torch import Tensor, nn

import timelike as tl
from timelike.attacks import PGD, Attack
from timelike.sequences.moments import ChannelScaler
from timelike.train import Batch, Objective, OneCycle, fit, shuffled_batches, use_seed
from timelike.train.loop import evaluation_mode

FILE, BOUNDS, BUDGET = "mnist.npz", (0.0, 1.0), 0.3
STEPS = {"clean": 10_000, "adversarial": 2000, "ablation": 2000}
RATE, BATCH, DECAY, SMOOTHED = 3e-3, 60, 1e-4, 0.2
DROPPED = 0.1  # channels; the authors' half is for trainings fifty times as long
ADVERSARY = PGD(BUDGET, steps=7, step=0.1, bounds=BOUNDS)

# what is taken out or put in another's place, one at a time
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "everything": {},
    "without L_aux": {"auxiliary": None},
    "cosine for S": {"similarity_fn": "cosine"},
    "prototypes by SGD": {"averaging": "gradient"},
    "AM-softmax": {"auxiliary": "margin"},
}


class Digits(NamedTuple):
    """Images as sequences of one frame (1, 28, 28) with values from 0 to 1, and what they show."""

    images: tl.Sequences
    labels: NDArray[np.int64]

    def first(self, count: int) -> Digits:
        return Digits(self.images[:count], self.labels[:count])


def digits(folder: Path) -> tuple[Digits, Digits]:
    """Training and test part."""
    with np.load(folder / FILE, allow_pickle=False) as held:
        return _digits(held, "train"), _digits(held, "test")


def _digits(held: Any, part: str) -> Digits:
    images = (held[f"X_{part}"][:, None] / 255).astype(np.float32)
    return Digits(tl.Sequences(images, layout="nchw"), held[f"y_{part}"].astype(np.int64))


def encoder() -> tl.encode.ImageEncoder:
    return tl.encode.ImageEncoder(architecture="lenet", dropout=DROPPED)


def prototypes(
    train: Digits, steps: int, seed: int, adversary: Attack | None, options: Mapping[str, Any]
) -> tl.Prototypes:
    """The trio, trained."""
    how: dict[str, Any] = {
        "similarity_fn": "learned",
        "symmetrize": False,
        "label_smoothing": SMOOTHED,
        "soft_pairs": True,
    }
    model: tl.Prototypes = build_model(
        "Prototypes",
        encoder=encoder(),
        batch_size=BATCH,
        learning_rate=RATE,
        weight_decay=DECAY,
        max_steps=steps,
        adversary=adversary,
        progress=False,
        random_state=seed,
        **how | dict(options),
    )
    return model.fit(train.images, train.labels)


# --- the rival


class Plain(nn.Module):
    """The encoder's network and a dense layer: (x, lengths) → logits, of images as they are."""

    mean: Tensor
    scale: Tensor

    def __init__(self, frame: tuple[int, ...], moments: ChannelScaler) -> None:
        super().__init__()
        self.encoder = encoder().network(frame)
        self.dense = nn.Linear(50, 10)
        for name, moment in moments._asdict().items():
            self.register_buffer(name, torch.from_numpy(np.asarray(moment, dtype=np.float32)))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        found: Tensor = self.dense(self.encoder((x - self.mean) / self.scale, None))
        return found


class Classifying(Objective):
    """Cross-entropy of random batches, attacked where there is an adversary."""

    def __init__(self, module: Plain, train: Digits, adversary: Attack | None) -> None:
        self.module, self.train, self.adversary = module, train, adversary

    def optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.module.parameters(), lr=RATE, weight_decay=DECAY)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        for ids in shuffled_batches(len(self.train.labels), BATCH, rng):
            yield Batch.from_sequences(self.train.images, ids, labels=self.train.labels)

    def loss(self, batch: Batch) -> Tensor:
        x, lengths, labels = (batch[name] for name in ("x", "lengths", "labels"))
        if self.adversary is not None:
            with evaluation_mode(self.module):
                x = self.adversary.perturb(x, lengths, labels, self.module)
        return F.cross_entropy(self.module(x, lengths), labels, label_smoothing=SMOOTHED)


def plain(train: Digits, steps: int, seed: int, adversary: Attack | None) -> Plain:
    """The classifier, trained."""
    with use_seed(seed):
        module = Plain(train.images.frame, ChannelScaler.per_channel(train.images))
    fit(
        Classifying(module, train, adversary),
        max_steps=steps,
        schedule=OneCycle(),
        gradient_clip=6.0,
        random_state=seed,
    )
    return module.eval()

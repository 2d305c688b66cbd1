"""The thesis's settings by data set (Franceschi, 2022, B.3), for `SRVP.preset(name, scale=…)`."""

from __future__ import annotations

import math
from typing import Any

from ...train import LinearDecay, Trainer
from ..codecs.convolutions import DCGAN, VGG
from ..dynamics import RandomDynamics
from .network import Inference

_THESIS: dict[str, Any] = {
    "n_content": 256,  # in the authors' code for every data set; the text has 128 for digits
    "output": "sigmoid",
    "standardize": False,
    "motion_penalty": 1.0,
    "beta": 1.0,
}


def _training(batch_size: int, level: int, falling: int) -> dict[str, Any]:
    """`level` steps at the full learning rate, then `falling` steps in which it decreases to 0."""
    schedule = LinearDecay(share=falling / (level + falling))
    trainer = Trainer(
        batch_size=batch_size, learning_rate=3e-4, betas=(0.9, 0.999), gradient_clip=math.inf, schedule=schedule
    )
    return {"max_steps": level + falling, "trainer": trainer}


def _inference(n_content_frames: int) -> Inference:
    return Inference(n_code=128, hidden=256, shortcut=False, n_content_frames=n_content_frames, reencode=False)


_DIGITS: dict[str, Any] = _THESIS | {
    "codec": DCGAN(filters=64, initialization="thesis", variant="srvp"),
    "conditioning": 5,
    "chunk": 15,
    "inference": _inference(5),
    "n_state": 20,
    "n_random": 20,
    "dynamics": RandomDynamics(motion="residual", hidden=512, gain=1.41, substeps=1),
    "observation_std": 1.0,
    "beta": 2.0,
}
_VIDEO: dict[str, Any] = _THESIS | {
    "codec": VGG(filters=64, skips=True, initialization="thesis", variant="srvp"),
    "n_state": 50,
    "n_random": 50,
}
_PEOPLE: dict[str, Any] = _VIDEO | {
    "inference": _inference(3),
    "dynamics": RandomDynamics(motion="residual", hidden=512, gain=1.2, substeps=2),
    "observation_std": 0.2,
}

PRESETS: dict[str, dict[str, Any]] = {
    "stochastic-digits": _DIGITS | _training(128, 1_000_000, 100_000),
    "digits": _DIGITS | _training(128, 800_000, 100_000),
    "kth": _PEOPLE | {"conditioning": 10, "chunk": 20} | _training(100, 150_000, 50_000),
    "human": _PEOPLE | {"conditioning": 8, "chunk": 16} | _training(100, 325_000, 25_000),
    "bair": _VIDEO
    | {
        "conditioning": 2,
        "chunk": 12,
        "inference": _inference(2),
        "dynamics": RandomDynamics(motion="residual", hidden=512, gain=1.41, substeps=2),
        "observation_std": 0.5**0.5,
    }
    | _training(192, 1_000_000, 500_000),
}

"""The thesis's settings by data set (Franceschi, 2022, C.4 and C.5), for `Separation.preset(name, scale=…)`."""

from __future__ import annotations

from typing import Any

from ...train import Milestones, Trainer
from ..codecs.convolutions import DCGAN, VGG, ResNet
from ..codecs.mlp import MLP
from ..dynamics import StateDynamics
from .objective import SeparationLoss

_THESIS: dict[str, Any] = {"reencode": False, "standardize": False}
_TRAINER = Trainer(learning_rate=4e-4, schedule="constant", validation=0.0, weight_decay=0.0)
_WAVES: dict[str, Any] = _THESIS | {
    "conditioning": 5,
    "chunk": 25,
    "n_content": 32,
    "n_state": 32,
    "combine": "multiply",
    "dynamics": StateDynamics(solver="residual", blocks=3, hidden=512, gain=0.71),
    "output": "sigmoid",
    "loss": SeparationLoss(
        prediction_weight=45.0, autoencoding_weight=1.0, invariance_weight=45.0, state_penalty=1e-3, jitter=0.0
    ),
    "max_steps": 18750,
    "trainer": _TRAINER.replace(Trainer(batch_size=128)),
}
_SST: dict[str, Any] = _THESIS | {
    "conditioning": 4,
    "chunk": 10,
    "offset": True,
    "output": "linear",
    "trainer": _TRAINER.replace(Trainer(batch_size=100)),
}
_DIGITS: dict[str, Any] = _THESIS | {"conditioning": 5, "chunk": 15, "n_content": 128, "output": "sigmoid"}

PRESETS: dict[str, dict[str, Any]] = {
    "waves-100": _WAVES
    | {"codec": MLP(hidden=2400, layers=2, decoder_hidden=150, shortcut=False, initialization="thesis")},
    "waves": _WAVES | {"codec": MLP(hidden=1200, layers=2, decoder_layers=3, shortcut=False, initialization="thesis")},
    "sst": _SST
    | {
        "codec": VGG(filters=64, skips=True, maps=True, initialization="thesis"),
        "n_content": 196,
        "n_state": 64,
        "dynamics": StateDynamics(solver="residual", blocks=2, hidden=128, gain=0.2),
        "loss": SeparationLoss(
            prediction_weight=45.0,
            autoencoding_weight=0.1,  # the thesis; the authors' README has 1
            invariance_weight=100.0,
            state_penalty=5e-6,
            jitter=0.0,
        ),
    },
    "sst-linear": _SST
    | {
        "codec": VGG(filters=64, skips=True, initialization="thesis", variant="separation"),
        "n_content": 256,
        "n_state": 256,
        "dynamics": StateDynamics(solver="residual", blocks=3, hidden=1024, gain=0.71),
        "loss": SeparationLoss(
            prediction_weight=45.0, autoencoding_weight=10.0, invariance_weight=45.0, state_penalty=1e-2, jitter=0.0
        ),
    },
    "digits": _DIGITS
    | {
        "codec": DCGAN(filters=64, initialization="thesis", variant="separation"),
        "n_state": 20,
        "dynamics": StateDynamics(solver="residual", blocks=1, hidden=512, gain=1.41),
        "loss": SeparationLoss(
            prediction_weight=45.0, autoencoding_weight=10.0, invariance_weight=45.0, state_penalty=1e-3, jitter=0.0
        ),
        "max_steps": 800 * 200_000 // 128,
        "trainer": _TRAINER.replace(
            Trainer(
                batch_size=128,
                betas=(0.5, 0.99),
                schedule=Milestones(milestones=tuple(epoch / 800 for epoch in (300, 400, 500, 600, 700)), gamma=1 / 2),
            )
        ),
    },
    "chairs": _DIGITS
    | {
        "codec": ResNet(filters=64, initialization="thesis"),
        "n_state": 10,
        "dynamics": StateDynamics(solver="residual", blocks=1, hidden=512, gain=0.71),
        "loss": SeparationLoss(
            prediction_weight=45.0, autoencoding_weight=1.0, invariance_weight=1.0, state_penalty=1e-3, jitter=0.0
        ),
        "trainer": _TRAINER.replace(Trainer(batch_size=128, betas=(0.9, 0.99))),
    },
    "taxi": _DIGITS
    | {
        "conditioning": 4,
        "chunk": 8,
        "codec": VGG(filters=64, initialization="thesis", variant="separation"),
        "n_state": 20,
        "dynamics": StateDynamics(solver="residual", blocks=1, hidden=512, gain=0.71),
        "loss": SeparationLoss(
            prediction_weight=45.0, autoencoding_weight=45.0, invariance_weight=1e-4, state_penalty=1e-3, jitter=0.0
        ),
        "trainer": _TRAINER.replace(
            Trainer(
                batch_size=100,
                learning_rate=4e-5,
                betas=(0.9, 0.99),
                schedule=Milestones(milestones=tuple(epoch / 550 for epoch in (250, 300, 350, 400, 450)), gamma=1 / 5),
            )
        ),
    },
}
"""Budgets are steps: 250 epochs of waves are 18 750; data sets that are not available here keep the default budget.

Learning rates drop at the same fractions of the training as in the thesis, whatever the number of steps.
"""

"""The thesis's settings by data set (Franceschi, 2022, C.4 and C.5), for `Separation.preset(name, scale=…)`."""

from __future__ import annotations

from typing import Any

from ...train import Milestones

_THESIS: dict[str, Any] = {
    "shortcut": False,
    "reencode": False,
    "initialization": "thesis",
    "schedule": "constant",
    "learning_rate": 4e-4,
    "validation": 0.0,
    "jitter": 0.0,
    "weight_decay": 0.0,
    "standardize": False,
    "n_invariance_intervals": 1,
    "tied": False,
    "solver": "residual",
}
_WAVES: dict[str, Any] = _THESIS | {
    "conditioning": 5,
    "chunk": 25,
    "n_content": 32,
    "n_state": 32,
    "combine": "multiply",
    "codec": "perceptron",
    "layers": 2,
    "blocks": 3,
    "dynamics_hidden": 512,
    "gain": 0.71,
    "output": "sigmoid",
    "prediction_weight": 45.0,
    "autoencoding_weight": 1.0,
    "invariance_weight": 45.0,
    "state_penalty": 1e-3,
    "batch_size": 128,
    "max_steps": 18750,
}
_SST: dict[str, Any] = _THESIS | {
    "conditioning": 4,
    "chunk": 10,
    "codec": "vgg",
    "filters": 64,
    "skips": True,
    "offset": True,
    "output": "linear",
    "prediction_weight": 45.0,
    "batch_size": 100,
}
_DIGITS: dict[str, Any] = _THESIS | {
    "conditioning": 5,
    "chunk": 15,
    "n_content": 128,
    "n_state": 20,
    "codec": "dcgan",
    "filters": 64,
    "blocks": 1,
    "dynamics_hidden": 512,
    "gain": 1.41,
    "output": "sigmoid",
    "prediction_weight": 45.0,
    "autoencoding_weight": 10.0,
    "invariance_weight": 45.0,
    "state_penalty": 1e-3,
    "betas": (0.5, 0.99),
    "batch_size": 128,
    "max_steps": 800 * 200_000 // 128,
    "schedule": Milestones(milestones=tuple(epoch / 800 for epoch in (300, 400, 500, 600, 700)), gamma=1 / 2),
}

PRESETS: dict[str, dict[str, Any]] = {
    "waves-100": _WAVES | {"hidden": 2400, "decoder_hidden": 150},
    "waves": _WAVES | {"hidden": 1200, "decoder_layers": 3},
    "sst": _SST
    | {
        "maps": True,
        "n_content": 196,
        "n_state": 64,
        "blocks": 2,
        "dynamics_hidden": 128,
        "gain": 0.2,
        "autoencoding_weight": 0.1,  # the thesis; the authors' README has 1
        "invariance_weight": 100.0,
        "state_penalty": 5e-6,
    },
    "sst-linear": _SST
    | {
        "n_content": 256,
        "n_state": 256,
        "blocks": 3,
        "dynamics_hidden": 1024,
        "gain": 0.71,
        "autoencoding_weight": 10.0,
        "invariance_weight": 45.0,
        "state_penalty": 1e-2,
    },
    "digits": _DIGITS,
    "chairs": _DIGITS
    | {
        "codec": "resnet",
        "n_state": 10,
        "gain": 0.71,
        "autoencoding_weight": 1.0,
        "invariance_weight": 1.0,
        "betas": (0.9, 0.99),
        "max_steps": None,
        "schedule": "constant",
    },
    "taxi": _DIGITS
    | {
        "conditioning": 4,
        "chunk": 8,
        "codec": "vgg",
        "gain": 0.71,
        "autoencoding_weight": 45.0,
        "invariance_weight": 1e-4,
        "learning_rate": 4e-5,
        "betas": (0.9, 0.99),
        "batch_size": 100,
        "max_steps": None,
        "schedule": Milestones(milestones=tuple(epoch / 550 for epoch in (250, 300, 350, 400, 450)), gamma=1 / 5),
    },
}
"""Budgets are steps: 250 epochs of waves are 18 750; those of data sets that are not here are left at the default.

Learning rates fall at the same shares of all steps as in the thesis, however many there are.
"""

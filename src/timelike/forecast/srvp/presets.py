"""The thesis's settings by data set (Franceschi, 2022, B.3), for `SRVP.preset(name, scale=…)`."""

from __future__ import annotations

from typing import Any

from ...train import LinearDecay

_THESIS: dict[str, Any] = {
    "n_content": 256,  # in the authors' code for every data set; the text has 128 for digits
    "n_code": 128,
    "hidden": 256,
    "motion_hidden": 512,
    "filters": 64,
    "shortcut": False,
    "initialization": "thesis",
    "output": "sigmoid",
    "standardize": False,
    "learning_rate": 3e-4,
    "betas": (0.9, 0.999),
    "motion_penalty": 1.0,
    "beta": 1.0,
    "motion": "residual",
}


def _steps(level: int, falling: int) -> dict[str, Any]:
    """So many steps at the full learning rate, and so many more in which it falls to 0."""
    return {"max_steps": level + falling, "schedule": LinearDecay(share=falling / (level + falling))}


_DIGITS: dict[str, Any] = _THESIS | {
    "codec": "dcgan",
    "conditioning": 5,
    "chunk": 15,
    "n_content_frames": 5,
    "n_state": 20,
    "n_random": 20,
    "substeps": 1,
    "gain": 1.41,
    "observation_std": 1.0,
    "beta": 2.0,
    "batch_size": 128,
}
_VIDEO: dict[str, Any] = _THESIS | {"codec": "vgg", "skips": True, "n_state": 50, "n_random": 50, "substeps": 2}

PRESETS: dict[str, dict[str, Any]] = {
    "stochastic-digits": _DIGITS | _steps(1_000_000, 100_000),
    "digits": _DIGITS | _steps(800_000, 100_000),
    "kth": _VIDEO
    | {
        "conditioning": 10,
        "chunk": 20,
        "n_content_frames": 3,
        "gain": 1.2,
        "observation_std": 0.2,
        "batch_size": 100,
    }
    | _steps(150_000, 50_000),
    "human": _VIDEO
    | {
        "conditioning": 8,
        "chunk": 16,
        "n_content_frames": 3,
        "gain": 1.2,
        "observation_std": 0.2,
        "batch_size": 100,
    }
    | _steps(325_000, 25_000),
    "bair": _VIDEO
    | {
        "conditioning": 2,
        "chunk": 12,
        "n_content_frames": 2,
        "gain": 1.41,
        "observation_std": 0.5**0.5,
        "batch_size": 192,
    }
    | _steps(1_000_000, 500_000),
}

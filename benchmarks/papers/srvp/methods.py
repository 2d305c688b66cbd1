"""Settings of all that is trained on digits, in one place, what learns nothing, and the futures of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.papers.srvp.clips import CONDITIONING, SHOWN
from benchmarks.papers.srvp.convlstm import ConvLSTM
from benchmarks.papers.srvp.pca_ridge import PCARidge
from benchmarks.papers.srvp.svg import SVG
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast import Forecaster, Mean, Persistence

BASELINES = ("black", "persistence", "mean picture", "nearest past", "analog, k = 50")
NEIGHBOURS = {"nearest past": 1, "analog, k = 50": 50}
REACH = 20  # frames that follow each window in which pasts are looked up

_DIGITS: dict[str, Any] = {"conditioning": CONDITIONING, "chunk": SHOWN, "batch_size": 32}
SRVP: dict[str, Any] = _DIGITS | {
    "n_state": 48,
    "n_random": 8,
    "n_content": 64,
    "n_code": 128,
    "filters": 16,
    "hidden": 128,
    "motion_hidden": 128,
    "learning_rate": 5e-3,
    "output": "sigmoid",
    "codec": "dcgan",  # the thesis's
    "beta": 1.0,
}
SPRITES: dict[str, Any] = SRVP | {"codec": "sprites"}
SEPARATION: dict[str, Any] = _DIGITS | {
    "n_content": 64,
    "n_state": 20,
    "filters": 16,
    "hidden": 128,
    "dynamics_hidden": 128,
    "learning_rate": 2e-3,
    "output": "sigmoid",
    "reencode": False,
}
CONVLSTM: dict[str, Any] = {"conditioning": CONDITIONING, "batch_size": 32}

DEFAULTS, THESIS_NETWORKS = "SRVP, defaults", "SRVP, thesis's networks"
ONLY_TIME = (DEFAULTS, THESIS_NETWORKS)  # as a user calls them, with nothing but a limit in time
OTHER_NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {  # networks that are not of the library, but for the ConvLSTM
    "SVG": ("SVG", {"n_code": 128, "batch_size": 32})  # the codec of `SRVP, defaults`
}
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "SRVP": ("SRVP", SRVP),
    "SRVP, sprites": ("SRVP", SPRITES),
    "SRVP, sprites, two substeps": ("SRVP", SPRITES | {"substeps": 2}),
    "SRVP, sprites, MLP": ("SRVP", SPRITES | {"motion": "perceptron"}),
    "SRVP, sprites, GRU": ("SRVP", SPRITES | {"motion": "gru"}),
    "SRVP, sprites, without z": ("SRVP", SPRITES | {"n_random": 0}),
    "SRVP, sprites, without w": ("SRVP", SPRITES | {"n_content": 0}),
    DEFAULTS: ("SRVP", {}),
    THESIS_NETWORKS: ("SRVP", {"codec": "dcgan"}),
    "Separation": ("Separation", SEPARATION),
    "Separation, without w": ("Separation", SEPARATION | {"content": False}),
    "Separation, without autoencoding": ("Separation", SEPARATION | {"autoencoding_weight": 0.0}),
    "Separation, without invariance": ("Separation", SEPARATION | {"invariance_weight": 0.0}),
    "Separation, without smallness": ("Separation", SEPARATION | {"state_penalty": 0.0}),
    "Separation, GRU": ("Separation", SEPARATION | {"solver": "gru"}),
}
CANDIDATES: dict[str, dict[str, Any]] = {  # of the ConvLSTM; the best on clips held out is its row
    "squared error, 32 channels": CONVLSTM | {"loss": "mse", "hidden": 32},
    "cross-entropy, 32 channels": CONVLSTM | {"loss": "bce", "hidden": 32},
    "squared error, 16 channels": CONVLSTM | {"loss": "mse", "hidden": 16},
    "squared error, 48 channels": CONVLSTM | {"loss": "mse", "hidden": 48},
}


def baseline(name: str) -> Forecaster:
    """What learns almost nothing, by name."""
    made: dict[str, Forecaster] = {"persistence": Persistence(), "mean picture": Mean()}
    return made[name]


def analogs(known: NDArray[np.float32], past: NDArray[np.float32], horizon: int, k: int) -> NDArray[np.float32]:
    """The mean of what followed the k windows nearest to each past, of all windows with so many frames after them.

    As `Analog(align="none")` of pixels as they are; by products of matrices, which is quicker for pictures.
    """
    n_seen = past.shape[1]
    starts = range(known.shape[1] - n_seen - horizon + 1)
    asked, parts = past.reshape(len(past), -1), []
    for start in starts:
        windows = known[:, start : start + n_seen].reshape(len(known), -1)
        parts.append(np.square(windows).sum(axis=1) - 2 * asked @ windows.T)  # but for the square of what is asked
    nearest = np.argpartition(np.concatenate(parts, axis=1), k - 1, axis=1)[:, :k]
    began, item = np.divmod(nearest, len(known))
    later = began[..., None] + n_seen + np.arange(horizon)
    found = np.empty((len(past), horizon, *known.shape[2:]), np.float32)
    for row in range(len(past)):
        found[row] = known[item[row][:, None], later[row]].mean(axis=0)
    return found


def network(name: str, setting: str | None = None) -> tuple[str, dict[str, Any]]:
    """The kind of a method and its settings; `setting` chooses those of the ConvLSTM."""
    return ("ConvLSTM", CANDIDATES[setting]) if setting is not None else (TRAINED | OTHER_NETWORKS)[name]


def futures(model: Any, past: Any, horizon: int, n_samples: int, seed: int, **how: Any) -> Any:
    """Futures (sample, clip, step, *frame): one of methods that have only one."""
    if isinstance(model, ConvLSTM | PCARidge):
        return model.predict(past, horizon)[None]
    if isinstance(model, SVG):
        return model.predict(past, horizon, n_samples=n_samples, random_state=seed)
    if not isinstance(model, tl.SRVP):
        return np.asarray(model.predict(past, horizon, **how).mean)[None]
    return np.asarray(model.predict(past, horizon, n_samples=n_samples, random_state=seed, **how).samples)

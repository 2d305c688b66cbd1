"""Settings of all that is trained on digits, in one place, and how a model is made and trained for so many minutes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.code import Sources, fingerprint, state
from benchmarks.papers.srvp.clips import CONDITIONING, SHOWN
from benchmarks.papers.srvp.convlstm import ConvLSTM
from numpy.typing import NDArray

import timelike as tl
from timelike.forecast import Forecaster, Mean, Persistence

BASELINES = ("black", "persistence", "mean picture", "nearest past", "analog, k = 50")
NEIGHBOURS = {"nearest past": 1, "analog, k = 50": 50}
REACH = 20  # frames that follow each window in which pasts are looked up
QUICK = 2  # steps of a training that only shows that a program runs
_ENDLESS = 10_000_000  # steps: the clock ends a training

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
    "codec": "sprites",
}
SEPARATION: dict[str, Any] = _DIGITS | {
    "n_content": 64,
    "n_state": 20,
    "filters": 16,
    "hidden": 128,
    "dynamics_hidden": 128,
    "learning_rate": 2e-3,
    "output": "sigmoid",
    "renewed": False,
}
CONVLSTM: dict[str, Any] = {"conditioning": CONDITIONING, "batch_size": 32}

TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "SRVP": ("SRVP", SRVP),
    "SRVP, DCGAN": ("SRVP", SRVP | {"codec": "dcgan"}),
    "SRVP, two substeps": ("SRVP", SRVP | {"substeps": 2}),
    "SRVP, MLP": ("SRVP", SRVP | {"motion": "perceptron"}),
    "SRVP, GRU": ("SRVP", SRVP | {"motion": "gru"}),
    "SRVP, without z": ("SRVP", SRVP | {"n_random": 0}),
    "SRVP, without w": ("SRVP", SRVP | {"n_content": 0}),
    "Separation": ("Separation", SEPARATION),
    "Separation, without w": ("Separation", SEPARATION | {"content": False}),
    "Separation, without autoencoding": ("Separation", SEPARATION | {"autoencoding": 0.0}),
    "Separation, without invariance": ("Separation", SEPARATION | {"invariance": 0.0}),
    "Separation, without smallness": ("Separation", SEPARATION | {"smallness": 0.0}),
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
    made: dict[str, Forecaster] = {
        "persistence": Persistence(),
        "mean picture": Mean(),
    }
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
    return ("ConvLSTM", CANDIDATES[setting]) if setting is not None else TRAINED[name]


def trained(
    kind: str,
    options: dict[str, Any],
    clips: Callable[[Any], Any],
    minutes: float,
    seed: int,
    folder: Path,
    quick: bool,
) -> tuple[Any, dict[str, float]]:
    """A model after so many minutes by the clock, with the seconds of the processor and the steps that it took.

    The folder keeps it: a training that was broken off goes on there, and one that is at its end is taken as it is, by
    whatever program asks for the same.
    """
    limits: dict[str, Any] = {"max_steps": QUICK if quick else _ENDLESS, "random_state": seed}
    if not quick:
        limits["max_time"] = 60 * minutes
    place = folder / f"{kind}-{_word(options | limits)}-{_code()}"
    model = (ConvLSTM if kind == "ConvLSTM" else getattr(tl, kind))(**options, **limits, checkpoint=place)
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(clips)
    share = (time.process_time() - processor) / (time.perf_counter() - clock)
    return model, _told(place, {"steps": model.history_.n_steps, "share": share, "clock": model.history_.seconds})


def _told(place: Path, found: dict[str, float]) -> dict[str, float]:
    """What a training took: written where it was trained, for those who take it as it is."""
    note = place / "took.json"
    if note.exists() and (held := json.loads(note.read_text("utf-8")))["steps"] == found["steps"]:
        found = held
    else:
        note.write_text(json.dumps(found), encoding="utf-8")
    return {"training steps": found["steps"], "processor seconds": found["share"] * found["clock"]}


def futures(model: Any, past: Any, horizon: int, n_samples: int, seed: int, **how: Any) -> Any:
    """Futures (sample, clip, step, *frame): one of methods that have only one."""
    if isinstance(model, ConvLSTM):
        return model.predict(past, horizon)[None]
    if not isinstance(model, tl.SRVP):
        return np.asarray(model.predict(past, horizon, **how).mean)[None]
    found = model.predict(past, horizon, n_samples=n_samples, random_state=seed, **how)
    return np.asarray(found.mean)[None] if found.samples is None else np.asarray(found.samples)


def _word(options: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:12]


def _code() -> str:
    """A word for the code that decides what is learned: a model of other code is not taken for one of this."""
    learns = ("timelike.forecast.srvp", "timelike.forecast.separation", "timelike.forecast.codecs", "timelike.train")
    alone = {"timelike.forecast.latent", "timelike.forecast.chunks", "benchmarks.papers.srvp.convlstm"}
    answers = ".answering"
    texts = {
        name: fingerprint(*found)
        for name, found in Sources().texts("srvp").items()
        if (name.startswith(learns) and not name.endswith(answers)) or name in alone
    }
    return state(texts)

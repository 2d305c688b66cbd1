"""Forecasts of sea surface temperatures by the names of the table: each gives (start, step, latitude, longitude)."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.model_options import build_model
from benchmarks.papers.separation.sst_data import HORIZON, YEAR, Floats, Sea, surrounding

import timelike as tl
from timelike.forecast import DMD, Analog, Forecaster, Persistence, Ridge, SeasonalNaive

TEMPERATURES: dict[str, Forecaster] = {
    "Persistence of temperatures": Persistence(),
    "Seasonal naive": SeasonalNaive(YEAR),
}
ANOMALIES: dict[str, Forecaster] = {"Ridge": Ridge(lags=2), "Analog": Analog(window=2), "DMD": DMD()}
REGRESSIONS = ("Regression, surroundings", "Regression, surroundings and globe")
SIMPLE = ("Climatology", "Damped anomalies", "Damped anomalies, each cell", *REGRESSIONS, *TEMPERATURES, *ANOMALIES)

FIELDS: dict[str, Any] = {
    "codec": "dcgan",
    "maps": True,
    "offset": True,
    "conditioning": 2,
    "chunk": 2 + HORIZON,
    "filters": 8,
    "n_content": 8,
    "n_state": 8,
    "dynamics_hidden": 16,
    "batch_size": 8,
    "max_steps": 200,
}
CELLS: dict[str, Any] = {
    "conditioning": 1,
    "chunk": 1 + HORIZON,
    "offset": True,
    "batch_size": 512,
    "max_steps": 150,
    "hidden": 32,
    "layers": 1,
    "n_content": 4,
    "n_state": 4,
    "dynamics_hidden": 32,
}
LINEAR: dict[str, Any] = {"layers": 0, "decoder_layers": 0, "dynamics_hidden": 8}
CANDIDATES: dict[str, dict[str, Any]] = {
    "cells": CELLS,
    "cells, without w": CELLS | {"content": False},
    "cells, 500 steps": CELLS | {"max_steps": 500},
    "cells, linear codecs": CELLS | LINEAR,
    "cells, linear codecs, 500 steps": CELLS | LINEAR | {"max_steps": 500},
    "cells, linear codecs, without w": CELLS | LINEAR | {"content": False, "max_steps": 300},
    "cells, without w, 500 steps, decay": CELLS | {"content": False, "max_steps": 500, "weight_decay": 1.0},
    "cells, two frames": CELLS | {"conditioning": 2, "chunk": 2 + HORIZON},
    "fields": FIELDS,
}


def simple(name: str, sea: Sea) -> Floats:
    """A forecast of temperatures by a method that learns little."""
    usual = sea.after(sea.temperatures - sea.anomalies)
    if name in TEMPERATURES:
        return _fields(TEMPERATURES[name], sea.temperatures, sea)
    if name == "Climatology":
        return usual
    if name in ANOMALIES:
        return usual + _fields(ANOMALIES[name], sea.anomalies, sea)
    if name in REGRESSIONS:
        return usual + regressed(sea, globe=name.endswith("globe"))
    return usual + damped(sea, each=name.endswith("each cell"))


def damped(sea: Sea, *, each: bool) -> Floats:
    """The last anomaly times a coefficient of each step ahead, by least squares over all cells, or of each cell."""
    known, found = sea.anomalies[: sea.learned], []
    last = np.stack([sea.anomalies[start - 1] for start in sea.starts])
    for step in range(1, HORIZON + 1):
        before, later = known[:-step], known[step:]
        axis = 0 if each else None
        products, squares = np.nansum(before * later, axis=axis), np.nansum(before * before, axis=axis)
        found.append(last * (products / np.where(squares == 0, 1.0, squares)))
    return np.stack(found, axis=1)


def regressed(sea: Sea, *, globe: bool) -> Floats:
    """Damped anomalies with the mean of those around, and of the whole ocean, beside: linear, no constant.

    The cells of `Separation` see the anomaly and the mean of those around it: this is what a linear map makes of both.
    """
    inputs = [sea.anomalies, surrounding(sea.anomalies)]
    if globe:
        whole = np.nanmean(sea.anomalies, axis=(1, 2))[:, None, None]
        inputs.append(np.where(sea.ocean, whole, np.nan))
    columns = np.stack(inputs, axis=-1)[:, sea.ocean]
    found = np.full((len(sea.starts), HORIZON, *sea.ocean.shape), np.nan)
    for step in range(1, HORIZON + 1):
        before = columns[: sea.learned - step].reshape(-1, len(inputs))
        later = columns[step : sea.learned, :, 0].ravel()
        weights = np.linalg.lstsq(before, later, rcond=None)[0]
        for row, start in enumerate(sea.starts):
            found[row, step - 1][sea.ocean] = columns[start - 1] @ weights
    return found


def _fields(model: Forecaster, field: Floats, sea: Sea) -> Floats:
    """Whole maps as frames, land masked."""
    model.fit([field[: sea.learned, None]])
    pasts = tl.Sequences([field[:start, None] for start in sea.starts])
    return np.asarray(model.predict(pasts, HORIZON).mean[:, :, 0], np.float64)


def separated(setting: str, sea: Sea, seed: int, steps: int | None) -> Floats:
    """Temperatures by Separation of maps, or of cells."""
    options = CANDIDATES[setting] | ({} if steps is None else {"max_steps": steps})
    model = build_model("Separation", **options, random_state=seed, progress=False)
    usual = sea.after(sea.temperatures - sea.anomalies)
    if setting == "fields":
        return usual + _fields(model, sea.anomalies.astype(np.float32), sea)
    return usual + _cells(model, sea, options["conditioning"])


def _cells(model: Any, sea: Sea, window: int) -> Floats:
    """Every cell of the ocean is a sequence of two channels: its anomaly, and the mean of those around it."""
    both = np.stack([sea.anomalies, surrounding(sea.anomalies)], axis=-1)[:, sea.ocean].astype(np.float32)
    model.fit(np.swapaxes(both[: sea.learned], 0, 1))
    found = np.full((len(sea.starts), HORIZON, *sea.ocean.shape), np.nan)
    for row, start in enumerate(sea.starts):
        answer = model.predict(np.swapaxes(both[start - window : start], 0, 1), HORIZON).mean
        found[row][:, sea.ocean] = answer[:, :, 0].T
    return found

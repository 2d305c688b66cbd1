"""Forecasters: what every step of a short training loses, forecasts after it, and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

import timelike as tl
from benchmarks.model_options import build_model, build_preset
from benchmarks.numerics.probes.small_data import TRAINING, Outputs, pictures, summarize
from timelike.forecast import AR, DMD, Analog, Climatology, Mean, Persistence, Ridge, SeasonalNaive

_PAST, _AHEAD = 5, 6
_SMALL: dict[str, Any] = {"hidden": 8, "batch_size": 4, "conditioning": 3, "chunk": 8}


def srvp() -> Outputs:
    """SRVP with every codec, dynamics and experimental option that programs use: losses, bounds and futures."""
    sizes: dict[str, Any] = {"n_state": 4, "n_random": 2, "n_content": 3, "n_code": 5, "motion_hidden": 8}
    small = _SMALL | sizes | TRAINING
    on_series: dict[str, dict[str, Any]] = {
        "default": {},
        "perceptron": {"motion": "perceptron"},
        "GRU": {"motion": "gru"},
        "without z": {"n_random": 0},
        "without w": {"n_content": 0, "motion_penalty": 0.0, "gain": 0.2},
        "two substeps": {"substeps": 2, "gain": 0.8},
        "delays": {"delays": True, "delay_penalty": (5.0, 1.0)},
        "drift": {"drift": 0.1},
        "merged": {"invariance_weight": 1.0, "autoencoding_weight": 1.0},
    }
    series, found = _series(), Outputs()
    for name, more in on_series.items():
        model = build_model("SRVP", max_steps=3, **(small | more)).fit(series)
        found[f"{name}: losses"] = summarize(model.history_["loss"])
        found[f"{name}: bound"] = summarize(model.elbo(series[:2, :8], n_samples=2, random_state=0).elbo)
        futures = model.predict(series[:2, :_PAST], _AHEAD, n_samples=2, random_state=0)
        found[f"{name}: futures"] = summarize(np.asarray(futures.samples))
        if name == "two substeps":
            between = model.predict(
                series[:2, :_PAST], _AHEAD, n_samples=1, random_state=0, substeps=2, frames_per_step=2
            )
            found[f"{name}: half steps"] = summarize(np.asarray(between.samples))
    clips = pictures(4, 9)
    on_pictures: dict[str, dict[str, Any]] = {
        "DCGAN": {"output": "sigmoid"},
        "sprites": {"codec": "sprites", "output": "sigmoid"},
        "pictures, perceptron": {"codec": "perceptron", "n_content": 0, "motion_penalty": 0.0},
    }
    for name, more in on_pictures.items():
        model = build_model("SRVP", filters=2, max_steps=2, **(small | more)).fit(clips)
        found[f"{name}: losses"] = summarize(model.history_["loss"])
        futures = model.predict(clips[:2, :_PAST], 3, n_samples=1, random_state=0)
        found[f"{name}: futures"] = summarize(np.asarray(futures.samples))
        if name == "sprites":
            swapped = model.swap(clips[:2, :_PAST], clips[2:, :_PAST], 3, random_state=0)
            found[f"{name}: swap"] = summarize(np.asarray(swapped.mean))
    return found


def backtest() -> Outputs:
    """Scores of a backtest and their intervals, of several series and of a single one."""
    series, found = _series(), Outputs()
    for name, part in {"several": series, "one": series[:1]}.items():
        options: dict[str, Any] = {"n_windows": 4, "step": 1, "scores": ("mse",), "random_state": 0, "progress": False}
        score = tl.forecast.backtest(Persistence(), part, 2, **options).at_step(2)["mse"]
        found[name] = [score.mean, score.low, score.high]
    return found


def separation() -> Outputs:
    """Separation with every solver, codec and combination that programs use: losses, forecasts and swaps."""
    small = _SMALL | {"n_content": 3, "n_state": 4, "dynamics_hidden": 8} | TRAINING
    settings: dict[str, dict[str, Any]] = {
        "default": {},
        "product": {"combine": "multiply", "n_state": 3},
        "without w": {"content": False},
        "three blocks": {"blocks": 3},
        "GRU": {"solver": "gru"},
        "jitter": {"jitter": 0.2},
        "offset": {"offset": True, "conditioning": 1, "chunk": 5},
        "linear codecs": {"layers": 0, "decoder_layers": 0},
        "without autoencoding": {"autoencoding_weight": 0.0},
        "without invariance": {"invariance_weight": 0.0},
        "without smallness": {"state_penalty": 0.0},
        "decay": {"weight_decay": 1.0},
        "long past": {"conditioning": 6, "chunk": 10, "offset": True},
        "calendar": {"known_channels": [1]},
    }
    series, found = _series(), Outputs()
    for name, more in settings.items():
        model = build_model("Separation", max_steps=3, **(small | more)).fit(series)
        found[f"{name}: losses"] = summarize(model.history_["loss"])
        given: dict[str, Any] = {"known_covariates": series[:2, 6 : 6 + _AHEAD, 1:]} if name == "calendar" else {}
        found[f"{name}: forecast"] = summarize(np.asarray(model.predict(series[:2, :6], _AHEAD, **given).mean))
    model = build_model("Separation", max_steps=2, **small).fit(series)
    found["vectors"] = summarize(model.encode(series))
    found["swap"] = summarize(np.asarray(model.swap(series[:2, :_PAST], series[2:4, :_PAST], 4).mean))
    longest = build_model("Separation", max_steps=2, **(small | {"chunk": 34})).fit(_series(length=40))
    found["long chunk: losses"] = summarize(longest.history_["loss"])
    model = build_preset("Separation", "waves-100", scale=0.05, output="auto", max_steps=2, batch_size=4, **TRAINING)
    longer = _series(channels=10, length=30)
    found["waves-100: forecast"] = summarize(np.asarray(model.fit(longer).predict(longer[:2, :5], 4).mean))
    found["waves-100: losses"] = summarize(model.history_["loss"])
    clips = pictures(4, 9)
    on_pictures: dict[str, dict[str, Any]] = {
        "DCGAN": {"output": "sigmoid", "reencode": False},
        "maps": {"codec": "dcgan", "maps": True, "offset": True, "conditioning": 2, "chunk": 5},
    }
    for name, more in on_pictures.items():
        model = build_model("Separation", filters=2, max_steps=2, **(small | more)).fit(clips)
        found[f"{name}: losses"] = summarize(model.history_["loss"])
        found[f"{name}: forecast"] = summarize(np.asarray(model.predict(clips[:2, :_PAST], 3).mean))
    return found


def forecast_baselines() -> Outputs:
    """Forecasts that learn little."""
    series = _series(length=30)
    settings: dict[str, Any] = {
        "Persistence": Persistence(),
        "Mean": Mean(),
        "Ridge": Ridge(),
        "Ridge, lags": Ridge(lags=4),
        "Ridge, calendar": Ridge(known_channels=[1]),
        "AR": AR(),
        "Analog": Analog(),
        "nearest past": Analog(k=1, window=4, align="none"),
        "Analog, k = 3": Analog(k=3, window=4),
        "DMD": DMD(),
        "DMD, delays": DMD(delays=4),
        "SeasonalNaive": SeasonalNaive(5),
        "Climatology": Climatology(5),
    }
    found: Outputs = {}
    for name, model in settings.items():
        given: dict[str, Any] = (
            {"known_covariates": series[:2, 20 : 20 + _AHEAD, 1:]} if name == "Ridge, calendar" else {}
        )
        found[name] = summarize(np.asarray(model.fit(series).predict(series[:2, :20], _AHEAD, **given).mean))
    return found


def forecast_intervals() -> Outputs:
    """Intervals and quantiles after calibration, and what a backtest says of them."""
    series = _series(count=30, length=24)
    model = Ridge(lags=4).fit(series[:10])
    model.calibrate(series[10:20], horizon=_AHEAD)
    forecast = model.predict(series[20:, :12], _AHEAD)
    found = {
        "interval": summarize(np.stack([np.asarray(side) for side in forecast.interval(0.8)])),
        "quantile": summarize(np.asarray(forecast.quantile(0.9))),
    }
    tested = tl.forecast.backtest(model, tl.Sequences(series[20:]), _AHEAD, n_windows=2, level=0.8, random_state=0)
    scores = tested.mean_to_step()
    return found | {f"backtest: {name}": [one.mean, one.low, one.high] for name, one in sorted(scores.items())}


def _series(count: int = 6, length: int = 12, channels: int = 2) -> Any:
    """Noisy waves (item, time, channel)."""
    rng = np.random.default_rng(4)
    phase, speed = rng.uniform(0, 6, (count, 1, channels)), rng.uniform(0.3, 0.8, (count, 1, channels))
    return np.sin(speed * np.arange(length)[:, None] + phase) + 0.1 * rng.standard_normal((count, length, channels))

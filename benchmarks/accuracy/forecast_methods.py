"""Forecasters of sensor series by their names, and how they are judged: all calibrated on the same stretch of time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from benchmarks.accuracy.forecast_dlinear import DLinear
from benchmarks.accuracy.forecast_series import Floats, Plan, Series

import timelike as tl
from timelike import forecast as fc

CALENDAR = ", calendar"
LONGER = ", longer period"
LONG = "Separation, calendar, long past"
LEVEL = 0.8
QUANTILES = tuple(np.round(np.arange(0.05, 1.0, 0.05), 2).tolist())
CONTEXT = 1000  # steps before what is asked about that a method may see
PATIENCE = 36_000.0  # seconds: as many steps on a busy machine as on a quiet one
BASELINES = ("Persistence", "SeasonalNaive", "Climatology", "Ridge", "AR", "Analog", "DMD")


def named(plan: Plan, calendar: bool) -> list[str]:
    """The methods that a series can have, what the targets are about first."""
    names = ["SeasonalNaive", "Separation", "Ridge", "Persistence", "Climatology", "AR", "Analog", "DMD"]
    if plan.longer is not None:
        names += [f"SeasonalNaive{LONGER}", f"Climatology{LONGER}"]
    names += [f"Ridge{CALENDAR}", LONG] if calendar else ["Separation, long past"]
    return [*names, "DLinear"]


def made(name: str, plan: Plan, seed: int, steps: int | None, seconds: float) -> Any:
    """A forecaster at its defaults, but for what its name says; `seconds` are those of DLinear."""
    word = name.split(",", maxsplit=1)[0]
    period = plan.longer if name.endswith(LONGER) and plan.longer is not None else plan.period
    if word == "SeasonalNaive":
        return fc.SeasonalNaive(period)
    if word == "Climatology":
        return fc.Climatology(period)
    if word == "DLinear":
        return DLinear(lookback=plan.lookback, horizon=plan.horizon, seconds=seconds, random_state=seed)
    known = known_channels(name, plan)
    if word == "Separation":
        more: dict[str, Any] = {"random_state": seed, "progress": False, "max_time": PATIENCE}
        more |= {} if steps is None else {"max_steps": steps}
        if name.endswith("long past"):  # the state is read off the end of the window, and moved over the horizon only
            more |= {"conditioning": plan.lookback, "chunk": plan.lookback + plan.horizon, "offset": True}
        return tl.Separation(**more, known_channels=known)
    if known is not None:
        return fc.Ridge(known_channels=known)
    return getattr(fc, word)()


def known_channels(name: str, plan: Plan) -> list[int] | None:
    """Positions of the calendar behind the series; None where a method is not given it."""
    return list(range(1, 5)) if CALENDAR in name else None


def judged(name: str, series: Series, plan: Plan, seed: int, steps: int | None, seconds: float) -> dict[str, Any]:
    """Learn, calibrate, and forecast from every origin of the last part of the series."""
    calendar = CALENDAR in name
    model = made(name, plan, seed, steps, seconds)
    began = time.process_time()
    model.fit(series.training(calendar=calendar))
    trained = time.process_time() - began
    model.calibrate(series.calibration(model._min_past_steps(), calendar=calendar), horizon=plan.horizon)
    asked = series.asked(CONTEXT, calendar=calendar)
    scores = ("mse", "mae", "mase")
    given: dict[str, Any] = {"n_windows": series.n_windows(plan), "step": plan.step, "level": LEVEL, "random_state": 0}
    found = fc.backtest(model, asked, plan.horizon, scores=scores, **given)
    numbers: dict[str, Any] = {key: [one.mean, one.low, one.high] for key, one in found.mean_to_step().items()}
    numbers |= {"crps": quantile_crps(model, asked, found.origin, plan, calendar), "training seconds": trained}
    numbers |= {"n_windows": len(found.origin), "n_calibrated": len(model.calibration_.errors)}
    if hasattr(model, "history_"):
        numbers["steps"] = len(model.history_["loss"])
    return numbers


def quantile_crps(model: Any, asked: tl.Sequences, origins: Any, plan: Plan, calendar: bool) -> float:
    """Twice the mean pinball loss of the quantiles 0.05 … 0.95 after calibration: the CRPS, by its integral."""
    whole = asked[0]
    pasts = [whole[:origin] for origin in origins]
    clock = np.asarray(asked.times)
    times = [clock[:origin] for origin in origins]
    known = np.stack([whole[origin : origin + plan.horizon, 1:] for origin in origins]) if calendar else None
    found = model.predict(tl.Sequences(pasts, times=times), plan.horizon, known_covariates=known)
    truth = np.stack([whole[origin : origin + plan.horizon, :1] for origin in origins])
    return crps_of(truth, [np.asarray(found.quantile(q)) for q in QUANTILES])


def crps_of(truth: Floats, quantiles: list[Floats]) -> float:
    """Of quantiles (window, step, 1), one array for each of `QUANTILES`."""
    losses = [tl.score.pinball_loss(truth, one, q) for one, q in zip(quantiles, QUANTILES, strict=True)]
    return float(2 * np.mean(np.array(losses, np.float64)))

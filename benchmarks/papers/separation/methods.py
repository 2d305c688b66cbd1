"""Forecasters by the names that the tables of waves have for them, and settings among which a table chooses."""

from __future__ import annotations

from typing import Any

from benchmarks.model_options import build_model
from benchmarks.papers.results import Found, Rows, having
from benchmarks.papers.separation.data import CONDITIONING

import timelike as tl
from timelike.forecast import DMD, Analog, Forecaster, Persistence, Ridge

BASELINES = ("Persistence", "nearest past", "Analog", "Analog, k = 50", "Ridge", "DMD")
DEFAULT, CHOSEN, PRESET = "Separation", "Separation, chosen", "Separation, preset"
WITHOUT = ", without w"
HELD_OUT = "held out: "
PATIENCE = 36_000.0  # seconds
SCALE = 0.1  # of the thesis's network

CANDIDATES: dict[str, dict[str, Any]] = {  # beside the defaults
    "defaults": {},
    "product": {"combine": "multiply"},
    "three blocks": {"blocks": 3},
    "noise of 0.2 in training": {"jitter": 0.2},
    "small w and y": {"n_content": 8, "n_state": 8},
}
TRYING, LONG = 700, 4000  # steps of a candidate, and of what was chosen


def baseline(name: str) -> Forecaster:
    """Each sees as many frames as the networks do."""
    made: dict[str, Forecaster] = {
        "Persistence": Persistence(),
        "nearest past": Analog(k=1, window=CONDITIONING, align="none"),
        "Analog": Analog(window=CONDITIONING),
        "Analog, k = 50": Analog(k=50, window=CONDITIONING, align="none"),
        "Ridge": Ridge(lags=CONDITIONING),
        "DMD": DMD(delays=CONDITIONING),
    }
    return made[name]


def separation(name: str, seed: int, preset: str, steps: int | None, chosen: dict[str, Any], scale: float) -> Any:
    """A network by its name; `steps` where others than its own, `chosen` the settings that were."""
    # as many steps on a busy machine as on a quiet one: by default the clock may end a training after two minutes
    more: dict[str, Any] = {"random_state": seed, "progress": False, "max_time": PATIENCE}
    if name.endswith(WITHOUT):
        more |= {"content": False}
        name = name.removesuffix(WITHOUT)
    if steps is not None:
        more |= {"max_steps": steps}
    if name == PRESET:
        return tl.Separation.preset(preset, scale=scale, output="auto", **more)  # noise leaves [0, 1]
    settings = {DEFAULT: {}, CHOSEN: {"max_steps": LONG} | chosen, f"{DEFAULT}, product": {"combine": "multiply"}}
    if name.startswith(HELD_OUT):
        return build_model("Separation", **({"max_steps": TRYING} | CANDIDATES[name.removeprefix(HELD_OUT)] | more))
    return build_model("Separation", **(settings[name] | more))


def best(rows: Rows, version: str) -> str | None:
    """The candidate that was best on training sequences held out; None where none has been tried."""
    tried = {row["method"]: row for row in having(rows, dataset=version) if row["method"].startswith(HELD_OUT)}
    if not tried:
        return None
    return str(min(tried, key=lambda name: _judged(tried[name]))).removeprefix(HELD_OUT)


def _judged(row: Found) -> float:
    return float(row["all"])

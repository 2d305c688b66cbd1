"""statsforecast (Nixtla): AutoETS, AutoTheta and AutoARIMA, each in a process of its own.

It is that of the extra `bench`, or that of another environment, whose Python `--statsforecast` or
`$TIMELIKE_STATSFORECAST` names. A model is chosen and fitted once, on the last 700 steps of what ours learn from, and
goes on from every origin (`forward`) with the 700 steps before it. Its intervals are told twice: its own of 80 %, and
its point forecasts with errors of the same calibration windows as ours have.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.forecast_methods import LEVEL, QUANTILES, crps_of
from benchmarks.accuracy.forecast_series import Floats, Plan, Series

import timelike as tl
from timelike.forecast import ConformalCalibration

PEERS = ("AutoETS", "AutoTheta", "AutoARIMA")
SEEN, CALIBRATED = 700, 200  # steps, windows

SCRIPT = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np, statsforecast
from statsforecast import models
given, name = np.load(sys.argv[1]), sys.argv[2]
period, horizon = int(sys.argv[3]), int(sys.argv[4])
began = time.process_time()
model = getattr(models, name)(season_length=period)
model.fit(given["train"])
fitted = time.process_time() - began
found = {"mean": [], "lo-80": [], "hi-80": []}
for place in range(int(sys.argv[5])):
    said = model.forward(y=given[f"past{place}"], h=horizon, level=[80])
    for key in found:
        found[key].append(np.asarray(said[key], float))
np.savez(sys.argv[6], **{key: np.stack(rows) for key, rows in found.items()})
print(json.dumps({"version": statsforecast.__version__, "seconds": fitted}))
"""


def here() -> str | None:
    """This Python, where it has statsforecast."""
    return None if importlib.util.find_spec("statsforecast") is None else sys.executable


def lacks(python: Path | None) -> str:
    """Why the peer cannot be asked."""
    if python is None or not python.exists():
        return "statsforecast is not installed, and --statsforecast does not name the Python of an environment with it"
    return ""


def origins(series: Series, plan: Plan) -> tuple[list[int], list[int]]:
    """Where forecasts begin: evenly over the calibration, and as `backtest` has them in what is asked about."""
    first, second = series.cuts
    count = min(CALIBRATED, second - plan.horizon - first + 1)
    calibrated = np.unique(np.linspace(first, second - plan.horizon, count).round().astype(int))
    last = len(series.values) - plan.horizon
    asked = last - plan.step * np.arange(series.n_windows(plan))[::-1]
    return calibrated.tolist(), asked.tolist()


def judged(name: str, series: Series, plan: Plan, python: Path) -> dict[str, Any]:
    """What a peer says from the origins of ours, by our scores."""
    calibrated, asked = origins(series, plan)
    found, told = _forecasts(name, series, plan, python, [*calibrated, *asked])
    truth = np.stack([series.values[at : at + plan.horizon] for at in [*calibrated, *asked]])
    count = len(calibrated)
    mean, said = found["mean"][count:, :, None], truth[count:, :, None]
    errors = (truth - found["mean"])[:count, :, None]
    margins = ConformalCalibration(errors.astype(np.float32))
    band = [mean + margins.margin(q, plan.horizon) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    own = [found[key][count:, :, None] for key in ("lo-80", "hi-80")]
    pasts = [series.values[max(0, at - SEEN) : at, None] for at in asked]
    numbers: dict[str, Any] = {
        "mse": [float(tl.score.mse(said, mean))],
        "mae": [float(tl.score.mae(said, mean))],
        "mase": [float(tl.score.mase(said, mean, tl.Sequences(pasts)))],
        "crps": crps_of(said, [mean + margins.margin(q, plan.horizon) for q in QUANTILES]),
        "coverage": [float(tl.score.coverage(said, *band))],
        "width": [float(tl.score.interval_width(*band))],
        "own coverage": float(tl.score.coverage(said, *own)),
        "own width": float(tl.score.interval_width(*own)),
    }
    return numbers | told | {"n_windows": len(asked), "n_calibrated": count}


def _forecasts(
    name: str, series: Series, plan: Plan, python: Path, places: list[int]
) -> tuple[dict[str, Floats], dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        given, answers = (Path(folder) / file for file in ("given.npz", "answers.npz"))
        arrays: Any = {f"past{row}": series.values[max(0, at - SEEN) : at] for row, at in enumerate(places)}
        np.savez(given, train=series.values[max(0, series.cuts[0] - SEEN) : series.cuts[0]], **arrays)
        numbers = [str(one) for one in (plan.period, plan.horizon, len(places))]
        call = [str(python), "-c", SCRIPT, str(given), name, *numbers, str(answers)]
        done = subprocess.run(call, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout.strip().splitlines()[-1])
        with np.load(answers) as held:
            found = {key: np.asarray(held[key], np.float64) for key in held.files}
    return found, {"training seconds": float(said["seconds"]), "peer": f"statsforecast {said['version']}"}

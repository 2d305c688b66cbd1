"""One long series: forecasts by linear regression on representations and on raw values (table 3.2 of the thesis).

    python benchmarks/papers/tloss_long.py --data DIR --figures DIR
    python benchmarks/papers/tloss_long.py --budget 20                    # what 20 minutes suffice for
    python benchmarks/papers/tloss_long.py --quick --results /tmp/try.json

A household's electricity by the hour. An encoder learns from the first year (K = 10, batch 1, 400 steps, 30 channels;
80 outputs and a representation of 160: the appendix swaps them). For windows of a week and of a quarter, a linear map
predicts by how much the mean of the next period will exceed that of the window; its penalty is chosen on the last fifth
of the training windows. The thesis has minutes, days and quarters, and learns the map by gradient descent. Errors are
mean squares in units of the series' variance in the first year. The fitted encoder is kept in a scratch folder.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers.resumable import duration
from benchmarks.papers.tloss_figures import blank

import timelike as tl

RESULTS = Path("docs/benchmarks/tloss_long.json")
SCRATCH = Path(tempfile.gettempdir()) / "timelike-tloss"
YEAR, DAY = 8766, 24  # hours
WINDOWS = {"week": (7 * DAY, 6), "quarter": (12 * 7 * DAY, DAY)}  # hours, and hours between two windows
PENALTIES = 10.0 ** np.arange(-2, 7)
THESIS = {"day": ("8.92e-2", "8.92e-2", "12 s", "3 min"), "quarter": ("7.26e-2", "6.26e-2", "9 s", "1 h 40 min")}
Floats = NDArray[np.float64]


def hourly(data: Path) -> Floats:
    """Active power; what is missing is drawn as a line; mean 0 and deviation 1 in the first year."""
    path = data / "household_power.npz"
    if not path.exists():
        raise SystemExit(f"{path} is missing: --data DIR or TIMELIKE_DATA names the folder that holds it")
    with np.load(path) as held:
        power = held["hourly"][:, 0].astype(np.float64)
    known = np.isfinite(power)
    power = np.interp(np.arange(len(power)), np.flatnonzero(known), power[known])
    return np.asarray((power - power[:YEAR].mean()) / power[:YEAR].std())


class Clock:
    """What is left of the budget; every row says how long it will take, and is not begun if that is too long."""

    def __init__(self, minutes: float) -> None:
        self.end = time.perf_counter() + 60 * minutes

    def suffices(self, name: str, seconds: float) -> bool:
        """Whether there is time for it."""
        left = self.end - time.perf_counter()
        print(f"{name}: about {duration(seconds)}" + ("" if seconds <= left else ", not begun for lack of time"))
        return seconds <= left


def untrained(max_steps: int) -> tl.CausalEncoder:
    """The thesis's encoder for the household."""
    return tl.CausalEncoder(
        n_negatives=10,
        batch_size=1,
        max_steps=max_steps,
        channels=30,
        reduced=80,
        n_features=160,
        standardize=False,
        random_state=0,
        progress=True,
    )


def fitted(series: Floats, scratch: Path, quick: bool, clock: Clock) -> tuple[Any, float] | None:
    """The encoder of the first year and the seconds of its training, from the scratch folder if it is there."""
    folder, noted = scratch / "household-model", scratch / "household-seconds.txt"
    if not quick and folder.exists() and noted.exists():
        return tl.load_model(folder), float(noted.read_text())
    given, steps = series[None, : 300 if quick else YEAR, None].astype(np.float32), 2 if quick else 400
    began = time.perf_counter()
    untrained(2).fit(given)
    if not clock.suffices("training", steps * (time.perf_counter() - began) / 2):
        return None
    began = time.perf_counter()
    encoder = untrained(steps).fit(given)
    seconds = time.perf_counter() - began
    if not quick:
        scratch.mkdir(parents=True, exist_ok=True)
        encoder.save(folder)
        noted.write_text(str(seconds))
    return encoder, seconds


def targets(series: Floats, size: int, step: int) -> tuple[NDArray[np.int64], Floats]:
    """Where windows begin, and the mean of the period after each less its own."""
    sums = np.concatenate([[0.0], np.cumsum(series)])
    starts = np.arange(0, len(series) - 2 * size + 1, step)
    own, after = ((sums[starts + (i + 1) * size] - sums[starts + i * size]) / size for i in (0, 1))
    return starts, after - own


def regressed(inputs: Floats, wanted: Floats, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> dict[str, Any]:
    """Test error of a ridge regression and the seconds for choosing, fitting and applying it."""
    began = time.perf_counter()
    rows = np.flatnonzero(train)
    cut = int(0.8 * len(rows))
    tried = [error(inputs, wanted, rows[:cut], rows[cut:], penalty) for penalty in PENALTIES]
    penalty = float(PENALTIES[int(np.argmin(tried))])
    found = error(inputs, wanted, rows, np.flatnonzero(test), penalty)
    return {"error": found, "penalty": penalty, "seconds": time.perf_counter() - began, "inputs": inputs.shape[1]}


def error(inputs: Floats, wanted: Floats, fit_on: Any, judge_on: Any, penalty: float) -> float:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=penalty).fit(inputs[fit_on], wanted[fit_on])
    return float(np.mean((model.predict(inputs[judge_on]) - wanted[judge_on]) ** 2))


def compared(series: Floats, encoder: Any, size: int, step: int) -> dict[str, Any]:
    """Both kinds of input for one size of windows; what a window predicts lies wholly in its own part."""
    starts, wanted = targets(series, size, step)
    train, test = starts + 2 * size <= YEAR, starts >= YEAR
    began = time.perf_counter()
    vectors = encoder.encode(series[None, : len(series) - size, None].astype(np.float32), windows=(size, step))
    encoding = time.perf_counter() - began
    features = vectors.values[: len(starts)].astype(np.float64)
    spread = features[train].std(0)
    features = (features - features[train].mean(0)) / np.where(spread > 0, spread, 1)
    raw = np.lib.stride_tricks.sliding_window_view(series, size)[starts]
    return {
        "windows": [int(train.sum()), int(test.sum())],
        "no change": float(np.mean(wanted[test] ** 2)),
        "encoding": encoding,
        "representations": regressed(features, wanted, train, test),
        "raw": regressed(raw, wanted, train, test),
    }


def expected(series: Floats, encoder: Any, size: int, step: int) -> float:
    """Seconds that `compared` will take, from a few windows."""
    began = time.perf_counter()
    encoder.encode(series[None, : size + 19, None].astype(np.float32), windows=(size, 1))
    return (time.perf_counter() - began) / 20 * len(series) / step


def page(found: dict[str, Any]) -> str:
    lines = ["| windows | test windows | no change | error, representations | error, raw values |"]
    lines[0] += " regression, representations | regression, raw | encoding |"
    lines.append("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, one in found["windows"].items():
        ours, raw = one["representations"], one["raw"]
        cells = [name, str(one["windows"][1]), f"{one['no change']:.3g}", f"{ours['error']:.3g}", f"{raw['error']:.3g}"]
        cells += [f"{ours['seconds']:.2g} s", f"{raw['seconds']:.2g} s", duration(one["encoding"])]
        lines.append(f"| {' | '.join(cells)} |")
    theirs = [f"| {name} | {' | '.join(cells)} |" for name, cells in THESIS.items()]
    return f"""# One long series: a household's electricity

```console
python benchmarks/papers/tloss_long.py --data DIR
```

By the hour, {found["hours"]} hours; the encoder learned from the first {YEAR}, in {duration(found["training"])} on one
thread. A linear map predicts the mean of the next period less that of the window. Errors are mean squares on the hours
after the first year, in units of the first year's variance; `no change` predicts 0. Time of regression includes the
choice of its penalty.

{chr(10).join(lines)}

The thesis (minutes, a GPU; table 3.2), which these numbers share the shape of and not the scale:

| windows | error, representations | error, raw values | time, representations | time, raw |
|---|---:|---:|---:|---:|
{chr(10).join(theirs)}
"""


def draw(series: Floats, encoder: Any, path: Path) -> None:
    """Ten days of the second year, coloured by the cluster of the day that ends there."""
    from sklearn.cluster import KMeans

    shown = 10 * DAY
    part = series[YEAR - DAY + 1 : YEAR + 60 * DAY]
    vectors = encoder.encode(part[None, :, None].astype(np.float32), windows=(DAY, 1)).values
    of = KMeans(6, n_init=10, random_state=0).fit_predict(vectors)[:shown]
    figure, axes = blank(10, 3)
    hours = np.arange(shown)
    axes.plot(hours / DAY, series[YEAR : YEAR + shown], color="k", lw=1)
    for hour, cluster in zip(hours, of, strict=True):
        axes.axvspan(hour / DAY, (hour + 1) / DAY, color=f"C{cluster}", alpha=0.3, lw=0)
    axes.set(xlabel="day", ylabel="active power", title="clusters of the last 24 hours", xlim=(0, shown / DAY))
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="has household_power.npz")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; the page is written beside it")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="for the fitted encoder")
    parser.add_argument("--only", action="append", choices=list(WINDOWS))
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--figures", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="two steps of training, fewer windows: does it run?")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.quick and options.results == RESULTS:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    if options.data is None:
        raise SystemExit("no data: --data DIR or TIMELIKE_DATA names the folder that holds household_power.npz")
    series = hourly(Path(options.data))
    clock = Clock(options.budget)
    learned = fitted(series, options.scratch, options.quick, clock)
    if learned is None:
        return 0
    encoder, seconds = learned
    held = json.loads(options.results.read_text()) if options.results.exists() else {"windows": {}}
    found = held | {"hours": len(series), "training": seconds}
    for name in options.only or WINDOWS:
        size, step = WINDOWS[name][0], WINDOWS[name][1] * (20 if options.quick else 1)
        if name not in found["windows"]:
            if not clock.suffices(name, expected(series, encoder, size, step)):
                continue
            found["windows"][name] = compared(series, encoder, size, step)
            options.results.parent.mkdir(parents=True, exist_ok=True)
            options.results.write_text(json.dumps(found, indent=1) + "\n")
        print(name, found["windows"][name], flush=True)
    options.results.with_suffix(".md").write_text(page(found))
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
        draw(series, encoder, options.figures / "tloss_household.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())

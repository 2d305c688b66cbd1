"""How fast forecasters train, answer and are tested, beside what each would be without our part in it.

    python -m benchmarks.speed.forecast
    python -m benchmarks.speed.forecast --only refits --quick
    python -m benchmarks.speed.forecast --markdown benchmarks/results/forecast_speed.md
    python -m benchmarks.speed.forecast --part SRVP --markdown benchmarks/results/forecast_speed.md

The page has a part for Separation and baselines and one for SRVP; a part that is not run stays on it as it was. Rows of
SRVP are made in `srvp.py`.

A step of training is the loss of a batch, its gradients and the optimiser; the peer is the same step as plain torch:
autograd through every step of the dynamics, channels of pictures one after the other, and AdamW not fused. A refit is
fitting Ridge and asking it once. `Analog` stands beside a loop over all windows. Times are of the processor, of the
fastest of turns that alternate.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import date
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray

import timelike as tl
from benchmarks.model_options import build_model
from benchmarks.speed import srvp
from benchmarks.speed.table import (
    HEAD,
    Row,
    against,
    arguments,
    at_most,
    headline,
    load,
    read_rows,
    save,
    seconds,
    setting,
    shown,
    table,
)
from benchmarks.speed.timing import child, fastest, timed
from timelike.forecast import dynamics
from timelike.forecast.chunks import ChunkObjective
from timelike.forecast.codecs import convolutions

TURNS = 5
WORDS = """A step of training is the loss of a batch, its gradients and the optimiser, at the defaults of `Separation`;
the peer is the same step as plain torch: autograd through every step of the dynamics, channels of pictures one after
the other, and AdamW not fused. Frames are predicted in double precision, so that an item is the same to the last bit
alone and in a batch. `backtest(refit=True)` is counted in fits: `fit` and `predict` of one Ridge on all of the data.
With channels known in advance every step ahead sees other features, and each origin has a factorisation of its own.
`Analog` is asked 20 times; a loop over all windows is measured on 2,000 of the 100,000 and counted 50-fold."""

Job = Callable[[int], Iterator[Row]]


# --- Separation

CODECS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "perceptron, 12 channels": ((12,), {}),
    "perceptron, 100 channels": ((100,), {}),
    "dcgan, 32 × 32": ((1, 32, 32), {"codec": "dcgan"}),
    "dcgan, 64 × 64": ((1, 64, 64), {"codec": "dcgan"}),
    "vgg, 32 × 32": ((1, 32, 32), {"codec": "vgg"}),
    "vgg, 64 × 64": ((1, 64, 64), {"codec": "vgg"}),
    "resnet, 32 × 32": ((1, 32, 32), {"codec": "resnet"}),
    "resnet, 64 × 64": ((1, 64, 64), {"codec": "resnet"}),
    "dcgan with maps, 32 × 32": ((1, 32, 32), {"codec": "dcgan", "maps": True, "n_content": 8, "n_state": 8}),
}


def frames(n: int, length: int, frame: tuple[int, ...]) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((n, length, *frame), np.float32)


def plain() -> AbstractContextManager[Any]:
    """Training as torch alone would do it."""
    stack = ExitStack()
    stack.enter_context(mock.patch.object(dynamics, "can_unroll", return_value=False))
    stack.enter_context(mock.patch.object(convolutions, "uses_channels_last", return_value=False))
    return stack


def trainer(chunks: ChunkObjective, steps: int, *, fused: bool) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(chunks.module.parameters(), lr=1e-6, fused=fused)

    def train() -> None:
        drawn = chunks.batches(0, np.random.default_rng(0))
        with nullcontext() if fused else plain():
            for _ in range(steps):
                batch = next(drawn).match_module(chunks.module)
                optimizer.zero_grad()
                torch.autograd.backward(chunks.loss(batch)["loss"])  # type: ignore[index, arg-type]
                optimizer.step()

    return train


def codecs(turns: int) -> Iterator[Row]:
    for name, (frame, given) in CODECS.items():
        vectors = len(frame) == 1
        x = frames(200 if vectors else 20, 50 if vectors else 20, frame)
        chunk, batch, steps = (25, 64, 20) if vectors else (15, 16, 1)
        model = build_model(
            "Separation", max_steps=1, chunk=chunk, batch_size=batch, output="linear", random_state=0, **given
        )
        model.fit(x)
        chunks = model._make_chunk_objective(chunk, model._pack_frames(model._validate_sequences(x), "X"), None, None)
        took = fastest(
            turns if vectors else min(3, turns),
            plain=trainer(chunks, steps, fused=False),
            ours=trainer(chunks, steps, fused=True),
        )
        work = f"training of {name}, batch {batch}, chunks of {chunk}"
        yield against(work, "plain torch", took["plain"], took["ours"], None, lambda t, n=steps: f"{n / t:.3g} steps/s")  # type: ignore[misc]
        past, horizon = x[: 20 if vectors else 4], 100 if vectors else 20
        taken = fastest(min(3, turns), ours=partial(model.predict, past, horizon))["ours"]
        rate = f"{len(past) * horizon / taken:.3g} frames/s"
        yield Row(f"`predict` of {name}, {len(past)} pasts, {horizon} steps", "–", "–", rate, "–", "–", True)


def horizons(turns: int) -> Iterator[Row]:
    x = frames(50, 40, (12,))
    model = tl.Separation(max_steps=50, random_state=0).fit(x)
    took = {n: fastest(min(3, turns), ours=partial(model.predict, x[:8], n))["ours"] for n in (100, 1000, 10_000)}
    for less, more in ((100, 1000), (1000, 10_000)):
        work = f"`predict` of 8 pasts × 12 channels, {more:,} steps"
        yield at_most(work, f"10 × that of {less:,} steps", 10 * took[less], took[more], 1.2, seconds)


LONG = """
import sys
import numpy as np
import timelike as tl
from benchmarks.memory import peak_memory, reset_peak
x = np.random.default_rng(0).random((4, 20, 1, 64, 64), np.float32)
still = tl.forecast.StateDynamics(gain=0.01)  # hardly moves, and never blows up
model = tl.Separation(max_steps=1, dynamics=still, trainer=tl.Trainer(batch_size=4), random_state=0).fit(x)
model.predict(x[:1], 300)
reset_peak()
before = peak_memory()
found = model.predict(x[:1], int(sys.argv[1]))
print(peak_memory() - before, found.samples.nbytes)
"""


def memory(turns: int) -> Iterator[Row]:
    """What a long future needs beside itself, which no longer one needs more of."""
    beside = {}
    for horizon in (2000, 8000) if turns > 1 else (400, 800):
        peak, answer = map(int, child(LONG, horizon))
        beside[horizon] = (peak, answer)
    (short, (less, small)), (long, (more, large)) = beside.items()
    work = f"peak memory of {long:,} frames of 64 × 64 beyond that of {short:,}"
    said = lambda size: f"{size / 2**20:.0f} MB"  # noqa: E731
    yield at_most(work, "the frames that are more", large - small, more - less, 3.0, said)


# --- baselines


def analog(turns: int) -> Iterator[Row]:
    length, window, horizon, some = 100_000, 48, 24, 2000
    rng = np.random.default_rng(0)
    t = np.arange(length + window + horizon)[:, None]
    series = np.sin(0.11 * t + np.arange(3)) + np.sin(0.0173 * t) + 0.2 * rng.standard_normal((len(t), 3))
    asked = [
        series[start : start + window] + 0.1 * rng.standard_normal((window, 3)) for start in range(500, 20500, 1000)
    ]
    warped = tl.DTW(window=0.1)
    for name, metric, beside, apart in (
        ("Euclidean", tl.Euclidean(), "a loop of NumPy", lambda one, other: np.square(one - other).sum()),
        ("DTW, window 0.1", warped, "a loop of `distance`", warped.distance),
    ):
        few = asked if turns > 1 else asked[:2]

        def ours(metric: Any = metric, few: Any = few) -> Any:
            return tl.forecast.Analog(metric, k=1, window=window).fit([series]).predict(few, horizon)

        took = min(timed(ours).busy for _ in range(min(3, turns)))
        scale = series.std(axis=0)
        cut = [(series[start : start + window] / scale) for start in range(some)]

        def loop(apart: Any = apart, few: Any = few, cut: Any = cut, scale: Any = scale) -> int:
            return int(np.argmin([apart(few[0] / scale, one) for one in cut]))

        theirs = min(timed(loop).busy for _ in range(min(3, turns))) * length / some * len(few)
        work = f"`Analog` of {len(few)} pasts among {length:,} windows of {window} × 3, {name}, with its preparation"
        yield against(work, beside, theirs, took, 20.0)


SETTINGS: list[tuple[int, int, int, int, dict[str, Any]]] = [
    (10_000, 1, 48, 24, {}),
    (10_000, 1, 48, 24, {"alpha": 1.0}),
    (10_000, 6, 48, 24, {}),
    (10_000, 1, 168, 24, {"alpha": 1.0}),
    (3000, 8, 24, 24, {}),
    (3000, 8, 24, 24, {"alpha": 1.0}),
    (3000, 3, 24, 24, {"alpha": 1.0, "known_channels": [2]}),
    (800, 8, 48, 24, {"alpha": 1.0}),
]


def refits(turns: int) -> Iterator[Row]:
    for length, channels, lags, horizon, given in SETTINGS:
        rng = np.random.default_rng(0)
        t = np.arange(length)[:, None]
        x = tl.Sequences([np.sin(0.3 * t + np.arange(channels)) + 0.3 * rng.standard_normal((length, channels))])
        model = tl.forecast.Ridge(lags=lags, **given)
        known = np.zeros((1, horizon, 1)) if "known_channels" in given else None
        took = fastest(
            4 * turns,
            fit=lambda m=model, x=x, h=horizon, k=known: m.fit(x).predict(x, h, known_covariates=k),  # type: ignore[misc]
            ours=lambda m=model, x=x, h=horizon: tl.forecast.backtest(m, x, h, n_windows=100, refit=True),  # type: ignore[misc]
        )
        words = ", ".join(f"{name}={value}" for name, value in given.items()) or "alpha=None"
        work = f"`backtest(refit=True)` of Ridge, 100 windows, {length:,} × {channels}, {lags} lags, {words}"
        yield at_most(work, "one fit", took["fit"], took["ours"], 2.0)


def waves(turns: int) -> Iterator[Row]:
    n = 300 if turns > 1 else 10
    for border in ("fixed", "free"):
        began = time.perf_counter()
        tl.sequences.generate.waves(n=n, length=150, size=64, border=border, random_state=0)
        took = time.perf_counter() - began
        work = f'`generate.waves(border="{border}")`, {n} sequences of 150 × 64 × 64'
        yield at_most(work, "a minute", 60.0, took, 1.0, seconds)


class Part(NamedTuple):
    """A part of the page: what was done, in words, and its rows."""

    words: str
    jobs: dict[str, Job]


PARTS = {
    "Separation and baselines": Part(
        WORDS,
        {"codecs": codecs, "horizons": horizons, "memory": memory, "analog": analog, "refits": refits, "waves": waves},
    ),
    "SRVP": Part(
        srvp.WORDS,
        {
            "srvp-training": srvp.training,
            "srvp-agreement": srvp.agreement,
            "srvp-futures": srvp.futures,
            "srvp-memory": srvp.memory,
            "srvp-resolutions": srvp.resolutions,
        },
    ),
}
JOBS = {name: job for part in PARTS.values() for name, job in part.jobs.items()}
REPEAT = "How to repeat it"
COMMAND = "python -m benchmarks.speed.forecast --markdown benchmarks/results/forecast_speed.md"


def written(old: str, found: dict[str, list[Row]], threads: int) -> str:
    """The page, with new parts for those of which all rows were worked out, and the others as they were."""
    kept = dict(part.split("\n\n", 1) for part in old.split("\n## ")[1:])
    parts = []
    for name, (words, jobs) in PARTS.items():
        if all(job in found for job in jobs):
            machine = f"{setting('timelike', 'torch', 'numpy')}; {threads} thread(s) each; {load()}"
            begin = f"Measured on {date.today()}: {machine}.\nProcessor time of the fastest of turns that alternate."
            kept[name] = f"{table(row for job in jobs for row in found[job])}\n\n{begin} {words}"
        if name in kept:
            parts.append(f"## {name}\n\n{kept[name].strip()}")
    result = "\n".join(f"- {name}: {headline(read_rows(kept[name]))}" for name in PARTS if name in kept)
    repeat = f"## {REPEAT}\n\n```console\n{COMMAND}\n```"
    return "\n\n".join(["# Speed of forecasting", result, *parts, repeat]) + "\n"


def main() -> int:
    parser = arguments(__doc__, JOBS, quick="one turn, and less of everything")
    parser.add_argument("--part", choices=PARTS, help="all rows of one part of the page")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    turns = 1 if options.quick else TURNS
    print(HEAD)
    names = options.only or (PARTS[options.part].jobs if options.part else JOBS)
    found = {name: shown(JOBS[name](turns)) for name in names}
    rows = [row for some in found.values() for row in some]
    save(rows, options.rows)
    if options.markdown:
        old = options.markdown.read_text("utf-8") if options.markdown.exists() else ""
        options.markdown.write_text(written(old, found, options.threads), "utf-8")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

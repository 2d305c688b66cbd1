"""How fast SRVP trains and draws futures: rows of `benchmarks.speed.forecast`.

The peer in training is SRVP as one would write it down from the thesis (`srvp_plainly`), with the same weights and the
same sizes. Both normalise in training mode, ours over all frames of a batch, the peer over one frame at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

import timelike as tl
from benchmarks.model_options import build_model
from benchmarks.speed.srvp_plainly import Plain
from benchmarks.speed.table import Row, against, at_most, milliseconds, seconds
from benchmarks.speed.timing import child, fastest
from timelike.forecast.srvp.objective import SRVPObjective

WORDS = """A step of training is the loss of a batch, its gradients and the optimiser. The peer is SRVP as one would
write it down from chapter 4 and appendix B of the thesis, `benchmarks/speed/srvp_plainly.py`: a loop over frames that
encodes, one over steps with a cell of an LSTM, prior, posterior and a residual step, a frame drawn at a time, planes of
channels, Adam; its loss and gradients are ours, given the same weights and noise (`tests/benchmarks`, normalisations in
evaluation mode, as in training each sees a frame there and all frames here). Ours is at its defaults but for what a
row says; "mixed" is `Trainer(precision="bf16-mixed")`, what "auto" takes for pictures on such a processor. Convolutions
run at the speed of the processor in either program, about 80 billion operations a second in single precision and 145 in
mixed, so that single precision has little to gain. After a training losses differ by more than rounding, as they do
from seed to seed: three trainings show neither agreement nor harm. Futures are drawn in pieces of 32 frames, one thread
each, so that an item is the same to the last bit alone and in a batch."""


class Case(NamedTuple):
    """What is trained on: frames of a shape, options, and steps of a turn."""

    frame: tuple[int, ...]
    given: dict[str, Any]
    steps: int


CASES = {
    "perceptron, 12 channels, batch 64, chunks of 25": Case((12,), {}, 5),
    "dcgan, 32 × 32, batch 32, chunks of 15": Case((1, 32, 32), {"batch_size": 32, "chunk": 15}, 2),
    "dcgan, 32 × 32, batch 64, chunks of 25": Case((1, 32, 32), {}, 1),
    "dcgan, 64 × 64, batch 32, chunks of 15": Case((1, 64, 64), {"batch_size": 32, "chunk": 15}, 1),
    "vgg, 32 × 32, batch 32, chunks of 15": Case((1, 32, 32), {"codec": "vgg", "batch_size": 32, "chunk": 15}, 1),
}


def made(frame: tuple[int, ...], n: int = 64, **given: Any) -> tuple[tl.SRVP, NDArray[np.float32]]:
    x = np.random.default_rng(0).random((n, 25, *frame), np.float32)
    return build_model("SRVP", max_steps=1, random_state=0, progress=False, **given).fit(x), x


def evidence(model: tl.SRVP, x: NDArray[np.float32]) -> SRVPObjective:
    return model._make_chunk_objective(model.chunk_, model._pack_frames(model._validate_sequences(x), "X"), None, None)


def ours(chunks: SRVPObjective, steps: int, *, mixed: bool) -> Callable[[], None]:
    optimizer = chunks.optimizers()
    for group in optimizer.param_groups:
        group["lr"] = 1e-6

    def train() -> None:
        drawn = chunks.batches(0, np.random.default_rng(0))
        batch = next(drawn).match_module(chunks.module)
        for _ in range(steps):
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                loss = chunks.loss(batch)["loss"]
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()

    return train


def plain(chunks: SRVPObjective, steps: int) -> Callable[[], None]:
    network = chunks.module
    model = Plain(network).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)

    def train() -> None:
        batch = next(chunks.batches(0, np.random.default_rng(0))).match_module(network)
        x = batch["x"]
        for _ in range(steps):
            first = torch.randn(len(x), network.n_state)
            random = torch.randn(len(x), x.shape[1] - 1, network.n_random)
            loss = model.loss(x, batch["chosen"], chunks.beta, chunks.motion_penalty, first, random)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            optimizer.zero_grad()

    return train


def training(turns: int) -> Iterator[Row]:
    for name, (frame, given, steps) in CASES.items():
        model, x = made(frame, **given)
        chunks = evidence(model, x)
        chunks.module.train()
        took = fastest(
            turns,
            plain=plain(chunks, steps),
            single=ours(chunks, steps, mixed=False),
            mixed=ours(chunks, steps, mixed=True),
        )
        for kind in ("single", "mixed"):
            work = f"training of SRVP, {name}; {kind} precision"
            yield against(work, "written plainly", took["plain"], took[kind], 2.0, partial(rate, steps))


def rate(steps: int, time: float) -> str:
    return f"{steps / time:.3g} steps/s"


# --- mixed precision


def blobs(n: int, length: int) -> NDArray[np.float32]:
    """A bright spot that moves on a line and comes back at the other side, 32 × 32."""
    rng = np.random.default_rng(0)
    start, speed = rng.uniform(0, 32, (2, n, 1)), rng.uniform(-2, 2, (2, n, 1))
    row, column = ((start + speed * np.arange(length))[..., None] - np.arange(32) + 16) % 32 - 16
    bright = np.exp(-(row[..., :, None] ** 2 + column[..., None, :] ** 2) / 8)
    return np.asarray(bright[:, :, None], np.float32)


def agreement(turns: int) -> Iterator[Row]:
    """Losses in mixed precision beside those in single: with the same weights and noise, and after trainings."""
    x, (steps, seeds) = blobs(128, 15), (300, 3) if turns > 1 else (10, 2)
    given: dict[str, Any] = {"max_steps": steps, "batch_size": 32, "chunk": 15, "progress": False}
    trained = {
        how: [build_model("SRVP", precision=how, random_state=seed, **given).fit(x) for seed in range(seeds)]
        for how in ("32-true", "bf16-mixed")
    }
    chunks = evidence(trained["32-true"][0], x)
    batch, found = next(chunks.batches(0, np.random.default_rng(0))).match_module(chunks.module), []
    for half in (False, True):
        with torch.random.fork_rng(), torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=half):
            torch.manual_seed(0)
            found.append([float(chunks.loss(batch)["loss"])])
    work = "SRVP in mixed precision, dcgan, 32 × 32: "
    yield apart(f"{work}one loss, with the same weights and noise", found[0], found[1], most=0.01)
    losses = [[float(-one.elbo(x[:32], random_state=0).elbo.mean()) for one in some] for some in trained.values()]
    yield apart(f"{work}losses after {steps} steps of training in each, {seeds} seeds", losses[0], losses[1])


def apart(work: str, single: list[float], mixed: list[float], most: float | None = None) -> Row:
    """How far the means are from each other, of the first one."""
    difference = abs(np.mean(mixed) - np.mean(single)) / abs(np.mean(single))
    theirs, own = (", ".join(f"{one:.5g}" for one in some) for some in (single, mixed))
    bar, met = ("–", True) if most is None else (f"≤ {most:g}", bool(difference <= most))
    return Row(work, "single precision", theirs, own, f"{difference:.1e} apart", bar, met)


# --- futures


def futures(turns: int) -> Iterator[Row]:
    for name, frame in (("perceptron, 12 channels", (12,)), ("dcgan, 32 × 32", (1, 32, 32))):
        model, x = made(frame, 8, batch_size=4)
        many, past = 100 if turns > 1 else 10, x[:1, :5]

        def each(model: Any = model, past: Any = past, many: int = many) -> None:
            for _ in range(many):
                model.predict(past, 20, n_samples=1)

        took = fastest(min(3, turns), each=each, once=partial(model.predict, past, 20, n_samples=many))
        work = f"{many} futures of 20 frames of SRVP, {name}"
        yield against(work, f"{many} calls", took["each"], took["once"], 5.0)


MANY = """
import sys
import numpy as np
import timelike as tl
from benchmarks.memory import peak_memory, reset_peak
x = np.random.default_rng(0).random((20, 10, 1, 32, 32), np.float32)
model = tl.SRVP(max_steps=1, trainer=tl.Trainer(batch_size=4), random_state=0, progress=False).fit(x)
model.predict(x[:1], 20, n_samples=2)
reset_peak()
before = peak_memory()
found = model.predict(x[: int(sys.argv[1])], 20, n_samples=int(sys.argv[2]))
print(peak_memory() - before, found.samples.nbytes)
"""


def memory(turns: int) -> Iterator[Row]:
    """What many futures need beside themselves, which more of them need no more of."""
    for pasts, many in ((1, 4000), (20, 2000)) if turns > 1 else ((1, 2000),):
        (less, small), (more, large) = (map(int, child(MANY, pasts, n)) for n in (1000, many))
        work = f"futures of 20 frames of 32 × 32, {pasts} past(s)"
        said = (megabytes(small), megabytes(less), f"{less / small:.3g}×")
        yield Row(f"peak memory of 1,000 {work}", "themselves", *said, "–", True)
        work = f"peak memory of {many:,} {work}, beyond that of 1,000"
        yield at_most(work, "the frames that are more", large - small, more - less, 1.2, megabytes)


def megabytes(size: float) -> str:
    return f"{size / 2**20:.0f} MB"


def resolutions(turns: int) -> Iterator[Row]:
    """How time grows with pixels."""
    before: dict[str, float] = {}
    for side in (32, 64, 128) if turns > 1 else (16, 32):
        model, x = made((1, side, side), 16, batch_size=16, chunk=15)
        chunks = evidence(model, x)
        chunks.module.train()
        jobs: dict[str, Callable[[], Any]] = {
            "a step of training, batch 16, chunks of 15; single precision": ours(chunks, 1, mixed=False),
            "a step of training, batch 16, chunks of 15; mixed precision": ours(chunks, 1, mixed=True),
        }
        took = fastest(min(3, turns), **jobs)
        chunks.module.eval()
        drawing = partial(model.predict, x[:1, :5], 20, n_samples=100)
        took["100 futures of 20 frames"] = fastest(1, once=drawing)["once"]
        for name, time in took.items():
            said = milliseconds if time < 1 else seconds
            theirs, ratio = ("–", "–") if name not in before else (seconds(before[name]), f"{time / before[name]:.3g}×")
            beside = "–" if name not in before else f"{side // 2} × {side // 2}"
            yield Row(f"SRVP, dcgan, {side} × {side}: {name}", beside, theirs, said(time), ratio, "–", True)
        before = took

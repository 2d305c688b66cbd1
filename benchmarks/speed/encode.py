"""How fast the causal encoder trains and encodes, beside the layout of the original implementation in the same run.

    python -m benchmarks.speed.encode
    python -m benchmarks.speed.encode --only equal --quick
    python -m benchmarks.speed.encode --markdown docs/benchmarks/encode.md

The peer is the network as its authors wrote it, with torch's layers: `Conv1d` padded on both sides, what looks ahead
trimmed off, weight normalisation as a parametrisation. It is given the crops that ours draws and cuts within its time,
takes them in the original's order, and series of unequal lengths one by one, as the original does. Both take turns, so
that what else the machine does meets both; a time is the mean of the turns after one that does not count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import timelike as tl
from benchmarks.speed.padded_network import PaddedNetwork
from benchmarks.speed.table import HEAD, Row, against, arguments, at_most, load, page, setting, shown
from benchmarks.speed.timing import child, timed
from timelike.encode.tloss import Contrast
from timelike.train import Batch

K, BATCH = 10, 10
PEER = "padded on both sides and trimmed"


@dataclass(frozen=True)
class Effort:
    """How often things are timed."""

    turns: int = 8
    encoded: int = 100  # series
    long: int = 100_000  # steps of the long series


# --- one training step


def padded_step(network: PaddedNetwork, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    """The loss as the original computes it: anchors, positives, then one negative after another."""
    optimizer.zero_grad()
    anchor = network.each(batch["anchor"], batch["anchor_lengths"])
    positive = network.each(batch["positive"], batch["positive_lengths"])
    loss = -F.logsigmoid((anchor * positive).sum(1)).mean()
    for k in range(K):
        negative = network.each(batch["negative"][:, k], batch["negative_lengths"][:, k])
        loss = loss - F.logsigmoid(-(anchor * negative).sum(1)).mean() / K
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def our_step(objective: Contrast, optimizer: torch.optim.Optimizer, batch: Batch) -> float:
    optimizer.zero_grad()
    loss = objective.loss(batch)
    torch.autograd.backward(loss)
    optimizer.step()
    return float(loss.detach())


def contrast(series: tl.Sequences, network: tl.encode.CausalNetwork) -> Contrast:
    return Contrast(network, series, n_negatives=K, batch_size=BATCH, learning_rate=1e-3, by_terms=False)


def endless(objective: Contrast) -> Iterator[Batch]:
    rng = np.random.default_rng(0)
    while True:
        yield from objective.batches(0, rng)


# --- the kinds of series


def series(rng: np.random.Generator, lengths: list[int], n_channels: int) -> tl.Sequences:
    return tl.Sequences([rng.standard_normal((length, n_channels)).astype(np.float32) for length in lengths])


def kinds(many: int) -> dict[str, tuple[str, tl.Sequences, float | None]]:
    """What it is called, the series, and the bar."""
    rng = np.random.default_rng(0)
    ragged = rng.integers(10, 201, many).tolist()
    return {
        "equal": ("length 128 × 9 channels", series(rng, [128] * many, 9), 5.0),
        "long": ("length 2000, univariate", series(rng, [2000] * many, 1), None),
        "ragged": ("lengths 10 to 200, univariate", series(rng, ragged, 1), None),
    }


def compared(name: str, effort: Effort) -> list[Row]:
    """Training and encoding beside the peer, after a look that both compute the same."""
    said, given, bar = kinds(effort.encoded)[name]
    torch.manual_seed(0)
    encoder = tl.CausalEncoder(max_steps=1, standardize=False, random_state=0).fit(given)
    ours, theirs = encoder.network_, PaddedNetwork(given.frame[0] if given.frame else 1)
    theirs.take(ours)
    agree(encoder, theirs, given)
    training = training_row(said, given, bar, ours, theirs, effort)
    return [training, encoding_row(said, given, bar, encoder, theirs, effort)]


def agree(encoder: tl.CausalEncoder, theirs: PaddedNetwork, given: tl.Sequences) -> None:
    some = given[np.arange(4)]
    x, lengths = some.tensor()
    with torch.no_grad():
        expected = theirs.each(x.float(), lengths)
    torch.testing.assert_close(torch.from_numpy(encoder.encode(some)), expected, rtol=1e-3, atol=1e-4)


def training_row(
    said: str, given: tl.Sequences, bar: float | None, ours: Any, theirs: PaddedNetwork, effort: Effort
) -> Row:
    objective = contrast(given, ours)
    batches = endless(objective)
    adam, their_adam = objective.optimizers(), torch.optim.Adam(theirs.parameters(), lr=1e-3)
    spent = [0.0, 0.0]
    for turn in range(effort.turns + 1):
        cutting, _, batch = timed(lambda: next(batches))
        peer = timed(lambda: padded_step(theirs, their_adam, batch)).wall  # noqa: B023
        own = timed(lambda: our_step(objective, adam, batch)).wall  # noqa: B023
        if turn:
            spent = [spent[0] + peer, spent[1] + own + cutting]
    work = f"training, K = {K}, batch {BATCH}: {said}"
    return against(work, PEER, spent[0], spent[1], bar, said=lambda seconds: f"{effort.turns / seconds:.3g} steps/s")


def encoding_row(
    said: str, given: tl.Sequences, bar: float | None, encoder: tl.CausalEncoder, theirs: PaddedNetwork, effort: Effort
) -> Row:
    @torch.no_grad()
    def padded() -> None:
        for begin in range(0, len(given), BATCH):
            x, lengths = given[np.arange(begin, min(begin + BATCH, len(given)))].tensor()
            theirs.each(x.float(), lengths)

    spent = [0.0, 0.0]
    turns = max(1, effort.turns // 2)
    for turn in range(turns + 1):
        peer, own = timed(padded).wall, timed(lambda: encoder.encode(given)).wall
        if turn:
            spent = [spent[0] + peer, spent[1] + own]
    many = turns * len(given)
    return against(
        f"encoding: {said}", PEER, spent[0], spent[1], bar, said=lambda seconds: f"{many / seconds:.3g} series/s"
    )


# --- ours beside ours


def ragged_and_equal(effort: Effort) -> list[Row]:
    """Seconds per time step of a crop; equal lengths share one length in a batch, the others have one each."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(10, 201, effort.encoded).tolist()
    same = [round(float(np.mean(lengths)))] * len(lengths)
    sides = [contrast(series(rng, some, 1), tl.encode.CausalNetwork(1)) for some in (same, lengths)]
    flows = [endless(side) for side in sides]
    adams = [side.optimizers() for side in sides]
    spent, worked = [0.0, 0.0], [0, 0]
    for turn in range(8 * effort.turns + 1):
        for i in (0, 1):
            cutting, _, batch = timed(lambda: next(flows[i]))  # noqa: B023
            own = timed(lambda: our_step(sides[i], adams[i], batch)).wall  # noqa: B023
            if turn:
                spent[i] += cutting + own
                worked[i] += sum(int(batch[f"{name}_lengths"].sum()) for name in ("anchor", "positive", "negative"))
    equal, ragged = (1e6 * seconds / steps for seconds, steps in zip(spent, worked, strict=True))
    work = f"training on lengths 10 to 200 beside one length of {same[0]}, per time step of the crops"
    return [at_most(work, "ours, equal lengths", equal, ragged, 1.5, said=lambda number: f"{number:.3g} µs")]


MEMORY = """
import sys
import numpy as np, torch
from benchmarks.memory import peak_memory, reset_peak
import timelike as tl
import timelike.encode.tloss as contrast
from timelike.encode.tloss import Crops, Triplets
torch.set_num_threads(1)
length, k = int(sys.argv[1]), int(sys.argv[2])

def whole(sequences, ids, n_negatives, rng):
    # crops as long as the series: the most that a step can need
    side = lambda *shape: Crops(np.zeros(shape, np.int64), np.full(shape, length))
    return Triplets(side(1), side(1), side(1, n_negatives))

contrast.draw = whole
x = np.random.default_rng(0).standard_normal((1, length, 1)).astype(np.float32)
reset_peak()
tl.CausalEncoder(n_negatives=k, batch_size=1, max_steps=1, by_terms=True, random_state=0).fit(x)
print(peak_memory() / 2**20)
"""


def memory(effort: Effort) -> list[Row]:
    """The peak of a process that trains on one long series, every crop as long as the series."""
    few, many = (float(child(MEMORY, effort.long, k)[0]) for k in (1, 20))
    work = f"peak memory of training on one series of length {effort.long:,}: K = 20 beside K = 1"
    return [at_most(work, "ours, K = 1", few, many, 1.2, said=lambda number: f"{number:.0f} MB")]


JOBS: dict[str, Callable[[Effort], list[Row]]] = {
    "equal": lambda effort: compared("equal", effort),
    "long": lambda effort: compared("long", Effort(max(1, effort.turns // 3), effort.encoded // 5)),
    "ragged": lambda effort: compared("ragged", effort),
    "ragged-equal": ragged_and_equal,
    "memory": memory,
}


def main() -> int:
    options = arguments(__doc__, JOBS, quick="few turns and a shorter long series").parse_args()
    torch.set_num_threads(options.threads)
    effort = Effort(2, 20, 10_000) if options.quick else Effort()
    print(HEAD)
    rows = shown(row for name in options.only or JOBS for row in JOBS[name](effort))
    if options.markdown:
        command = "python -m benchmarks.speed.encode --markdown docs/benchmarks/encode.md"
        machine = setting("timelike", "torch", "numpy", kernels=False)
        words = f"""{machine}; float32, {options.threads} thread(s) each; {load()}. Mean of {effort.turns}
turns (fewer for encoding and length 2000) after one that does not count; the peer is given the crops that ours draws
within its own time, has the same weights, and is first seen to give the same representations."""
        options.markdown.write_text(page("Speed of the causal encoder", command, words, rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

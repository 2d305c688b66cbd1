"""TAP beside a loop over pairs, a convolution that the machine is good at, and soft-DTW."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import torch
from benchmarks.speed.random_walks import float_walks
from benchmarks.speed.table import Row, against, milliseconds
from benchmarks.speed.timing import best, timed
from torch import Tensor

from timelike.metric import AlignedFramesNetwork, AlignmentNetwork, TAPNetwork

TAP_FLOPS = 2 * (2 * 30 * 25 + 30 * 30 * 25 + 30 * 9)  # of the convolutions, for a pair of steps
SAMPLE = 256  # pairs of the loop


def one_by_one(network: TAPNetwork, x: Tensor, y: Tensor) -> Tensor:
    """One pair of transformed sequences (time, feature) by equation 3, as one would write it down."""
    distances = torch.cdist(x, y)
    steps = [torch.arange(1, len(side) + 1) / len(side) for side in (x, y)]
    g = torch.stack([distances, (steps[0][:, None] - steps[1]).abs()])[None]
    first, second, third = (layer for layer in network.scores.modules() if isinstance(layer, torch.nn.Conv2d))
    g = third(torch.relu(second(torch.relu(first(g)))))[0, 0]
    attention = torch.softmax(-(distances + g), -1)
    return (attention / attention.sum() * distances).sum()


@cache
@torch.no_grad()
def tap_times() -> tuple[float, float, float]:
    """Seconds for all pairs, for a loop over `SAMPLE` of them, and for a convolution; in turn, on the same machine."""
    torch.manual_seed(0)
    network, x, y = TAPNetwork(20).eval(), float_walks(0, 128, 40, 20), float_walks(1, 128, 40, 20)
    lengths = torch.full((128,), 40)
    sides = network.features(x, lengths), network.features(y, lengths)
    convolution, images = torch.nn.Conv2d(32, 32, 5, padding=2), torch.rand(36, 32, 40, 40)
    images = images.to(memory_format=torch.channels_last)
    pairs = [(i % 128, (7 * i) % 128) for i in range(SAMPLE)]

    def loop() -> list[Tensor]:
        return [one_by_one(network, sides[0].values[i], sides[1].values[j]) for i, j in pairs]

    def ours() -> Tensor:
        return network.distance_matrix(network.features(x, lengths), network.features(y, lengths))

    found = network.distance_matrix(*(side.take(slice(0, 12)) for side in sides))  # what comes first does not count
    for i in range(12):
        one = one_by_one(network, sides[0].values[i], sides[1].values[11 - i])
        torch.testing.assert_close(one, found[i, 11 - i], rtol=1e-4, atol=1e-5)
    times = [(timed(ours).wall, timed(loop).wall, best(lambda: convolution(images), 3)) for _ in range(2)]
    all_pairs, sample, peak = map(min, zip(*times, strict=True))
    return all_pairs, sample, peak


TAP_WORK = "TAP all pairs, 128 × 128 pairs of length 40"


def tap_loop() -> Row:
    ours, loop, _ = tap_times()
    name = f"a loop over pairs of transformed sequences in torch, extrapolated from {SAMPLE}"
    return against(TAP_WORK, name, loop / SAMPLE * 128 * 128, ours, 1.6)


def tap_peak() -> Row:
    ours, _, peak = tap_times()
    rates = 2 * 36 * 1600 * 32 * 32 * 25 / peak / 1e9, 128 * 128 * 1600 * TAP_FLOPS / ours / 1e9
    name = "one convolution of torch, 32 by 32 channels, 5 × 5; both as many operations as a plain convolution has"
    share = f"{rates[1] / rates[0]:.0%} of it"
    return Row(TAP_WORK, name, f"{rates[0]:.3g} GFLOP/s", f"{rates[1]:.3g} GFLOP/s", share, "–", True)


@torch.no_grad()
def inference(steps: int) -> Row:
    torch.manual_seed(0)
    count, channels = (16, 20) if steps < 100 else (2, 20)
    x, y = float_walks(0, count, steps, channels), float_walks(1, count, steps, channels)
    lengths = torch.full((count,), steps)
    networks = AlignedFramesNetwork(channels, aligner="softdtw", transform=False), TAPNetwork(channels, transform=False)

    def run(network: AlignmentNetwork) -> Tensor:
        return network.distance_matrix(network.features(x, lengths), network.features(y, lengths))

    theirs, ours = (best(partial(run, network.eval()), 3) / count**2 for network in networks)
    work = f"TAP inference, a pair of length {steps} and {channels} channels, no network for frames"
    return against(work, "SoftDTW inference", theirs, ours, None, said=milliseconds)


JOBS: dict[str, Callable[[], Row]] = {
    "tap-loop": tap_loop,
    "tap-peak": tap_peak,
    "tap-40": partial(inference, 40),
    "tap-500": partial(inference, 500),
}

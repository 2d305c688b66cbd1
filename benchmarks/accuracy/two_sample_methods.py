"""Tests that are asked whether sequences have changed, each at its defaults, and frozen encoders they stand on.

`raw` is an RBF kernel of flattened sequences, `statistics` one of plain statistics, `Rocket` one of its features, and
`default` the larger of the latter two, as `TwoSample` has it without a kernel. `CausalEncoder` and `T-Loss` are RBF
kernels of vectors by encoders that learned from what is held out (defaults, and the training of the paper), and never
from what is tested; `aggregated` has five widths of both default kernels. Those encoders are frozen, so that their
vectors are made once for all repetitions of a row: this is what `of(encoder, RBF())` compares. Whatever a test takes
from the sample itself, it takes from that of the repetition: widths, what `Rocket` fits, and the standardization of the
statistics.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy.two_sample_changes import EQUAL, Drawn
from benchmarks.accuracy.two_sample_null import SCALES
from benchmarks.accuracy.two_sample_peers import PEERS, Pair, Peer
from numpy.typing import NDArray

import timelike as tl
from timelike import distributions as ds

PERMUTATIONS = 199
TRAINED: dict[str, Callable[[], Any]] = {
    "CausalEncoder": lambda: tl.CausalEncoder(random_state=0),
    "T-Loss": lambda: tl.CausalEncoder.preset("thesis", random_state=0),
}
QUICK: dict[str, Any] = {"max_steps": 2, "channels": 4, "depth": 2, "n_features": 8}
OWN = (
    "default",
    "Rocket",
    "CausalEncoder",
    "T-Loss",
    "DTW",
    "GlobalAlignment",
    "raw",
    "statistics",
    "aggregated",
    "classifier",
)
ON_VECTORS = ("raw", "CausalEncoder")  # what peers are given, too
METHODS = (*OWN, *(f"{peer}, {vectors}" for peer in PEERS for vectors in ON_VECTORS))
NEEDS_GROUPS = ("apart", "paired")


def possible(method: str, dataset: str, groups: str) -> bool:
    """Flattened sequences need one length, and peers know no groups."""
    if method.endswith("raw") and dataset not in EQUAL:
        return False
    return method in OWN or groups not in NEEDS_GROUPS


def trained(name: str, held_out: tl.Sequences, folder: Path, quick: bool = False) -> Any:
    """The encoder that learned from what is held out: once, and kept in a folder."""
    if quick:
        return tl.CausalEncoder(**QUICK, random_state=0).fit(held_out[:20])
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = folder.with_name(f"{folder.name} {os.getpid()}")
        TRAINED[name]().fit(held_out).save(part)
        part.rename(folder)  # nobody sees half of it
    return tl.load_model(folder)


def asking(method: str, seed: int) -> Any:
    """One of ours, by its name; those on trained encoders are given vectors."""
    options: dict[str, Any] = {"n_permutations": PERMUTATIONS, "random_state": seed}
    if method == "classifier":
        return ds.ClassifierTest(**options)
    if method == "aggregated":
        return ds.TwoSample(scales=SCALES, **options)
    kernels: dict[str, Callable[[], Any]] = {
        "default": lambda: None,
        "Rocket": lambda: ds.EncoderKernel(tl.Rocket(n_features=2000, random_state=0), ds.RBF()),
        "CausalEncoder": ds.RBF,
        "T-Loss": ds.RBF,
        "DTW": lambda: ds.ExponentialKernel("dtw"),
        "GlobalAlignment": ds.GlobalAlignment,
        "raw": ds.RBF,
        "statistics": lambda: ds.EncoderKernel(tl.encode.StatisticsEncoder(), ds.RBF()),
    }
    return ds.TwoSample(kernels[method](), **options)


def flat(samples: list[Drawn], encoder: Any) -> list[Pair]:
    """Samples as vectors (item, feature): those of an encoder as it compares them, or where there is none raw ones."""
    if encoder is None:
        raw = [[np.stack([one.ravel() for one in side]).astype(np.float64) for side in pair[:2]] for pair in samples]
        return [(x, y) for x, y in raw]
    every: dict[bytes, NDArray[Any]] = {}  # most are in many repetitions
    keys = [[[one.tobytes() for one in side] for side in pair[:2]] for pair in samples]
    for pair, known in zip(samples, keys, strict=True):
        for side, names in zip(pair[:2], known, strict=True):
            every.update(zip(names, side, strict=True))
    vectors = np.asarray(encoder._precompute_items(tl.Sequences(list(every.values())), 1), np.float64)
    place = {key: at for at, key in enumerate(every)}
    return [(vectors[[place[key] for key in x]], vectors[[place[key] for key in y]]) for x, y in keys]


def p_values(method: str, samples: list[Drawn], encoder: Any, peer: Peer | None = None) -> list[float]:
    """Of every repetition."""
    if method in OWN:
        pairs = flat(samples, encoder) if method in TRAINED else [(one.x, one.y) for one in samples]
        found = (asking(method, seed).test(*pair, groups=samples[seed].groups) for seed, pair in enumerate(pairs))
        return [float(one.p_value) for one in found]
    assert peer is not None
    name, vectors = method.split(", ")
    given = flat(samples, None if vectors == "raw" else encoder)
    return [found.p_value for found in peer.tested(name, given, PERMUTATIONS)]

"""Samples without a difference, and the kernels and designs that must keep their level on them.

Vectors have 3 features, sequences 16 steps of one channel. Whatever a null sample is made of is drawn anew in every
repetition, also how large its groups are: exchanging whole groups is exact where groups *with their sizes* are
exchangeable. `sizes by side` breaks just this, small groups in X and large ones in Y, and `groups ignored` the rule
that groups change sides as wholes; both are measured, and nothing is promised of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from timelike import distributions as ds

N, FEATURES, STEPS = 20, 3, 16  # items of a side, of a vector, of a sequence
PERMUTATIONS = 199
GROUPS, PAIRS = 5, 10  # of a side; on both sides
SPREAD = 3.0  # of the groups' means, where items of a group have deviation 1
LEVELS = (0.05, 0.01)
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)

Sample = Any  # an array (item, feature) or Sequences
Grouped = tuple[Sample, Sample, Any]  # X, Y and the `groups` of a test


# --- samples


def vectors(rng: np.random.Generator, means: NDArray[Any]) -> NDArray[np.float64]:
    """An item of deviation 1 around every mean."""
    return np.asarray(means[:, None] + rng.standard_normal((len(means), FEATURES)))


def sequences(rng: np.random.Generator, means: NDArray[Any], kind: int = 0) -> tl.Sequences:
    """Noisy waves, slow (0) or fast (1), whose frequency and level depend on the mean."""
    t = np.arange(STEPS)
    phase = rng.uniform(0, 2 * np.pi, (len(means), 1))
    rate = (0.4 if kind == 0 else 2.5) * np.exp(0.05 * means[:, None])
    waves = np.sin(rate * t + phase) + 0.2 * means[:, None] + 0.3 * rng.standard_normal((len(means), STEPS))
    return tl.Sequences(waves[:, :, None])


def tied(rng: np.random.Generator, count: int, of_sequences: bool) -> Sample:
    """Items many of which are equal: small counts, or one of four sequences."""
    if not of_sequences:
        return rng.poisson(0.7, (count, 2)).astype(float)
    known = np.random.default_rng(0).integers(-1, 2, (4, STEPS, 1)).astype(float)
    return tl.Sequences(known[rng.integers(0, 4, count)])


def null(design: str, rng: np.random.Generator, of_sequences: bool) -> Grouped:
    """Two samples without a difference, by the name of a design."""
    if design == "ties":
        return tied(rng, N, of_sequences), tied(rng, N, of_sequences), None
    make = sequences if of_sequences else vectors
    if design in ("groups", "groups ignored", "sizes by side"):
        return _apart(rng, make, by_side=design == "sizes by side", ignored=design == "groups ignored")
    if design == "paired groups":
        return _paired(rng, make)
    return make(rng, np.zeros(N)), make(rng, np.zeros(N)), None


def _apart(rng: np.random.Generator, make: Callable[..., Sample], *, by_side: bool, ignored: bool) -> Grouped:
    """Groups of one side only, of 2 to 6 items each."""
    sizes = rng.integers(2, 7, (2, GROUPS))
    if by_side:
        sizes = np.array([[2] * GROUPS, [8] * GROUPS])
    means = SPREAD * rng.standard_normal((2, GROUPS))
    names = [np.repeat(np.arange(GROUPS) + side * GROUPS, sizes[side]) for side in (0, 1)]
    x, y = (make(rng, np.repeat(means[side], sizes[side])) for side in (0, 1))
    return x, y, False if ignored else tuple(names)


def _paired(rng: np.random.Generator, make: Callable[..., Sample]) -> Grouped:
    """Groups that are on both sides, with 1 to 3 items on each."""
    sizes = rng.integers(1, 4, (2, PAIRS))
    means = SPREAD * rng.standard_normal(PAIRS)
    names = tuple(np.repeat(np.arange(PAIRS), some) for some in sizes)
    x, y = (make(rng, np.repeat(means, some)) for some in sizes)
    return x, y, names


def separated(rng: np.random.Generator, of_sequences: bool) -> tuple[Sample, Sample]:
    """Two samples that no permutation separates as well."""
    if of_sequences:
        return sequences(rng, np.zeros(N), 0), sequences(rng, np.full(N, 20.0), 1)
    return vectors(rng, np.zeros(N)), vectors(rng, np.full(N, 20.0))


# --- kernels


@cache
def learned() -> Any:
    """Prototypes of slow and fast waves, which learned from other sequences than any test has."""
    rng = np.random.default_rng(12345)
    both = [sequences(rng, rng.standard_normal(40), kind) for kind in (0, 1)]
    x, y = tl.Sequences([one for some in both for one in some]), np.repeat([0, 1], 40)
    return tl.Prototypes(similarity_fn="learned", max_steps=50, random_state=0).fit(x, y)


VECTORS: dict[str, Callable[[], Any]] = {
    "RBF": ds.RBF,
    "Laplace": ds.Laplacian,
    "Matern 0.5": lambda: ds.Matern(smoothness=0.5),
    "Matern 1.5": ds.Matern,
    "Matern 2.5": lambda: ds.Matern(smoothness=2.5),
    "RationalQuadratic": ds.RationalQuadratic,
    "Linear": ds.Linear,
    "Polynomial": ds.Polynomial,
    "NegativeDistance": ds.NegativeDistance,
    "Sum": lambda: ds.RBF() + ds.Linear(),
    "Product": lambda: ds.RBF() * ds.Polynomial(degree=2),
    "Scaled": lambda: 2.0 * ds.Laplacian(),
}
OF_SEQUENCES: dict[str, Callable[[int], Any]] = {
    "Exponential": lambda seed: ds.ExponentialKernel("dtw"),
    "GlobalAlignment": lambda seed: ds.GlobalAlignment(),
    "of(Rocket)": lambda seed: ds.EncoderKernel(tl.Rocket(n_features=500, random_state=seed), ds.RBF()),
    "of(CausalEncoder)": lambda seed: ds.EncoderKernel(small_encoder(seed), ds.RBF()),
    "Learned": lambda seed: ds.PrototypesKernel(learned()),
}
EVERY = ("items", "groups", "paired groups", "ties", "smallest p")
FURTHER = {
    "aggregated": ("RBF", "Laplace", "NegativeDistance and RBF", "Exponential"),
    "aggregated groups": ("RBF",),
    "aggregated ties": ("RBF",),
    "stop_above": ("RBF", "Exponential"),
    "biased": ("RBF",),
    "groups ignored": ("RBF",),
    "sizes by side": ("RBF", "Linear"),
}
CLASSIFIER = "ClassifierTest"
UNPROMISED = ("groups ignored", "sizes by side")
EXACT = ("items", "stop_above", "biased")  # ties have probability 0: the level is reached, not only kept


def small_encoder(seed: int) -> tl.CausalEncoder:
    return tl.CausalEncoder(n_features=8, channels=4, depth=2, reduced_size=8, max_steps=3, random_state=seed)


def designs() -> list[tuple[str, str]]:
    """Every kernel in every design it is tried in."""
    kernels = [*VECTORS, *OF_SEQUENCES, CLASSIFIER]
    every = [(kernel, design) for design in EVERY for kernel in kernels if (kernel, design) != (CLASSIFIER, EVERY[-1])]
    return [*every, *((kernel, design) for design, some in FURTHER.items() for kernel in some)]


def asking(kernel: str, design: str, seed: int) -> Any:
    """The test that a row is about."""
    if kernel == CLASSIFIER:
        return ds.ClassifierTest(n_permutations=PERMUTATIONS, random_state=seed)
    options: dict[str, Any] = {"n_permutations": PERMUTATIONS, "random_state": seed}
    if design.startswith("aggregated"):
        if kernel == "NegativeDistance and RBF":
            return ds.TwoSample([ds.NegativeDistance(), ds.RBF()], **options)
        options["scales"] = SCALES
    if design == "stop_above":
        options["stop_above"] = LEVELS[0]
    if design == "biased":
        options["estimator"] = "biased"
    made = VECTORS[kernel]() if kernel in VECTORS else OF_SEQUENCES[kernel](seed)
    return ds.TwoSample(made, **options)


def p_values(kernel: str, design: str, repetitions: int) -> NDArray[np.float64]:
    """Of so many null samples; of separated ones where the smallest p is asked for."""
    of_sequences, found = kernel in OF_SEQUENCES, list[float]()
    drawn_by = crc32(f"{kernel}/{design}".encode())  # other samples in every row: rows are independent of each other
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, drawn_by])
        if design == "smallest p":
            x, y, groups = *separated(rng, of_sequences), None
        else:
            x, y, groups = null(design.removeprefix("aggregated ") or design, rng, of_sequences)
        found.append(asking(kernel, design, seed + drawn_by).test(x, y, groups=groups).p_value)
    return np.array(found)


def bound(level: float, n_permutations: int = PERMUTATIONS) -> float:
    """The probability of p ≤ level where no two allocations have the same statistic; with ties it is at most this.

    >>> bound(0.05, 199), round(bound(0.05, 50), 4)
    (0.05, 0.0392)
    """
    return int(np.floor(level * (n_permutations + 1) + 1e-9)) / (n_permutations + 1)

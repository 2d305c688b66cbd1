"""`differences`: the size of a difference between two samples, and its sequences and channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ... import score
from ...core.parameters import check_int
from ...core.random import MAX_RESAMPLES, RandomState, check_random_state, spawn_kernel_rng
from ...plotting import html
from ...score.intervals import Interval
from ...sequences import Sequences
from ..discrepancy.mmd import estimate_mmd, mean_similarities
from ..kernels.base import Kernel, Matrix, as_kernel, default_kernel, format_kernel
from ..validation import pool_samples, to_sequences
from .estimator import TwoSample
from .permutations import ExchangeableUnits, group_size_notes
from .result import TestResult
from .samples import subsample_pair, validate_samples
from .statistic import statistic_from_matrix

Floats = NDArray[np.float64]
MAX_LISTED = 10  # sequences that are listed
MAX_CHANNELS = 64  # channels that are tested one by one
_FENCE_RANGES = 3.0  # quartile ranges below the lower quartile: Tukey's outer fence
_N_NULL_PERMUTATIONS = 199  # permutations behind the spread of an effect


@dataclass(frozen=True)
class UnusualSequence:
    """A sequence that is unlike the other sample."""

    name: str
    position: int
    """In its sample, or its batch."""
    witness: float
    """Its mean similarity to the other sample less that to its own, without itself."""
    share: float
    """The fraction of the other sample, including this sequence, that is as unlike the rest of that sample."""
    batch: int | None = None
    """In a report of `Drift`."""


@dataclass(frozen=True)
class ChannelDifference:
    """The test result of one channel by itself."""

    name: str
    p_value: float
    """Corrected for the number of channels (Holm)."""
    effect: float
    """MMD² of this channel."""


@dataclass(frozen=True)
class Differences:
    """How two samples differ: how much, in which sequences of the second, and in which channels."""

    effect: Interval
    """MMD², with a 95 % interval: of different groups only, so unbiased, unless a sample has one group."""
    separation: float
    """The probability that the witness, without the sequence in question, distinguishes one of the second sample from
    one of the first: 1 if all differ, ½ (and not less) if nothing does."""
    sequences: tuple[UnusualSequence, ...]
    """The sequences of the second sample that are most unlike the first, in descending order."""
    outliers: tuple[UnusualSequence, ...]
    """Sequences of the second sample far less like the first than any of the first: perhaps faulty, not drift."""
    channels: tuple[ChannelDifference, ...]
    """The most changed first; empty if there is a single channel, or too many."""
    sizes: tuple[int, int]
    kernel: str
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The lines of a text summary."""
        lines = [
            f"told apart {self.separation:.0%} of the time (half is chance), MMD² {self.effect.mean:.4g} "
            f"[{self.effect.low:.4g}, {self.effect.high:.4g}]",
            "most unlike: " + ", ".join(f"{one.name} ({one.witness:.3g})" for one in self.sequences[:5]),
        ]
        if self.outliers:
            lines.append("unlike anything before: " + ", ".join(one.name for one in self.outliers[:5]))
        if self.channels:
            channels = ", ".join(f"{one.name} (p = {one.p_value:.3g})" for one in self.channels[:5])
            lines.append(f"channels, the most changed first: {channels}")
        return [*lines, *(f"Note: {note}." for note in self.notes)]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        facts = [
            ("effect, MMD²", f"{self.effect.mean:.4g} [{self.effect.low:.4g}, {self.effect.high:.4g}]"),
            ("sequences told apart", f"{self.separation:.0%} (half is chance)"),
            ("compared", f"{self.sizes[0]} and {self.sizes[1]}"),
            ("kernel", self.kernel),
        ]
        rows = [[one.name, one.witness, f"{one.share:.0%}"] for one in self.sequences]
        unusual = html.table(["most unlike", "witness", "of the first sample as unlike"], rows)
        broken = [html.paragraph("Unlike anything before: " + ", ".join(one.name for one in self.outliers))]
        channels = html.table(["channel", "p (Holm)", "MMD²"], [[c.name, c.p_value, c.effect] for c in self.channels])
        notes = [html.paragraph(f"Note: {note}.") for note in self.notes]
        return html.join_html(
            html.fact_table("What differs", facts),
            unusual,
            *(broken if self.outliers else []),
            *([channels] if self.channels else []),
            *notes,
        )


def differences(
    X: Any,
    Y: Any,
    kernel: Any = None,
    *,
    groups: Any = None,
    n_permutations: int = 999,
    random_state: RandomState = None,
) -> Differences:
    """Explain a difference between two collections: its size, the sequences of Y most unlike X, and the channels.

    Use it after a test: it assumes a difference, and lists the most unlike sequences of Y even if nothing differs. The
    p-values of channels are exact and corrected for the number of channels; each tests one channel by itself, so
    differences in the relation between channels appear in none of them. More than 4096 sequences are subsampled, so
    that the matrix of all pairs stays small.

    Parameters
    ----------
    X, Y, kernel, groups
        As in `TwoSample` and its `test`. Channels are tested with the same kernel, or with the default one if the
        kernel was fitted to all channels together.
    n_permutations : int
        For each channel.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import differences
    >>> rng = np.random.default_rng(1)
    >>> X, Y = rng.standard_normal((2, 30, 20, 2))
    >>> Y[:, :, 1] *= 3
    >>> result = differences(X, Y, random_state=0)
    >>> [(one.name, one.p_value) for one in result.channels if one.p_value < 0.05]
    [('channel 1', 0.002)]
    """
    chosen = None if kernel is None else as_kernel(kernel)
    check_int(n_permutations, "n_permutations", 19, MAX_RESAMPLES)
    X, Y, units = validate_samples(X, Y, None if chosen is None else chosen.domain, groups)
    X, Y = to_sequences(X), to_sequences(Y)  # sequences have names of channels and items
    rng = check_random_state(random_state)
    Y = Y if Y.ids is not None else Y.replace(ids=[f"Y[{i}]" for i in range(len(Y))])
    learning = spawn_kernel_rng(rng)
    X, Y, units, y_positions = subsample_pair(X, Y, units, rng)
    both = pool_samples((X, Y))
    ready, matrix = (chosen or default_kernel((X, Y))).center_on(both).resolve_with_matrix(both, learning)
    channel_names = list(X.channel_names or Y.channel_names or _default_channel_names(X.frame[0]))
    test = channel_test(chosen, n_permutations, int(rng.integers(2**31)))
    assert Y.ids is not None
    result = explain_differences((X, Y), matrix, units, ready, Y.ids.astype(str).tolist(), channel_names, test)
    return restore_positions(result, y_positions)


def restore_positions(result: Differences, y_positions: NDArray[np.int64]) -> Differences:
    """With the positions of items in the second sample before subsampling."""

    def with_original_positions(some: tuple[UnusualSequence, ...]) -> tuple[UnusualSequence, ...]:
        return tuple(replace(one, position=int(y_positions[one.position])) for one in some)

    return replace(
        result, sequences=with_original_positions(result.sequences), outliers=with_original_positions(result.outliers)
    )


def channel_test(kernel: Kernel | None, n_permutations: int, seed: int) -> TwoSample:
    """The test of single channels: with the kernel, unless it was fitted to all channels together."""
    fit = kernel is not None and not kernel.has_fitted_part
    return TwoSample(kernel if fit else None, n_permutations=n_permutations, random_state=seed)


def explain_differences(
    samples: tuple[Sequences, Sequences],
    matrix: Matrix,
    units: ExchangeableUnits,
    kernel: Kernel,
    names: Sequence[str],
    channel_names: Sequence[str],
    test: TwoSample,
) -> Differences:
    """The differences of two samples, from the matrix of both; `names` are of the items of the second."""
    n, m = map(len, samples)
    witness, typical, fraction, separation = _witness_scores(matrix, n, units.group_of)
    every = [UnusualSequence(str(names[i]), i, float(witness[n + i]), float(fraction[n + i])) for i in range(m)]
    far = [] if units.has_lone_unit else np.flatnonzero(typical[n:] < _outlier_fence(typical[:n])).tolist()
    outliers = sorted((every[i] for i in far), key=lambda one: typical[n + one.position])
    channels, notes = _test_channels(samples, units, channel_names, test)
    notes += group_size_notes(units)
    if units.has_lone_unit:
        notes.append(f"one sample has one of the {units.unit_name}, and how much these vary is unknown")
    return Differences(
        effect=_effect_interval(matrix, n, units),
        separation=separation,
        sequences=tuple(sorted(every, key=lambda one: one.witness)[:MAX_LISTED]),
        outliers=tuple(outliers[:MAX_LISTED]),
        channels=channels,
        sizes=(n, m),
        kernel=format_kernel(kernel),
        notes=tuple(notes),
    )


def _outlier_fence(typical: Floats) -> float:
    """The similarity to a sample below which an item is unlike all items of that sample.

    That is Tukey's outer fence, or, for similarities that cannot be negative, at least half of the smallest similarity,
    because the fence may lie below 0.
    """
    low, high = np.quantile(typical, [0.25, 0.75])
    least = float(typical.min())
    return float(min(least, max(low - _FENCE_RANGES * (high - low), least / 2 if least > 0 else -math.inf)))


def _witness_scores(matrix: Matrix, n: int, units: NDArray[np.int64]) -> tuple[Floats, Floats, Floats, float]:
    """For every item without itself: witness, similarity to the first sample, the fraction of it that is as untypical.

    Also the separation of the samples by the witness.
    """
    first, rest = mean_similarities(matrix, n, units)
    if len(matrix) == n + 1:
        # a sample of one item is empty without it: judge it by the other sample alone
        rest = np.zeros_like(rest)
    witness, typical = first - rest, np.sort(first[:n])
    fraction = (np.searchsorted(typical, first, side="right") + 1) / (n + 1)
    ours = np.sort(witness[:n])
    below, until = (np.searchsorted(ours, witness[n:], side=side) for side in ("left", "right"))
    # leaving an item out makes its own sample less like it, so equal samples may fall below a half
    return witness, first, np.minimum(fraction, 1.0), max(0.5, float(1 - ((below + until) / 2).mean() / n))


def _effect_interval(matrix: Matrix, n: int, units: ExchangeableUnits) -> Interval:
    """Unbiased MMD² and its 95 % interval: from the contributions of groups, and the spread of permutations.

    The first is the variance if distributions differ (Gretton et al., 2012), the second what remains if they do not.
    """
    whole_matrix = statistic_from_matrix(matrix, units)
    allocations = units.sample_allocations(_N_NULL_PERMUTATIONS, np.random.default_rng(0))
    value, *null = whole_matrix.statistics(units.items(np.concatenate([units.in_x[None], allocations]))).tolist()
    if units.has_lone_unit:  # a single unit does not show how much units vary
        return Interval(value, -np.inf, np.inf)
    freedom = len(units.unpaired) + len(units.pairs) - (1 if not len(units.unpaired) else 2)
    variance = estimate_mmd(matrix, n, units.group_of).variance + float(np.var(null))
    half = float(stdtrit(freedom, 0.975) * np.sqrt(variance))
    return Interval(value, value - half, value + half)


def _test_channels(
    samples: tuple[Sequences, Sequences], units: ExchangeableUnits, names: Sequence[str], test: TwoSample
) -> tuple[tuple[ChannelDifference, ...], list[str]]:
    """Test every channel by itself: results, the most changed first, and notes if channels are not tested."""
    frame = samples[0].frame
    if len(frame) > 1 or frame[0] == 1:
        return (), []
    if frame[0] > MAX_CHANNELS:
        return (), [f"there are {frame[0]} channels: single channels are tested only up to {MAX_CHANNELS}"]
    if min(map(len, samples)) < 2:
        return (), ["channels are compared once there are two sequences"]
    # without validation: whole samples were checked, and a single channel may be periodic, as a counter is
    results = [test._test_samples(_select_channel(samples, i), units) for i in range(frame[0])]
    p_values = score.holm_correction([result.p_value for result in results])
    channels = [
        ChannelDifference(str(name), float(p), _mean_mmd(result))
        for name, p, result in zip(names, p_values, results, strict=True)
    ]
    floors = {units.smallest_p: units.unit_name, 1 / (test.n_permutations + 1): "permutations"}
    least = min(1.0, len(channels) * max(floors))
    floor = f"of {len(channels)} channels none can have a p-value below {least:.2g}: too few {floors[max(floors)]}"
    return tuple(sorted(channels, key=lambda result: (result.p_value, -result.effect))), [floor] if least > 0.05 else []


def _mean_mmd(result: TestResult) -> float:
    """MMD²; for the default kernels, of which the test uses the larger, that of their mean."""
    return float(np.mean([part.statistic for part in result.parts])) if result.parts else result.statistic


def _select_channel(samples: tuple[Sequences, Sequences], channel: int) -> tuple[Sequences, Sequences]:
    first, second = (Sequences.from_packed(s.values[:, [channel]], s.offsets) for s in samples)
    return first, second


def _default_channel_names(n_channels: int) -> list[str]:
    return [f"channel {i}" for i in range(n_channels)]

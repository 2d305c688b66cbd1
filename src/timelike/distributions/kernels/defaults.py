"""The kernels that are taken where none is given."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...encode.rocket.estimator import Rocket
from ...encode.statistics.estimator import StatisticsEncoder
from ...sequences.container import Sequences
from .algebra import Sum
from .base import Kernel
from .encoder_kernel import EncoderKernel
from .radial import RBF

_MAX_STATISTICS_FRAME = (
    256  # numbers of a frame: of each there are some thirty statistics, and of images that would be too many
)


def default_kernels(samples: Sequence[Sequences]) -> tuple[Kernel, ...]:
    """What is compared unless a kernel is given: `RBF` of vectors; of sequences, by `Rocket` and by statistics.

    Convolutions see shapes and take no notice of levels; statistics see levels, spreads and paces. A test takes the
    larger of the two (`two_sample.max_statistic`, decision 0059).
    """
    if len(samples) > 0 and all(sample.shape[1] == 1 for sample in samples):
        return (RBF(),)
    shapes = EncoderKernel(Rocket(n_features=2000, random_state=0), RBF())
    wide = any(math.prod(sample.frame) > _MAX_STATISTICS_FRAME for sample in samples)
    return (shapes,) if wide else (shapes, EncoderKernel(StatisticsEncoder(), RBF()))


def default_kernel(samples: Sequence[Sequences]) -> Kernel:
    """The mean of `default_kernels`, where one kernel is needed: for an effect, a witness, how typical an item is."""
    parts = default_kernels(samples)
    return parts[0] if len(parts) == 1 else Sum(parts=tuple(1 / len(parts) * part for part in parts))

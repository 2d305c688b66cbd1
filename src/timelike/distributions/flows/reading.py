"""The start and the target of a flow as arrays, and particles given back as what they came as."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..kernels.base import Kernel
from ..kernels.learned import default_kernel
from ..samples import Over, is_tensor, plain, pooled, read_pair, refuse_no_vectors

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cloud:
    """The two samples of a flow: vectors (item, feature), or sequences (item, time, *frame), in double precision."""

    start: Floats
    real: Floats
    items: Sequences
    """The start as it was read."""
    given: Any
    """The start as it came."""
    target: Any
    """The real sample as it came."""
    both: Sequences
    """All items of the two, for what a kernel leaves open."""

    @property
    def vectors(self) -> bool:
        """Whether items are compared as vectors."""
        return self.start.ndim == 2

    def shown(self, items: Floats) -> Floats:
        """Items as they are drawn: series as lines, also where a kernel takes each for one vector."""
        frame, steps = self.items.frame, self.items.shape[1]
        return items.reshape(len(items), -1, *frame) if steps > 1 else items.reshape(len(items), -1)

    def back(self, particles: Floats) -> Any:
        """Particles as the start came: `Sequences` with the same labels and times, a tensor, or an array."""
        if isinstance(self.given, Sequences):
            return self.items._with_values(particles.reshape(self.items.values.shape).copy())
        if is_tensor(self.given):
            import torch

            found = torch.from_numpy(particles.reshape(tuple(self.given.shape)).copy())
            return found.to(self.given.device, self.given.dtype if self.given.is_floating_point() else found.dtype)
        return particles.reshape(np.shape(self.given)).copy()


def read_cloud(start: Any, real: Any, over: Over | None, name: str = "start") -> Cloud:
    """The door of a flow: two samples of one kind, of at least two items each, nothing missing."""
    start, real = (list(value) if hasattr(value, "__next__") else value for value in (start, real))
    samples = read_pair(start, real, over, (name, "real"), least=2)
    if over == "vectors":
        refuse_no_vectors((samples[0], name), (samples[1], "real"))
    arrays = [_block(sample, said, over) for sample, said in zip(samples, (name, "real"), strict=True)]
    return Cloud(arrays[0], arrays[1], samples[0], start, real, pooled([plain(sample) for sample in samples]))


def _block(sample: Sequences, name: str, over: Over | None) -> Floats:
    """A copy: particles are moved, and nobody's start with them."""
    sample.refuse_missing("a flow", name)
    if not sample.equal_length:
        raise ValueError(
            f"{name} has sequences of {sample.lengths.min()} to {sample.lengths.max()} steps: expected one length, as "
            "a flow moves numbers and adds none; use resample(length=...) first"
        )
    values = sample.values.reshape(sample.shape).astype(np.float64)
    as_vectors = over == "vectors" or (over is None and sample.shape[1] == 1)
    return np.array(values.reshape(len(sample), -1) if as_vectors else values, np.float64, order="C")


def kernel_of(discriminator: Any) -> Kernel | None:
    """The kernel of a discriminator; None where it has none."""
    kernel = getattr(discriminator, "kernel", None)
    return kernel if isinstance(kernel, Kernel) else None


def settled(discriminator: Any, cloud: Cloud) -> tuple[Any, Kernel]:
    """A discriminator whose kernel is decided once for the whole flow, and the kernel that MMD is measured by.

    A width that followed the particles would be another objective at every step, and none would be descended.
    """
    kernel = kernel_of(discriminator)
    if kernel is None:
        return discriminator, default_kernel([cloud.both]).ready(cloud.both)
    if not kernel.open:
        return discriminator, kernel
    ready = kernel.ready(cloud.both)
    return (replace(discriminator, kernel=ready) if is_dataclass(discriminator) else discriminator), ready  # type: ignore[type-var]

"""The start and the target of a flow as arrays, and particles given back as what they came as."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..kernels.base import Kernel
from ..kernels.defaults import default_kernel
from ..validation import Domain, drop_metadata, is_tensor, pool_samples, refuse_non_vectors, validate_pair

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FlowSamples:
    """The two samples of a flow: vectors (item, feature), or sequences (item, time, *frame), in double precision."""

    start: Floats
    real: Floats
    items: Sequences
    """The start as it was read."""
    start_input: Any
    """The start as it came."""
    real_input: Any
    """The real sample as it came."""
    pooled: Sequences
    """All items of the two, for what a kernel leaves open."""

    @property
    def is_vectors(self) -> bool:
        """Whether items are compared as vectors."""
        return self.start.ndim == 2

    def to_plot_shape(self, items: Floats) -> Floats:
        """Items as they are drawn: series as lines, also where a kernel takes each for one vector."""
        frame, steps = self.items.frame, self.items.shape[1]
        return items.reshape(len(items), -1, *frame) if steps > 1 else items.reshape(len(items), -1)

    def to_input_type(self, particles: Floats) -> Any:
        """Particles as the start came: `Sequences` with the same labels and times, a tensor, or an array."""
        if isinstance(self.start_input, Sequences):
            return self.items._with_values(particles.reshape(self.items.values.shape).copy())
        if is_tensor(self.start_input):
            import torch

            found = torch.from_numpy(particles.reshape(tuple(self.start_input.shape)).copy())
            return found.to(
                self.start_input.device, self.start_input.dtype if self.start_input.is_floating_point() else found.dtype
            )
        return particles.reshape(np.shape(self.start_input)).copy()


def validate_flow_samples(start: Any, real: Any, domain: Domain | None, name: str = "start") -> FlowSamples:
    """Validate the samples of a flow: of one kind, at least two items each, nothing missing."""
    start, real = (list(value) if hasattr(value, "__next__") else value for value in (start, real))
    samples = validate_pair(start, real, domain, (name, "real"), min_items=2)
    if domain == "vectors":
        refuse_non_vectors((samples[0], name), (samples[1], "real"))
    arrays = [_to_array(sample, said, domain) for sample, said in zip(samples, (name, "real"), strict=True)]
    return FlowSamples(
        arrays[0], arrays[1], samples[0], start, real, pool_samples([drop_metadata(sample) for sample in samples])
    )


def _to_array(sample: Sequences, name: str, domain: Domain | None) -> Floats:
    """A copy, so that moving the particles leaves the caller's array as it was."""
    sample.refuse_missing("a flow", name)
    if not sample.has_equal_lengths:
        raise ValueError(
            f"{name} has sequences of {sample.lengths.min()} to {sample.lengths.max()} steps: expected one length, as "
            "a flow moves numbers and adds none; use resample(length=...) first"
        )
    values = sample.values.reshape(sample.shape).astype(np.float64)
    as_vectors = domain == "vectors" or (domain is None and sample.shape[1] == 1)
    return np.array(values.reshape(len(sample), -1) if as_vectors else values, np.float64, order="C")


def discriminator_kernel(discriminator: Any) -> Kernel | None:
    """The kernel of a discriminator; None where it has none."""
    kernel = getattr(discriminator, "kernel", None)
    return kernel if isinstance(kernel, Kernel) else None


def resolve_discriminator(discriminator: Any, cloud: FlowSamples) -> tuple[Any, Kernel]:
    """A discriminator whose kernel is decided once for the whole flow, and the kernel that MMD is measured by.

    A width that followed the particles would be another objective at every step, and none would be descended.
    """
    kernel = discriminator_kernel(discriminator)
    if kernel is None:
        return discriminator, default_kernel([cloud.pooled]).resolve(cloud.pooled)
    if not kernel.has_open_options:
        return discriminator, kernel
    ready = kernel.resolve(cloud.pooled)
    return (replace(discriminator, kernel=ready) if is_dataclass(discriminator) else discriminator), ready  # type: ignore[type-var]

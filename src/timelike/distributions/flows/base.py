"""Code shared by flows and generators: samples as arrays, scores along the way, and `FlowRecord`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float, format_count
from ...plotting import html, particles as drawing
from ...sequences import Sequences
from ...train.history import History
from ..discrepancy.mmd import sample_mmd
from ..discrepancy.sinkhorn import point_divergence
from ..discriminators.base import CriticProblem, Discriminator
from ..kernels.base import Kernel, default_kernel
from ..validation import (
    Domain,
    Sample,
    drop_metadata,
    is_tensor,
    pool_samples,
    refuse_missing,
    refuse_non_vectors,
    to_sequences,
    validate_pair,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Score = Callable[[Floats], float]
BLUR, SCALING = 1e-3, 0.95  # of the Sinkhorn divergence, as in the thesis's tables
_BUILTIN_SCORES = ("sinkhorn", "mmd")
RESERVED_NAMES = ("cost", "move", "step", "seconds")  # tracks that a flow records itself


@dataclass(frozen=True)
class FlowSamples:
    """The two samples of a flow: vectors (item, feature), or sequences (item, time, *frame), in double precision."""

    start: Floats
    real: Floats
    start_sample: Sample
    """The validated start."""
    start_input: Any
    """The start as the caller gave it."""
    real_input: Any
    """The real sample as the caller gave it."""
    pooled: Sample
    """All items of both, which resolve the open options of a kernel."""

    @property
    def is_vectors(self) -> bool:
        """Whether items are compared as vectors."""
        return self.start.ndim == 2

    def to_sample(self, items: Floats) -> Sample:
        """Items as a kernel takes them: finite numbers in the shape of start or target, not validated again."""
        return items if self.is_vectors else Sequences(items)

    def make_problem(self, fake: Floats, real: Floats, kernel: Kernel | None) -> CriticProblem:
        """What a discriminator is trained on, from finite numbers.

        `fake` is copied: if both sides of a matrix product are one array, BLAS uses a routine that rounds differently.
        """
        return CriticProblem(self.to_sample(fake.copy()), self.to_sample(real), kernel)

    def to_plot_shape(self, items: Floats) -> Floats:
        """Items in the shape of plots: series as lines, even if the kernel treats each as one vector."""
        if isinstance(self.start_sample, Sequences) and self.start_sample.shape[1] > 1:
            return items.reshape(len(items), -1, *self.start_sample.frame)
        return items.reshape(len(items), -1)

    def to_input_type(self, particles: Floats) -> Any:
        """Particles in the type of the start: `Sequences` with the same labels and times, a tensor, or an array."""
        if isinstance(self.start_input, Sequences):
            return self.start_input._with_values(particles.reshape(self.start_input.values.shape).copy())
        if is_tensor(self.start_input):
            import torch

            tensor = torch.from_numpy(particles.reshape(tuple(self.start_input.shape)).copy())
            return tensor.to(
                self.start_input.device,
                self.start_input.dtype if self.start_input.is_floating_point() else tensor.dtype,
            )
        return particles.reshape(np.shape(self.start_input)).copy()


def validate_flow_samples(start: Any, real: Any, kernel: Kernel | None, name: str = "start") -> FlowSamples:
    """Validate the samples of a flow: of one kind, at least two items each, nothing missing, fit for the kernel."""
    start, real = (list(value) if hasattr(value, "__next__") else value for value in (start, real))
    domain = None if kernel is None else kernel.domain
    samples = validate_pair(start, real, domain, (name, "real"), min_items=2)
    if domain == "vectors":
        refuse_non_vectors((samples[0], name), (samples[1], "real"))
    arrays = _to_array(samples[0], name, domain), _to_array(samples[1], "real", domain)
    if kernel is not None:
        kernel._validate_sides((samples[0], name), (samples[1], "real"))
    if arrays[0].ndim == 2:
        pooled: Sample = np.concatenate(arrays)
    else:
        pooled = pool_samples([drop_metadata(to_sequences(sample)) for sample in samples])
    return FlowSamples(arrays[0], arrays[1], samples[0], start, real, pooled)


def _to_array(sample: Sample, name: str, domain: Domain | None) -> Floats:
    """A copy, so that moving the particles does not change the caller's array."""
    refuse_missing(sample, "a flow", name)
    if isinstance(sample, np.ndarray):
        return np.array(sample, np.float64, order="C")
    if not sample.has_equal_lengths:
        raise ValueError(
            f"{name} has sequences of {sample.lengths.min()} to {sample.lengths.max()} steps: expected one length, as "
            "a flow moves numbers and adds none; use resample(length=...) first"
        )
    values = sample.values.reshape(sample.shape).astype(np.float64)
    as_vectors = domain == "vectors" or (domain is None and sample.shape[1] == 1)
    return np.array(values.reshape(len(sample), -1) if as_vectors else values, np.float64, order="C")


def discriminator_kernel(discriminator: Any) -> Kernel | None:
    """The kernel of a discriminator, or None."""
    kernel = getattr(discriminator, "kernel", None)
    return kernel if isinstance(kernel, Kernel) else None


def takes_validated(discriminator: Any) -> bool:
    """Whether it is one of the library; one that defines `train_critic` itself is called through that."""
    return getattr(type(discriminator), "train_critic", None) is Discriminator.train_critic


def resolve_discriminator(discriminator: Any, samples: FlowSamples) -> tuple[Any, Kernel]:
    """A discriminator whose kernel is decided once for the whole flow, and the kernel that MMD is measured by.

    With a width that followed the particles, every step would descend a different objective.
    """
    kernel = discriminator_kernel(discriminator)
    if kernel is None:
        return discriminator, default_kernel([samples.pooled]).resolve(samples.pooled)
    if not kernel.has_open_options:
        return discriminator, kernel
    resolved = kernel.resolve(samples.pooled)
    if is_dataclass(discriminator):
        discriminator = replace(discriminator, kernel=resolved)  # type: ignore[type-var]
    return discriminator, resolved


# --- scores -----------------------------------------------------------------------------------------------------------


def resolve_scores(scores: Any, samples: FlowSamples, kernel: Kernel) -> dict[str, Score]:
    """Functions of particles, by name; None for the default scores of vectors or of sequences."""
    if scores is None:
        scores = _BUILTIN_SCORES if samples.is_vectors else ("mmd",)
    if isinstance(scores, Mapping):
        return {_check_name(name): _custom_score(name, score, samples) for name, score in scores.items()}
    if isinstance(scores, str):
        raise TypeError(f"scores={scores!r}: expected several, such as ({scores!r},)")
    return {word: _builtin_score(word, samples, kernel) for word in scores}


def _builtin_score(word: Any, samples: FlowSamples, kernel: Kernel) -> Score:
    if word == "mmd":
        real = samples.to_sample(samples.real)
        return lambda particles: sample_mmd(samples.to_sample(particles), real, kernel)
    if word != "sinkhorn":
        raise ValueError(f"scores has {word!r:.40}: expected 'sinkhorn' and 'mmd', or a dict of functions by name")
    if samples.start.shape[1:] != samples.real.shape[1:]:
        raise ValueError(
            f"scores has 'sinkhorn', which compares vectors: start has {samples.start.shape[1]} time steps and real "
            f"{samples.real.shape[1]}; leave it out, or resample(length=...) first"
        )
    target = samples.real.reshape(len(samples.real), -1)
    return lambda particles: point_divergence(particles.reshape(len(particles), -1), target, blur=BLUR, scaling=SCALING)


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or name in RESERVED_NAMES:
        raise ValueError(f"scores has the name {name!r:.40}: expected a word, and none of {', '.join(RESERVED_NAMES)}")
    return name


def _custom_score(name: str, score: Any, samples: FlowSamples) -> Score:
    if not callable(score):
        raise TypeError(f"scores[{name!r}] is a {type(score).__name__}: expected a function of (particles, real)")
    return lambda particles: check_float(
        _to_python(score(samples.to_input_type(particles), samples.real_input)), f"the value of scores[{name!r}]"
    )


def _to_python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


# --- the record -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class FlowRecord:
    """Items on their way to a target, recorded every few steps."""

    history: History
    frames: NDArray[np.float32]
    """The items every few steps, the first and the last among them, (moment, item, …)."""
    frame_steps: NDArray[np.int64]
    """The number of steps before each frame."""
    real: NDArray[np.float64]
    """The target, (item, …)."""
    score_names: tuple[str, ...]
    """The names of the scores in the history."""

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return self.history.n_steps

    def plot(self) -> Figure:
        """The items at four moments beside the target, and the scores over the steps.

        Vectors of more than two numbers are shown along the two directions in which the target varies most.
        """
        frame_ids = np.unique(np.linspace(0, len(self.frames) - 1, 4).round().astype(int))
        moments = {_moment_title(self.frame_steps[i]): self.frames[i] for i in frame_ids}
        curves = {name: (self.history.steps(name), self.history[name]) for name in self.score_names}
        return drawing.plot_particles(moments, self.real, curves)

    def animate(self, path: str | Path, *, rate: float = 8) -> Path:
        """The items on their way as a moving picture, .gif or .mp4, `rate` frames a second."""
        return drawing.animate_particles(
            self.frames, [_moment_title(step) for step in self.frame_steps], self.real, path, rate=rate
        )

    def _repr_html_(self) -> str:
        return html.figure_html(self.plot(), repr(self))

    def _summary_parts(self) -> list[str]:
        """Steps, scores and seconds, in words."""
        tracks = {name: self.history[name] for name in self.score_names}
        scores = [f"{name} {values[0]:.3g} → {values[-1]:.3g}" for name, values in tracks.items()]
        return [format_count(self.n_steps, "step"), *scores, f"{self.history.seconds:.3g} s"]


def _moment_title(step: int) -> str:
    return "start" if step == 0 else f"after {format_count(int(step), 'step')}"

"""Chunks: consecutive frames for training, cut from sequences or from a source that samples new ones."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..models import fingerprint
from ..sequences import Sequences
from ..train import Batch, Objective, Trainer, clock, shuffled_batches
from ..train.objective import FORWARD_SHARE
from ..train.optimizers import make_optimizer
from .windows import thin_evenly

N_STATISTICS_BATCHES = 20  # batches
STATISTICS_TIME_SHARE = 0.7  # fraction of the remaining time; comparisons of forecasts need the rest
_MAX_VALIDATION_CHUNKS = 256  # most chunks in a validation


class PackedFrames(NamedTuple):
    """Sequences as inputs of a network: packed `frames`, `known` channels (total_time, channel), and time spans.

    `spans` (total_time,) is the time since the previous step, in median steps; 1 without timestamps.
    """

    frames: Tensor
    known: Tensor | None
    spans: Tensor
    lengths: NDArray[np.int64]

    def chunk_starts(self, length: int) -> NDArray[np.int64]:
        """The packed steps at which chunks of `length` steps begin."""
        starts = np.cumsum(self.lengths) - self.lengths
        counts = np.maximum(0, self.lengths - length + 1)
        shift = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.asarray(np.repeat(starts, counts) + shift)

    def cut_chunks(self, places: NDArray[np.int64], length: int) -> dict[str, Tensor]:
        """Chunks at `places`: x (batch, length, *frame), spans (batch, length), known (batch, length, channel)."""
        rows = torch.from_numpy(places[:, None] + np.arange(length))
        chunks = {"x": self.frames[rows], "spans": self.spans[rows]}
        return chunks if self.known is None else chunks | {"known": self.known[rows]}


class ChunkObjective(Objective):
    """A loss over chunks of `length` steps, validated on chunks of held-out sequences."""

    higher_is_better = False
    item = "chunk"

    def __init__(
        self,
        network: nn.Module,
        packed_frames: PackedFrames,
        *,
        length: int,
        trainer: Trainer,
        held_out: PackedFrames | None = None,
        sample_more: Callable[[np.random.Generator], PackedFrames] | None = None,
    ) -> None:
        self.module, self.packed_frames, self.held_out, self.sample_more = network, packed_frames, held_out, sample_more
        assert trainer.batch_size is not None
        self.length, self.trainer, self.batch_size = length, trainer, trainer.batch_size

    @property
    def has_validation(self) -> bool:
        """Whether sequences are held out."""
        return self.held_out is not None

    @abstractmethod
    def _sample_extras(self, n_items: int, rng: np.random.Generator) -> dict[str, Any]:
        """Further random inputs of a batch, one row per chunk."""

    def optimizers(self) -> torch.optim.Optimizer:
        """The optimizer of the trainer."""
        return make_optimizer(self.module.parameters(), self.trainer, fused=True)

    def identity(self) -> dict[str, str | int]:
        """The training data and the settings that determine the batches."""
        material = self.packed_frames
        covariates = () if material.known is None else (material.known.numpy(),)
        data = fingerprint(material.lengths, material.frames.numpy(), material.spans.numpy(), *covariates)
        return {"sequences": data, "batch_size": self.batch_size, "length": self.length}

    def n_batches(self) -> float:
        """Batches of one pass over all chunks; a source may return more or fewer later."""
        return len(self.packed_frames.chunk_starts(self.length)) / self.batch_size

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every chunk once, in random order; with a source, chunks of newly sampled sequences."""
        material = self.packed_frames if self.sample_more is None or epoch == 0 else self.sample_more(rng)
        places = material.chunk_starts(self.length)
        if not len(places):
            raise ValueError(
                f"the source X returned at most {material.lengths.max()} time steps: expected {self.length}, the "
                "chunk length of its first result; return longer sequences, or set a shorter chunk"
            )
        for ids in shuffled_batches(len(places), self.batch_size, rng):
            yield self._batch(ids, material, places[ids], rng)

    def _batch(
        self, ids: NDArray[np.int64], material: PackedFrames, places: NDArray[np.int64], rng: np.random.Generator
    ) -> Batch:
        """Chunks at `places` with their random inputs and the seeds of their noise, see `noise_generator`."""
        chunks, extras = material.cut_chunks(places, self.length), self._sample_extras(len(ids), rng)
        return Batch(ids, **chunks, **extras, seed=rng.integers(2**62, size=len(ids)))

    def update_statistics(self) -> None:
        """Recompute the statistics of batch normalization: those of training belong to earlier weights.

        The network is left in evaluation mode, with unchanged weights.
        """
        layers = [layer for layer in self.module.modules() if isinstance(layer, nn.BatchNorm2d)]
        if not layers:
            return
        usual = [layer.momentum for layer in layers]
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum = None  # in torch: the mean over all batches
        self.module.train()
        with torch.no_grad():
            for batch in self.statistics_batches(self._statistics_time_share()):
                self.loss(batch.match_module(self.module))
        for layer, momentum in zip(layers, usual, strict=True):
            layer.momentum = momentum
        self.module.eval()

    def _statistics_time_share(self) -> float:
        """The fraction of the remaining time for normalization; the comparison with baselines follows it."""
        return STATISTICS_TIME_SHARE

    def statistics_batches(self, share: float) -> Iterator[Batch]:
        """At least one training batch, and as many more as fit into a fraction `share` of the remaining time."""
        begin = last = clock.now()
        for number, batch in enumerate(islice(self.batches(0, np.random.default_rng(0)), N_STATISTICS_BATCHES)):
            now, duration = clock.now(), clock.now() - last
            if number and self.deadline is not None and now + duration > begin + share * (self.deadline - begin):
                return
            last = now
            yield batch

    def n_statistics_passes(self) -> int:
        """The largest number of forward passes in `update_statistics`."""
        batches = min(N_STATISTICS_BATCHES, math.ceil(self.n_batches()))
        return batches if any(isinstance(layer, nn.BatchNorm2d) for layer in self.module.modules()) else 0

    def validation_steps(self) -> float:
        """The cost of a forward pass over the validation chunks, in training steps."""
        n_chunks = 0 if self.held_out is None else len(self.held_out.chunk_starts(self.length))
        return FORWARD_SHARE * min(n_chunks, _MAX_VALIDATION_CHUNKS) / self.batch_size

    def validate(self) -> float:
        """The loss of a fixed selection of held-out chunks."""
        assert self.held_out is not None
        rng = np.random.default_rng(0)
        places = self.held_out.chunk_starts(self.length)
        chunk_ids = thin_evenly(np.arange(len(places)), _MAX_VALIDATION_CHUNKS)
        return self.validation_loss(
            self._batch(chunk_ids, self.held_out, places[chunk_ids], rng).match_module(self.module)
        )

    @abstractmethod
    def validation_loss(self, batch: Batch) -> float:
        """The validation loss."""


def noise_generator(batch: Batch) -> torch.Generator | None:
    """The generator of a batch's noise, separate from torch's global one, which other threads may use.

    None, torch's global generator, for a batch without seeds.
    """
    seeds = batch.tensors.get("seed")
    return None if seeds is None else torch.Generator(batch["x"].device).manual_seed(int(seeds[0]))


def gather_windows(x: Tensor, at: Tensor, length: int) -> Tensor:
    """One window of each chunk, beginning at `at`, (batch, length, …)."""
    rows = torch.arange(len(x), device=x.device)[:, None]
    return x[rows, at[:, None] + torch.arange(length, device=x.device)]


def step_spans(sequences: Sequences, usual: float | None) -> NDArray[np.float32]:
    """Time since the previous step, in usual steps, (total_time,)."""
    elapsed = sequences.elapsed_times
    if elapsed is None or usual is None:
        return np.ones(int(sequences.lengths.sum()), np.float32)
    spans = np.diff(elapsed, prepend=elapsed[:1]) / usual
    spans[sequences.offsets[:-1]] = 1.0  # the first step has no previous one
    return spans.astype(np.float32)

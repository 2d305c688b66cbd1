"""Training objectives on crops: triplets for the T-Loss, and pairs of crops."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, Objective, OptimizerStep, Trainer, shuffled_batches
from ...train.objective import FORWARD_SHARE
from ...train.optimizers import make_optimizer
from ..losses import CropPairLoss, TLoss
from .crops import (
    CropAugmentation,
    Crops,
    CropTransform,
    Ints,
    encode_padded_batches,
    extract_crops,
    sample_crop_pairs,
    sample_triplets,
)

_MIN_VALIDATION_CROPS = 64  # minimum number of anchors among the fixed validation crops
_MAX_VALIDATION_ROUNDS = 4  # maximum number of crops per held-out series
_SIDES = ("first", "second")
_CHUNK_SIZE = 2  # crops at a time with `is_low_memory`


class CropObjective(Objective):
    """An objective on crops; the validation score is the loss of fixed crops of the held-out series."""

    higher_is_better = False

    def __init__(
        self,
        network: nn.Module,
        sequences: Sequences,
        trainer: Trainer,
        *,
        is_low_memory: bool = False,
        held_out: Sequences | None = None,
    ) -> None:
        assert trainer.batch_size is not None
        self.module, self.sequences, self.is_low_memory = network, sequences, is_low_memory
        self.trainer, self.batch_size = trainer, trainer.batch_size
        self.steps, self.held_out = _packed_steps(sequences), held_out
        self.validation_batches: list[Batch] = []

    @abstractmethod
    def sample_batch(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """A batch of crops of the series at `ids`, cut from packed steps."""

    def optimizers(self) -> torch.optim.Optimizer:
        """The optimizer of the trainer over all weights."""
        return make_optimizer(self.module.parameters(), self.trainer)

    def identity(self) -> dict[str, str | int]:
        """The data and the settings that determine the crops."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        return {"sequences": data, "batch_size": self.batch_size}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches in which every series occurs once."""
        for ids in self._batch_positions(len(self.sequences), rng):
            yield self.sample_batch(self.sequences, self.steps, ids, rng)

    def n_batches(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self.sequences) // self.batch_size)

    def _batch_positions(self, count: int, rng: np.random.Generator) -> Iterator[Ints]:
        return shuffled_batches(count, self.batch_size, rng)

    @property
    def has_validation(self) -> bool:
        """Whether series are held out."""
        return self.held_out is not None

    def validation_steps(self) -> float:
        """The duration of a forward pass for every batch of fixed crops, in steps."""
        n_held_out = 0 if self.held_out is None else len(self.held_out)
        return FORWARD_SHARE * _validation_rounds(n_held_out) * n_held_out / self.batch_size

    def validate(self) -> float:
        """The mean loss of the fixed validation crops."""
        self.validation_batches = self.validation_batches or self._sample_validation_batches()
        losses = [
            (len(batch), _loss_value(self.loss(batch.match_module(self.module)))) for batch in self.validation_batches
        ]
        return sum(size * loss for size, loss in losses) / sum(size for size, _ in losses)

    def _sample_validation_batches(self) -> list[Batch]:
        assert self.held_out is not None
        series, rng = self.held_out, np.random.default_rng(0)
        steps, rounds = _packed_steps(series), _validation_rounds(len(series))
        return [
            self.sample_batch(series, steps, ids, rng)
            for _ in range(rounds)
            for ids in self._batch_positions(len(series), rng)
        ]


def _packed_steps(sequences: Sequences) -> Tensor:
    base, _, _ = sequences.buffers()
    return torch.tensor(base.reshape(len(base), -1), dtype=torch.float32)


def _validation_rounds(n_held_out: int) -> int:
    """The number of crops per held-out series."""
    return min(_MAX_VALIDATION_ROUNDS, -(-_MIN_VALIDATION_CROPS // max(n_held_out, 1)))


def _loss_value(loss: Tensor | Mapping[str, Any]) -> float:
    return float(loss["loss"] if isinstance(loss, Mapping) else loss)


def _crop_tensors(steps: Tensor, **sides: Crops) -> dict[str, Any]:
    """Named crops and their lengths, as tensors of a batch."""
    rows: dict[str, Any] = {}
    for name, crops in sides.items():
        rows[name], rows[f"{name}_lengths"] = extract_crops(steps, crops), crops.lengths.copy()
    return rows


def _roll_crops(batch: Batch, name: str) -> Batch | None:
    """The batch with the crops of this name rolled by one series; None if there is only one series."""
    if len(np.unique(batch.ids)) < 2:
        return None
    crops = {key: batch[key].roll(1, 0) for key in (name, f"{name}_lengths")}
    return Batch(batch.ids, **(batch.tensors | crops))


class TLossObjective(CropObjective):
    """The loss `TLoss` with K = `n_negatives` crops of any series, per anchor or shared by the batch."""

    def __init__(
        self, network: nn.Module, sequences: Sequences, trainer: Trainer, loss: TLoss, *, n_negatives: int, **rest: Any
    ) -> None:
        super().__init__(network, sequences, trainer, **rest)
        self.n_negatives, self.shares_negatives = n_negatives, loss.shared_negatives

    def identity(self) -> dict[str, str | int]:
        """The data and the settings that determine the crops."""
        settings = super().identity() | {"n_negatives": self.n_negatives}
        return settings | ({"shares_negatives": 1} if self.shares_negatives else {})

    def sample_batch(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """A batch of anchors, positives inside them, and negatives from any series."""
        triplets = sample_triplets(sequences, ids, self.n_negatives, rng, shares_negatives=self.shares_negatives)
        sides = zip(("anchor", "positive", "negative"), triplets, strict=True)
        return Batch(ids, **_crop_tensors(steps, **dict(sides)))

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The batch with the positive of another series for every anchor."""
        return _roll_crops(batch, "positive")

    def process_share(self, batch: Batch, rank: int, world: int) -> Batch:
        """Every `world_size`-th series; all processes get the shared negatives."""
        if not self.shares_negatives:
            return super().process_share(batch, rank, world)
        own = {name: tensor for name, tensor in batch.tensors.items() if not name.startswith("negative")}
        some = Batch(batch.ids, **own).take(np.arange(rank, len(batch), world))
        return Batch(some.ids, **(batch.tensors | some.tensors))

    def loss(self, batch: Batch) -> Tensor:
        """Equation 3.1."""
        sides = [(batch[name], batch[f"{name}_lengths"]) for name in ("anchor", "positive", "negative")]
        negatives, lengths = sides[2]
        sides[2] = negatives.flatten(0, 1), lengths.flatten()
        anchor, positive, negative = encode_padded_batches(self.module, sides)
        return _logistic_term(anchor, positive[:, None], 1.0) + _logistic_term(
            anchor, negative.reshape(*lengths.shape, -1), -1.0
        )

    def step(self, batch: Batch, optimizer_step: OptimizerStep) -> Mapping[str, Tensor | float]:
        """One update; with `is_low_memory` term by term, so that memory does not grow with the number of negatives."""
        if not self.is_low_memory:
            return super().step(batch, optimizer_step)
        (anchor,) = encode_padded_batches(self.module, [(batch["anchor"], batch["anchor_lengths"])])
        anchor_leaf = anchor.detach().requires_grad_()  # collects gradients, so that the anchor is backpropagated once
        (positive,) = encode_padded_batches(self.module, [(batch["positive"], batch["positive_lengths"])])
        term = _logistic_term(anchor_leaf, positive[:, None], 1.0)
        total = float(term.detach())
        optimizer_step.backward(term)
        del term, positive
        for k in range(self.n_negatives):
            crops, lengths = batch["negative"][:, k], batch["negative_lengths"][:, k]
            (negative,) = encode_padded_batches(self.module, [(crops, lengths)])
            term = _logistic_term(anchor_leaf, negative[:, None], -1.0) / self.n_negatives
            total += float(term.detach())
            optimizer_step.backward(term)
            del term, negative
        assert anchor_leaf.grad is not None
        share = optimizer_step.weight or 1.0  # the collected gradients already include the weight of this process
        optimizer_step.backward((anchor * (anchor_leaf.grad / share)).sum())
        optimizer_step.step()
        return {"loss": total}


def _logistic_term(anchor: Tensor, others: Tensor, sign: float) -> Tensor:
    """−log σ(±fᵀg), averaged over anchors (item, feature) and the others (item or 1, other, feature) of each."""
    products = torch.einsum("if,iof->io", anchor, others.expand(len(anchor), -1, -1))
    return -F.logsigmoid(sign * products).mean()


class CropPairObjective(CropObjective):
    """A loss on two crops of every series of a batch, such as `VICReg` and `NTXent`.

    The history also gets two diagnostics of normalized vectors: `alignment`, the mean of ‖f − f⁺‖² over the two crops
    of a series, and `uniformity`, log mean exp(−2‖f − g‖²) over crops of different series (Wang and Isola, 2020).
    """

    def __init__(
        self,
        network: nn.Module,
        sequences: Sequences,
        trainer: Trainer,
        loss: CropPairLoss,
        *,
        augmentation: CropTransform | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(network, sequences, trainer, **rest)
        self.crop_loss = loss
        self.augmentation = CropAugmentation() if augmentation is None and loss.augment else augmentation

    def n_batches(self) -> int:
        """The number of batches in an epoch."""
        return max(1, len(self.sequences) // max(2, self.batch_size))

    def _batch_positions(self, count: int, rng: np.random.Generator) -> Iterator[Ints]:
        """Batches of nearly equal size, since a small last batch would have few other series to compare with."""
        if count == 1:  # the batch consists of crops of the one series
            return iter([np.zeros(self.batch_size, np.int64)])
        return iter(np.array_split(rng.permutation(count), max(1, count // max(2, self.batch_size))))

    def sample_batch(self, sequences: Sequences, steps: Tensor, ids: Ints, rng: np.random.Generator) -> Batch:
        """Two crops of every series, augmented if the loss does so."""
        rows: dict[str, Any] = {}
        for name, crops in zip(
            ("first", "second"), sample_crop_pairs(sequences, ids, self.crop_loss.min_crop, rng), strict=True
        ):
            x, lengths = extract_crops(steps, crops), crops.lengths.copy()
            rows[name], rows[f"{name}_lengths"] = (
                (x, lengths) if self.augmentation is None else self.augmentation(x, lengths, rng)
            )
        return Batch(ids, **rows)

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The batch with the second crop of another series for every first crop."""
        return _roll_crops(batch, "second")

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """The loss of the pairs, and its diagnostics."""
        return self._loss_and_diagnostics(
            encode_padded_batches(self.module, [(batch[name], batch[f"{name}_lengths"]) for name in _SIDES])
        )

    def step(self, batch: Batch, optimizer_step: OptimizerStep) -> Mapping[str, Tensor | float]:
        """One update; with `is_low_memory` a few crops at a time, each twice: for the loss, then for its gradients."""
        if not self.is_low_memory:
            return super().step(batch, optimizer_step)
        pieces = [slice(i, i + _CHUNK_SIZE) for i in range(0, len(batch), _CHUNK_SIZE)]
        crops = [(batch[name][some], batch[f"{name}_lengths"][some]) for name in _SIDES for some in pieces]
        with torch.no_grad():
            vectors = torch.cat([encode_padded_batches(self.module, [some])[0] for some in crops])
        numbers = self._loss_and_diagnostics(list(vectors.requires_grad_().chunk(2)))
        (slope,) = torch.autograd.grad(numbers["loss"], vectors)
        for some, own in zip(crops, torch.split(slope, [len(x) for x, _ in crops]), strict=True):
            optimizer_step.backward((encode_padded_batches(self.module, [some])[0] * own).sum())
        optimizer_step.step()
        return {name: number.detach() for name, number in numbers.items()}

    def _loss_and_diagnostics(self, sides: list[Tensor]) -> dict[str, Tensor]:
        u, v = (F.normalize(side.detach(), dim=1) for side in sides)
        apart = (2 - 2 * u @ v.T).clamp(min=0)
        far = torch.exp(-2 * apart[~torch.eye(len(u), dtype=torch.bool, device=u.device)])
        uniformity = far.mean().log() if len(far) else far.new_zeros(())
        return {"loss": self.crop_loss(*sides), "alignment": apart.diagonal().mean(), "uniformity": uniformity}

"""`PrototypeObjective`: the three losses of Algorithm 1 over batches with several members of every class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ..metric.label_signal import describe_missing_signal
from ..metric.objectives.perturbation import Perturbation
from ..models import fingerprint
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..train import Batch, Objective, Trainer, class_batches
from ..train.batches import count_epoch_batches
from ..train.loop import evaluation_mode
from ..train.objective import FORWARD_SHARE
from ..train.optimizers import make_optimizer
from .network import AdditiveMarginHead, PrototypeNetwork
from .options import Adversary

_MIN_DIFFERENT_PAIRS = 256  # smallest number of pairs of two classes that a batch compares, if it has as many
_MIN_GAIN = 0.1  # fraction of the range between chance and 1
_N_CHECKED_EXAMPLES = 512  # examples used to judge the training
BatchPerturbation = Callable[[Tensor, Tensor, np.random.Generator], tuple[Tensor, Tensor]]
HeadLogits = Callable[[Tensor, Tensor], Tensor | Sequence[Tensor]]


@dataclass(frozen=True)
class FrameNoise:
    """The perturbation of single frames, which have no time course: noise of this standard deviation."""

    deviation: float = 0.1

    def __call__(self, x: Tensor, lengths: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """x (item, time, *frame) with noise, and its lengths."""
        generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        return x + self.deviation * torch.randn(x.shape, generator=generator, dtype=x.dtype), lengths


def make_perturbation(sequences: Sequences, *, standardized: bool) -> BatchPerturbation | None:
    """The perturbation of batches before a step: noise for single frames, warps and noise for longer sequences."""
    if int(sequences.lengths.max()) == 1:
        return FrameNoise() if standardized else None  # noise needs a unit
    return Perturbation() if standardized else Perturbation(jitter=0.0)


@dataclass(frozen=True, kw_only=True)
class TrainingRecipe:
    """Batches and losses; see the parameters of `Prototypes`."""

    n_per_class: int = 6
    momentum: float = 0.9
    label_smoothing: float = 0.0
    soft_pairs: bool = False
    perturbation: BatchPerturbation | None = None
    adversary: Adversary | None = None


class PrototypeObjective(Objective):
    """L = L_class + L_pair + L_aux of a batch, each unordered pair once (Monteiro et al., 2021, eq. 2 and 3).

        L_class = mean of −log softmax(S(C, z_i))_{y_i}
        L_pair  = mean over pairs of one class of −log σ(S(z_i, z_j)) + mean over the others of −log σ(−S(z_i, z_j))
        L_aux   = mean of −log softmax(W z_i + b)_{y_i}

    The averages C are updated before the loss and are constants for its gradient. If a batch has no pair of one kind,
    the mean over that kind is 0.
    """

    module: PrototypeNetwork

    def __init__(
        self,
        module: PrototypeNetwork,
        sequences: Sequences,
        codes: NDArray[np.int64],
        trainer: Trainer,
        recipe: TrainingRecipe,
        *,
        vectors: NDArray[np.float32] | None = None,
        symmetric: bool = True,
        scaler: ChannelScaler | None = None,
    ) -> None:
        assert trainer.batch_size is not None
        self.module, self.sequences, self.codes, self.trainer, self.recipe = module, sequences, codes, trainer, recipe
        self.vectors, self.symmetric, self.scaler = vectors, symmetric, scaler
        self.n_batch_classes = min(max(2, trainer.batch_size // recipe.n_per_class), int(codes.max()) + 1)

    def n_batches(self) -> int:
        """The approximate number of batches of an epoch."""
        return count_epoch_batches(self.codes, self.recipe.n_per_class, self.n_batch_classes)

    def optimizers(self) -> Optimizer:
        """The optimizer of the trainer, for all weights that are not frozen."""
        return make_optimizer([weight for weight in self.module.parameters() if weight.requires_grad], self.trainer)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches of several members of several classes, perturbed."""
        for ids in class_batches(self.codes, self.recipe.n_per_class, rng, n_classes=self.n_batch_classes):
            order = rng.random(len(ids))  # which of a pair comes first
            if self.vectors is not None:
                yield Batch(ids, vectors=self.vectors[ids], labels=self.codes[ids], order=order)
                continue
            batch = Batch.from_sequences(self.sequences, ids, labels=self.codes)
            x, lengths = batch["x"], batch["lengths"]
            if self.recipe.perturbation is not None:
                x, lengths = self.recipe.perturbation(x, lengths, rng)
            yield Batch(ids, x=x, lengths=lengths, labels=batch["labels"], order=order)

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """The sum as `loss`, and its parts."""
        labels, vectors = batch["labels"], self._encode_batch(batch)
        if not isinstance(self.module.averages, nn.Parameter):
            self.module.update_averages(vectors, labels, self.recipe.momentum)
        losses: dict[str, Tensor] = {}
        losses["class"] = self._class_loss(vectors, labels)
        losses["pair"] = self._pair_loss(vectors, labels, batch["order"])
        if self.module.dense is not None:
            losses["auxiliary"] = self._auxiliary_loss(self.module.dense, vectors, labels)
        return {"loss": sum(losses.values(), vectors.new_zeros(())), **{k: v.detach() for k, v in losses.items()}}

    def _class_loss(self, vectors: Tensor, labels: Tensor) -> Tensor:
        """eq. 2, over the classes that have an average so far."""
        logits, is_seen = self.module.similarity.matrix(self.module.averages, vectors).T, self._seen_mask()
        if is_seen is None:
            return F.cross_entropy(logits, labels, label_smoothing=self.recipe.label_smoothing)
        return F.cross_entropy(
            logits.masked_fill(~is_seen, -torch.inf), labels
        )  # without smoothing, which would make it infinite

    def _auxiliary_loss(self, dense: nn.Module, vectors: Tensor, labels: Tensor) -> Tensor:
        logits = dense(vectors)
        if isinstance(dense, AdditiveMarginHead):
            return dense.loss(logits, labels, self.recipe.label_smoothing)
        return F.cross_entropy(logits, labels, label_smoothing=self.recipe.label_smoothing)

    def _seen_mask(self) -> Tensor | None:
        """Which classes have an average so far; None once all have."""
        averages = self.module.averages
        return (
            None
            if isinstance(averages, nn.Parameter) or bool(self.module.seen_classes.all())
            else self.module.seen_classes
        )

    def _encode_batch(self, batch: Batch) -> Tensor:
        if "vectors" in batch.tensors:
            return batch["vectors"]
        x, lengths = batch["x"], batch["lengths"]
        if self.recipe.adversary is not None:
            x = self._attack_batch(x, lengths, batch["labels"])
        vectors: Tensor = self.module(x, lengths)
        return vectors

    def _attack_batch(self, x: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        """The batch changed by the adversary, against all heads, in evaluation mode: dropout would add noise."""
        adversary = self.recipe.adversary
        assert adversary is not None
        with evaluation_mode(self.module):
            if not bool(self.module.seen_classes[labels].all()) and not isinstance(self.module.averages, nn.Parameter):
                self.module.update_averages(self.module(x, lengths), labels, self.recipe.momentum)
            return adversary.perturb(x, lengths, labels, self._head_logits, scaler=self.scaler)

    def _head_logits(self, x: Tensor, lengths: Tensor) -> list[Tensor]:
        """Logits of all heads, over the classes that have an average so far."""
        vectors, is_seen = self.module(x, lengths), self._seen_mask()
        similarities = self.module.similarity.matrix(self.module.averages, vectors).T
        logits = [similarities if is_seen is None else similarities.masked_fill(~is_seen, -1e9)]
        return logits if self.module.dense is None else [*logits, self.module.dense(vectors)]

    def _pair_loss(self, vectors: Tensor, labels: Tensor, order: Tensor) -> Tensor:
        """eq. 3 over all pairs of one class and a random subset of the others, drawn anew every step.

        Without symmetry the order within a pair is random too, by one number for each of the two.
        """
        first, second = torch.triu_indices(len(labels), len(labels), 1, device=labels.device)
        same = labels[first] == labels[second]
        different_pairs = (~same).nonzero()[:, 0]
        sampled_pairs = different_pairs[
            torch.randperm(len(different_pairs), device=labels.device)[: max(_MIN_DIFFERENT_PAIRS, int(same.sum()))]
        ]
        pair_ids = torch.cat([same.nonzero()[:, 0], sampled_pairs])
        first, second, same = first[pair_ids], second[pair_ids], same[pair_ids]
        is_swapped = order[first] > order[second] if not self.symmetric else torch.zeros_like(same)
        first, second = torch.where(is_swapped, second, first), torch.where(is_swapped, first, second)
        losses = self._binary_losses(self.module.similarity(vectors[first], vectors[second]), same)
        return losses[same].sum() / max(1, int(same.sum())) + losses[~same].sum() / max(1, int((~same).sum()))

    def _binary_losses(self, scores: Tensor, same: Tensor) -> Tensor:
        """Binary cross-entropy of pairs, with hard targets or, with `soft_pairs`, with soft ones."""
        if not self.recipe.soft_pairs:
            return F.softplus(torch.where(same, -scores, scores))
        uncertain = 0.1 * torch.rand_like(scores)
        targets = torch.where(same, 1 - uncertain, uncertain)
        return F.binary_cross_entropy_with_logits(scores, targets, reduction="none")

    def identity(self) -> dict[str, str | int]:
        """Fingerprints of the data; the options of the model identify the rest."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        return {"sequences": data, "labels": fingerprint(self.codes)}

    def find_data_issue(self) -> str | None:
        """A warning if labels look unrelated to the sequences: no part is held out to show it."""
        return describe_missing_signal(self.sequences, self.codes)

    def failure_reason_steps(self) -> float:
        """The cost of `failure_reason` in steps: a trained encoder is applied to some examples once more."""
        n_encoded = 0 if self.vectors is not None else len(self._checked_examples())
        return FORWARD_SHARE * n_encoded / (self.n_batch_classes * self.recipe.n_per_class)

    def _checked_examples(self) -> NDArray[np.int64]:
        """Positions of the examples that `failure_reason` uses."""
        return np.arange(0, len(self.codes), max(1, len(self.codes) // _N_CHECKED_EXAMPLES))

    @torch.no_grad()
    def failure_reason(self) -> str | None:
        """Why training failed, if the network and its averages hardly recognize the training examples.

        `predict` uses exact means and extra encoders, with which even an untrained network recognizes its own
        examples.
        """
        some = self._checked_examples()
        labels = torch.as_tensor(self.codes[some])
        with evaluation_mode(self.module):
            if self.vectors is not None:
                vectors = torch.as_tensor(self.vectors[some])
            else:
                x, lengths = self.sequences[some].to_tensor()
                vectors = self.module(x, lengths)
            averages = self.module.averages
            predictions = self.module.similarity.matrix(averages, vectors.to(averages.dtype)).argmax(0)
        accuracy = float((predictions == labels).float().mean())
        chance = float(labels.bincount().max() / len(labels))
        if accuracy - chance > _MIN_GAIN * (1 - chance):
            return None
        return (
            f"its network, by the class averages that training keeps, recognizes {accuracy:.0%} of the examples that "
            f"it learned from, and always predicting the largest class {chance:.0%}. `predict` uses exact means, and "
            "extra encoders if there are any: it may be better, but not because of the training; "
            "change trainer.learning_rate, use more steps, or check whether classes can be distinguished"
        )

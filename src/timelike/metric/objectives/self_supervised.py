"""`SelfSupervisedObjective`: a sequence should be close to its augmentation and align with it as it was generated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...models import fingerprint
from ...sequences import Sequences
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState, check_random_state
from ...train import Batch, Trainer, shuffled_batches
from ...train.objective import FORWARD_SHARE
from ..distance_network import AlignmentNetwork, DistanceNetwork, Features
from ..supervision import BLUR_OR_MERGE
from .base import VALIDATION_SIZES, MetricObjective, sample_positions, weighted_mean


class SelfSupervisedObjective(MetricObjective):
    """Equation 10 alone: a sequence should be close to its augmentation and align with it as it was generated.

    `distance=0` is alignment-supervised learning (A.8). Only the prediction is learned, not the transformation h:
    without negatives, training h would make all frames equal, as `joint=True` shows (SoftDTW* of tables 6 and 7).
    """

    supervision = "augmentation"

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        *,
        augmentation: Augmentation = BLUR_OR_MERGE,
        distance: float = 1.0,
        alignment: float = 1.0,
        dual: bool = True,
        joint: bool = False,
        trainer: Trainer | None = None,
    ) -> None:
        super().__init__(module, sequences, trainer)
        self.augmentation, self.joint = augmentation, joint
        self.weights: dict[str, Any] = {"distance": distance, "alignment": alignment, "dual": dual}

    def _parameters(self) -> list[nn.Parameter]:
        learned = [
            parameter
            for name, parameter in self.module.named_parameters()
            if self.joint or not name.startswith("transformation.")
        ]
        if not learned:
            raise ValueError(
                f"{type(self.module).__name__} has nothing to learn but the transformation: use joint=True"
            )
        return learned

    def _extra_identity(self) -> dict[str, str | int]:
        return {"augmentation": repr(self.augmentation), "weights": repr(self.weights), "joint": str(self.joint)}

    def step_sequences(self) -> int:
        """Each sequence and its augmentation."""
        return 2 * self.step_pairs()

    def step_pairs(self) -> int:
        """The pairs of a sequence and its augmentation in a batch."""
        return min(self.batch_size, len(self.sequences))

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Random batches with their augmentations."""
        for ids in shuffled_batches(len(self.sequences), self.batch_size, rng):
            yield add_augmentation(self._make_batch(ids), self.augmentation, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Equation 10."""
        sides = self._batch_features(batch, "new"), self._batch_features(batch)
        return consistency_loss(self.module, *sides, batch["alignment"], **self.weights) + self.module.penalty()


class ValidatedSelfSupervisedObjective(SelfSupervisedObjective):
    """Learning from augmentations, validated on augmentations of held-out sequences."""

    supervision = "augmentation, validated"
    higher_is_better = False

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], **options)
        self.source_positions, self.held_out = used, held_out
        positions = sample_positions(held_out, VALIDATION_SIZES[0], rng)
        parts = np.array_split(positions, -(-len(positions) // self.batch_size))
        whole = (Batch.from_sequences(sequences, part) for part in parts)
        self.validation_batches = [add_augmentation(batch, self.augmentation, rng) for batch in whole]

    def _extra_identity(self) -> dict[str, str | int]:
        return super()._extra_identity() | {"held-out sequences": fingerprint(self.held_out)}

    def validation_steps(self) -> float:
        """A forward pass for each batch."""
        return FORWARD_SHARE * len(self.validation_batches)

    def validate(self) -> float:
        """The mean loss on fixed augmentations of held-out sequences."""
        batch_losses = [
            (float(self.loss(batch.match_module(self.module))), len(batch)) for batch in self.validation_batches
        ]
        return weighted_mean(batch_losses)


class AugmentedBatch(NamedTuple):
    """Augmented sequences `x` (item, new time, channel) of `lengths` (item,), and their alignment to the originals.

    `alignment` (item, new time, old time) has rows that sum to 1 and zeros in the padding.
    """

    x: Tensor
    lengths: Tensor
    alignment: Tensor


def augment_batch(
    x: Tensor, lengths: Tensor, augmentation: Augmentation = BLUR_OR_MERGE, *, random_state: RandomState = None
) -> AugmentedBatch:
    """Augment each sequence of a padded batch (item, time, channel), ignoring the padding.

    >>> from timelike.sequences.augment import Merge
    >>> x = torch.arange(4.0).reshape(1, 4, 1)
    >>> new = augment_batch(x, torch.tensor([4]), Merge(even=True), random_state=5)
    >>> new.x.flatten(), new.lengths, new.alignment[0, 2]
    (tensor([0.0000, 1.0000, 2.5000]), tensor([3]), tensor([0.0000, 0.0000, 0.5000, 0.5000]))
    """
    rng = check_random_state(random_state)
    steps = x.detach().cpu().numpy()
    old = [one[:length] for one, length in zip(steps, lengths.tolist(), strict=True)]
    if np.isfinite(steps).all():  # one check for all is many times faster than one per sequence
        augmented = [augmentation._apply(one, rng) for one in old]
    else:
        augmented = [augmentation(one, random_state=rng) for one in old]
    longest = max((len(new.values) for new in augmented), default=0)
    values = np.zeros((len(augmented), longest, *steps.shape[2:]), steps.dtype)
    alignments = np.zeros((len(augmented), longest, steps.shape[1]), steps.dtype)
    for item, new in enumerate(augmented):
        values[item, : len(new.values)] = new.values
        alignments[item, : len(new.values), : new.alignment.shape[1]] = new.alignment
    new_lengths = torch.tensor([len(new.values) for new in augmented], dtype=torch.int64)
    return AugmentedBatch(*(torch.as_tensor(part).to(x.device) for part in (values, new_lengths, alignments)))


def add_augmentation(batch: Batch, augmentation: Augmentation, rng: np.random.Generator) -> Batch:
    """Add augmentations of the sequences `x` to a batch: `new`, `new_lengths` and their `alignment`."""
    new = augment_batch(batch["x"], batch["lengths"], augmentation, random_state=rng)
    more = {"new": new.x, "new_lengths": new.lengths, "alignment": new.alignment}
    return Batch(batch.ids, **batch.tensors, **more)


def consistency_loss(
    network: DistanceNetwork,
    augmented: Features,
    original: Features,
    truth: Tensor,
    *,
    distance: float = 1.0,
    alignment: float = 1.0,
    dual: bool = True,
) -> Tensor:
    """The self-supervised loss of TAP (Su & Wen, ICLR 2022, eq. 10), averaged over a batch.

    d(x̃, x) + MSE(A, T̃) + d(x, x̃) + MSE(A′, T̃ᵀ), where x̃ is an augmentation of x, T̃ (item, new time, old time) its
    true alignment, and A, A′ are the predicted alignments before division by their sum. `distance` and `alignment` are
    the weights of the two kinds of terms (distance=0 is the alignment-supervised loss of A.8); `dual=False` leaves out
    the direction from x to x̃.

    >>> import torch
    >>> from timelike.metric import TAPNetwork, augment_batch
    >>> network, x, lengths = TAPNetwork(2, transform=False), torch.randn(3, 8, 2), torch.tensor([8, 6, 7])
    >>> new = augment_batch(x, lengths, random_state=0)
    >>> sides = network.features(new.x, new.lengths), network.features(x, lengths)
    >>> consistency_loss(network, *sides, new.alignment, distance=0).shape
    torch.Size([])
    """
    if isinstance(network, AlignmentNetwork) and network.transformation.front is not None:
        truth = pool_alignment(truth, network.transformation.front.stride)
    terms = _one_way_loss(network, augmented, original, truth, distance, alignment)
    if dual:
        terms = terms + _one_way_loss(network, original, augmented, truth.mT, distance, alignment)
    return terms.mean()


def _one_way_loss(
    network: DistanceNetwork, x: Features, y: Features, truth: Tensor, distance: float, alignment: float
) -> Tensor:
    if alignment == 0:
        return distance * network.pair_distances(x, y)
    if not isinstance(network, AlignmentNetwork):
        raise TypeError(f"{type(network).__name__} predicts no alignment: use alignment=0")
    distances, attention = network.align_pairs(x, y)
    error = alignment * alignment_error(attention, truth, x.lengths, y.lengths)
    return error if distance == 0 else distance * distances + error


def pool_alignment(alignment: Tensor, steps: int) -> Tensor:
    """Pool an alignment (item, n, m) to blocks of `steps` steps: the mean over rows and the sum over columns.

    >>> pool_alignment(torch.eye(4)[None, :3], 2)
    tensor([[[1., 0.],
             [0., 1.]]])
    """
    n, m = alignment.shape[1:]
    padded = nn.functional.pad(alignment, (0, -m % steps, 0, -n % steps))
    sizes = len(padded), padded.shape[1] // steps, steps
    blocks = padded.reshape(*sizes, padded.shape[2] // steps, steps).sum((2, 4))
    rows = padded.sum(2).reshape(sizes).round().sum(2)  # each row sums to 1, padded rows to 0
    pooled: Tensor = blocks / rows.clamp(min=1)[..., None]
    return pooled


def alignment_error(attention: Tensor, truth: Tensor, x_lengths: Tensor, y_lengths: Tensor) -> Tensor:
    """The mean squared difference of two alignments (item, n, m) over the steps of each pair, (item,) (table 4).

    >>> import torch
    >>> one = torch.tensor([1])
    >>> alignment_error(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]]), one, 2 * one)
    tensor([0.2500])
    """
    return (attention - truth).square().sum((1, 2)) / (x_lengths * y_lengths)

"""Augmentations of padded batches, with the alignment of the new sequences and the old."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..sequences.augment import Augmentation, Blur, Choice, Merge, choose
from ..sequences.sampling import RandomState, generator

BLUR_OR_MERGE: Choice = choose([Blur(), Merge()])
"""TAP's augmentation: one of the two, drawn anew for every sequence (Su & Wen, ICLR 2022, appendix A.1)."""


class AugmentedBatch(NamedTuple):
    """New sequences `x` (item, new time, channel) of `lengths` (item,), and how they were made of the old ones.

    `alignment` (item, new time, old time) has rows that sum to 1 and zeros in the padding.
    """

    x: Tensor
    lengths: Tensor
    alignment: Tensor


def augmented(
    x: Tensor, lengths: Tensor, augmentation: Augmentation = BLUR_OR_MERGE, *, random_state: RandomState = None
) -> AugmentedBatch:
    """Every sequence of a padded batch (item, time, channel) changed by itself, whatever the padding holds.

    >>> from timelike.sequences.augment import Merge
    >>> x = torch.arange(4.0).reshape(1, 4, 1)
    >>> new = augmented(x, torch.tensor([4]), Merge(even=True), random_state=5)
    >>> new.x.flatten(), new.lengths, new.alignment[0, 2]
    (tensor([0.0000, 1.0000, 2.5000]), tensor([3]), tensor([0.0000, 0.0000, 0.5000, 0.5000]))
    """
    rng = generator(random_state)
    steps = x.detach().cpu().numpy()
    made = [augmentation(one[:length], random_state=rng) for one, length in zip(steps, lengths.tolist(), strict=True)]
    longest = max((len(new.values) for new in made), default=0)
    values = np.zeros((len(made), longest, *steps.shape[2:]), steps.dtype)
    alignments = np.zeros((len(made), longest, steps.shape[1]), steps.dtype)
    for item, new in enumerate(made):
        values[item, : len(new.values)] = new.values
        alignments[item, : len(new.values), : new.alignment.shape[1]] = new.alignment
    found = torch.tensor([len(new.values) for new in made], dtype=torch.int64)
    return AugmentedBatch(*(torch.as_tensor(part).to(x.device) for part in (values, found, alignments)))

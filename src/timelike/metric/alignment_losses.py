"""What a predicted alignment is to be: that of a sequence and its augmentation, and one that tells classes apart."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from .aligning import Aligning
from .comparer import Comparer, Prepared


def consistency(
    network: Comparer,
    augmented: Prepared,
    original: Prepared,
    truth: Tensor,
    *,
    distance: float = 1.0,
    alignment: float = 1.0,
    dual: bool = True,
) -> Tensor:
    """The self-supervised loss of TAP (Su & Wen, ICLR 2022, eq. 10), averaged over a batch.

    d(x̃, x) + MSE(A, T̃) + d(x, x̃) + MSE(A′, T̃ᵀ), with x̃ an augmentation of x, T̃ (item, new time, old time) the way
    it was made, and A, A′ the alignments that are predicted, before they are divided by their sum. `distance` and
    `alignment` weigh the two kinds of terms (distance=0 is the alignment-supervised loss of A.8), and `dual=False`
    leaves out the direction from x to x̃.

    >>> import torch
    >>> from timelike.metric import TAPNetwork, augmented
    >>> network, x, lengths = TAPNetwork(2, transform=False), torch.randn(3, 8, 2), torch.tensor([8, 6, 7])
    >>> new = augmented(x, lengths, random_state=0)
    >>> sides = network.prepare(new.x, new.lengths), network.prepare(x, lengths)
    >>> consistency(network, *sides, new.alignment, distance=0).shape
    torch.Size([])
    """
    terms = _one_way(network, augmented, original, truth, distance, alignment)
    if dual:
        terms = terms + _one_way(network, original, augmented, truth.mT, distance, alignment)
    return terms.mean()


def _one_way(network: Comparer, x: Prepared, y: Prepared, truth: Tensor, distance: float, alignment: float) -> Tensor:
    if alignment == 0:
        return distance * network.rows(x, y)
    if not isinstance(network, Aligning):
        raise TypeError(f"{type(network).__name__} predicts no alignment: use alignment=0")
    found, attention = network.attend(x, y)
    error = alignment * alignment_error(attention, truth, x.lengths, y.lengths)
    return error if distance == 0 else distance * found + error


def alignment_error(attention: Tensor, truth: Tensor, x_lengths: Tensor, y_lengths: Tensor) -> Tensor:
    """The mean squared difference of two alignments (item, n, m) over the steps of each pair, (item,) (table 4).

    >>> import torch
    >>> one = torch.tensor([1])
    >>> alignment_error(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[[1.0, 0.0]]]), one, 2 * one)
    tensor([0.2500])
    """
    return (attention - truth).square().sum((1, 2)) / (x_lengths * y_lengths)


def class_scores(network: Comparer, queries: Prepared, support: Prepared, labels: Tensor, n_way: int) -> Tensor:
    """How much every query is of every class, (query, class): −Σ d(q, s) + d(s, q) over its support (eq. 8).

    `labels` (support,) are the classes 0 … n_way − 1 of the support.

    >>> import torch
    >>> from timelike.metric import Aligned
    >>> network = Aligned(1, aligner="softdtw", transform=False)
    >>> support = network.prepare(torch.tensor([[[0.0]], [[1.0]]]), torch.tensor([1, 1]))
    >>> class_scores(network, support, support, torch.tensor([0, 1]), 2)
    tensor([[ 0., -2.],
            [-2.,  0.]])
    """
    there = network.matrix(queries, support)
    both = 2 * there if network.symmetric else there + network.matrix(support, queries).mT
    return -both @ F.one_hot(labels, n_way).to(both.dtype)


def episode_loss(
    network: Comparer, queries: Prepared, query_labels: Tensor, support: Prepared, support_labels: Tensor, n_way: int
) -> Tensor:
    """Cross-entropy of the classes of the queries (eq. 9), averaged over them."""
    return F.cross_entropy(class_scores(network, queries, support, support_labels, n_way), query_labels)

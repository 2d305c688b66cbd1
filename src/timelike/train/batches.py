"""`Batch`, named tensors with the positions of their sequences, and samplers of batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ..core.parameters import check_int
from ..core.validation.labels import validate_labels
from ..sequences import Sequences


class Batch:
    """Named tensors with one row per sequence, and the positions of these sequences (`ids`).

    Errors name sequences by their ids, and several processes split a batch by them. If the first axis of a tensor is
    not the sequence, the objective must define its own `process_share`.

    >>> batch = Batch([4, 7], x=np.zeros((2, 5, 1)), lengths=[5, 3])
    >>> batch
    Batch(2 sequences: x (2, 5, 1), lengths (2,))
    >>> batch.take([1])["lengths"]
    tensor([3])
    """

    def __init__(self, ids: ArrayLike, /, **tensors: Any) -> None:
        self.ids: NDArray[np.int64] = np.atleast_1d(np.asarray(ids, np.int64))
        self.tensors: dict[str, Tensor] = {name: torch.as_tensor(value) for name, value in tensors.items()}

    @classmethod
    def from_sequences(cls, sequences: Sequences, ids: ArrayLike, /, **columns: ArrayLike) -> Batch:
        """The sequences at `ids`, padded: `x` (item, time, *frame), `lengths` (item,), and the same rows of `columns`.

        >>> import timelike as tl
        >>> X = tl.Sequences([[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]])
        >>> batch = Batch.from_sequences(X, [2, 1], labels=[0, 1, 1])
        >>> batch["x"].shape, batch["lengths"], batch["labels"]
        (torch.Size([2, 3, 1]), tensor([3, 1]), tensor([1, 1]))
        """
        positions = np.atleast_1d(np.asarray(ids, np.int64))
        x, lengths = sequences[positions].to_tensor()
        rows = {name: torch.as_tensor(np.asarray(values)[positions]) for name, values in columns.items()}
        return cls(positions, x=x, lengths=lengths, **rows)

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise KeyError(f"the batch holds no {name!r}: it has {', '.join(self.tensors)}")
        return self.tensors[name]

    def __len__(self) -> int:
        return len(self.ids)

    def match_module(self, module: nn.Module) -> Batch:
        """The same batch on the device and in the precision of a module; the loop does this before `loss`."""
        model = next((p for p in module.parameters() if p.is_floating_point()), None)
        if model is None:
            return self
        tensors = {
            name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else tensor.dtype)
            for name, tensor in self.tensors.items()
        }
        return Batch(self.ids, **tensors)

    def take(self, rows: ArrayLike) -> Batch:
        """A batch of some of the rows."""
        for name, tensor in self.tensors.items():
            if tensor.ndim == 0 or len(tensor) != len(self):
                raise ValueError(
                    f"{name} has shape {tuple(tensor.shape)} in a batch of {len(self)} sequences, so it cannot be "
                    "shared among processes: expected one row for each, or an objective that defines process_share()"
                )
        chosen = np.asarray(rows, np.int64)
        index = torch.from_numpy(chosen)
        return Batch(self.ids[chosen], **{name: tensor[index] for name, tensor in self.tensors.items()})

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in self.tensors.items())
        return f"Batch({len(self)} sequences: {shapes})"


def shuffled_batches(
    n_items: int, size: int, rng: np.random.Generator, *, drop_last: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Every position once, in random order, `size` at a time; the last batch may be smaller, or be dropped.

    >>> [len(ids) for ids in shuffled_batches(10, 4, np.random.default_rng(0))]
    [4, 4, 2]
    """
    check_int(size, "size", 1)
    if n_items < (size if drop_last else 1):
        raise ValueError(f"{n_items} sequences make no batch of {size}: give more sequences, or a smaller batch")
    order = rng.permutation(n_items)
    end = n_items - n_items % size if drop_last else n_items
    for start in range(0, end, size):
        yield order[start : start + size]


def similar_length_batches(lengths: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Positions of sequences of similar lengths, at most `most` steps per batch when padded to the longest.

    >>> [ids.tolist() for ids in similar_length_batches(np.array([90, 3, 100, 4]), 200)]
    [[1, 3], [0, 2]]
    """
    order = np.argsort(lengths, kind="stable")  # stable: equal lengths keep their order
    ordered, begin = lengths[order], 0
    while begin < len(order):
        steps = np.arange(1, len(order) - begin + 1) * ordered[begin:]
        near = ordered[begin:] <= 1.25 * ordered[begin] + 8  # bounds the padding
        end = begin + max(1, int(np.count_nonzero((steps <= most) & near)))
        yield order[begin:end]
        begin = end


def class_batches(
    labels: ArrayLike, size: int, rng: np.random.Generator, *, n_classes: int | None = None
) -> Iterator[NDArray[np.int64]]:
    """Batches with `size` members of each of `n_classes` classes (default: all), drawn anew for every batch.

    All members of a class occur before any occurs again; a class with fewer than `size` members contributes all of
    them. An epoch has about as many sequences as the data.

    >>> labels = np.array([0, 0, 0, 1, 1, 1, 2])
    >>> [sorted(labels[ids].tolist()) for ids in class_batches(labels, 2, np.random.default_rng(0))]
    [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2]]
    """
    check_int(size, "size", 1)
    codes, counts = np.unique(validate_labels(labels, "labels", "class"), return_inverse=True, return_counts=True)[1:]
    if len(counts) == 0:
        raise ValueError("labels is empty: expected the class of every sequence")
    if n_classes is not None and check_int(n_classes, "n_classes", 1) > len(counts):
        raise ValueError(f"n_classes={n_classes}: there are only {len(counts)} classes")
    width = len(counts) if n_classes is None else n_classes
    members = [_cycle_shuffled(np.flatnonzero(codes == code), rng) for code in range(len(counts))]
    for _ in range(count_epoch_batches(codes, size, width)):
        chosen = rng.permutation(len(counts))[:width]
        yield np.array([next(members[code]) for code in chosen for _ in range(min(size, counts[code]))])


def count_epoch_batches(codes: NDArray[np.int64], size: int, width: int) -> int:
    """The number of batches, `size` members of `width` classes each, with about as many sequences as the data.

    >>> count_epoch_batches(np.array([0, 0, 0, 1, 1, 1, 2]), 2, 3)
    2
    """
    shown = np.minimum(np.bincount(codes), size).mean() * width  # expected sequences per batch
    return int(np.ceil(len(codes) / shown))


def _cycle_shuffled(members: NDArray[np.intp], rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.permutation(members).tolist()

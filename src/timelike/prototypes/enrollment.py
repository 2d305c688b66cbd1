"""`ClassTable`: the classes of a model with their examples and prototypes, and how it changes by enrolling."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from .members import Floats, Members, canonical_order, cluster_centers
from .network import AnySimilarity

Ids = NDArray[np.int64]


class ClassTable(NamedTuple):
    """Classes in sorted order, the vectors of their examples, and prototypes with the positions of their classes."""

    classes: NDArray[Any]
    members: Members
    prototypes: Floats
    owners: Ids


def add_examples(
    table: ClassTable, labels: NDArray[Any], vectors: Floats, *, count: int | None, default_count: int
) -> ClassTable:
    """The table with more examples, of new classes or of known ones.

    A class with new examples gets `count` prototypes; if that is None, as many as it has, or `default_count` if it is
    new. The result does not depend on the order of the examples, nor on whether they come at once or in parts.
    """
    classes = np.unique(np.concatenate([table.classes, labels]))
    moved = np.searchsorted(classes, table.classes)
    codes = np.searchsorted(classes, labels).astype(np.int64)
    touched = np.unique(codes)
    counts = np.full(len(classes), default_count, np.int64)
    counts[moved] = table.members.counts
    if count is not None:
        counts[touched] = count
    members = _add_members(table.members, moved, codes, vectors, counts)
    return ClassTable(classes, members, *_update_prototypes(table, moved, members, touched))


def _add_members(members: Members, moved: Ids, codes: Ids, vectors: Floats, counts: Ids) -> Members:
    """All examples by class; those of classes with new ones in their canonical order."""
    known_owners = moved[members.owners]
    changed = np.isin(known_owners, codes)
    changed_vectors = np.concatenate([members.vectors[changed], vectors])
    changed_owners = np.concatenate([known_owners[changed], codes])
    order = canonical_order(changed_vectors, changed_owners)
    all_vectors = np.concatenate([members.vectors[~changed], changed_vectors[order]])
    owners = np.concatenate([known_owners[~changed], changed_owners[order]])
    by_class = np.argsort(owners, kind="stable")
    return Members(all_vectors[by_class], owners[by_class], counts)


def _update_prototypes(table: ClassTable, moved: Ids, members: Members, touched: Ids) -> tuple[Floats, Ids]:
    """Prototypes of all classes and their owners: recomputed for the touched classes, the others unchanged."""
    owners = moved[table.owners]
    stay = ~np.isin(owners, touched)
    new = [cluster_centers(members.class_vectors(owner), int(members.counts[owner])) for owner in touched.tolist()]
    prototypes = np.concatenate([table.prototypes[stay], *new])
    owners = np.concatenate([owners[stay], np.repeat(touched, [len(some) for some in new])])
    by_class = np.argsort(owners, kind="stable")
    return prototypes[by_class], owners[by_class]


def remove_class(table: ClassTable, position: int) -> ClassTable:
    """The table without the class at this position."""
    stay, kept = table.members.owners != position, table.owners != position
    members = Members(
        table.members.vectors[stay],
        _renumber(table.members.owners[stay], position),
        np.delete(table.members.counts, position),
    )
    classes = np.delete(table.classes, position)
    return ClassTable(classes, members, table.prototypes[kept], _renumber(table.owners[kept], position))


def _renumber(owners: Ids, removed: int) -> Ids:
    return owners - (owners > removed)


def adapt_prototypes(
    similarity: AnySimilarity, table: ClassTable, labels: NDArray[Any], vectors: Floats, *, steps: int, rate: float
) -> ClassTable:
    """The table with the prototypes of the classes in `labels` moved by gradient descent on eq. 2 of these examples."""
    codes = np.searchsorted(table.classes, labels)
    moving = torch.from_numpy(np.isin(table.owners, codes))
    given, prototypes, targets = (torch.from_numpy(array) for array in (vectors, table.prototypes.copy(), codes))
    own = prototypes[moving].clone().requires_grad_()
    optimizer = torch.optim.SGD([own], lr=rate, momentum=0.5)
    owners = torch.from_numpy(table.owners).expand(len(given), -1)
    for _ in range(steps):
        now = prototypes.masked_scatter(moving[:, None], own)
        scores = similarity.matrix(now, given).T
        empty = scores.new_full((len(given), int(table.owners.max()) + 1), -torch.inf)
        loss = F.cross_entropy(empty.scatter_reduce(1, owners, scores, "amax"), targets)
        own.grad = torch.autograd.grad(loss, own)[0]  # which leaves none in the network
        optimizer.step()
    found: Floats = prototypes.masked_scatter(moving[:, None], own).detach().numpy()
    if not np.isfinite(found).all():
        raise ValueError(f"adapt_rate={rate:g}: prototypes are not finite after {steps} steps; use a smaller one")
    return table._replace(prototypes=found)

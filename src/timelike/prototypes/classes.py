"""The classes of a model: their examples, their prototypes, their scores, and what enrolling and forgetting changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.extras import import_extra
from ..core.parameters import format_value
from ..models import schema
from .encoder_adapter import first_vector_length
from .options import Averaging, Head

if TYPE_CHECKING:
    from .frozen_network import FrozenNetwork
    from .network import AnySimilarity, PrototypeNetwork

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Labels = NDArray[Any]
Scores = NDArray[np.float64]

_MAX_ITER = 100  # of k-means, which converges long before


class Members(NamedTuple):
    """The vectors of all examples, the positions of their classes, and the number of prototypes of each class.

    They are in a canonical order, by class and then by value, so that nothing depends on the order in which they
    came, nor on how many came at once.
    """

    vectors: Floats
    owners: NDArray[np.int64]
    counts: NDArray[np.int64]

    def class_vectors(self, owner: int) -> Floats:
        """The vectors of one class."""
        begin, end = np.searchsorted(self.owners, [owner, owner + 1])
        return self.vectors[begin:end]


MEMBERS_SCHEMA = schema.record(
    Members,
    vectors=schema.array("member", "feature", dtype="float32"),
    owners=schema.indices("member", below="class"),
    counts=schema.array("class", dtype="int64", least=1, most=1 << 31),
)
"""The schema of a model's `members_`."""


class ClassTable(NamedTuple):
    """Classes in sorted order, the vectors of their examples, and prototypes with the positions of their classes."""

    classes: NDArray[Any]
    members: Members
    prototypes: Floats
    owners: Ids


@dataclass(frozen=True, eq=False)
class ClassScorer:
    """Scores of vectors for every class: by the most similar prototype, by the dense head, or by the mean of both.

    `prototypes` (prototype, feature) belong to the classes `owners` (prototype,). Vectors are those of `n_encoders`
    encoders together, of which the first `n_trained_features` numbers are those of the trained one.
    """

    network: PrototypeNetwork | FrozenNetwork
    prototypes: Floats
    owners: Ids
    n_classes: int
    inference: Head
    n_trained_features: int
    n_encoders: int

    def scores(self, vectors: Floats) -> Scores:
        """The score of every vector for every class, (item, class)."""
        if self.inference == "dense":
            return self._dense_scores(vectors)
        starts = np.searchsorted(self.owners, np.arange(self.n_classes))
        scores: Scores = self.network.similarity.group_maxima(self.prototypes, vectors, starts).astype(np.float64)
        return scores if self.inference == "similarity" else (scores + self._dense_scores(vectors)) / 2

    def best(self, vectors: Floats) -> tuple[Ids, Scores]:
        """The position of the best class of every vector, and its score; the first class wins ties."""
        if self.inference != "similarity":
            scores = self.scores(vectors)
            return scores.argmax(axis=1), scores.max(axis=1)
        similarities, nearest = self.network.similarity.top_k(self.prototypes, vectors)
        return self.owners[nearest[:, 0]], similarities[:, 0].astype(np.float64)

    def _dense_scores(self, vectors: Floats) -> Scores:
        """Scores of the dense head, in double precision, independent of the other items in the batch."""
        own = vectors[:, : self.n_trained_features].astype(np.float64) / first_vector_length(self.n_encoders)
        return self.network.dense_scores(own)


def make_members(vectors: Floats, codes: NDArray[np.int64], n_classes: int, n_prototypes: int) -> Members:
    """The examples of all classes, each with `n_prototypes` prototypes."""
    order = canonical_order(vectors, codes)
    return Members(vectors[order], codes[order], np.full(n_classes, n_prototypes, np.int64))


def first_prototypes(
    members: Members, network: PrototypeNetwork, averaging: Averaging
) -> tuple[Floats, NDArray[np.int64]]:
    """The prototypes after training and the positions of their classes; see the option `averaging`."""
    n_classes = len(members.counts)
    if averaging == "exact":
        centers = [cluster_centers(members.class_vectors(k), int(members.counts[k])) for k in range(n_classes)]
        return np.concatenate(centers), np.repeat(np.arange(n_classes), [len(some) for some in centers])
    means = np.stack([cluster_centers(members.class_vectors(k), 1)[0] for k in range(n_classes)])
    # a short training may not have seen all classes: the others use their exact means
    has_average = network.seen_classes.numpy() | (averaging == "gradient")
    return np.where(has_average[:, None], network.averages.detach().numpy(), means), np.arange(n_classes)


def canonical_order(vectors: Floats, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions that sort vectors by class and then by value.

    >>> canonical_order(np.float32([[2], [1], [0]]), np.array([0, 0, 1]))
    array([1, 0, 2])
    """
    return np.asarray(np.lexsort((*vectors.T[::-1], owners)), np.int64)


def cluster_centers(vectors: Floats, count: int) -> Floats:
    """The mean of vectors, or the means of up to `count` clusters of them by k-means.

    Sums are in double precision and in the order of the vectors. The initial centers are the vector nearest to the
    mean, then the one farthest from those before: nothing is random. Fewer distinct vectors make fewer clusters.

    >>> cluster_centers(np.float32([[0, 0], [0, 1], [4, 4], [4, 5]]), 2)
    array([[0. , 0.5],
           [4. , 4.5]], dtype=float32)
    """
    points = vectors.astype(np.float64)
    if count == 1:
        return np.asarray(points.mean(axis=0, keepdims=True), np.float32)
    centers = points[_farthest_first(points, count)]
    nearest = np.full(len(points), -1)
    for _ in range(_MAX_ITER):
        new_nearest = _squared_distances(points, centers).argmin(axis=1)
        if (new_nearest == nearest).all():
            break
        nearest = new_nearest
        means = [points[nearest == k].mean(axis=0) for k in range(len(centers)) if (nearest == k).any()]
        centers = np.array(means)
    return centers.astype(np.float32)


def _farthest_first(points: NDArray[np.float64], count: int) -> list[int]:
    """Positions of the initial centers: nearest to the mean, then farthest from all before; none twice."""
    distances = np.full(len(points), np.inf)
    chosen = [int(_squared_distances(points, points.mean(axis=0, keepdims=True))[:, 0].argmin())]
    while len(chosen) < count:
        distances = np.minimum(distances, _squared_distances(points, points[chosen[-1:]])[:, 0])
        if distances.max() == 0:
            break
        chosen.append(int(distances.argmax()))
    return chosen


def _squared_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[Any]:
    """Squared distances, exactly 0 for equal rows, computed for one row of `other` at a time."""
    return np.stack([np.square(one - row).sum(axis=1) for row in other], axis=1)


def add_examples(
    table: ClassTable, labels: NDArray[Any], vectors: Floats, *, count: int | None, default_count: int
) -> ClassTable:
    """The table with more examples, of new classes or of known ones.

    A class with new examples gets `count` prototypes; if that is None, as many as it has, or `default_count` if it is
    new. The result does not depend on the order of the examples, nor on whether they come at once or in parts.
    """
    classes = np.unique(np.concatenate([table.classes, labels]))
    new_positions = np.searchsorted(classes, table.classes)
    codes = np.searchsorted(classes, labels).astype(np.int64)
    changed_classes = np.unique(codes)
    counts = np.full(len(classes), default_count, np.int64)
    counts[new_positions] = table.members.counts
    if count is not None:
        counts[changed_classes] = count
    members = _add_members(table.members, new_positions, codes, vectors, counts)
    return ClassTable(classes, members, *_update_prototypes(table, new_positions, members, changed_classes))


def _add_members(members: Members, new_positions: Ids, codes: Ids, vectors: Floats, counts: Ids) -> Members:
    """All examples by class; those of classes with new ones in their canonical order."""
    known_owners = new_positions[members.owners]
    is_changed = np.isin(known_owners, codes)
    changed_vectors = np.concatenate([members.vectors[is_changed], vectors])
    changed_owners = np.concatenate([known_owners[is_changed], codes])
    order = canonical_order(changed_vectors, changed_owners)
    all_vectors = np.concatenate([members.vectors[~is_changed], changed_vectors[order]])
    owners = np.concatenate([known_owners[~is_changed], changed_owners[order]])
    by_class = np.argsort(owners, kind="stable")
    return Members(all_vectors[by_class], owners[by_class], counts)


def _update_prototypes(
    table: ClassTable, new_positions: Ids, members: Members, changed_classes: Ids
) -> tuple[Floats, Ids]:
    """Prototypes of all classes and their owners: recomputed for the changed classes, the others unchanged."""
    owners = new_positions[table.owners]
    is_unchanged = ~np.isin(owners, changed_classes)
    new = [
        cluster_centers(members.class_vectors(owner), int(members.counts[owner])) for owner in changed_classes.tolist()
    ]
    prototypes = np.concatenate([table.prototypes[is_unchanged], *new])
    owners = np.concatenate([owners[is_unchanged], np.repeat(changed_classes, [len(some) for some in new])])
    by_class = np.argsort(owners, kind="stable")
    return prototypes[by_class], owners[by_class]


def remove_class(table: ClassTable, position: int) -> ClassTable:
    """The table without the class at this position."""
    member_stays, prototype_stays = table.members.owners != position, table.owners != position
    members = Members(
        table.members.vectors[member_stays],
        _renumber(table.members.owners[member_stays], position),
        np.delete(table.members.counts, position),
    )
    classes = np.delete(table.classes, position)
    return ClassTable(
        classes, members, table.prototypes[prototype_stays], _renumber(table.owners[prototype_stays], position)
    )


def _renumber(owners: Ids, position: int) -> Ids:
    return owners - (owners > position)


def adapt_prototypes(
    similarity: AnySimilarity, table: ClassTable, labels: NDArray[Any], vectors: Floats, *, steps: int, rate: float
) -> ClassTable:
    """The table with the prototypes of the classes in `labels` moved by gradient descent on eq. 2 of these examples."""
    torch = import_extra("torch", "adapt_steps > 0")
    codes = np.searchsorted(table.classes, labels)
    moving = torch.from_numpy(np.isin(table.owners, codes))
    points, prototypes, targets = (torch.from_numpy(array) for array in (vectors, table.prototypes.copy(), codes))
    own = prototypes[moving].clone().requires_grad_()
    optimizer = torch.optim.SGD([own], lr=rate, momentum=0.5)
    owners = torch.from_numpy(table.owners).expand(len(points), -1)
    for _ in range(steps):
        current = prototypes.masked_scatter(moving[:, None], own)
        scores = similarity.matrix(current, points).T
        empty = scores.new_full((len(points), int(table.owners.max()) + 1), -torch.inf)
        loss = torch.nn.functional.cross_entropy(empty.scatter_reduce(1, owners, scores, "amax"), targets)
        own.grad = torch.autograd.grad(loss, own)[0]  # leaves no gradients in the network
        optimizer.step()
    adapted_prototypes: Floats = prototypes.masked_scatter(moving[:, None], own).detach().numpy()
    if not np.isfinite(adapted_prototypes).all():
        raise ValueError(f"adapt_rate={rate:g}: prototypes are not finite after {steps} steps; use a smaller one")
    return table._replace(prototypes=adapted_prototypes)


def refuse_mixed_labels(labels: Labels, classes: Labels, name: str) -> None:
    """Raise an error if one of the two is text and the other numbers."""
    if (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):  # as text, 1 would be "1"
        first_class, first_label = classes.tolist()[0], labels.tolist()[0]
        raise TypeError(
            f"{name}: {first_label!r} is of another type than the existing classes, such as {first_class!r}: expected "
            "the same type"
        )


def match_label_dtype(labels: Labels, classes: Labels, name: str) -> Labels:
    """Labels of the same kind as the classes, in the dtype of these if they are numbers."""
    refuse_mixed_labels(labels, classes, name)
    if labels.dtype.kind == "U" or labels.dtype == classes.dtype:
        return labels
    converted_labels = labels.astype(classes.dtype)
    if (converted_labels != labels).any():
        odd = labels[converted_labels != labels].tolist()[0]
        raise TypeError(
            f"{name}: {odd!r} does not fit the existing classes, which are {classes.dtype}: expected such numbers"
        )
    return converted_labels


def encode_labels(labels: Labels, classes: Labels, owner: str) -> NDArray[np.int64]:
    """The position of every label among the classes; `owner` names the model in errors."""
    refuse_mixed_labels(labels, classes, "y")
    places = np.searchsorted(classes, labels)
    missing = labels[classes[np.minimum(places, len(classes) - 1)] != labels]
    if len(missing):
        raise ValueError(
            f"y holds {format_value(missing.tolist()[0])}, which is no class of this {owner}: enroll it, or give such "
            "examples as `unknown`"
        )
    return places.astype(np.int64)


def find_class(label: Any, classes: Labels, owner: str) -> int:
    """The position of one label among the classes; `owner` names the model in errors."""
    if isinstance(label, list | tuple | dict | set) or np.ndim(label) != 0:
        raise TypeError(f"label is a {type(label).__name__}: expected one class; forget them one after the other")
    refuse_mixed_labels(np.asarray([label]), classes, "label")
    places = np.flatnonzero(classes == label)
    if not len(places):
        some = ", ".join(map(format_value, classes.tolist()[:5])) + (", …" if len(classes) > 5 else "")
        raise ValueError(f"label={format_value(label)} is no class of this {owner}: expected one of {some}")
    return int(places[0])


def refuse_known_classes(labels: Labels, classes: Labels) -> None:
    """Raise an error if a label is a class already."""
    repeated_labels = np.intersect1d(labels, classes)
    if len(repeated_labels):
        name = format_value(repeated_labels.tolist()[0])
        raise ValueError(
            f"y holds {name}, which is a class already: extend=True adds the examples to it, forget({name}) makes room "
            "for others"
        )

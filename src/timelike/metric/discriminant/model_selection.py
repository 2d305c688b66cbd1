"""Selection of the options of `Discriminant` on held-out classes: the weight of class directions, and shrinkage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import rankdata

from ..targets import balanced_subset
from .principal_axes import Floats
from .scatter import all_directions, class_center, class_directions, class_scatter, normalize_rows

_N_ROUNDS = 4  # each holds out some classes
_MAX_SEQUENCES = 600  # sequences used for the selection
_MIN_CLASSES = 2  # minimum number of training classes and of held-out classes


class DiscriminantOptions(NamedTuple):
    """The selected options: the weight of class directions in squared distances, and the shrinkage of the scatter."""

    share: float
    shrinkage: float


def select_options(
    coordinates: Floats,
    codes: NDArray[np.int64],
    choices: Iterable[DiscriminantOptions],
    most: int,
    rng: np.random.Generator,
) -> DiscriminantOptions | None:
    """The choice that best separates pairs within held-out classes from other pairs; None for too few classes.

    The score is the mean area under the ROC curve over rounds that each hold out a third of the classes.
    """
    every, round_scores = list(choices), []
    if len(every) == 1:
        return every[0]
    for held_out in _held_out_masks(codes, rng):
        round_scores.append(
            _score_options(
                coordinates[~held_out], codes[~held_out], coordinates[held_out], codes[held_out], every, most
            )
        )
    return every[int(np.argmax(np.mean(round_scores, axis=0)))] if round_scores else None


def option_grid(shares: Iterable[float], shrinkages: Iterable[float]) -> list[DiscriminantOptions]:
    """All combinations of the values.

    >>> option_grid([0.5], [0.1, 0.2])
    [DiscriminantOptions(share=0.5, shrinkage=0.1), DiscriminantOptions(share=0.5, shrinkage=0.2)]
    """
    return [DiscriminantOptions(*both) for both in product(shares, shrinkages)]


def _held_out_masks(codes: NDArray[np.int64], rng: np.random.Generator) -> Iterator[NDArray[np.bool_]]:
    """Masks that each hold out a third of the classes, each class about equally often; only classes with pairs."""
    several = np.flatnonzero(np.bincount(codes) > 1)
    size = max(_MIN_CLASSES, len(several) // 3)
    if len(several) < size + _MIN_CLASSES:
        return
    order = np.concatenate([rng.permutation(several) for _ in range(_N_ROUNDS)])
    for number in range(_N_ROUNDS):
        taken = list(dict.fromkeys(order[number * size :].tolist()))[:size]
        yield np.isin(codes, taken)


def _score_options(
    training: Floats,
    codes: NDArray[np.int64],
    held_out: Floats,
    held_codes: NDArray[np.int64],
    every: list[DiscriminantOptions],
    most: int,
) -> list[float]:
    """The area under the ROC curve of each choice, fitted on training classes and scored on held-out pairs."""
    training_subset, query_subset = (balanced_subset(some, _MAX_SEQUENCES) for some in (codes, held_codes))
    along, queries = _project_principal(training[training_subset], held_out[query_subset])
    training_codes = np.unique(codes[training_subset], return_inverse=True)[1]
    scatter = class_scatter(along, training_codes)
    queries = queries - class_center(along, training_codes)
    first, second = np.triu_indices(len(query_subset), 1)
    same = held_codes[query_subset][first] == held_codes[query_subset][second]
    variances = (along**2).mean(axis=0)
    by_class = pdist(normalize_rows(queries @ class_directions(variances, scatter)), "sqeuclidean")
    by_all = {}
    for shrinkage in {choice.shrinkage for choice in every}:
        directions = all_directions(variances, scatter, shrinkage, most)
        by_all[shrinkage] = pdist(normalize_rows(queries[:, : len(directions)] @ directions), "sqeuclidean")
    return [pair_auc(c.share * by_class + (1 - c.share) * by_all[c.shrinkage], same) for c in every]


def _project_principal(training: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Project both sets on the principal axes of the training set, which held-out items must not influence."""
    mean = training.mean(axis=0)
    left, sizes, right = np.linalg.svd(training - mean, full_matrices=False)
    significant = sizes > 1e-5 * sizes[0]
    return left[:, significant] * sizes[significant], (others - mean) @ right[significant].T


def pair_auc(distances: Floats, same: NDArray[np.bool_]) -> float:
    """The area under the ROC curve: the probability that an alike pair is nearer than another pair, ties half.

    >>> pair_auc(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    0.5
    """
    alike = int(same.sum())
    others = len(same) - alike
    ranks = rankdata(distances)
    return 1 - float((ranks[same].sum() - alike * (alike + 1) / 2) / (alike * others))

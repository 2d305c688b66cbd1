"""Clusters scored beside classes: mutual information, the Rand index, purity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .classification import opened_classes


def mutual_information(truth: Any, clusters: Any) -> float:
    """Normalized mutual information (NMI) of classes and clusters: 2 I(U; V) / (H(U) + H(V)), between 0 and 1.

    It rises with the number of clusters, also by chance (Vinh, Epps and Bailey, 2010): `adjusted_rand` does not. It is
    that of scikit-learn, 1 where both are of one part.

    Parameters
    ----------
    truth : array (item,)
        Classes, numbers or text.
    clusters : array (item,)
        The cluster of every item; what a method calls noise, −1, is one cluster like the others.

    Examples
    --------
    >>> mutual_information(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_opened(truth, clusters)))


def adjusted_rand(truth: Any, clusters: Any) -> float:
    """The adjusted Rand index (ARI): pairs on which classes and clusters agree, 0 in the mean by chance, 1 at most.

    (Hubert and Arabie, "Comparing partitions", 1985; that of scikit-learn.) Parameters are those of
    `mutual_information`.

    Examples
    --------
    >>> adjusted_rand(["a", "a", "b", "b"], [0, 1, 0, 1])
    -0.5
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_opened(truth, clusters)))


def purity(truth: Any, clusters: Any) -> float:
    """The share of items that are of the commonest class of their cluster; 1 for clusters of one item each.

    Parameters are those of `mutual_information`.

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    known, found = (np.unique(side, return_inverse=True)[1] for side in _opened(truth, clusters))
    table = np.bincount(found * (known.max() + 1) + known, minlength=(found.max() + 1) * (known.max() + 1))
    return float(table.reshape(found.max() + 1, -1).max(axis=1).sum() / len(known))


def _opened(truth: Any, clusters: Any) -> Any:
    return opened_classes(truth, clusters, ("truth", "clusters"))

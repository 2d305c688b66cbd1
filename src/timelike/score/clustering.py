"""Clustering scores: against classes (mutual information, Rand index, purity) and from distances (silhouette)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from .classification import validate_label_pair


def normalized_mutual_info(truth: Any, clusters: Any) -> float:
    """Normalized mutual information (NMI) of classes and clusters: 2 I(U; V) / (H(U) + H(V)), between 0 and 1.

    NMI rises with the number of clusters even by chance (Vinh, Epps and Bailey, 2010); `adjusted_rand` does not.
    Computed by scikit-learn: 1 for a single class and a single cluster.

    Parameters
    ----------
    truth : array (item,)
        Classes, numbers or text.
    clusters : array (item,)
        The cluster of each item; noise, −1, counts as a cluster.

    Examples
    --------
    >>> normalized_mutual_info(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(*_validate_clusters(truth, clusters)))


def adjusted_rand(truth: Any, clusters: Any) -> float:
    """The adjusted Rand index (ARI): agreement of classes and clusters on pairs, 0 on average by chance, 1 at most.

    See Hubert and Arabie, "Comparing partitions", 1985; computed by scikit-learn. Parameters are those of
    `normalized_mutual_info`.

    Examples
    --------
    >>> adjusted_rand(["a", "a", "b", "b"], [0, 1, 0, 1])
    -0.5
    """
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(*_validate_clusters(truth, clusters)))


def purity(truth: Any, clusters: Any) -> float:
    """The fraction of items in the most common class of their cluster; 1 for clusters of one item each.

    Parameters are those of `normalized_mutual_info`.

    Examples
    --------
    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(*_validate_clusters(truth, clusters))  # (class, cluster)
    return float(table.max(axis=0).sum() / table.sum())


def silhouette(distances: Any, clusters: Any, metric: Any = None) -> float:
    """The mean silhouette: near 1 for compact clusters far apart, about 0 for overlapping clusters.

    s_i = (b_i − a_i) / max(a_i, b_i), where a_i is the mean distance of item i to the others of its cluster and b_i
    that to the nearest other cluster; 0 for an item alone in its cluster (Rousseeuw, 1987). The silhouette needs no
    classes, so it can select the number of clusters; see `timelike.cluster.elbow`. It favours round clusters and is
    unsuited to those of `DBSCAN`.

    Parameters
    ----------
    distances : array (item, item), or sequences
        Distances of all pairs; with a `metric`, the sequences to compare.
    clusters : array (item,)
        The cluster of each item: at least two clusters, and fewer clusters than items. Noise, −1, counts as a cluster;
        remove it beforehand if it should not.
    metric : Metric, optional
        Any object with `pairwise`, such as `timelike.DTW()`.

    Examples
    --------
    >>> import timelike as tl
    >>> silhouette([[0, 1, 1], [0, 1], [9, 8], [9, 9, 8]], [0, 0, 1, 1], tl.DTW())
    1.0
    """
    return float(silhouette_samples(distances, clusters, metric).mean())


def silhouette_samples(distances: Any, clusters: Any, metric: Any = None) -> NDArray[np.float64]:
    """The silhouette of each item, (item,): low between clusters, negative for items nearer to another cluster.

    Parameters are those of `silhouette`.

    Examples
    --------
    >>> silhouette_samples([[0, 1, 4], [1, 0, 4], [4, 4, 0]], [0, 0, 1])
    array([0.75, 0.75, 0.  ])
    """
    from sklearn import metrics

    matrix = _validate_distances(distances, metric)
    codes = _encode_clusters(clusters, len(matrix))
    np.fill_diagonal(matrix, 0)  # scikit-learn requires it; under some metrics d(x, x) > 0
    return np.asarray(metrics.silhouette_samples(matrix, codes, metric="precomputed"))


def _validate_distances(distances: Any, metric: Any) -> NDArray[np.float64]:
    """A new distance matrix; distances of an asymmetric metric are from row to column."""
    if metric is not None:
        if not callable(getattr(metric, "pairwise", None)):
            raise TypeError(f"metric={metric!r:.80}: expected a Metric such as timelike.DTW()")
        return np.array(metric.pairwise(distances), np.float64)
    try:
        matrix = validate_array(distances, "distances").astype(np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"distances has shape {matrix.shape}: expected (item, item), the distances of all pairs; for sequences "
            "give metric=timelike.DTW()"
        )
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError("distances holds negative or missing numbers: expected finite numbers of at least 0")
    return matrix


def _encode_clusters(clusters: Any, n_items: int) -> NDArray[np.int64]:
    """Clusters as 0, 1, …; an error unless there are at least 2 clusters and fewer clusters than items."""
    labels = validate_labels(clusters, "clusters", "cluster")
    if labels.shape != (n_items,):
        raise ValueError(f"clusters has shape {labels.shape}: expected one cluster for each of {n_items} items")
    distinct, codes = np.unique(labels, return_inverse=True)
    if not 2 <= len(distinct) < n_items:
        raise ValueError(
            f"clusters holds {len(distinct)} different ones for {n_items} items: expected at least 2, and fewer than "
            "there are items"
        )
    return np.asarray(codes, np.int64)


def _validate_clusters(truth: Any, clusters: Any) -> Any:
    return validate_label_pair(truth, clusters, ("truth", "clusters"))

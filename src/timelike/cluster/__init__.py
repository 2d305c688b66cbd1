"""Clustering of sequences under any metric."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .agglomerative import Agglomerative as Agglomerative
    from .cluster_number import Elbow as Elbow, elbow as elbow
    from .dbscan import DBSCAN as DBSCAN
    from .hdbscan import HDBSCAN as HDBSCAN
    from .kmeans import KMeans as KMeans
    from .kmedoids import KMedoids as KMedoids
    from .spectral import Spectral as Spectral

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("KMeans", "KMedoids"))

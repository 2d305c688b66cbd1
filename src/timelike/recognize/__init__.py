"""Sequences, maybe labels → a decision."""

from .clustering import KMeans, KMedoids
from .kernels import ElasticKernel
from .neighbors import Neighbors, NeighborsRegressor

__all__ = ["ElasticKernel", "KMeans", "KMedoids", "Neighbors", "NeighborsRegressor"]

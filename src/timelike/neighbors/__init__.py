"""Nearest-neighbour classification and regression, voting windows, kernels from distances, examples of neighbours."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .elastic_kernel import ElasticKernel as ElasticKernel
    from .estimators import Neighbors as Neighbors, NeighborsRegressor as NeighborsRegressor
    from .examples import (
        NeighborExample as NeighborExample,
        NeighborExamples as NeighborExamples,
        neighbor_examples as neighbor_examples,
    )
    from .windowed import WindowedClassifier as WindowedClassifier

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("Neighbors", "NeighborsRegressor"))

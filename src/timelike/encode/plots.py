"""Scatter plot of an encoder's vectors, reduced to two dimensions by PCA or by a given method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..plotting import embeddings
from ..sequences import Sequences
from ..sequences.validation import validate_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .base import Encoder


def plot_embedding(encoder: Encoder, sequences: Sequences, y: Any, reducer: Any, dark: bool) -> Figure:
    """A scatter plot of vectors as distances compare them; see `Encoder.plot`."""
    if len(sequences) == 0:
        raise ValueError("X holds no sequences: expected at least one")
    labels = sequences.labels if y is None else validate_targets(encoder, sequences, y, "label")
    vectors = encoder._to_euclidean(encoder.encode(sequences))
    places, names = reduce_to_plane(vectors, reducer)
    count = f"{len(sequences)} sequence{'' if len(sequences) == 1 else 's'}"
    title = f"{count}, {type(encoder).__name__}"
    return embeddings.plot_points(places, labels, axes_names=names, title=title, dark=dark)


def reduce_to_plane(vectors: NDArray[Any], reducer: Any = None) -> tuple[NDArray[np.float64], tuple[str, str]]:
    """Positions in the plane, by PCA or by the reducer of the user, and the names of the axes."""
    if reducer is None:
        places, (first, second) = embeddings.principal_components(vectors)
        return places, (f"direction 1, {first:.0%} of the variance", f"direction 2, {second:.0%}")
    if isinstance(reducer, type) or not callable(getattr(reducer, "fit_transform", None)):
        raise TypeError(f"reducer={reducer!r:.80}: expected None, or an object with fit_transform, such as TSNE()")
    places = np.asarray(reducer.fit_transform(vectors), np.float64)
    if places.shape != (len(vectors), 2) or not np.isfinite(places).all():
        raise ValueError(
            f"reducer={reducer!r:.80} returned an array {places.shape}: expected ({len(vectors)}, 2), all finite"
        )
    return places, ("", "")

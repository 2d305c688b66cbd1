"""Scatter plot of the vectors of sequences around the prototypes of their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.preprocessing import normalize

from ..encode.plots import reduce_to_plane
from ..plotting import embeddings
from ..sequences import Sequences
from ..sequences.validation import validate_targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .estimator import Prototypes


def plot_prototypes(model: Prototypes, sequences: Sequences, y: Any, reducer: Any, dark: bool) -> Figure:
    """The directions of vectors, which the cosine compares, and of the prototypes; see `Prototypes.plot`."""
    if len(sequences) == 0:
        raise ValueError("X holds no sequences: expected at least one")
    is_labelled = y is not None or sequences.labels is not None
    labels = validate_targets(model, sequences, y, "class") if is_labelled else model.predict(sequences)
    classes = model.classes_[model.owners_]
    if labels.dtype.kind == "f" or labels.dtype.kind != classes.dtype.kind:  # numbers would be shades
        labels, classes = labels.astype(str), classes.astype(str)
    directions = normalize(np.concatenate([model.encode(sequences), model.prototypes_]).astype(np.float64))
    places, names = reduce_to_plane(directions, reducer)
    n = len(sequences)
    return embeddings.plot_points(
        places[:n],
        labels,
        centers=(places[n:], classes),
        axes_names=names,
        title=f"{n} sequence{'' if n == 1 else 's'}, {len(places) - n} prototypes",
        dark=dark,
    )

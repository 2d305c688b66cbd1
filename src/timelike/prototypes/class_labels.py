"""Checks of labels against the classes of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value

Labels = NDArray[Any]


def refuse_mixed_labels(labels: Labels, classes: Labels, name: str) -> None:
    """Raise an error if one of the two is text and the other numbers."""
    if (labels.dtype.kind == "U") != (classes.dtype.kind == "U"):  # as text, 1 would be "1"
        known, other = classes.tolist()[0], labels.tolist()[0]
        raise TypeError(
            f"{name}: {other!r} is given, and the classes so far are like {known!r}: expected the same kind"
        )


def match_label_dtype(labels: Labels, classes: Labels, name: str) -> Labels:
    """Labels of the same kind as the classes, in the dtype of these if they are numbers."""
    refuse_mixed_labels(labels, classes, name)
    if labels.dtype.kind == "U" or labels.dtype == classes.dtype:
        return labels
    converted = labels.astype(classes.dtype)
    if (converted != labels).any():
        odd = labels[converted != labels].tolist()[0]
        raise TypeError(f"{name}: {odd!r} is given, and the classes so far are {classes.dtype} numbers: expected such")
    return converted


def encode_labels(labels: Labels, classes: Labels, owner: str) -> NDArray[np.int64]:
    """The position of every label among the classes; `owner` names the model in errors."""
    refuse_mixed_labels(labels, classes, "y")
    places = np.searchsorted(classes, labels)
    missing = labels[classes[np.minimum(places, len(classes) - 1)] != labels]
    if len(missing):
        raise ValueError(
            f"y holds {format_value(missing.tolist()[0])}, which is no class of this {owner}: enroll it, or give such "
            "examples as unknown"
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
    known = np.intersect1d(labels, classes)
    if len(known):
        name = format_value(known.tolist()[0])
        raise ValueError(
            f"y holds {name}, which is a class already: extend=True adds the examples to it, forget({name}) makes room "
            "for others"
        )

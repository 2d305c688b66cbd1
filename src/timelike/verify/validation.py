"""Input validation of `Verifier`: identities, entries and rates, and a warning about known classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float, format_value
from ..core.validation.labels import validate_labels
from ..core.warnings import find_stack_level
from ..models.base import Model
from ..score.calibration import CalibrationWarning

Identity = str | int


def validate_identity(value: Any, enrolled: dict[Identity, Any], call: str) -> Identity:
    """A name or a whole number, of the same kind as the enrolled ones: 1 and "1" would be two identities."""
    if value is None:
        raise TypeError(f"{call}: identity is missing; expected a name such as 'anna', or a whole number")
    if isinstance(value, list | tuple) or np.ndim(value) > 0:
        raise TypeError(
            f"identity holds {len(value)} entries: expected one name or whole number a call; enroll several in a loop, "
            "for name in np.unique(y): enroll(X[y == name], name)"
        )
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise TypeError(f"identity={value!r:.60}: expected a name or a whole number")
    name = str(value) if isinstance(value, str) else int(value)
    mismatch = next((other for other in enrolled if isinstance(other, str) != isinstance(name, str)), None)
    if mismatch is not None:
        raise TypeError(
            f"identity={format_value(name)}: others, such as {format_value(mismatch)}, are of another kind; expected "
            "all names or all numbers"
        )
    return name


def validate_entries(value: Any, name: str, n_items: int) -> NDArray[Any]:
    """Numbers or strings, one for each sequence."""
    entries = validate_labels(value, name, "entry")
    if entries.shape != (n_items,):
        raise ValueError(f"{name} has shape {entries.shape} for {n_items} sequences: expected one entry each")
    return entries


def check_rate(value: Any, name: str) -> float:
    """A rate strictly between 0 and 1."""
    if check_float(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a fraction between 0 and 1, such as 0.01")
    return float(value)


def refuse_swapped_arguments(first: Any, call: str) -> None:
    """Raise an error if the identity is given before the sequences."""
    if isinstance(first, str | int | np.integer):
        raise TypeError(f"{call}: the sequences come first, then the identity; {str(first)!r:.60} came first")


def warn_known_classes(metric: Any, labels: NDArray[Any]) -> None:
    """Warn if the metric was fitted on classes with the same names as calibration identities.

    Whether they are the same is unknown: different people may have the same number.
    """
    shared_names = learned_classes(metric) & set(labels.tolist())
    if not shared_names:
        return
    how_many = "all" if shared_names == set(labels.tolist()) else f"{len(shared_names)} of the"
    first = next(label for label in labels.tolist() if label in shared_names)
    warnings.warn(
        f"y holds {first!r}: {how_many} {len(np.unique(labels))} identities have the names of classes that the metric "
        "was fitted on. If these are the same identities, it distinguishes them better than new ones, and accepts "
        "more of these than false_accept: fit and calibrate with different identities. If they are others with the "
        "same names, give them names of their own",
        CalibrationWarning,
        stacklevel=find_stack_level(),
    )


def learned_classes(model: Any) -> set[Any]:
    """The classes that a model, or a model inside it, was fitted on."""
    own_classes = getattr(model, "trained_classes_", getattr(model, "classes_", ()))
    classes = set(np.asarray(own_classes).tolist())
    for name, value in getattr(model, "__dict__", {}).items():
        if name.endswith("_"):
            for part in value if isinstance(value, list | tuple) else (value,):
                classes |= learned_classes(part) if isinstance(part, Model) else set()
    return classes

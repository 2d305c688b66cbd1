"""Checks of what a `Verifier` is given: one sequence or several, an identity, a share; and its `Decision`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences, as_one, as_sequences
from ...sequences.arguments import real, shown
from ...sequences.doors import count_axes, read_labels
from ..decision import Decision

Identity = str | int


def one_or_several(value: Any, frame: tuple[int, ...], name: str) -> tuple[Sequences, bool]:
    """The sequences, and whether it was a single one: with the frames known, the number of axes tells.

    With one channel, a list of plain sequences is several; (time, 1) is one.

    >>> one_or_several([0.0, 1.0, 2.0], (1,), "x")[1], one_or_several([[0.0, 1.0], [2.0]], (1,), "x")[1]
    (True, False)
    """
    if isinstance(value, Sequences):
        return value, False
    if isinstance(value, list | tuple) and not value:
        raise ValueError(f"{name} is empty: expected at least one sequence")
    axes = count_axes(value)
    plain = frame == (1,) and axes == 2 and not all(np.size(step) == 1 for step in value)
    if axes > 1 + len(frame) or plain:
        return as_sequences(value, name), False
    return as_one(value, name), True


def checked_identity(value: Any, enrolled: dict[Identity, Any], call: str) -> Identity:
    """A name or a number, of the kind that the others are: 1 and "1" would be two."""
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
    odd = next((one for one in enrolled if isinstance(one, str) != isinstance(name, str)), None)
    if odd is not None:
        raise TypeError(
            f"identity={shown(name)}: others, such as {shown(odd)}, are of another kind; expected all names or "
            "all numbers"
        )
    return name


def one_each(given: Any, name: str, n_items: int) -> NDArray[Any]:
    """Numbers or words, one for each sequence."""
    known = read_labels(given, name, "entry")
    if known.shape != (n_items,):
        raise ValueError(f"{name} has shape {known.shape} for {n_items} sequences: expected one entry each")
    return known


def share(value: Any, name: str) -> float:
    """A rate between 0 and 1, neither of them."""
    if real(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a share between 0 and 1, such as 0.01")
    return float(value)


def refuse_swapped(first: Any, call: str) -> None:
    """An error where the identity comes first: sequences do."""
    if isinstance(first, str | int | np.integer):
        raise TypeError(f"{call}: the sequences come first, then the identity; {str(first)!r:.60} came first")


def decided(scores: Any, threshold: Any, identity: Any = None) -> Decision:
    """Of one score, or of many; whoever is accepted is the identity."""
    if np.ndim(scores) == 0:
        yes = bool(scores >= threshold)
        return Decision(yes, float(scores), float(threshold), identity if yes else None)
    accepted = scores >= threshold
    who = None if identity is None else np.array([identity if yes else None for yes in accepted], dtype=object)
    return Decision(accepted, scores, np.broadcast_to(threshold, scores.shape).copy(), who)

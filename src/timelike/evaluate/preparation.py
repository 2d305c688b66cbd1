"""Preparation steps before a method: fitted on the training part of a fold, applied to both parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from ..align import Metric
from ..prepare import Interpolate
from ..sequences import Sequences
from ..sequences.validation import validate_sequences


def parse_prepare(prepare: Any) -> tuple[Any, ...]:
    """The steps of the argument `prepare`: None, a transformer, or several.

    >>> parse_prepare(Interpolate())
    (Interpolate(),)
    """
    if prepare is None:
        return ()
    steps = tuple(prepare) if isinstance(prepare, list | tuple) else (prepare,)
    for step in steps:
        if isinstance(step, type) or not (hasattr(step, "fit") and hasattr(step, "transform")):
            raise TypeError(
                f"prepare has {step!r:.80}: expected a transformer such as timelike.prepare.Interpolate(), or a list "
                "of them"
            )
    return steps


def takes_missing(model: Any) -> bool:
    """Whether a method allows missing values (NaN)."""
    if isinstance(model, BaseEstimator):
        return bool(get_tags(model).input_tags.allow_nan)
    return isinstance(model, Metric) and model._takes_missing()


class PreparedParts(NamedTuple):
    """Fitted steps, and sequences as they left them; whether missing values were interpolated on the way."""

    steps: tuple[Any, ...]
    parts: tuple[Sequences, ...]
    interpolated: bool


def prepare_parts(
    first: Iterable[Any], last: Iterable[Any], model: Any, y: NDArray[Any], *parts: Sequences
) -> PreparedParts:
    """Steps fitted on the first part and applied to all: those of the caller, `first`, and the method's own, `last`.

    Values that are still missing in between are interpolated where the method, or a step of its own, cannot take them.
    """
    own = tuple(last)
    found = _apply_steps((), first, y, parts)
    has_gaps = any(part.has_missing for part in found.parts) and (bool(own) or not takes_missing(model))
    if has_gaps:
        found = _apply_steps(found.steps, (Interpolate(),), y, found.parts)
    return _apply_steps(found.steps, own, y, found.parts)._replace(interpolated=has_gaps)


def _apply_steps(
    done: tuple[Any, ...], steps: Iterable[Any], y: NDArray[Any], parts: tuple[Sequences, ...]
) -> PreparedParts:
    for step in steps:
        fitted = clone(step).fit(parts[0], y)
        parts = tuple(_restore_metadata(validate_sequences(fitted.transform(part)), part, step) for part in parts)
        done = (*done, fitted)
    return PreparedParts(done, parts, False)


def _restore_metadata(made: Sequences, part: Sequences, step: Any) -> Sequences:
    """What a step made, with the ids and groups of what it was given."""
    if len(made) != len(part):
        raise ValueError(
            f"prepare: {step!r:.80} makes {len(made)} sequences of {len(part)}: expected one of each; for windows give "
            "an estimator that votes, such as neighbors.WindowedClassifier"
        )
    return made.replace(ids=part.ids, groups=part.groups)

"""What every estimator of a learned distance does at its doors."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..align import Metric
from ..sequences import Sequences
from ..sequences.moments import Moments
from ..sequences.reading import read, read_targets
from ..train import Savable


class MetricEstimator(Savable, BaseEstimator, Metric):  # type: ignore[misc]
    """A distance that is fitted: sequences and classes are read, and what does not fit what was learned is refused."""

    moments_: Moments
    classes_: NDArray[Any]

    __repr__ = BaseEstimator.__repr__

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, and the options of those that are values, such as `aligner__gamma` and `loss__margin`."""
        own: dict[str, Any] = super().get_params(deep=deep)
        for name, value in list(own.items()) if deep else ():
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                own |= {f"{name}__{field.name}": getattr(value, field.name) for field in dataclasses.fields(value)}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an option of a value puts a new value in its place."""
        for name in [name for name in params if "__" in name]:
            outer, _, option = name.partition("__")
            value = params.get(outer, getattr(self, outer, None))
            if isinstance(value, str):
                raise ValueError(
                    f"{name}={params[name]!r}: {outer}={value!r} is a word, and words have no options: give {outer} as "
                    "a value first, such as loss=losses.Triplet(margin=0.3) or aligner=tl.SoftDTW(gamma=0.1)"
                )
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                if option not in {field.name for field in dataclasses.fields(value)}:
                    known = ", ".join(field.name for field in dataclasses.fields(value))
                    raise ValueError(f"{outer} has no option {option!r}: {type(value).__name__} has {known}")
                params[outer] = dataclasses.replace(value, **{option: params.pop(name)})
        super().set_params(**params)
        return self

    def _read(self, X: Any) -> Sequences:
        sequences = read(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected some of two classes or more")
        sequences.refuse_missing(type(self).__name__, "X")
        return sequences

    def _classes(self, sequences: Sequences, y: Any) -> NDArray[np.int64]:
        """The class of every sequence, as a number."""
        labels = read_targets(self, sequences, y, "class")
        self.classes_, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            pairs = (
                "; without classes, fit_pairs(X, pairs, same) learns from pairs" if hasattr(self, "fit_pairs") else ""
            )
            raise ValueError(
                f"y holds one class, {self.classes_.tolist()[0]!r}: a distance is learned from two or more{pairs}"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return classes.astype(np.int64)

    def _no_classes(self) -> None:
        """What was learned has no classes: those of an earlier fit must not stay."""
        if hasattr(self, "classes_"):
            del self.classes_

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        self._require_fitted()
        super()._refuse(x, y, names)
        expected = self.moments_.mean.shape
        if x.frame != expected:
            raise ValueError(
                f"{names[0]} has frames of shape {x.frame}: this {type(self).__name__} was fitted on {expected}; "
                'an array (item, channel, time) needs Sequences(data, layout="nct")'
            )
        for side, name in zip((x, y), names, strict=True):
            if side is not None and side.frame == expected:
                self.moments_.refuse(side, name)

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} has learned nothing yet: call fit(X, y) first, or load a model"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "moments_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags

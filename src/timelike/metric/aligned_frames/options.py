"""Options of AlignedFrames and TAP that are more than a number or a word: the aligner, and the augmentation."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from ...align import Aligner
from ...core.parameters import check_choice
from ...models import options
from ...sequences.augment import Augmentation
from .network import ALIGNER_LAYERS


def check_aligner(value: Any, name: str, words: tuple[str, ...]) -> Any:
    """A word, an aligner that has a layer with a gradient, or a module."""
    if is_module(value) or isinstance(value, tuple(ALIGNER_LAYERS)):
        return value
    if isinstance(value, Aligner):
        known = ", ".join(f"tl.{kind.__name__}" for kind in ALIGNER_LAYERS)
        raise ValueError(
            f"{name}={value!r} has no gradient: expected a module or one of {', '.join(map(repr, words))}, {known}"
        )
    return check_choice(value, name, words)


def is_module(aligner: Any) -> bool:
    """Whether it is a module of the caller's own."""
    return isinstance(aligner, nn.Module)


def aligner_option(words: tuple[str, ...]) -> options.Option[Any]:
    """An estimator's option `aligner`, one of these words among others."""
    return options.Option(
        lambda value, name: check_aligner(value, name, words),
        to_text=lambda value: type(value).__name__ if is_module(value) else repr(value),
    )


def check_augment(value: Any, name: str) -> bool | Augmentation:
    """Whether there is an augmentation, or which."""
    if isinstance(value, Augmentation):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError(
        f"{name}={value!r}: expected True, False, or an augmentation of timelike.sequences.augment, such as "
        "Merge(even=True) or choose([Blur(), TimeWarp()])"
    )

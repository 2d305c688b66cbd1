"""Augmentations that return the new values and their true alignment with the old ones.

**The alignment** is always one plain array (new_time, old_time), float64: row i holds the weights of the old steps in
the new step i. Weights are at least 0, rows sum to 1, and they move forward (each row's cumulative sum is nowhere
above that of the row before). It is the training target of TAP.

For `Blur`, `Merge`, `TimeWarp` and `RandomCrop` the new values *are* `alignment @ x`. `Jitter` and `RandomScaling`
change values, not time: their alignment is the identity and the values differ from `alignment @ x` by the noise or the
factors.

A new value is missing (NaN) if any old value with a weight in it is missing. The alignment is dense: for two sequences
of 10 000 steps it takes 800 MB.
"""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .augmentations import (
        Augmentation as Augmentation,
        AugmentedArray as AugmentedArray,
        AugmentedSequences as AugmentedSequences,
        Blur as Blur,
        Compose as Compose,
        Jitter as Jitter,
        Merge as Merge,
        RandomChoice as RandomChoice,
        RandomCrop as RandomCrop,
        RandomScaling as RandomScaling,
        TimeWarp as TimeWarp,
        choose as choose,
        compose as compose,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

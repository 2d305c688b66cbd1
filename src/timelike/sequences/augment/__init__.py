"""Augmentations that return the new values and their true alignment with the old ones.

**The alignment** is always one plain array (new_time, old_time), float64: row i says of which old steps, in which
shares, the new step i is made. Rows are at least 0 and sum to 1, and they move forward (each row's cumulative sum is
nowhere above that of the row before). It is what TAP is trained towards.

For `Blur`, `Merge`, `TimeWarp` and `RandomCrop` the new values *are* `alignment @ x`. `Jitter` and `RandomScaling`
change values, not time: their alignment is the identity and the values differ from `alignment @ x` by the noise or the
factors.

A value is missing (NaN) where any old value that has a share in it is. The alignment is dense: two sequences of 10 000
steps make one of 800 MB.
"""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import (
        Augmentation as Augmentation,
        AugmentedArray as AugmentedArray,
        AugmentedSequences as AugmentedSequences,
        Compose as Compose,
        RandomChoice as RandomChoice,
        choose as choose,
        compose as compose,
    )
    from .pointwise import Jitter as Jitter, RandomScaling as RandomScaling
    from .temporal import Blur as Blur, Merge as Merge, RandomCrop as RandomCrop, TimeWarp as TimeWarp

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

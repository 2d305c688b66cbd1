"""Generators of synthetic data with known ground truth: warps, positions, modes, energies.

Every generator accepts `random_state` (None, an integer or a `numpy.random.Generator`) and returns a named record whose
first field is the `Sequences`; the point-cloud problems return two plain arrays (n, 2).
"""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .clouds import Clouds as Clouds, densities as densities, eight_gaussians as eight_gaussians, letters as letters
    from .digits import MovingDigits as MovingDigits, moving_digits as moving_digits
    from .fields import Heat as Heat, Waves as Waves, heat as heat, waves as waves
    from .pendulums import Pendulum as Pendulum, pendulum as pendulum
    from .rasterization import rasterize_digits as rasterize_digits
    from .warped_prototypes import WarpedSequences as WarpedSequences, warped_sequences as warped_sequences

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

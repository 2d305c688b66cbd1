"""Problems made by code from a seed, each with what is true about it: warps, positions, modes, energies.

Every generator takes `random_state` (None, an integer or a `numpy.random.Generator`) and gives a named record whose
first field is the `Sequences`; the point-cloud problems give two plain arrays (n, 2).
"""

from .clouds import Clouds, densities, eight_gaussians, letters
from .digits import MovingDigits, draw_digits, moving_digits
from .fields import Heat, Waves, heat, waves
from .pendulums import Pendulum, pendulum
from .prototypes import Warped, warped

__all__ = [
    "Clouds",
    "Heat",
    "MovingDigits",
    "Pendulum",
    "Warped",
    "Waves",
    "densities",
    "draw_digits",
    "eight_gaussians",
    "heat",
    "letters",
    "moving_digits",
    "pendulum",
    "warped",
    "waves",
]

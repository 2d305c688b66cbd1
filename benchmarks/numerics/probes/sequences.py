"""Problems that the library draws."""

from __future__ import annotations

import numpy as np

from benchmarks.numerics.probes.small_data import Outputs, pictures, summarize
from timelike.sequences import generate


def generators() -> Outputs:
    """Waves, bars that cool, pendulums, moving digits and warped signals."""
    shown = pictures(6, 1, size=28)[:, 0, 0]
    digits = generate.moving_digits(
        3, 6, digits=(shown, np.arange(6)), size=32, n_digits=2, stochastic=True, random_state=0
    )
    pendulum = generate.pendulum(3, 8, torque=2.0, damping=0.5, observe="picture", size=8, random_state=0)
    heat = generate.heat(3, 6, size=8, interval=0.002, highest=3, random_state=0)
    return {
        "waves": summarize(np.stack(list(generate.waves(2, 40, border="fixed", pixels=10, random_state=0).sequences))),
        "heat": summarize(np.stack(list(heat.sequences))),
        "pendulum": summarize(np.stack(list(pendulum.sequences))),
        "pendulum, states": summarize(pendulum.states),
        "free pendulum": summarize(
            generate.pendulum(3, 8, rod=0.7, angle=(0.5, 2.0), interval=0.15, random_state=0).states
        ),
        "digits": summarize(np.stack(list(digits.sequences))),
        "drawn digits": summarize(generate.rasterize_digits(digits.patches, digits.positions, size=32)),
    }

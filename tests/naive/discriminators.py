"""Discriminators of infinite width, trained by Euler's steps over items, one at a time, straight from eq. 6.9.

∂_t f(z) = mean of a′(f(x)) k(x, z) over fake − mean of b′(f(y)) k(y, z) over real. A point z is carried along beside
the items, so nothing is known of weights, of matrices or of their functions.
"""

import math


def sigma(f):
    return 1 / (1 + math.exp(-f))


LOSSES = {  # a′ and b′
    "ipm": (lambda f: 1.0, lambda f: 1.0),
    "lsgan": (lambda f: -2 * (f + 1), lambda f: 2 * (f - 1)),
    "vanilla": (lambda f: -sigma(f), lambda f: -(1 - sigma(f))),
    "hinge": (lambda f: -1.0 if f > -1 else 0.0, lambda f: -1.0 if f < 1 else 0.0),
}


def trained(kernel, fake, real, points, *, loss, time, steps, initial=lambda z: 0.0):
    """f at points after as many steps of Euler's."""
    rise, fall = LOSSES[loss]
    places = [*fake, *real, *points]
    f = [initial(place) for place in places]
    pairs = [[kernel(one, other) for other in [*fake, *real]] for one in places]
    for _ in range(steps):
        pushes = [rise(f[i]) / len(fake) for i in range(len(fake))]
        pushes += [-fall(f[len(fake) + j]) / len(real) for j in range(len(real))]
        moves = [sum(push * k for push, k in zip(pushes, row, strict=True)) for row in pairs]
        f = [value + time / steps * move for value, move in zip(f, moves, strict=True)]
    return f[len(fake) + len(real) :]

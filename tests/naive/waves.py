"""The wave equation as plain as the scheme: one cell, one step, one sequence at a time."""

import math

WEIGHTS = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}


def disc(size, radius):
    """Cells nearer to the middle than the radius."""
    middle = size // 2
    return {(i, j) for i in range(size) for j in range(size) if (i - middle) ** 2 + (j - middle) ** 2 < radius**2}


def wave(celerity, amplitude, *, size, length, interval, decay, radius, substeps):
    """Frames (time, row, column) of nested lists, by the 3/8 rule; two rows and columns at each border stay 0."""
    source, inner = disc(size, radius), range(2, size - 2)

    def slope(t, state):
        change = {}
        for i in inner:
            for j in inner:
                bend = sum(w * (state[0][i + k][j] + state[0][i][j + k]) for k, w in WEIGHTS.items())
                force = amplitude * math.exp(-t / decay) if (i, j) in source else 0.0
                change[i, j] = state[1][i][j], celerity**2 * bend + force
        return change

    def moved(state, *changes):
        made = [[row[:] for row in part] for part in state]
        for factor, change in changes:
            for (i, j), values in change.items():
                for part, value in zip(made, values, strict=True):
                    part[i][j] += factor * value
        return made

    state = [[[0.0] * size for _ in range(size)] for _ in range(2)]
    frames, h = [], interval / substeps
    for frame in range(length):
        frames.append([row[:] for row in state[0]])
        for sub in range(substeps):
            t = frame * interval + sub * h
            k1 = slope(t, state)
            k2 = slope(t + h / 3, moved(state, (h / 3, k1)))
            k3 = slope(t + 2 * h / 3, moved(state, (h, k2), (-h / 3, k1)))
            k4 = slope(t + h, moved(state, (h, k1), (-h, k2), (h, k3)))
            state = moved(state, (h / 8, k1), (3 * h / 8, k2), (3 * h / 8, k3), (h / 8, k4))
    return frames

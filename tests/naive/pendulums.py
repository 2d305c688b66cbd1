"""The picture of a pendulum's bob, summed from many points in every pixel."""

import math


def picture(angle, *, size, reach=1.0, points=24):
    """Rows of pixels of a spot exp(−r²/2s²), s = size/16, whose middle hangs `reach` · 5/16 of the picture from the centre."""
    spread, arm = size / 16, reach * size * 5 / 16
    down, across = size / 2 + arm * math.cos(angle), size / 2 + arm * math.sin(angle)
    inside = [(k + 0.5) / points for k in range(points)]
    rows = []
    for i in range(size):
        row = []
        for j in range(size):
            light = 0.0
            for a in inside:
                for b in inside:
                    light += math.exp(-((i + a - down) ** 2 + (j + b - across) ** 2) / (2 * spread**2))
            row.append(light / points**2)
        rows.append(row)
    return rows

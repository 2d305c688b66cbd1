"""Rocket as its formula says: one window after the other, one tap after the other."""

from itertools import combinations

import numpy as np

KERNELS = list(combinations(range(9), 3))


def output(series, triple, dilation, t):
    """What a kernel makes of the series at t: 2 at three taps and −1 at six, 0 before the series begins."""
    total = 0.0
    for tap in range(9):
        at = t - (8 - tap) * dilation
        if at >= 0:
            total += (2.0 if tap in triple else -1.0) * float(series[at])
    return total


def seen(series, channels, difference):
    """The channels added up, less the step before where that is wanted."""
    summed = [sum(float(frame[channel]) for channel in channels if channel >= 0) for frame in series]
    if not difference:
        return summed
    return [now - before for before, now in zip([summed[0], *summed], summed, strict=False)]


def features(series, bank):
    """Shares and then longest stretches of one series (time, channel), in double precision."""
    shares, stretches, number = [], [], 0
    for place, dilation in enumerate(bank.dilations.tolist()):
        for kernel, triple in enumerate(KERNELS):
            own = seen(series, bank.channels[place, kernel % bank.channels.shape[1]].tolist(), bank.difference)
            inside = (place + kernel) % 2 == 1 and len(own) > 8 * dilation
            steps = range(8 * dilation if inside else 0, len(own))
            for _ in range(bank.counts[place, kernel]):
                above = [output(own, triple, dilation, t) > bank.thresholds[number] for t in steps]
                shares.append(sum(above) / len(above))
                stretches.append(max(len(run) for run in "".join(".x"[int(a)] for a in above).split(".")) / len(above))
                number += 1
    return np.array(shares + stretches)

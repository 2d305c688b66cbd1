"""Rocket as its formula says: one window after the other, one tap after the other."""

from itertools import combinations

import numpy as np

KERNELS = list(combinations(range(9), 3))


def output(series, triple, dilation, t, centred):
    """What a kernel makes of the series at t: 2 at three taps and −1 at six, 0 outside of the series."""
    total = 0.0
    for tap in range(9):
        at = t + (tap - 4) * dilation if centred else t - (8 - tap) * dilation
        if 0 <= at < len(series):
            total += (2.0 if tap in triple else -1.0) * float(series[at])
    return total


def seen(series, channels):
    """The channels added up."""
    return [sum(float(frame[channel]) for channel in channels if channel >= 0) for frame in series]


def features(series, bank):
    """Shares and then longest stretches of one series (time, channel), in double precision."""
    shares, stretches, number = [], [], 0
    for place, dilation in enumerate(bank.dilations.tolist()):
        for kernel, triple in enumerate(KERNELS):
            own = seen(series, bank.channels[place, kernel % bank.channels.shape[1]].tolist())
            steps = range(len(own))
            if (place + kernel) % 2 == 1 and len(own) > 8 * dilation:  # only where all taps are inside
                steps = range(4 * dilation, len(own) - 4 * dilation) if bank.centred else range(8 * dilation, len(own))
            for _ in range(bank.counts[place, kernel]):
                above = [output(own, triple, dilation, t, bank.centred) > bank.thresholds[number] for t in steps]
                shares.append(sum(above) / len(above))
                stretches.append(max(len(run) for run in "".join(".x"[int(a)] for a in above).split(".")) / len(above))
                number += 1
    return np.array(shares + stretches)

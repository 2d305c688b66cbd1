"""Distances against noise as plain as the formula: one pair at a time."""

import numpy as np


def curves(metric, sequences, labels, levels, n_repeats, rng):
    """Means (repeat, level) of the distances of all ordered pairs, of those of one class, and of those of two."""
    kinds = {
        "all_pairs": lambda a, b: True,
        "positive": lambda a, b: labels[a] == labels[b],
        "negative": lambda a, b: labels[a] != labels[b],
    }
    found = {name: np.zeros((n_repeats, len(levels))) for name in kinds}
    count = len(sequences)
    for repeat in range(n_repeats):
        white = [rng.standard_normal(np.shape(s)) for s in sequences]
        for k, level in enumerate(levels):
            noisy = [s + level * w for s, w in zip(sequences, white, strict=True)]
            for name, wanted in kinds.items():
                pairs = [(a, b) for a in range(count) for b in range(count) if a != b and wanted(a, b)]
                found[name][repeat, k] = np.mean([metric.distance(noisy[a], noisy[b]) for a, b in pairs])
    return found

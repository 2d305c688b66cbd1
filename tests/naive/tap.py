"""TAP as plain as the formulas of section 3.1, for one pair."""

import numpy as np


def distances(x, y):
    table = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            table[i, j] = np.sqrt(sum((x[i, c] - y[j, c]) ** 2 for c in range(x.shape[1])))
    return table


def positions(n, m):
    return np.array([[abs((i + 1) / n - (j + 1) / m) for j in range(m)] for i in range(n)])


def convolved(z, weight, bias):
    """z (channel, n, m), weight (output, channel, size, size); zeros beyond the border."""
    n, m, half = *z.shape[1:], weight.shape[-1] // 2
    found = np.zeros((len(weight), n, m))
    for i in range(n):
        for j in range(m):
            total = bias.copy()
            for a in range(-half, half + 1):
                for b in range(-half, half + 1):
                    if 0 <= i + a < n and 0 <= j + b < m:
                        total = total + weight[:, :, a + half, b + half] @ z[:, i + a, j + b]
            found[:, i, j] = total
    return found


def correction(table, layers, last_relu=False):
    z = np.stack([table, positions(*table.shape)])
    for number, (weight, bias) in enumerate(layers):
        z = convolved(z, weight, bias)
        if number < len(layers) - 1 or last_relu:
            z = np.maximum(z, 0)
    return z[0]


def plan(scores):
    """Softmax over the target, then all divided by their sum."""
    attention = np.empty_like(scores)
    for i, row in enumerate(scores):
        shares = np.exp(row - row.max())
        attention[i] = shares / shares.sum()
    return attention / attention.sum()


def distance(x, y, layers, last_relu=False):
    table = distances(x, y)
    return (plan(-(table + correction(table, layers, last_relu))) * table).sum()


def attention_distance(x, y, query, key, width=30, weight=50.0):
    scores = -(distances(x @ query.T, y @ key.T) / np.sqrt(width) + weight * positions(len(x), len(y)))
    return (plan(scores) * distances(x, y)).sum()


def self_attended(x, query, key, value, scale=0.1):
    """Equations 12 and 13 before the affine part of the layer norm, which starts as the identity."""
    n, d = x.shape
    wave = np.empty((n, d))
    for t in range(n):
        for c in range(d):
            angle = t / 10_000 ** ((c - c % 2) / d)
            wave[t, c] = np.cos(angle) if c % 2 else np.sin(angle)
    x = x + scale * wave
    scores = (x @ query.T) @ (x @ key.T).T / np.sqrt(d)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    found = shares / shares.sum(1, keepdims=True) @ (x @ value.T) + x
    return (found - found.mean(1, keepdims=True)) / np.sqrt(found.var(1, keepdims=True) + 1e-5)

"""Coupled GRUs as plain as the formulas: one pair, one unit at a time."""

import math


def sigmoid(a):
    return 1 / (1 + math.exp(-a))


def affine(weights, inputs, bias, unit):
    """One row of W v + b."""
    return sum(w * v for w, v in zip(weights[unit], inputs, strict=True)) + bias[unit]


def gates(p, x, h):
    """z_t and n_t of one of the two, equations 9, 12 and 13; rows of torch's weights are r, then z, then n."""
    size = len(h)
    update, new = [], []
    for k in range(size):
        r, z, n = k, size + k, 2 * size + k
        reset = sigmoid(affine(p["weight_ih"], x, p["bias_ih"], r) + affine(p["weight_hh"], h, p["bias_hh"], r))
        update.append(sigmoid(affine(p["weight_ih"], x, p["bias_ih"], z) + affine(p["weight_hh"], h, p["bias_hh"], z)))
        from_state = affine(p["weight_hh"], h, p["bias_hh"], n)
        new.append(math.tanh(affine(p["weight_ih"], x, p["bias_ih"], n) + reset * from_state))
    return update, new


def rolled(p, x, y):
    """‖h_t − h'_t‖ and c_t of every step of the longer of x (n, channel) and y (m, channel)."""
    size = len(p["bias_hc"])
    h = [[0.0] * size, [0.0] * size]
    found = []
    for t in range(max(len(x), len(y))):
        runs = [t < len(x), t < len(y)]
        total = [a + b for a, b in zip(*h, strict=True)]
        c = [sigmoid(affine(p["weight_hc"], total, p["bias_hc"], k)) if all(runs) else 0.0 for k in range(size)]
        both = [
            gates(p, side[t], state) if on else (None, None) for side, state, on in zip((x, y), h, runs, strict=True)
        ]
        following = []
        for me, other in ((0, 1), (1, 0)):
            update, new = both[me]
            if not runs[me]:
                following.append(h[me])
                continue
            blended = [(1 - c[k]) * new[k] + (c[k] * both[other][1][k] if runs[other] else 0) for k in range(size)]
            following.append([(1 - update[k]) * blended[k] + update[k] * h[me][k] for k in range(size)])
        h = following
        found.append((math.dist(*h), c))
    return found


def errors(p, x, y):
    """‖h_t − h'_t‖ after every step."""
    return [error for error, _ in rolled(p, x, y)]


def gate(p, x, y):
    """The mean of c_t over units and the steps that both have."""
    common = [c for _, c in rolled(p, x, y)][: min(len(x), len(y))]
    return sum(map(sum, common)) / (len(common) * len(common[0]))


def distance(p, x, y, sync="last"):
    found = errors(p, x, y)
    return found[-1] if sync == "last" else sum(found) / len(found)

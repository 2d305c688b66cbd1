"""Entropic transport between weighted points as plain as the formulas: one pair at a time, in the log domain."""

import math


def cost(p, q, power):
    return math.dist(p, q) ** power / power


def soft_minimum(values, weights, epsilon):
    """−ε log Σ w exp(−v/ε) over what weighs something."""
    heavy = [(v, w) for v, w in zip(values, weights, strict=True) if w > 0]
    least = min(v for v, _ in heavy)
    return least - epsilon * math.log(sum(w * math.exp((least - v) / epsilon) for v, w in heavy))


def entropic(x, y, a, b, power, epsilon, n_iter=20_000):
    """min ⟨T, C⟩ + ε KL(T ‖ a ⊗ b): potentials in turn until nothing moves, then ⟨a, f⟩ + ⟨b, g⟩."""
    f, g = [0.0] * len(x), [0.0] * len(y)
    for _ in range(n_iter):
        before = f
        f = [soft_minimum([cost(p, q, power) - v for q, v in zip(y, g, strict=True)], b, epsilon) for p in x]
        g = [soft_minimum([cost(p, q, power) - v for p, v in zip(x, f, strict=True)], a, epsilon) for q in y]
        if max(abs(new - old) for new, old in zip(f, before, strict=True)) < 1e-15:
            break
    return sum(w * v for w, v in zip(a, f, strict=True)) + sum(w * v for w, v in zip(b, g, strict=True))


def divergence(x, y, power, blur, a=None, b=None):
    """OT(x, y) − OT(x, x)/2 − OT(y, y)/2."""
    x, y = [list(map(float, p)) for p in x], [list(map(float, q)) for q in y]
    a = [1 / len(x)] * len(x) if a is None else [w / sum(a) for w in a]
    b = [1 / len(y)] * len(y) if b is None else [w / sum(b) for w in b]
    across = entropic(x, y, a, b, power, blur**power)
    return across - entropic(x, x, a, a, power, blur**power) / 2 - entropic(y, y, b, b, power, blur**power) / 2

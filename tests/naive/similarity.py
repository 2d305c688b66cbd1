"""The learned similarity as its formula says: one pair after the other, one hidden unit after the other."""


def joined(left, right, weight, slope, constant):
    """Σ_h w_h φ(l_h + r_h) + c of one pair."""
    total = float(constant)
    for w, one, other in zip(weight, left, right, strict=True):
        z = float(one) + float(other)
        total += float(w) * (z if z > 0 else slope * z)
    return total


def table(left, right, weight, slope, constant):
    """Of every pair, a list for every left row."""
    return [[joined(one, other, weight, slope, constant) for other in right] for one in left]


def perceptron(u, v, first, bias, last, slope, constant):
    """S(u, v) = w·φ(W[u; v] + b) + c of one pair of vectors."""
    pair = [*u, *v]
    hidden = [
        sum(float(w) * float(x) for w, x in zip(row, pair, strict=True)) + float(b)
        for row, b in zip(first, bias, strict=True)
    ]
    return joined(hidden, [0.0] * len(hidden), last, slope, constant)

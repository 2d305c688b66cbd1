"""Scores of forecasts as plain as their formulas: loops over items, steps and cells, NaN in the truth left out."""

import math
from itertools import product


def cells(truth):
    """Places (item, step, cell index) at which the truth has a number, by item and step."""
    found = {}
    for place in product(*map(range, truth.shape)):
        found.setdefault(place[:2], [])
        if not math.isnan(truth[place]):
            found[place[:2]].append(place)
    return found


def each(truth, value):
    """The mean of value(place) over the cells of every item and step that has any."""
    return {key: sum(map(value, places)) / len(places) for key, places in cells(truth).items() if places}


def mean(scores, keep=lambda key: True):
    kept = [score for key, score in scores.items() if keep(key)]
    return sum(kept) / len(kept)


def crps(truth, samples):
    """E|X − y| − ½ E|X − X′|, the second over pairs of different samples."""

    def one(place):
        drawn = [float(sample[place]) for sample in samples]
        away = sum(abs(x - float(truth[place])) for x in drawn) / len(drawn)
        pairs = [abs(a - b) for i, a in enumerate(drawn) for j, b in enumerate(drawn) if i != j]
        return away - (sum(pairs) / len(pairs) / 2 if pairs else 0.0)

    return each(truth, one)


def energy(truth, samples):
    found = {}
    for key, places in cells(truth).items():
        if places:
            drawn = [[float(sample[place]) for place in places] for sample in samples]
            known = [float(truth[place]) for place in places]
            pairs = [math.dist(a, b) for i, a in enumerate(drawn) for j, b in enumerate(drawn) if i != j]
            away = sum(math.dist(x, known) for x in drawn) / len(drawn)
            found[key] = away - (sum(pairs) / len(pairs) / 2 if pairs else 0.0)
    return found


def pinball(truth, quantile, q):
    def one(place):
        x, z = float(truth[place]), float(quantile[place])
        return q * (x - z) if x >= z else (1 - q) * (z - x)

    return each(truth, one)


def ssim(x, y, side=11, value_range=1.0):
    """Of two pictures (height, width): the mean over all windows inside; NaN of x has no weight and is no middle."""
    height, width = x.shape
    half = side // 2
    c1, c2 = (0.01 * value_range) ** 2, (0.03 * value_range) ** 2
    found = []
    for row, column in product(range(half, height - half), range(half, width - half)):
        if math.isnan(x[row, column]):
            continue
        weights, pairs = [], []
        for i, j in product(range(-half, half + 1), repeat=2):
            if not math.isnan(x[row + i, column + j]):
                weights.append(math.exp(-(i * i + j * j) / (2 * 1.5**2)))
                pairs.append((float(x[row + i, column + j]), float(y[row + i, column + j])))
        total = sum(weights)
        mu_x = sum(w * a for w, (a, _) in zip(weights, pairs, strict=True)) / total
        mu_y = sum(w * b for w, (_, b) in zip(weights, pairs, strict=True)) / total
        var_x = sum(w * (a - mu_x) ** 2 for w, (a, _) in zip(weights, pairs, strict=True)) / total
        var_y = sum(w * (b - mu_y) ** 2 for w, (_, b) in zip(weights, pairs, strict=True)) / total
        both = sum(w * (a - mu_x) * (b - mu_y) for w, (a, b) in zip(weights, pairs, strict=True)) / total
        found.append((2 * mu_x * mu_y + c1) * (2 * both + c2) / ((mu_x**2 + mu_y**2 + c1) * (var_x + var_y + c2)))
    return sum(found) / len(found)


def naive_scale(series, period):
    """The mean absolute change over a period of one series of numbers."""
    changes = [abs(float(b) - float(a)) for a, b in zip(series, series[period:], strict=False)]
    return sum(changes) / len(changes)

"""LPIPS and the Fréchet distance as plain as their formulas: loops over places and channels, roots of matrices."""

import numpy as np

LAYERS = ((0, 4, 2), (3, 1, 2), (6, 1, 1), (8, 1, 1), (10, 1, 1))  # number, stride and padding of a convolution


def convolved(x, weight, bias, stride, padding):
    """A picture (channel, height, width) seen through every filter, cut off at 0."""
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    side = weight.shape[-1]
    rows, columns = ((size - side) // stride + 1 for size in x.shape[1:])
    found = np.zeros((len(weight), rows, columns))
    for i in range(rows):
        for j in range(columns):
            seen = x[:, i * stride : i * stride + side, j * stride : j * stride + side]
            found[:, i, j] = [(filter_ * seen).sum() for filter_ in weight] + bias
    return np.maximum(found, 0)


def pooled(x):
    rows, columns = ((size - 3) // 2 + 1 for size in x.shape[1:])
    found = np.zeros((len(x), rows, columns))
    for i in range(rows):
        for j in range(columns):
            found[:, i, j] = x[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max(axis=(1, 2))
    return found


def activations(picture, weights):
    """Of a picture (3, height, width) in [0, 1]."""
    shift, scale = np.array([-0.030, -0.088, -0.188]), np.array([0.458, 0.448, 0.450])
    x = (2 * picture - 1 - shift[:, None, None]) / scale[:, None, None]
    found = []
    for layer, (number, stride, padding) in enumerate(LAYERS):
        if layer in (1, 2):
            x = pooled(x)
        x = convolved(x, weights[f"features.{number}.weight"], weights[f"features.{number}.bias"], stride, padding)
        found.append(x)
    return found


def lpips(a, b, weights):
    total = 0.0
    for layer, (x, y) in enumerate(zip(activations(a, weights), activations(b, weights), strict=True)):
        head = weights[f"lin{layer}.model.1.weight"].ravel()
        places = []
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                u, v = (side[:, i, j] / (np.sqrt((side[:, i, j] ** 2).sum()) + 1e-10) for side in (x, y))
                places.append((head * (u - v) ** 2).sum())
        total += np.mean(places)
    return total


def frechet(mean_x, covariance_x, mean_y, covariance_y):
    """Of two normal distributions, by a root of a matrix."""
    from scipy.linalg import sqrtm

    root = sqrtm(covariance_x)
    middle = sqrtm(root @ covariance_y @ root).real
    return ((mean_x - mean_y) ** 2).sum() + np.trace(covariance_x + covariance_y - 2 * middle)

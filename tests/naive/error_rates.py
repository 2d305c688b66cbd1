"""The equal error rate as plain as its definition: try every threshold, and look where two lines cross."""

from itertools import pairwise


def equal_error_rate(distances, same):
    """Where the line through (false accepts, false rejects) of all thresholds meets the diagonal."""
    points = [(0.0, 1.0)]
    for threshold in sorted(set(distances)):
        accepted = [distance <= threshold for distance in distances]
        wrong = [a for a, s in zip(accepted, same, strict=True) if not s]
        right = [a for a, s in zip(accepted, same, strict=True) if s]
        points.append((sum(wrong) / len(wrong), 1 - sum(right) / len(right)))
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= y0 and x1 >= y1:  # the diagonal is between the two
            part = (y0 - x0) / ((y0 - x0) + (x1 - y1))
            return x0 + part * (x1 - x0)
    raise AssertionError("the line goes from (0, 1) to (1, 0)")

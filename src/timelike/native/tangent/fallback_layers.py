"""One layer of the recursion of tangent kernels in NumPy: moments of two points for every family of activations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import SINE, SLOPE

Doubles = NDArray[np.float64]

# of the thesis, D.146: ½ + ½ erf(z / 2.402…) is the closest to the logistic function
SIGMOID_SCALE = 2.4020563531719796
NEAR_RATIO = 1 / 64  # of D to √(ab): below it a pair is near
_ROUNDING = 2.0**-52


class PointPair(NamedTuple):
    """Two points before a layer."""

    a: Doubles
    b: Doubles
    c: Doubles
    apart: Doubles
    """D = a + b − 2c."""
    change: Doubles
    """a − b."""
    snap: float
    """Rounding errors that u may be off by: below, the vectors are parallel."""
    angle: tuple[Doubles, NDArray[np.bool_]] | None = None
    """1 − cos θ or 1 + cos θ, whichever is the smaller, and whether it is the second; in a cone, see `WideNetwork`."""


class LayerMoments(NamedTuple):
    """The same after the layer, but for its weights and bias: means of φφ, of φ′φ′, and their derivatives."""

    c: Doubles
    tau: Doubles
    """E φ′φ′, which is also the derivative of c by c and that of D by D."""
    apart: Doubles
    change: Doubles
    tau_c: Doubles
    """Of tau by c; by D it is −½ of that."""
    c_x: Doubles
    """Of c by a, c fixed."""
    c_y: Doubles
    tau_x: Doubles
    tau_y: Doubles
    apart_x: Doubles
    """Of D by a, D fixed."""
    apart_y: Doubles
    near_x: Doubles
    """Of tau by a, D fixed."""
    near_y: Doubles

    def __add__(self, other: LayerMoments) -> LayerMoments:  # type: ignore[override]
        """Branches add up: each ends in weights of its own."""
        return LayerMoments(*(one + two for one, two in zip(self, other, strict=True)))


def layer_variance(family: int, slope: float, a: Doubles) -> tuple[Doubles, Doubles]:
    """E φ² of one point and its derivative by a."""
    if family == SLOPE:
        share = (1 + slope**2) / 2
        return share * a, np.full_like(a, share)
    if family == SINE:
        return -np.expm1(-2 * a) / 2, np.exp(-2 * a)
    g2 = 1 / SIGMOID_SCALE**2
    A = 2 * g2 * a
    return 0.25 + np.arcsin(A / (1 + A)) / (2 * np.pi), g2 / np.pi / ((1 + A) * np.sqrt(1 + 2 * A))


def layer_moments(family: int, slope: float, pair: PointPair) -> LayerMoments:
    """What a layer with this activation makes of a pair."""
    if family == SLOPE:
        return _slope_moments(slope, pair)
    return _sine_moments(pair) if family == SINE else _sigmoid_moments(pair)


def is_near(pair: PointPair) -> NDArray[np.bool_]:
    """Whether D tells more than c."""
    return np.asarray(pair.apart < NEAR_RATIO * (np.sqrt(pair.a) * np.sqrt(pair.b)))


def _safe_divide(number: Doubles, by: Doubles) -> Doubles:
    """The ratio, and 0 if there is none."""
    is_nonzero = by != 0
    return np.where(is_nonzero, number / np.where(is_nonzero, by, 1.0), 0.0)


def cone_angle(pair: PointPair, apart: Doubles, together: Doubles) -> tuple[Doubles, NDArray[np.bool_]]:
    """`PointPair.angle` if there is no bias, also from the squared lengths of x/‖x‖ − y/‖y‖ and x/‖x‖ + y/‖y‖."""
    r, s = np.sqrt(pair.a), np.sqrt(pair.b)
    near, cosine = is_near(pair), _safe_divide(pair.c, r * s)
    back = (cosine < 0) & ~near
    lengths = np.where(back, together, apart) / 2
    lengths = np.where(lengths <= (pair.snap * _ROUNDING) ** 2, 0.0, lengths)
    size = np.maximum(1 - np.abs(cosine), 0.0)
    far = np.where(size < NEAR_RATIO / 2, lengths, size)
    return np.where(near, np.minimum(_one_minus_cosine(pair, r, s), 1.0), far), back


def _smaller_angle(pair: PointPair, r: Doubles, s: Doubles) -> tuple[Doubles, NDArray[np.bool_]]:
    if pair.angle is not None:
        return pair.angle
    u = _one_minus_cosine(pair, r, s)
    return np.minimum(u, 2 - u), u > 1


def _one_minus_cosine(pair: PointPair, r: Doubles, s: Doubles) -> Doubles:
    """1 − cos of the angle between two vectors: from D where they are near, else from c; 1 if one of them is 0."""
    p = r * s
    q = _safe_divide(pair.change, r + s)
    near = is_near(pair)
    difference = np.where(near, _safe_divide(pair.apart - q * q, 2 * p), 1 - _safe_divide(pair.c, p))
    slack = pair.snap * _ROUNDING * np.where(near, _safe_divide(pair.apart, p), 1.0)
    return np.where(difference <= slack, 0.0, np.where(difference >= 2 - slack, 2.0, difference))


def _angle_terms(smaller: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Of 1 − cos h up to 1: h, sin h and h − sin h."""
    low, high = np.sqrt(smaller / 2), np.sqrt(1 - smaller / 2)
    half, sine = 2 * np.arcsin(low), 2 * low * high
    t = half * half
    series = half * t / 6 * (1 - t / 20 * (1 - t / 42 * (1 - t / 72 * (1 - t / 110 * (1 - t / 156 * (1 - t / 210))))))
    return half, sine, np.where(half < 0.7, series, half - sine)


def _slope_moments(slope: float, pair: PointPair) -> LayerMoments:
    """φ(z) = ½(1 + s) z + ½(1 − s) |z|: an odd and an even part, whose products have mean 0.

    What the even part makes of θ it makes of π − θ too, so that nothing cancels at opposite points either: h is the
    smaller of both.
    """
    odd, even = ((1 + slope) / 2) ** 2, ((1 - slope) / 2) ** 2
    a, b = pair.a, pair.b
    r, s = np.sqrt(a), np.sqrt(b)
    p = r * s
    smaller, back = _smaller_angle(pair, r, s)
    half, sine, late = _angle_terms(smaller)
    cosine = np.where(back, smaller - 1, 1 - smaller)
    bend = half * smaller - late  # sin h − h cos h
    one = _safe_divide(np.ones_like(sine), sine)  # 0 where vectors are parallel: what has no limit there is skipped
    q = _safe_divide(pair.change, r + s)
    sr, rs = _safe_divide(s, r), _safe_divide(r, s)
    pull = even / np.pi
    lost = 4 * pull * p * bend
    return LayerMoments(
        c=p * (np.where(back, odd - even, odd + even) * cosine + 2 * pull * bend),
        tau=np.where(back, odd - even + 2 * pull * half, odd + even - 2 * pull * half),
        apart=odd * pair.apart + even * np.where(back, q * q + 2 * p * smaller, pair.apart) - lost,
        change=(odd + even) * pair.change,
        tau_c=_safe_divide(2 * pull * one, p),
        c_x=pull * sr * sine,
        c_y=pull * rs * sine,
        tau_x=-_safe_divide(pull * cosine * one, a),
        tau_y=-_safe_divide(pull * cosine * one, b),
        apart_x=2 * pull * sr * (late + half * _safe_divide(q, s)),
        apart_y=2 * pull * rs * (late - half * _safe_divide(q, r)),
        near_x=_safe_divide(pull * (_safe_divide(q, s) + smaller) * one, a),
        near_y=_safe_divide(pull * (smaller - _safe_divide(q, r)) * one, b),
    )


def next_angle(slope: float, angle: tuple[Doubles, NDArray[np.bool_]]) -> tuple[Doubles, NDArray[np.bool_]]:
    """`PointPair.angle` after a layer of a cone: its cosine is a function of the one before, and nothing else
    changes.
    """
    odd, even = ((1 + slope) / 2) ** 2, ((1 - slope) / 2) ** 2
    smaller, back = angle
    half, _, late = _angle_terms(smaller)
    share = np.where(back, odd - even, -odd - even)
    u = (odd + even + share - share * smaller - 2 * even / np.pi * (half * smaller - late)) / (odd + even)
    return np.minimum(u, 2 - u), u > 1


def _sine_moments(pair: PointPair) -> LayerMoments:
    """Exponentials of what is never above 0, and of differences by expm1."""
    a, b, c, D, change = pair.a, pair.b, pair.c, pair.apart, pair.change
    apart = np.exp(-D / 2)
    together = np.exp(-(a + b) + D / 2)
    top = np.where(c < 0, together, apart)
    mean = np.sign(c) * top * -np.expm1(-2 * np.abs(c)) / 2
    tau = (apart + together) / 2
    least = np.exp(-2 * np.minimum(a, b))
    lost = np.expm1(-np.abs(change))

    def by(own: Doubles, more: Doubles) -> Doubles:  # e^(−2a) − e^(−(a + b) + D/2), `more` being a − b + D/2
        return np.asarray(np.where(more < 0, np.exp(-2 * own), -together) * -np.expm1(-np.abs(more)))

    return LayerMoments(
        c=mean,
        tau=tau,
        apart=-np.expm1(-D / 2) * (1 + together) - least * lost * lost / 2,
        change=np.sign(change) * least * -np.expm1(-2 * np.abs(change)) / 2,
        tau_c=mean,
        c_x=-mean / 2,
        c_y=-mean / 2,
        tau_x=-tau / 2,
        tau_y=-tau / 2,
        apart_x=by(a, change + D / 2),
        apart_y=by(b, D / 2 - change),
        near_x=-together / 2,
        near_y=-together / 2,
    )


def _sigmoid_moments(pair: PointPair) -> LayerMoments:
    """Arcsines of correlations; D after the layer from the sine of half of it, in which nothing cancels."""
    g2 = 1 / SIGMOID_SCALE**2
    A, B, C, D, change = (2 * g2 * part for part in (pair.a, pair.b, pair.c, pair.apart, pair.change))
    r, s = np.sqrt(A), np.sqrt(B)
    u = _one_minus_cosine(pair._replace(a=A, b=B, c=C, apart=D, change=change), r, s)
    gram = (r * s) ** 2 * u * (2 - u)  # AB − C²
    R = np.sqrt(1 + A + B + gram)
    P = np.sqrt((1 + A) * (1 + B))
    psi = np.arctan2(C, R)
    VA, VB = np.sqrt(1 + 2 * A), np.sqrt(1 + 2 * B)
    Z = 1 + A + B + VA * VB
    half = _safe_divide(gram + change**2 / (2 * Z), R * np.sqrt(A * B + change**2 / (2 * Z)) + C * np.sqrt(Z / 2))
    own = np.arctan2(A, VA) + np.arctan2(B, VB)
    turned = _safe_divide(change * (A + B + 2 * A * B), P * P * (A * VB + B * VA))
    near = is_near(pair)
    with np.errstate(invalid="ignore"):
        apart = np.where(near, np.arcsin(np.clip(half, -1, 1)) / np.pi, (own - 2 * psi) / (2 * np.pi))

    def by(own: Doubles, V: Doubles, more: Doubles) -> Doubles:  # 1/V − (1 + h)/R, h = A − C
        h = (more + D) / 2
        top = D + gram - 2 * h * (1 + V * V) - V * V * h * h
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(h > -1, top / (V * R * (R + V * (1 + h))), 1 / V - (1 + h) / R)
        return np.asarray(g2 / np.pi / (1 + own) * factor)

    cubed = g2 * g2 / np.pi * (1 / R) ** 3
    return LayerMoments(
        c=0.25 + psi / (2 * np.pi),
        tau=g2 / np.pi / R,
        apart=apart,
        change=np.arcsin(np.clip(turned, -1, 1)) / (2 * np.pi),
        tau_c=2 * cubed * C,
        c_x=-g2 / (2 * np.pi) * C / (R * (1 + A)),
        c_y=-g2 / (2 * np.pi) * C / (R * (1 + B)),
        tau_x=-cubed * (1 + B),
        tau_y=-cubed * (1 + A),
        apart_x=by(A, VA, change),
        apart_y=by(B, VB, -change),
        near_x=cubed * ((change - D) / 2 - 1),
        near_y=cubed * ((-change - D) / 2 - 1),
    )

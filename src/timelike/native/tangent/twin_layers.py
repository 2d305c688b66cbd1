"""What one layer does to the numbers of two points, for every family of activations, in NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import SINE, SLOPE

Doubles = NDArray[np.float64]

SPREAD = 2.4020563531719796  # of the thesis, D.146: ½ + ½ erf(z / 2.402…) is the closest to the logistic function
NEAR = 1 / 64  # of D to √(ab): below it a pair is near
_ROUNDING = 2.0**-52


class Pair(NamedTuple):
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


class Moments(NamedTuple):
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

    def __add__(self, other: Moments) -> Moments:  # type: ignore[override]
        """Branches add up: each ends in weights of its own."""
        return Moments(*(one + two for one, two in zip(self, other, strict=True)))


def variance(family: int, slope: float, a: Doubles) -> tuple[Doubles, Doubles]:
    """E φ² of one point and its derivative by a."""
    if family == SLOPE:
        share = (1 + slope**2) / 2
        return share * a, np.full_like(a, share)
    if family == SINE:
        return -np.expm1(-2 * a) / 2, np.exp(-2 * a)
    g2 = 1 / SPREAD**2
    A = 2 * g2 * a
    return 0.25 + np.arcsin(A / (1 + A)) / (2 * np.pi), g2 / np.pi / ((1 + A) * np.sqrt(1 + 2 * A))


def moments(family: int, slope: float, pair: Pair) -> Moments:
    """What a layer with this activation makes of a pair."""
    if family == SLOPE:
        return _bent(slope, pair)
    return _sine(pair) if family == SINE else _sigmoid(pair)


def is_near(pair: Pair) -> NDArray[np.bool_]:
    """Whether D tells more than c."""
    return np.asarray(pair.apart < NEAR * (np.sqrt(pair.a) * np.sqrt(pair.b)))


def _divided(number: Doubles, by: Doubles) -> Doubles:
    """The ratio, and 0 where there is none."""
    known = by != 0
    return np.where(known, number / np.where(known, by, 1.0), 0.0)


def _turn(pair: Pair, r: Doubles, s: Doubles) -> Doubles:
    """1 − cos of the angle between two vectors: from D where they are near, else from c; 1 if one of them is 0."""
    p = r * s
    q = _divided(pair.change, r + s)
    near = is_near(pair)
    found = np.where(near, _divided(pair.apart - q * q, 2 * p), 1 - _divided(pair.c, p))
    slack = pair.snap * _ROUNDING * np.where(near, _divided(pair.apart, p), 1.0)
    return np.where(found <= slack, 0.0, np.where(found >= 2 - slack, 2.0, found))


def _angle(u: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Of 1 − cos θ: h, θ or π − θ, whichever is the smaller, then sin h and h − sin h."""
    low, high = np.sqrt(np.minimum(u, 2 - u) / 2), np.sqrt(np.maximum(u, 2 - u) / 2)
    half, sine = 2 * np.arcsin(low), 2 * low * high
    t = half * half
    series = half * t / 6 * (1 - t / 20 * (1 - t / 42 * (1 - t / 72 * (1 - t / 110 * (1 - t / 156 * (1 - t / 210))))))
    return half, sine, np.where(half < 0.7, series, half - sine)


def _bent(slope: float, pair: Pair) -> Moments:
    """φ(z) = ½(1 + s) z + ½(1 − s) |z|: an odd and an even part, whose products have mean 0.

    What the even part makes of θ it makes of π − θ too, so that nothing cancels at opposite points either.
    """
    odd, even = ((1 + slope) / 2) ** 2, ((1 - slope) / 2) ** 2
    a, b = pair.a, pair.b
    r, s = np.sqrt(a), np.sqrt(b)
    p = r * s
    u = _turn(pair, r, s)
    half, sine, late = _angle(u)
    cosine, least = 1 - u, np.minimum(u, 2 - u)
    bend = half * least - late  # sin h − h cos h
    one = _divided(np.ones_like(u), sine)  # 0 where vectors are parallel: what has no limit there is left out
    q = _divided(pair.change, r + s)
    sr, rs = _divided(s, r), _divided(r, s)
    pull = even / np.pi
    return Moments(
        c=p * (np.where(u > 1, odd - even, odd + even) * cosine + 2 * pull * bend),
        tau=np.where(u > 1, odd - even + 2 * pull * half, odd + even - 2 * pull * half),
        apart=(odd + even) * pair.apart - p * (2 * even * (u - least) + 4 * pull * bend),
        change=(odd + even) * pair.change,
        tau_c=_divided(2 * pull * one, p),
        c_x=pull * sr * sine,
        c_y=pull * rs * sine,
        tau_x=-_divided(pull * cosine * one, a),
        tau_y=-_divided(pull * cosine * one, b),
        apart_x=2 * pull * sr * (late + half * _divided(q, s)),
        apart_y=2 * pull * rs * (late - half * _divided(q, r)),
        near_x=_divided(pull * (_divided(q, s) + u) * one, a),
        near_y=_divided(pull * (u - _divided(q, r)) * one, b),
    )


def _sine(pair: Pair) -> Moments:
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

    return Moments(
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


def _sigmoid(pair: Pair) -> Moments:
    """Arcsines of correlations; D after the layer from the sine of half of it, in which nothing cancels."""
    g2 = 1 / SPREAD**2
    A, B, C, D, change = (2 * g2 * part for part in (pair.a, pair.b, pair.c, pair.apart, pair.change))
    r, s = np.sqrt(A), np.sqrt(B)
    u = _turn(pair._replace(a=A, b=B, c=C, apart=D, change=change), r, s)
    gram = (r * s) ** 2 * u * (2 - u)  # AB − C²
    R = np.sqrt(1 + A + B + gram)
    P = np.sqrt((1 + A) * (1 + B))
    psi = np.arctan2(C, R)
    VA, VB = np.sqrt(1 + 2 * A), np.sqrt(1 + 2 * B)
    Z = 1 + A + B + VA * VB
    half = _divided(gram + change**2 / (2 * Z), R * np.sqrt(A * B + change**2 / (2 * Z)) + C * np.sqrt(Z / 2))
    own = np.arctan2(A, VA) + np.arctan2(B, VB)
    turned = _divided(change * (A + B + 2 * A * B), P * P * (A * VB + B * VA))
    near = is_near(pair)
    with np.errstate(invalid="ignore"):
        apart = np.where(near, np.arcsin(np.clip(half, -1, 1)) / np.pi, (own - 2 * psi) / (2 * np.pi))

    def by(own: Doubles, V: Doubles, more: Doubles) -> Doubles:  # 1/V − (1 + h)/R, h = A − C
        h = (more + D) / 2
        top = D + gram - 2 * h * (1 + V * V) - V * V * h * h
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(h > -1, top / (V * R * (R + V * (1 + h))), 1 / V - (1 + h) / R)
        return np.asarray(g2 / np.pi / (1 + own) * found)

    cubed = g2 * g2 / np.pi * (1 / R) ** 3
    return Moments(
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

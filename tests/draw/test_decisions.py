"""Decisions drawn: the points of a curve are the rates that were given, on the axes that the figure names."""

import numpy as np
from scipy.stats import norm

from timelike.draw import decisions

RATES = np.linspace(0, 1, 201)
NORMAL = RATES, norm.cdf(norm.isf(RATES) - 2), norm.cdf(-1.0)  # errors of two normal distributions, 2 apart


def test_two_normal_distributions_are_a_straight_line_on_probit_axes():
    (axes,) = decisions.det({"normal": NORMAL}).axes
    x, y = axes.lines[1].get_xydata().T
    inside = (x > axes.get_xlim()[0]) & (y > axes.get_ylim()[0]) & (x < axes.get_xlim()[1])
    assert inside.sum() > 50
    np.testing.assert_allclose(np.polyfit(x[inside], y[inside], 1), [-1, -2], atol=1e-9)
    np.testing.assert_allclose(axes.lines[2].get_xydata(), [[-1, -1]])
    assert [tick.get_text() for tick in axes.get_xticklabels()][-3:] == ["20", "40", "60"]


def test_rates_of_zero_are_drawn_below_the_axes_and_nothing_is_infinite():
    perfect = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), 0.0
    (axes,) = decisions.det({"perfect": perfect}).axes
    points = axes.lines[1].get_xydata()
    assert np.isfinite(points).all()
    assert (points[1] < axes.get_xlim()[0]).all()


def test_the_roc_curve_has_true_accepts_over_false_ones_and_its_band():
    band = RATES, NORMAL[1] / 2, NORMAL[1]
    (axes,) = decisions.roc({"a": NORMAL, "b": NORMAL}, band).axes
    np.testing.assert_allclose(axes.lines[1].get_xydata(), np.stack([RATES, 1 - NORMAL[1]], axis=1))
    assert [line.get_text() for line in axes.get_legend().get_texts()] == ["a, EER 15.9 %", "b, EER 15.9 %"]
    assert len(axes.collections) == 1

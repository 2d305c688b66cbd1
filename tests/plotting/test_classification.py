"""Decisions drawn: the points of a curve are the rates that were given, on the axes that the figure names."""

import numpy as np
import pytest
from scipy.stats import norm
from tests.plotting.contrast import contrast, names, unseen

import timelike as tl
from timelike.plotting import classification

RATES = np.linspace(0, 1, 201)
NORMAL = RATES, norm.cdf(norm.isf(RATES) - 2), norm.cdf(-1.0)  # errors of two normal distributions, 2 apart


def test_two_normal_distributions_are_a_straight_line_on_probit_axes():
    (axes,) = classification.plot_det({"normal": NORMAL}).axes
    x, y = axes.lines[1].get_xydata().T
    inside = (x > axes.get_xlim()[0]) & (y > axes.get_ylim()[0]) & (x < axes.get_xlim()[1])
    assert inside.sum() > 50
    np.testing.assert_allclose(np.polyfit(x[inside], y[inside], 1), [-1, -2], atol=1e-9)
    np.testing.assert_allclose(axes.lines[2].get_xydata(), [[-1, -1]])
    assert [tick.get_text() for tick in axes.get_xticklabels()][-3:] == ["20", "40", "60"]


def test_rates_of_zero_are_drawn_below_the_axes_and_nothing_is_infinite():
    perfect = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), 0.0
    (axes,) = classification.plot_det({"perfect": perfect}).axes
    points = axes.lines[1].get_xydata()
    assert np.isfinite(points).all()
    assert (points[1] < axes.get_xlim()[0]).all()


def test_the_roc_curve_has_true_accepts_over_false_ones_and_its_band():
    band = RATES, NORMAL[1] / 2, NORMAL[1]
    figure = classification.plot_roc({"a": NORMAL, "b": NORMAL}, band)
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[1].get_xydata(), np.stack([RATES, 1 - NORMAL[1]], axis=1))
    assert names(figure) == ["a, EER 15.9 %", "b, EER 15.9 %"]
    assert len(axes.collections) == 1


@pytest.mark.parametrize("dark", [False, True])
def test_the_numbers_of_a_confusion_matrix_can_be_read_in_every_shade(dark):
    shares = np.array([[n, 40 - n] for n in range(0, 41, 4)])
    counts = np.zeros((11, 11), np.int64)
    counts[:, :2] = shares
    figure = classification.plot_confusion(counts, range(11), dark=dark)
    axes = figure.axes[0]
    (image,) = axes.images
    assert len(axes.texts) == 20  # where there is nothing, nothing is written
    for words in axes.texts:
        column, row = words.get_position()
        assert contrast(words.get_color(), image.cmap(image.norm(counts[row, column] / 40))) > 4.5
    assert unseen(figure) == []


def test_scores_of_a_classifier_draw_its_confusion_in_the_words_of_its_classes():
    truth, answer = ["run", "run", "walk", "walk"], ["run", "walk", "walk", "walk"]
    figure = tl.score.classification_scores(truth, answer, random_state=0).plot(shares=False, dark=True)
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["run", "walk"]
    assert {words.get_position(): words.get_text() for words in axes.texts} == {(0, 0): "1", (1, 0): "1", (1, 1): "2"}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("answer", "truth")

"""A training as curves: every loss, its running mean, rates, and scores where there are any."""

import numpy as np
import pytest
from tests.plotting.contrast import unseen

from timelike.plotting import curves

STEPS = np.arange(1, 41)
LOSSES = np.linspace(4.0, 1.0, 40)


def test_losses_rates_and_scores_stand_one_above_the_other():
    scores = np.array([10, 20, 30]), np.array([0.5, 0.9, 0.8])
    loss, score, rate = curves.plot_training((STEPS, LOSSES), (STEPS, LOSSES / 10), scores, best=20).axes
    assert [axes.get_ylabel() for axes in (loss, score, rate)] == ["loss", "score", "learning rate"]
    np.testing.assert_array_equal(loss.lines[0].get_xydata(), np.stack([STEPS, LOSSES], axis=1))
    np.testing.assert_array_equal(score.lines[0].get_xydata(), np.stack(scores, axis=1))
    np.testing.assert_array_equal(score.lines[1].get_xdata(), [20, 20])
    np.testing.assert_array_equal(rate.lines[0].get_ydata(), LOSSES / 10)
    assert rate.get_xlabel() == "step"


def test_without_scores_there_are_two_panels():
    assert len(curves.plot_training((STEPS, LOSSES), (STEPS, LOSSES)).axes) == 2


@pytest.mark.parametrize("share", [0.05, 0.3, 1.0])
def test_the_running_mean_is_that_of_the_last_values(share):
    values = np.random.default_rng(0).standard_normal(40)
    width = round(share * 40)
    naive = [values[max(0, i + 1 - width) : i + 1].mean() for i in range(40)]
    np.testing.assert_allclose(curves.running_mean(values, share), naive)


def test_nothing_has_no_running_mean():
    assert curves.running_mean(np.zeros(0)).shape == (0,)


def test_every_pair_has_a_line_in_the_colour_of_its_group():
    groups = {"alike": [np.zeros(3), np.arange(5.0)], "other": [np.arange(4.0) ** 2]}
    figure = curves.plot_state_distances(groups)
    lines = figure.axes[0].lines
    for line, values in zip(lines, [*groups["alike"], *groups["other"]], strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([np.arange(len(values)), values], axis=1))
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    assert [words.get_text() for words in figure.legends[0].get_texts()] == ["alike", "other"]


@pytest.mark.parametrize("dark", [False, True])
def test_distances_of_states_are_seen_on_light_and_dark(dark):
    assert unseen(curves.plot_state_distances({"alike": [np.arange(4.0)]}, dark=dark)) == []

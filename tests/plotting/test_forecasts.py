"""A forecast as lines and a shade after the end of its past, and scores over the horizon."""

import numpy as np
import pytest

from timelike.plotting import forecasts

PAST = np.sin(np.arange(100) / 5)
MEAN = np.linspace(0.0, 1.0, 10)
BAND = MEAN - 0.5, MEAN + 0.25


def lines(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def words(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_three_horizons_of_the_past_are_followed_by_the_forecast():
    figure = forecasts.plot_fan(PAST, MEAN, None, name="load")
    found = lines(figure.axes[0])
    np.testing.assert_allclose(found["past"], np.stack([np.arange(-29, 1), PAST[-30:]], axis=1))
    np.testing.assert_allclose(found["forecast"][1:], np.stack([np.arange(1, 11), MEAN], axis=1))
    np.testing.assert_allclose(found["forecast"][0], [0, PAST[-1]])  # no gap between the two
    assert figure.axes[0].get_ylabel() == "load"
    assert words(figure) == ["past", "forecast"]


def test_a_band_reaches_from_low_to_high_at_every_step():
    figure = forecasts.plot_fan(PAST, MEAN, BAND, truth=MEAN + 0.1, level=0.8)
    corners = figure.axes[0].collections[0].get_paths()[0].vertices
    for step in range(1, 11):
        heights = corners[corners[:, 0] == step, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], [BAND[0][step - 1], BAND[1][step - 1]])
    assert words(figure) == ["past", "forecast", "truth", "80 % interval"]
    np.testing.assert_allclose(lines(figure.axes[0])["truth"][1:, 1], MEAN + 0.1)


def test_a_truth_that_ends_early_is_drawn_as_far_as_it_goes():
    found = lines(forecasts.plot_fan(PAST, MEAN, None, truth=MEAN[:4]).axes[0])
    np.testing.assert_allclose(found["truth"][:, 0], np.arange(5))


@pytest.mark.parametrize("start", [np.datetime64("2024-02-27T00", "ns"), 100.0])
def test_clocks_are_shown_as_times(start):
    step = np.timedelta64(1, "h") if isinstance(start, np.datetime64) else 0.5
    times = start + np.arange(110) * step
    figure = forecasts.plot_fan(PAST, MEAN, BAND, times=(times[:100], times[100:]))
    axes = figure.axes[0]
    shown = next(line for line in axes.lines if line.get_label() == "forecast").get_xdata()
    assert list(shown) == list(times[99:])
    figure.draw_without_rendering()
    assert axes.get_xlabel() == "time"


@pytest.mark.parametrize("n_past", [1, 2])
def test_a_single_step_after_a_short_past_can_be_seen(n_past):
    figure = forecasts.plot_fan(PAST[:n_past], MEAN[:1], (BAND[0][:1], BAND[1][:1]))
    assert any(line.get_marker() == "o" and list(line.get_xdata()) == [1] for line in figure.axes[0].lines)
    figure.draw_without_rendering()


def curve(height, n_steps=6):
    mean = height * np.arange(1.0, n_steps + 1)
    return mean, mean - 0.5, mean + 0.5


@pytest.mark.parametrize("n_scores", [1, 2, 4, 5])
def test_every_score_has_a_panel_with_a_line_for_every_method(n_scores):
    names = ["mse", "mae", "crps", "width", "ssim"][:n_scores]
    figure = forecasts.plot_horizons({name: {"Ridge": curve(1), "Persistence": curve(2)} for name in names})
    assert [axes.get_title() for axes in figure.axes] == names
    for axes in figure.axes:
        ours, theirs = axes.lines
        np.testing.assert_array_equal(ours.get_xydata(), np.stack([np.arange(1, 7), curve(1)[0]], axis=1))
        np.testing.assert_array_equal(theirs.get_ydata(), curve(2)[0])
        assert ours.get_color() != theirs.get_color()
        assert len(axes.collections) == 2
    assert words(figure) == ["Ridge", "Persistence"]
    figure.draw_without_rendering()


def test_infinite_bounds_are_left_out_and_a_level_is_marked():
    mean = curve(1)[0]
    scores = {"coverage": {"Ridge": (mean, np.full(6, -np.inf), np.full(6, np.inf))}}
    axes = forecasts.plot_horizons(scores, marks={"coverage": 0.8}).axes[0]
    assert not axes.collections[0].get_paths()
    assert list(axes.lines[1].get_ydata()) == [0.8, 0.8]


def test_the_bounds_of_a_single_step_can_be_seen():
    axes = forecasts.plot_horizons({"mse": {"Ridge": curve(1, 1)}}).axes[0]
    assert list(axes.lines[1].get_ydata()) == [0.5, 1.5]

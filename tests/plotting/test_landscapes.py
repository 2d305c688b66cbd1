"""Landscapes drawn: what is where, which panel is whose, and what a dark page changes."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from timelike.plotting import landscapes
from timelike.plotting.landscapes import LandscapePanel

BOX = (-1.0, 1.0, -1.0, 1.0)
RNG = np.random.default_rng(0)


def panel(arrows=None):
    y, x = np.mgrid[-1:1:9j, -1:1:9j]
    return LandscapePanel(x + 2 * y, BOX, np.array([[0.2, 0.1], [0.5, 0.4]]), np.array([[-0.5, -0.5]]), arrows)


def test_every_landscape_has_its_own_panel_and_the_first_row_is_below():
    figure = landscapes.plot_landscapes({"IPM": {"64": panel(), "∞": panel()}, "LSGAN": {"∞": panel()}})
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 3
    assert [axes.get_title() for axes in figure.axes[:2]] == ["64", "∞"]
    assert figure.axes[0].get_ylabel() == "IPM"
    image = figure.axes[0].images[0]
    assert image.origin == "lower"
    assert tuple(image.get_extent()) == BOX


def test_points_lie_where_they_are_and_arrows_point_where_they_should():
    arrows = np.array([[1.0, 0.0], [0.0, -3.0]])
    axes = landscapes.plot_landscapes({"": {"a": panel(arrows)}}).axes[0]
    real, fake = (one.get_offsets() for one in axes.collections if type(one).__name__ == "PathCollection")
    np.testing.assert_allclose(real, [[-0.5, -0.5]])
    np.testing.assert_allclose(fake, [[0.2, 0.1], [0.5, 0.4]])
    (quiver,) = [one for one in axes.collections if type(one).__name__ == "Quiver"]
    np.testing.assert_allclose(np.stack([quiver.U, quiver.V], axis=1), arrows)


def test_an_even_landscape_is_drawn_without_contours():
    even = LandscapePanel(np.zeros((5, 5)), BOX, np.zeros((1, 2)), np.ones((1, 2)), np.zeros((1, 2)))
    figure = landscapes.plot_landscapes({"": {"even": even}})
    figure.draw_without_rendering()
    assert not [one for one in figure.axes[0].collections if type(one).__name__ in ("QuadContourSet", "Quiver")]


def test_a_dark_page_gets_a_dark_figure_and_pale_words_and_nothing_stays_behind():
    light, dark = (landscapes.plot_landscapes({"": {"a": panel()}}, dark=dark) for dark in (False, True))
    again = landscapes.plot_landscapes({"": {"a": panel()}})
    assert sum(dark.get_facecolor()[:3]) < 0.5 < sum(light.get_facecolor()[:3])
    assert to_hex(dark.axes[0].title.get_color()) != to_hex(light.axes[0].title.get_color())
    assert again.get_facecolor() == light.get_facecolor()


def test_arrows_of_a_field_keep_their_direction_and_a_point_without_one_has_none():
    points = np.array([[x, y] for y in (0.0, 1.0) for x in (-1.0, 0.0, 1.0)])
    moves = np.array([[1.0, 1.0], [0.0, 0.0], [-0.001, 0.0], [0.0, 0.5], [0.3, -0.3], [0.0, -1e-9]])
    figure = landscapes.plot_gradient_fields({"IPM": {"a": (points, moves)}}, np.array([1.0, 0.0]))
    (quiver,) = [one for one in figure.axes[0].collections if type(one).__name__ == "Quiver"]
    drawn = np.stack([quiver.U, quiver.V], axis=1)
    np.testing.assert_allclose(drawn[1], 0)
    there = [0, 2, 3, 4, 5]
    np.testing.assert_allclose(
        drawn[there] / np.hypot(*drawn[there].T)[:, None], moves[there] / np.hypot(*moves[there].T)[:, None]
    )
    assert np.hypot(*drawn.T).max() <= 1.0  # not beyond the next point


def test_the_limit_of_profiles_is_the_thick_line():
    x = np.linspace(0, 1, 5)
    figure = landscapes.plot_profiles(
        {"IPM": {"16": (x, x), "∞": (x, 2 * x)}}, np.array([0.1]), np.array([0.9]), unit="c"
    )
    thin, thick = figure.axes[0].lines
    assert thick.get_linewidth() > thin.get_linewidth()
    assert [label.get_text() for label in figure.axes[0].get_legend().get_texts()] == ["16", "∞"]
    np.testing.assert_allclose(thick.get_ydata(), 2 * x)


def test_descents_are_logarithmic_and_no_two_lines_look_alike():
    steps = np.arange(1, 5)
    figure = landscapes.plot_descents({str(i): (steps, 1.0 / steps + i) for i in range(9)})
    axes = figure.axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 9


def test_a_mosaic_has_a_block_for_every_name():
    groups = {"ReLU": RNG.uniform(size=(4, 8, 8)), "RBF": RNG.uniform(size=(3, 8, 8))}
    figure = landscapes.plot_mosaic(groups, columns=2)
    drawn = [axes for axes in figure.axes if axes.images]
    assert len(drawn) == 7
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert words == ["ReLU", "RBF"]


@pytest.mark.parametrize("dark", [False, True])
def test_dollars_in_a_name_are_words(dark):
    figure = landscapes.plot_landscapes({"$a": {"b$": panel()}}, dark=dark)
    figure.draw_without_rendering()
    assert figure.axes[0].get_ylabel() == r"\$a"


def test_the_start_is_left_out_of_a_logarithmic_axis():
    figure = landscapes.plot_descents({"a": (np.array([0, 10, 1000]), np.array([9.0, 3.0, 1.0]))})
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xdata(), [10, 1000])
    assert figure.axes[0].get_xlim()[0] > 1


def test_nothing_to_show_is_an_empty_figure():
    figure = landscapes.plot_descents({"went away at once": (np.array([0]), np.array([9.0]))})
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["went away at once"]

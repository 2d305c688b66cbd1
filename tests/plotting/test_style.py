"""One style: seen on light and dark grounds, told apart by all eyes, and following what matplotlib is set to."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.plotting.contrast import contrast, unseen

import timelike as tl
from timelike.plotting import classification, comparisons, curves, forecasts, maps, style
from timelike.plotting.style import COLORS

# what eyes without one kind of cone see of linear red, green and blue (Machado, Oliveira and Fernandes, 2009)
EYES = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab(color, eyes):
    """CIELAB of a colour as these eyes see it."""
    rgb = np.array(to_rgb(color))
    linear = np.clip(EYES[eyes] @ np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.maximum(to_xyz @ linear / [0.9505, 1.0, 1.089], 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", EYES)
def test_the_colours_are_told_apart_by_all_eyes(eyes):
    seen = [lab(color, eyes) for color in COLORS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 9  # side by side, 2.3 is noticed


@pytest.mark.parametrize("ground", ["white", style.DARK_BACKGROUND])
def test_every_colour_is_seen_on_both_grounds(ground):
    assert min(contrast(color, ground) for color in COLORS) >= 3  # WCAG 2, for what is not text


def test_luminance_and_readable_words_are_those_of_the_formula():
    for color in ("#123456", "#7F7F7F", "orange", "white", "black"):
        assert style.luminance(color) == pytest.approx(1.05 / contrast(color, "white") - 0.05, abs=1e-6)
        other = {"white": "#050505", "#050505": "white"}[style.contrasting_color(color)]
        assert contrast(style.contrasting_color(color), color) >= contrast(other, color)


def test_a_dark_ground_ends_where_it_ends():
    before = dict(mpl.rcParams)
    with style.page_theme(dark=True):
        assert mpl.rcParams["figure.facecolor"] == style.DARK_BACKGROUND
    assert dict(mpl.rcParams) == before
    with pytest.raises(TypeError, match="dark='yes': expected True or False"), style.page_theme("yes"):
        pass


FIGURES = {
    "scores": lambda: comparisons.plot_scores(["a", "b"], [(0.5, 0.4, 0.6)] * 2, [[0.5], [0.4]], "accuracy"),
    "critical differences": lambda: comparisons.plot_critical_differences(["a", "b", "c"], [1.2, 1.9, 2.9], [[0, 1]]),
    "confusion": lambda: classification.plot_confusion(np.array([[5, 1], [0, 6]]), ["a", "b"]),
    "training": lambda: curves.plot_training((np.arange(4), np.ones(4)), (np.arange(4), np.ones(4))),
    "reliability": lambda: tl.score.reliability([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]).plot(),
    "strips": lambda: maps.plot_field_strips({"truth": np.random.default_rng(0).random((4, 3, 3))}),
    "forecast": lambda: forecasts.plot_fan(np.arange(5.0), np.arange(3.0), (np.zeros(3), np.ones(3)), truth=np.ones(3)),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("dark", [False, True])
def test_any_figure_is_seen_on_the_ground_it_is_made_on(name, dark):
    with style.page_theme(dark):
        figure = FIGURES[name]()
    assert unseen(figure) == []
    assert mpl.colors.same_color(figure.get_facecolor(), style.DARK_BACKGROUND if dark else "white")

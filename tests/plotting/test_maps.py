"""Matrices as images: every pixel is a number that was given."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from timelike.plotting import maps


def test_the_cost_image_holds_the_distances_of_all_steps():
    axes = Figure().subplots()
    x, y = np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0]])
    maps.plot_costs(axes, x, y)
    np.testing.assert_allclose(axes.images[0].get_array(), [[0, 4, 3], [5, 3, 4]])
    assert axes.images[0].get_extent() == [-0.5, 2.5, -0.5, 1.5]


def test_a_long_cost_image_is_thinned_out_over_the_same_extent():
    axes = Figure().subplots()
    x = np.arange(5000.0)[:, None]
    maps.plot_costs(axes, x, x[:3])
    image = axes.images[0].get_array()
    assert image.shape == (600, 3)
    assert (image[0, 0], image[-1, 0]) == (0, 4999)
    assert axes.images[0].get_extent() == [-0.5, 2.5, -0.5, 4999.5]


def test_a_plan_is_as_opaque_as_its_weights():
    axes = Figure().subplots()
    maps.plot_plan(axes, np.array([[0.0, 0.25], [0.5, 0.125]]))
    shade = axes.images[0].get_array()[..., 3]
    assert (shade[0, 0], shade[1, 0]) == (0, 1)
    assert shade[1, 1] < shade[0, 1] < 1
    maps.plot_plan(axes, np.zeros((2, 2)))
    assert (axes.images[1].get_array()[..., 3] == 0).all()


# --- fields, differences, strips -------------------------------------------------------------------------------------


def drawn(figure):
    """The figure can be drawn, which warns, and so fails, where its layout does not work out."""
    figure.savefig(io.BytesIO(), format="png")
    return figure


def colors(image):
    """The colour of every cell."""
    return image.to_rgba(image.get_array())


def test_a_field_is_the_numbers_that_were_given_with_masked_cells_grey():
    whole = Figure()
    image = maps.plot_field(whole.subplots(), np.array([[1.0, np.nan], [3.0, 5.0]]), unit="K")
    np.testing.assert_array_equal(image.get_array().filled(-1), [[1, -1], [3, 5]])
    assert image.get_clim() == (1, 5)
    grey = colors(image)[0, 1]
    assert grey[0] == grey[1] == grey[2] != 1
    assert not (colors(image)[[0, 1, 1], [0, 0, 1], :3] == grey[:3]).all(axis=1).any()
    assert whole.axes[1].get_ylabel() == "K"
    assert image.origin == "upper"
    assert maps.plot_field(whole.axes[0], np.eye(2), upwards=True, bar=False).origin == "lower"
    assert len(drawn(whole).axes) == 2


def test_a_difference_is_white_at_0_and_as_red_above_as_blue_below():
    image = maps.plot_field(Figure().subplots(), np.array([[0.0, 0.5, -2.0]]), difference=True)
    assert image.get_clim() == (-2, 2)
    nothing, above, below = colors(image)[0]
    assert nothing[:3].min() > 0.95
    assert above[0] > above[2]
    assert below[2] > below[0]
    np.testing.assert_allclose(image.norm([-1, 1]).sum(), 1)


@pytest.mark.parametrize("values", [np.zeros((2, 2)), np.full((2, 2), 7.0), np.full((2, 2), np.nan)])
def test_a_field_without_spread_or_without_numbers_has_colours_all_the_same(values):
    for difference in (False, True):
        whole = Figure()
        low, high = maps.plot_field(whole.subplots(), values, difference=difference).get_clim()
        assert low < high
        drawn(whole)


def test_a_difference_map_shows_both_fields_in_one_scale_and_what_is_left():
    a, b = np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([[1.0, 6.0], [2.0, 0.0]])
    whole = drawn(maps.plot_difference(a, b, names=("cost $1", "truth"), unit="K"))
    first, second, third = whole.axes[:3]
    assert [axes.get_title() for axes in (first, second, third)] == [r"cost \$1", "truth", r"cost \$1 − truth"]
    assert first.images[0].get_clim() == second.images[0].get_clim() == (0, 6)
    np.testing.assert_array_equal(third.images[0].get_array().filled(np.nan), a - b)
    assert third.images[0].get_clim() == (-4, 4)
    with pytest.raises(ValueError, match=r"a has shape \(2, 2\), b \(3, 2\): expected two fields"):
        maps.plot_difference(a, np.zeros((3, 2)))


def video(length, start=0.0):
    return start + np.arange(length * 6.0).reshape(length, 2, 3)


def shown(figure, row, columns):
    """The frames of a row, by the step that is written above them."""
    axes = figure.axes[: len(figure.axes) // columns * columns]
    above = [one.get_title() for one in axes[:columns]]
    frames = axes[row * columns : (row + 1) * columns]
    return {step: one.images[0].get_array() for step, one in zip(above, frames, strict=True) if one.images}


def test_strips_show_the_end_of_the_past_in_front_and_the_future_evenly():
    truth, forecast = video(25), video(25, 1.0)
    rows = {"truth": truth, "forecast": forecast, "difference": forecast - truth}
    whole = drawn(maps.plot_field_strips(rows, past=video(8, -50.0), unit="K"))
    first, second, third = (shown(whole, row, 10) for row in range(3))
    steps = ["t+1", "t+5", "t+9", "t+13", "t+17", "t+21", "t+25"]
    assert list(first) == ["t−2", "t−1", "t", *steps]
    assert list(second) == list(third) == steps
    np.testing.assert_array_equal(first["t"], video(8, -50.0)[-1])
    np.testing.assert_array_equal(first["t+9"], truth[8])
    np.testing.assert_array_equal(second["t+25"], forecast[24])
    assert (third["t+1"] == 1).all()
    names = [axes.texts[0].get_text() for axes in (whole.axes[0], whole.axes[10], whole.axes[20])]
    assert names == ["truth", "forecast", "difference"]


def test_all_strips_have_the_same_colours_but_for_the_difference():
    rows = {"difference": video(4) - 3, "truth": video(4), "forecast": 2 * video(4)}
    whole = drawn(maps.plot_field_strips(rows, past=np.full((1, 2, 3), -9.0)))
    limits = {axes.images[0].get_clim() for axes in whole.axes[5:15] if axes.images}
    assert limits == {(-9, 46)}
    assert {axes.images[0].get_clim() for axes in whole.axes[:5] if axes.images} == {(-20, 20)}
    assert len(shown(whole, 0, 5)) == 4  # the past is not in front of differences
    assert len(shown(whole, 1, 5)) == 5
    assert len(whole.axes) == 15 + 2  # and two colour bars


@pytest.mark.parametrize(("length", "past", "expected"), [(1, 0, 1), (10, 0, 10), (11, 0, 10), (7, 3, 10), (8, 99, 10)])
def test_a_strip_has_at_most_ten_frames(length, past, expected):
    whole = drawn(maps.plot_field_strips({"forecast": video(length)}, past=video(past) if past else None))
    assert len(whole.axes) == expected + 1
    assert whole.axes[expected - 1].get_title() == f"t+{length}"
    assert whole.axes[0].get_title() == ("t−2" if past else "t+1")


def test_every_so_many_steps_are_shown_when_asked_for():
    whole = drawn(maps.plot_field_strips({"forecast": video(12)}, every=3))
    assert list(shown(whole, 0, 4)) == ["t+3", "t+6", "t+9", "t+12"]
    for wrong in (0, 13):
        with pytest.raises(ValueError, match=rf"every={wrong}: expected 1 to 12"):
            maps.plot_field_strips({"forecast": video(12)}, every=wrong)


def test_strips_with_land_and_of_long_frames_are_drawn():
    land = np.arange(400.0).reshape(2, 2, 100)
    land[:, 0, 3] = np.nan
    whole = drawn(maps.plot_field_strips({"forecast": land}))
    assert colors(whole.axes[0].images[0])[0, 3].tolist() == list(to_rgba("#8a8a8a"))


def test_rows_that_do_not_fit_are_refused():
    for rows in ({}, {"a": video(3), "b": video(4)}, {"a": np.zeros((3, 2))}, {"a": np.zeros((0, 2, 2))}):
        with pytest.raises(ValueError, match=r"rows have the shapes .*expected \(time, height, width\)"):
            maps.plot_field_strips(rows)
    with pytest.raises(ValueError, match=r"past has shape \(2, 3, 2\): expected \(time, 2, 3\)"):
        maps.plot_field_strips({"a": video(3)}, past=np.zeros((2, 3, 2)))

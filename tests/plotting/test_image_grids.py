"""Strips, grids of swaps and trails: every pixel is one that was given, in its place, and marks say what it is."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from timelike.plotting import image_grids

RNG = np.random.default_rng(0)


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png")
    return figure


def video(length, *frame):
    return RNG.random((length, *(frame or (1, 4, 6))))


def rows_of(figure, n_columns):
    """What every row shows, by the words above the columns of the first one."""
    grid = np.array(figure.axes, object).reshape(-1, n_columns)
    words = [axes.texts[0].get_text() for axes in grid[0]]
    return [
        {word: axes.images[0].get_array() for word, axes in zip(words, row, strict=True) if axes.images} for row in grid
    ]


def dashed(axes):
    return any(line.get_linestyle() != "-" for line in axes.lines)


def test_pictures_are_grey_or_coloured_and_cut_off_at_0_and_1():
    grey = video(2, 4, 6)
    np.testing.assert_array_equal(image_grids.as_rgb(grey, "x"), np.repeat(grey[..., None], 3, axis=-1))
    np.testing.assert_array_equal(image_grids.as_rgb(grey[:, None], "x"), image_grids.as_rgb(grey, "x"))
    colours = video(2, 3, 4, 6)
    np.testing.assert_array_equal(image_grids.as_rgb(colours, "x"), colours.transpose(0, 2, 3, 1))
    odd = np.array([[[-0.5, 1.5, np.nan]]])
    np.testing.assert_allclose(image_grids.as_rgb(odd, "x")[0, 0], [[0] * 3, [1] * 3, to_rgb("#8a8a8a")])
    for wrong in (np.zeros((4, 6)), np.zeros((2, 2, 4, 6)), np.zeros((0, 1, 4, 6)), np.zeros((1, 1, 1, 4, 6))):
        with pytest.raises(ValueError, match=r"x has shape .*expected \(frame, height, width\)"):
            image_grids.as_rgb(wrong, "x")


@pytest.mark.parametrize("channels", [1, 3])
def test_a_strip_has_the_past_in_front_of_its_first_row(channels):
    past, truth, best = (video(n, channels, 4, 6) for n in (5, 9, 9))
    figure = drawn(image_grids.plot_image_strips({"truth": truth, "best of $5": best}, past=past))
    first, second = rows_of(figure, 12)
    assert list(first) == ["t−2", "t−1", "t", *(f"t+{i}" for i in range(1, 10))]
    assert list(second) == list(first)[3:]
    np.testing.assert_array_equal(first["t−2"], image_grids.as_rgb(past, "")[2])
    np.testing.assert_array_equal(first["t+1"], image_grids.as_rgb(truth, "")[0])
    np.testing.assert_array_equal(second["t+9"], image_grids.as_rgb(best, "")[8])
    frames = [to_hex(axes.spines["left"].get_edgecolor()) for axes in figure.axes[:4]]
    assert frames[:3] == [image_grids.PAST.lower()] * 3
    assert frames[3] != frames[0]
    names = [axes.texts[-1].get_text() for axes in (figure.axes[0], figure.axes[12])]
    assert names[1] == r"best of \$5"
    assert not any(dashed(axes) for axes in figure.axes)


def test_a_long_strip_is_thinned_out_evenly_to_its_last_frame():
    frames = video(40)
    (row,) = rows_of(drawn(image_grids.plot_image_strips({"forecast": frames})), 12)
    assert len(row) == 12
    assert (next(iter(row)), list(row)[-1]) == ("t+1", "t+40")
    np.testing.assert_array_equal(row["t+40"], image_grids.as_rgb(frames, "")[39])
    (row,) = rows_of(drawn(image_grids.plot_image_strips({"forecast": frames}, every=10)), 4)
    assert list(row) == ["t+10", "t+20", "t+30", "t+40"]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        (2, ["t+0.5", "t+1", "t+6.5", "t+7", "t+13.5", "t+14", "t+19.5", "t+20"]),
        (3, ["t+0.33", "t+0.67", "t+1", "t+10.3", "t+10.7", "t+11", "t+19.3", "t+19.7", "t+20"]),
        (9, None),
    ],
)
def test_a_long_strip_with_frames_in_between_goes_on_to_the_last_one(between, expected):
    """Some of the steps, each with its frames and a gap before it; with many of them, frames evenly."""
    fine = video(20 * between)
    figure = drawn(
        image_grids.plot_image_strips({"truth": video(20), "forecast": fine}, past=video(3), between=between)
    )
    n_columns = 3 + (9 if expected is None else len(expected))
    first, second = rows_of(figure, n_columns)
    if expected is not None:
        assert [round(float(name[2:]), 1) for name in second] == [round(float(name[2:]), 1) for name in expected]
        assert list(first)[3:] == [name for name in expected if "." not in name]
    np.testing.assert_array_equal(second["t+20"], image_grids.as_rgb(fine, "")[-1])
    grid = np.array(figure.axes, object).reshape(2, n_columns)
    steps = [float(axes.texts[0].get_text()[2:]) for axes in grid[0, 3:]]
    assert [dashed(axes) for axes in grid[1, 3:]] == [step % 1 > 0 for step in steps]
    starts = np.array([axes.get_position().x0 for axes in grid[0]]) * figure.get_size_inches()[0]
    wide = np.diff(starts)[2:] > np.diff(starts)[0] + 0.05
    assert wide.tolist() == [True, *(expected is not None and i % between == 0 for i in range(1, len(steps)))]


@pytest.mark.parametrize("between", [2, 4])
def test_frames_in_between_have_a_dashed_bar_and_a_truth_at_whole_steps_has_gaps(between):
    truth, fine = video(3), video(3 * between)
    figure = drawn(image_grids.plot_image_strips({"truth": truth, "forecast": fine}, past=video(2), between=between))
    n_columns = 2 + (3 if between == 2 else 2) * between  # there is room for 10, and for whole steps only
    first, second = rows_of(figure, n_columns)
    shown = n_columns - 2
    assert list(first) == ["t−1", "t", *(["t+1", "t+2", "t+3"] if between == 2 else ["t+1", "t+3"])]
    np.testing.assert_array_equal(first["t+3"], image_grids.as_rgb(truth, "")[2])
    np.testing.assert_array_equal(second["t+3"], image_grids.as_rgb(fine, "")[3 * between - 1])
    np.testing.assert_array_equal(second[f"t+{1 / between:g}"], image_grids.as_rgb(fine, "")[0])
    grid = np.array(figure.axes, object).reshape(2, n_columns)
    assert not any(dashed(axes) for axes in grid[0])
    marked = [dashed(axes) for axes in grid[1, 2:]]
    assert marked == [(i + 1) % between > 0 for i in range(shown)]


def test_pictures_keep_their_shape_whatever_the_size_of_the_figure():
    figure = drawn(
        image_grids.plot_image_strips({"a long name of a method": video(3, 1, 10, 30), "b": video(3, 1, 10, 30)})
    )
    width, height = figure.get_size_inches()
    for axes in figure.axes:
        place = axes.get_position()
        assert place.height * height / (place.width * width) == pytest.approx(1 / 3)
        assert 0 <= place.x0 < place.x1 <= 1
        assert 0 <= place.y0 < place.y1 <= 1


def test_rows_that_do_not_fit_are_refused():
    for rows, options in (
        ({"a": video(3), "b": video(4)}, {}),
        ({"a": video(3), "b": video(3, 1, 4, 5)}, {}),
        ({"a": video(4), "b": video(1)}, {"between": 2}),
        ({"a": video(3)}, {"between": 2}),
        ({"a": video(3)}, {"past": video(2, 1, 5, 5)}),
    ):
        with pytest.raises(ValueError, match="rows have the lengths and sizes .*expected images of one size"):
            image_grids.plot_image_strips(rows, **options)
    with pytest.raises(ValueError, match="rows is empty"):
        image_grids.plot_image_strips({})
    for every in (1.5, "2", True):
        with pytest.raises(TypeError, match=f"every={every!r}: expected an integer"):
            image_grids.plot_image_strips({"a": video(3)}, every=every)
    with pytest.raises(ValueError, match="every=5: expected 1 to 3"):
        image_grids.plot_image_strips({"a": video(3)}, every=5)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_grid_of_swaps_has_contents_at_the_left_motions_above_and_both_inside(channels):
    contents, motions = video(2, channels, 4, 6), RNG.random((3, 5, channels, 4, 6))
    swapped = RNG.random((2, 3, 5, channels, 4, 6))
    figure = drawn(image_grids.plot_swaps(contents, motions, swapped, at=[1, 5]))
    grid = np.array(figure.axes, object).reshape(3, 7)
    assert [axes.texts[0].get_text() for axes in grid[0, 1:]] == ["t+1", "t+5"] * 3
    assert not grid[0, 0].images
    for i in range(2):
        np.testing.assert_array_equal(grid[i + 1, 0].images[0].get_array(), image_grids.as_rgb(contents, "")[i])
        for j in range(3):
            for number, step in enumerate((0, 4)):
                inside = grid[i + 1, 1 + 2 * j + number].images[0].get_array()
                np.testing.assert_array_equal(inside, image_grids.as_rgb(swapped[i, j], "")[step])
                above = grid[0, 1 + 2 * j + number].images[0].get_array()
                np.testing.assert_array_equal(above, image_grids.as_rgb(motions[j], "")[step])
    edges = {to_hex(axes.spines["left"].get_edgecolor()) for axes in grid[1:, 0]}
    assert edges == {image_grids.CONTENT.lower()}
    for wrong in ([], [0], [6]):
        with pytest.raises(ValueError, match=r"at=.*expected steps from 1 to 5"):
            image_grids.plot_swaps(contents, motions, swapped, at=wrong)
    with pytest.raises(ValueError, match="contents has 2 images"):
        image_grids.plot_swaps(contents, motions[:2], swapped, at=[1])


@pytest.mark.parametrize("ground", [0.0, 1.0])
def test_a_trail_is_the_path_of_what_moves_the_later_the_stronger(ground):
    frames = np.full((4, 5, 5), ground)
    for step in range(4):
        frames[step, 2, step] = 1 - ground
    found = np.abs(image_grids.trail_image(image_grids.as_rgb(frames, "")) - ground)
    np.testing.assert_allclose(found[2, :, 0], [0.25, 0.5, 0.75, 1.0, 0.0])
    assert found[[0, 1, 3, 4]].max() == 0
    np.testing.assert_array_equal(
        image_grids.trail_image(image_grids.as_rgb(frames[:1], "")), image_grids.as_rgb(frames[:1], "")[0]
    )


def test_trails_stand_side_by_side_by_name():
    sequences = {"a": video(3), "50 %": video(7), "b": video(3)}
    figure = drawn(image_grids.plot_trails(sequences))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["a", "50 %", "b"]
    for axes, frames in zip(figure.axes, sequences.values(), strict=True):
        np.testing.assert_array_equal(
            axes.images[0].get_array(), image_grids.trail_image(image_grids.as_rgb(frames, ""))
        )
    with pytest.raises(ValueError, match="expected one size"):
        image_grids.plot_trails({"a": video(3), "b": video(3, 1, 5, 5)})

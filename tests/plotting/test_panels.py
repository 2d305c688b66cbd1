"""Small multiples of sequences: what is on the axes, in the legends and titles, and what is seen of it as a picture."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

import timelike as tl
from timelike.plotting import panels
from timelike.plotting.style import COLORS

NAN = float("nan")


def recordings(scale=(1.0, 1.0, 1.0), days=0, n=8):
    rng = np.random.default_rng(0)
    start = np.datetime64("2024-03-01T10:00:00", "ns")
    return tl.Sequences(
        [rng.normal(size=(20, 3)) * scale for _ in range(n)],
        times=[start + np.timedelta64(i * days, "D") + np.arange(20) * np.timedelta64(1, "s") for i in range(n)],
        labels=["walk", "run"] * (n // 2),
        ids=[f"r{i}" for i in range(n)],
        channel_names=["ax", "ay", "az"],
    )


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3] / 255


def legend(axes):
    return [words.get_text() for words in axes.get_legend().get_texts()]


def test_channels_have_colours_and_sequences_kinds_of_line():
    figure = recordings().plot()
    run, walk = figure.axes
    assert [run.get_title(), walk.get_title()] == ["run: 2 of 4", "walk: 2 of 4"]
    assert {line.get_color() for line in run.lines} == set(COLORS[:3])
    assert {line.get_linestyle() for line in run.lines} == {"-", "--"}
    assert legend(run) == ["r1", "r7"]
    (channels,) = figure.legends
    assert [words.get_text() for words in channels.get_texts()] == ["ax", "ay", "az"]
    assert [line.get_color() for line in channels.get_lines()] == list(COLORS[:3])


def test_one_channel_tells_sequences_apart_by_their_colours():
    run, walk = recordings().plot(channel="ay").axes
    assert legend(walk) == ["r0", "r2", "r4", "r6"]
    assert [line.get_color() for line in walk.lines] == list(COLORS[:4])
    assert [line.get_color() for line in walk.get_legend().get_lines()] == list(COLORS[:4])
    assert (run.get_ylabel(), walk.get_ylabel()) == ("ay", "")
    np.testing.assert_array_equal(run.lines[0].get_ydata(), recordings()[1][:, 1])
    for same in (1, -2, ["ay"]):
        again = recordings().plot(channel=same).axes[0]
        np.testing.assert_array_equal(again.lines[0].get_ydata(), run.lines[0].get_ydata())


def test_channels_of_other_sizes_have_panels_of_their_own():
    figure = recordings(scale=(1, 1, 1000)).plot()
    assert len(figure.axes) == 6
    assert [axes.get_ylabel() for axes in figure.axes] == ["ax", "ay", "az"] * 2
    limits = [axes.get_ylim() for axes in figure.axes]
    assert limits[:3] == limits[3:]
    assert limits[2][1] > 100 * limits[0][1]
    assert len(recordings(scale=(1, 1, 1000)).plot(channel=["ax", "ay"]).axes) == 2


def test_dates_are_on_the_axis_and_days_apart_they_count_from_the_start():
    near, far = recordings().plot().axes[0], recordings(days=1).plot().axes[0]
    assert near.get_xlabel() == "time"
    assert near.lines[0].get_xdata()[0] == np.datetime64("2024-03-01T10:00:00")
    assert far.get_xlabel() == "seconds since the first sample"
    np.testing.assert_allclose(far.lines[-1].get_xdata(), np.arange(20.0))
    asked = recordings(days=1).plot(from_start=False).axes[0]
    assert asked.get_xlabel() == "time"
    numbers = tl.Sequences(np.zeros((2, 3)), times=[[5.0, 6.0, 8.0], [0.0, 1.0, 2.0]]).plot(from_start=True).axes[0]
    assert numbers.get_xlabel() == "time since the first sample"
    assert numbers.lines[0].get_xdata().tolist() == [0, 1, 3]


def test_lines_are_broken_where_stamps_are_missing():
    clock = np.r_[0:10, 600:610].astype(float)
    (axes,) = tl.Sequences([np.arange(20.0)], times=[clock]).plot().axes
    values = axes.lines[0].get_ydata()
    assert np.flatnonzero(np.isnan(values)).tolist() == [10]
    np.testing.assert_array_equal(values[~np.isnan(values)], np.arange(20.0))
    ints = tl.Sequences([np.arange(20)], times=[clock]).plot().axes[0].lines[0]
    assert np.isnan(ints.get_ydata()).sum() == 1


def test_what_is_left_out_is_said():
    many = tl.Sequences(np.zeros((40, 3, 9)) + np.arange(3)[:, None], labels=np.arange(40))
    figure = many.plot()
    assert figure.get_suptitle() == "12 of 40 classes, 6 of 9 channels"
    assert len(figure.axes) == 12
    assert recordings().plot().get_suptitle() == ""
    thinned = tl.Sequences(np.zeros((30, 4))).plot()
    assert thinned.axes[0].get_title() == "5 of 30"


def test_long_names_show_both_ends_and_no_formula():
    ids = ["a_very_long_name_of_a_recording_1.csv", "$x$"]
    (axes,) = tl.Sequences(np.zeros((2, 4)), ids=ids).plot().axes
    first, second = legend(axes)
    assert first == "a_very_lon…ding_1.csv"
    assert second == r"\$x\$"
    axes.figure.canvas.draw()


def test_stamps_out_of_order_and_strange_values_are_drawn_too():
    s = tl.Sequences([[1.0, 2.0, 3.0]], times=[[0.0, 2.0, 2.0]], on_disorder="keep")
    assert s.plot().axes[0].lines[0].get_xdata().tolist() == [0, 2, 2]
    for values in ([[NAN, NAN]], [[1.7e308, -1.7e308]], [[5.0]]):
        tl.Sequences([np.array(values[0])[:, None] * [1, 1]]).plot().canvas.draw()


@pytest.mark.parametrize("dark", [False, True])
def test_a_picture_has_ink_of_every_channel_on_light_and_dark(dark):
    shown = pixels(recordings().plot(dark=dark))
    background = shown[0, 0]
    assert (background.mean() < 0.2) == dark
    ink = (np.abs(shown - background).max(axis=2) > 0.2).mean()
    assert 0.005 < ink < 0.5
    for color in COLORS[:3]:
        near = np.abs(shown - (0.85 * np.array(to_rgb(color)) + 0.15 * background)).max(axis=2) < 0.06
        assert near.sum() > 50
    text = shown[: shown.shape[0] // 10]  # where titles are
    assert np.abs(text - background).max() > 0.6


def test_panels_do_not_overlap():
    figure = recordings(n=8).plot()
    pixels(figure)
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"channel": "aw"}, ValueError, "channel='aw': not among the channels ax, ay, az"),
        ({"channel": 3}, ValueError, "channel=3: expected 0 to 2"),
        ({"channel": []}, ValueError, "channel is empty"),
        ({"channel": 1.5}, TypeError, "channel=1.5: expected an integer"),
        ({"n": "all"}, TypeError, "n='all': expected an integer"),
        ({"from_start": "yes"}, TypeError, "from_start='yes': expected True or False"),
    ],
)
def test_what_cannot_be_drawn_is_named(options, error, words):
    with pytest.raises(error, match=words):
        recordings().plot(**options)


def test_too_many_channels_at_once_are_refused():
    with pytest.raises(ValueError, match="channel holds 8 channels: expected at most 7"):
        tl.Sequences(np.zeros((1, 2, 9))).plot(channel=range(8))


def test_a_line_is_broken_after_the_steps_given():
    times, values = panels.break_line(np.arange(4.0), np.arange(4), np.array([0, 2]))
    np.testing.assert_array_equal(times, [0, 0, 1, 2, 2, 3])
    np.testing.assert_array_equal(values, [0, NAN, 1, 2, NAN, 3])

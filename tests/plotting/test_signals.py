"""Sequences as lines: what is drawn is what was given, with gaps, over their own clocks."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.dates import AutoDateLocator, date2num
from matplotlib.figure import Figure

import timelike as tl
from timelike.plotting import signals

NAN = float("nan")


@pytest.fixture
def axes():
    return Figure().subplots()


def test_every_sequence_is_a_line_over_its_steps(axes):
    ragged = [np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]), np.array([[4.0, 8.0]])]
    signals.plot_lines(axes, ragged, channel=1)
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 5], [1, 6], [2, 7]], [[0, 8]]]
    assert axes.get_xlabel() == "time step"
    with pytest.raises(ValueError, match="channel=2: expected 0 to 1"):
        signals.plot_lines(axes, ragged, channel=2)


def test_a_label_has_one_colour_and_one_name(axes):
    signals.plot_lines(axes, [np.zeros(2)] * 4, labels=["b", "a", "b", "$x$"])
    first, second, third, fourth = (line.get_color() for line in axes.lines)
    assert first == third
    assert len({first, second, fourth}) == 3
    assert [words.get_text() for words in axes.get_legend().get_texts()] == ["b", "a", r"\$x\$"]


def test_missing_values_are_gaps_and_what_stands_alone_is_a_dot(axes):
    signals.plot_lines(axes, [np.array([1.0, 2.0, NAN, 4.0, NAN, 6.0, 7.0]), np.array([3.0]), np.array([NAN, NAN])])
    gap, single, nothing = axes.lines
    np.testing.assert_array_equal(gap.get_ydata(), [1, 2, NAN, 4, NAN, 6, 7])
    assert [line.get_markevery() for line in (gap, single, nothing)] == [[3], [0], []]
    axes.figure.canvas.draw()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16])
def test_every_kind_of_number_is_drawn(axes, dtype):
    signals.plot_lines(axes, [np.array([0, 1, 1], dtype)])
    assert axes.lines[0].get_ydata().tolist() == [0, 1, 1]


def test_classes_have_panels_with_the_same_axes():
    s = tl.Sequences([[float(i), i + 1.0] for i in range(20)], labels=["up", "down"] * 10, channel_names=["height"])
    down, up = s.plot(n=3).axes
    assert [axes.get_title() for axes in (down, up)] == ["down: 3 of 10", "up: 3 of 10"]
    assert [line.get_ydata()[0] for line in down.lines] == [1, 9, 19]  # spread over the class
    assert down.get_ylim() == up.get_ylim()
    assert (down.get_ylabel(), up.get_ylabel()) == ("height", "")


def test_without_classes_there_is_one_panel_with_a_colour_for_each():
    s = tl.Sequences([[1.0, 2.0], [3.0]], labels=[0.5, 1.5])
    (axes,) = s.plot().axes
    assert axes.get_title() == "2 of 2"
    assert len({line.get_color() for line in axes.lines}) == 2
    assert [words.get_text() for words in axes.get_legend().get_texts()] == ["0", "1"]
    (many,) = tl.Sequences(np.zeros((30, 4))).plot(n=30).axes
    assert len(many.lines) == 30
    assert many.get_legend() is None


@pytest.mark.parametrize("n_classes", [1, 2, 4, 7, 12, 40])
def test_many_classes_fill_a_grid_up_to_twelve(n_classes):
    figure = tl.Sequences(np.zeros((n_classes, 3)), labels=np.arange(n_classes)).plot()
    assert len(figure.axes) == min(n_classes, 12)
    figure.canvas.draw()
    below = [axes for axes in figure.axes if axes.get_xlabel() == "time step"]
    assert len(below) == min(n_classes, 3)
    assert all(any(tick.get_text() for tick in axes.get_xticklabels()) for axes in below)


def test_real_clocks_are_on_the_axis():
    (axes,) = tl.Sequences([[1.0, 2.0], [3.0]], times=[[0.5, 2.25], [7.0]]).plot().axes
    assert [line.get_xdata().tolist() for line in axes.lines] == [[0.5, 2.25], [7.0]]
    assert axes.get_xlabel() == "time"


def test_dates_are_dates():
    days = np.array(["2024-02-28", "2024-02-29", "2024-03-01"], "datetime64[ns]")
    figure = tl.Sequences([[1.0, NAN, 3.0]], times=[days]).plot()
    (axes,) = figure.axes
    np.testing.assert_array_equal(axes.lines[0].get_xdata(orig=False), date2num(days))
    assert isinstance(axes.xaxis.get_major_locator(), AutoDateLocator)
    figure.canvas.draw()


def test_a_selection_is_drawn_with_its_own_values_and_times():
    s = tl.Sequences([[1.0, 2.0], [3.0], [5.0, 6.0]], times=[[0.0, 1.0], [2.0], [3.0, 4.0]])[[2, 0]]
    first, second = s.plot().axes[0].lines
    assert (first.get_xydata().tolist(), second.get_xydata().tolist()) == ([[3, 5], [4, 6]], [[0, 1], [1, 2]])


def test_images_are_drawn_by_one_of_their_pixels():
    (axes,) = tl.Sequences(np.arange(24.0).reshape(1, 2, 3, 2, 2)).plot(channel=5).axes
    assert axes.lines[0].get_ydata().tolist() == [5, 17]


@pytest.mark.parametrize(
    ("options", "message"), [({"n": 0}, "n=0: expected at least 1"), ({"channel": 4}, "channel=4: expected 0 to 0")]
)
def test_what_cannot_be_drawn_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        tl.Sequences([[1.0]]).plot(**options)
    with pytest.raises(ValueError, match="there are no sequences to draw"):
        tl.Sequences([[1.0]])[:0].plot()


def test_matplotlib_is_imported_when_something_is_drawn():
    program = (
        "import sys, timelike as tl; s = tl.Sequences([[1.0]]); s._repr_html_(); before = 'matplotlib' in sys.modules; "
        "s.plot(); print(before, 'matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "True", "False"]

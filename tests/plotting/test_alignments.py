"""Alignments as figures: what is joined is what was matched, and path, plan and warp lie where they are."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.plotting.contrast import names, unseen

import timelike as tl
from timelike.plotting import alignments


def test_the_picture_shows_both_signals_and_the_path():
    alignment = tl.DTW().align(np.sin(np.linspace(0, 6, 50)), np.sin(np.linspace(0, 6, 70)))
    joined, costs = alignment.plot().axes
    assert [line.get_label() for line in joined.lines[-2:]] == ["x", "y"]
    np.testing.assert_array_equal(costs.lines[0].get_xdata(), alignment.path[:, 1])
    with pytest.raises(ValueError, match="channel=3: expected 0 to 0"):
        alignment.plot(channel=3)


def test_lines_join_the_steps_of_the_path():
    axes = Figure().subplots()
    x, y = np.array([0.0, 1.0, 2.0]), np.array([5.0, 6.0])
    alignments.plot_matched_signals(axes, x, y, alignments.path_lines(np.array([[0, 0], [1, 0], [2, 1]])))
    *joined, first, second = axes.lines
    lift = first.get_ydata() - x
    assert np.ptp(lift) == 0
    assert first.get_ydata().min() > second.get_ydata().max()  # x lies above y
    np.testing.assert_array_equal(second.get_ydata(), y)
    for line, (i, j) in zip(joined, [(0, 0), (1, 0), (2, 1)], strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [i, j])
        np.testing.assert_array_equal(line.get_ydata(), [x[i] + lift[0], y[j]])


def test_a_long_path_is_thinned_out():
    path = np.repeat(np.arange(1000)[:, None], 2, axis=1)
    lines = alignments.path_lines(path)
    assert 30 <= len(lines) <= 70
    assert all(i == j for i, j, _ in lines)


def test_a_plan_is_joined_where_its_weight_is():
    plan = np.array([[0.5, 0.0, 0.001], [0.0, 0.25, 0.25]])
    assert alignments.plan_lines(plan) == [(0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 2.0, 1.0)]
    assert alignments.plan_lines(np.zeros((2, 2))) == []


def test_a_warp_is_drawn_over_both_clocks():
    class Half:
        times, values, y_times = np.array([0.0, 2.0, 4.0]), np.array([10.0, 10.5, 12.0]), np.array([10.0, 11.0, 12.0])

    assert alignments.warp_lines(Half, 3) == [(0.0, 0.0, 1.0), (1.0, 0.5, 1.0), (2.0, 2.0, 1.0)]
    axes = Figure().subplots()
    alignments.plot_warp(axes, Half)
    straight, curve = axes.lines
    np.testing.assert_array_equal(straight.get_xydata(), [[0, 10], [4, 12]])
    np.testing.assert_array_equal(curve.get_xydata(), np.stack([Half.times, Half.values], axis=1))


def test_an_alignment_shows_itself_in_a_notebook():
    made = tl.DTW().align([0.0, 1.0], [0.0, 1.0, 1.0])._repr_html_()
    assert made.count("<svg") == 1
    assert "<figcaption>Alignment(cost=0, 2 × 3 steps, path of 3)</figcaption>" in made


DAYS = np.array(["2024-01-01", "2024-02-01"], "datetime64[ns]")


def two_recordings(**more):
    """Three steps of 2 s and four of 0.5 s, on different days, with three channels."""
    values = [np.arange(9.0).reshape(3, 3), np.arange(12.0).reshape(4, 3) * 1.1]
    clocks = [
        day + (1e9 * np.arange(len(one)) * step).astype("timedelta64[ns]")
        for day, one, step in zip(DAYS, values, (2.0, 0.5), strict=True)
    ]
    given = {"times": clocks, "ids": ["a.csv", "b.csv"], "channel_names": ["ax", "ay", "az"]} | more
    return tl.Sequences(values, **given)


@pytest.mark.parametrize("metric", [tl.DTW(), tl.SoftDTW(), tl.GDTW(), tl.OPW()])
def test_a_channel_is_named_or_counted(metric):
    X = two_recordings()
    found = metric.align(X[:1], X[1:])
    by_name, by_place, from_the_end = (found.plot(channel=one).axes[0] for one in ("ay", 1, -2))
    assert by_name.get_ylabel() == by_place.get_ylabel() == "ay"
    for line, same, again in zip(by_name.lines, by_place.lines, from_the_end.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), same.get_xydata())
        np.testing.assert_array_equal(line.get_xydata(), again.get_xydata())
    *_, x, y = by_name.lines
    np.testing.assert_allclose(np.diff(x.get_ydata()), 3.0)
    np.testing.assert_allclose(y.get_ydata(), X[1][:, 1])


@pytest.mark.parametrize("metric", [tl.DTW(), tl.SoftDTW(), tl.GDTW()])
def test_ids_are_in_the_legend_and_times_on_the_axis(metric):
    X = two_recordings()
    figure = metric.align(X[:1], X[1:]).plot()
    assert names(figure)[:2] == ["x: a.csv", "y: b.csv"]
    *_, x, y = figure.axes[0].lines
    assert (x.get_xdata().tolist(), y.get_xdata().tolist()) == ([0, 2, 4], [0, 0.5, 1, 1.5])
    assert figure.axes[0].get_xlabel() == "seconds since the first sample"


def test_lines_join_steps_at_their_times():
    X = two_recordings()
    found = tl.DTW().align(X[:1], X[1:])
    *joined, _, _ = found.plot().axes[0].lines
    for line, (i, j) in zip(joined, found.path, strict=True):
        assert line.get_xdata().tolist() == [2.0 * i, 0.5 * j]


def test_where_one_side_has_no_clock_both_are_drawn_over_steps():
    X = two_recordings()
    figure = tl.DTW().align(X[:1], X[1]).plot(channel="az")
    *_, x, y = figure.axes[0].lines
    assert (x.get_xdata().tolist(), y.get_xdata().tolist()) == ([0, 1, 2], [0, 1, 2, 3])
    assert names(figure) == ["x: a.csv", "y"]
    assert figure.axes[0].get_xlabel() == "time step"


@pytest.mark.parametrize(
    ("channel", "error", "message"),
    [
        ("aw", ValueError, "channel='aw'"),
        (3, ValueError, "channel=3: expected 0 to 2"),
        (1.5, TypeError, "channel=1.5: expected an integer"),
        (True, TypeError, "channel=True: expected an integer"),
    ],
)
def test_a_channel_that_is_not_there_is_refused(channel, error, message):
    X = two_recordings()
    with pytest.raises(error, match=message):
        tl.DTW().align(X[:1], X[1:]).plot(channel=channel)


def test_without_names_the_way_to_them_is_said():
    X = two_recordings()
    with pytest.raises(ValueError, match="channel='ay', but these channels have no names: give a position, 0 to 2"):
        tl.DTW().align(X[0], X[1]).plot(channel="ay")


@pytest.mark.parametrize("metric", [tl.DTW(), tl.SoftDTW(), tl.GDTW()])
@pytest.mark.parametrize("dark", [False, True])
def test_alignments_are_seen_on_light_and_dark(metric, dark):
    X = two_recordings()
    assert unseen(metric.align(X[:1], X[1:]).plot(dark=dark)) == []


def test_single_steps_and_equal_values_are_drawn():
    tl.DTW().align([2.0], [2.0, 2.0]).plot().canvas.draw()


def test_alignments_of_one_pair_stand_beside_each_other():
    x, y = np.sin(np.arange(12) / 2), np.sin(np.arange(9) / 1.5)
    metrics = {"$DTW$": tl.DTW(), "soft": tl.SoftDTW(), "warp": tl.GDTW()}
    found = {name: metric.align(x, y) for name, metric in metrics.items()}
    for n, columns in ((1, 1), (2, 2), (3, 3)):
        figure = alignments.plot_alignments(dict(list(found.items())[:n]), dark=n == 2)
        assert len(figure.axes) == n
        assert figure.axes[0].get_gridspec().ncols == columns
        assert [axes.get_title() for axes in figure.axes] == [r"\$DTW\$", "soft", "warp"][:n]
    path, plan, warp = figure.axes
    np.testing.assert_array_equal(path.lines[0].get_xydata(), found["$DTW$"].path[:, ::-1])
    assert len(plan.images) == 2  # the costs, and the plan over them
    np.testing.assert_allclose(warp.lines[0].get_xdata(), found["warp"].warp.values)
    four = alignments.plot_alignments({**found, "again": found["soft"]})
    assert (four.axes[0].get_gridspec().nrows, four.axes[0].get_gridspec().ncols) == (2, 2)

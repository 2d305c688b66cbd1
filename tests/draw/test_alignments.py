"""Alignments as figures: what is joined is what was matched, and path, plan and warp lie where they are."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import timelike as tl
from timelike.draw import alignments


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
    alignments.matched_signals(axes, x, y, alignments.path_lines(np.array([[0, 0], [1, 0], [2, 1]])))
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
    alignments.warp_curve(axes, Half)
    straight, curve = axes.lines
    np.testing.assert_array_equal(straight.get_xydata(), [[0, 10], [4, 12]])
    np.testing.assert_array_equal(curve.get_xydata(), np.stack([Half.times, Half.values], axis=1))


def test_an_alignment_shows_itself_in_a_notebook():
    made = tl.DTW().align([0.0, 1.0], [0.0, 1.0, 1.0])._repr_html_()
    assert made.count("<svg") == 1
    assert "<figcaption>Alignment(cost=0, 2 × 3 steps, path of 3)</figcaption>" in made

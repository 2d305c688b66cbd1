"""Alignments beside each other: every line is where its alignment or warp says."""

import numpy as np
import pytest

import timelike as tl
from timelike.plotting import warps


def test_each_alignment_has_a_panel_with_its_matches():
    x, y = np.sin(np.linspace(0, 6, 30)), np.sin(np.linspace(0, 6, 40))
    alignments = {"DTW": tl.DTW().align(x, y), "GDTW": tl.GDTW().align(x, y), "OPW": tl.OPW().align(x, y)}
    figure = warps.plot_matches(alignments)
    assert [axes.get_title() for axes in figure.axes] == list(alignments)
    for axes in figure.axes:
        *_, first, second = axes.lines
        np.testing.assert_allclose(np.diff(first.get_ydata()), np.diff(x))
        np.testing.assert_array_equal(second.get_ydata(), y)
    ends = [tuple(line.get_xdata()) for line in figure.axes[0].lines[:-2]]
    assert ends == [tuple(pair) for pair in alignments["DTW"].path[:: max(1, len(alignments["DTW"].path) // 60)]]


def test_warps_are_drawn_over_the_true_one_and_below_the_signals():
    truth = np.array([0.0, 0.5, 2.0, 3.0])
    estimates = {"one": truth + 0.5, "two": truth - 0.5}
    figure = warps.plot_warp_estimates(estimates, truth, [warps.SignalPair("raw", truth, -truth)])
    signals, below = figure.axes
    assert signals.get_title() == "raw"
    np.testing.assert_array_equal(signals.lines[1].get_ydata(), -truth)
    assert [line.get_label() for line in below.lines] == ["true", "one", "two"]
    for line, expected in zip(below.lines, (truth, *estimates.values()), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([np.arange(4), expected], axis=1))


@pytest.mark.parametrize("dark", [False, True])
def test_without_signals_there_is_one_panel(dark):
    (axes,) = warps.plot_warp_estimates({"one": np.arange(3.0)}, np.arange(3.0), dark=dark).axes
    assert len(axes.lines) == 2

"""Samples drawn: every permutation is in a bar, evidence has its alarm, and names neither overlap nor mean markup."""

import itertools

import numpy as np
import pytest

from timelike.plotting import two_sample

RNG = np.random.default_rng(0)


def counts(axes):
    """The heights of bars by the name of their kind."""
    return {container[0].get_label(): [bar.get_height() for bar in container] for container in axes.containers}


def overlapping(figure):
    """Labels of the batches that lie on each other, or leave the figure, as they are drawn."""
    figure.draw_without_rendering()
    labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    if labels[0].get_rotation():  # aslant: what is between two lines of text, across them
        apart = labels[1].get_transform().transform(labels[1].get_position())[0]
        apart -= labels[0].get_transform().transform(labels[0].get_position())[0]
        return apart * np.sin(np.radians(labels[0].get_rotation())) < labels[0].get_fontsize() * figure.dpi / 72
    ends = [(box.x0, box.x1) for box in (label.get_window_extent() for label in labels)]
    return any(first[1] > second[0] for first, second in itertools.pairwise(ends))


def test_every_permutation_is_counted_once_and_those_as_large_apart():
    values = RNG.standard_normal(500)
    (axes,) = two_sample.plot_null(values, 1.0, 0.17, "MMD²").axes
    found = counts(axes)
    assert sum(found["smaller"]) == (values < 1).sum()
    assert sum(found["as large or larger"]) == (values >= 1).sum()
    assert axes.lines[0].get_xdata()[0] == 1.0
    assert axes.get_title() == "p = 0.17, 500 permutations"


def test_equal_statistics_are_one_bar_in_the_middle():
    (axes,) = two_sample.plot_null(np.zeros(99), 0.0, 1.0, "MMD²").axes
    (bars,) = axes.containers
    (bar,) = [bar for bar in bars if bar.get_height()]
    assert bar.get_height() == 99
    assert bar.get_x() + bar.get_width() / 2 == pytest.approx(0.0)


def test_a_statistic_far_outside_is_inside_the_figure():
    (axes,) = two_sample.plot_null(RNG.standard_normal(99), 50.0, 0.01, "MMD²").axes
    assert axes.get_xlim()[0] < -2
    assert axes.get_xlim()[1] > 50
    assert sum(sum(heights) for heights in counts(axes).values()) == 99


def test_evidence_is_on_a_logarithmic_axis_with_its_alarm_and_the_change():
    values = np.array([0.9, 0.7, 30.0, 1e5])
    (axes,) = two_sample.plot_evidence(values, 100.0, 3, ["1", "2", "3", "4"]).axes
    np.testing.assert_allclose(axes.lines[0].get_xydata(), np.stack([np.arange(1, 5), values], axis=1))
    assert axes.get_yscale() == "log"
    assert axes.lines[1].get_ydata()[0] == 100.0
    span = axes.patches[0].get_extents().transformed(axes.transData.inverted())
    assert (span.x0, span.x1) == pytest.approx((2.5, 4.5))
    assert axes.get_ylim()[0] < 0.7


@pytest.mark.parametrize(
    "names",
    [
        ["1", "2", "3"],
        [f"2024-01-{day:02d}" for day in range(1, 9)],
        [f"samples {200 * i} to {200 * i + 200}" for i in range(20)],
        ["a name of a batch that somebody made very long indeed, and longer"] * 12,
    ],
)
def test_names_of_batches_never_lie_on_each_other(names):
    assert not overlapping(two_sample.plot_evidence(np.ones(len(names)), 100.0, None, names))


def test_many_batches_are_numbered():
    figure = two_sample.plot_evidence(np.ones(40), 100.0, None, [f"day {i}" for i in range(40)])
    figure.draw_without_rendering()
    assert not any("day" in label.get_text() for label in figure.axes[0].get_xticklabels())
    assert not overlapping(figure)


def test_the_legend_lies_outside_the_axes():
    figure = two_sample.plot_evidence(np.array([0.9, 0.8]), 100.0, None, ["1", "2"])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_a_dollar_in_a_name_is_no_formula():
    figure = two_sample.plot_evidence(np.ones(2), 100.0, None, ["$x_$", "2"])
    figure.draw_without_rendering()
    assert figure.axes[0].get_xticklabels()[0].get_text().replace("\\", "") == "$x_$"


def test_named_items_are_filled_where_they_are_right():
    right = {"ours": np.array([[True, False, True], [True, True, True]]), "rival": np.eye(2, 3, dtype=bool)}
    figure = two_sample.plot_named_items(right, ["Monday", "cost $1 to $2"], ("new", "known"))
    for axes, values in zip(figure.axes, right.values(), strict=True):
        filled, empty = (set(map(tuple, np.asarray(one.get_offsets()).astype(int))) for one in axes.collections)
        assert filled == {(column + 1, row) for row, column in zip(*np.nonzero(values), strict=True)}
        assert empty == {(column + 1, row) for row, column in zip(*np.nonzero(~values), strict=True)}
    assert [axes.get_title() for axes in figure.axes] == ["ours: 5 of 6", "rival: 2 of 6"]
    figure.draw_without_rendering()
    assert figure.axes[0].get_yticklabels()[1].get_text() == r"cost \$1 to \$2"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["new", "known"]

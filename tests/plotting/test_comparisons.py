"""Pictures of comparisons: every method has its place, intervals are as long as they should be, bars join cliques."""

import pytest

from timelike.plotting import comparisons


def lines_of(figure):
    return [line.get_xydata().tolist() for line in figure.axes[0].get_lines()]


def test_methods_stand_in_order_with_their_intervals_and_folds():
    figure = comparisons.plot_scores(["a$x$", "b"], [(0.9, 0.8, 1.0), (0.5, 0.4, 0.6)], [(0.85, 0.95), ()], "accuracy")
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"a\$x\$", "b"]
    drawn = lines_of(figure)
    assert [[0.8, 0], [1.0, 0]] in drawn
    assert [[0.85, 0], [0.95, 0]] in drawn
    assert [[0.5, 1]] in drawn
    low, high = axes.get_ylim()
    assert low > high  # the first is above
    assert axes.get_xlabel() == "accuracy"


def test_ranks_are_marked_on_the_line_and_cliques_joined_below_it():
    names, ranks = ["x", "y", "z"], [2.5, 1.25, 2.25]
    figure = comparisons.plot_critical_differences(names, ranks, [(0, 2)], difference=0.8)
    drawn = lines_of(figure)
    for rank in ranks:
        assert [[rank, 0.0]] in drawn
    bar = next(line for line in drawn if len(line) == 2 and line[0][1] == line[1][1] < 0)
    assert bar[0][0] <= 2.25 <= 2.5 <= bar[1][0] < 2.6
    assert [[1.0, 1.0], [1.8, 1.0]] in drawn  # as long as the critical difference
    words = [text.get_text().strip() for text in figure.axes[0].texts]
    assert "1.25  y" in words
    assert "x  2.50" in words
    assert "CD 0.80" in words


@pytest.mark.parametrize("count", [2, 3, 11])
def test_no_two_names_are_drawn_at_one_place(count):
    figure = comparisons.plot_critical_differences([f"m{i}" for i in range(count)], [1.0 + i for i in range(count)], [])
    places = [text.get_position() for text in figure.axes[0].texts]
    assert len(set(places)) == len(places)

"""Sparklines: small lines that a browser draws, read back from their paths."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, strategies as st
from matplotlib.colors import to_rgb

import timelike as tl
from timelike.plotting import sparklines
from timelike.plotting.style import COLORS

NAN = float("nan")


def points(svg):
    """The lines of a path as lists of (x, y)."""
    path = ElementTree.fromstring(svg).find("path").get("d")
    runs = [run.replace("h0", "").split("L") for run in path.split("M")[1:]]
    return [[tuple(map(float, point.split())) for point in run] for run in runs]


def spark(values, times=None, low=None, high=None):
    values = np.array(values, float)
    times = np.arange(len(values)) * 1.0 if times is None else np.array(times)
    low, high = (np.nanmin(values) if low is None else low), (np.nanmax(values) if high is None else high)
    return sparklines.sparkline_svg(sparklines.Sparkline(times, values, low, high, "x"))


def test_a_line_goes_from_corner_to_corner_in_its_own_time():
    ((first, middle, last),) = points(spark([0.0, 1.0, 4.0], times=[10.0, 11.0, 14.0]))
    assert (first, last) == ((2, 22), (118, 2))
    np.testing.assert_allclose(middle, (2 + 116 / 4, 22 - 20 / 4), atol=0.05)


def test_lines_are_broken_where_values_are_missing_and_single_ones_are_dots():
    runs = points(spark([1.0, 2.0, NAN, 3.0, NAN, 4.0, 5.0]))
    assert [len(run) for run in runs] == [2, 1, 2]
    assert spark([1.0, NAN]).count("h0") == 1
    assert 'd=""' in spark([NAN, NAN], low=NAN, high=NAN)


@pytest.mark.parametrize("values", [[5.0, 5.0], [7.0]])
def test_what_never_changes_lies_in_the_middle(values):
    ((first, *_),) = points(spark(values))
    assert first[1] == sparklines.HEIGHT / 2


def test_extremes_stay_in_the_picture():
    ((low, high),) = points(spark([-1.7e308, 1.7e308]))
    assert (low[1], high[1]) == (22, 2)


@given(st.lists(st.floats(-100, 100) | st.just(NAN), min_size=1, max_size=300), st.integers(2, 30))
def test_thinning_keeps_the_extremes_and_the_order(values, most):
    values = np.array(values)
    times, kept = sparklines.thin_line(np.arange(len(values)) * 1.0, values, most)
    assert (np.diff(times) >= 0).all()
    assert len(kept) <= max(2 * most, 6 * most)
    if not np.isnan(values).all():
        assert (np.nanmin(kept), np.nanmax(kept)) == (np.nanmin(values), np.nanmax(values))


def test_a_hole_survives_thinning():
    values = np.sin(np.arange(5000) / 50)
    values[2000] = NAN
    assert len(points(spark(values))) == 2


def contrast(one, other):
    """Of relative luminances, as the web's guidelines define it."""

    def luminance(color):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#12181f"])
def test_lines_stand_out_on_light_and_dark(paper):
    assert min(contrast(color, paper) for color in COLORS[:4]) > 2.5


def shown(s):
    """The table of examples."""
    return s._repr_html_().split("</table>", 1)[1]


def test_a_notebook_shows_a_line_for_every_channel_of_a_few_sequences():
    rng = np.random.default_rng(0)
    s = tl.Sequences(
        rng.normal(size=(40, 30, 2)),
        labels=["walk", "run"] * 20,
        groups=["anna"] * 40,
        ids=[f"<r{i}>" for i in range(40)],
        channel_names=["a<x", "ay"],
    )
    table = shown(s)
    assert table.count("<svg") == 6 * 2
    assert "6 of 40 sequences:" in table
    assert re.findall(r'<th scope="col">([^<]*)</th>', table) == ["id", "label", "group", "length", "a&lt;x", "ay"]
    assert "<r" not in table
    assert {"walk", "run"} <= set(re.findall(r"<td>(\w+)</td>", table))
    lines = re.findall(r"<svg.*?</svg>", table)
    ends = [y for line in lines[::2] for run in points(line) for _, y in run]
    assert (min(ends), max(ends)) == (2, 22)  # one scale for all lines of a channel


def test_many_channels_and_classes_are_thinned_and_said():
    table = shown(tl.Sequences(np.zeros((50, 5, 9)), labels=np.arange(50)))
    assert "6 of 50 sequences, 4 of 9 channels:" in table
    assert table.count("<svg") == 24


@pytest.mark.parametrize(
    "s",
    [
        tl.Sequences([[1.0]]),
        tl.Sequences([[NAN, NAN]]),
        tl.Sequences([[1.0, 2.0]], times=[[3.0, 3.0]], on_disorder="keep"),
        tl.Sequences(np.zeros((2, 3), bool), labels=[0.5, 1.5]),
        tl.Sequences([[1.0, 2.0]], times=[["2024-01-01", "2024-01-02"]]),
    ],
)
def test_every_collection_has_lines(s):
    for line in re.findall(r"<svg.*?</svg>", shown(s)):
        points(line)
    assert "<svg" in shown(s)


def test_pictures_and_nothing_have_no_lines():
    assert shown(tl.Sequences(np.zeros((2, 3, 1, 4, 4)))) == ""
    assert shown(tl.Sequences([[1.0]])[:0]) == ""

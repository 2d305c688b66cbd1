"""The map in a page: places, looks and lines are those of the data, and its data cannot end its element."""

import json
import re

import numpy as np
import pytest

from timelike.plotting import interactive_map as maps
from timelike.plotting.style import COLORS


def make_map(places, codes=None, wrong=None, names=None, lines=()):
    n = len(places)
    codes = np.full(n, -1) if codes is None else np.asarray(codes)
    points = maps.MapPoints(
        [f"p{i}" for i in range(n)] if names is None else names,
        codes,
        [f"class {i}" for i in range(codes.max(initial=-1) + 1)],
        None if wrong is None else ["?"] * n,
        None if wrong is None else np.asarray(wrong),
        [],
        np.zeros((n, 0), np.int64),
        ["height"] if lines else [],
        lines,
    )
    return maps.interactive_map([maps.MapView("PCA", np.asarray(places), "a note")], points, label="a map")


def data(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html).group(1))


def test_places_fill_the_drawing_and_the_second_axis_goes_up():
    html = make_map([[0.0, -1.0], [5.0, 3.0], [10.0, 1.0]])
    view = data(html)["views"][0]
    low, right, bottom = 14.0, maps.WIDTH - 14.0, maps.HEIGHT - 14.0
    assert view["x"] == [low, maps.WIDTH / 2, right]
    assert view["y"] == [bottom, low, (low + bottom) / 2]
    drawn = re.findall(r'data-i="(\d)" transform="translate\(([\d.]+) ([\d.]+)\)', html)
    assert [(float(x), float(y)) for _, x, y in sorted(drawn)] == list(zip(view["x"], view["y"], strict=True))


@pytest.mark.parametrize("places", [[[2.0, 2.0]], [[1.0, 7.0], [3.0, 7.0]]])
def test_points_without_extent_are_in_the_middle(places):
    view = data(make_map(places))["views"][0]
    assert view["y"] == [maps.HEIGHT / 2] * len(places)


def test_classes_have_looks_of_their_own_and_very_many_share_grey():
    looks = [maps._look(code) for code in range(60)]
    assert len(set(looks[:36])) == 36
    assert COLORS[-1] not in {color for color, _ in looks[:42]}
    assert set(looks[42:]) == {(COLORS[-1], 0)}
    html = make_map(np.random.default_rng(0).normal(size=(60, 2)), codes=range(60))
    assert "19 more in grey" in html
    assert html.count('aria-pressed="false"') == 41


def test_wrong_answers_have_a_ring_and_are_above_the_others():
    html = make_map([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], codes=[0, 0, 1], wrong=[True, False, False])
    order = re.findall(r'data-i="(\d)"', html)
    assert order[-1] == "0"
    assert data(html)["wrong"] == [0]
    ring = re.search(r'<g data-class="0"[^>]*stroke="currentColor"[^>]*><g data-i="(\d)"', html)
    assert ring.group(1) == "0"


def test_lines_share_the_range_of_their_channel_and_show_what_is_missing():
    lines = [[np.array([0.0, 10.0])], [np.array([5.0, np.nan, 10.0])], [np.full(3, 10.0)]]
    found = data(make_map(np.zeros((3, 2)), lines=lines))["lines"]
    assert found == [["0_"], ["W._"], ["___"]]


def test_long_lines_keep_their_peaks():
    values = np.zeros(1000)
    values[517] = 1.0
    line = maps._encode_line(values, 0.0, 1.0)
    assert len(line) <= 40
    assert line.count("_") == 1


def test_names_cannot_end_the_element_they_are_in():
    names = ["</script><script>alert(1)</script>", "<!--", "\u2028 \ud800"]
    html = make_map(np.zeros((3, 2)), names=names)
    assert html.count("</script>") == 2
    assert "<!--" not in html
    assert data(html)["names"] == names
    assert html.isascii()

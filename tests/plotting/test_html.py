"""Results as HTML: text from data stays text, numbers are short, figures are part of the page."""

import base64
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from timelike.plotting import html

MARKUP = "<b onclick='x'>&"


@pytest.mark.parametrize(
    "made",
    [
        html.paragraph(MARKUP),
        html.table([MARKUP], [[MARKUP]]),
        html.fact_table(MARKUP, [(MARKUP, MARKUP)]),
        html.section(MARKUP, ""),
        html.figure_html(Figure(), MARKUP),
        html.animation_html(__file__, MARKUP),  # whatever is in the file
    ],
    ids=["text", "table", "facts", "section", "picture", "animation"],
)
def test_what_comes_from_data_is_escaped_everywhere(made):
    assert "<b" not in made
    assert "onclick='" not in made
    assert "&lt;b onclick=&#x27;x&#x27;&gt;&amp;" in made


def test_numbers_in_tables_are_short_and_to_the_right():
    assert html.table(["a"], [[0.123456]]).count('<td class="number">0.1235</td>') == 1
    assert '<td class="number">12345678</td>' in html.table(["a"], [[12345678]])
    assert "<td>True</td>" in html.table(["a"], [[True]])


def test_a_picture_is_part_of_the_page():
    figure = Figure()
    figure.subplots().plot([1, 2])
    made = html.figure_html(figure, "a line")
    assert made.count("<svg") == made.count("</svg>") == 1
    assert "a line</figcaption>" in made


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (np.float32(0.125), '<td class="number">0.125</td>'),
        (np.int64(7), '<td class="number">7</td>'),
        (np.bool_(True), "<td>True</td>"),
        (float("nan"), '<td class="number">nan</td>'),
        (None, "<td>None</td>"),
    ],
)
def test_numbers_of_numpy_are_numbers(value, cell):
    assert cell in html.table(["a"], [[value]])


def test_the_same_figure_gives_the_same_drawing_but_for_its_names():
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert len(html.figure_html(figure, "a")) == len(html.figure_html(figure, "a"))
    assert "<dc:date>" not in html.figure_html(figure, "a")


def test_results_and_html_are_joined_in_order():
    class Result:
        def _repr_html_(self):
            return "<p>2</p>"

    assert html.join_html("<p>1</p>", Result(), "<p>3</p>") == "<p>1</p>\n<p>2</p>\n<p>3</p>"


def test_facts_are_rows_with_names():
    made = html.fact_table("Warp", [("knots", 3), ("ends", "0 to 1")])
    assert made.count("<tr>") == 2
    assert '<th scope="row">knots</th><td class="number">3</td>' in made
    assert "<caption>Warp</caption>" in made


def test_an_animation_is_part_of_the_page(tmp_path):
    file = tmp_path / "small.gif"
    Image.new("RGB", (3, 2)).save(file, save_all=True, append_images=[Image.new("RGB", (3, 2), "white")])
    made = html.animation_html(file, "a flash")
    embedded = base64.b64decode(re.search('src="data:image/gif;base64,([^"]*)"', made)[1])
    assert embedded == file.read_bytes()
    assert 'alt="a flash"' in made
    assert "a flash</figcaption>" in made

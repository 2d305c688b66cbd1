"""Figures in a page: the ink of the page, names of their own, text that stays what it was, and nothing foreign."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from timelike.plotting import style
from timelike.plotting.svg import figure_svg


def line_figure(title="title", dark=False):
    with style.page_theme(dark):
        figure = Figure(figsize=(4, 3), layout="constrained")
        axes = figure.subplots()
        axes.plot([1, 2, 3], color=style.COLORS[0])
        axes.scatter([0, 1], [1, 2], c="black")
        axes.fill_between([0, 1], [1, 1], [2, 2], facecolor="none", edgecolor=style.COLORS[1], hatch="///")
        axes.set_title(title)
    return figure


def colors(drawing):
    return set(re.findall(r"(?:fill|stroke):\s*([^;\"]+)", drawing))


def test_a_light_figure_has_the_ink_of_the_page_and_no_background():
    drawing = figure_svg(line_figure())
    assert "currentColor" in colors(drawing)
    assert not colors(drawing) & {"#000000", "#ffffff"}
    assert ElementTree.fromstring(drawing).get("fill") == "currentColor"
    assert style.COLORS[0].lower() in colors(drawing)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_control_characters_of_a_label_are_replaced():
    drawing = figure_svg(line_figure("a\x1b[31m\x00\ufffeb"))
    texts = [text.text for text in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
    assert "a\ufffd[31m\ufffd\ufffdb" in texts


def test_a_dark_figure_keeps_its_background():
    drawing = figure_svg(line_figure(dark=True))
    assert "currentColor" not in drawing
    assert style.DARK_BACKGROUND in colors(drawing)


def test_text_is_text_whatever_it_says():
    title = 'fill: #000000 d="1.23456" </text><script> & \\$x'
    root = ElementTree.fromstring(figure_svg(line_figure(title)))
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 'fill: #000000 d="1.23456" </text><script> & $x' in texts
    assert root.find(".//{http://www.w3.org/2000/svg}script") is None


def test_names_are_unique_in_a_page_and_all_references_lead_somewhere():
    first, second = figure_svg(line_figure("a")), figure_svg(line_figure("b"))
    names = [re.findall(r'\bid="([^"]+)"', drawing) for drawing in (first, second)]
    assert not set(names[0]) & set(names[1])
    for drawing, own in zip((first, second), names, strict=True):
        used = re.findall(r'(?:url\(#|href="#)([^")]+)', drawing)
        assert used
        assert set(used) == set(own)


def clipped_figure():
    """One whose clip paths are no rectangles: matplotlib names these by their addresses in memory."""
    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot(projection="polar")
    axes.plot([0, 1, 2], [0, 1, 3])
    return figure


def test_equal_drawings_are_equal_text():
    first, others = clipped_figure(), [clipped_figure() for _ in range(3)]
    assert "<clipPath" in figure_svg(first)
    assert {figure_svg(other) for other in others} == {figure_svg(first)}
    program = "from plotting.test_svg import *; print(figure_svg(line_figure()) == figure_svg(line_figure()))"
    folder = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"  # also the very first of a process


def test_what_others_write_as_xml_stays_what_it_was():
    program = (
        "from xml.etree import ElementTree\n"
        "from plotting.test_svg import *\n"
        "own = ElementTree.Element('{http://www.w3.org/2000/svg}svg')\n"
        "before = ElementTree.tostring(own)\n"
        "figure_svg(line_figure())\n"
        "print(ElementTree.tostring(own) == before)"
    )
    folder = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True"


def test_nothing_of_a_drawing_reaches_the_page():
    drawing = figure_svg(line_figure())
    assert "<style" not in drawing  # its rules would be those of the whole page
    assert "metadata" not in drawing
    assert "matplotlib.org" not in drawing
    assert drawing == figure_svg(line_figure())


@pytest.mark.parametrize("factor", [1.0, 1e-3])
def test_rounding_moves_no_point_by_more_than_a_hundredth(factor):
    rng = np.random.default_rng(0)
    figure = Figure(figsize=(4, 3))
    axes = figure.subplots()
    (line,) = axes.plot(factor * rng.normal(size=50), color="#123456")
    axes.set(xlim=(0, 49), ylim=(-3 * factor, 3 * factor))
    expected = line.get_transform().transform(line.get_xydata()) * 72 / figure.dpi
    expected[:, 1] = 3 * 72 - expected[:, 1]
    (path,) = re.findall(r'd="([^"]+)"[^>]*stroke:#123456', figure_svg(figure))
    found = np.array(re.findall(r"-?[\d.]+", path), float).reshape(-1, 2)
    np.testing.assert_allclose(found, expected, atol=0.011)

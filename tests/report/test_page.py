"""The page is one file, safe to show, and appears whole or not at all."""

import base64
import hashlib
import re
import shutil

import pytest
from matplotlib.figure import Figure
from tests.report.documents import Document

import timelike as tl
from timelike.report import Page, sections


def test_text_from_data_cannot_become_markup():
    page = Page("<script>", lead="a & b")
    page.add("<b>", sections.paragraph("<img>"), sections.table(["<i>"], [["<u>"]]))
    assert not Document(page.to_html()).tags() & {"b", "img", "i", "u"}
    assert Document(page.to_html()).text.count("<script>") == 2  # title and heading


def test_a_result_shows_itself_in_a_page():
    page = Page("Data")
    page.add("Training part", tl.Sequences([[1.0, 2.0]], labels=["<b>"]), sections.paragraph("as given"))
    html = page.to_html()
    assert "<caption>1 sequence</caption>" in html
    assert "1 class: &lt;b&gt; (1)" in html
    assert "<p>as given</p>" in html
    Document(html)  # in which every element is closed


def test_sections_given_to_the_constructor_stay_as_they_are():
    html = Page("x", sections=[("a & b", "<p>1</p>")]).to_html()
    assert '<section id="section-1"><h2>a &amp; b</h2>\n<p>1</p></section>' in html


def test_a_page_of_several_sections_has_a_table_of_contents():
    page = Page("x", sections=[(f"part {i}", "") for i in range(4)])
    document = Document(page.to_html())
    links = [attributes["href"] for tag, attributes in document.elements if tag == "a"]
    assert [attributes["id"] for tag, attributes in document.elements if tag == "section"] == [one[1:] for one in links]
    page.sections.pop()
    assert "nav" not in Document(page.to_html()).tags()


def test_the_page_forbids_requests_and_all_scripts_but_its_own():
    html = Page("x").to_html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    (script,) = [text for kind, text in Document(html).raw if kind == "script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in rules["script-src"]
    assert "unsafe" not in rules["script-src"]


def test_nothing_half_written_is_left_behind(tmp_path, monkeypatch):
    page = Page("x")
    assert page.save(tmp_path / "new" / "page.html").read_text().startswith("<!doctype html>")
    monkeypatch.setattr(Page, "to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        page.save(tmp_path / "other.html")
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["page.html"]


def test_a_browser_shows_the_page_without_complaint(tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    figure = Figure()
    figure.subplots().plot([1, 2])
    page = Page("Shown", lead="in a browser")
    page.add("Drawing", sections.figure_html(figure, "a line"), sections.table(["n"], [[1]]))
    path = page.save(tmp_path / "page.html")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with (
        playwright.sync_playwright() as driver,
        driver.chromium.launch(executable_path=browser, args=arguments) as chromium,
    ):
        tab = chromium.new_page(viewport={"width": 500, "height": 800})
        complaints = []
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("requestfailed", lambda request: complaints.append(request.url))
        tab.goto(path.as_uri())
        assert tab.title() == "Shown"
        box = tab.locator("figure svg").bounding_box()
        wide = tab.evaluate("document.documentElement.scrollWidth")
    assert complaints == []
    assert box["width"] > 300
    assert box["height"] > 100
    assert wide <= 500  # a phone does not scroll sideways

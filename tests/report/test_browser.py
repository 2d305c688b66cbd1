"""A report in a browser: pointed at, clicked, by keyboard, narrow, dark and printed, without a request or a complaint."""

import shutil
from itertools import pairwise

import numpy as np
import pytest

import timelike as tl


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(0)
    labels = np.array(["fast", "slow", "</script><b>"])[np.arange(30) % 3]
    values = np.sin(np.arange(20) * (0.5 + np.arange(30) % 3)[:, None] / 2) + 0.8 * rng.normal(size=(30, 20))
    X = tl.Sequences(values, labels=labels, ids=[f"wave-{i}<i>" for i in range(30)])
    path = tmp_path_factory.mktemp("page") / "report.html"
    tl.report.write(tl.Neighbors("dtw").fit(X[:15], labels[:15]), X[15:], out=path)
    return path


@pytest.fixture(scope="module")
def chromium():
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    playwright = pytest.importorskip("playwright.sync_api")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=browser, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def open_page(chromium, report):
    contexts, complaints = [], []

    def open_(width=900, scheme="light"):
        contexts.append(chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme))
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda request: complaints.append(request.url) if request.url != report.as_uri() else None)
        tab.goto(report.as_uri())
        return tab

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


def test_pointing_clicking_and_keys_show_a_sequence_and_its_neighbours(open_page):
    tab = open_page()
    card = tab.locator("[data-card]")
    assert "Point at a sequence" in card.inner_text()
    point = tab.locator("[data-timelike-map] [data-i='3']")
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    name = card.locator("strong").inner_text()
    assert name.startswith("wave-")
    assert name.endswith("<i>")
    point.click(force=True)
    tab.mouse.move(5, 5)
    assert card.locator("strong").inner_text() == name  # a click keeps it
    assert tab.locator("[data-links] line").count() == 5
    neighbor = card.locator("ol button").first
    words = neighbor.inner_text()
    neighbor.click()
    assert words.startswith(card.locator("strong").inner_text())
    before = card.locator("strong").inner_text()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowUp")
    assert card.locator("strong").inner_text() != before
    tab.keyboard.press("Escape")
    assert "Point at a sequence" in card.inner_text()
    tab.locator("[data-timelike-map] input").fill("wave-20")
    assert card.locator("strong").inner_text() == "wave-20<i>"


def test_the_buttons_of_the_map_choose_another_view_and_fade_classes(open_page):
    tab = open_page()
    place = "document.querySelector(\"[data-i='0']\").getAttribute('transform')"
    before, note = tab.evaluate(place), tab.locator("[data-note]").inner_text()
    tab.get_by_role("button", name="t-SNE").click()
    assert tab.evaluate(place) != before
    assert tab.locator("[data-note]").inner_text() != note
    tab.get_by_role("button", name="fast", exact=True).click()
    faded = tab.evaluate(
        "[...document.querySelectorAll('svg > [data-class]')].filter((g) => g.style.opacity < .5).length"
    )
    assert faded >= 2
    assert tab.get_by_role("button", name="fast", exact=True).get_attribute("aria-pressed") == "true"


@pytest.mark.parametrize("width", [390, 900, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_every_width_and_can_be_read_in_light_and_dark(open_page, width, scheme):
    tab = open_page(width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    colors = "(part) => { const own = getComputedStyle(part); return [own.color, own.backgroundColor]; }"
    ink, paper = tab.locator("body").evaluate(colors)
    light = {side: sum(map(int, value[4:-1].split(","))) for side, value in (("ink", ink), ("paper", paper))}
    assert (
        (light["paper"] > 700 > 200 > light["ink"])
        if scheme == "light"
        else (light["ink"] > 600 > 150 > light["paper"])
    )
    text = tab.locator("figure svg text").first.evaluate("(text) => getComputedStyle(text).fill")
    assert text == tab.locator("figure").first.evaluate("(figure) => getComputedStyle(figure).color")
    unreachable = """[...document.querySelectorAll('.drawing, table, pre')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.tabIndex < 0).length"""
    assert tab.evaluate(unreachable) == 0


def test_the_page_can_be_printed(open_page, tmp_path):
    tab = open_page()
    tab.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000


def test_headings_and_names_are_there_for_those_who_do_not_see(open_page):
    tab = open_page()
    levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((one) => +one.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    unnamed = """[...document.querySelectorAll('svg, [role=img], input, button')].filter((one) =>
        !one.closest('[aria-hidden=true]') && !one.getAttribute('aria-label') && !one.textContent.trim()
        && !(one.labels && one.labels.length)).length"""
    assert tab.evaluate(unnamed) == 0
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.locator("nav a").count() == tab.locator("h2").count()

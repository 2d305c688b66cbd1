"""Matplotlib figures as SVG inside a page: text stays text, ink follows the page, and names are unique."""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+\.\d+")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # control characters of a label
_INK = "#000000"  # what matplotlib draws text and axes with on a light page
_MIN_SCALE = 0.72  # below which text would be too small: the drawing scrolls sideways instead
_PLACES = frozenset({"d", "x", "y", "width", "height", "points", "transform"})


def figure_svg(figure: Figure) -> str:
    """The figure as an `<svg>` element as wide as the page, but not wider than the figure.

    A figure for a light page has no background, and its black is the colour of the text around it, so that it can also
    be read on a dark page. Any other figure keeps its background.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure(figsize=(4, 3))
    >>> drawing = figure_svg(figure)
    >>> drawing.startswith("<svg"), 'viewBox="0 0 288 216"' in drawing, "max-width:288pt" in drawing
    (True, True, True)
    """
    from matplotlib import rc_context
    from matplotlib.colors import same_color

    follows_page = same_color(figure.get_facecolor(), "white")
    buffer = io.StringIO()
    # text as text: smaller, can be selected, and read aloud; a fixed salt: names do not change from run to run
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "timelike"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=follows_page)
    root = ElementTree.fromstring(_NOT_XML.sub("\ufffd", buffer.getvalue()))
    _remove_prefixes(root)
    _remove_foreign_parts(root)
    _rename_references(root)
    for element in root.iter():
        _shorten(element, follows_page=follows_page)
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    root.attrib.pop("version", None)
    root.set("aria-hidden", "true")
    root.set("font-family", "system-ui, sans-serif")
    if follows_page:
        root.set("fill", "currentColor")
    root.set(
        "style",
        f"width:100%;height:auto;max-width:{width:g}pt;min-width:{_MIN_SCALE * width:.0f}pt;"
        "stroke-linejoin:round;stroke-linecap:butt",
    )
    return ElementTree.tostring(root, encoding="unicode")


def _remove_prefixes(root: ElementTree.Element) -> None:
    """Plain tags in the namespace of SVG, declared on the root.

    `ElementTree.register_namespace` would do it for the whole process, and change what the caller writes.
    """
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    root.attrib = {"xmlns": _SVG, **root.attrib}


def _remove_foreign_parts(root: ElementTree.Element) -> None:
    """Without metadata, which has addresses, and style sheets, which would be those of the whole page."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in ("metadata", "style"):
                parent.remove(child)


def _rename_references(root: ElementTree.Element) -> None:
    """Names that are referred to are made unique in a page of several drawings; others are removed."""
    used: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            used.update(_REFERENCE.findall(value))
        link = element.attrib.pop(_LINK, None)
        if link is not None:
            element.set("href", link)
            used.add(link.removeprefix("#"))
    # numbers first: matplotlib names clip paths by addresses in memory, which would differ in an equal drawing
    owners = [element for element in root.iter() if "id" in element.attrib]
    places = {element.attrib["id"]: f"n{i}" for i, element in enumerate(owners) if element.attrib["id"] in used}
    _replace_names(root, places)
    digest = hashlib.sha256(ElementTree.tostring(root)).hexdigest()[:8]
    _replace_names(root, {name: f"{name}-{digest}" for name in places.values()})


def _replace_names(root: ElementTree.Element, names: dict[str, str]) -> None:
    for element in root.iter():
        own = names.get(element.attrib.pop("id", ""))
        if own is not None:
            element.set("id", own)
        for attribute, value in element.attrib.items():
            if attribute == "href" and value.startswith("#"):
                element.set(attribute, f"#{names.get(value[1:], value[1:])}")
            elif "url(#" in value:
                element.set(attribute, _REFERENCE.sub(lambda found: f"url(#{names.get(found[1], found[1])})", value))


def _shorten(element: ElementTree.Element, *, follows_page: bool) -> None:
    """Two decimals, no line breaks, the font of the page, and the ink of the page in place of black."""
    for name in _PLACES & element.attrib.keys():
        value = element.attrib[name]
        if "scale" not in value and "matrix" not in value:
            value = _NUMBER.sub(_round_number, value)
        element.set(name, re.sub(r" ?([A-Za-z]) ", r"\1", value.replace("\n", "")).strip() if name == "d" else value)
    if "style" in element.attrib:
        parts = [part.partition(":") for part in element.attrib["style"].split(";")]
        settings = {name.strip(): value.strip() for name, _, value in parts if name.strip() != "font-family"}
        if follows_page:
            for name in ("fill", "stroke"):
                if settings.get(name) == _INK:
                    settings[name] = "currentColor"
        if element.tag == "g" and not settings:
            element.attrib.pop("style")
        else:
            element.set("style", ";".join(f"{name}:{value}" for name, value in settings.items() if name))
    if element.tag not in ("text", "tspan"):
        element.text = None
    element.tail = None


def _round_number(match: re.Match[str]) -> str:
    return f"{float(match.group()):.2f}".rstrip("0").rstrip(".")

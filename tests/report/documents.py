"""What a browser would make of a page: its elements, its texts, and the addresses it would ask for."""

import json
import re
from html.parser import HTMLParser

_RAW = {"script", "style"}
_VOID = {"meta", "input", "br", "img", "link", "hr"}


class Document(HTMLParser):
    """The elements of a page in order, as (tag, attributes), its text, and the contents of scripts and styles."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.raw, self.text, self._open = [], [], "", []
        self.feed(html)
        self.close()
        assert self._open == [], f"not closed: {self._open}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] in _RAW:
            self.raw.append((self._open[-1], data))
        else:
            self.text += data

    def tags(self):
        return {tag for tag, _ in self.elements}

    def headings(self, level):
        return [tag for tag, _ in self.elements].count(f"h{level}")

    def requests(self):
        """Addresses in attributes and styles, other than data and places on the page."""
        found = []
        for _, attributes in self.elements:
            found += [
                attributes[name]
                for name in ("src", "href", "xlink:href", "action", "srcset", "poster")
                if name in attributes
            ]
            found += re.findall(r"url\(\s*['\"]?([^)'\"]*)", attributes.get("style") or "")
            found += [
                one
                for name in ("fill", "clip-path", "mask")
                for one in re.findall(r"url\(([^)]*)", attributes.get(name) or "")
            ]
        for kind, text in self.raw:
            if kind == "style":
                found += re.findall(r"url\(\s*['\"]?([^)'\"]*)", text) + re.findall(r"@import\s+(\S+)", text)
        return [one for one in found if not one.startswith(("data:", "#"))]

    def maps(self):
        """The data of the interactive maps."""
        return [json.loads(text) for kind, text in self.raw if kind == "script" and text.startswith("{")]

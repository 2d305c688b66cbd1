"""`Page`: results assembled into one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ..core.files import make_folder, write_lines
from ..plotting.html import join_html, section
from ..plotting.interactive_map import SCRIPT as MAP_SCRIPT

_NO_ADDRESSES = "base-uri 'none'; form-action 'none'"  # `default-src` does not include these two
_MIN_LISTED = 4  # sections from which a page has a table of contents

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff; --line: #d8dee4; --soft: #55636f; --raised: #f5f7f9;
        --link: #0b62a8 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #16181d; --line: #343b45; --soft: #a3b0bc;
        --raised: #1f242b; --link: #7db8ee } }
* { box-sizing: border-box }
html { scroll-padding-top: 1rem; -webkit-text-size-adjust: 100% }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 62rem; margin: 2.5rem auto; padding: 0 1.25rem; overflow-wrap: break-word }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .3rem }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 .4rem; padding-top: 1.1rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem }
section { margin-top: 2.2rem }
p { margin: .5rem 0; max-width: 46rem }
a { color: var(--link) }
.lead { color: var(--soft) }
nav ul { list-style: none; padding: 0; margin: 1.2rem 0 0; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; max-width: 100% }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem }
th, td { padding: .35rem 1.1rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
thead th { color: var(--soft); font-weight: 600; font-size: .9rem; vertical-align: bottom }
tbody th { font-weight: 500; white-space: nowrap } tbody th + td { overflow-wrap: anywhere }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
thead .number { white-space: normal }
figure { margin: 1.2rem 0 }
figcaption { color: var(--soft); font-size: .9rem; max-width: 46rem }
figure img { max-width: 100%; height: auto }
pre { background: var(--raised); padding: .7rem .9rem; border-radius: 6px; overflow-x: auto; font-size: .88rem }
code { font-family: ui-monospace, monospace }
details { margin: .8rem 0 } summary { cursor: pointer; color: var(--link) }
button, input { font: inherit; font-size: .9rem; color: inherit; background: var(--raised); padding: .2rem .6rem;
         border: 1px solid var(--soft); border-radius: 6px; max-width: 100%; overflow-wrap: anywhere }
button { cursor: pointer; margin: 0 .2rem .35rem 0 }
button[aria-pressed=true] { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link); font-weight: 600 }
svg:focus:not(:focus-visible) { outline: none }
.cases { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1.5rem }
.cases figure { margin: .6rem 0 } .cases svg { min-width: 0 !important }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
@media (max-width: 34rem) { body { margin-top: 1.2rem; padding: 0 .9rem } tbody th { white-space: normal }
  table { font-size: .9rem } th, td { padding-right: .8rem } }
@media print { :root { --ink: #000; --paper: #fff; --line: #ccc; --soft: #444; --raised: #fff; --link: #000 }
  body { font-size: 10.5pt; max-width: none; margin: 0; padding: 0 } nav { display: none }
  figure, tr, pre { break-inside: avoid } h2, h3 { break-after: avoid }
  .drawing, table, pre { overflow: visible !important } .drawing svg { min-width: 0 !important }
  pre { white-space: pre-wrap } }
"""

# what scrolls sideways can be reached by the keyboard
_SCROLL_SCRIPT = """
addEventListener("load", () => {
  const mark = () => document.querySelectorAll(".drawing, table, pre").forEach((part) => {
    if (part.scrollWidth > part.clientWidth + 1) part.tabIndex = 0; else part.removeAttribute("tabindex");
  });
  mark();
  addEventListener("resize", mark);
});
"""


@dataclass
class Page:
    """A title and sections in order; `save` writes one HTML file that needs nothing else.

    A browser that opens it sends no request, and runs no scripts but those of this library: the page forbids both.

    >>> page = Page("Results", lead="What came out")
    >>> page.add("First", "<p>1</p>")
    >>> "<h2>First</h2>" in page.to_html()
    True
    """

    title: str
    lead: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)

    def add(self, heading: str, *parts: Any) -> None:
        """Append a section of results that show themselves, and of HTML as `sections` makes it."""
        self.sections.append((heading, join_html(*parts)))

    def to_html(self) -> str:
        """The whole page."""
        body = "\n".join(
            section(heading, content, anchor=_anchor(place)) for place, (heading, content) in enumerate(self.sections)
        )
        lead = f'<p class="lead">{escape(self.lead)}</p>' if self.lead else ""
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_content_policy()}">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>\n<body>"
            f"<header><h1>{escape(self.title)}</h1>{lead}{self._contents()}</header>\n<main>\n{body}\n</main>"
            f"<script>{_SCROLL_SCRIPT}</script></body></html>\n"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page; either the whole file appears or nothing does. Its folder is made in one that exists."""
        target = Path(path)
        make_folder(target.parent)
        write_lines(target, iter(self.to_html().splitlines()))
        return target

    def _contents(self) -> str:
        if len(self.sections) < _MIN_LISTED:
            return ""
        links = (
            f'<li><a href="#{_anchor(place)}">{escape(heading)}</a></li>'
            for place, (heading, _) in enumerate(self.sections)
        )
        return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'


def _anchor(place: int) -> str:
    return f"section-{place + 1}"


def _content_policy() -> str:
    """No request, and no script but ours, even if something in the data were taken for markup."""
    hashes = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (_SCROLL_SCRIPT, MAP_SCRIPT))
    scripts = " ".join(f"'sha256-{one}'" for one in hashes)
    return f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {scripts}; {_NO_ADDRESSES}"

"""`Page`: results assembled into one self-contained HTML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ..core.files import make_folder, write_lines
from ..plotting.html import join_html, section

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --paper: #fff; --line: #d8dee4; --soft: #5b6b7b }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #12181f; --line: #303a44; --soft: #9aa8b5 } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem }
h1 { font-size: 1.7rem; margin-bottom: .2rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
.lead { color: var(--soft); margin-top: 0 }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
th, td { padding: .4rem .9rem .4rem 0; text-align: left; border-bottom: 1px solid var(--line) }
td.number { text-align: right; font-variant-numeric: tabular-nums }
figure { margin: 1.2rem 0; background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: .6rem }
figure svg { width: 100%; height: auto } figcaption { color: #44525f; font-size: .9rem }
"""


@dataclass
class Page:
    """A title and sections in order; `save` writes one HTML file that needs nothing else.

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
        body = "\n".join(section(heading, content) for heading, content in self.sections)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style></head>\n<body><main>"
            f'<h1>{escape(self.title)}</h1><p class="lead">{escape(self.lead)}</p>\n{body}\n</main></body></html>\n'
        )

    def save(self, path: str | Path) -> Path:
        """Write the page; either the whole file appears or nothing does. Its folder is made in one that exists."""
        target = Path(path)
        make_folder(target.parent)
        write_lines(target, iter(self.to_html().splitlines()))
        return target

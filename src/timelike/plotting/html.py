"""HTML with escaped text: paragraphs, tables, embedded figures, sections."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUMBER_CLASS = ' class="number"'
_ONE_NUMBER = r"[-−+]?\d[\d.]*(e[-+]?\d+)?( ?%)?"
_NUMBER_TEXT = re.compile(rf"{_ONE_NUMBER}( [\[(±] ?{_ONE_NUMBER}((, | to ){_ONE_NUMBER})?[\])]?)?")  # 0.9 [0.8, 1.0]


def paragraph(words: str) -> str:
    """A paragraph.

    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p>{escape(words)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; columns of numbers are set to the right, also of numbers with their interval.

    >>> made = table(["name", "n"], [["a", 1], ["b", "0.5 [0.4, 0.6]"]])
    >>> made.count('<th scope="col" class="number">n</th>'), made.count('<td class="number">')
    (1, 2)
    """
    cells = [list(row) for row in rows]
    is_number = [_is_number_column([row[place] for row in cells]) for place in range(len(header))]
    head = "".join(
        f'<th scope="col"{_NUMBER_CLASS if number else ""}>{escape(name)}</th>'
        for name, number in zip(header, is_number, strict=True)
    )
    body = "".join(
        f"<tr>{''.join(table_cell(cell, number=number) for cell, number in zip(row, is_number, strict=True))}</tr>"
        for row in cells
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_number_column(cells: Sequence[Any]) -> bool:
    """Whether all cells with something in them are numbers, or texts of numbers."""
    texts = [cell for cell in cells if not _is_number(cell)]
    return (
        bool(cells)
        and any(cell != "" for cell in cells)
        and all(isinstance(text, str) and (text in ("", "–") or _NUMBER_TEXT.fullmatch(text)) for text in texts)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def fact_table(caption: str, facts: Iterable[tuple[str, Any]]) -> str:
    """What is known about one thing: a table of names and values, headed by what the thing is.

    >>> fact_table("Warp", [("knots", 3)])
    '<table><caption>Warp</caption><tbody><tr><th scope="row">knots</th><td class="number">3</td></tr></tbody></table>'
    """
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{table_cell(value)}</tr>' for name, value in facts)
    return f"<table><caption>{escape(caption)}</caption><tbody>{body}</tbody></table>"


def table_cell(value: Any, *, number: bool | None = None) -> str:
    """One cell of a table; a number is set to the right, and so is a cell in a column of numbers."""
    number = _is_number(value) if number is None else number or _is_number(value)
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else escape(str(value))
    return f"<td{_NUMBER_CLASS if number else ''}>{shown}</td>"


def figure_html(figure: Figure, caption: str, *, alt: str | None = None) -> str:
    """A figure drawn into the page itself, so that the page is one file; `alt` is what screen readers say.

    A figure for a light page can also be read on a dark one: its text and axes have the colour of the text around it.
    """
    from .svg import figure_svg

    name = escape(caption if alt is None else alt, quote=True)
    drawing = f'<div class="drawing" role="img" aria-label="{name}" style="overflow-x:auto">{figure_svg(figure)}</div>'
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def animation_html(path: str | Path, caption: str) -> str:
    """A .gif as part of the page itself, so that the page is one file."""
    data, name = base64.b64encode(Path(path).read_bytes()).decode(), escape(caption, quote=True)
    image = f'<img src="data:image/gif;base64,{data}" alt="{name}" style="max-width: 100%; height: auto">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def join_html(*parts: Any) -> str:
    """HTML, and results that give their own (`_repr_html_`), one below the other."""
    return "\n".join(part if isinstance(part, str) else part._repr_html_() for part in parts)


def section(heading: str, content: str, *, anchor: str = "") -> str:
    """A heading, and HTML below it; `anchor` is a name to which links lead.

    >>> print(section("a & b", "<p>1</p>"))
    <section><h2>a &amp; b</h2>
    <p>1</p></section>
    """
    name = f' id="{escape(anchor, quote=True)}"' if anchor else ""
    return f"<section{name}><h2>{escape(heading)}</h2>\n{content}</section>"


def subheading(words: str) -> str:
    """A heading inside a section.

    >>> subheading("a < b")
    '<h3>a &lt; b</h3>'
    """
    return f"<h3>{escape(words)}</h3>"


def bullet_list(lines: Iterable[str]) -> str:
    """A list of sentences.

    >>> bullet_list(["a < b"])
    '<ul><li>a &lt; b</li></ul>'
    """
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def code_block(lines: str) -> str:
    """Commands or code, line by line.

    >>> code_block("a < b")
    '<pre><code>a &lt; b</code></pre>'
    """
    return f"<pre><code>{escape(lines)}</code></pre>"


def details(summary: str, content: str) -> str:
    """HTML that is folded away until its summary is clicked.

    >>> details("more", "<p>1</p>")
    '<details><summary>more</summary><p>1</p></details>'
    """
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"

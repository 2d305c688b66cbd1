"""HTML with escaped text: paragraphs, tables, embedded figures, sections."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def paragraph(words: str) -> str:
    """A paragraph.

    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p>{escape(words)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers are set to the right.

    >>> table(["name", "n"], [["a", 1]]).count("<td")
    2
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(table_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def fact_table(caption: str, facts: Iterable[tuple[str, Any]]) -> str:
    """What is known about one thing: a table of names and values, headed by what the thing is.

    >>> fact_table("Warp", [("knots", 3)])
    '<table><caption>Warp</caption><tbody><tr><th scope="row">knots</th><td class="number">3</td></tr></tbody></table>'
    """
    body = "".join(f'<tr><th scope="row">{escape(name)}</th>{table_cell(value)}</tr>' for name, value in facts)
    return f"<table><caption>{escape(caption)}</caption><tbody>{body}</tbody></table>"


def table_cell(value: Any) -> str:
    """One cell of a table; a number is set to the right."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    shown = f"{value:.4g}" if isinstance(value, float | np.floating) else escape(str(value))
    return f'<td class="number">{shown}</td>' if number else f"<td>{shown}</td>"


def figure_html(figure: Figure, caption: str) -> str:
    """A figure drawn into the page itself, so that the page is one file."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    name = escape(caption, quote=True)
    return f'<figure role="img" aria-label="{name}">{drawing}<figcaption>{escape(caption)}</figcaption></figure>'


def animation_html(path: str | Path, caption: str) -> str:
    """A .gif as part of the page itself, so that the page is one file."""
    data, name = base64.b64encode(Path(path).read_bytes()).decode(), escape(caption, quote=True)
    image = f'<img src="data:image/gif;base64,{data}" alt="{name}" style="max-width: 100%; height: auto">'
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def join_html(*parts: Any) -> str:
    """HTML, and results that give their own (`_repr_html_`), one below the other."""
    return "\n".join(part if isinstance(part, str) else part._repr_html_() for part in parts)


def section(heading: str, content: str) -> str:
    """A heading, and HTML below it.

    >>> print(section("a & b", "<p>1</p>"))
    <section><h2>a &amp; b</h2>
    <p>1</p></section>
    """
    return f"<section><h2>{escape(heading)}</h2>\n{content}</section>"

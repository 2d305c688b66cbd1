"""The parts of a page: each turns one kind of result into HTML."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def text(words: str) -> str:
    """A paragraph.

    >>> text("a < b")
    '<p>a &lt; b</p>'
    """
    return f"<p>{escape(words)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers are set to the right.

    >>> table(["name", "n"], [["a", 1]]).count("<td")
    2
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    shown = f"{value:.4g}" if isinstance(value, float) else escape(str(value))
    return f'<td class="number">{shown}</td>' if number else f"<td>{shown}</td>"


def picture(figure: Figure, caption: str) -> str:
    """A figure drawn into the page itself, so that the page is one file."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    drawing = buffer.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    name = escape(caption, quote=True)
    return f'<figure role="img" aria-label="{name}">{drawing}<figcaption>{escape(caption)}</figcaption></figure>'

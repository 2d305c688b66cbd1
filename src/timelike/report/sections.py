"""The parts of a page, as HTML: paragraphs, code, tables and figures."""

from ..plotting.html import code, figure_html, paragraph, table

__all__ = ["code", "figure_html", "paragraph", "table"]

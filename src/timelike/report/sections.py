"""The parts of a page, as HTML: paragraphs, tables and figures."""

from ..plotting.html import figure_html, paragraph, table

__all__ = ["figure_html", "paragraph", "table"]

"""The parts of a page, as HTML: paragraphs, code, tables, figures and animations."""

from ..plotting.html import animation_html, code, figure_html, paragraph, table

__all__ = ["animation_html", "code", "figure_html", "paragraph", "table"]

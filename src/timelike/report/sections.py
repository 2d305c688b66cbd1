"""The parts of a page, as HTML: paragraphs, tables, figures and animations."""

from ..plotting.html import animation_html, figure_html, paragraph, table

__all__ = ["animation_html", "figure_html", "paragraph", "table"]

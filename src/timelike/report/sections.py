"""The parts of a page, as HTML: paragraphs, tables, figures, animations, code and what is folded away."""

from ..plotting.html import animation_html, code_block, details, figure_html, paragraph, subheading, table

__all__ = ["animation_html", "code_block", "details", "figure_html", "paragraph", "subheading", "table"]

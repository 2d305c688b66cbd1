"""The parts of a page, as HTML: paragraphs, tables, figures, code and what is folded away."""

from ..plotting.html import code_block, details, figure_html, paragraph, subheading, table

__all__ = ["code_block", "details", "figure_html", "paragraph", "subheading", "table"]

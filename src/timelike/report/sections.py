"""The parts a page is assembled from, as the room `draw` makes them."""

from ..plotting.html import figure_html, paragraph, table

__all__ = ["figure_html", "paragraph", "table"]

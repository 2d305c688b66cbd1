"""The parts a page is assembled from, as the room `draw` makes them."""

from ..draw.html import picture, table, text

__all__ = ["picture", "table", "text"]

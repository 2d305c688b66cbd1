"""Results → one page."""

from . import sections
from .page import Page

__all__ = ["Page", "sections"]

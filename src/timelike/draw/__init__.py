"""Arrays → axes; matplotlib is imported when something is drawn."""

from . import alignments, signals

__all__ = ["alignments", "signals"]

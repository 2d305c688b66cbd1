"""Arrays → axes; matplotlib is imported when something is drawn."""

from . import alignments, curves, signals

__all__ = ["alignments", "curves", "signals"]

"""`timelike demo`: every system of the library in a few minutes, with a page of pictures."""

from .command import demo

__all__ = ["demo"]

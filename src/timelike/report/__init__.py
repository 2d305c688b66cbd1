"""Results assembled into one HTML page, and `write`, the report of a model."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import sections as sections
    from .model_report import write as write
    from .page import Page as Page

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

"""Transformers for scikit-learn's pipelines, from sequences to sequences, so that cleaning is cross-validated too."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import Preparation as Preparation
    from .crop import Crop as Crop
    from .derivative import Derivative as Derivative
    from .interpolate import Interpolate as Interpolate
    from .resample import Resample as Resample
    from .standardize import Standardize as Standardize
    from .windows import Windows as Windows

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

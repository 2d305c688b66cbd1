"""Figures and HTML from arrays; matplotlib is imported when something is drawn."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import (
        alignments as alignments,
        animations as animations,
        classification as classification,
        comparisons as comparisons,
        curves as curves,
        embeddings as embeddings,
        forecasts as forecasts,
        html as html,
        image_grids as image_grids,
        landscapes as landscapes,
        maps as maps,
        panels as panels,
        particles as particles,
        signals as signals,
        sparklines as sparklines,
        style as style,
        two_sample as two_sample,
        warps as warps,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

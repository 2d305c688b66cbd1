"""Figures and HTML from arrays; matplotlib is imported when something is drawn."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import (
        alignments as alignments,
        classification as classification,
        comparisons as comparisons,
        curves as curves,
        embeddings as embeddings,
        forecast_animations as forecast_animations,
        forecasts as forecasts,
        group_panels as group_panels,
        html as html,
        image_animations as image_animations,
        image_grids as image_grids,
        landscapes as landscapes,
        maps as maps,
        particles as particles,
        signals as signals,
        small_multiples as small_multiples,
        sparklines as sparklines,
        style as style,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)

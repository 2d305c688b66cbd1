"""Arrays → axes or HTML; matplotlib is imported when something is drawn."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import (
        alignments as alignments,
        comparisons as comparisons,
        curves as curves,
        decisions as decisions,
        embeddings as embeddings,
        films as films,
        forecasts as forecasts,
        html as html,
        landscapes as landscapes,
        maps as maps,
        members as members,
        moving as moving,
        multiples as multiples,
        particles as particles,
        pictures as pictures,
        signals as signals,
        sparks as sparks,
        style as style,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)

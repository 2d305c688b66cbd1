"""timelike learns which sequences are alike, how they line up in time, and what comes next."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._contents import offered, rooms

if TYPE_CHECKING:  # for type checkers; what is to be had, and from where, is said by the rooms
    from . import (
        align as align,
        distributions as distributions,
        draw as draw,
        encode as encode,
        forecast as forecast,
        metric as metric,
        models as models,
        native as native,
        nn as nn,
        prepare as prepare,
        recognize as recognize,
        report as report,
        score as score,
        sequences as sequences,
        train as train,
    )
    from .align import *
    from .encode import *
    from .forecast import *
    from .metric import *
    from .models import *
    from .recognize import *
    from .sequences import *

__version__ = "0.1.0"


if not TYPE_CHECKING:  # a checker would take every name for one that there is

    def __getattr__(name: str) -> Any:
        if name in _places():
            return import_module(f".{name}", __name__)
        if name == "__all__":
            return [*sorted(offered()), *_places()]
        homes = {} if name.startswith("_") else offered(inner=True)
        if name not in homes:
            raise AttributeError(f"module 'timelike' has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*offered(), *_places(), "__version__"])


def _places() -> tuple[str, ...]:
    """The rooms, and the index of torch modules; the command line is a program, not a room to import from."""
    return (*(room for room in rooms() if room != "cli"), "nn")

"""Networks of the tables about digits, trained for so many minutes and kept under a word for what they learned by."""

from __future__ import annotations

import hashlib
import inspect
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.model_options import build_model
from benchmarks.numerics.ledger import Ledger
from benchmarks.papers.srvp import convlstm, svg
from benchmarks.papers.srvp.clips import DRAWN, Part, source
from benchmarks.papers.srvp.convlstm import ConvLSTM
from benchmarks.papers.srvp.svg import SVG

import timelike as tl
from timelike.train import NotLearnedWarning
from timelike.train.clock import use_clock

QUICK, FEW = 2, 64  # steps of a training that only shows that a program runs, and clips that it draws
_ENDLESS = 10_000_000  # steps: time ends a training

SYSTEMS = {"SRVP": "srvp", "Separation": "separation"}  # others are networks of these programs:
_OWN: dict[str, tuple[Callable[..., Any], Any]] = {"ConvLSTM": (ConvLSTM, convlstm), "SVG": (SVG, svg)}


def learned_from(data: Path, version: str, part: Part, quick: bool) -> Callable[[Any], tl.Sequences]:
    """Clips of a version."""
    return source(data, version, part, FEW if quick else DRAWN)


def trained(
    kind: str,
    options: dict[str, Any],
    clips: Any,
    minutes: float,
    seed: int,
    folder: Path,
    quick: bool,
    *,
    only_time: bool = False,
) -> tuple[Any, dict[str, Any]]:
    """A model after so many processor minutes of one thread, with the seconds and the steps that it took.

    Budgets are processor time, so that rows made on a busy machine are as good as those of a quiet one.

    The folder keeps it: a training that was broken off goes on there, and one that is at its end is taken as it is, by
    whatever program asks for the same, while the numerics of what is learned are the same. `clips` are sequences or a
    source of them; with `only_time` a model of the library is given no number of steps, as by somebody who just calls
    it.
    """
    limits: dict[str, Any] = {"max_steps": QUICK if quick else _ENDLESS, "random_state": seed}
    if not quick:
        limits["max_time"] = 60 * minutes
        if only_time and kind in SYSTEMS:
            del limits["max_steps"]
    place = folder / f"{kind}-{_word(options | limits)}-{numerics_word(kind)}"
    folder.mkdir(parents=True, exist_ok=True)
    make = _OWN[kind][0] if kind in _OWN else partial(build_model, kind)
    model: Any = make(**options, **limits, checkpoint=place)
    with use_clock(time.process_time), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(clips)
    found: dict[str, Any] = {"training steps": model.history_.n_steps, "processor seconds": model.history_.seconds}
    for one in caught:
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    unlearned = [str(one.message) for one in caught if issubclass(one.category, NotLearnedWarning)]
    return model, found | ({"not learned": unlearned[0]} if unlearned else {})


def _word(options: dict[str, Any]) -> str:
    return hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:12]


def numerics_word(kind: str) -> str:
    """A word for what decides what is learned beside the options: a model by other numerics is not taken for one."""
    versions = Ledger().versions
    if kind in SYSTEMS:
        own = f"{SYSTEMS[kind]}{versions[SYSTEMS[kind]]}"
    else:
        own = hashlib.sha256(inspect.getsource(_OWN[kind][1]).encode()).hexdigest()[:12]
    return f"{own}-generators{versions['generators']}"

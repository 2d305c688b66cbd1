"""Networks of the tables about digits, trained for so many minutes and kept under a word for what they learned by."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
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

QUICK, FEW = 2, 64  # steps of a training that only shows that a program runs, and clips that it draws
_ENDLESS = 10_000_000  # steps: the clock ends a training

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
) -> tuple[Any, dict[str, float]]:
    """A model after so many minutes by the clock, with the seconds of the processor and the steps that it took.

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
    clock, processor = time.perf_counter(), time.process_time()
    model.fit(clips)
    share = (time.process_time() - processor) / (time.perf_counter() - clock)
    return model, _told(place, {"steps": model.history_.n_steps, "share": share, "clock": model.history_.seconds})


def _told(place: Path, found: dict[str, float]) -> dict[str, float]:
    """What a training took: written where it was trained, for those who take it as it is."""
    note = place / "took.json"
    if note.exists() and (held := json.loads(note.read_text("utf-8")))["steps"] == found["steps"]:
        found = held
    else:
        note.write_text(json.dumps(found), encoding="utf-8")
    return {"training steps": found["steps"], "processor seconds": found["share"] * found["clock"]}


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

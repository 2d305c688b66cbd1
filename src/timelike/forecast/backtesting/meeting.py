"""The channels on which a model and its rivals meet: what each is shown, and what of its answers is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ...sequences.container import read_sequences
from ..base import Forecaster
from ..baselines.analog import Analog
from ..baselines.mean import Mean
from ..baselines.persistence import Persistence
from ..baselines.ridge import Ridge
from ..cells import Cells, known_positions
from ..doors import refuse_single_steps

Word = Literal["persistence", "mean", "ridge", "analog"]
_RIVALS: dict[str, type[Forecaster]] = {"persistence": Persistence, "mean": Mean, "ridge": Ridge, "analog": Analog}


class Shown(NamedTuple):
    """What a model is shown, and the places of the channels that are judged among those it forecasts; None for all."""

    sequences: Sequences
    kept: NDArray[np.int64] | None = None


def read_model(model: Any, X: Any) -> tuple[Sequences, Cells]:
    """The sequences of a backtest, and which of their numbers are forecast."""
    _refuse(model, "model")
    if model.__sklearn_is_fitted__():
        sequences = model._asked_whole(X)
        refuse_single_steps(sequences, X, type(model).__name__, "backtest(model, [x], …)")
        return sequences, model.cells_
    sequences = read_sequences(X)
    if len(sequences) == 0:
        raise ValueError("X holds no sequences: expected at least one")
    refuse_single_steps(sequences, X, type(model).__name__, "backtest(model, [x], …)")
    return sequences, Cells.of(sequences, model.known)


def read_rivals(baseline: Any) -> list[Forecaster]:
    """Words and forecasters, one or several, as forecasters."""
    several = not isinstance(baseline, str | Forecaster) and isinstance(baseline, Iterable)
    given = [] if baseline is None else list(baseline) if several else [baseline]
    return [_rival(one) for one in given]


def _rival(one: Any) -> Forecaster:
    if isinstance(one, Forecaster):
        return one
    if not isinstance(one, str) or one not in _RIVALS:
        raise ValueError(
            f"baseline={one!r}: expected {', '.join(map(repr, get_args(Word)))}, a Forecaster such as "
            "SeasonalNaive(24), a list of these, or None"
        )
    return _RIVALS[one]()


def _refuse(model: Any, name: str) -> None:
    if not isinstance(model, Forecaster):
        raise TypeError(f"{name} is a {type(model).__name__}: expected a Forecaster, such as Persistence()")


def called(models: list[Forecaster]) -> list[str]:
    """The name of each, those that are there twice told apart."""
    found: list[str] = []
    for model in models:
        name = type(model).__name__
        again = sum(one == name or one.startswith(f"{name} (") for one in found)
        found.append(name if not again else f"{name} (baseline)" if again == 1 else f"{name} (baseline {again})")
    return found


def meet(rival: Forecaster, sequences: Sequences, cells: Cells, model: Forecaster) -> Shown:
    """What a rival is shown, so that it forecasts at least the channels that the model, with these cells, does.

    Beside a model with known channels a rival without any forecasts the same targets: it is shown these alone, unless
    it was fitted on whole frames.
    """
    fitted = rival.__sklearn_is_fitted__()
    if not rival.known and len(cells.known) and not (fitted and rival.frame_ == sequences.frame):
        shown = Shown(cells.frames(sequences).replace(channel_names=cells.names(sequences)))
        _refuse_masks(rival, shown, cells)
        return shown
    own = rival.cells_.known if fitted else known_positions(sequences, rival.known)
    every = np.arange(sequences.frame[0])
    ours, theirs = np.setdiff1d(every, cells.known), np.setdiff1d(every, own)
    if not np.isin(ours, theirs).all():
        raise ValueError(
            f"baseline: {type(rival).__name__} with known={list(rival.known or [])!r} does not forecast all channels "
            f"that {type(model).__name__} with known={list(model.known or [])!r} does: expected the same, or fewer"
        )
    shown = Shown(sequences, np.searchsorted(theirs, ours) if len(ours) < len(theirs) else None)
    _refuse_masks(rival, shown, cells)
    return shown


def _refuse_masks(rival: Forecaster, shown: Shown, cells: Cells) -> None:
    """An error where a rival that was fitted before takes no such sequences, or has no numbers where the model has."""
    if not rival.__sklearn_is_fitted__():
        return
    rival._asked_whole(shown.sequences)
    there = rival.cells_.there if shown.kept is None else rival.cells_.there[shown.kept]
    lacking = int((cells.there & ~there).sum())
    if lacking:
        raise ValueError(
            f"baseline: {type(rival).__name__} was fitted with {lacking} masked cells that the model forecasts: fit "
            "both on sequences with the same mask"
        )

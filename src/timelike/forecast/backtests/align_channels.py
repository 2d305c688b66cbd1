"""Align the channels of a model and its baselines: what each is given, and which of its forecasts are scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ...sequences.validation import validate_sequences
from ..base import Forecaster
from ..baselines.analog import Analog
from ..baselines.mean import Mean
from ..baselines.persistence import Persistence
from ..baselines.ridge import Ridge
from ..cells import Cells, known_positions
from ..validation import refuse_single_steps

BaselineName = Literal["persistence", "mean", "ridge", "analog"]
_BASELINES: dict[str, type[Forecaster]] = {"persistence": Persistence, "mean": Mean, "ridge": Ridge, "analog": Analog}


class ModelInput(NamedTuple):
    """What a model is given, and the positions of the scored channels among those it forecasts; None for all."""

    sequences: Sequences
    channels: NDArray[np.int64] | None = None


def validate_model(model: Any, X: Any) -> tuple[Sequences, Cells]:
    """The sequences of a backtest, and which of their numbers are forecast."""
    _refuse_other_type(model, "model")
    if model.__sklearn_is_fitted__():
        sequences = model._validate_full_sequences(X)
        refuse_single_steps(sequences, X, type(model).__name__, "backtest(model, [x], …)")
        return sequences, model.cells_
    sequences = validate_sequences(X)
    if len(sequences) == 0:
        raise ValueError("X holds no sequences: expected at least one")
    refuse_single_steps(sequences, X, type(model).__name__, "backtest(model, [x], …)")
    return sequences, Cells.from_sequences(sequences, model.known_channels)


def parse_baselines(baseline: Any) -> list[Forecaster]:
    """Words and forecasters, one or several, as forecasters."""
    several = not isinstance(baseline, str | Forecaster) and isinstance(baseline, Iterable)
    given = [] if baseline is None else list(baseline) if several else [baseline]
    return [_parse_baseline(one) for one in given]


def _parse_baseline(one: Any) -> Forecaster:
    if isinstance(one, Forecaster):
        return one
    if not isinstance(one, str) or one not in _BASELINES:
        raise ValueError(
            f"baseline={one!r}: expected {', '.join(map(repr, get_args(BaselineName)))}, a Forecaster such as "
            "SeasonalNaive(24), a list of these, or None"
        )
    return _BASELINES[one]()


def _refuse_other_type(model: Any, name: str) -> None:
    if not isinstance(model, Forecaster):
        raise TypeError(f"{name} is a {type(model).__name__}: expected a Forecaster, such as Persistence()")


def unique_model_names(models: list[Forecaster]) -> list[str]:
    """The name of each model, with a suffix where two have the same."""
    found: list[str] = []
    for model in models:
        name = type(model).__name__
        again = sum(one == name or one.startswith(f"{name} (") for one in found)
        found.append(name if not again else f"{name} (baseline)" if again == 1 else f"{name} (baseline {again})")
    return found


def match_channels(baseline: Forecaster, sequences: Sequences, cells: Cells, model: Forecaster) -> ModelInput:
    """What a baseline is given, so that it forecasts at least the channels that the model, with these cells, does.

    Beside a model with known channels a baseline without any forecasts the same targets: it is given only these, unless
    it was fitted on whole frames.
    """
    fitted = baseline.__sklearn_is_fitted__()
    if (
        not baseline.known_channels
        and len(cells.known_channels)
        and not (fitted and baseline.frame_ == sequences.frame)
    ):
        shown = ModelInput(cells.target_frames(sequences).replace(channel_names=cells.target_names(sequences)))
        _refuse_mask_mismatch(baseline, shown, cells)
        return shown
    own = baseline.cells_.known_channels if fitted else known_positions(sequences, baseline.known_channels)
    every = np.arange(sequences.frame[0])
    ours, theirs = np.setdiff1d(every, cells.known_channels), np.setdiff1d(every, own)
    if not np.isin(ours, theirs).all():
        raise ValueError(
            f"baseline: {type(baseline).__name__} with known_channels={list(baseline.known_channels or [])!r} does not "
            "forecast all "
            "channels "
            f"that {type(model).__name__} with known_channels={list(model.known_channels or [])!r} does: expected the "
            "same, or "
            "fewer"
        )
    shown = ModelInput(sequences, np.searchsorted(theirs, ours) if len(ours) < len(theirs) else None)
    _refuse_mask_mismatch(baseline, shown, cells)
    return shown


def _refuse_mask_mismatch(baseline: Forecaster, shown: ModelInput, cells: Cells) -> None:
    """An error where a fitted baseline does not take such sequences, or masks cells that the model forecasts."""
    if not baseline.__sklearn_is_fitted__():
        return
    baseline._validate_full_sequences(shown.sequences)
    there = baseline.cells_.valid_mask if shown.channels is None else baseline.cells_.valid_mask[shown.channels]
    lacking = int((cells.valid_mask & ~there).sum())
    if lacking:
        raise ValueError(
            f"baseline: {type(baseline).__name__} was fitted with {lacking} masked cells that the model forecasts: fit "
            "both on sequences with the same mask"
        )

"""Contestant: a forecaster that is fitted before a cut, as often as asked for, and answers for windows after it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ...sequences import Sequences
from ..base import Forecaster
from ..cells import Cells
from ..request import Request
from ..windows import known_after, windows_at
from .origins import Ids, Origins, before, counted_in_steps, said


class Answers(NamedTuple):
    """Of some windows: `mean` (window, step, *frame), `samples` with an axis before, `band` (low, high) or None."""

    mean: NDArray[Any]
    samples: NDArray[Any]
    band: tuple[NDArray[Any], NDArray[Any]] | None


class Asked(NamedTuple):
    """What a contestant is asked for."""

    horizon: int
    n_samples: int
    ensemble: bool
    level: float


class Contestant:
    """A model that came fitted, or is fitted here: then it is shown nothing at or after a cut in time."""

    def __init__(self, model: Forecaster, sequences: Sequences, cells: Cells, *, refit: bool) -> None:
        self.given, self.refit = model, refit
        self.fitted_before = model.__sklearn_is_fitted__()
        self.sequences, self.dropped = _shown(model, sequences, cells)
        self.name = type(model).__name__
        self._current: tuple[Any, Forecaster] | None = None
        self._rolled: NDArray[Any] | None = None
        self._draws: bool | None = None

    # --- fitting -----------------------------------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        """Whether it is fitted here."""
        return self.refit or not self.fitted_before

    @property
    def fitted_here(self) -> bool:
        """Whether it has been fitted here already."""
        return self._current is not None

    def need(self, cut: Any) -> int:
        """How many steps of a past it needs; where it must learn that, it is fitted before the cut."""
        try:
            return self.given._conditioning()
        except (AttributeError, NotFittedError):
            return self.at(cut)._conditioning()

    def at(self, cut: Any) -> Forecaster:
        """The model for windows after a cut; without refits that of the first cut it is asked for."""
        if not self.learns:
            return self.given
        if self._current is None or (self.refit and self._current[0] != cut):
            self._current = cut, self._fit(cut)
        return self._current[1]

    def _fit(self, cut: Any) -> Forecaster:
        model: Forecaster = clone(self.given)
        try:
            return model.fit(before(self.sequences, cut))
        except ValueError as error:
            error.add_note(f"backtest: {self.name} was to be fitted on {said(self.sequences, cut)}")
            raise

    # --- answering ---------------------------------------------------------------------------------------------------

    def rolls(self, origins: Origins) -> bool:
        """Whether it can answer for all windows by refits at once."""
        return self.refit and hasattr(self.given, "_rolling") and counted_in_steps(self.sequences, origins)

    def roll(self, origins: Origins, horizon: int, first: Any) -> None:
        """Answer for all windows by refits at once."""
        model: Any = self.at(first)  # its own choices must not know what comes later
        windows = windows_at(self.sequences, origins.item, origins.origin)
        known = known_after(model.cells_, self.sequences, windows, horizon)
        found = model._rolling(self.sequences, windows, horizon, known)
        self._rolled = self._kept(model.cells_.whole(np.asarray(found)))

    @property
    def rolled(self) -> bool:
        """Whether it has."""
        return self._rolled is not None

    def answers(self, origins: Origins, rows: Ids, cut: Any, asked: Asked, rng: np.random.Generator) -> Answers:
        """The forecasts of some windows, none of which begins before the cut."""
        if self._rolled is not None:
            mean = self._rolled[rows]
            return Answers(mean, mean[None], None)
        model = self.at(cut)
        windows = windows_at(self.sequences, origins.item[rows], origins.origin[rows])
        calibrated = hasattr(model, "calibration_")
        self._draws = draws(model, windows.pasts) if self._draws is None else self._draws
        n_samples = asked.n_samples if self._draws or (calibrated and asked.ensemble) else 1
        known = known_after(model.cells_, self.sequences, windows, asked.horizon)
        found = model.predict(windows.pasts, asked.horizon, n_samples=n_samples, known=known, random_state=rng)
        band = None
        if calibrated or n_samples > 1:
            low, high = found.interval(asked.level)
            band = self._kept(low), self._kept(high)
        samples = self._kept(found.samples, 3) if asked.ensemble else found.samples[:0]
        return Answers(self._kept(found.mean), samples, band)

    def _kept(self, frames: NDArray[Any], axis: int = 2) -> NDArray[Any]:
        """Without the channels that are known to the model that is judged."""
        return np.delete(frames, self.dropped, axis=axis) if len(self.dropped) else frames


def _shown(model: Forecaster, sequences: Sequences, cells: Cells) -> tuple[Sequences, NDArray[np.int64]]:
    """What a model is shown, and the channels that are dropped from its answers, because others know them.

    Beside a model with known channels a baseline without any forecasts the same targets: it is shown these alone,
    unless it was fitted on whole frames.
    """
    nothing = np.zeros(0, np.int64)
    if not len(cells.known) or model.known is not None:
        return sequences, nothing
    if model.__sklearn_is_fitted__() and model.frame_ == sequences.frame:
        return sequences, cells.known
    return cells.frames(sequences).replace(channel_names=cells.names(sequences)), nothing


def draws(model: Forecaster, pasts: Sequences) -> bool:
    """Whether a method draws futures of its own, and not only after calibration."""
    ahead = np.zeros((1, 1, len(model.cells_.known))) if len(model.cells_.known) else None
    request = Request(1, known=ahead, rng=np.random.default_rng(0))
    return model._continued(pasts[:1], request).samples is not None

"""Contestant: a forecaster that is fitted before a cut, as often as asked for, and answers for windows after it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ..base import Forecaster
from ..calibration import level_tails, windows_needed
from ..windows import known_after, windows_at
from .meeting import Shown
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

    def __init__(self, model: Forecaster, shown: Shown, asked: Asked, *, refit: bool, name: str) -> None:
        self.given, self.asked, self.refit, self.name = model, asked, refit, name
        self.sequences, self.kept = shown
        self.fitted_before = model.__sklearn_is_fitted__()
        self.notes: list[str] = []
        self.choices: dict[str, Any] = {}
        chosen = [option for option in getattr(model, "_chooses", ()) if getattr(model, option) is None]
        if refit and chosen:
            self.notes.append(f"copies of {name} keep the {' and '.join(chosen)} that the first one chose")
        self._current: tuple[Any, Forecaster] | None = None
        self._rolled: NDArray[Any] | None = None
        self.banded, self.n_futures = self._spread()

    def _spread(self) -> tuple[bool, int]:
        """Whether it has intervals, and how many futures; notes say why not, where it was calibrated."""
        drawn = self.asked.n_samples if self.given._draws else 1
        if not hasattr(self.given, "calibration_"):
            return self._enough(drawn), drawn
        if self.refit:
            self.notes.append(f"{self.name} was calibrated, and copies that are fitted again are not")
            return self._enough(drawn), drawn
        lacks = self._beyond(0.5)  # without any errors of the last step none can be drawn either
        if lacks is None and self.asked.ensemble:
            drawn = self.asked.n_samples
        lacks = lacks or next(filter(None, map(self._beyond, level_tails(self.asked.level))), None)
        if lacks is not None:
            self.notes.append(f"{self.name} has no intervals: {lacks}")
        return lacks is None, drawn

    def _enough(self, drawn: int) -> bool:
        """Whether samples tell the ends of intervals; a note where there are several, and too few."""
        need = max(windows_needed(q) for q in level_tails(self.asked.level))
        if 1 < drawn < need:
            self.notes.append(
                f"{self.name} has no intervals: {drawn} samples say nothing about those of level {self.asked.level:g}, "
                f"which take n_samples={need} or more"
            )
        return drawn > 1 and drawn >= need

    def _beyond(self, q: float) -> str | None:
        """What calibration lacks for a quantile over the whole horizon."""
        try:
            self.given._calibrated(self.asked.horizon).margin(q, self.asked.horizon)
        except ValueError as error:
            return str(error)
        return None

    # --- fitting -----------------------------------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        """Whether it is fitted here."""
        return self.refit or not self.fitted_before

    @property
    def remembers(self) -> bool:
        """Whether it is fitted here and learns from values, which may not be later than its forecasts."""
        return self.learns and getattr(self.given, "_remembers", True)

    @property
    def fitted_here(self) -> bool:
        """Whether it has been fitted here already."""
        return self._current is not None

    def need(self, cut: Any) -> int:
        """How many steps of a past it needs; where it must learn that, it is fitted before the cut."""
        try:
            return (clone(self.given) if self.learns else self.given)._conditioning()
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
        if self._current is not None and not self.choices:
            # what the first copy chose is what later ones have: a past that was long enough stays so
            first: Any = self._current[1]
            self.choices = first._choices(self.asked.horizon) if hasattr(first, "_choices") else {}
        model: Forecaster = clone(self.given).set_params(**self.choices)
        model._takes_single_steps = True  # the beginnings of longer series: no axis has been mistaken
        try:
            return model.fit(before(self.sequences, cut))
        except ValueError as error:
            way = "if that is too little, leave short sequences out or ask for fewer windows"
            error.add_note(f"backtest: {self.name} was to be fitted on {said(self.sequences, cut)}; {way}")
            raise

    # --- answering ---------------------------------------------------------------------------------------------------

    def rolls(self, origins: Origins) -> bool:
        """Whether it can answer for all windows by refits at once."""
        return self.refit and hasattr(self.given, "_rolling") and counted_in_steps(self.sequences, origins)

    def roll(self, origins: Origins, first: Any) -> None:
        """Answer for all windows by refits at once."""
        model: Any = self.at(first)  # its own choices must not know what comes later
        windows = windows_at(self.sequences, origins.item, origins.origin)
        known = known_after(model.cells_, self.sequences, windows, self.asked.horizon)
        found = model._rolling(self.sequences, windows, self.asked.horizon, known)
        self._rolled = self._met(model.cells_.whole(np.asarray(found)))

    @property
    def rolled(self) -> bool:
        """Whether it has."""
        return self._rolled is not None

    def answers(self, origins: Origins, rows: Ids, cut: Any, rng: np.random.Generator) -> Answers:
        """The forecasts of some windows, none of which begins before the cut."""
        if self._rolled is not None:
            mean = self._rolled[rows]
            return Answers(mean, mean[None], None)
        model, asked = self.at(cut), self.asked
        windows = windows_at(self.sequences, origins.item[rows], origins.origin[rows])
        known = known_after(model.cells_, self.sequences, windows, asked.horizon)
        found = model.predict(windows.pasts, asked.horizon, n_samples=self.n_futures, known=known, random_state=rng)
        band = None
        if self.banded:
            low, high = found.interval(asked.level)
            band = self._met(low), self._met(high)
        samples = self._met(found.samples, 3) if asked.ensemble else found.samples[:0]
        return Answers(self._met(found.mean), samples, band)

    def _met(self, frames: NDArray[Any], axis: int = 2) -> NDArray[Any]:
        """The channels by which all are judged."""
        return frames if self.kept is None else np.take(frames, self.kept, axis=axis)

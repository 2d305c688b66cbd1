"""Calibrating: errors on sequences that were not learned from, for every forecaster."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..models import Model
from ..sequences import Sequences
from ..sequences.arguments import counted, whole
from .calibration import Calibration
from .cells import Cells
from .request import Windows
from .windows import after, cut, known_after, looks

_LONGEST = 500  # steps that are calibrated unless more are asked for
_WINDOWS = 500  # that are looked at
_NUMBERS = 1 << 26  # errors that are kept at most: a quarter of a gigabyte


class Calibrating(Model):
    """A model that forecasts, and can be told how wrong it is."""

    cells_: Cells
    calibration_: Calibration
    nearer_: list[Calibration]
    """Errors at shorter horizons, of a method whose first steps depend on how far it is asked to look."""

    _records: ClassVar[tuple[type[Any], ...]] = (Calibration,)
    _by_horizon: ClassVar[bool] = False  # whether the first steps depend on how far it is asked to look

    @abstractmethod
    def predict(self, past: Any, horizon: int = 1, *, known: Any = None, random_state: Any = None) -> Any:
        """What follows every past."""

    @abstractmethod
    def _conditioning(self) -> int:
        """How many steps of a past are needed."""

    @abstractmethod
    def _asked_whole(self, X: Any) -> Sequences:
        """Sequences of which a part will be the past."""

    def _farthest(self) -> int | None:
        """How many steps can be forecast, where what was learned from sets an end to it."""
        return None

    def calibrate(self, X: Any, *, horizon: int | None = None) -> Self:
        """Measure errors on sequences that were not learned from: `interval` and `quantile` then cover what they say.

        Split conformal prediction, per step and channel (see `Calibration`): in windows like those of X the interval of
        level 0.8 holds the truth with probability 0.8 or a little more. Windows of one sequence overlap and are alike,
        so many sequences are better than one long one. What is found is kept in the saved model.

        Parameters
        ----------
        X : sequences
            Of the frames that were fitted. For a level of 0.8 there must be 9 windows, for 0.95 39.
        horizon : int, optional
            How many steps to cover: all that X and the method allow, at most 500, unless given.
        """
        self._require_fitted()
        sequences = self._asked_whole(X)
        need = self._conditioning()
        most = int(sequences.lengths.max()) - need
        if most < 1:
            raise ValueError(
                f"X: the longest sequence has {counted(sequences.lengths.max(), 'time step')}, and "
                f"{type(self).__name__} needs {need} to go on from and one more to be judged by"
            )
        steps = min(most, self._farthest() or most, _LONGEST) if horizon is None else whole(horizon, "horizon", 1)
        if steps > most:
            raise ValueError(
                f"horizon={steps}: the longest sequence of X allows {counted(most, 'step')} after {need} of the past"
            )
        horizons = looks(steps) if self._by_horizon else [steps]
        most = int(min(_WINDOWS, max(1, _NUMBERS // (sum(horizons) * self.cells_.there.size))))
        windows = [cut(sequences, need, some, most) for some in horizons]
        found = [Calibration(self._errors(sequences, *asked)) for asked in zip(windows, horizons, strict=True)]
        self.calibration_, self.nearer_ = found[-1], found[:-1]
        return self

    def _calibrated(self, horizon: int) -> Calibration:
        """The errors of forecasts of this horizon, or of the next longer one that was looked at."""
        return next((one for one in self.nearer_ if one.horizon >= horizon), self.calibration_)

    def _errors(self, sequences: Sequences, windows: Windows, steps: int) -> NDArray[np.float32]:
        """Truth minus forecast, (window, step, *frame); NaN after the end of a sequence."""
        known = known_after(self.cells_, sequences, windows, steps)
        found = self.predict(windows.pasts, steps, known=known, random_state=0).mean
        return np.asarray(after(self.cells_.frames(sequences), windows, steps) - found, np.float32)

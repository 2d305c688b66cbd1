"""Forecaster, the base of everything that says what comes next: its door, its clock, and its calibration."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..models import Model, options
from ..models.options import Option
from ..sequences import Sequences, doors
from ..sequences.arguments import RandomState, generator, whole
from ..sequences.callers import outside
from ..sequences.container import as_sequences, read_sequences
from .calibration import Calibration
from .cells import Cells, check_known
from .drawing import generators
from .request import Futures, Request, Windows
from .result import Forecast
from .ticks import months_of, time_steps, times_after, usual_step
from .windows import after, cut, known_after, looks

_LONGEST = 500  # steps that are calibrated unless more are asked for
_WINDOWS = 500  # that are looked at
_NUMBERS = 1 << 26  # errors that are kept at most: a quarter of a gigabyte
_GAP = 1.5  # usual steps, beyond which a step is a gap


class Forecaster(Model):
    """past → futures: `fit`, then `predict`; `calibrate` in between makes its intervals honest.

    A method fills in `_learn(sequences)` and `_continued(past, request)`, and says in `_conditioning` how many steps
    of the past it needs. Frames may have masked cells (NaN at all times), which it never sees: what reaches it by
    `self.cells_.targets` has rows of the cells that are there. Channels that are `known` in advance, in methods that
    take them, come apart.
    """

    known = options.otherwise(options.maybe(Option[Sequence[int | str]](check_known)), None)

    cells_: Cells
    interval_: float | None
    """Time between two steps, the median of those learned from; None without timestamps."""
    calibration_: Calibration
    nearer_: list[Calibration]
    """Errors at shorter horizons, of a method whose first steps depend on how far it is asked to look."""
    channel_names_: tuple[str, ...] | None
    input_names_: tuple[str, ...] | None
    months_: int
    """How many months lie between two steps, 0 where the clock is another."""

    _records: ClassVar[tuple[type[Any], ...]] = (Cells, Calibration)
    _counts_steps: ClassVar[bool] = True  # whether a step is a step, however much time passes between two
    _by_horizon: ClassVar[bool] = False  # whether the first steps depend on how far it is asked to look
    _draws: ClassVar[bool] = False  # whether it draws futures of its own, without calibration
    _between: ClassVar[bool] = False  # whether there are frames between two steps

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences, or from a source `callable(rng) -> Sequences`, of which a method may ask for more."""
        with self._fitting():
            self._learn(self._learn_from(X))
        return self

    @abstractmethod
    def _learn(self, sequences: Sequences) -> None:
        """Learn from sequences whose cells and clock are noted."""

    def _learn_from(self, X: Any) -> Sequences:
        self._refuse_options()
        sequences = self._read(drawn_from(X, self._rng()) if callable(X) else X)
        self.frame_ = sequences.frame
        doors.keep_size(self, sequences)
        self.cells_ = Cells.of(sequences, self.known)
        self.channel_names_ = self.cells_.names(sequences)
        self.input_names_ = None if sequences.channel_names is None else tuple(sequences.channel_names)
        self.interval_, self.months_ = usual_step(sequences), months_of(sequences)
        self._warn_of_gaps(sequences, "X")
        return sequences

    def _rng(self) -> np.random.Generator:
        """What is drawn with before learning."""
        return generator(getattr(self, "random_state", None))

    def _takes_missing(self) -> bool:
        return True  # as masked cells, which the cells refuse where they change

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # scikit-learn means by it that any value may be missing at any time
        return tags

    @abstractmethod
    def _conditioning(self) -> int:
        """How many steps of a past are needed."""

    def _farthest(self) -> int | None:
        """How many steps can be forecast, where what was learned from sets an end to it."""
        return None

    # --- answering ---------------------------------------------------------------------------------------------------

    def predict(
        self,
        past: Any,
        horizon: int = 1,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        known: Any = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """What follows every past.

        Parameters
        ----------
        past : sequences
            Of the frames that were fitted, each at least as long as the method needs, of any other length.
        horizon : int
            How many steps to forecast, counted in steps of the data.
        n_samples : int
            How many futures: draws of the method itself where it draws, otherwise its forecast plus errors of windows
            that `calibrate` has seen.
        frames_per_step : int
            Frames for each step of the data, where the method has a state that moves between two steps.
        substeps : int, optional
            Into how many parts the method moves a step, where it does; its own number unless given.
        known : array (item, horizon, channel) or sequences, optional
            The channels that are known in advance, over the horizon; needed where the method was fitted with some.
        random_state
            Repeats what is drawn; that of the model, where it has one, unless given.
        """
        self._require_fitted()
        asked = self._past(past)
        request = Request(
            whole(horizon, "horizon", 1),
            whole(n_samples, "n_samples", 1),
            whole(frames_per_step, "frames_per_step", 1),
            None if substeps is None else whole(substeps, "substeps", 1),
            self._known_ahead(known, asked, horizon),
            self._drawing(random_state),
        )
        self._refuse_request(request)
        center, samples = self._futures(asked, request)
        return Forecast(
            samples=samples,
            past=self.cells_.frames(asked),
            times=self._times_after(asked, request),
            frames_per_step=request.frames_per_step,
            center=center,
            calibration=self._calibrated(request.horizon) if hasattr(self, "calibration_") else None,
            channel_names=self.channel_names_,
            method=type(self).__name__,
        )

    def _drawing(self, random_state: RandomState) -> np.random.Generator:
        """What futures are drawn with: as asked for, or as the model itself, where it has a seed."""
        return generator(getattr(self, "random_state", None) if random_state is None else random_state)

    @abstractmethod
    def _continued(self, past: Sequences, request: Request) -> Futures:
        """The futures of checked pasts, in rows of cells."""

    def _futures(self, past: Sequences, request: Request) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """Center and samples in the shape of frames."""
        found, kind = self._continued(past, request), doors.computed_dtype(past.dtype)
        center = None if found.center is None else self.cells_.whole(found.center).astype(kind, copy=False)
        if found.samples is not None:
            return center, self.cells_.whole(found.samples).astype(kind, copy=False)
        assert center is not None
        if request.n_samples == 1:
            return center, center[None]
        if not hasattr(self, "calibration_"):
            raise ValueError(
                f"n_samples={request.n_samples}: {type(self).__name__} has one future for a past; call calibrate(X) on "
                "sequences that were not learned from, and futures are drawn with the errors found there"
            )
        rngs = self._generators(past, request)
        drawn = self._calibrated(request.horizon).draws(request.n_samples, request.horizon, rngs)
        steps = np.arange(request.n_frames) // request.frames_per_step
        return center, np.asarray(center + drawn[:, :, steps].astype(center.dtype))

    def _generators(self, past: Sequences, request: Request) -> list[np.random.Generator]:
        """What the futures of each past are drawn with."""
        last = self.cells_.targets(past.crop(-max(1, self._conditioning())))
        return generators(request.rng, last)

    def _refuse_request(self, request: Request) -> None:
        """An error for what the method cannot do."""
        if self._between:
            return
        for name, value in (("frames_per_step", request.frames_per_step), ("substeps", request.substeps)):
            if value not in (None, 1):
                raise ValueError(
                    f"{name}={value}: {type(self).__name__} forecasts at the steps of the data only, expected 1; "
                    "Separation has a state that moves between two steps"
                )

    def _past(self, past: Any) -> Sequences:
        sequences = past if isinstance(past, Sequences) else as_sequences(doors.rows(past), "past")
        if len(sequences) == 0:
            raise ValueError("past holds no sequences: expected at least one")
        self._refuse_other(sequences, "past")
        need = self._conditioning()
        if sequences.lengths.min() < need:
            item = int(np.argmin(sequences.lengths))
            raise ValueError(
                f"past: sequence {item} has {sequences.lengths[item]} time steps: this {type(self).__name__} needs at "
                f"least {need} to go on from"
            )
        self._warn_of_gaps(sequences, "past")
        return sequences

    def _known_ahead(self, known: Any, past: Sequences, horizon: int) -> NDArray[np.float64] | None:
        """The channels known in advance over the horizon, (item, horizon, channel)."""
        count = len(self.cells_.known)
        if count == 0:
            if known is not None:
                raise ValueError(
                    f"known is given, but this {type(self).__name__} was fitted without known channels: leave it out"
                )
            return None
        if known is None:
            raise ValueError(
                f"known=None: this {type(self).__name__} was fitted with known={list(self.known or ())!r}; give their "
                f"values over the horizon, (item, {horizon}, {count})"
            )
        ahead = known if isinstance(known, Sequences) else as_sequences(doors.rows(known), "known")
        ahead.refuse_missing(type(self).__name__, "known")
        if ahead.frame != (count,) or len(ahead) != len(past) or ahead.lengths.min() < horizon:
            raise ValueError(
                f"known has {len(ahead)} sequences of {ahead.lengths.min()} steps and frames {ahead.frame}: expected "
                f"{len(past)} of at least {horizon} steps and frames ({count},)"
            )
        return np.stack([one[:horizon] for one in ahead]).astype(np.float64)

    # --- calibration -------------------------------------------------------------------------------------------------

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
                f"X: the longest sequence has {sequences.lengths.max()} time steps, and {type(self).__name__} needs "
                f"{need} to go on from and one more to be judged by"
            )
        steps = min(most, self._farthest() or most, _LONGEST) if horizon is None else whole(horizon, "horizon", 1)
        if steps > most:
            raise ValueError(f"horizon={steps}: the longest sequence of X allows {most} steps after {need} of the past")
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

    def _asked_whole(self, X: Any) -> Sequences:
        """Sequences of which a part will be the past."""
        sequences = read_sequences(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        self._refuse_other(sequences, "X")
        return sequences

    def _refuse_other(self, sequences: Sequences, name: str) -> None:
        """An error for frames, channels or masks that are not those it was fitted on."""
        self._refuse_frame(sequences.frame, name)
        names = sequences.channel_names
        if names is not None and self.input_names_ is not None and tuple(names) != self.input_names_:
            raise ValueError(
                f"{name} has the channels {', '.join(names)}: this {type(self).__name__} was fitted on "
                f"{', '.join(self.input_names_)}; give them in that order, or without names"
            )
        self.cells_.refuse(sequences, name)

    # --- time --------------------------------------------------------------------------------------------------------

    def _times_after(self, past: Sequences, request: Request) -> NDArray[Any] | None:
        """When the frames of the future are, (item, frame); the usual step goes on after the last time of each."""
        if past.times is None:
            return None
        step = self.interval_ if self.interval_ is not None else usual_step(past) or 1.0
        rows = (past.times[begin:end] for begin, end in pairwise(past.offsets))
        given = step, self.months_, request.horizon, request.frames_per_step
        return np.stack([times_after(row, *given) for row in rows])

    def _warn_of_gaps(self, sequences: Sequences, name: str) -> None:
        if not self._counts_steps or sequences.times is None:
            return
        usual, steps = usual_step(sequences), time_steps(sequences)
        if usual is not None and steps.max() > _GAP * usual:
            warnings.warn(
                f"{name} has gaps of up to {steps.max():.4g} between timestamps that are usually {usual:.4g} apart, "
                f"and {type(self).__name__} counts steps: resample(rate={1 / usual:.4g}) makes them even",
                stacklevel=outside(),
            )


def drawn_from(source: Any, rng: np.random.Generator) -> Sequences:
    """Sequences from a source, which must give some."""
    drawn = source(rng)
    if not isinstance(drawn, Sequences):
        raise TypeError(f"the source X gave a {type(drawn).__name__}: expected Sequences")
    return drawn

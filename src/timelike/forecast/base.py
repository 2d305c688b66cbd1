"""Forecaster, the base of everything that says what comes next: its door, its clock, and its calibration."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..models import learned, options
from ..models.options import Option
from ..sequences import Sequences, clocks, doors
from ..sequences.arguments import RandomState, counted, generator, whole
from ..sequences.callers import outside
from ..sequences.container import as_sequences
from .calibrating import Calibrating
from .cells import CELLS, Cells, check_known
from .doors import drawn_from, known_ahead, refuse_huge, refuse_single_steps, refuse_table, which
from .drawing import generators
from .noticing import warn_of_channels_last, warn_of_rates
from .request import Futures, Request
from .result import Forecast
from .ticks import months_of, time_steps, times_after, usual_step

_GAP = 1.5  # usual steps, beyond which a step is a gap


class Forecaster(Calibrating):
    """past → futures: `fit`, then `predict`; `calibrate` in between makes its intervals honest.

    A method fills in `_learn(sequences)` and `_continued(past, request)`, and says in `_conditioning` how many steps
    of the past it needs. Frames may have masked cells (NaN at all times), which it never sees: what reaches it by
    `self.cells_.targets` has rows of the cells that are there. Channels that are `known` in advance, in methods that
    take them, come apart.
    """

    known = options.otherwise(options.maybe(Option[Sequence[int | str]](check_known)), None)

    cells_: Cells = CELLS
    interval_: float | None = learned.maybe(learned.real(0))
    """Time between two steps, the median of those learned from; None without timestamps."""
    channel_names_: tuple[str, ...] | None = learned.maybe(learned.names(lambda model: model.cells_.frame[0]))
    input_names_: tuple[str, ...] | None = learned.maybe(learned.names(lambda model: model.frame_[0]))
    dated_clock_: bool = learned.flag()
    """Whether timestamps were dates."""
    months_: int = learned.whole(0, 12 * 600)  # dates in nanoseconds span less
    """How many months lie between two steps, 0 where the clock is another."""

    _takes_single_steps: bool = False  # whether series of one step are meant, as at the beginning of a backtest
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
        if not self._takes_single_steps:
            refuse_single_steps(sequences, X, type(self).__name__, "fit([x])")
        self.frame_ = sequences.frame
        doors.keep_size(self, sequences)
        self.cells_ = Cells.of(sequences, self.known)
        self.channel_names_ = self.cells_.names(sequences)
        self.input_names_ = None if sequences.channel_names is None else tuple(sequences.channel_names)
        self.interval_, self.months_ = usual_step(sequences), months_of(sequences)
        self.dated_clock_ = sequences.times is not None and sequences.times.dtype.kind == "M"
        refuse_huge(sequences, "X")
        self._warn_of_odd(sequences)
        return sequences

    def _warn_of_odd(self, sequences: Sequences) -> None:
        """Warnings of what is learned from as it is, and seldom meant so."""
        who = type(self).__name__
        warn_of_channels_last(sequences, who)
        if not (self._ignores_clock() and self.months_ == 0 and warn_of_rates(sequences, who)):
            self._warn_of_gaps(sequences, "X")

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
        request = self._request(asked, horizon, n_samples, frames_per_step, substeps, known, random_state)
        center, samples = self._futures(asked, request)
        return self._forecast(asked, request, center, samples, calibrated=hasattr(self, "calibration_"))

    def _forecast(
        self,
        past: Sequences,
        request: Request,
        center: NDArray[Any] | None,
        samples: NDArray[Any],
        *,
        calibrated: bool = False,
    ) -> Forecast:
        """The record of futures in the shape of frames."""
        return Forecast(
            samples=samples,
            past=self.cells_.frames(past),
            times=self._times_after(past, request),
            frames_per_step=request.frames_per_step,
            center=center,
            calibration=self._calibrated(request.horizon, request.n_samples) if calibrated else None,
            channel_names=self.channel_names_,
            method=type(self).__name__,
        )

    def _request(
        self,
        past: Sequences,
        horizon: Any,
        n_samples: Any,
        frames_per_step: Any,
        substeps: Any,
        known: Any,
        random_state: RandomState,
    ) -> Request:
        """What is asked for, if the method can do it."""
        self._refuse_changed("predict")
        steps = whole(horizon, "horizon", 1)
        request = Request(
            steps,
            whole(n_samples, "n_samples", 1),
            whole(frames_per_step, "frames_per_step", 1),
            None if substeps is None else whole(substeps, "substeps", 1),
            known_ahead(known, self.cells_, self.known, past, steps, type(self).__name__),
            self._drawing(random_state),
        )
        self._refuse_request(request)
        request.refuse_large(len(past), self.cells_.n_cells, doors.computed_dtype(past.dtype).itemsize)
        return request

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

    def _read(self, X: Any) -> Sequences:
        refuse_table(X, "X")
        return super()._read(X)

    def _past(self, past: Any, name: str = "past") -> Sequences:
        refuse_table(past, name)
        doors.refuse_steps(past, name)
        sequences = past if isinstance(past, Sequences) else as_sequences(doors.rows(past), name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        self._refuse_other(sequences, name)
        need = self._conditioning()
        if sequences.lengths.min() < need:
            item = int(np.argmin(sequences.lengths))
            raise ValueError(
                f"{name}: {which(sequences, item)} has {counted(sequences.lengths[item], 'time step')}: this "
                f"{type(self).__name__} needs at least {need} to go on from{self._one_given(past, sequences)}"
            )
        self._warn_of_gaps(sequences, name)
        return sequences

    def _alone(self, one: Any) -> Any:
        """A single sequence as a collection of one; `Sequences`, and arrays with an axis before, are such."""
        several = isinstance(one, Sequences) or doors.count_axes(one) == 2 + len(self.frame_)
        return one if several else [one]

    def _asked_whole(self, X: Any, name: str = "X") -> Sequences:
        """Sequences of which a part will be the past."""
        sequences = X if isinstance(X, Sequences) else as_sequences(doors.rows(X), name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        self._refuse_other(sequences, name)
        return sequences

    def _refuse_frame(self, frame: tuple[int, ...], name: str) -> None:
        """An error for other frames; those that lack the first axis are of one sequence, given as if it were many."""
        expected = self._frame()
        lacks = (1,) if expected is not None and len(expected) == 1 else None if expected is None else expected[1:]
        if frame != expected and frame == lacks:
            raise ValueError(
                f"{name} has frames of shape {frame}: this {type(self).__name__} was fitted on {expected}; "
                f"{_single(name)}"
            )
        super()._refuse_frame(frame, name)

    @staticmethod
    def _one_given(given: Any, sequences: Sequences) -> str:
        """A way out where all are of one step: then one sequence may have been given as if it were many."""
        return "" if isinstance(given, Sequences) or sequences.lengths.max() > 1 else f"; {_single('it')}"

    def _refuse_other(self, sequences: Sequences, name: str) -> None:
        """An error for frames, channels or masks that are not those it was fitted on."""
        self._refuse_frame(sequences.frame, name)
        names = sequences.channel_names
        if names is not None and self.input_names_ is not None and tuple(names) != self.input_names_:
            raise ValueError(
                f"{name} has the channels {', '.join(names)}: this {type(self).__name__} was fitted on "
                f"{', '.join(self.input_names_)}; give them in that order, or without names"
            )
        times = sequences.times if self.interval_ is not None else None
        if times is not None and (times.dtype.kind == "M") != self.dated_clock_:
            kinds = ("dates", "numbers") if self.dated_clock_ else ("numbers", "dates")
            raise ValueError(
                f"{name} has times that are {kinds[1]}: this {type(self).__name__} was fitted on times that are "
                f"{kinds[0]}; give the same kind, or none"
            )
        refuse_huge(sequences, name)
        self.cells_.refuse(sequences, name)

    # --- time --------------------------------------------------------------------------------------------------------

    def _times_after(self, past: Sequences, request: Request) -> NDArray[Any] | None:
        """When the frames of the future are, (item, frame); the usual step goes on after the last time of each."""
        if past.times is None:
            return None
        rows = [past.times[begin:end] for begin, end in pairwise(past.offsets)]
        given = self.months_, request.horizon, request.frames_per_step
        return np.stack([times_after(row, self._step_of(row), *given) for row in rows])

    def _step_of(self, times: NDArray[Any]) -> float:
        """How long a step of a past is: its own usual one, but that of training where the method goes by the clock."""
        known = self.interval_
        if len(times) > 1 and (known is None or self._ignores_clock()):
            return float(np.median(np.diff(clocks.since_first(times, np.array([len(times)])))))
        return 1.0 if known is None else known

    def _ignores_clock(self) -> bool:
        """Whether a step is a step, however much time passes between two."""
        return True

    def _warn_of_gaps(self, sequences: Sequences, name: str) -> None:
        if not self._ignores_clock() or sequences.times is None:
            return
        usual, steps = usual_step(sequences), time_steps(sequences)
        if usual is not None and steps.max() > _GAP * usual:
            warnings.warn(
                f"{name} has gaps of up to {steps.max():.4g} between timestamps that are usually {usual:.4g} apart, "
                f"and {type(self).__name__} counts steps: resample(rate={1 / usual:.4g}) makes them even",
                stacklevel=outside(),
            )


def _single(name: str) -> str:
    return f"if {name} is a single sequence x (time, *frame), give x[None], or X[:1] of several"

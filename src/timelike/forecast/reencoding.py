"""Whether states of long forecasts should be inferred again from forecast frames: `is_reencoding_better`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences
from .base import ForecastRequest
from .windows import futures_after, known_futures_after, select_windows, thin_evenly

if TYPE_CHECKING:
    from .latent_forecaster import LatentForecaster

_N_WINDOWS = 64  # windows on which forecasts with and without reencoded states are compared
_N_SAMPLES = 4  # samples of a probabilistic method
_FADING_GAIN = 2.0  # squared error of a moving forecast at a random phase, relative to that of the mean frame
_N_LONG_WINDOWS, _LONG_REACH = 8, 10  # windows of long forecasts, and their length in trained lengths
_MOVEMENT_MARGIN = float(np.log(3.0))  # a factor by which movements of long forecasts must differ


def is_reencoding_better(model: LatentForecaster, sequences: Sequences) -> bool:
    """Whether reencoding states improves forecasts beyond the trained length on these sequences.

    It is compared up to twice that length, by the squared error. Because a forecast that fades to a mean frame has up
    to half the squared error of one that keeps moving, a lower error does not count if the plain roll-out comes to rest
    or explodes later on and the reencoded one does not. True if the sequences are too short to compare: a forecast that
    leaves the data is worse than a slightly inaccurate one. The model is left with `reencode_=False`.
    """
    need, reach = model._min_past_steps(), model.chunk_ - model._min_past_steps()
    horizon = min(2 * reach, int(sequences.lengths.max()) - need)
    if horizon <= reach:
        return True
    windows = select_windows(sequences, need, horizon, _N_WINDOWS)
    truth = futures_after(model.cells_.target_frames(sequences), windows, horizon)
    covariates = known_futures_after(model.cells_, sequences, windows, horizon)
    errors = []
    for model.reencode_ in (True, False):
        try:
            forecast = _forecast_mean(model, windows.pasts, horizon, covariates)
            errors.append(float(np.nanmean(np.square(forecast - truth)[:, reach:])))
        except ArithmeticError:  # the forecast has diverged
            errors.append(np.inf)
    if errors[0] <= errors[1] or errors[0] > _FADING_GAIN * errors[1] or covariates is not None:
        return errors[0] <= errors[1]
    some = windows.pasts[thin_evenly(np.arange(len(windows.pasts)), _N_LONG_WINDOWS)]
    return _keeps_moving_better(model, some, reach, _movement(truth))


def _forecast_mean(model: LatentForecaster, pasts: Sequences, horizon: int, covariates: Any) -> NDArray[Any]:
    """The center of forecasts, or the mean of a few samples."""
    count = _N_SAMPLES if model._is_probabilistic else 1
    center, samples = model._predict_frames(pasts, model._make_request(pasts, horizon, count, 1, None, covariates, 0))
    return np.asarray(samples.mean(axis=0) if center is None else center)


def _keeps_moving_better(model: LatentForecaster, pasts: Sequences, reach: int, usual: float) -> bool:
    """Whether the movement at the end of long forecasts is much nearer to the usual one with reencoded states."""
    # without timestamps: those of a long forecast may lie beyond the dates that can be represented
    request, deviations = ForecastRequest(_LONG_REACH * reach, 1, 1, None, None, np.random.default_rng(0)), []
    for model.reencode_ in (True, False):
        moved = np.inf
        with suppress(ArithmeticError):  # the forecast has diverged
            moved = _movement(model._predict_frames(pasts, request)[1][0, :, -reach - 1 :])
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations.append(float(np.abs(np.log(moved / usual))))
    return deviations[0] + _MOVEMENT_MARGIN < deviations[1]  # False if the data do not move at all


def _movement(frames: NDArray[Any]) -> float:
    """The mean squared difference between successive frames (item, time, …)."""
    return float(np.nanmean(np.square(np.diff(frames, axis=1))))

"""Whether states of long forecasts should be inferred again from forecast frames: `is_reencoding_better`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences
from .base import ForecastRequest
from .windows import channel_deviations, futures_after, known_futures_after, select_windows, thin_evenly

if TYPE_CHECKING:
    from .latent_forecaster import LatentForecaster

_MAX_WINDOWS = 64  # windows on which forecasts with and without reencoded states are compared
_MAX_NUMBERS = 1 << 22  # numbers forecast for a comparison
_N_SAMPLES = 4  # samples of a probabilistic method
_FADING_GAIN = 2.0  # squared error of a moving forecast at a random phase, relative to that of the mean frame
_N_LONG_WINDOWS, _LONG_REACH = 8, 10  # windows of long forecasts, and their length in trained lengths
_MOVEMENT_MARGIN = float(np.log(3.0))  # a factor by which squared movements of long forecasts must differ
_FRAME_COST = 1.0  # cost of forecasting a frame in double precision, relative to a training step on it


def is_reencoding_better(model: LatentForecaster, sequences: Sequences) -> bool:
    """Whether reencoding states improves forecasts beyond the trained length on these sequences.

    It is compared up to twice that length, by the squared error in standard deviations of each channel. Because a
    forecast that fades to a mean frame has up to half the squared error of one that keeps moving, a lower error does
    not count if the plain roll-out comes to rest or explodes later on and the reencoded one does not. True if the
    sequences are too short to compare: a forecast that leaves the data is worse than a slightly inaccurate one.
    """
    need, reach = model._min_past_steps(), model._reencode_steps()
    horizon = min(2 * reach, int(sequences.lengths.max()) - need)
    if horizon <= reach:
        return True
    windows = select_windows(sequences, need, horizon, _n_windows(model, horizon * _n_samples(model), _MAX_WINDOWS))
    frames = model.cells_.target_frames(sequences)
    truth, unit = futures_after(frames, windows, horizon), channel_deviations(frames.values)
    covariates = known_futures_after(model.cells_, sequences, windows, horizon)
    errors = []
    for model.reencode_ in (True, False):
        try:
            errors.append(_squared_error(model, windows.pasts, covariates, truth / unit, unit, reach))
        except ArithmeticError:  # the forecast has diverged
            errors.append(np.inf)
    if errors[0] <= errors[1] or errors[0] > _FADING_GAIN * errors[1] or covariates is not None:
        return errors[0] <= errors[1]
    usual = _movement(truth / unit)
    if usual == 0:
        return False
    n_windows = _n_windows(model, _LONG_REACH * reach, _N_LONG_WINDOWS)
    some = windows.pasts[thin_evenly(np.arange(len(windows.pasts)), n_windows)]
    return _keeps_moving_better(model, some, unit, usual)


def count_comparison_steps(model: LatentForecaster, batch_size: int) -> float:
    """The most that `is_reencoding_better` costs, in training steps on `batch_size` chunks."""
    reach = model._reencode_steps()
    short = 2 * reach * _n_samples(model)
    frames = short * _n_windows(model, short, _MAX_WINDOWS)
    frames += _LONG_REACH * reach * _n_windows(model, _LONG_REACH * reach, _N_LONG_WINDOWS)
    return 2 * _FRAME_COST * frames / (batch_size * model.chunk_)


def _n_samples(model: LatentForecaster) -> int:
    return _N_SAMPLES if model._is_probabilistic else 1


def _n_windows(model: LatentForecaster, n_frames: int, most: int) -> int:
    """The number of windows with so many frames each that fits into the memory for a comparison."""
    return int(np.clip(_MAX_NUMBERS // (n_frames * model.cells_.valid_mask.size), 1, most))


def _squared_error(
    model: LatentForecaster, pasts: Sequences, covariates: Any, truth: NDArray[Any], unit: NDArray[Any], reach: int
) -> float:
    """The mean squared error beyond `reach` steps of the center, or of the mean of infinitely many samples."""
    request = model._make_request(pasts, truth.shape[1], _n_samples(model), 1, None, covariates, 0)
    center, samples = model._predict_frames(pasts, request)
    scaled = (samples if center is None else center[None])[:, :, reach:] / unit
    extra = scaled.var(axis=0, ddof=1) / len(scaled) if len(scaled) > 1 else 0.0
    return float(np.nanmean(np.square(scaled.mean(axis=0) - truth[:, reach:]) - extra))


def _keeps_moving_better(model: LatentForecaster, pasts: Sequences, unit: NDArray[Any], usual: float) -> bool:
    """Whether the movement at the end of long forecasts is much nearer to the usual one with reencoded states."""
    reach, deviations = model._reencode_steps(), []
    for model.reencode_ in (True, False):
        # without timestamps: those of a long forecast may lie beyond the dates that can be represented
        request = ForecastRequest(_LONG_REACH * reach, 1, 1, None, None, np.random.default_rng(0))
        moved = np.inf
        with suppress(ArithmeticError):  # the forecast has diverged
            moved = _movement(model._predict_frames(pasts, request)[1][0, :, -reach - 1 :] / unit)
        with np.errstate(divide="ignore"):  # a forecast that stands still is infinitely far from the usual movement
            deviations.append(float(np.abs(np.log(moved) - np.log(usual))))
    return deviations[0] + _MOVEMENT_MARGIN < deviations[1]


def _movement(frames: NDArray[Any]) -> float:
    """The mean squared difference between successive frames (item, time, …)."""
    return float(np.nanmean(np.square(np.diff(frames, axis=1))))

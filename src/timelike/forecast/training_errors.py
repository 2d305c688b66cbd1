"""Errors of a trained forecaster compared with those of the last frame and of the mean."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.warnings import find_stack_level
from ..score import ssim
from ..sequences import Sequences
from ..train import NotLearnedWarning
from .windows import channel_deviations, futures_after, known_futures_after, select_windows

if TYPE_CHECKING:
    from .latent_forecaster import LatentForecaster

_MIN_STEPS = 50  # fewest steps of a checked training, unless its time ran out
_MAX_WINDOWS = 64
_MAX_NUMBERS = 1 << 22  # numbers forecast for the check
_N_SAMPLES = 4  # samples of a probabilistic method
_ERROR_TOLERANCE = 0.01  # differences below this many standard deviations are ignored
_SSIM_WINDOW = 11  # rows and columns of the windows of SSIM
_MIN_SPREAD_SHARE = 0.05  # smallest spread of samples relative to the error of their mean; equal if calibrated
_CERTAIN_ERROR = 0.3  # errors, in standard deviations, below which samples may well be alike


class TrainingErrors(NamedTuple):
    """Root mean squared errors in standard deviations of each channel, and SSIM for images in [0, 1]."""

    model: float
    persistence: float
    mean: float
    similarity: tuple[float, float] | None
    """SSIM of the model and of the mean frame."""
    n_windows: int
    horizon: int
    spread: float | None = None
    """Standard deviation of samples around their mean, for methods with random steps."""

    def failure_reason(self) -> str | None:
        """A description of the problem that continues "over the next steps", or None."""
        rivals = f"that of Persistence {self.persistence:.3g} and that of Mean {self.mean:.3g}"
        if self.model > min(self.persistence, self.mean) + _ERROR_TOLERANCE:
            return f"its error is {self.model:.3g} standard deviations, {rivals}"
        if self.similarity is not None and self.similarity[0] < self.similarity[1]:
            return f"its SSIM is {self.similarity[0]:.3g} and that of the mean frame {self.similarity[1]:.3g}"
        return None

    def has_similar_samples(self) -> bool:
        """Whether samples hardly differ, although the future is uncertain to the model."""
        if self.spread is None or self.model < _CERTAIN_ERROR:
            return False
        return self.spread < _MIN_SPREAD_SHARE * self.model


def warn_if_no_better(model: LatentForecaster, training: Sequences, held_out: Sequences | None) -> None:
    """Warn if the last frame or the mean is a better forecast than the model, or if all its samples are alike.

    The check covers the training sequences first, then those held out, which reveals overfitting.
    """
    history = model.history_
    if history.stop_reason == "Ctrl-C" or (history.n_steps < _MIN_STEPS and history.stop_reason != "max_time"):
        return
    sides = {"of the training sequences": training, "of held-out sequences": held_out}
    for words, sequences in sides.items():
        if sequences is None:
            continue
        errors = measure_training_errors(model, training, sequences)
        problem = _describe_problem(errors, type(model).__name__, words)
        if problem is not None:
            warnings.warn(problem, NotLearnedWarning, stacklevel=find_stack_level())
            return


def _describe_problem(errors: TrainingErrors, name: str, words: str) -> str | None:
    """The text of the warning, or None."""
    over = f"over the next {errors.horizon} steps of {errors.n_windows} windows {words}"
    reason = errors.failure_reason()
    if reason is not None:
        return (
            f"{name} has learned little or nothing: {over} {reason}; give it more time (max_time, max_steps), a lower "
            "learning_rate or another conditioning, and check that X is scaled"
        )
    if errors.has_similar_samples():
        return (
            f"the futures sampled by {name} are alike: {over} they differ by {errors.spread:.2g} standard deviations, "
            f"and their mean is {errors.model:.2g} from the truth; give it more time, or a lower beta (10 by default "
            "for images, 1 for series), with which random steps store more; calibrate() makes intervals wide enough"
        )
    return None


def measure_training_errors(model: LatentForecaster, training: Sequences, sequences: Sequences) -> TrainingErrors:
    """Errors over windows of sequences, up to the length of a training chunk; the mean is that of `training`."""
    need, longest = model._min_past_steps(), int(sequences.lengths.max())
    horizon = max(1, min(model.chunk_, longest) - need)
    frames = model.cells_.target_frames(training).values.reshape(-1, *model.cells_.frame)
    cells = frames[0].size
    count = _N_SAMPLES if model._is_probabilistic else 1
    windows = select_windows(
        sequences, need, horizon, int(np.clip(_MAX_NUMBERS // (cells * horizon * count), 8, _MAX_WINDOWS))
    )
    truth = futures_after(model.cells_.target_frames(sequences), windows, horizon)
    covariates = known_futures_after(model.cells_, sequences, windows, horizon)
    mean = frames.mean(axis=0, dtype=np.float64)  # NaN in masked cells
    last = model.cells_.target_frames(windows.pasts.crop(-1)).values[:, None]
    unit = channel_deviations(frames)

    def root(squares: NDArray[Any]) -> float:
        return float(np.sqrt(max(0.0, np.nanmean(squares / np.square(unit)))))

    try:
        request = model._make_request(windows.pasts, horizon, count, 1, None, covariates, 0)
        center, samples = model._predict_frames(windows.pasts, request)
    except ArithmeticError:  # the forecast has diverged
        return TrainingErrors(
            np.inf, root(np.square(last - truth)), root(np.square(mean - truth)), None, len(truth), horizon
        )
    forecast = samples.mean(axis=0) if center is None else center
    # subtract the variance of a mean of few samples, which a larger sample would not have
    variance = None if center is not None or count == 1 else samples.var(axis=0, ddof=1)
    extra = 0.0 if variance is None else variance / count
    spread = root(variance) if variance is not None and model._has_random_steps() else None
    errors = root(np.square(forecast - truth) - extra), root(np.square(last - truth)), root(np.square(mean - truth))
    similarity = _ssim_scores(model, truth, forecast, mean)
    return TrainingErrors(*errors, similarity, len(truth), horizon, spread)


def _ssim_scores(
    model: LatentForecaster, truth: NDArray[Any], forecast: NDArray[Any], mean: NDArray[Any]
) -> tuple[float, float] | None:
    """SSIM of the forecast and of the mean frame, for unmasked images in [0, 1]."""
    pictures = model._has_image_frames() and model.uses_sigmoid_ and not model.cells_.is_masked
    if not pictures or min(truth.shape[-2:]) < _SSIM_WINDOW:
        return None
    whole = ~np.isnan(truth).any(axis=(1, 2, 3, 4))
    if not whole.any():
        return None
    still = np.broadcast_to(mean, truth.shape)[whole]
    both = (float(np.mean(ssim(truth[whole], one))) for one in (np.clip(forecast, 0, 1)[whole], still))
    return next(both), next(both)

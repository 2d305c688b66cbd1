"""`ForecastExamples`: forecasts of the last steps of a few sequences, with intervals, beside what really came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_count
from ..core.random import RandomState
from ..plotting import html
from ..sequences import as_sequences
from ..sequences.describe.quality_checks import channel_name
from .base import Forecaster
from .result import Forecast
from .windows import futures_after, known_futures_after, thin_evenly, windows_at_origins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIZE = 4.8, 3.0  # inches, so that the whole figure fits a phone, and two a screen
_N_SAMPLES = 100  # futures of a probabilistic model: enough for an interval at the 80 % level


@dataclass(frozen=True, repr=False)
class ForecastExamples:
    """The result of `forecast_examples`: the `forecast`, and the `truth` (item, step, *frame) that it did not see."""

    forecast: Forecast
    truth: NDArray[Any]
    names: tuple[str, ...]
    channels: tuple[int, ...]
    level: float

    def __repr__(self) -> str:
        return f"ForecastExamples({self.forecast!r})"

    def plot(self, item: int = 0) -> Figure:
        """Draw the forecast of one example over the truth, in the channel that changes most."""
        figure = self.forecast.plot(item, channel=self.channels[item], level=self.level, truth=self.truth[item])
        if len(self.forecast.past.frame) == 1:  # not the strip of frames of a video
            figure.set_size_inches(*_SIZE)
        return figure

    def _repr_html_(self) -> str:
        figures = [html.figure_html(self.plot(item), self._describe(item)) for item in range(len(self.names))]
        return f'<div class="cases">{html.join_html(*figures)}</div>'

    def _describe(self, item: int) -> str:
        """The caption: what is drawn, and the error of the example."""
        past, channel = self.forecast.past, self.channels[item]
        name = channel_name(past, channel) if len(past.frame) == 1 else f"channel {channel}"
        error = float(np.nanmean(np.abs(self.forecast.mean[item] - self.truth[item])))
        steps = format_count(self.truth.shape[1], "step")
        return f"{self.names[item]}, {name}: the last {steps}; mean absolute error over all channels {error:.4g}."


def forecast_examples(
    model: Forecaster, X: Any, horizon: int, *, n: int = 4, level: float = 0.8, random_state: RandomState = 0
) -> ForecastExamples:
    """Forecast the last steps of a few sequences from the steps before them, to look at beside the truth.

    Parameters
    ----------
    model : Forecaster
        Fitted, on other sequences. There are intervals if it is calibrated or probabilistic.
    X : sequences
        The examples are taken evenly from those with a long enough past.
    horizon : int
        The number of steps to forecast.
    n : int
        The largest number of examples.
    level : float
        The level of the intervals.

    Examples
    --------
    >>> import timelike as tl
    >>> X = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]]
    >>> found = tl.forecast.forecast_examples(tl.forecast.Persistence().fit(X), X, 2)
    >>> found.forecast.mean[:, :, 0].tolist(), found.truth[:, :, 0].tolist()
    ([[4.0, 4.0], [8.0, 8.0]], [[5.0, 6.0], [10.0, 12.0]])
    """
    model._require_fitted()
    sequences, horizon = as_sequences(X, "X"), check_int(horizon, "horizon", 1)
    n = check_int(n, "n", 1)
    enough = np.flatnonzero(sequences.lengths >= model._min_past_steps() + horizon)
    if not len(enough):
        raise ValueError(
            f"horizon={horizon}: the longest sequence has {format_count(int(sequences.lengths.max()), 'step')}, and "
            f"{type(model).__name__} needs {model._min_past_steps()} before the horizon: use a shorter horizon"
        )
    items = thin_evenly(enough, n)
    windows = windows_at_origins(sequences, items, sequences.lengths[items] - horizon)
    forecast = model.predict(
        windows.pasts,
        horizon,
        n_samples=_N_SAMPLES if model._is_probabilistic else 1,
        known_covariates=known_futures_after(model.cells_, sequences, windows, horizon),
        random_state=random_state,
    )
    truth = futures_after(model.cells_.target_frames(sequences), windows, horizon)
    cells = truth.reshape(*truth.shape[:3], -1)
    changes = np.nan_to_num(np.fmax.reduce(cells, axis=1) - np.fmin.reduce(cells, axis=1))  # masked cells are NaN
    spread = changes.mean(axis=2)  # (item, channel)
    names = tuple(f"sequence {i}" if sequences.ids is None else str(sequences.ids[i]) for i in items.tolist())
    return ForecastExamples(forecast, truth, names, tuple(spread.argmax(axis=1).tolist()), level)

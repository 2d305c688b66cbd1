"""`EvaluatedModel`: a model or baseline of a backtest, fitted on data before a cut if needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ...sequences import Sequences
from ...sequences.validation import validate_sequences
from ..base import Forecaster
from ..baselines.analog import Analog
from ..baselines.mean import Mean
from ..baselines.persistence import Persistence
from ..baselines.ridge import Ridge
from ..calibration import min_windows, tail_quantiles
from ..cells import Cells, known_positions
from ..validation import refuse_single_steps
from ..windows import known_futures_after, windows_at_origins
from .origins import Ids, Origins, describe_cut, is_cut_by_steps, sequences_before

BaselineName = Literal["persistence", "mean", "ridge", "analog"]
_BASELINES: dict[str, type[Forecaster]] = {"persistence": Persistence, "mean": Mean, "ridge": Ridge, "analog": Analog}


class ModelInput(NamedTuple):
    """The input of a model, and the positions of the scored channels among its outputs; None for all."""

    sequences: Sequences
    channels: NDArray[np.int64] | None = None


class WindowForecasts(NamedTuple):
    """Forecasts: `mean` (window, step, *frame), `samples` (sample, window, …), `interval` (low, high) or None."""

    mean: NDArray[Any]
    samples: NDArray[Any]
    interval: tuple[NDArray[Any], NDArray[Any]] | None


class BacktestRequest(NamedTuple):
    """The forecasts required of every evaluated model."""

    horizon: int
    n_samples: int
    ensemble: bool
    level: float


class EvaluatedModel:
    """A model that is already fitted, or that is fitted here on data before a cut in time."""

    def __init__(
        self, model: Forecaster, model_input: ModelInput, request: BacktestRequest, *, refit: bool, name: str
    ) -> None:
        self.model, self.request, self.refit, self.name = model, request, refit, name
        self.sequences, self.channels = model_input
        self.is_prefitted = model.__sklearn_is_fitted__()
        self.notes: list[str] = []
        self.chosen_options: dict[str, Any] = {}
        auto_options = [option for option in getattr(model, "_auto_options", ()) if getattr(model, option) is None]
        if refit and auto_options:
            self.notes.append(f"copies of {name} keep the {' and '.join(auto_options)} that the first one chose")
        self._current: tuple[Any, Forecaster] | None = None
        self._rolling_forecasts: NDArray[Any] | None = None
        self.has_intervals, self.n_futures = self._resolve_spread()

    def _resolve_spread(self) -> tuple[bool, int]:
        """Whether the model has intervals, and its number of futures; adds a note if a calibration cannot be used."""
        n_draws = self.request.n_samples if self.model._is_probabilistic else 1
        if not hasattr(self.model, "calibration_"):
            return self._has_enough_samples(n_draws), n_draws
        if self.refit:
            self.notes.append(f"{self.name} is calibrated, but its refitted copies are not")
            return self._has_enough_samples(n_draws), n_draws
        shortage = self._calibration_shortage(0.5)  # without errors at the last step no futures can be sampled either
        if shortage is None and self.request.ensemble:
            n_draws = self.request.n_samples
        shortage = shortage or next(
            filter(None, map(self._calibration_shortage, tail_quantiles(self.request.level))), None
        )
        if shortage is not None:
            self.notes.append(f"{self.name} has no intervals: {shortage}")
        return shortage is None, n_draws

    def _has_enough_samples(self, n_draws: int) -> bool:
        """Whether there are enough samples for intervals; adds a note if there are several, but too few."""
        need = max(min_windows(q) for q in tail_quantiles(self.request.level))
        if 1 < n_draws < need:
            self.notes.append(
                f"{self.name} has no intervals: {n_draws} samples are too few for level "
                f"{self.request.level:g}, which needs n_samples={need} or more"
            )
        return n_draws > 1 and n_draws >= need

    def _calibration_shortage(self, q: float) -> str | None:
        """Why the calibration does not support a quantile over the whole horizon, or None."""
        try:
            self.model._select_calibration(self.request.horizon).margin(q, self.request.horizon)
        except ValueError as error:
            return str(error)
        return None

    # --- fitting -----------------------------------------------------------------------------------------------------

    @property
    def needs_fit(self) -> bool:
        """Whether the model is fitted here."""
        return self.refit or not self.is_prefitted

    @property
    def uses_training_values(self) -> bool:
        """Whether the model is fitted here on values, which must precede its forecasts."""
        return self.needs_fit and getattr(self.model, "_uses_training_values", True)

    @property
    def has_fitted_copy(self) -> bool:
        """Whether a copy has been fitted already."""
        return self._current is not None

    def min_past_steps(self, cut: Any) -> int:
        """The number of past steps the model needs; if that is learned, the model is fitted first."""
        try:
            return (clone(self.model) if self.needs_fit else self.model)._min_past_steps()
        except (AttributeError, NotFittedError):
            return self.model_at(cut)._min_past_steps()

    def model_at(self, cut: Any) -> Forecaster:
        """The model for windows after a cut; without refits, always the model of the first cut."""
        if not self.needs_fit:
            return self.model
        if self._current is None or (self.refit and self._current[0] != cut):
            self._current = cut, self._fit(cut)
        return self._current[1]

    def _fit(self, cut: Any) -> Forecaster:
        if self._current is not None and not self.chosen_options:
            # later copies keep the choices of the first, so that pasts stay long enough
            first: Any = self._current[1]
            self.chosen_options = (
                first._get_chosen_options(self.request.horizon) if hasattr(first, "_get_chosen_options") else {}
            )
        model: Forecaster = clone(self.model).set_params(**self.chosen_options)
        model._allows_single_steps = True  # beginnings of longer series may be this short
        try:
            return model.fit(sequences_before(self.sequences, cut))
        except ValueError as error:
            remedy = "if that is too little, leave out short sequences or use fewer windows"
            error.add_note(f"backtest: {self.name} was to be fitted on {describe_cut(self.sequences, cut)}; {remedy}")
            raise

    # --- forecasting -------------------------------------------------------------------------------------------------

    def can_roll(self, origins: Origins) -> bool:
        """Whether the model can forecast all windows with refits in one call."""
        return self.refit and hasattr(self.model, "_forecast_rolling") and is_cut_by_steps(self.sequences, origins)

    def forecast_rolling(self, origins: Origins, first: Any) -> None:
        """Forecast all windows with refits in one call."""
        model: Any = self.model_at(first)  # automatic choices must not depend on later data
        windows = windows_at_origins(self.sequences, origins.item, origins.origin)
        known_futures = known_futures_after(model.cells_, self.sequences, windows, self.request.horizon)
        rows = model._forecast_rolling(self.sequences, windows, self.request.horizon, known_futures)
        self._rolling_forecasts = self._select_channels(model.cells_.to_frames(np.asarray(rows)))

    @property
    def has_rolled(self) -> bool:
        """Whether `forecast_rolling` has been called."""
        return self._rolling_forecasts is not None

    def forecast_windows(self, origins: Origins, rows: Ids, cut: Any, rng: np.random.Generator) -> WindowForecasts:
        """Forecast some windows, none of which begins before the cut."""
        if self._rolling_forecasts is not None:
            mean = self._rolling_forecasts[rows]
            return WindowForecasts(mean, mean[None], None)
        model, request = self.model_at(cut), self.request
        windows = windows_at_origins(self.sequences, origins.item[rows], origins.origin[rows])
        known_futures = known_futures_after(model.cells_, self.sequences, windows, request.horizon)
        forecast = model.predict(
            windows.pasts, request.horizon, n_samples=self.n_futures, known_covariates=known_futures, random_state=rng
        )
        band = None
        if self.has_intervals:
            low, high = forecast.interval(request.level)
            band = self._select_channels(low), self._select_channels(high)
        samples = self._select_channels(forecast.samples, 3) if request.ensemble else forecast.samples[:0]
        return WindowForecasts(self._select_channels(forecast.mean), samples, band)

    def _select_channels(self, frames: NDArray[Any], axis: int = 2) -> NDArray[Any]:
        """The channels on which all models are scored."""
        return frames if self.channels is None else np.take(frames, self.channels, axis=axis)


# --- arguments, and the channels on which a model and its baselines are compared --------------------------------------


def validate_model(model: Any, X: Any) -> tuple[Sequences, Cells]:
    """The validated sequences of a backtest, and the cells to forecast."""
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
    """Baselines, given by name or as forecasters, as a list of forecasters."""
    several = not isinstance(baseline, str | Forecaster) and isinstance(baseline, Iterable)
    entries = [] if baseline is None else list(baseline) if several else [baseline]
    return [_parse_baseline(one) for one in entries]


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
    """The name of each model, with a suffix for duplicates."""
    names: list[str] = []
    for model in models:
        name = type(model).__name__
        again = sum(one == name or one.startswith(f"{name} (") for one in names)
        names.append(name if not again else f"{name} (baseline)" if again == 1 else f"{name} (baseline {again})")
    return names


def match_channels(baseline: Forecaster, sequences: Sequences, cells: Cells, model: Forecaster) -> ModelInput:
    """The input of a baseline, chosen so that it forecasts at least the channels of the model, which has these cells.

    If the model has known channels and the baseline has none, the baseline receives the target channels only, unless it
    was fitted on whole frames.
    """
    fitted = baseline.__sklearn_is_fitted__()
    if (
        not baseline.known_channels
        and len(cells.known_channels)
        and not (fitted and baseline.frame_ == sequences.frame)
    ):
        model_input = ModelInput(cells.target_frames(sequences).replace(channel_names=cells.target_names(sequences)))
        _refuse_mask_mismatch(baseline, model_input, cells)
        return model_input
    own = baseline.cells_.known_channels if fitted else known_positions(sequences, baseline.known_channels)
    every = np.arange(sequences.frame[0])
    ours, theirs = np.setdiff1d(every, cells.known_channels), np.setdiff1d(every, own)
    if not np.isin(ours, theirs).all():
        raise ValueError(
            f"baseline: {type(baseline).__name__} with known_channels={list(baseline.known_channels or [])!r} does not "
            f"forecast all channels that {type(model).__name__} with known_channels="
            f"{list(model.known_channels or [])!r} does: expected the same, or fewer"
        )
    model_input = ModelInput(sequences, np.searchsorted(theirs, ours) if len(ours) < len(theirs) else None)
    _refuse_mask_mismatch(baseline, model_input, cells)
    return model_input


def _refuse_mask_mismatch(baseline: Forecaster, model_input: ModelInput, cells: Cells) -> None:
    """Raise an error if a fitted baseline rejects the sequences or masks cells that the model forecasts."""
    if not baseline.__sklearn_is_fitted__():
        return
    baseline._validate_full_sequences(model_input.sequences)
    mask, channels = baseline.cells_.valid_mask, model_input.channels
    n_masked = int((cells.valid_mask & ~(mask if channels is None else mask[channels])).sum())
    if n_masked:
        raise ValueError(
            f"baseline: {type(baseline).__name__} was fitted with {n_masked} masked cells that the model forecasts: "
            "fit both on sequences with the same mask"
        )

"""LatentForecaster, the base class of neural forecasters with a content and a state: data, budgets and outputs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from ..core.parameters import format_count
from ..core.validation.arrays import computed_dtype
from ..models import options, schema
from ..sequences import Sequences
from ..sequences.moments import ChannelScaler
from ..train import Objective, Trained
from ..train.budget import DefaultBudget
from ..train.learning_check import warn_of_unused_patience
from ..train.objective import FORWARD_SHARE
from ..train.torch_threads import torch_threads
from ..train.validation_split import split_validation
from .base import Forecaster, SequenceSource
from .chunks import ChunkObjective, PackedFrames, step_spans
from .codecs.auto import Auto, codec_option, is_image
from .codecs.base import Codec
from .codecs.convolutions import MIN_SIDE
from .reencoding import count_comparison_steps, is_reencoding_better
from .training_errors import warn_if_no_better
from .validation import describe_item, sample_source, warn_of_byte_images, warn_of_short_sequences
from .windows import N_SAMPLED_FRAMES, step_durations, thin_evenly

OutputActivation = Literal["auto", "linear", "sigmoid"]

_N_TARGET_STEPS = 20  # default number of steps of a chunk after the conditioning ones
_SINGLE_PRECISION_COST = 1.6  # cost of a forward pass in single precision, relative to mixed precision
_COMPARISON_STEPS = 3.0  # cost of the comparison with persistence and the mean, in steps
_RANGE_TOLERANCE = 1e-6  # rounding error of data scaled to [0, 1]
_UNEVEN_SHARE = 0.01  # deviation from the usual step, as a fraction of it, beyond which time spans are used


def forecast_dtype(sequences: Sequences) -> Any:
    """The dtype of forecasts: double for double input, otherwise single."""
    return computed_dtype(sequences.dtype)


class LatentForecaster(Forecaster, Trained):
    """A forecaster whose network is trained on chunks; subclasses define the network and the loss."""

    codec = codec_option("auto", "perceptron", "dcgan", "vgg", "resnet", "sprites")
    conditioning = options.integer(1)
    chunk = options.nullable(options.integer(2, "training"))
    output = options.choice(*get_args(OutputActivation))
    scale = options.real(above=0, most=1e6)

    scaler_: ChannelScaler = schema.channel_scaler(lambda model: model._network_frame_shape())
    uses_sigmoid_: bool = schema.boolean()
    """Whether outputs pass through a sigmoid, because all training values lie in [0, 1]."""
    has_uneven_times_: bool = schema.boolean()
    """Whether the time between steps varies, so that encoders also receive time spans."""
    known_scaler_: ChannelScaler | None = schema.nullable(
        schema.channel_scaler(lambda model: len(model.cells_.known_channels))
    )
    chunk_: int = schema.integer(1)
    """Frames per training chunk."""
    reencode_: bool = schema.boolean()
    """Whether states of long forecasts are inferred again from forecast frames."""

    _default_budget: ClassVar[DefaultBudget] = DefaultBudget(fills_time=True)
    _has_substeps: ClassVar[bool] = True

    # --- learning ----------------------------------------------------------------------------------------------------

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        """Train on chunks; sequences from a source are used once."""
        self._detect_value_range(sequences)
        warn_of_unused_patience(self.trainer_)
        self.chunk_ = self._choose_chunk_length(sequences)
        self._prepare_fit(sequences)
        learned, held_out = self._split_validation(sequences, self.chunk_)
        more = None if source is None else self._make_source_sampler(source)
        self._train(self._make_objective(learned, (held_out, more)), sequences)
        warn_if_no_better(self, learned, held_out)

    def _rng(self) -> np.random.Generator:
        return Trained._rng(self)  # the same on every call, so that a training can be resumed

    def _make_objective(self, ready: Sequences, targets: Any) -> ChunkObjective:
        """The loss over chunks of `ready`; `targets` is (held-out sequences or None, sampler of a source or None)."""
        held_out, more = targets
        validation = None if held_out is None else self._pack_frames(held_out)
        return self._make_chunk_objective(self.chunk_, self._pack_frames(ready), validation, more)

    @abstractmethod
    def _make_chunk_objective(
        self,
        length: int,
        material: PackedFrames,
        held_out: PackedFrames | None,
        more: Callable[[np.random.Generator], PackedFrames] | None,
    ) -> ChunkObjective:
        """Build the training objective."""

    def _detect_value_range(self, sequences: Sequences) -> None:
        frames = self.cells_.target_rows(sequences).values
        within = bool(frames.min() >= 0 and frames.max() <= 1)
        if self.output == "sigmoid" and not within:
            raise ValueError(
                f"X has values from {frames.min():.4g} to {frames.max():.4g}, and output='sigmoid' gives numbers "
                "between 0 and 1: scale X to [0, 1] first, (X − least)/(greatest − least), or use output='linear'"
            )
        self.uses_sigmoid_ = self.output == "sigmoid" or (self.output == "auto" and within)
        if self.output == "auto" and self._has_image_frames():
            warn_of_byte_images(self.cells_.target_frames(sequences), type(self).__name__)
        steps = step_durations(sequences)
        usual = self.step_duration_ or 1.0
        self.has_uneven_times_ = bool(len(steps) and np.abs(steps / usual - 1).max() > _UNEVEN_SHARE)

    def _prepare_fit(self, sequences: Sequences) -> Sequences:
        frames = self._to_network_frames(sequences)
        self.scaler_ = self._fit_scaler(frames) if self.standardize else ChannelScaler.identity(frames.frame)
        covariates = self.cells_.covariates(sequences)
        self.known_scaler_ = None if covariates is None else ChannelScaler.from_sequences(covariates)
        self._init_network()
        if self.uses_sigmoid_:
            self._init_output(frames)
        return sequences

    def _init_output(self, frames: Sequences) -> None:
        """Let the decoder begin at the mean frame."""
        some = frames.values[thin_evenly(np.arange(len(frames.values)), N_SAMPLED_FRAMES)]
        counts = (~np.isnan(some)).sum(axis=0)
        mean = np.where(counts > 0, np.nansum(some, axis=0) / np.maximum(counts, 1), np.nan)  # NaN in masked cells
        self._choose_codec().init_output(self.network_.decoder, torch.from_numpy(mean).float())

    def _to_network_frames(self, sequences: Sequences) -> Sequences:
        """Frames in the layout of the network: rows of cells, or images whose masked cells are still NaN."""
        return self.cells_.target_frames(sequences) if self._uses_images() else self.cells_.target_rows(sequences)

    def _network_frame_shape(self) -> tuple[int, ...]:
        """The frame shape of the network."""
        return self.cells_.frame if self._uses_images() else (self.cells_.n_cells,)

    def _has_random_steps(self) -> bool:
        """Whether futures differ by random steps of the state."""
        return False

    def _has_image_frames(self) -> bool:
        """Whether frames are images, whatever the network takes."""
        return is_image(self.cells_.frame)

    def _uses_images(self) -> bool:
        """Whether the network takes images, not rows of cells."""
        return self._choose_codec().takes_images

    def _training_threads(self, sequences: Sequences) -> int | None:
        return None if self._uses_images() else super()._training_threads(sequences)

    def _choose_codec(self) -> Codec:
        """The codec: from the option, or chosen by the frame shape."""
        shape, option = self.cells_.frame, type(self).codec.check(self.codec, "codec")
        codec: Codec = option.choose(shape) if isinstance(option, Auto) else option
        if codec.takes_images and not is_image(shape):
            raise ValueError(
                f"codec={self.codec!r:.60} is for images, and X has frames of shape {self.frame_}: expected (channel, "
                f"height, width) of at least {MIN_SIDE} × {MIN_SIDE} pixels, or codec='perceptron'"
            )
        return codec

    def _valid_mask(self) -> torch.Tensor | None:
        """The valid cells of images, or None if all are valid."""
        return torch.from_numpy(self.cells_.valid_mask) if self._uses_images() and self.cells_.is_masked else None

    def _fit_scaler(self, sequences: Sequences) -> ChannelScaler:
        """The scaler of the frames: all cells of a channel share one mean and scale."""
        if len(self.cells_.frame) == 1:
            return ChannelScaler.from_sequences(sequences)
        if self._uses_images():
            return ChannelScaler.per_channel(sequences)
        return self._fit_cell_scaler(sequences)

    def _fit_cell_scaler(self, sequences: Sequences) -> ChannelScaler:
        """One mean and standard deviation per channel, for rows of cells."""
        whole = sequences._with_values(self.cells_.to_frames(sequences.values))
        scaler = ChannelScaler.per_channel(whole)
        valid_cells = self.cells_.valid_mask.ravel()
        return ChannelScaler(scaler.mean.ravel()[valid_cells], scaler.scale.ravel()[valid_cells])

    def _pack_frames(self, sequences: Sequences, name: str = "X") -> PackedFrames:
        """Standardized frames, known channels and time spans as tensors."""
        frames = self._to_network_frames(sequences)
        if self.cells_.is_masked and self._uses_images():
            frames = frames._with_values(np.where(self.cells_.valid_mask, frames.values, self.scaler_.mean))
        ready = self.scaler_.transform(frames, name).values
        covariates, scaled_covariates = self.cells_.covariates(sequences), None
        if covariates is not None:
            assert self.known_scaler_ is not None
            scaled_covariates = torch.from_numpy(np.array(self.known_scaler_.transform(covariates, name).values))
        spans = torch.from_numpy(step_spans(sequences, self.step_duration_))
        return PackedFrames(torch.from_numpy(np.array(ready)), scaled_covariates, spans, sequences.lengths)

    def _split_validation(self, sequences: Sequences, length: int) -> tuple[Sequences, Sequences | None]:
        """Training and held-out sequences; none are held out if they would be too few or too short."""
        parts = split_validation(sequences, self.trainer_.validation, self._rng())
        if parts is None or min(part.lengths.max() for part in parts) < length:
            return sequences, None
        return parts

    def _default_target_steps(self) -> int:
        """Steps of a chunk after the conditioning ones, if `chunk` is None."""
        return _N_TARGET_STEPS

    def _choose_chunk_length(self, sequences: Sequences) -> int:
        """Steps per chunk: the option `chunk`, or some more than `conditioning` if sequences are long enough."""
        least, longest = self._min_chunk_length(), int(sequences.lengths.max())
        if longest < least:
            raise ValueError(
                f"X: the longest sequence has {format_count(longest, 'time step')}, and "
                f"{type(self).__name__}(conditioning={self.conditioning}) needs at least {least} to learn what follows"
            )
        warn_of_short_sequences(sequences, least, type(self).__name__)
        if self.chunk is None:
            usual = int(np.quantile(sequences.lengths, 0.25))  # three quarters of the sequences are this long
            return max(least, min(self.conditioning + self._default_target_steps(), usual))
        if not least <= self.chunk <= longest:
            raise ValueError(
                f"chunk={self.chunk}: expected between {least} (conditioning, and what follows) and {longest}, the "
                "longest sequence"
            )
        return int(self.chunk)

    def _min_chunk_length(self) -> int:
        return int(self.conditioning) + 1

    def _make_source_sampler(self, source: Any) -> Callable[[np.random.Generator], PackedFrames]:
        def sample_frames(rng: np.random.Generator) -> PackedFrames:
            sequences = sample_source(source, rng)
            self._refuse_frame(sequences.frame, "the result of the source X")
            self.cells_.validate(sequences, "the result of the source X")
            self._refuse_out_of_range(sequences, "the result of the source X")
            return self._pack_frames(sequences)

        return sample_frames

    def _default_steps(self, objective: Objective) -> int:
        return self._default_budget.steps(max(1, int(objective.n_batches() or 1)))  # counts whole batches

    def _closing_steps(self, objective: Objective, sequences: Sequences) -> float:
        assert isinstance(objective, ChunkObjective)
        mixed = self._precision() == "bf16-mixed"  # statistics are computed in single precision, which is slower
        statistics = (_SINGLE_PRECISION_COST if mixed else 1.0) * FORWARD_SHARE * objective.n_statistics_passes()
        test = count_comparison_steps(self, objective.batch_size) if self._reencode_option() is None else 0.0
        return statistics + _COMPARISON_STEPS + test

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        super()._train(objective, sequences, targets)
        assert isinstance(objective, ChunkObjective)
        option = self._reencode_option()
        with torch_threads(self._training_threads(sequences)):
            objective.update_statistics()
            self.reencode_ = is_reencoding_better(self, sequences) if option is None else option

    def _reencode_steps(self) -> int:
        """Steps after which a state is inferred again, if it is."""
        return self.chunk_ - self._min_past_steps()

    @abstractmethod
    def _reencode_option(self) -> bool | None:
        """Whether states of long forecasts are inferred again from forecast frames; None chooses by a comparison."""

    # --- forecasting -------------------------------------------------------------------------------------------------

    def _min_past_steps(self) -> int:
        return int(self.conditioning)

    def _validate_min_length(self, X: Any, need: int | None = None, name: str = "X") -> Sequences:
        """Validate whole sequences, each at least `need` steps long."""
        self._require_fitted()
        sequences, need = self._validate_full_sequences(X, name), self._min_past_steps() if need is None else need
        if sequences.lengths.min() < need:
            item = int(np.argmin(sequences.lengths))
            description = f"{describe_item(sequences, item)} has {format_count(sequences.lengths[item], 'time step')}"
            raise ValueError(f"{name}: {description}: expected at least {need}{self._single_input_hint(X, sequences)}")
        return sequences

    def _validate_past(self, past: Any, name: str = "past") -> Sequences:
        sequences = super()._validate_past(past, name)
        self._refuse_out_of_range(sequences, name)
        return sequences

    def _validate_swap_pair(self, content_of: Any, dynamics_of: Any) -> tuple[Sequences, Sequences]:
        """Validate the pasts for content and for motion, which must be equally many."""
        self._require_fitted()
        contents, dynamics = (
            self._validate_past(content_of, "content_of"),
            self._validate_past(dynamics_of, "dynamics_of"),
        )
        if len(contents) != len(dynamics):
            raise ValueError(
                f"content_of holds {len(contents)} sequences and dynamics_of {len(dynamics)}: expected equally many"
            )
        return contents, dynamics

    def _validate_full_sequences(self, X: Any, name: str = "X") -> Sequences:
        sequences = super()._validate_full_sequences(X, name)
        self._refuse_out_of_range(sequences, name)
        return sequences

    def _refuse_out_of_range(self, sequences: Sequences, name: str) -> None:
        if not self.uses_sigmoid_:
            return
        frames = self.cells_.target_rows(sequences).values
        if frames.min() < -_RANGE_TOLERANCE or frames.max() > 1 + _RANGE_TOLERANCE:
            raise ValueError(
                f"{name} has values from {frames.min():.4g} to {frames.max():.4g}, and all training "
                f"values of this {type(self).__name__} lie in [0, 1], as do its forecasts: scale {name} by the same "
                "two numbers as the training data, or fit with output='linear'"
            )

    def _standardize_decoded(self, frames: torch.Tensor) -> torch.Tensor:
        """Decoded frames as encoder inputs: standardized, as outputs of a sigmoid are not, and 0 in masked cells."""
        if self.uses_sigmoid_:
            mean, scale = (torch.from_numpy(np.asarray(moment, np.float64)) for moment in self.scaler_)
            frames = (frames - mean) / scale
        mask = self._valid_mask()
        return frames if mask is None else torch.where(mask, frames, 0.0)

    def _scaler_tensors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and scale that convert standardized frames to data units."""
        mean, scale = (torch.from_numpy(np.asarray(moment, np.float32)) for moment in self.scaler_)
        return mean, scale

    def _to_data_units(self, frames: NDArray[Any], kind: Any = np.float32) -> NDArray[Any]:
        """Convert network outputs (..., *frame) to rows of cells in data units, of the given dtype.

        Outputs are first rounded to single precision, which makes them independent of the other items in the batch;
        the mean is added afterwards, so that they stay precise beside a large mean.
        """
        frames = np.asarray(frames, np.float32)
        if not self.uses_sigmoid_:
            frames = frames * self.scaler_.scale + self.scaler_.mean
        if self._uses_images():
            frames = frames.reshape(*frames.shape[: frames.ndim - len(self.cells_.frame)], -1)
            frames = frames[..., self.cells_.valid_mask.ravel()]
        return np.asarray(frames, kind)
